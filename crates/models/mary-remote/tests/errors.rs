//! Each provider's error shapes, turned into what happened and what to do.

use mary_contract::ErrorKind;
use mary_remote::api_error::{AskedService, Remedy, diagnose};
use serde_json::{Value, json};

fn diagnosed(status: u16, body: &Value) -> (ErrorKind, Remedy, String) {
    let service = AskedService {
        title: "the provider",
        key_env: "PROVIDER_API_KEY",
        console: "console.provider.test",
        model: "some-model",
    };
    let found = diagnose(&service, status, body.to_string().as_bytes());
    let error = found.error;
    let told = format!(
        "{}\nhint: {}",
        error.message,
        error.hint.unwrap_or_default()
    );
    (error.kind, found.remedy, told)
}

/// Shapes as the providers document them; the words are ours where they do not matter.
fn shapes() -> Vec<(&'static str, u16, Value, ErrorKind, Remedy)> {
    use ErrorKind::{Auth, BadRequest, Budget, ContextTooLong, NotFound, Overloaded, Transport};
    let openai = |message: &str, kind: &str, code: Value| json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    let google = |code: u16, message: &str, status: &str| json!({"error": {"code": code, "message": message, "status": status}});
    vec![
        (
            "openai bad key",
            401,
            openai(
                "Incorrect API key provided",
                "invalid_request_error",
                json!("invalid_api_key"),
            ),
            Auth,
            Remedy::GiveUp,
        ),
        (
            "openai no credit",
            429,
            openai(
                "You exceeded your current quota",
                "insufficient_quota",
                json!("insufficient_quota"),
            ),
            Budget,
            Remedy::GiveUp,
        ),
        (
            "openai unknown model",
            404,
            openai(
                "The model does not exist",
                "invalid_request_error",
                json!("model_not_found"),
            ),
            NotFound,
            Remedy::GiveUp,
        ),
        (
            "openai context",
            400,
            openai(
                "This model's maximum context length is 8192 tokens",
                "invalid_request_error",
                json!("context_length_exceeded"),
            ),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "openai rate",
            429,
            openai(
                "Rate limit reached for requests",
                "requests",
                json!("rate_limit_exceeded"),
            ),
            Overloaded,
            Remedy::Slower,
        ),
        (
            "openai temperature",
            400,
            json!({"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", "param": "temperature", "code": "unsupported_value"}}),
            BadRequest,
            Remedy::Without("temperature"),
        ),
        (
            "openai max_tokens",
            400,
            json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "param": "max_tokens", "code": "unsupported_parameter"}}),
            BadRequest,
            Remedy::RenameMaxTokens,
        ),
        (
            "openai server",
            500,
            openai("The server had an error", "server_error", Value::Null),
            Transport,
            Remedy::Again,
        ),
        (
            "anthropic bad key",
            401,
            anthropic("authentication_error", "invalid x-api-key"),
            Auth,
            Remedy::GiveUp,
        ),
        (
            "anthropic no credit",
            400,
            anthropic(
                "invalid_request_error",
                "Your credit balance is too low to access the API",
            ),
            Budget,
            Remedy::GiveUp,
        ),
        (
            "anthropic unknown model",
            404,
            anthropic("not_found_error", "model: claude-x"),
            NotFound,
            Remedy::GiveUp,
        ),
        (
            "anthropic context",
            400,
            anthropic(
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "anthropic overloaded",
            529,
            anthropic("overloaded_error", "Overloaded"),
            Overloaded,
            Remedy::Slower,
        ),
        (
            "anthropic both",
            400,
            anthropic(
                "invalid_request_error",
                "`temperature` and `top_p` cannot both be specified for this model",
            ),
            BadRequest,
            Remedy::Without("top_p"),
        ),
        (
            "anthropic permission",
            403,
            anthropic("permission_error", "not allowed"),
            Auth,
            Remedy::GiveUp,
        ),
        (
            "google bad key",
            400,
            json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}),
            Auth,
            Remedy::GiveUp,
        ),
        (
            "google unknown model",
            404,
            google(
                404,
                "models/x is not found for API version v1beta",
                "NOT_FOUND",
            ),
            NotFound,
            Remedy::GiveUp,
        ),
        (
            "google context",
            400,
            google(
                400,
                "The input token count (1100000) exceeds the maximum number of tokens allowed",
                "INVALID_ARGUMENT",
            ),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "google rate",
            429,
            google(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED"),
            Overloaded,
            Remedy::Slower,
        ),
        (
            "google in a list",
            503,
            json!([{"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}}]),
            Overloaded,
            Remedy::Slower,
        ),
        (
            "vllm unknown model",
            404,
            json!({"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}),
            NotFound,
            Remedy::GiveUp,
        ),
        (
            "vllm context",
            400,
            json!({"object": "error", "message": "This model's maximum context length is 2048 tokens", "type": "BadRequestError", "code": 400}),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "sglang context",
            400,
            json!({"object": "error", "message": "The input (3000 tokens) is longer than the model's context length (2048 tokens)."}),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "llama.cpp context",
            400,
            json!({"error": {"code": 400, "message": "request (1101 tokens) exceeds the available context size (1024 tokens), try increasing it", "type": "exceed_context_size_error"}}),
            ContextTooLong,
            Remedy::GiveUp,
        ),
        (
            "llama.cpp loading",
            503,
            json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            Overloaded,
            Remedy::Slower,
        ),
        (
            "ollama unknown model",
            404,
            json!({"error": "model 'x' not found, try pulling it first"}),
            NotFound,
            Remedy::GiveUp,
        ),
        (
            "mistral bad key",
            401,
            json!({"message": "Unauthorized", "request_id": "r"}),
            Auth,
            Remedy::GiveUp,
        ),
        (
            "mistral field",
            422,
            json!({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted: seed", "type": "extra_forbidden"}]}),
            BadRequest,
            Remedy::Without("seed"),
        ),
        (
            "deepseek no credit",
            402,
            json!({"error": {"message": "Insufficient Balance", "type": "unknown_error"}}),
            Budget,
            Remedy::GiveUp,
        ),
        (
            "openrouter no credit",
            402,
            json!({"error": {"code": 402, "message": "Insufficient credits"}}),
            Budget,
            Remedy::GiveUp,
        ),
        (
            "groq too large",
            413,
            openai("Request too large", "tokens", json!("rate_limit_exceeded")),
            BadRequest,
            Remedy::GiveUp,
        ),
        (
            "a plain mistake",
            400,
            openai(
                "messages: at least one message is required",
                "invalid_request_error",
                Value::Null,
            ),
            BadRequest,
            Remedy::GiveUp,
        ),
    ]
}

#[test]
fn every_shape_is_understood() {
    for (name, status, body, kind, remedy) in shapes() {
        let (found_kind, found_remedy, told) = diagnosed(status, &body);
        assert_eq!((found_kind, found_remedy), (kind, remedy), "{name}: {told}");
    }
}

#[test]
fn messages_say_what_to_do() {
    let told: Vec<String> = shapes()
        .into_iter()
        .filter(|(name, ..)| name.starts_with("anthropic") || name.starts_with("openai"))
        .map(|(name, status, body, ..)| format!("[{name}]\n{}", diagnosed(status, &body).2))
        .collect();
    insta::assert_snapshot!("remedies", told.join("\n\n"));
}

#[test]
fn a_proxys_page_is_shortened_not_repeated() {
    let service = AskedService {
        title: "the provider",
        key_env: "",
        console: "",
        model: "m",
    };
    let page = format!("<html>\n<body>{}</body></html>", "bad gateway ".repeat(100));
    let found = diagnose(&service, 502, page.as_bytes());
    assert!(found.error.message.len() < 300);
    assert_eq!(found.remedy, Remedy::Again);
    let found = diagnose(&service, 503, b"");
    assert!(found.error.message.ends_with("no words"));
}

proptest::proptest! {
    #[test]
    fn no_body_is_too_odd_to_read(status in 300u16..600, body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let service = AskedService { title: "x", key_env: "K", console: "c", model: "m" };
        let found = diagnose(&service, status, &body);
        proptest::prop_assert!(!found.error.message.is_empty());
    }
}

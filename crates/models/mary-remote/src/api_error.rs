//! Errors as providers report them, turned into what happened and what to do.

use mary_contract::{ErrorKind, ModelError};
use serde_json::Value;

use crate::options::OMITTABLE;
use crate::secret::shortened;

/// What an error answer means for the one who asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// The error, if this was the last attempt.
    pub error: ModelError,
    /// Whether asking again may help.
    pub remedy: Remedy,
}

/// What can be done about it without the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    GiveUp,
    /// Ask again; the provider is overloaded or limits the rate.
    Slower,
    /// Ask again; something broke on their side.
    Again,
    /// Ask again without this parameter.
    Without(&'static str),
    /// Ask again with `max_completion_tokens` in place of `max_tokens`.
    RenameMaxTokens,
}

/// Who was asked, for the remedy's words.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    pub title: &'a str,
    /// Name of the environment variable that holds the key, where there is one.
    pub key_env: &'a str,
    /// Where keys and credit are looked after.
    pub console: &'a str,
    pub model: &'a str,
}

/// What an error body says, in whatever shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complaint {
    /// In words.
    pub message: String,
    /// Every code, type or status in it, lower case, joined by spaces.
    pub codes: String,
    pub param: Option<String>,
}

/// Reads OpenAI's, Anthropic's, Google's, vLLM's, Mistral's, Ollama's and FastAPI's shapes; anything
/// else (a proxy's HTML, say) gives its first words.
pub fn complaint(body: &[u8]) -> Complaint {
    let Ok(parsed) = serde_json::from_slice::<Value>(body) else {
        return Complaint {
            message: first_words(&String::from_utf8_lossy(body)),
            ..Complaint::default()
        };
    };
    // Google wraps errors of some endpoints in a list.
    let root = parsed.get(0).unwrap_or(&parsed);
    let inner = match root.get("error") {
        Some(error @ Value::Object(_)) => error,
        _ => root,
    };
    let message = [
        inner.get("message").and_then(Value::as_str),
        root.get("error").and_then(Value::as_str),
        root.get("detail").and_then(Value::as_str),
        root.pointer("/detail/0/msg").and_then(Value::as_str),
        root.pointer("/message/detail/0/msg")
            .and_then(Value::as_str),
    ]
    .into_iter()
    .flatten()
    .next()
    .map_or_else(
        || first_words(&parsed.to_string()),
        |text| shortened(text.to_owned()),
    );
    let codes: Vec<String> = ["code", "type", "status"]
        .iter()
        .filter_map(|name| inner.get(*name))
        .chain(inner.pointer("/details/0/reason"))
        .map(|v| match v {
            Value::String(text) => text.to_lowercase(),
            other => other.to_string(),
        })
        .collect();
    Complaint {
        message,
        codes: codes.join(" "),
        param: inner
            .get("param")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

fn first_words(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None if flat.is_empty() => "no words".into(),
        None => flat,
    }
}

/// What the status and the body together mean.
pub fn diagnose(service: &Service<'_>, status: u16, body: &[u8]) -> Trouble {
    let complaint = complaint(body);
    let lower = complaint.message.to_lowercase();
    let says = |words: &[&str]| {
        words
            .iter()
            .any(|w| lower.contains(w) || complaint.codes.contains(w))
    };
    let title = service.title;
    let said = format!("{title} answered {status}: {}", complaint.message);
    let give_up = |kind, hint: String| Trouble {
        error: ModelError::new(kind, said.clone()).hint(hint),
        remedy: Remedy::GiveUp,
    };
    let bad_key = status == 401
        || says(&[
            "invalid_api_key",
            "api_key_invalid",
            "authentication_error",
            "api key not valid",
        ]);
    if bad_key {
        return give_up(ErrorKind::Auth, key_hint(service));
    }
    if status == 402
        || says(&[
            "insufficient_quota",
            "credit balance",
            "insufficient balance",
            "billing_hard_limit",
            "insufficient credits",
        ])
    {
        return give_up(
            ErrorKind::Budget,
            format!(
                "the account has no credit left; add some at {} and give the same command again, nothing that was answered is asked twice",
                service.console
            ),
        );
    }
    if status == 403 || says(&["permission_error", "permission_denied"]) {
        return give_up(
            ErrorKind::Auth,
            format!(
                "the key in {} may not use {}; look at its rights (and at the country it is used from) at {}",
                service.key_env, service.model, service.console
            ),
        );
    }
    if says(CONTEXT_WORDS) {
        return give_up(
            ErrorKind::ContextTooLong,
            "use fewer shots (--num-fewshot) or a model with a longer context".into(),
        );
    }
    if status == 404
        || says(&[
            "model_not_found",
            "not_found_error",
            "invalid_model",
            "unknown model",
            "is not a valid model",
        ])
    {
        return give_up(
            ErrorKind::NotFound,
            format!(
                "`{}` is not a model {title} has under this key; look at its list of models, or check the base URL",
                service.model
            ),
        );
    }
    if status == 413 || says(&["request_too_large", "request too large"]) {
        return give_up(
            ErrorKind::BadRequest,
            "the request is larger than the provider takes at once; use fewer shots or smaller pictures".into(),
        );
    }
    by_status(service, status, &complaint, said)
}

/// How providers say that a prompt is too long.
const CONTEXT_WORDS: &[&str] = &[
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "exceed_context_size",
    "exceeds the available context",
    "prompt is too long",
    "input token count",
    "longer than the model's context length",
    "exceeds the context length",
    "too large for model with",
];

fn by_status(service: &Service<'_>, status: u16, complaint: &Complaint, said: String) -> Trouble {
    let error = |kind| ModelError::new(kind, said.clone());
    match status {
        408 | 504 => Trouble {
            error: error(ErrorKind::Timeout).hint(format!("{} was too slow again and again; try later", service.title)),
            remedy: Remedy::Again,
        },
        429 | 503 | 529 => Trouble {
            error: error(ErrorKind::Overloaded).hint(
                "it stayed overloaded through all retries; go on later with `mary resume`, or set a rate with --model-arg rpm=… tpm=…",
            ),
            remedy: Remedy::Slower,
        },
        409 | 425 | 500.. => Trouble {
            error: error(ErrorKind::Transport).hint("a fault of the server; go on later with `mary resume`"),
            remedy: Remedy::Again,
        },
        _ => Trouble {
            error: error(ErrorKind::BadRequest)
                .hint("the provider does not take this request; its words say why"),
            remedy: learn(complaint),
        },
    }
}

/// What a complaint about a parameter teaches.
fn learn(complaint: &Complaint) -> Remedy {
    let lower = complaint.message.to_lowercase();
    let about_support = [
        "unsupported",
        "not supported",
        "does not support",
        "not permitted",
        "cannot both be specified",
        "deprecated",
        "unrecognized",
        "unknown name",
        "unexpected keyword",
        "only the default",
    ]
    .iter()
    .any(|words| lower.contains(words))
        || complaint.codes.contains("unsupported_");
    if !about_support {
        return Remedy::GiveUp;
    }
    if lower.contains("max_completion_tokens") {
        return Remedy::RenameMaxTokens;
    }
    if lower.contains("cannot both be specified") {
        return Remedy::Without("top_p");
    }
    let named = complaint.param.as_deref().unwrap_or("");
    let by_param = OMITTABLE.iter().find(|name| **name == named);
    let by_words = || OMITTABLE.iter().find(|name| names_word(&lower, name));
    match by_param.or_else(by_words) {
        Some(name) => Remedy::Without(name),
        None => Remedy::GiveUp,
    }
}

/// Whether the text names the parameter as a word of its own (`stop`, not `stopped`).
fn names_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|t| t.chars().next());
        !part_of_word(before) && !part_of_word(after)
    })
}

fn key_hint(service: &Service<'_>) -> String {
    if service.key_env.is_empty() {
        return "the server asks for a key; name the variable that holds it with --model-arg key_env=NAME".into();
    }
    format!(
        "the key in {} (environment or .env) is not accepted; make a new one at {}",
        service.key_env, service.console
    )
}

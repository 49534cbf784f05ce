//! What is read out of answers: finish reasons, refusals, filters, reasoning, usage and scores.

use crate::room;

use mary_contract::{ErrorKind, Finish, Prompt, Score, Scored, Start};
use mary_remote::formats::{
    anthropic::Anthropic, google::Google, openai_chat::OpenAiChat,
    openai_completions::OpenAiCompletions,
};
use mary_remote::wire::ReadError;
use mary_remote::{TopTokens, WireFormat};
use mary_testkit::faulty_server::{FaultyServer, Script};
use room::{TestQueue, open, settings};
use serde_json::{Value, json};

#[test]
fn openai_finish_reasons_refusals_and_reasoning() {
    let read = |message: Value, reason: &str| {
        let raw = json!({"model": "gpt-x-2026", "choices": [{"message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64},
                      "completion_tokens_details": {"reasoning_tokens": 12}}});
        WireFormat::read(&OpenAiChat, &raw).unwrap()
    };
    let good = read(json!({"content": "Yes", "reasoning_content": "hm"}), "stop");
    assert_eq!(good.answer.finish, Finish::Stop);
    assert_eq!(good.answer.reasoning.as_deref(), Some("hm"));
    assert_eq!(good.model_version.as_deref(), Some("gpt-x-2026"));
    assert_eq!(
        (good.usage.cached_tokens, good.usage.reasoning_tokens),
        (64, 12)
    );
    let refused = read(json!({"content": null, "refusal": "I cannot."}), "stop");
    assert_eq!(
        (refused.answer.finish, refused.answer.text.as_str()),
        (Finish::Refusal, "I cannot.")
    );
    assert_eq!(
        read(json!({"content": "x"}), "length").answer.finish,
        Finish::Length
    );
    assert_eq!(
        read(json!({"content": ""}), "content_filter").answer.finish,
        Finish::ContentFilter
    );
    assert_eq!(
        read(json!({"content": "x"}), "tool_calls").answer.finish,
        Finish::Other("tool_calls".into())
    );
}

#[test]
fn anthropic_finish_reasons_and_cache_counts() {
    let read = |reason: &str| {
        let raw = json!({"model": "claude-x", "stop_reason": reason,
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes"}],
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 5}});
        WireFormat::read(&Anthropic, &raw).unwrap()
    };
    let good = read("end_turn");
    assert_eq!(
        (good.answer.text.as_str(), good.answer.reasoning.as_deref()),
        ("Yes", Some("hm"))
    );
    assert_eq!(
        (
            good.usage.prompt_tokens,
            good.usage.cached_tokens,
            good.cache_writes
        ),
        (100, 70, 20)
    );
    for (reason, finish) in [
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("refusal", Finish::Refusal),
        ("pause_turn", Finish::Other("pause_turn".into())),
    ] {
        assert_eq!(read(reason).answer.finish, finish);
    }
}

#[test]
fn google_blocks_thoughts_and_limits() {
    let raw = json!({"modelVersion": "gemini-x", "candidates": [{"finishReason": "MAX_TOKENS", "content": {"parts": [{"text": "hm", "thought": true}, {"text": "Yes"}]}}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 7, "cachedContentTokenCount": 4}});
    let good = WireFormat::read(&Google, &raw).unwrap();
    assert_eq!(
        (good.answer.text.as_str(), good.answer.reasoning.as_deref()),
        ("Yes", Some("hm"))
    );
    assert_eq!(good.answer.finish, Finish::Length);
    assert_eq!(
        (good.usage.completion_tokens, good.usage.reasoning_tokens),
        (10, 7)
    );
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 10}});
    assert_eq!(
        WireFormat::read(&Google, &blocked).unwrap().answer.finish,
        Finish::ContentFilter
    );
    let silent = json!({"candidates": [{"finishReason": "SAFETY"}]});
    assert_eq!(
        WireFormat::read(&Google, &silent).unwrap().answer.finish,
        Finish::ContentFilter
    );
    assert!(matches!(
        WireFormat::read(&Google, &json!({"candidates": []})),
        Err(ReadError::Unreadable(_))
    ));
}

#[test]
fn answers_that_are_none_are_asked_again() {
    for raw in [
        json!({}),
        json!({"choices": []}),
        json!({"choices": [{}, {}]}),
        json!({"choices": [{"message": null}]}),
        json!(null),
        json!([1]),
    ] {
        assert!(
            matches!(
                WireFormat::read(&OpenAiChat, &raw),
                Err(ReadError::Unreadable(_))
            ),
            "{raw}"
        );
        assert!(
            matches!(
                WireFormat::read(&OpenAiCompletions, &raw),
                Err(ReadError::Unreadable(_))
            ),
            "{raw}"
        );
        assert!(
            matches!(
                WireFormat::read(&Anthropic, &raw),
                Err(ReadError::Unreadable(_))
            ),
            "{raw}"
        );
        assert!(
            matches!(
                WireFormat::read(&Google, &raw),
                Err(ReadError::Unreadable(_))
            ),
            "{raw}"
        );
    }
}

#[test]
fn single_tokens_are_picked_from_the_list_and_strangers_are_errors() {
    let raw = json!({"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": -0.2, "top_logprobs": [
        {"token": "A", "logprob": -0.2}, {"token": " A", "logprob": -4.0}, {"token": "B", "logprob": -1.9}]}]}}]});
    let read = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        TopTokens::read(&OpenAiChat, &raw, &texts)
    };
    let scored = read(&["A", "B"]).unwrap().answer;
    assert_eq!(scored.continuations[0].logprobs, [-0.2]);
    assert_eq!(scored.continuations[1].logprobs, [-1.9]);
    let exact = read(&[" A", " B"]).unwrap().answer;
    assert_eq!(
        exact.continuations[0].logprobs,
        [-4.0],
        "an exact match comes first"
    );
    assert_eq!(
        exact.continuations[1].tokens,
        ["B"],
        "then one without the space"
    );
    let Err(ReadError::Final(error)) = read(&["C"]) else {
        panic!("C is not in the list")
    };
    assert_eq!(error.kind, ErrorKind::BadRequest);
    assert!(error.message.contains("-4.00"), "{error}");
    let none = json!({"choices": [{"message": {"content": "A"}, "logprobs": null}]});
    assert!(matches!(
        TopTokens::read(&OpenAiChat, &none, &["A".into()]),
        Err(ReadError::Final(_))
    ));
}

fn score(
    model: &str,
    args: &[(&str, &str)],
    score: Score,
) -> (TestQueue<Score, Scored>, Vec<Value>) {
    let server = FaultyServer::start(Script::default()).unwrap();
    let model = open(model, &settings(&server, "/v1", args));
    let mut queue = TestQueue::new([score]);
    model.scorer().unwrap().score(&mut queue);
    (queue, server.books().bodies)
}

#[test]
fn an_echo_scores_each_continuation_from_its_first_token() {
    let (queue, bodies) = score(
        "vllm/scripted",
        &[],
        Score::new(
            Prompt::plain("The old cat"),
            vec![" sat".into(), " was sitting".into()],
            Start::Model,
        ),
    );
    let scored = &queue.only(0).as_ref().unwrap().answer;
    assert_eq!(scored.continuations[0].tokens, [" sat"]);
    assert_eq!(scored.continuations[0].logprobs, [-0.4]);
    assert_eq!(scored.continuations[1].logprobs, [-0.4, -0.8]);
    insta::assert_json_snapshot!("vllm_echo", bodies[0]);
}

#[test]
fn without_a_start_the_first_token_is_left_out_or_refused() {
    let ask = |start| Score::new(Prompt::plain(""), vec!["The cat".into()], start);
    let (queue, _) = score("sglang/scripted", &[], ask(Start::Model));
    let scored = &queue.only(0).as_ref().unwrap().answer.continuations[0];
    assert!(scored.first_unscored);
    assert_eq!(scored.tokens, [" cat"]);
    let (queue, _) = score("sglang/scripted", &[], ask(Start::Always));
    let error = queue.only(0).as_ref().unwrap_err();
    assert!(error.hint.as_deref().unwrap().contains("bos="), "{error}");
    let (queue, bodies) = score("sglang/scripted", &[("bos", "<s>")], ask(Start::Always));
    assert!(!queue.only(0).as_ref().unwrap().answer.continuations[0].first_unscored);
    assert_eq!(bodies[0]["prompt"], "<s>The cat");
}

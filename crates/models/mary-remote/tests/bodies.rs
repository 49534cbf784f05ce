//! What really goes over the wire, for each provider, held to its documented schema by snapshots.

use crate::room;

use mary_contract::{Generate, Image, Part, Prompt, PromptForm, Sampling, Speaker, Turn};
use mary_testkit::faulty_server::{FaultyServer, Script};
use room::{ask, generate, open, settings};
use serde_json::Value;

/// A request that uses everything.
fn rich(form: PromptForm, picture: bool) -> Generate {
    let mut parts = vec![Part::Text("What is this?".into())];
    if picture {
        parts.push(Part::Image(Image {
            media_type: "image/png".into(),
            data: vec![0x89, b'P', b'N', b'G'],
        }));
    }
    let turn = |speaker, parts| Turn { speaker, parts };
    Generate {
        prompt: Prompt {
            form,
            system: Some("Answer in one word.".into()),
            turns: vec![
                turn(Speaker::User, vec![Part::Text("Hello.".into())]),
                turn(Speaker::Assistant, vec![Part::Text("Hi.".into())]),
                turn(Speaker::User, parts),
            ],
        },
        sampling: Sampling {
            temperature: 0.5,
            top_p: Some(0.9),
            top_k: None,
            max_tokens: 8,
            stop: vec!["\n".into(), "END".into()],
            seed: Some(0x1_0000_0002),
        },
    }
}

fn sent(model: &str, path: &str, args: &[(&str, &str)], request: Generate) -> Value {
    let server = FaultyServer::start(Script::default()).unwrap();
    let mut all = vec![("check", "false")];
    all.extend(args);
    let model = open(model, &settings(&server, path, &all));
    let queue = generate(model.as_ref(), vec![request]);
    queue.only(0).as_ref().unwrap();
    server.books().bodies[0].clone()
}

#[test]
fn openai_chat() {
    let body = sent(
        "openai/gpt-4o@2024-08-06",
        "/v1",
        &[],
        rich(PromptForm::Chat, true),
    );
    insta::assert_json_snapshot!("openai_chat", body);
}

#[test]
fn openai_reasoning_models_get_no_temperature_and_room_to_think() {
    let body = sent(
        "openai/o3",
        "/v1",
        &[("reasoning_effort", "low")],
        rich(PromptForm::Chat, false),
    );
    insta::assert_json_snapshot!("openai_reasoning", body);
}

#[test]
fn openai_completions() {
    let mut request = rich(PromptForm::Plain, false);
    request.prompt = Prompt::plain("Once upon a time");
    let body = sent("openai-completions/davinci-002", "/v1", &[], request);
    insta::assert_json_snapshot!("openai_completions", body);
}

#[test]
fn anthropic() {
    let mut request = rich(PromptForm::Chat, true);
    request.sampling.top_k = Some(40);
    let body = sent("anthropic/claude-3-5-haiku-latest", "/v1", &[], request);
    insta::assert_json_snapshot!("anthropic", body);
}

#[test]
fn anthropic_with_thinking() {
    let body = sent(
        "anthropic/claude-sonnet-4-5",
        "/v1",
        &[("reasoning_effort", "medium")],
        rich(PromptForm::Chat, false),
    );
    insta::assert_json_snapshot!("anthropic_thinking", body);
}

#[test]
fn google() {
    let mut request = rich(PromptForm::Chat, true);
    request.sampling.top_k = Some(40);
    let body = sent(
        "google/gemini-2.5-flash",
        "/v1beta",
        &[("thinking_budget", "0")],
        request,
    );
    insta::assert_json_snapshot!("google", body);
}

#[test]
fn mistral_names_its_seed_and_openrouter_its_effort() {
    let mistral = sent(
        "mistral/pixtral-12b",
        "/v1",
        &[],
        rich(PromptForm::Chat, true),
    );
    assert_eq!(mistral["random_seed"], 3);
    assert_eq!(mistral.get("seed"), None);
    let effort = [("reasoning_effort", "high")];
    let router = sent(
        "openrouter/openai/o3",
        "/api/v1",
        &effort,
        rich(PromptForm::Chat, false),
    );
    assert_eq!(router["reasoning"], serde_json::json!({"effort": "high"}));
    assert_eq!(router["model"], "openai/o3");
}

#[test]
fn plain_prompts_go_to_completions_where_there_is_one_and_to_chat_elsewhere() {
    let plain = Generate::new(Prompt::plain("Once"), Sampling::greedy(4));
    assert_eq!(
        sent("vllm/scripted", "/v1", &[], plain.clone())["prompt"],
        "Once"
    );
    let body = sent("openai/gpt-4o", "/v1", &[], plain);
    assert_eq!(body["messages"][0]["content"], "Once");
}

#[test]
fn the_shared_beginning_gets_a_cache_mark_from_the_second_request_on() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let model = open(
        "anthropic/claude-sonnet-4-5",
        &settings(&server, "/v1", &[("check", "false")]),
    );
    let shots = "Is this sentence all right? Yes, it is.\n".repeat(150);
    for n in 0..3 {
        let queue = generate(model.as_ref(), vec![ask(format!("{shots}Question {n}?"))]);
        assert_eq!(
            queue.only(0).as_ref().unwrap().answer.text,
            format!("reply to {shots}Question {n}?"),
            "nothing is lost by the cut"
        );
    }
    let marks: Vec<usize> = server
        .books()
        .bodies
        .iter()
        .map(|b| b.to_string().matches("cache_control").count())
        .collect();
    assert_eq!(marks, [0, 1, 1]);
    let body = &server.books().bodies[2];
    assert_eq!(body["messages"][0]["content"][0]["text"], shots);
    assert_eq!(
        body["messages"][0]["content"][0]["cache_control"]["type"],
        "ephemeral"
    );
}

#[test]
fn what_a_service_does_not_take_is_refused_not_dropped() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let refuse = |model: &str, request: Generate| {
        let model = open(model, &settings(&server, "/v1", &[("check", "false")]));
        let queue = generate(model.as_ref(), vec![request]);
        queue.only(0).as_ref().unwrap_err().message.clone()
    };
    let mut top_k = rich(PromptForm::Chat, false);
    top_k.sampling.top_k = Some(5);
    assert!(refuse("openai/gpt-4o", top_k).contains("top_k"));
    assert!(refuse("deepseek/deepseek-chat", rich(PromptForm::Chat, true)).contains("pictures"));
    let chat = rich(PromptForm::Chat, false);
    assert!(refuse("openai-completions/davinci-002", chat).contains("plain text"));
    assert_eq!(server.books().requests, 0, "and nothing is sent");
}

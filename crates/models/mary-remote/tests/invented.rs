//! A wire format that nobody speaks, as a contributor would add it: this file holds what its one file under
//! `src/formats` would hold (the line in the registry is `&telegram::Telegram,`) and the entry of a service
//! that speaks it. It answers, scores and takes batches like the others.

use std::sync::LazyLock;

use mary_contract::{
    Generated, Model, ModelError, ModelSettings, Prompt, Provider as _, Score, Scored,
    Service as _, Start, Usage,
};
use mary_remote::wire::{Read, ReadError, WireRequest, count, text, told, top_scores, words};
use mary_remote::{
    BatchFormat, BatchPart, CatalogueEntry, Ledger, Progress, RemoteProvider, TopTokens,
    WireFormat, services,
};
use mary_testkit::raw_server::{Heard, RawServer, Say};
use serde_json::{Value, json};

use crate::room::{FOLDER, KEY, TestQueue, ask, generate};

#[derive(Debug)]
struct Telegram;

impl WireFormat for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn path(&self, model: &str) -> String {
        format!("wire/{model}")
    }

    fn body(&self, request: &WireRequest<'_>) -> Value {
        let turns = &request.generate.prompt.turns;
        let said: String = turns.iter().map(|t| words(&t.parts)).collect();
        json!({"message": said, "most": request.max_tokens()})
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        let said = text(raw, "/said").ok_or_else(|| ReadError::missing("said"))?;
        Ok(with_usage(raw, Generated::whole(said)))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-telegraph", "key ")
    }

    fn top_tokens(&self) -> Option<&'static dyn TopTokens> {
        Some(&Telegram)
    }

    fn batches(&self) -> Option<&'static dyn BatchFormat> {
        Some(&Telegram)
    }
}

fn with_usage<A>(raw: &Value, answer: A) -> Read<A> {
    Read {
        answer,
        usage: Usage {
            prompt_tokens: count(raw, "/words"),
            ..Usage::default()
        },
        usage_told: told(raw, "/words"),
        cache_writes: 0,
        model_version: None,
    }
}

impl TopTokens for Telegram {
    fn body(&self, request: &WireRequest<'_>) -> Value {
        let mut body = WireFormat::body(self, request);
        body["likely"] = 20.into();
        body
    }

    fn read(&self, raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        let scored = top_scores(raw.get("likely"), "log", continuations)?;
        Ok(with_usage(raw, scored))
    }
}

impl BatchFormat for Telegram {
    fn path(&self) -> &'static str {
        "bundles"
    }

    fn after(&self) -> &'static str {
        "since"
    }

    fn body(&self, name: &str, requests: Vec<(String, Value)>, _file: Option<&str>) -> Value {
        json!({"bundle": name, "telegrams": requests})
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn is_part(&self, batch: &Value, part: &BatchPart) -> bool {
        text(batch, "/bundle").as_deref() == Some(&part.name)
    }

    fn progress(&self, id: &str, raw: &Value) -> Option<Progress> {
        let ended = raw.get("delivered").and_then(Value::as_bool)?;
        Some(Progress {
            id: id.to_owned(),
            ended,
            complete: ended,
            said: "on the wire".into(),
            files: vec![id.to_owned()],
            ..Progress::default()
        })
    }

    fn file_path(&self, batch: &str) -> String {
        format!("bundles/{batch}/replies")
    }

    fn outcome(&self, line: &Value) -> Result<Value, ModelError> {
        Ok(line["reply"].clone())
    }
}

static OFFICE: LazyLock<CatalogueEntry> = LazyLock::new(|| {
    let compatible = services().iter().find(|s| s.name == "compatible").unwrap();
    CatalogueEntry {
        name: "office",
        title: "the office",
        chat: Some(&Telegram),
        plain: None,
        batches: true,
        ..compatible.clone()
    }
});

fn open(server: &RawServer, args: &[(&str, &str)]) -> Box<dyn Model> {
    LazyLock::force(&FOLDER);
    let mut settings = ModelSettings {
        base_url: Some(server.url("/v1")),
        ..ModelSettings::default()
    };
    let usual = [("key_env", "MARY_TEST_KEY"), ("check", "false")];
    for (name, value) in usual.iter().chain(args) {
        settings.args.insert((*name).into(), (*value).into());
    }
    let office = RemoteProvider::new(&OFFICE, &Ledger::new());
    assert!(office.has_batches());
    office
        .open(&"office/clerk".parse().unwrap(), &settings)
        .unwrap()
}

fn header(heard: &Heard, name: &str) -> String {
    let found = heard.headers.iter().find(|(n, _)| n == name);
    found.unwrap().1.clone()
}

#[test]
fn it_answers_with_its_own_path_body_and_key() {
    let server =
        RawServer::start(|_| Say::json(&json!({"said": format!("STOP {KEY}"), "words": 2})));
    let server = server.unwrap();
    let queue = generate(open(&server, &[]).as_ref(), vec![ask("HELLO")]);
    let reply = queue.only(0).as_ref().unwrap();
    assert_eq!(reply.answer.text, "STOP [key removed]");
    assert_eq!(reply.meta.usage.prompt_tokens, 2);
    let heard = &server.heard()[0];
    assert_eq!(
        (heard.method.as_str(), heard.path.as_str()),
        ("POST", "/v1/wire/clerk")
    );
    assert_eq!(header(heard, "x-telegraph"), format!("key {KEY}"));
    assert_eq!(heard.body, br#"{"message":"HELLO","most":16}"#);
}

#[test]
fn it_scores_single_tokens() {
    let likely = json!([{"token": "A", "log": -0.5}, {"token": "B", "log": -1.5}]);
    let server = RawServer::start(move |_| Say::json(&json!({"likely": likely, "words": 1})));
    let model = open(&server.unwrap(), &[("logprobs", "top")]);
    let mut queue = TestQueue::new([Score::new(
        Prompt::chat("A or B?"),
        vec!["B".into()],
        Start::Model,
    )]);
    model.scorer().unwrap().score(&mut queue);
    let scored = &queue.only(0).as_ref().unwrap().answer;
    assert_eq!(scored.continuations[0].logprobs, [-1.5]);
}

#[test]
fn its_batches_are_submitted_and_fetched() {
    let sent: LazyLock<std::sync::Mutex<Value>> = LazyLock::new(Default::default);
    let server = RawServer::start(move |heard| {
        let mut sent = sent.lock().unwrap();
        match (heard.method.as_str(), heard.path.as_str()) {
            ("POST", "/v1/bundles") => {
                *sent = serde_json::from_slice(&heard.body).unwrap();
                Say::json(&json!({"id": "b1"}))
            }
            ("GET", "/v1/bundles/b1") => Say::json(&json!({"delivered": true})),
            ("GET", "/v1/bundles/b1/replies") => {
                let telegrams = sent["telegrams"].as_array().unwrap();
                let lines = telegrams.iter().map(|t| {
                    let reply = json!({"said": format!("re: {}", t[1]["message"]), "words": 1});
                    format!("{}\n", json!({"custom_id": t[0], "reply": reply}))
                });
                Say::Answer(200, Vec::new(), lines.collect::<String>().into_bytes())
            }
            _ => Say::Answer(404, Vec::new(), Vec::new()),
        }
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("batch.json").display().to_string();
    let model = open(&server, &[("batch", &path)]);
    let queue = generate(model.as_ref(), vec![ask("ONE"), ask("TWO")]);
    for (ticket, said) in [(0, "re: \"ONE\""), (1, "re: \"TWO\"")] {
        assert_eq!(queue.only(ticket).as_ref().unwrap().answer.text, said);
    }
    assert_eq!(server.heard().len(), 3, "submitted, looked at, fetched");
}

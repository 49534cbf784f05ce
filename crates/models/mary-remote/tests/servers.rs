//! Several servers of one model: all of them work, and one that fails sheds its load to the others.

use std::time::Duration;

use mary_testkit::faulty_server::{FaultyServer, Script};

use crate::room::{KEY, ask, generate, open, settings};

fn server(always: Option<u16>) -> FaultyServer {
    FaultyServer::start(Script {
        key: Some(KEY.into()),
        latency: Duration::from_millis(5),
        always: always.map(|status| (status, serde_json::json!({"error": {"message": "down"}}))),
        ..Script::default()
    })
    .unwrap()
}

#[test]
fn servers_share_the_work_and_one_that_fails_sheds_its_load() {
    const REQUESTS: u64 = 600;
    let (a, b, down) = (server(None), server(None), server(Some(503)));
    let mut settings = settings(&a, "/v1", &[("backoff_ms", "10")]);
    settings.base_url = Some([&down, &a, &b].map(|s| s.url("/v1")).join(", "));
    let model = open("openai/scripted", &settings);
    let questions = (0..REQUESTS)
        .map(|n| ask(format!("question {n}")))
        .collect();
    let queue = generate(model.as_ref(), questions);
    for n in 0..REQUESTS {
        let reply = queue
            .only(n)
            .as_ref()
            .unwrap_or_else(|e| panic!("{n}: {e}"));
        assert_eq!(reply.answer.text, format!("reply to question {n}"));
    }
    let (a, b, down) = (a.books(), b.books(), down.books());
    eprintln!(
        "{} {} requests, {} to the one that is down",
        a.requests, b.requests, down.requests
    );
    let answered = |books: &mary_testkit::faulty_server::Books| {
        books
            .accounts
            .values()
            .map(|a| u64::from(a.delivered))
            .sum::<u64>()
    };
    assert_eq!(answered(&a) + answered(&b), REQUESTS);
    // Neither does nearly all of it, and the failing one is not asked again and again.
    assert!(answered(&a) > REQUESTS / 10 && answered(&b) > REQUESTS / 10);
    assert!(down.requests < REQUESTS / 4, "{}", down.requests);
}

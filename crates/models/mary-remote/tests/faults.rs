//! Ten thousand requests to a server that breaks a third of the time.

use crate::room;

use std::time::{Duration, Instant};

use mary_contract::{ErrorKind, Generate, Generated, ModelError};
use mary_remote::Ledger;
use mary_testkit::faulty_server::{Fault, FaultyServer, RateLimit, Script};
use room::{KEY, TestQueue, ask, generate, open, settings, try_open};

#[test]
fn ten_thousand_requests_with_thirty_percent_faults_each_end_once() {
    const REQUESTS: u64 = 10_000;
    const RATE: f64 = 1000.0;
    // A time-out is the one fault after which a server may have answered without our knowing: see below.
    let faults: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|f| *f != Fault::SlowDrip)
        .collect();
    let server = FaultyServer::start(Script {
        fault_rate: 0.3,
        faults: faults.clone(),
        seed: 7,
        rate_limit: Some(RateLimit {
            per_second: RATE,
            burst: 100.0,
            advertise: true,
        }),
        repeats_key: true,
        key: Some(KEY.into()),
        ..Script::default()
    })
    .unwrap();
    let model = open("openai/scripted", &settings(&server, "/v1", &[]));
    let start = Instant::now();
    let queue = generate(
        model.as_ref(),
        (0..REQUESTS)
            .map(|n| ask(format!("question {n}")))
            .collect(),
    );
    let took = start.elapsed().as_secs_f64();

    // Every item ends in exactly one outcome, and it is its own.
    assert_eq!(queue.answers.len() as u64, REQUESTS);
    for n in 0..REQUESTS {
        let reply = queue
            .only(n)
            .as_ref()
            .unwrap_or_else(|e| panic!("{n}: {e}"));
        assert_eq!(reply.answer.text, format!("reply to question {n}"));
    }
    assert!(
        queue.most_held < 1000,
        "{} were held at once",
        queue.most_held
    );

    // Nothing is paid twice beyond what a fault forced.
    let books = server.books();
    assert_eq!(books.accounts.len() as u64, REQUESTS);
    let unanswered = books.accounts.values().filter(|a| a.delivered == 0).count();
    assert_eq!(unanswered, 0, "every request was answered well");
    let twice = books.accounts.values().filter(|a| a.delivered > 1).count();
    assert_eq!(twice, 0, "an answer that came was asked for again");
    assert!(
        faults.iter().all(|f| books.faults.contains_key(f)),
        "{:?}",
        books.faults
    );
    let attempts: u32 = books.accounts.values().map(|a| a.attempts).sum();
    let in_vain: u32 = books.accounts.values().map(|a| a.in_vain).sum();
    let ideal = f64::from(attempts) / RATE;
    eprintln!(
        "{REQUESTS} requests, {attempts} attempts let in, {in_vain} paid in vain by faults, {} refused by the rate limit; {took:.2} s, ideal {ideal:.2} s, ratio {:.2}",
        books.limited,
        took / ideal
    );

    // The key is in no answer, though the server repeated it in every one.
    let written = format!("{:?}", queue.answers);
    assert!(!written.contains(KEY));
    let logged = serde_json::to_string(&queue.answers.values().collect::<Vec<_>>()).unwrap();
    assert!(logged.contains("you_sent") && !logged.contains(KEY));
}

/// A server that drips for longer than anyone waits: each question ends once all the same. Here one may
/// be answered twice, where a good answer was on its way when its time ran out; nobody can tell, so it is
/// asked again and the first counts as paid.
#[test]
fn questions_whose_time_runs_out_end_once() {
    const REQUESTS: u64 = 200;
    let server = FaultyServer::start(Script {
        fault_rate: 0.3,
        faults: vec![Fault::SlowDrip],
        seed: 7,
        ..Script::default()
    })
    .unwrap();
    let args = [("timeout", "1"), ("retries", "100")];
    let model = open("openai/scripted", &settings(&server, "/v1", &args));
    let requests = (0..REQUESTS).map(|n| ask(format!("question {n}")));
    let queue = generate(model.as_ref(), requests.collect());
    for n in 0..REQUESTS {
        let reply = queue
            .only(n)
            .as_ref()
            .unwrap_or_else(|e| panic!("{n}: {e}"));
        assert_eq!(reply.answer.text, format!("reply to question {n}"));
    }
    let books = server.books();
    assert!(books.faults[&Fault::SlowDrip] > 20, "{:?}", books.faults);
    assert!(books.accounts.values().all(|a| a.delivered >= 1));
}

#[test]
fn no_error_card_or_debug_text_of_a_failing_run_holds_the_key() {
    let mut written = String::new();
    let mut write =
        |what: &dyn std::fmt::Debug| written.push_str(&format!("{what:?}\n{what:#?}\n"));
    for fault in Fault::ALL {
        let server = FaultyServer::start(Script {
            fault_rate: 1.0,
            faults: vec![fault],
            repeats_key: true,
            ..Script::default()
        })
        .unwrap();
        let args = [("retries", "1"), ("timeout", "1.5"), ("backoff_ms", "10")];
        let model = open("openai/scripted", &settings(&server, "/v1", &args));
        let queue = generate(model.as_ref(), vec![ask("x")]);
        let answer = queue.only(0);
        assert_eq!(
            answer.is_ok(),
            fault == Fault::WrongContentType,
            "{fault:?}: {answer:?}"
        );
        write(answer);
        write(model.card());
        if let Err(error) = answer {
            write(&error.to_string());
            write(&serde_json::to_string(error).unwrap());
        }
    }
    // A server that knows another key repeats ours in its refusal.
    let server = FaultyServer::start(Script {
        key: Some("another-key-altogether".into()),
        ..Script::default()
    })
    .unwrap();
    let refused = try_open(
        "openai/scripted",
        &settings(&server, "/v1", &[]),
        &Ledger::new(),
    );
    let error = refused.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.hint.as_deref().unwrap().contains("MARY_TEST_KEY"));
    write(&error);
    assert!(written.len() > 2000);
    assert!(!written.contains(KEY), "{written}");
    assert!(!written.contains(&KEY[10..]), "not in part either");
}

#[test]
fn a_dead_address_is_told_with_how_to_start_the_server() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let settings = settings(&server, "/v1", &[("retries", "1"), ("backoff_ms", "1")]);
    drop(server);
    std::thread::sleep(Duration::from_millis(50));
    let error = try_open("vllm/x", &settings, &Ledger::new()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Transport);
    assert!(
        error.hint.unwrap().contains("vllm serve"),
        "{}",
        error.message
    );
}

#[test]
fn the_queue_can_break_off_and_come_back_without_asking_again() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let model = open("openai/scripted", &settings(&server, "/v1", &[]));
    let requests = || (0..500).map(|n| ask(format!("question {n}")));
    let mut first = TestQueue::new(requests());
    first.stop_after = Some(100);
    model.generator().unwrap().generate(&mut first);
    let kept = first.count;
    assert!(kept >= 100 && first.answers.values().flatten().all(Result::is_ok));
    std::thread::sleep(Duration::from_millis(100));
    let before = server.books().accounts.len();
    let answered: Vec<u64> = first.answers.keys().map(|t| t.0).collect();
    let rest = requests()
        .enumerate()
        .filter(|(n, _)| !answered.contains(&(*n as u64)))
        .map(|(_, r)| r)
        .collect();
    let second = generate(model.as_ref(), rest);
    assert_eq!(second.answers.len(), 500 - kept);
    assert_eq!(server.books().accounts.len(), 500, "nothing is asked twice");
    assert!(
        before == kept && before < 100 + 200,
        "what was under way at the break is bounded and handed in: {before}, {kept}"
    );
}

#[test]
fn a_parameter_that_is_refused_is_learnt_once_and_told() {
    let server = FaultyServer::start(Script {
        refuses: vec!["temperature", "seed", "max_tokens"],
        ..Script::default()
    })
    .unwrap();
    let model = open("compatible/scripted", &settings(&server, "/v1", &[]));
    let mut requests: Vec<Generate> = (0..50).map(|n| ask(format!("{n}"))).collect();
    requests.iter_mut().for_each(|r| r.sampling.seed = Some(1));
    let queue = generate(model.as_ref(), requests);
    let reply = queue.only(49).as_ref().unwrap();
    let raw = reply.meta.raw.as_ref().unwrap();
    assert_eq!(
        raw["mary_omitted"],
        serde_json::json!(["seed", "temperature"])
    );
    let refused = server.books().requests - 50 - 1;
    assert!(
        refused <= 3 * 16,
        "learnt once, not by every request: {refused}"
    );
}

#[test]
fn the_budget_is_a_hard_stop_that_leaves_the_rest_for_later() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let mut settings = settings(&server, "/v1", &[("check", "false")]);
    settings.budget = Some(0.002);
    let ledger = Ledger::new();
    let model = try_open("openai/gpt-4o", &settings, &ledger).unwrap();
    let queue: TestQueue<Generate, Generated> = generate(
        model.as_ref(),
        (0..1000).map(|n| ask(format!("question {n}"))).collect(),
    );
    let spent: f64 = queue
        .answers
        .values()
        .filter_map(|a| a[0].as_ref().ok())
        .filter_map(|r| r.meta.usage.cost)
        .sum();
    let fatal: Vec<&ModelError> = queue
        .answers
        .values()
        .filter_map(|a| a[0].as_ref().err())
        .collect();
    assert_eq!(fatal.len(), 1);
    assert_eq!(fatal[0].kind, ErrorKind::Budget);
    assert!(
        fatal[0]
            .hint
            .as_deref()
            .unwrap()
            .contains("larger --budget")
    );
    assert!(
        spent > 0.001 && ledger.spent() <= 0.002,
        "{spent} {}",
        ledger.spent()
    );
    assert!(
        (ledger.spent() - spent).abs() < 1e-4,
        "what is billed is what is told"
    );
    assert!(!queue.waiting.is_empty());
}

#[test]
fn a_rate_limit_without_headers_is_found_by_the_window() {
    let server = FaultyServer::start(Script {
        rate_limit: Some(RateLimit {
            per_second: 400.0,
            burst: 20.0,
            advertise: false,
        }),
        latency: Duration::from_millis(5),
        ..Script::default()
    })
    .unwrap();
    let args = [("backoff_ms", "50"), ("retries", "20")];
    let model = open("openai/scripted", &settings(&server, "/v1", &args));
    let start = Instant::now();
    let queue = generate(
        model.as_ref(),
        (0..800).map(|n| ask(format!("{n}"))).collect(),
    );
    let took = start.elapsed().as_secs_f64();
    assert!(queue.answers.values().all(|a| a.len() == 1 && a[0].is_ok()));
    let books = server.books();
    eprintln!(
        "800 requests at 400/s without headers: {took:.2} s, ideal 1.95 s, {} refused",
        books.limited
    );
    assert!(
        books.limited < 2400,
        "not hammered: {} refusals",
        books.limited
    );
}

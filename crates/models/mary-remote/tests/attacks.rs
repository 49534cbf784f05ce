//! Servers that lie about money, repeat keys, ask to wait for ever or lose their answers: each attack
//! of docs/SECURITY.md that meets this crate, as a test.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mary_contract::{
    Account as _, ErrorKind, Finish, Generate, Generated, Job, ModelError, ModelSettings, Prompt,
    Reply, Score, Start, Ticket, WorkQueue,
};
use mary_remote::Ledger;
use mary_testkit::raw_server::{RawServer, Say};
use serde_json::{Value, json};

use super::room::{FOLDER, KEY, TestQueue, ask, generate, try_open};

fn settings(server: &RawServer, args: &[(&str, &str)]) -> ModelSettings {
    std::sync::LazyLock::force(&FOLDER);
    let mut settings = ModelSettings {
        base_url: Some(server.url("/v1")),
        max_connections: Some(4),
        ..ModelSettings::default()
    };
    let defaults = [
        ("key_env", "MARY_TEST_KEY"),
        ("check", "false"),
        ("backoff_ms", "1"),
        ("retries", "2"),
    ];
    for (name, value) in defaults.iter().chain(args) {
        settings.args.insert((*name).into(), (*value).into());
    }
    settings
}

fn chat(text: &str, usage: Value) -> Say {
    Say::json(&json!({
        "model": "gpt-4o",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": usage,
    }))
}

/// A prompt of about $0.067 at $2.50 a million tokens.
fn dear(n: usize) -> Generate {
    ask(format!("{n} {}", "word ".repeat(21_400)))
}

/// How many of 200 requests of $0.067 are asked within a budget of $1, by what a server says about
/// their cost.
fn asked_within_a_dollar(model: &str, usage: Value) -> (usize, f64) {
    let server = RawServer::start(move |_| chat("yes", usage.clone())).unwrap();
    let ledger = Ledger::new();
    let mut settings = settings(&server, &[]);
    settings.budget = Some(1.0);
    let model = try_open(model, &settings, &ledger).unwrap();
    let queue = generate(model.as_ref(), (0..200).map(dear).collect());
    let budget = queue
        .answers
        .values()
        .flatten()
        .find_map(|a| a.as_ref().err());
    assert_eq!(budget.unwrap().kind, ErrorKind::Budget);
    (server.heard().len(), ledger.spent())
}

#[test]
fn no_word_about_usage_makes_a_budget_endless() {
    for usage in [
        Value::Null,
        json!({}),
        json!({"prompt_tokens": null, "completion_tokens": null}),
        json!({"prompt_tokens": 0, "completion_tokens": 0}),
        json!({"prompt_tokens": -5, "completion_tokens": -5}),
        json!({"prompt_tokens": 26_755, "completion_tokens": 1, "cost": 0.0}),
        json!({"prompt_tokens": 26_755, "completion_tokens": 1, "cost": -100.0}),
        json!({"cost": 0.000_001}),
    ] {
        for model in ["openai/gpt-4o", "openrouter/openai/gpt-4o"] {
            let mut settings_known = model != "openrouter/openai/gpt-4o";
            // A price of the router's is known only where our list has one.
            settings_known |= mary_remote::Prices::ours()
                .unwrap()
                .for_model(&model.parse().unwrap())
                .is_some();
            if !settings_known {
                continue;
            }
            let (asked, spent) = asked_within_a_dollar(model, usage.clone());
            assert!((10..=15).contains(&asked), "{model} {usage}: {asked} asked");
            assert!((0.5..=1.0).contains(&spent), "{model} {usage}: {spent}");
        }
    }
}

#[test]
fn answers_lost_on_the_way_count_before_they_are_asked_again() {
    let server = RawServer::start(|_| Say::Nothing).unwrap();
    let ledger = Ledger::new();
    let mut settings = settings(&server, &[("retries", "100")]);
    settings.budget = Some(1.0);
    let model = try_open("openai/gpt-4o", &settings, &ledger).unwrap();
    let queue = generate(model.as_ref(), vec![dear(0)]);
    let error = queue.only(0).as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Budget, "{error}");
    assert!(server.heard().len() <= 15, "{} times", server.heard().len());
    assert!(ledger.spent() <= 1.0);
}

/// Every way in which a server could hand the key back: in the answer, as a name, as a reason, in
/// errors, and cut in two.
#[test]
fn the_key_comes_back_in_no_answer_no_name_and_no_error() {
    let half = &KEY[..KEY.len() - 4];
    let bodies = [
        json!({
            "model": KEY,
            "choices": [{
                "message": {"content": format!("your key is {KEY}"), "reasoning": half},
                "finish_reason": format!("because {half}"),
            }],
            KEY: {"deep": [KEY]},
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }),
        json!({"error": {"message": format!("{}{KEY}", "x".repeat(190)), "code": KEY, "param": KEY}}),
        json!({"error": format!("{} {half}", "y".repeat(1_990))}),
        json!({"detail": [{"msg": KEY}]}),
        json!(format!("{}{KEY}", "z".repeat(180))),
    ];
    for body in bodies {
        for status in [200, 400, 401, 403, 404, 422, 429, 500] {
            let body = body.clone();
            let server = RawServer::start(move |_| {
                let bytes = body.to_string().into_bytes();
                let told = format!("bad-{KEY}");
                Say::Answer(status, vec![("x-told".into(), told)], bytes)
            })
            .unwrap();
            let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
            let queue = generate(model.as_ref(), vec![ask("hello")]);
            let shown = match queue.only(0) {
                Ok(reply) => format!("{reply:?}"),
                Err(error) => format!("{error:?} {error}"),
            };
            for piece in KEY.as_bytes().windows(12) {
                let piece = std::str::from_utf8(piece).unwrap();
                assert!(!shown.contains(piece), "{status}: {shown}");
            }
        }
    }
}

#[test]
fn a_long_wait_is_an_error_that_says_so_and_leaves_the_run_resumable() {
    for value in [
        "86400",
        "99999999999999999999",
        "1e30",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let server = RawServer::start(move |_| {
            let headers = vec![("retry-after".to_owned(), value.to_owned())];
            Say::Answer(
                429,
                headers,
                b"{\"error\":{\"message\":\"slow down\"}}".to_vec(),
            )
        })
        .unwrap();
        let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
        let queue = generate(
            model.as_ref(),
            (0..50).map(|n| ask(format!("{n}"))).collect(),
        );
        let errors: Vec<_> = queue.answers.values().flatten().collect();
        let first = errors.iter().find_map(|a| a.as_ref().err()).unwrap();
        assert_eq!(first.kind, ErrorKind::Overloaded, "{value}: {first}");
        assert!(first.is_fatal());
        assert!(server.heard().len() < 20, "{value}: most were never sent");
    }
}

#[test]
fn headers_that_say_the_limit_is_gone_for_a_day_end_the_run_with_that_word() {
    let server = RawServer::start(|_| {
        let headers = [
            ("x-ratelimit-limit-requests", "100"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "24h"),
        ];
        let headers = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]});
        Say::Answer(200, headers, body.to_string().into_bytes())
    })
    .unwrap();
    let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
    let queue = generate(
        model.as_ref(),
        (0..50).map(|n| ask(format!("{n}"))).collect(),
    );
    let error = queue
        .answers
        .values()
        .flatten()
        .find_map(|a| a.as_ref().err());
    let error = error.unwrap();
    assert_eq!(error.kind, ErrorKind::Overloaded, "{error}");
    assert!(error.message.contains("asks to wait"), "{error}");
}

#[test]
fn odd_headers_are_no_reason_to_panic() {
    for value in [
        "NaN",
        "-1",
        "inf",
        "9".repeat(400).as_str(),
        "1e308",
        "\u{7f}",
        "",
        "-86400",
        "1e999",
        "soon",
    ] {
        let (value, shown) = (value.to_owned(), value.to_owned());
        let server = RawServer::start(move |_| {
            let names = [
                "x-ratelimit-limit-requests",
                "x-ratelimit-remaining-requests",
                "x-ratelimit-reset-requests",
                "x-ratelimit-limit-tokens",
                "x-ratelimit-remaining-tokens",
                "x-ratelimit-reset-tokens",
                "retry-after",
                "retry-after-ms",
            ];
            let headers = names.map(|n| (n.to_owned(), value.clone())).to_vec();
            let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]});
            Say::Answer(200, headers, body.to_string().into_bytes())
        })
        .unwrap();
        let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
        let queue = generate(
            model.as_ref(),
            (0..6).map(|n| ask(format!("{n}"))).collect(),
        );
        if shown == "\u{7f}" {
            // No answer of HTTP: an error of each item.
            assert!((0..6).all(|n| queue.only(n).is_err()));
            continue;
        }
        // Headers that say nothing change nothing: every question is asked once and answered.
        assert_eq!(server.heard().len(), 6, "{shown}");
        for n in 0..6 {
            let answer = queue.only(n).as_ref();
            let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(answer.answer.text, "x", "{shown}");
        }
    }
}

/// A queue whose run is told to stop at some moment.
struct Stopping {
    queue: TestQueue<Generate, Generated>,
    stops: Box<dyn Fn() -> bool>,
}

impl WorkQueue<Generate, Generated> for Stopping {
    fn next(&mut self) -> Option<Job<Generate>> {
        self.queue.next()
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Reply<Generated>, ModelError>,
    ) -> std::ops::ControlFlow<()> {
        self.queue.answer(ticket, answer)
    }

    fn stopping(&mut self) -> bool {
        (self.stops)()
    }
}

/// A stop while requests wait for their turn, pause and are under way: what is under way is handed
/// in, the rest comes back at once.
#[test]
fn a_stop_keeps_what_is_under_way_and_waits_for_nothing_else() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&arrived);
    let server = RawServer::start(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        chat("kept", json!({"prompt_tokens": 1, "completion_tokens": 1}))
    })
    .unwrap();
    let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
    let mut queue = Stopping {
        queue: TestQueue::new((0..100).map(|n| ask(format!("{n}")))),
        // From the moment the first questions are at the server.
        stops: Box::new(move || arrived.load(Ordering::SeqCst) > 0),
    };
    model.generator().unwrap().generate(&mut queue);
    let kept = queue
        .queue
        .answers
        .values()
        .flatten()
        .filter(|a| a.is_ok())
        .count();
    assert_eq!(
        kept,
        server.heard().len(),
        "every answer that was paid for is handed in"
    );
    assert!((1..=8).contains(&kept), "{kept} were under way");
}

/// A server that never answers: a run that stops waits for the stated time and no longer, and what was
/// at the server counts as spent, since nobody will know.
#[test]
fn what_does_not_come_within_the_stated_time_counts_as_spent() {
    let server = RawServer::start(|_| {
        loop {
            std::thread::park();
        }
    })
    .unwrap();
    let ledger = Ledger::new();
    let settings = settings(&server, &[("stop_wait", "0.2")]);
    let model = try_open("openai/gpt-4o", &settings, &ledger).unwrap();
    let mut queue = Stopping {
        queue: TestQueue::new((0..100).map(dear)),
        stops: Box::new(move || server.heard().len() >= 4),
    };
    model.generator().unwrap().generate(&mut queue);
    assert!(queue.queue.answers.values().flatten().all(Result::is_err));
    // The requests are given up by another thread, a moment later.
    let until = std::time::Instant::now() + Duration::from_secs(120);
    while ledger.balance().promised > 0.0 && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let balance = ledger.balance();
    assert_eq!(balance.promised, 0.0);
    // Four at the server, at $0.067 each and a little for what they might have answered.
    assert!(balance.lost >= 4.0 * 0.066, "{balance:?}");
    assert!(balance.lost <= 4.0 * 0.09, "{balance:?}");
    assert_eq!(balance.spent, balance.lost);
}

/// An echo that asks for two texts: the first is answered and paid for, the second refused.
#[test]
fn half_a_score_that_was_paid_for_counts() {
    let count = AtomicUsize::new(0);
    let server = RawServer::start(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) > 0 {
            return Say::Answer(400, vec![], b"{\"error\":{\"message\":\"no\"}}".to_vec());
        }
        Say::json(&json!({
            "choices": [{"text": "", "logprobs": {
                "tokens": ["The", " cat", " sat"], "token_logprobs": [null, -1.0, -2.0]}}],
            "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0},
        }))
    })
    .unwrap();
    let ledger = Ledger::new();
    let settings = settings(&server, &[("logprobs", "echo")]);
    let model = try_open("openai-completions/davinci-002", &settings, &ledger).unwrap();
    let mut queue = TestQueue::new([Score::new(
        Prompt::plain("The cat"),
        vec![" sat".into(), " ran".into()],
        Start::Model,
    )]);
    model.scorer().unwrap().score(&mut queue);
    assert!(queue.only(0).is_err());
    let price = 2.0;
    let balance = ledger.balance();
    assert!((balance.spent - price).abs() < 1e-6, "{balance:?}");
    assert!((balance.lost - price).abs() < 1e-6, "{balance:?}");
}

#[test]
fn a_fatal_error_midway_keeps_the_answers_under_way() {
    let count = AtomicUsize::new(0);
    let server = RawServer::start(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            return Say::Answer(401, vec![], b"{\"error\":{\"message\":\"no\"}}".to_vec());
        }
        std::thread::sleep(Duration::from_millis(300));
        chat("kept", json!({"prompt_tokens": 1, "completion_tokens": 1}))
    })
    .unwrap();
    let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
    let queue = generate(
        model.as_ref(),
        (0..40).map(|n| ask(format!("{n}"))).collect(),
    );
    let kept = queue
        .answers
        .values()
        .flatten()
        .filter(|a| a.is_ok())
        .count();
    assert_eq!(kept + 1, server.heard().len());
}

fn echo(tokens: Value, values: Value) -> Result<Vec<f32>, ErrorKind> {
    let server = RawServer::start(move |_| {
        Say::json(&json!({
            "choices": [{"text": "", "logprobs": {"tokens": tokens, "token_logprobs": values}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 0},
        }))
    })
    .unwrap();
    let model = try_open(
        "vllm/m",
        &settings(&server, &[("logprobs", "echo")]),
        &Ledger::new(),
    );
    let model = model.unwrap();
    let mut queue = TestQueue::new([Score::new(
        Prompt::plain("The cat"),
        vec![" sat".into()],
        Start::Model,
    )]);
    model.scorer().unwrap().score(&mut queue);
    match queue.only(0) {
        Ok(reply) => Ok(reply.answer.continuations[0].logprobs.clone()),
        Err(error) => Err(error.kind),
    }
}

#[test]
fn an_echo_that_cannot_be_aligned_or_is_above_certainty_is_an_error() {
    let tokens = json!(["The", " cat", " sat"]);
    assert_eq!(
        echo(tokens.clone(), json!([null, -1.0, -2.0])),
        Ok(vec![-2.0])
    );
    assert_eq!(
        echo(tokens.clone(), json!([null, -1.0, 1e-7])),
        Ok(vec![0.0])
    );
    assert!(
        echo(tokens.clone(), json!([null, -1.0, 0.5])).is_err(),
        "above certainty"
    );
    assert!(
        echo(json!(["", "", ""]), json!([null, -1.0, -2.0])).is_err(),
        "nothing spelt"
    );
    assert!(echo(json!(["The", " cat", ""]), json!([null, -1.0, -2.0])).is_err());
    assert!(echo(json!([]), json!([])).is_err());
    assert!(
        echo(
            json!(["The", " cat", " sat", ""]),
            json!([null, -1.0, -2.0])
        )
        .is_err()
    );
    let lost = json!(["\u{fffd}", " dog", " ran"]);
    assert!(
        echo(lost, json!([null, -1.0, -2.0])).is_err(),
        "another text"
    );
}

fn batch_line(name: &str, text: &str) -> String {
    let line = json!({"custom_id": name, "response": {"status_code": 200, "body": {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}}}});
    format!("{line}\n")
}

/// The names of the requests in an uploaded form or a list.
fn names(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    let mut names = Vec::new();
    for piece in text.split("\"custom_id\":\"").skip(1) {
        names.push(piece.split('"').next().unwrap().to_owned());
    }
    names
}

/// A batch service in a few lines: `creations` is what happens to each reply to a creation.
fn batches(
    shown: impl Fn(usize) -> bool + Send + Sync + 'static,
    result: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static,
    lose_reply: bool,
) -> (RawServer, Arc<AtomicUsize>) {
    let created = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&created);
    let requests = std::sync::Mutex::new(Vec::new());
    let server = RawServer::start(move |heard| {
        let path = heard.path.as_str();
        let total = requests.lock().unwrap().len();
        match (heard.method.as_str(), path) {
            ("POST", "/v1/files") => {
                *requests.lock().unwrap() = names(&heard.body);
                Say::json(&json!({"id": "file-1"}))
            }
            ("POST", "/v1/batches" | "/v1/messages/batches") => {
                if path.contains("messages") {
                    *requests.lock().unwrap() = names(&heard.body);
                }
                count.fetch_add(1, Ordering::SeqCst);
                if lose_reply {
                    return Say::Nothing;
                }
                Say::json(&json!({"id": "batch_1"}))
            }
            ("GET", list) if list.contains("?limit=") => {
                let made = count.load(Ordering::SeqCst);
                let old = json!({"id": "batch_0", "created_at": "2099-01-01T00:00:00Z",
                    "request_counts": {"succeeded": 6}});
                let ours = json!({"id": "batch_1", "created_at": "1970-01-01T00:00:00Z",
                    "request_counts": {"processing": total}});
                let mut data = vec![old];
                if made > 0 && shown(made) {
                    data.push(ours);
                }
                Say::json(&json!({ "data": data }))
            }
            ("GET", "/v1/batches/batch_1") => Say::json(&json!({
                "status": "completed", "output_file_id": "out-1",
                "request_counts": {"total": total, "completed": total}})),
            ("GET", "/v1/messages/batches/batch_1") => Say::json(&json!({
                "processing_status": "in_progress", "request_counts": {"processing": total}})),
            ("GET", "/v1/files/out-1/content") => {
                Say::Answer(200, vec![], result(&requests.lock().unwrap()))
            }
            _ => Say::Answer(404, vec![], b"{}".to_vec()),
        }
    })
    .unwrap();
    (server, created)
}

fn visit(
    model: &str,
    server: &RawServer,
    state: &Path,
) -> TestQueue<Generate, mary_contract::Generated> {
    let path = state.display().to_string();
    let settings = settings(server, &[("batch", path.as_str())]);
    let model = try_open(model, &settings, &Ledger::new()).unwrap();
    generate(
        model.as_ref(),
        (0..6).map(|n| ask(format!("question {n}"))).collect(),
    )
}

/// The reply to the creation is lost, and all clocks are wrong: the batch is found again, or the user
/// is asked, but it is never created twice.
#[test]
fn a_lost_reply_to_a_creation_never_makes_a_second_batch() {
    for model in ["openai/gpt-4o", "anthropic/claude-sonnet-4"] {
        let (server, created) = batches(|_| false, |_| Vec::new(), true);
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("batch.json");
        for _ in 0..3 {
            let queue = visit(model, &server, &state);
            let error = queue.answers.values().flatten().next().unwrap();
            let error = error.as_ref().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Interrupted, "{model}: {error}");
            assert!(
                error.hint.as_ref().unwrap().contains("batch_again"),
                "{error:?}"
            );
        }
        assert_eq!(created.load(Ordering::SeqCst), 1, "{model}");
    }
    // Anthropic keeps no name and our clock is decades off: it is the one that was not there before.
    let (server, created) = batches(|made| made == 1, |_| Vec::new(), true);
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("batch.json");
    for _ in 0..3 {
        let queue = visit("anthropic/claude-sonnet-4", &server, &state);
        let error = queue.answers.values().flatten().next().unwrap();
        assert!(
            error
                .as_ref()
                .unwrap_err()
                .message
                .contains("not finished yet")
        );
    }
    assert_eq!(created.load(Ordering::SeqCst), 1);
}

#[test]
fn a_result_shorter_than_its_counts_is_not_final() {
    let looks = AtomicUsize::new(0);
    let (server, created) = batches(
        |_| true,
        move |names| {
            let whole: String = names.iter().map(|n| batch_line(n, "yes")).collect();
            match looks.fetch_add(1, Ordering::SeqCst) {
                0 => Vec::new(),
                1 => whole.as_bytes()[..whole.len() - 30].to_vec(),
                _ => whole.into_bytes(),
            }
        },
        false,
    );
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("batch.json");
    for found in ["0 of 6", "5 of 6"] {
        let queue = visit("openai/gpt-4o", &server, &state);
        let error = queue.answers.values().flatten().next().unwrap();
        let error = error.as_ref().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
        assert!(error.message.contains(found), "{error}");
    }
    let queue = visit("openai/gpt-4o", &server, &state);
    assert!((0..6).all(|n| queue.only(n).as_ref().unwrap().answer.text == "yes"));
    assert_eq!(created.load(Ordering::SeqCst), 1);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "only the state file stays: {left:?}");
}

/// Seventy-two megabytes of answers, more than any single answer may have.
#[test]
fn a_batch_larger_than_any_answer_is_read_item_by_item() {
    let long = "long ".repeat(12 << 18);
    let text = long.clone();
    let (server, _) = batches(
        |_| true,
        move |names| {
            let mut all = Vec::new();
            for name in names {
                all.extend_from_slice(batch_line(name, &text).as_bytes());
            }
            assert!(all.len() > 64 << 20);
            all
        },
        false,
    );
    let folder = tempfile::tempdir().unwrap();
    let queue = visit("openai/gpt-4o", &server, &folder.path().join("batch.json"));
    for n in 0..6 {
        assert_eq!(
            queue.only(n).as_ref().unwrap().answer.text.len(),
            long.len()
        );
    }
}

#[test]
fn the_variable_named_by_key_env_holds_the_key_that_is_sent() {
    let server = RawServer::start(|_| chat("x", Value::Null)).unwrap();
    for (name, header) in [
        ("openai/gpt-4o", "authorization"),
        ("compatible/m", "authorization"),
        ("anthropic/claude-sonnet-4", "x-api-key"),
        ("google/gemini-2.0-flash", "x-goog-api-key"),
    ] {
        let model = try_open(
            name,
            &settings(&server, &[("retries", "0")]),
            &Ledger::new(),
        )
        .unwrap();
        let _ = generate(model.as_ref(), vec![ask("hello")]);
        let heard = server.heard();
        let sent = heard
            .last()
            .unwrap()
            .headers
            .iter()
            .find(|(n, _)| n == header);
        assert!(sent.unwrap().1.ends_with(KEY), "{name}");
    }
}

#[test]
fn what_a_server_calls_the_end_is_kept_as_a_word() {
    let server = RawServer::start(|_| {
        Say::json(
            &json!({"choices": [{"message": {"content": "x"}, "finish_reason": "\u{1b}[2J"}]}),
        )
    })
    .unwrap();
    let model = try_open("openai/gpt-4o", &settings(&server, &[]), &Ledger::new()).unwrap();
    let queue = generate(model.as_ref(), vec![ask("hello")]);
    let finish = &queue.only(0).as_ref().unwrap().answer.finish;
    assert_eq!(*finish, Finish::Other("\u{1b}[2J".into()));
}

//! `mary score` and `mary ask` against a server that costs money: a budget stops them with its exit code, what
//! was answered is kept, and going on pays for the rest alone, to the cent. And what a server's refusal to be
//! scored says.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mary_testkit::faulty_server::{FaultyServer, Script};
use serde_json::Value;

const TEXTS: usize = 20;
const PRICES: &str = r#"{"updated": "2026-11-01", "source": "a test", "models": [
    {"provider": "compatible", "model": "scripted", "input": 1000, "output": 0}]}"#;

struct Shop {
    server: FaultyServer,
    asked: Arc<AtomicUsize>,
    home: tempfile::TempDir,
}

impl Shop {
    fn open() -> Self {
        let asked: Arc<AtomicUsize> = Arc::default();
        let count = Arc::clone(&asked);
        let script = Script {
            reply: Arc::new(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                "Blue.".to_owned()
            }),
            ..Script::default()
        };
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("prices.json"), PRICES).unwrap();
        // All of one length, so that all cost the same.
        let texts =
            (10..10 + TEXTS).map(|n| format!("This is the sentence number {n} of my file.\n"));
        std::fs::write(home.path().join("t.txt"), texts.collect::<String>()).unwrap();
        Self {
            server: FaultyServer::start(script).unwrap(),
            asked,
            home,
        }
    }

    /// Exit code, standard output and standard error.
    fn mary(&self, words: &[&str]) -> (i32, String, String) {
        let home = self.home.path();
        let output = Command::new(env!("CARGO_BIN_EXE_mary"))
            .args(words)
            .args(["-m", "compatible/scripted", "--max-connections", "1"])
            .args(["--base-url", &self.server.url("/v1")])
            .current_dir(home)
            .env("MARY_RUNS", home.join("runs"))
            .env("MARY_CACHE_DIR", home.join("cache"))
            .env("MARY_PRICES", home.join("prices.json"))
            .env("OPENAI_COMPATIBLE_API_KEY", "sk-test-prices-0815")
            .env_remove("MARY_MODEL")
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        (
            output.status.code().unwrap_or(-1),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// What the only run of a home has cost.
fn spent(home: &Path) -> f64 {
    let run = std::fs::read_dir(home.join("runs")).unwrap().next();
    let book = std::fs::read(run.unwrap().unwrap().path().join("spent.json")).unwrap();
    let book: Value = serde_json::from_slice(&book).unwrap();
    book["dollars"].as_f64().unwrap()
}

#[test]
fn a_budget_stops_scores_and_going_on_pays_for_the_rest() {
    let shop = Shop::open();
    let words = |budget| {
        let words = ["score", "t.txt", "--budget", budget, "-q"];
        let more = ["--model-arg", "logprobs=echo", "--model-arg", "bos=<s>"];
        [&words[..], &more[..]].concat()
    };
    let (code, out, err) = shop.mary(&words("0.1"));
    assert_eq!(code, 5, "{err}");
    assert!(
        out.is_empty() && err.contains("hint: everything answered so far is kept"),
        "{err}"
    );
    let first = shop.asked();
    assert!((2..TEXTS).contains(&first), "{first} were asked");
    let each = spent(shop.home.path()) / first as f64;
    assert!(each > 0.005 && each * first as f64 <= 0.1, "{each}");
    let (code, out, err) = shop.mary(&words("1"));
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().count(), 1 + TEXTS, "{out}");
    assert_eq!(shop.asked(), TEXTS, "nothing is paid for twice");
    let all = spent(shop.home.path());
    assert!((all - each * TEXTS as f64).abs() < 1e-9, "{all} {each}");
    // A third time there is nothing to ask, however small the budget.
    let (code, again, err) = shop.mary(&words("0.0001"));
    assert_eq!(
        (code, again == out, shop.asked()),
        (0, true, TEXTS),
        "{err}"
    );
}

#[test]
fn a_budget_stops_answers() {
    let shop = Shop::open();
    let question = "What is the colour of the sky at noon, in one word? ".repeat(4);
    let words = |budget| ["ask", &question, "-n", "6", "-q", "--budget", budget].map(str::to_owned);
    let ask = |budget| {
        let words = words(budget);
        shop.mary(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (code, _, err) = ask("0.2");
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("leaves no room for the next request"), "{err}");
    let first = shop.asked();
    assert!((1..6).contains(&first), "{first} were asked");
    let (code, _, err) = ask("10");
    assert_eq!((code, shop.asked()), (0, 6), "{err}");
}

/// Every text fails alike: the reason and what to do are said once, not in the table alone.
#[test]
fn why_nothing_could_be_scored_is_said_with_what_to_do() {
    let shop = Shop::open();
    let (code, out, err) = shop.mary(&["score", "t.txt", "-q", "--model-arg", "logprobs=echo"]);
    assert_eq!(code, 1, "{err}");
    assert_eq!(out.lines().count(), 1 + TEXTS);
    assert!(
        err.contains("warning: 20 have no score; the first"),
        "{err}"
    );
    assert!(err.contains("hint: name the start token"), "{err}");
}

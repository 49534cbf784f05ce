//! `kill -9` while money is spent: a server numbers its answers and notes what each costs, and its book
//! is held against `spent.json`, `paid.jsonl` and the log, answer by answer. The server also repeats the
//! key wherever it can; no file and no line may hold twelve characters of it.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use mary_testkit::raw_server::{Heard, RawServer, Say};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0815-Xq7-nobody-may-see-this";
/// Four hundred questions.
const FEW: [&str; 6] = [
    "-t",
    "htest/end-punctuation,htest/uppercase",
    "-k",
    "2",
    "--set",
    "mode=generate",
];
/// Eighteen hundred, of the tasks whose items are made in no time.
const MANY: [&str; 6] = [
    "-t",
    "htest/end-punctuation,htest/uppercase,htest/start-vowel,htest/spelled-number,htest/spelled-math,\
     htest/repeated-word,htest/palindrome,htest/hyphenated-word,htest/end-ly",
    "-k",
    "2",
    "--set",
    "mode=generate",
];
/// Forty items of two questions each: the model's, and the judge's about its answer.
const JUDGED: [&str; 4] = ["-t", "judged.toml", "--judge", "compatible/scripted"];
/// Requests at the server at once, at most.
const CONNECTIONS: usize = 4;
/// Questions that a process has taken and not yet kept, at most: those at the server, those waiting
/// for their turn, and answers on their way to the log.
const TAKEN: usize = CONNECTIONS * 5 / 4 + 4;
/// Dollars for a million tokens, in and out.
const PRICE: (f64, f64) = (10.0, 30.0);

/// What the server answered.
#[derive(Default)]
struct Books {
    /// The question and the price of each answer; its place is the number that the answer carries.
    given: Vec<(String, f64)>,
    /// So many answers are given and no more, until the test says so: whatever the machine is busy
    /// with, a process is killed at the same point of its work.
    most: usize,
}

type Shared = Arc<(Mutex<Books>, Condvar)>;

impl Books {
    fn dollars(&self) -> f64 {
        self.given.iter().map(|(_, price)| price).sum()
    }

    /// What these answers cost.
    fn price(&self, numbers: &HashSet<usize>) -> f64 {
        numbers.iter().map(|n| self.given[*n].1).sum()
    }

    fn questions(&self) -> usize {
        let all: HashSet<&str> = self.given.iter().map(|(q, _)| q.as_str()).collect();
        all.len()
    }
}

fn server(books: &Shared) -> RawServer {
    let books = Arc::clone(books);
    RawServer::start(move |heard: &Heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "scripted"}]}));
        }
        let body: Value = serde_json::from_slice(&heard.body).unwrap();
        let prompt = body["messages"].to_string();
        let judged = prompt.contains("YES or NO");
        let (read, wrote) = (prompt.len() as u64 / 4, 2u64);
        let sent = heard.headers.iter().find(|(n, _)| n == "authorization");
        let key = sent.map(|(_, v)| v.clone()).unwrap_or_default();
        let (lock, told) = &*books;
        let mut book = lock.lock().unwrap();
        while book.given.len() >= book.most {
            book = told.wait(book).unwrap();
        }
        let number = book.given.len();
        let price = (read as f64 * PRICE.0 + wrote as f64 * PRICE.1) / 1e6;
        book.given.push((prompt, price));
        told.notify_all();
        Say::Answer(
            200,
            vec![("x-key".into(), key.clone())],
            json!({
                "id": number,
                "model": format!("scripted {key}"),
                "choices": [{
                    "message": {"content": if judged { "YES" } else { "A" }, "reasoning": format!("I was given {key}, cut: {}", &key[..key.len().min(30)])},
                    "finish_reason": "stop",
                }],
                "usage": {"prompt_tokens": read, "completion_tokens": wrote, "cost": 0.0},
            })
            .to_string()
            .into_bytes(),
        )
    })
    .unwrap()
}

fn mary(home: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .args(["run", "-m", "compatible/scripted", "--base-url", url])
        .args(["--apply-chat-template", "--no-report"])
        .args(["--max-connections", &CONNECTIONS.to_string()])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("MARY_PRICES", home.join("prices.json"))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env_remove("MARY_MODEL");
    command
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn file_named(home: &Path, name: &str) -> Option<PathBuf> {
    let all = files(&home.join("runs"));
    all.into_iter()
        .find(|f| f.file_name().is_some_and(|n| n == name))
}

/// Twelve characters of the key in a row, anywhere in these bytes.
fn leaks(bytes: &[u8]) -> bool {
    KEY.as_bytes()
        .windows(12)
        .any(|piece| bytes.windows(12).any(|w| w == piece))
}

fn spent(home: &Path) -> (f64, f64, f64) {
    let Some(file) = file_named(home, "spent.json") else {
        return (0.0, 0.0, 0.0);
    };
    let value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap_or_default();
    let number = |name: &str| value[name].as_f64().unwrap_or(0.0);
    (number("dollars"), number("in_flight"), number("unsure"))
}

/// Answers in a file of lines: their numbers, and what they are said to have cost.
fn answers(home: &Path, name: &str) -> (HashSet<usize>, f64) {
    let Some(file) = file_named(home, name) else {
        return (HashSet::new(), 0.0);
    };
    let text = std::fs::read_to_string(file).unwrap();
    let (mut numbers, mut dollars) = (HashSet::new(), 0.0);
    // A kill may leave half a line at the end.
    for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
        let line: Value = serde_json::from_str(line).unwrap();
        let replies = match line["exchanges"].as_array() {
            Some(exchanges) => exchanges.iter().map(|e| &e["reply"]["Ok"]).collect(),
            None => vec![&line["reply"]],
        };
        for reply in replies.into_iter().filter(|r| r.is_object()) {
            let number = reply["meta"]["raw"]["id"].as_u64().unwrap();
            let new = numbers.insert(usize::try_from(number).unwrap());
            assert!(new, "answer {number} stands twice in {name}");
            dollars += reply["meta"]["usage"]["cost"].as_f64().unwrap();
        }
    }
    (numbers, dollars)
}

/// Dollars agree to far less than a cent.
fn agree(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() < 1e-6, "{what}: {one} and {other}");
}

/// A home with prices, and a server with its book.
fn setting() -> (Shared, RawServer, tempfile::TempDir) {
    let books: Shared = Arc::default();
    let server = server(&books);
    let home = tempfile::tempdir().unwrap();
    let prices = json!({"updated": "2026-01-01", "source": "a test", "models": [
        {"provider": "compatible", "model": "scripted", "input": PRICE.0, "output": PRICE.1}]});
    std::fs::write(home.path().join("prices.json"), prices.to_string()).unwrap();
    let task = "title = \"Judged\"\nabout = \"A judge reads every answer.\"\n[data]\npath = \"rows.jsonl\"\n\
                [request]\nkind = \"generate\"\nprompt = \"{{ word }}\"\n[judge]\nkind = \"model\"\n\
                rubric = \"{{ response }} to {{ word }}: right? YES or NO\"\n";
    std::fs::write(home.path().join("judged.toml"), task).unwrap();
    let row = |n: usize| format!("{{\"word\": \"word {n}\"}}\n");
    let rows: String = (0..40).map(row).collect();
    std::fs::write(home.path().join("rows.jsonl"), rows).unwrap();
    (books, server, home)
}

/// Starts the program and waits until the server has given so many more answers. The moment is told by
/// the server's book, not by a clock: it gives no more until it is allowed to.
fn start_and_wait(books: &Shared, mut command: Command, more: usize) -> Child {
    let (lock, told) = &**books;
    let mut book = lock.lock().unwrap();
    let goal = book.given.len() + more;
    book.most = goal;
    told.notify_all();
    drop(book);
    let mut child = command.spawn().unwrap();
    let mut book = lock.lock().unwrap();
    while book.given.len() < goal {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        let waited = told.wait_timeout(book, Duration::from_millis(20));
        book = waited.unwrap().0;
    }
    child
}

fn let_all_through(books: &Shared) {
    books.0.lock().unwrap().most = usize::MAX;
    books.1.notify_all();
}

/// What holds at every moment of a kill. So many answers may be `waiting` for others of their items.
fn check_after_kill(books: &Shared, home: &Path, killed: usize, waiting: usize) {
    // Before the book is looked at: the server may still be writing answers that nobody reads.
    let (dollars, in_flight, unsure) = spent(home);
    let (kept, kept_dollars) = answers(home, "paid.jsonl");
    let (logged, logged_dollars) = answers(home, "samples.jsonl");
    let book = books.0.lock().unwrap();
    agree(
        kept_dollars,
        book.price(&kept),
        "kept answers, ours and the server's price",
    );
    agree(
        logged_dollars,
        book.price(&logged),
        "logged answers, ours and the server's price",
    );
    assert!(
        logged.is_subset(&kept),
        "an answer is kept before it is logged"
    );
    // One answer may be kept whose price was not noted, or whose line was not written.
    assert!(dollars <= kept_dollars + 1e-6);
    let dearest = book.given.iter().map(|g| g.1).fold(0.0, f64::max);
    assert!(
        kept_dollars - dollars <= dearest + 1e-6,
        "{kept_dollars}, {dollars} noted"
    );
    assert!(
        kept.len() - logged.len() <= 1 + waiting,
        "{} kept, {} logged",
        kept.len(),
        logged.len()
    );
    // Everything that was paid is known: kept, or set aside.
    let paid = book.dollars();
    let aside = dollars + in_flight + unsure;
    assert!(
        paid <= aside + 1e-6,
        "the server counts {paid}, we set {aside} aside"
    );
    let lost = book.given.len() - kept.len();
    assert!(
        lost <= killed * TAKEN,
        "{lost} answers lost in {killed} kills"
    );
}

fn kills(wanted: usize, every: usize, options: &[&str], waiting: usize) {
    let (books, server, home) = setting();
    let url = server.url("/v1");
    let home = home.path();
    let command = |budget: &str| {
        let mut command = mary(home, &url);
        command.args(options).args(["--budget", budget]);
        command
    };
    for killed in 1..=wanted {
        let mut quiet = command("1000");
        quiet.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = start_and_wait(&books, quiet, every);
        child.kill().unwrap();
        child.wait().unwrap();
        check_after_kill(&books, home, killed, waiting);
    }
    let_all_through(&books);

    // A budget that leaves room for a few more holds, with all that the kills cut off.
    let (dollars, in_flight, unsure) = spent(home);
    let budget = dollars + in_flight + unsure + if waiting == 0 { 0.02 } else { 0.003 };
    let stopped = command(&format!("{budget:.6}")).output().unwrap();
    let mut printed = [stopped.stdout, stopped.stderr].concat();
    let said = String::from_utf8_lossy(&printed).into_owned();
    assert_eq!(stopped.status.code(), Some(5), "{said}");
    assert!(said.contains("budget"), "{said}");
    let paid = books.0.lock().unwrap().dollars();
    assert!(paid <= budget + 1e-6, "{paid} of a budget of {budget}");
    let (dollars, in_flight, unsure) = spent(home);
    let (kept, kept_dollars) = answers(home, "paid.jsonl");
    let (logged, logged_dollars) = answers(home, "samples.jsonl");
    assert!(logged.is_subset(&kept));
    assert!(kept.len() - logged.len() <= waiting);
    if waiting == 0 {
        agree(
            dollars,
            logged_dollars,
            "spent.json and the log of an interrupted run",
        );
    }
    agree(dollars, kept_dollars, "spent.json and the answers kept");
    assert_eq!(in_flight, 0.0);
    assert!(dollars + unsure <= budget + 1e-6);

    let ended = command("1000").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    printed.extend_from_slice(&ended.stdout);
    printed.extend_from_slice(&ended.stderr);
    let report = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["report"])
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .output()
        .unwrap();
    printed.extend_from_slice(&report.stdout);
    printed.extend_from_slice(&report.stderr);

    let book = books.0.lock().unwrap();
    let (dollars, in_flight, unsure) = spent(home);
    let (logged, logged_dollars) = answers(home, "samples.jsonl");
    let all: HashSet<usize> = (0..book.given.len()).collect();
    let lost: HashSet<usize> = all.difference(&logged).copied().collect();
    eprintln!(
        "{wanted} kills: {} questions, {} answers by the server, {} of them in flight at a kill and asked again; \
         the server counts ${:.6}; the log ${logged_dollars:.6}, spent.json ${dollars:.6}, answers lost at \
         kills ${:.6}, set aside for them ${unsure:.6}",
        book.questions(),
        book.given.len(),
        lost.len(),
        book.dollars(),
        book.price(&lost),
    );
    assert!(
        file_named(home, "paid.jsonl").is_none(),
        "everything is in the log"
    );
    // Every question is answered once in the log, by an answer of the server at the server's price.
    assert_eq!(logged.len(), book.questions());
    let asked: HashSet<&str> = logged.iter().map(|n| book.given[*n].0.as_str()).collect();
    assert_eq!(asked.len(), logged.len());
    agree(
        logged_dollars,
        book.price(&logged),
        "the log and the server's price of its answers",
    );
    agree(dollars, logged_dollars, "spent.json and the log");
    agree(
        book.dollars(),
        logged_dollars + book.price(&lost),
        "the server's sum and the log with what was in flight at kills",
    );
    assert_eq!(in_flight, 0.0);
    assert!(book.price(&lost) <= unsure + 1e-6, "{unsure} set aside");
    assert!(lost.len() <= wanted * TAKEN, "{} asked again", lost.len());

    assert!(!leaks(&printed), "{}", String::from_utf8_lossy(&printed));
    let all = files(home);
    assert!(all.len() >= 5, "{all:?}");
    for file in all {
        assert!(
            !leaks(&std::fs::read(&file).unwrap()),
            "in {}",
            file.display()
        );
    }
}

/// As in every test run; a hundred by command.
#[test]
fn ten_kills() {
    kills(10, 12, &FEW, 0);
}

#[test]
fn a_kill_without_a_cache() {
    kills(2, 40, &[&FEW[..], &["--no-cache"]].concat(), 0);
}

/// Two models in one run and items of several questions: the judge's money counts as well, and an answer
/// whose item waits for the judge is not asked for again.
#[test]
fn kills_while_a_judge_reads() {
    // No item is judged before all are answered, so all may wait.
    kills(3, 18, &[&JUDGED[..], &["--no-cache"]].concat(), 40);
}

/// `cargo test -p mary --features cuda -- --ignored a_hundred_kills --nocapture`
#[test]
#[ignore = "minutes; figures in docs/SECURITY.md"]
fn a_hundred_kills() {
    kills(100, 15, &MANY, 0);
}

/// Ctrl-C, SIGTERM and SIGHUP: what is at the server is waited for and kept, and nothing is asked
/// again.
#[test]
fn a_signal_keeps_every_answer_that_was_paid_for() {
    for signal in ["INT", "TERM", "HUP"] {
        let (books, server, home) = setting();
        let mut command = mary(home.path(), &server.url("/v1"));
        command
            .args(FEW)
            .args(["--no-cache", "--budget", "1000"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = start_and_wait(&books, command, 20);
        send(signal, &child);
        // What is at the server is answered once the signal was heard.
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let heard = said.by_ref().any(|line| line.unwrap().contains("stopping"));
        assert!(heard, "{signal}");
        let_all_through(&books);
        said.for_each(drop);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{signal}");
        let (logged, dollars) = answers(home.path(), "samples.jsonl");
        let book = books.0.lock().unwrap();
        assert_eq!(
            logged.len(),
            book.given.len(),
            "{signal}: all are in the log"
        );
        agree(dollars, book.dollars(), signal);
        let (noted, in_flight, unsure) = spent(home.path());
        agree(noted, dollars, signal);
        assert_eq!((in_flight, unsure), (0.0, 0.0), "{signal}");
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// A second signal ends the program although the server has not answered, and what was at the server is
/// set aside.
#[test]
fn a_second_signal_ends_at_once() {
    let (books, server, home) = setting();
    let mut command = mary(home.path(), &server.url("/v1"));
    command
        .args(FEW)
        .args(["--no-cache", "--budget", "1000"])
        .args(["--model-arg", "stop_wait=3600"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = start_and_wait(&books, command, 20);
    send("INT", &child);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.by_ref().any(|line| line.unwrap().contains("stopping")));
    // The server answers nothing more: without the second signal the program would wait for an hour.
    send("INT", &child);
    let until = Instant::now() + Duration::from_secs(300);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it still waits");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(
        books.0.lock().unwrap().given.len(),
        20,
        "nothing was waited for"
    );
    let (dollars, in_flight, unsure) = spent(home.path());
    let aside = in_flight + unsure;
    assert!(aside > 0.0, "what is at the server is set aside");
    let paid = books.0.lock().unwrap().dollars();
    assert!(
        paid <= dollars + aside + 1e-6,
        "{paid} paid, {dollars} and {aside}"
    );
    let_all_through(&books);
}

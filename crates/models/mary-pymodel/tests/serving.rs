//! Objects that keep every promise, and objects that raise, print, hang, die or answer nonsense.

use std::path::{Path, PathBuf};

use mary_contract::{
    ErrorKind, Generate, Generated, Model, ModelError, ModelRef, ModelSettings, Prompt, Provider,
    Sampling, Score, Scored, Start,
};
use mary_pymodel::PythonFiles;
use mary_testkit::conformance::{TestQueue, check};
use mary_testkit::lacking::{Lacking, skip};

/// An object that can do everything: arithmetic on the text, so that every answer is known.
const WHOLE: &str = r#"
import math, zlib

class Whole:
    architecture = "arithmetic"
    layers = 2

    def __init__(self, shift="0"):
        self.shift = float(shift)

    def generate(self, prompt, max_tokens):
        return f"{len(prompt)} letters"

    def score(self, prefix, continuations):
        def one(text):
            return -1.0 - self.shift - (zlib.crc32((prefix + text).encode()) % 1000) / 500
        return [[(piece, one(piece)) for piece in (text[:1], text[1:]) if piece] for text in continuations]

    def observe(self, text):
        offsets, at = [(0, 0)], 0
        for word in text.split(" "):
            offsets.append((at, at + len(word)))
            at += len(word) + 1
        hidden = [[[layer + n, n * 0.5, -1.0] for n in range(len(offsets))] for layer in range(3)]
        return {"hidden": hidden, "offsets": offsets}

def answer(prompt):
    print("thinking aloud about", prompt)
    import os
    os.write(1, b"and below Python\n")
    return prompt.upper()
"#;

/// What goes wrong is named by the question.
const FAULTY: &str = r#"
import os, signal, time

class Faulty:
    def generate(self, prompt):
        if "raise" in prompt:
            raise ValueError("no such thing")
        if "die" in prompt:
            print("my last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if "leave" in prompt:
            os._exit(3)
        if "hang" in prompt:
            time.sleep(100000)
        if "number" in prompt:
            return 7
        return "fine"

    def score(self, prefix, continuations):
        if "nan" in prefix:
            return [float("nan") for _ in continuations]
        if "above" in prefix:
            return [0.5 for _ in continuations]
        if "few" in prefix:
            return [-1.0]
        return [-1.0 for _ in continuations]

class Listed:
    """Takes lists, and is undone by one bad thing in a list."""
    batch_size = 4

    def __init__(self, counting=""):
        self.calls, self.counting = [], counting

    def generate_many(self, prompts, max_tokens, seeds):
        assert max_tokens > 0 and len(seeds) == len(prompts) <= 4
        self.calls.append(len(prompts))
        for prompt in prompts:
            if "raise" in prompt:
                raise ValueError("no such thing")
            if "die" in prompt:
                os.kill(os.getpid(), signal.SIGKILL)
        if "short" in prompts:
            return ["too few"]
        calls = ",".join(map(str, self.calls)) if self.counting else ""
        return [ValueError("not this one") if p == "own" else f"{p} {calls}" for p in prompts]

    def score_many(self, prefixes, continuations, start):
        assert start == "model"
        return [[-float(len(p + c)) for c in cs] for p, cs in zip(prefixes, continuations)]

    def observe_many(self, texts):
        return [{"hidden": [[[float(len(t)), 1.0]]], "offsets": [(0, len(t))]} for t in texts]

def broken():
    raise RuntimeError("the weights are not here")

number = 3
"#;

/// A folder with a file of this content; nothing without Python.
fn file(content: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let python = std::env::var("MARY_PYTHON").unwrap_or_else(|_| "python3".into());
    let there = std::process::Command::new(python).arg("--version").output();
    if !there.is_ok_and(|o| o.status.success()) {
        skip(Lacking::Peers, "no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.py");
    std::fs::write(&path, content).unwrap();
    Some((folder, path))
}

fn open(path: &Path, name: &str, args: &[(&str, &str)]) -> Result<Box<dyn Model>, ModelError> {
    let model: ModelRef = format!("python/{}:{name}", path.display()).parse().unwrap();
    let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let settings = ModelSettings {
        args: args.collect(),
        ..ModelSettings::default()
    };
    PythonFiles::new().open(&model, &settings)
}

fn generate(model: &dyn Model, prompts: &[&str]) -> Vec<Result<String, ModelError>> {
    let requests = prompts
        .iter()
        .map(|p| Generate::new(Prompt::plain(*p), Sampling::greedy(8)));
    let mut queue: TestQueue<Generate, Generated> = TestQueue::new(requests);
    model.generator().unwrap().generate(&mut queue);
    let answers = queue.answers.into_iter();
    answers.map(|(_, a)| a.map(|r| r.answer.text)).collect()
}

fn score(model: &dyn Model, prefix: &str) -> Result<Scored, ModelError> {
    let mut queue: TestQueue<Score, Scored> = TestQueue::new([Score::new(
        Prompt::plain(prefix),
        vec![" a".into(), " b".into()],
        Start::Model,
    )]);
    model.scorer().unwrap().score(&mut queue);
    queue.answers.remove(0).1.map(|r| r.answer)
}

#[test]
fn an_object_that_can_do_everything_keeps_every_promise() {
    let Some((_folder, path)) = file(WHOLE) else {
        return;
    };
    let model = open(&path, "Whole", &[]).unwrap();
    assert_eq!(check(model.as_ref()), Vec::<String>::new());
    assert_eq!(model.card().architecture.as_deref(), Some("arithmetic"));
    // Settings reach what makes the object, and are part of who it is.
    let other = open(&path, "Whole", &[("shift", "1")]).unwrap();
    let sum = |m: &dyn Model| score(m, "x").unwrap().continuations[0].sum();
    assert!((sum(model.as_ref()) - sum(other.as_ref()) - 2.0).abs() < 1e-5);
    assert_ne!(model.card().fingerprint, other.card().fingerprint);
    let again = open(&path, "Whole", &[]).unwrap();
    assert_eq!(model.card().fingerprint, again.card().fingerprint);
}

#[test]
fn what_a_model_prints_is_no_answer() {
    let Some((_folder, path)) = file(WHOLE) else {
        return;
    };
    let model = open(&path, "answer", &[]).unwrap();
    assert_eq!(check(model.as_ref()), Vec::<String>::new());
    let said = generate(model.as_ref(), &["one\ntwo", "{\"answer\": 1}"]);
    assert_eq!(said, [Ok("ONE\nTWO".into()), Ok("{\"ANSWER\": 1}".into())]);
}

#[test]
fn each_fault_costs_one_item_and_says_what_it_was() {
    let Some((_folder, path)) = file(FAULTY) else {
        return;
    };
    let model = open(&path, "Faulty", &[]).unwrap();
    let said = generate(
        model.as_ref(),
        &["a", "raise", "b", "die", "c", "leave", "d", "number", "e"],
    );
    let fine: Vec<bool> = said.iter().map(|r| r.as_deref() == Ok("fine")).collect();
    assert_eq!(
        fine,
        [true, false, true, false, true, false, true, false, true]
    );
    let message = |n: usize| said[n].as_ref().unwrap_err().message.clone();
    assert!(
        message(1).contains("ValueError: no such thing"),
        "{}",
        message(1)
    );
    assert!(
        message(1).contains("model.py, in generate"),
        "{}",
        message(1)
    );
    assert!(message(3).contains("signal 9"), "{}", message(3));
    assert!(message(5).contains("exit code 3"), "{}", message(5));
    assert!(message(7).contains("returned 7"), "{}", message(7));

    let kind = |prefix: &str| score(model.as_ref(), prefix).map_err(|e| e.kind);
    assert!(kind("fine").is_ok());
    assert_eq!(kind("nan"), Err(ErrorKind::NotFinite));
    assert_eq!(kind("above"), Err(ErrorKind::Transport));
    assert_eq!(kind("few"), Err(ErrorKind::Transport));
    assert!(kind("fine").is_ok());
}

#[test]
fn an_object_that_takes_lists_is_asked_lists_and_one_fault_costs_one_item() {
    let Some((_folder, path)) = file(FAULTY) else {
        return;
    };
    let model = open(&path, "Listed", &[]).unwrap();
    assert_eq!(check(model.as_ref()), Vec::<String>::new());

    let model = open(&path, "Listed", &[("counting", "yes")]).unwrap();
    let text = |said: &Result<String, ModelError>| match said {
        Ok(text) => text.clone(),
        Err(error) => format!("failed: {}", error.message),
    };
    let said = |prompts: &[&str]| -> Vec<String> {
        generate(model.as_ref(), prompts).iter().map(text).collect()
    };
    // Four at once, then the one that is left.
    let five = said(&["a", "b", "c", "d", "e"]);
    assert_eq!(five, ["a 4", "b 4", "c 4", "d 4", "e 4,1"]);
    // An item may fail by itself; a call that fails is taken apart.
    let own = said(&["a", "own", "b"]);
    assert_eq!(own[0], "a 4,1,3");
    assert!(own[1].contains("not this one"), "{}", own[1]);
    let raised = said(&["a", "raise", "b"]);
    assert_eq!(raised[0], "a 4,1,3,3,1");
    assert!(
        raised[1].contains("ValueError: no such thing"),
        "{}",
        raised[1]
    );
    assert_eq!(raised[2], "b 4,1,3,3,1,1,1");
    // Too few answers belong to nobody.
    let short = said(&["short", "b"]);
    assert_eq!(short[0], "too few");
    assert!(short[1].starts_with("b "), "{}", short[1]);
    // It dies with three, then with one of them, and the two others are answered.
    let died = said(&["a", "die", "b"]);
    assert_eq!((died[0].as_str(), died[2].as_str()), ("a 1", "b 1"));
    assert!(died[1].contains("signal 9"), "{}", died[1]);
    assert!((score(model.as_ref(), "xy").unwrap().continuations[0].sum() + 4.0).abs() < 1e-6);
}

#[test]
fn a_model_that_hangs_is_given_up_on() {
    let Some((_folder, path)) = file(FAULTY) else {
        return;
    };
    // It hangs however fast the machine is; that a new process answers the next item is seen where one dies.
    let model = open(&path, "Faulty", &[("timeout", "1")]).unwrap();
    let said = generate(model.as_ref(), &["hang"]);
    let error = said[0].as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.hint.as_deref().unwrap_or("").contains("timeout="));
}

#[test]
fn a_model_that_dies_at_everything_stops_the_run_instead_of_being_started_for_ever() {
    let Some((_folder, path)) = file(FAULTY) else {
        return;
    };
    let model = open(&path, "Faulty", &[]).unwrap();
    let said = generate(model.as_ref(), &["die", "die", "die"]);
    let fatal: Vec<bool> = said
        .iter()
        .map(|r| r.as_ref().unwrap_err().is_fatal())
        .collect();
    assert_eq!(fatal, [false, false, true]);
}

#[test]
fn a_file_that_cannot_serve_is_refused_with_the_reason() {
    let Some((folder, path)) = file(FAULTY) else {
        return;
    };
    let refused = |name: &str, args: &[(&str, &str)]| match open(&path, name, args) {
        Ok(_) => panic!("{name} was opened"),
        Err(error) => (error.kind, error.message, error.hint.unwrap_or_default()),
    };
    let (kind, message, hint) = refused("absent", &[]);
    assert_eq!(kind, ErrorKind::NotFound, "{message}");
    assert!(hint.contains("Faulty"), "{hint}");
    let (kind, message, _) = refused("broken", &[]);
    assert_eq!(kind, ErrorKind::BadModel, "{message}");
    assert!(message.contains("the weights are not here"), "{message}");
    assert_eq!(refused("number", &[]).0, ErrorKind::BadModel);
    assert_eq!(
        refused("Faulty", &[("colour", "red")]).0,
        ErrorKind::BadRequest
    );
    assert_eq!(
        refused("Faulty", &[("timeout", "soon")]).0,
        ErrorKind::BadRequest
    );
    let (kind, _, hint) = refused("Faulty", &[("python", "/no/such/python")]);
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(hint.contains("MARY_PYTHON"), "{hint}");
    let absent = folder.path().join("absent.py");
    assert_eq!(
        open(&absent, "x", &[]).err().unwrap().kind,
        ErrorKind::NotFound
    );
}

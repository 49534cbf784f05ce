//! A model that sees, through the command line: a tiny random LLaVA is asked in words, of pictures and of
//! both, scored and written, with built-in tasks and an own file, and ends in a report that sets the forms
//! side by side.

use std::path::{Path, PathBuf};

use mary_contract::{Response, Sample};
use mary_store::RunFolder;
use serde_json::{Value, json};

use crate::program::{done, mary};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The golden LLaVA of mary-local with some words of its vocabulary made letters, so that options differ.
/// Without `eyes` it is what its language model alone would be: the same weights, no processor.
fn model(home: &Path, name: &str, eyes: bool) -> String {
    let from = root().join("crates/models/mary-local/tests/golden_vision/llava");
    let to = home.join(name);
    std::fs::create_dir(&to).unwrap();
    let mut files = vec!["config.json", "model.safetensors", "chat_template.jinja"];
    if eyes {
        files.extend(["preprocessor_config.json", "processor_config.json"]);
    }
    for file in files {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let text = std::fs::read_to_string(from.join("tokenizer.json")).unwrap();
    let mut tokenizer: Value = serde_json::from_str(&text).unwrap();
    let vocab = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let letters = [
        ("cat", "A"),
        ("dog", "B"),
        ("bird", "C"),
        ("child", "D"),
        ("stone", "circle"),
        ("river", "square"),
    ];
    for (word, letter) in letters {
        let id = vocab.remove(word).unwrap();
        vocab.insert(letter.to_owned(), id);
    }
    std::fs::write(to.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    format!("hf/./{name}")
}

/// Runs tasks; gives the summary.
fn run(home: &Path, models: &str, tasks: &str, more: &[&str]) -> Value {
    let mut words = vec!["run", "--json", "--quiet", "--no-report", "--threads", "1"];
    words.extend(["-m", models, "-t", tasks]);
    words.extend(more);
    serde_json::from_str(&done(home, &words)).unwrap()
}

fn samples(home: &Path, summary: &Value) -> Vec<Sample> {
    let folder = home.join("runs").join(summary["run"].as_str().unwrap());
    let folder = RunFolder::open(&folder).unwrap();
    let all = folder.samples().unwrap();
    let mut all: Vec<Sample> = all.collect::<Result<_, _>>().unwrap();
    // The log is in the order in which samples were finished.
    all.sort_by(|a, b| a.id.item.cmp(&b.id.item));
    all
}

/// The log-probabilities of a scored sample.
fn logprobs(sample: &Sample) -> Vec<f64> {
    match &sample.exchanges[0].reply.as_ref().unwrap().answer {
        Response::Scored(scored) => scored.continuations.iter().map(|c| c.sum()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Nothing failed, and every sample has a score or was read.
fn sound(summary: &Value, rows: usize) {
    let all = summary["rows"].as_array().unwrap();
    assert_eq!(all.len(), rows, "{summary}");
    for row in all {
        assert!(
            row["failed"].as_object().is_none_or(|f| f.is_empty()),
            "{row}"
        );
        assert!(row["samples"].as_u64() > Some(0), "{row}");
    }
}

#[test]
fn twins_are_scored_on_a_model_that_sees_and_stand_side_by_side() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (seeing, blind) = (model(home, "seer", true), model(home, "reader", false));
    let perception = "physico/perception-text,physico/perception-visual";
    let score = ["--set", "mode=score", "--set", "n=4"];
    let grids = run(home, &seeing, perception, &score);
    sound(&grids, 2);
    let words = run(
        home,
        &format!("{seeing},{blind}"),
        "embodied/fresh-colour",
        &["--set", "n=8"],
    );
    sound(&words, 2);
    let shown: Vec<Value> = ["picture", "both"]
        .iter()
        .map(|show| {
            let show = format!("show={show}");
            let more = ["--set", "n=8", "--set", &show];
            run(home, &seeing, "embodied/fresh-colour", &more)
        })
        .collect();
    shown.iter().for_each(|summary| sound(summary, 1));
    let ids: Vec<&str> = [&grids, &words, &shown[0], &shown[1]]
        .map(|s| s["run"].as_str().unwrap())
        .to_vec();
    let mut args = vec!["report"];
    args.extend(&ids);
    args.extend(["--out", "page.html", "--tables", "tables"]);
    done(home, &args);
    let page = std::fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("Words and pictures") && page.contains("Item by item"));
    assert!(page.contains("class=\"twin\""));
    let table = |name: &str| std::fs::read_to_string(home.join("tables").join(name)).unwrap();
    let forms = table("twins-forms.csv");
    assert_eq!(forms.lines().count(), 3, "{forms}");
    assert!(forms.contains("physico/perception") && forms.contains("embodied/fresh-colour"));
    let eyes = table("twins-eyes.csv");
    assert!(eyes.lines().any(|l| l.contains("reader")), "{eyes}");
    // The same weights without a picture: what they say of words is the same, model by model.
    let row = |n: usize| words["rows"][n]["score"]["value"].as_f64().unwrap();
    assert!((row(0) - row(1)).abs() < 1e-12);
}

#[test]
fn an_own_file_with_pictures_is_scored_and_answered() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let seeing = model(home, "seer", true);
    // Two rows ask the same of two pictures, the third shows the first picture again.
    let shapes = root().join("docs/examples/shapes");
    for name in ["red-circle.png", "blue-square.png"] {
        std::fs::copy(shapes.join(name), home.join(name)).unwrap();
    }
    let row = |id: &str, picture: &str, shape: &str| {
        json!({"id": id, "picture": picture, "shape": shape}).to_string()
    };
    let rows = [
        row("1", "red-circle.png", "circle"),
        row("2", "blue-square.png", "square"),
        row("3", "red-circle.png", "circle"),
    ];
    std::fs::write(home.join("rows.jsonl"), rows.join("\n")).unwrap();
    let task = |kind: &str, rest: &str| {
        format!(
            "[data]\npath = \"rows.jsonl\"\nid = \"id\"\n[request]\nkind = \"{kind}\"\n\
             pictures = [\"{{{{ picture }}}}\"]\nprompt = \"is that a\"\n\
             choices = \"{{{{ ['circle', 'square'] }}}}\"\n{rest}\n\
             [judge]\nkind = \"choice\"\nanswer = \"{{{{ shape }}}}\"\n"
        )
    };
    std::fs::write(home.join("scored.toml"), task("score", "")).unwrap();
    std::fs::write(home.join("asked.toml"), task("generate", "max_tokens = 3")).unwrap();
    let summary = run(home, &seeing, "scored.toml", &[]);
    sound(&summary, 1);
    assert_eq!(summary["rows"][0]["scored"], 3);
    let all = samples(home, &summary);
    let numbers: Vec<Vec<f64>> = all.iter().map(logprobs).collect();
    assert_ne!(numbers[0][0], numbers[0][1]);
    assert_eq!(numbers[0], numbers[2], "the same picture");
    assert!(
        (numbers[0][0] - numbers[1][0]).abs() > 1e-3,
        "another picture"
    );
    // In a chat the template puts the picture in its place.
    let chat = run(home, &seeing, "scored.toml", &["--apply-chat-template"]);
    sound(&chat, 1);
    let other = logprobs(&samples(home, &chat)[0]);
    assert!((other[0] - numbers[0][0]).abs() > 1e-3);
    sound(&run(home, &seeing, "asked.toml", &[]), 1);
    sound(
        &run(home, &seeing, "asked.toml", &["--apply-chat-template"]),
        1,
    );
}

/// Three files of the same items, in words, of a picture and of both: the two with pictures name the first,
/// and a report pairs their items by id.
#[test]
fn own_files_that_name_their_twin_stand_side_by_side() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let seeing = model(home, "seer", true);
    let shapes = root().join("docs/examples/shapes");
    let names = ["red-circle", "blue-square", "blue-circle", "red-square"];
    let rows = names.map(|name| {
        std::fs::copy(
            shapes.join(format!("{name}.png")),
            home.join(format!("{name}.png")),
        )
        .unwrap();
        let (_, shape) = name.split_once('-').unwrap();
        json!({"id": name, "picture": format!("{name}.png"), "shape": shape}).to_string()
    });
    std::fs::write(home.join("rows.jsonl"), rows.join("\n")).unwrap();
    let task = |prompt: &str, pictures: &str, twin: &str| {
        format!(
            "[data]\npath = \"rows.jsonl\"\nid = \"id\"\n[request]\nkind = \"score\"\n{pictures}\
             prompt = \"{prompt}\"\nchoices = \"{{{{ ['circle', 'square'] }}}}\"\n\
             [judge]\nkind = \"choice\"\nanswer = \"{{{{ shape }}}}\"\n{twin}"
        )
    };
    let picture = "pictures = [\"{{ picture }}\"]\n";
    let files = [
        ("words.toml", task("the {{ shape }} is a", "", "")),
        (
            "picture.toml",
            task("is that a", picture, "[twin]\nwords = \"words.toml\"\n"),
        ),
        (
            "both.toml",
            task(
                "the {{ shape }} is a",
                picture,
                "[twin]\nwords = \"words.toml\"\nshown = \"both\"\n",
            ),
        ),
    ];
    for (name, text) in &files {
        std::fs::write(home.join(name), text).unwrap();
    }
    let all = run(home, &seeing, "words.toml,picture.toml", &[]);
    sound(&all, 2);
    let both = run(home, &seeing, "both.toml", &[]);
    sound(&both, 1);
    let ids = [&all, &both].map(|s| s["run"].as_str().unwrap());
    // A report reads the logs alone.
    for (name, _) in &files {
        std::fs::remove_file(home.join(name)).unwrap();
    }
    let report = ["report", ids[0], ids[1], "--out", "page.html"];
    done(home, &[&report[..], &["--tables", "tables"]].concat());
    let page = std::fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("Words and pictures") && page.contains("class=\"twin\""));
    let forms = std::fs::read_to_string(home.join("tables/twins-forms.csv")).unwrap();
    let lines: Vec<&str> = forms.lines().collect();
    assert_eq!(lines.len(), 2, "{forms}");
    assert!(lines[1].contains("own/words"), "{forms}");
    for head in ["words", "picture", "both"] {
        assert!(lines[0].contains(head), "{forms}");
    }
    let decided = std::fs::read_to_string(home.join("tables/twins-decided.csv")).unwrap();
    assert_eq!(
        decided.lines().count(),
        4,
        "three pairs of forms: {decided}"
    );
    // One form alone is no twin.
    done(home, &["report", ids[1], "--out", "alone.html"]);
    let alone = std::fs::read_to_string(home.join("alone.html")).unwrap();
    assert!(!alone.contains("class=\"twin\""));
}

/// Core concepts as one picture of their grids: scored, written, and beside the same grids as numbers.
#[test]
fn core_concepts_as_pictures_run_to_the_end() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let seeing = model(home, "seer", true);
    let tasks = "physico/core-text,physico/core-visual";
    // One item of each concept of the paper's Table 6: making them all takes longer than asking.
    let few = "--limit 6 --set per_concept=1 --set split=dev";
    let few: Vec<&str> = few.split(' ').collect();
    let with = |more: [&'static str; 2]| [&few[..], &more].concat();
    let scored = run(home, &seeing, tasks, &with(["--set", "mode=score"]));
    sound(&scored, 2);
    assert_eq!(scored["complete"], true);
    let short = with(["--set", "max_tokens=4"]);
    let written = run(home, &seeing, "physico/core-visual", &short);
    sound(&written, 1);
    assert_eq!(written["complete"], true);
    let all = samples(home, &scored);
    let (seen, read): (Vec<&Sample>, Vec<&Sample>) =
        all.iter().partition(|s| s.id.task == "physico/core-visual");
    assert_eq!((seen.len(), read.len()), (6, 6));
    let ids = |all: &[&Sample]| -> Vec<String> { all.iter().map(|s| s.id.item.clone()).collect() };
    assert_eq!(ids(&seen), ids(&read), "the same items in both forms");
    // Every item is shown as one picture, and other grids are another picture.
    let mut numbers: Vec<Vec<f64>> = seen.iter().map(|s| logprobs(s)).collect();
    assert!(numbers.iter().all(|n| n.len() == 4));
    numbers.dedup();
    assert!(numbers.len() > 1, "{numbers:?}");
    let report = ["report", scored["run"].as_str().unwrap(), "--out", "p.html"];
    done(home, &report);
    let page = std::fs::read_to_string(home.join("p.html")).unwrap();
    assert!(page.contains("Words and pictures") && page.contains("physico/core"));
}

#[test]
fn grids_are_asked_of_pictures_in_chat_and_in_plain_text() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let seeing = model(home, "seer", true);
    let task = "physico/perception-visual";
    let few = ["--limit", "3", "--set", "n=4"];
    let with = |more: &[&'static str]| [&few[..], more].concat();
    let chat = with(&["--set", "mode=score", "--apply-chat-template"]);
    sound(&run(home, &seeing, task, &chat), 1);
    let written = with(&["--set", "max_tokens=4"]);
    sound(&run(home, &seeing, task, &written), 1);
    // A model without a chat template is shown pictures in plain text.
    std::fs::remove_file(home.join("seer/chat_template.jinja")).unwrap();
    let plain = with(&["--set", "mode=score"]);
    sound(&run(home, &seeing, task, &plain), 1);
    // One without eyes is refused before anything is asked.
    let blind = model(home, "reader", false);
    let refused = mary(home, &["run", "-m", &blind, "-t", task, "--no-report"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("pictures"), "{}", refused.err);
}

#[test]
fn captions_and_pictures_meet_in_one_space() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let golden = root().join("crates/models/mary-local/tests/golden_vision/clip");
    let told = std::fs::read_to_string(golden.join("golden.json")).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let mut rows = String::from("id,caption,picture\n");
    for text in told["texts"].as_array().unwrap() {
        for picture in told["pictures"].as_array().unwrap() {
            let (text, file) = (text["text"].as_str().unwrap(), &picture["file"]);
            let file = golden.join(file.as_str().unwrap());
            rows += &format!("{},{text},{}\n", rows.lines().count(), file.display());
        }
    }
    std::fs::write(home.join("pairs.csv"), rows).unwrap();
    let clip = format!("hf/{}", golden.display());
    let out = done(
        home,
        &[
            "observe",
            "pairs.csv",
            "-m",
            &clip,
            "--pair",
            "caption,picture",
            "--pictures",
            "picture",
            "--pool",
            "joint",
            "--threads",
            "1",
            "--quiet",
        ],
    );
    let wanted = told["cosines"].as_array().unwrap().iter();
    let wanted: Vec<f64> = wanted
        .flat_map(|row| row.as_array().unwrap())
        .map(|x| x.as_f64().unwrap())
        .collect();
    let last = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let found: Vec<f64> = out.lines().skip(1).map(last).collect();
    assert_eq!(found.len(), wanted.len(), "{out}");
    for (a, b) in found.iter().zip(&wanted) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}

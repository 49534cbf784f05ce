//! A study from the command line: made, tried by simulated people, closed as a run beside a model's, exported,
//! printed and read, a person withdrawn; a task of one's own; forms with judgements read back.

use crate::program::{Said, done, mary};

#[test]
fn a_study_from_beginning_to_end() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t htest/rhyme --shots 4 --people 8 --per-person 6 --items 12 --seed 2 --out rhyme";
    done(home, &new.split(' ').collect::<Vec<_>>());
    assert!(home.join("rhyme/study.toml").exists());
    let again = mary(home, &new.split(' ').collect::<Vec<_>>());
    assert_eq!(again.code, 2, "a study is not written over: {}", again.err);
    // Five by data, two through the page; one place is for paper.
    done(home, &["study", "simulate", "rhyme", "--people", "5"]);
    let said = done(
        home,
        &["study", "simulate", "rhyme", "--people", "2", "--page"],
    );
    assert!(
        said.contains("2 simulated people took part through the page"),
        "{said}"
    );
    let said = done(home, &["study", "status", "rhyme"]);
    assert!(
        said.contains("finished                         7"),
        "{said}"
    );
    // Paper: the last place.
    done(home, &["study", "print", "rhyme", "--first", "8"]);
    let key = std::fs::read_to_string(home.join("rhyme/paper/key.csv")).unwrap();
    let marks: String = key
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},3\n", cells[0], cells[1], cells[4])
        })
        .collect();
    std::fs::write(
        home.join("marks.csv"),
        format!("sheet,question,mark,seconds\n{marks}"),
    )
    .unwrap();
    let said = done(home, &["study", "read", "rhyme", "marks.csv"]);
    assert_eq!(said, "1 sheet read\n");
    // A model on the same items, and both together.
    let run = "run -m small=builtin/nano -t htest/rhyme -k 4 --seed 2 --no-report --quiet";
    mary(home, &run.split(' ').collect::<Vec<_>>());
    let said = done(home, &["study", "close", "rhyme"]);
    assert!(said.contains("people/rhyme"), "{said}");
    assert!(said.contains("over people and items"), "{said}");
    let folders: Vec<String> = std::fs::read_dir(home.join("runs"))
        .unwrap()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let people = folders
        .iter()
        .find(|f| f.starts_with("people-rhyme"))
        .unwrap();
    let model = folders.iter().find(|f| !f.starts_with("people")).unwrap();
    let said = done(home, &["study", "results", people, "--against", model]);
    assert!(said.contains("people minus model"), "{said}");
    assert!(
        said.contains("\nsmall: "),
        "by the label that was given: {said}"
    );
    assert!(said.contains("on 12 items"), "{said}");
    let json = done(
        home,
        &["study", "results", people, "--against", model, "--json"],
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["against"][0]["label"], "small");
    assert_eq!(json["against"][0]["model"], "builtin/nano");
    assert_eq!(json["tasks"][0]["people"], 8);
    // A model that was asked by log-probability: what differs is named, and may be allowed.
    let Said { code, err, .. } = mary(home, &["compare", people, model]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--across mode"), "{err}");
    // As one model among models: everybody's answers, people and items both a sample.
    let said = done(
        home,
        &["compare", people, model, "--across", "mode", "--json"],
    );
    let compared: serde_json::Value = serde_json::from_str(&said).unwrap();
    let one = &compared["comparisons"][0];
    assert_eq!(one["paired"], 12, "{said}");
    assert_eq!(one["method"], "crossed, 8 people, 12 items");
    assert!(one["low"].is_number() && one["p"].is_number(), "{said}");
    // Judged again, nothing changes: neither verdicts nor how intervals are made.
    let said = done(home, &["rescore", people]);
    assert!(said.contains("No verdict changed."), "{said}");
    let read = |name: &str| -> serde_json::Value {
        let path = home.join("runs").join(people).join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let (before, after) = (read("summary.json"), read("summary.rescored.json"));
    assert_eq!(before["rows"][0]["score"], after["rows"][0]["score"]);
    assert_eq!(before["rows"][0]["measures"], after["rows"][0]["measures"]);
    done(home, &["report", people, model]);
    let page = home.join("runs").join(people).join("report.html");
    let page = std::fs::read_to_string(page).unwrap();
    for shown in [
        "Learning across trials",
        "Times across trials",
        "Each person",
        "alpha",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    done(home, &["export", people, "--to", "csv"]);
    done(home, &["study", "export", "rhyme"]);
    let rows = std::fs::read_to_string(home.join("rhyme/export/jspsych.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 8 * 6);
    assert!(
        home.join("rhyme/export/psych-ds/data/study-rhyme_data.csv")
            .exists()
    );
    // One of them withdraws: gone from the run, from the export below the study and from one elsewhere.
    let who = rows.lines().nth(1).unwrap().split(',').next().unwrap();
    done(home, &["study", "export", "rhyme", "--out", "shared"]);
    let said = done(home, &["study", "withdraw", "rhyme", who]);
    assert!(said.contains("deleted from the database"), "{said}");
    for folder in ["rhyme/export", "shared"] {
        let rows = std::fs::read_to_string(home.join(folder).join("jspsych.csv")).unwrap();
        assert_eq!(rows.lines().count(), 1 + 7 * 6, "{folder}");
        assert!(!rows.contains(who), "{folder}");
        let rows = std::fs::read_to_string(home.join(folder).join("jspsych.json")).unwrap();
        assert!(!rows.contains(who), "{folder}");
    }
    let log =
        std::fs::read_to_string(home.join("runs").join(people).join("samples.jsonl")).unwrap();
    assert!(!log.contains(who));
    assert_eq!(mary(home, &["study", "withdraw", "rhyme", who]).code, 4);
    done(home, &["study", "power"]);
    // A copy that cannot be read is named and waits; once it can be, the next command finishes it.
    let next = rows.lines().last().unwrap().split(',').next().unwrap();
    let json = home.join("shared/jspsych.json");
    let whole = std::fs::read_to_string(&json).unwrap();
    std::fs::write(&json, format!("torn {whole}")).unwrap();
    let said = mary(home, &["study", "withdraw", "rhyme", next]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.out.contains("still in") && said.out.contains("shared"),
        "{}",
        said.out
    );
    std::fs::write(&json, whole).unwrap();
    let said = done(home, &["study", "status", "rhyme"]);
    assert!(
        said.contains("deletions pending                false"),
        "{said}"
    );
    assert!(!std::fs::read_to_string(&json).unwrap().contains(next));
    // The last of them: no run is left that holds them.
    let rest = std::fs::read_to_string(home.join("shared/jspsych.csv")).unwrap();
    let mut names: Vec<&str> = rest
        .lines()
        .skip(1)
        .filter_map(|l| l.split(',').next())
        .collect();
    names.dedup();
    assert_eq!(names.len(), 6);
    for name in names {
        done(home, &["study", "withdraw", "rhyme", name]);
    }
    assert!(!home.join("runs").join(people).exists());
}

/// Texts that only the author can write, and rules that cannot hold: nobody is served before they are mended.
#[test]
fn a_study_is_served_only_when_its_texts_and_rules_are_ready() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for (language, mark) in [("en", "[TO FILL IN"), ("zh", "[请填写")] {
        let new = format!(
            "study new -t htest/rhyme --people 4 --per-person 12 --language {language} --out {language}"
        );
        done(home, &new.split(' ').collect::<Vec<_>>());
        let file = home.join(language).join("study.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("attention_failures = 2") && text.contains(mark),
            "{text}"
        );
        assert_eq!(text.matches("[[check]]").count(), 2, "{text}");
        let Said { code, err, .. } = mary(home, &["study", "serve", language]);
        assert_eq!(code, 2, "{err}");
        assert!(
            err.contains("`consent.text`") && err.contains("--test"),
            "{err}"
        );
        let elsewhere = ["study", "serve", language, "--test", "--host", "0.0.0.0"];
        assert_eq!(mary(home, &elsewhere).code, 2);
        // Two failures of one check.
        let (first, rest) = text.split_once("[[check]]").unwrap();
        let (check, _) = rest.split_once("[[check]]").unwrap();
        std::fs::write(&file, format!("{first}[[check]]{check}")).unwrap();
        let Said { code, err, .. } = mary(home, &["study", "serve", language, "--test"]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("can exclude nobody"), "{err}");
        // What is closed or withdrawn from an old study does not need it.
        done(home, &["study", "status", language]);
    }
    let few = "study new -t htest/rhyme --people 2 --per-person 3 --out few";
    done(home, &few.split(' ').collect::<Vec<_>>());
    let text = std::fs::read_to_string(home.join("few/study.toml")).unwrap();
    assert!(text.contains("attention_failures = 1"), "{text}");
    assert_eq!(text.matches("[[check]]").count(), 1, "{text}");
}

/// A page or a form of a study that is served.
fn asked(address: &str, path: &str, form: Option<&str>) -> String {
    use std::io::{Read as _, Write as _};
    let body = form.unwrap_or_default();
    let head = match form {
        None => "GET",
        Some(_) => "POST",
    };
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let length = body.len();
    write!(
        stream,
        "{head} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

fn field<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no field {name} in {page}"));
    rest.split_once('"').unwrap().0
}

/// A server that ends with the test, and its address with the link.
struct Served(std::process::Child, String, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn served(home: &std::path::Path, study: &str) -> Served {
    use std::io::BufRead as _;
    let mut child = crate::program::program(home)
        .args(["study", "serve", study, "--port", "0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    let line = lines.find(|l| l.contains("http://")).unwrap();
    let (_, rest) = line.split_once("http://").unwrap();
    let (address, entry) = rest.trim().split_once('/').unwrap();
    // What it says later must not block it.
    std::thread::spawn(move || lines.count());
    Served(child, address.to_owned(), format!("/{entry}"))
}

/// Somebody who answers one question and stays where they are; the path of their page.
fn half_way(server: &Served, answer: &str) -> String {
    let Served(_, address, entry) = server;
    let page = asked(address, entry, None);
    let form = format!("agree=yes&ticket={}", field(&page, "ticket"));
    let joined = asked(address, entry, Some(&form));
    let line = joined
        .lines()
        .find(|l| l.to_lowercase().starts_with("location:"));
    let own = line.unwrap().split_once(' ').unwrap().1.trim().to_owned();
    for answer in ["begin", answer] {
        let page = asked(address, &own, None);
        let (step, key) = (field(&page, "step"), field(&page, "key"));
        let form = format!("step={step}&key={key}&answer={answer}");
        let said = asked(address, &own, Some(&form));
        assert!(said.starts_with("HTTP/1.1 303"), "{said}");
    }
    own
}

/// Written answers to sums, one of which is a word of this test.
fn sums(home: &std::path::Path) {
    std::fs::write(
        home.join("sums.toml"),
        "name = \"own/sums\"\n[data]\npath = \"sums.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ q }}\"\n\
         [judge]\nkind = \"number\"\nanswer = \"{{ a }}\"\n[people]\nanswer = \"text\"\n",
    )
    .unwrap();
    let rows: String = (0..6)
        .map(|n| format!("{{\"q\": \"{n} + 2 =\", \"a\": {}}}\n", n + 2))
        .collect();
    std::fs::write(home.join("sums.jsonl"), rows).unwrap();
    let new = "study new -t sums.toml --people 8 --per-person 3 --out sums";
    done(home, &new.split(' ').collect::<Vec<_>>());
    let file = home.join("sums/study.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("[TO FILL IN").unwrap();
    let (_, after) = rest.split_once(']').unwrap();
    std::fs::write(&file, format!("{before}Ann runs it.{after}")).unwrap();
}

/// Closing while somebody is in the middle: asked, then let finish or given their code.
#[test]
fn closing_asks_while_people_take_part() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    sums(home);
    done(home, &["study", "simulate", "sums", "--people", "1"]);
    let server = served(home, "sums");
    let own = half_way(&server, "2");
    let Said { code, err, .. } = mary(home, &["study", "close", "sums"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("1 person is taking part") && err.contains("--let-finish"),
        "{err}"
    );
    let Served(_, address, entry) = &server;
    let page = asked(address, entry, None);
    let form = format!("agree=yes&ticket={}", field(&page, "ticket"));
    let said = done(home, &["study", "close", "sums", "--let-finish"]);
    assert!(said.contains("1 person may finish"), "{said}");
    let Said { out, err, .. } = mary(home, &["study", "status", "sums"]);
    assert!(
        out.contains("new people are admitted          false"),
        "{out}"
    );
    assert!(
        err.contains("nobody new is admitted; 1 person may finish"),
        "{err}"
    );
    let page = asked(address, entry, None);
    assert!(page.contains("This study is closed"), "{page}");
    assert!(!page.contains("Ann runs it."), "no consent: {page}");
    let refused = asked(address, entry, Some(&form));
    assert!(refused.contains("This study is closed"), "{refused}");
    let page = asked(address, &own, None);
    assert!(
        field(&page, "step").starts_with("trial-1") || page.contains("check"),
        "{page}"
    );
    let text = std::fs::read_to_string(home.join("sums/study.toml")).unwrap();
    let code = text
        .lines()
        .find_map(|l| l.strip_prefix("finished = \""))
        .unwrap();
    let Said { out, err, .. } = mary(home, &["study", "close", "sums", "--yes"]);
    assert!(out.contains("people/sums"), "{out}");
    let unfinished = "1 person did not finish; 1 answer is not used";
    assert!(err.contains(unfinished), "{err}");
    let page = asked(address, &own, None);
    assert!(
        page.contains("not your fault") && page.contains(code.trim_end_matches('"')),
        "{page}"
    );
    let Said { out, err, .. } = mary(home, &["study", "status", "sums"]);
    for row in [
        "running                          0",
        "stopped by closing               1",
        "closed                           true",
    ] {
        assert!(out.contains(row), "{row} in {out}");
    }
    assert!(err.contains(unfinished), "{err}");
    let said = mary(home, &["study", "results", "sums"]);
    assert!(said.err.contains(unfinished), "{}", said.err);
    // Whoever finished withdraws: what is left is named.
    let Said { err, .. } = mary(home, &["study", "export", "sums"]);
    assert!(err.contains(unfinished), "{err}");
    let rows = std::fs::read_to_string(home.join("sums/export/jspsych.csv")).unwrap();
    let who = rows.lines().nth(1).unwrap().split(',').next().unwrap();
    done(home, &["study", "withdraw", "sums", who]);
    let Said { code, err, .. } = mary(home, &["study", "results", "sums"]);
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("nobody has finished") && err.contains(unfinished),
        "{err}"
    );
}

/// A rehearsal is a copy of the study's folder: whichever is closed second must not replace the other's run, nor may
/// a withdrawal from one of them.
#[test]
fn copies_of_a_study_do_not_replace_each_others_runs() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    sums(home);
    let copied = std::process::Command::new("cp")
        .args(["-r", "sums", "trial"])
        .current_dir(home)
        .status();
    assert!(copied.unwrap().success());
    std::fs::remove_dir_all(home.join("runs")).ok();
    done(home, &["study", "simulate", "sums", "--people", "2"]);
    done(home, &["study", "simulate", "trial", "--people", "1"]);
    done(home, &["study", "close", "sums"]);
    let run = || {
        let folders = std::fs::read_dir(home.join("runs")).unwrap().flatten();
        let mut own = folders.map(|e| e.path());
        own.find(|p| p.to_string_lossy().contains("people-sums"))
            .unwrap()
    };
    let log = || std::fs::read(run().join("samples.jsonl")).unwrap();
    let before = log();
    let Said { code, err, .. } = mary(home, &["study", "close", "trial"]);
    assert_ne!(code, 0);
    assert!(err.contains("another copy of this study"), "{err}");
    assert_eq!(log(), before);
    let Said { out, .. } = mary(home, &["study", "status", "trial"]);
    assert!(
        out.contains("closed                           false"),
        "{out}"
    );
    // Closed into another place, it loses its only person there and nothing here.
    done(
        home,
        &["study", "close", "trial", "--output-path", "elsewhere"],
    );
    std::fs::remove_dir_all(home.join("elsewhere")).unwrap();
    std::fs::create_dir(home.join("elsewhere")).unwrap();
    let there = home.join("elsewhere").join(run().file_name().unwrap());
    std::fs::rename(run(), &there).unwrap();
    done(home, &["study", "simulate", "trial", "--people", "0"]);
    let rows = mary(home, &["study", "export", "trial"]);
    assert_eq!(rows.code, 0, "{}", rows.err);
    let rows = std::fs::read_to_string(home.join("trial/export/jspsych.csv")).unwrap();
    let who = rows.lines().nth(1).unwrap().split(',').next().unwrap();
    done(home, &["study", "withdraw", "trial", who]);
    assert!(!there.exists() || std::fs::read(there.join("samples.jsonl")).unwrap() == before);
}

/// Nobody took part: closing is no error, and who serves it afterwards hears that it is closed.
#[test]
fn a_study_without_people_is_closed_and_says_so() {
    use std::io::BufRead as _;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    sums(home);
    let Said { code, err, .. } = mary(home, &["study", "close", "sums"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("nobody has finished") && err.contains("hint: --yes"),
        "{err}"
    );
    let shown = mary(home, &["study", "status", "sums"]).out;
    assert!(
        shown.contains("closed                           false"),
        "{shown}"
    );
    let Said { code, out, err } = mary(home, &["study", "close", "sums", "--yes"]);
    assert_eq!((code, out.as_str()), (0, "the study is closed\n"), "{err}");
    assert!(
        err.contains("no run was written: nobody has finished"),
        "{err}"
    );
    let said = done(home, &["study", "close", "sums", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, serde_json::json!({"closed": true, "run": null}));
    let mut child = crate::program::program(home)
        .args(["study", "serve", "sums", "--port", "0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.find(|l| l.as_ref().unwrap().contains("http://"));
    child.kill().unwrap();
    child.wait().unwrap();
    let line = line.unwrap().unwrap();
    assert!(line.contains("the study is closed"), "{line}");
}

/// A run of another task, and one of other items: an error that names what is missing, not an empty table.
#[test]
fn people_are_not_held_against_a_run_with_nothing_in_common() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t htest/rhyme --people 2 --per-person 4 --seed 2 --out rhyme";
    done(home, &new.split(' ').collect::<Vec<_>>());
    done(home, &["study", "simulate", "rhyme"]);
    for (task, seed, said) in [
        ("htest/uppercase", "2", "expected answers to htest/rhyme"),
        ("htest/rhyme", "9", "no scored answer to any of the items"),
    ] {
        let runs = format!("{}/{task}", home.join("of").display());
        let run = format!(
            "run -m builtin/nano -t {task} --limit 4 --seed {seed} --no-report --quiet --output-path {runs}"
        );
        mary(home, &run.split(' ').collect::<Vec<_>>());
        let folder = std::fs::read_dir(&runs).unwrap().flatten().next().unwrap();
        let folder = folder.path().display().to_string();
        let Said { code, out, err } =
            mary(home, &["study", "results", "rhyme", "--against", &folder]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(said) && err.contains("hint:"), "{err}");
    }
}

/// Withdrawn by the command while the server runs, after an export and a close, and killed afterwards: no file
/// holds the word that was answered.
#[test]
fn whoever_is_withdrawn_by_command_is_in_no_byte_of_any_file() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    sums(home);
    let server = served(home, "sums");
    let Served(_, address, _) = &server;
    let [one, two] =
        ["zebrafinchword", "guineafowlword"].map(|word| (half_way(&server, word), word));
    for (own, word) in [&one, &two] {
        loop {
            let page = asked(address, own, None);
            if !page.contains("name=\"step\"") {
                break;
            }
            let (step, key) = (field(&page, "step"), field(&page, "key"));
            // The check among the items has its right answer in the third place.
            let answer = if step.starts_with("check") { "2" } else { word };
            asked(
                address,
                own,
                Some(&format!("step={step}&key={key}&answer={answer}")),
            );
        }
    }
    done(home, &["study", "export", "sums"]);
    done(home, &["study", "export", "sums", "--out", "elsewhere"]);
    done(home, &["study", "close", "sums"]);
    let held = |word: &str| -> Vec<String> {
        let mut grep = std::process::Command::new("grep");
        let output = grep.args(["-rlaF", word]).arg(home).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let all = held(one.1).join(" ");
    for file in [
        "study.sqlite",
        "sums/export/",
        "elsewhere/",
        "samples.jsonl",
    ] {
        assert!(all.contains(file), "the search finds it in {file}: {all}");
    }
    let rows = std::fs::read_to_string(home.join("sums/export/jspsych.csv")).unwrap();
    let row = rows.lines().find(|l| l.contains(one.1)).unwrap();
    let who = row.split(',').next().unwrap();
    done(home, &["study", "withdraw", "sums", who]);
    assert_eq!(held(one.1), [""; 0]);
    assert_eq!(held(who), [""; 0]);
    // The other withdraws over the page. The server does not write run folders: it says so, a kill does not
    // forget it, and the next command finishes it.
    let path = format!("{}/withdraw", two.0);
    let key = format!("key={}", field(&asked(address, &path, None), "key"));
    let said = asked(address, &path, Some(&key));
    assert!(said.contains("still in files"), "{said}");
    let left = held(two.1);
    assert!(
        !left.is_empty() && left.iter().all(|f| f.contains("/runs/")),
        "{left:?}"
    );
    drop(server);
    done(home, &["study", "status", "sums"]);
    assert_eq!(held(two.1), [""; 0]);
}

/// A person's "none fits" is a verdict of its own: judging again must not take it for an unread answer.
#[test]
fn none_fits_stays_wrong_when_judged_again() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t physico/definition --set set=core --none-fits=instead --people 2 --per-person 4 --out defined";
    done(home, &new.split(' ').collect::<Vec<_>>());
    done(home, &["study", "print", "defined"]);
    // The first person finds that nothing fits, the second takes the first option.
    let marks: String = (1..=4).map(|n| format!("1,{n},-\n2,{n},A\n")).collect();
    std::fs::write(
        home.join("marks.csv"),
        format!("sheet,question,mark\n{marks}"),
    )
    .unwrap();
    done(home, &["study", "read", "defined", "marks.csv"]);
    done(home, &["study", "close", "defined"]);
    let said = done(home, &["rescore"]);
    assert!(said.contains("No verdict changed."), "{said}");
    assert!(!said.contains("unparsed"), "{said}");
}

/// As PHYSICO's people did: they mark that none fits and answer all the same, and the answers so marked have a
/// score of their own beside all. The mark used to take the answer's place.
#[test]
fn none_fits_is_a_mark_beside_an_answer_that_counts() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t physico/definition --set set=core --none-fits --people 2 --per-person 4 --out flagged";
    done(home, &new.split(' ').collect::<Vec<_>>());
    done(home, &["study", "print", "flagged"]);
    let key = std::fs::read_to_string(home.join("flagged/paper/key.csv")).unwrap();
    // Both answer rightly; the first marks half of it, and one of these is wrong.
    let mut marks = String::from("sheet,question,mark\n");
    for line in key.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let right = cells[cells.len() - 1];
        let mark = match (cells[0], cells[1]) {
            ("1", "1") => format!("{}-", if right == "A" { "B" } else { "A" }),
            ("1", "2") => format!("{right}-"),
            _ => right.to_owned(),
        };
        marks.push_str(&format!("{},{},{mark}\n", cells[0], cells[1]));
    }
    std::fs::write(home.join("marks.csv"), marks).unwrap();
    done(home, &["study", "read", "flagged", "marks.csv"]);
    let said = done(home, &["study", "results", "flagged"]);
    let line = |name: &str| {
        said.lines()
            .find(|l| l.starts_with(name))
            .unwrap_or_default()
    };
    assert!(line("score ").contains("87.50 %"), "{said}");
    assert!(line("none fits").contains("25.00 %"), "{said}");
    assert!(line("score, flagged").contains("50.00 %"), "{said}");
    assert!(line("score, others").contains("100.00 %"), "{said}");
    done(home, &["study", "close", "flagged"]);
    let said = done(home, &["rescore"]);
    assert!(said.contains("No verdict changed."), "{said}");
}

/// Descriptions of a run judged by people: made, judged through the page by simulated judges, and back as
/// judgements of that run; the same with the form of the family.
#[test]
fn what_a_model_wrote_is_judged_and_comes_back_to_its_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = "run -m builtin/nano -t physico/describe --set per_concept=1 --limit 5 --seed 2 --no-report --quiet";
    mary(home, &run.split(' ').collect::<Vec<_>>());
    let folders = || -> Vec<String> {
        let entries = std::fs::read_dir(home.join("runs")).unwrap().flatten();
        entries
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let run = folders().pop().unwrap();
    done(
        home,
        &[
            "study", "new", "--judge", &run, "--people", "2", "--out", "judged",
        ],
    );
    done(home, &["study", "simulate", "judged", "--page"]);
    let said = done(home, &["study", "results", "judged"]);
    assert!(
        said.contains("builtin/nano: ") && said.contains("2 judges"),
        "{said}"
    );
    let said = done(home, &["study", "close", "judged"]);
    assert!(
        said.contains("judged_by_people") || said.contains("without factual error"),
        "{said}"
    );
    let with = folders()
        .into_iter()
        .find(|f| f.starts_with("judged-judged-"))
        .unwrap();
    let log = std::fs::read_to_string(home.join("runs").join(&with).join("samples.jsonl")).unwrap();
    assert_eq!(log.matches("\"judged_by_people\"").count(), 5);
    done(home, &["report", &with]);
    // The way over a spreadsheet.
    done(home, &["physico", "form", &run, "--out", "ann.csv"]);
    let form = std::fs::read_to_string(home.join("ann.csv")).unwrap();
    assert!(form.lines().count() > 5, "{form}");
    let marked = form.replace(",,\n", ",1,\n");
    std::fs::write(home.join("ann.csv"), marked).unwrap();
    let said = done(home, &["study", "read", "ann.csv", "--run", &run]);
    assert!(said.contains("builtin/nano: 100.00 %"), "{said}");
    assert!(folders().iter().any(|f| f.starts_with("judged-forms-")));
    // Which core properties they name: a form of its own, with grids on its pages.
    let new = ["study", "new", "--judge", &run, "--form", "recall"];
    done(
        home,
        &[&new[..], &["--people", "2", "--out", "recalled"]].concat(),
    );
    let items = std::fs::read_to_string(home.join("recalled/items.json")).unwrap();
    assert!(items.contains("drawn as:\\n"), "{items}");
    done(home, &["study", "simulate", "recalled"]);
    let said = done(home, &["study", "close", "recalled"]);
    assert!(said.contains("texts (recall_by_people)"), "{said}");
    let wrong = [
        "study", "new", "--judge", &run, "--form", "prose", "--out", "x",
    ];
    let Said { code, err, .. } = mary(home, &wrong);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("--form prose: expected one of form, recall"),
        "{err}"
    );
    let Said { code, err, .. } = mary(
        home,
        &[
            "study",
            "new",
            "--judge",
            &run,
            "-t",
            "htest/rhyme",
            "--out",
            "x",
        ],
    );
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("hint:"), "{err}");
}

#[test]
fn a_task_of_ones_own_and_forms_of_judges() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(
        home.join("sums.toml"),
        "name = \"own/sums\"\n[data]\npath = \"sums.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ q }}\"\n\
         [judge]\nkind = \"number\"\nanswer = \"{{ a }}\"\n[people]\nwording = \"Work it out in your head.\"\n",
    )
    .unwrap();
    let rows: String = (0..6)
        .map(|n| format!("{{\"q\": \"{n} + 2 =\", \"a\": {}}}\n", n + 2))
        .collect();
    std::fs::write(home.join("sums.jsonl"), rows).unwrap();
    done(
        home,
        &[
            "study",
            "new",
            "-t",
            "sums.toml",
            "--people",
            "2",
            "--out",
            "sums",
        ],
    );
    let items = std::fs::read_to_string(home.join("sums/items.json")).unwrap();
    assert!(
        items.contains("Work it out") && items.contains("number"),
        "{items}"
    );
    done(home, &["study", "simulate", "sums", "--answers", "random"]);
    let said = done(home, &["study", "close", "sums"]);
    assert!(said.contains("own/sums"), "{said}");

    let form = |marks: [&str; 3]| {
        let rows: String = marks
            .iter()
            .enumerate()
            .map(|(n, mark)| format!("m/x,item-{n},0,c,\"words, words\",{mark},\n"))
            .collect();
        format!("model,item,trial,concept,description,\"0 = any error, 1 = none\",remark\n{rows}")
    };
    std::fs::write(home.join("one.csv"), form(["1", "0", "1"])).unwrap();
    std::fs::write(home.join("two.csv"), form(["1", "0", "0"])).unwrap();
    let said = done(home, &["study", "read", "one.csv", "two.csv"]);
    assert!(said.contains("m/x: 50.00 % of 3 descriptions"), "{said}");
    assert!(said.contains("kappa 0.40"), "{said}");
    std::fs::write(home.join("two.csv"), form(["1", "yes", "0"])).unwrap();
    assert_eq!(mary(home, &["study", "read", "one.csv", "two.csv"]).code, 2);
}

/// Self-paced reading as docs/reading.md has it, with simulated people: from a table to gains and a mixed model.
#[test]
fn sentences_are_read_word_by_word_and_analysed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let mut table = String::from("item,match,sentence,question,answer\n");
    for (item, noun) in ["dog", "cat", "bird", "tree"].iter().enumerate() {
        table += &format!("{item},good,The {noun} [[is]] in the garden.,Is it outside?,yes\n");
        table += &format!("{item},bad,The {noun}s [[is]] in the garden.,,\n");
    }
    std::fs::write(home.join("sentences.csv"), table).unwrap();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let run = |line: &str| {
        let words = words(line);
        done(home, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    run("study new --read sentences.csv --people 12 --out spr");
    run("study simulate spr --people 8");
    run("study simulate spr --people 4 --page");
    let refused = mary(home, &["study", "print", "spr"]);
    assert!(
        refused.err.contains("paper cannot uncover words"),
        "{}",
        refused.err
    );
    let said = run("study close spr");
    assert!(said.contains("people/comprehension"), "{said}");
    run("report --out page.html");
    run("study export spr --out data");
    // Twelve people read four sentences of six words.
    let rows = std::fs::read_to_string(home.join("data/reading.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 12 * 4 * 6);
    let head = "participant,trial_index,trial_type,item,match,word_number,from_critical,word,rt";
    assert!(rows.starts_with(head), "{rows}");
    let said =
        run("reading data/jspsych.csv --measure rt --person participant -m builtin/nano --json");
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["sentences"], 8);
    assert_eq!(found["added"][0]["persons"]["rows"], 12 * 4 * 6);
    let critical = rows.lines().filter(|line| {
        let cell = line.split(',').nth(6);
        matches!(cell, Some("0" | "from_critical"))
    });
    let critical: Vec<&str> = critical.collect();
    std::fs::write(home.join("critical.csv"), critical.join("\n")).unwrap();
    let fit = [
        "fit",
        "rt ~ match + (1 | participant) + (1 | item)",
        "critical.csv",
    ];
    assert!(done(home, &fit).contains("48 rows"));
}

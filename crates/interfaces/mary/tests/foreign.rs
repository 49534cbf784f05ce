//! Run folders from elsewhere: what they say about hosts, paths and content is not believed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mary_testkit::raw_server::{RawServer, Say};
use serde_json::{Value, json};

const KEY: &str = "sk-test-4242-goes-nowhere-else";

fn mary(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).output().unwrap()
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .args(arguments)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env("OPENAI_API_KEY", KEY)
        .env_remove("MARY_MODEL");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn server() -> RawServer {
    RawServer::start(|heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "m"}]}));
        }
        // The id is what a file or a batch would have.
        Say::json(&json!({
            "id": "made-1",
            "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }))
    })
    .unwrap()
}

/// A finished run of four questions.
fn run(home: &Path, server: &RawServer) -> PathBuf {
    let url = server.url("/v1");
    let arguments = [
        "run",
        "-m",
        "compatible/m",
        "--base-url",
        &url,
        "-t",
        "htest/uppercase",
    ];
    let more = [
        "-k",
        "2",
        "--limit",
        "4",
        "--set",
        "mode=generate",
        "--no-report",
    ];
    let output = mary(
        home,
        &[&arguments[..], &more[..], &["--apply-chat-template"]].concat(),
    );
    assert!(output.status.success(), "{}", said(&output));
    let entries = std::fs::read_dir(home.join("runs")).unwrap().flatten();
    entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap()
}

/// Goes on with a run on the server that the user names.
fn resume(home: &Path, run: &Path, server: &RawServer) -> Output {
    let (run, url) = (run.display().to_string(), server.url("/v1"));
    mary(home, &["resume", &run, "--base-url", &url])
}

fn edit(run: &Path, change: impl FnOnce(&mut Value)) {
    let path = run.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn a_folder_cannot_send_a_key_to_a_new_host() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    // A host that is no loopback, in a range that belongs to nobody.
    edit(&folder, |m| {
        m["model_settings"]["base_url"] = json!("http://192.0.2.1:9/v1")
    });
    let output = mary(home.path(), &["resume", &folder.display().to_string()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("--base-url http://192.0.2.1:9/v1"),
        "{}",
        said(&output)
    );
    let other = ["--base-url", "http://192.0.2.2:9/v1"];
    let output = mary(
        home.path(),
        &[&["resume", &folder.display().to_string()], &other[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

/// On a shared machine others listen on its ports: they are hosts like any other.
#[test]
fn a_folder_cannot_send_a_secret_to_a_port_of_this_machine() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let somebody = RawServer::start(|_| Say::json(&json!({"data": [{"id": "m"}]}))).unwrap();
    let (url, path) = (somebody.url("/v1"), folder.display().to_string());
    // A log with nothing in it, so that there is something to ask.
    std::fs::write(folder.join("samples.jsonl"), "").unwrap();
    edit(&folder, |m| {
        // A name that is no hash of the content: nothing shows that the manifest was changed.
        m["id"] = json!("theirs");
        m["model_settings"]["base_url"] = json!(url);
        m["model_settings"]["args"]["key_env"] = json!("AWS_SECRET_ACCESS_KEY");
    });
    let resumed = |more: &[&str]| {
        let mut command = command(home.path(), &[&["resume", &path], more].concat());
        let output = command.env("AWS_SECRET_ACCESS_KEY", KEY).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    let secret = "--key-env AWS_SECRET_ACCESS_KEY";
    assert!(resumed(&[]).contains(secret));
    // The host is the user's word, the variable is not.
    assert!(resumed(&["--base-url", &url]).contains(secret));
    // The variable is the user's word, but not for this host.
    let host = resumed(&["--key-env", "AWS_SECRET_ACCESS_KEY"]);
    assert!(host.contains(&format!("--base-url {url}")), "{host}");
    // The service's own key goes to nobody either.
    edit(&folder, |m| {
        m["model_settings"]["args"]
            .as_object_mut()
            .unwrap()
            .remove("key_env");
    });
    assert!(resumed(&[]).contains(&format!("--base-url {url}")));
    assert_eq!(somebody.heard().len(), 0, "not even a knock");
}

#[test]
fn a_command_names_the_variable_that_holds_the_key() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let url = server.url("/v1");
    let arguments = ["ask", "-m", "compatible/m", "--base-url", &url, "hello"];
    let named = ["--model-arg", "key_env=MY_OWN_KEY"];
    let mut command = command(home.path(), &[&arguments[..], &named[..]].concat());
    let output = command
        .env("MY_OWN_KEY", "sk-of-my-own-1234")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let heard = server.heard();
    assert!(!heard.is_empty());
    for request in heard {
        let key = (
            "authorization".to_owned(),
            "Bearer sk-of-my-own-1234".to_owned(),
        );
        assert!(request.headers.contains(&key), "{:?}", request.headers);
    }
}

/// A link in place of the log: what is still to be answered would be written behind somebody's lines.
#[cfg(unix)]
#[test]
fn a_folder_cannot_make_mary_write_through_a_link() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let log = folder.join("samples.jsonl");
    // Two of its lines, so that it is a log and not finished.
    let text = std::fs::read_to_string(&log).unwrap();
    let half: String = text.split_inclusive('\n').take(2).collect();
    let theirs = home.path().join("diary.jsonl");
    std::fs::write(&theirs, &half).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&theirs, &log).unwrap();
    let path = folder.display().to_string();
    let output = mary(
        home.path(),
        &["resume", &path, "--base-url", &server.url("/v1")],
    );
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), half);
    assert!(said(&output).contains("found a link"), "{}", said(&output));
}

/// Where batches are kept is decided by where the folder lies. The folder is one that was begun so, and
/// its name fits its content: nothing else in it gives it away.
#[test]
fn a_folder_cannot_choose_where_batches_are_kept() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let outside = home.path().join("outside.json");
    let (url, batch) = (server.url("/v1"), format!("batch={}", outside.display()));
    let words = "run -m openai/gpt-4o -t htest/uppercase -k 2 --limit 4 --set mode=generate --no-report \
                 --no-cache --model-arg retries=0,backoff_ms=0 --base-url";
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.extend([&url, "--model-arg", &batch]);
    let output = mary(home.path(), &words);
    assert!(outside.exists(), "the user may: {}", said(&output));
    std::fs::remove_file(&outside).unwrap();
    let entries = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .flatten();
    let folder = entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let asked = server.heard().len();
    let path = folder.display().to_string();
    let output = mary(home.path(), &["resume", &path, "--base-url", &url]);
    assert!(!outside.exists(), "{}", said(&output));
    let heard = server.heard();
    let posts = heard.iter().skip(asked).filter(|h| h.method == "POST");
    assert_eq!(posts.count(), 0, "{}", said(&output));
}

/// Changes every line of a log.
fn edit_log(run: &Path, change: impl Fn(&mut Value)) {
    let log = run.join("samples.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = String::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        change(&mut line);
        lines.push_str(&format!("{line}\n"));
    }
    std::fs::write(&log, lines).unwrap();
}

/// Names in a folder are names: none of them leads out of it or overwrites anything. Every command is
/// one that ends well on a folder without such names.
#[test]
fn no_name_in_a_folder_is_a_path() {
    let evil = "../../../evil";
    for name in ["none", "id", "label and items", "created and tags"] {
        let (home, server) = (tempfile::tempdir().unwrap(), server());
        let folder = run(home.path(), &server);
        match name {
            "id" => edit(&folder, |m| m["id"] = json!(evil)),
            "label and items" => {
                edit(&folder, |m| m["models"][0]["label"] = json!(evil));
                edit_log(&folder, |line| {
                    let item = format!("{evil}/{}", line["id"]["item"].as_str().unwrap());
                    line["id"]["item"] = json!(item);
                    line["item"]["id"] = json!(item);
                });
            }
            "created and tags" => {
                edit(&folder, |m| m["created"] = json!(evil));
                edit_log(&folder, |line| line["item"]["tags"] = json!({evil: evil}));
            }
            _ => {}
        }
        let here = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).unwrap().flatten();
            let mut found: Vec<PathBuf> = entries.map(|e| e.path()).collect();
            found.sort();
            found
        };
        let home = home.path();
        for made in ["out", "out/in", "out/in/tables"] {
            std::fs::create_dir_all(home.join(made)).unwrap();
        }
        let (before, path) = (here(home), folder.display().to_string());
        let outs = ["csv", "parquet", "lm-eval", "inspect", "eval"];
        let mut commands = vec![
            vec!["report", &path],
            vec!["rescore", &path],
            vec!["report", &path, "--tables", "out/in/tables"],
        ];
        commands.extend(outs.map(|to| vec!["export", &path, "--to", to, "-o", "out/in/export"]));
        commands.extend(outs.map(|to| vec!["export", &path, "--to", to]));
        commands.push(vec!["merge", &path, &path, "--into", "out/in/merged"]);
        for words in commands {
            let output = mary(home, &words);
            let text = said(&output);
            assert!(!text.contains("panicked"), "{words:?}: {text}");
            if name == "none" {
                assert!(output.status.success(), "{words:?}: {text}");
            }
            if name == "id" {
                assert!(text.contains("cannot name a run"), "{words:?}: {text}");
            }
            assert_eq!(here(home), before, "{name}: {words:?}");
            assert_eq!(
                here(&home.join("out")),
                [home.join("out/in")],
                "{name}: {words:?}"
            );
            for place in [
                home.parent().unwrap(),
                home,
                &home.join("runs"),
                &home.join("out"),
            ] {
                let left = here(place);
                let evils = left
                    .iter()
                    .filter(|p| p.to_string_lossy().contains("/evil"));
                assert_eq!(evils.count(), 0, "{name}: {words:?}: {left:?}");
            }
        }
        let mut left = here(&home.join("runs"));
        left.retain(|p| p.is_dir() && *p != folder);
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_folder_is_continued_where_it_is_and_only_if_its_parts_belong_together() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    let asked = server.heard().len();
    // Renamed and finished: nothing is asked anew.
    let moved = home.path().join("elsewhere");
    std::fs::rename(&folder, &moved).unwrap();
    let output = resume(home.path(), &moved, &server);
    assert!(output.status.success(), "{}", said(&output));
    let posts = server
        .heard()
        .iter()
        .skip(asked)
        .filter(|h| h.method == "POST")
        .count();
    assert_eq!(posts, 0, "{}", said(&output));
    let made = std::fs::read_dir(home.path().join("runs")).unwrap().count();
    assert_eq!(made, 0, "no second folder was begun");
    // A manifest that was changed after the run began.
    edit(&moved, |m| m["seed"] = json!(777));
    let output = resume(home.path(), &moved, &server);
    assert!(!output.status.success(), "{}", said(&output));
    // A log of another task.
    edit(&moved, |m| m["seed"] = json!(0));
    edit(&moved, |m| m["tasks"][0]["id"] = json!("htest/palindrome"));
    let output = resume(home.path(), &moved, &server);
    assert!(!output.status.success());
    assert!(said(&output).contains("does not name"), "{}", said(&output));
}

#[test]
fn a_fifo_in_a_folder_is_refused_and_not_waited_for() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    std::fs::remove_file(folder.join("samples.jsonl")).unwrap();
    let fifo = folder.join("samples.jsonl");
    let made = Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|m| m.success()) {
        return;
    }
    let model = format!("gguf/{}", fifo.display());
    for model in [model.as_str(), "gguf//dev/zero"] {
        let output = mary(home.path(), &["models", "show", model]);
        assert!(!output.status.success(), "{model}");
        assert!(said(&output).contains("FIFO"), "{model}: {}", said(&output));
    }
    let (data, path) = (home.path().join("x.jsonl"), fifo.display().to_string());
    std::fs::rename(&fifo, &data).unwrap();
    let task = "[data]\npath = \"x.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ a }}\"\n\
                [judge]\nkind = \"exact\"\nanswer = \"a\"\n";
    std::fs::write(home.path().join("task.toml"), task).unwrap();
    for words in [
        vec!["import", "x.jsonl", "--model", "a/b"],
        vec!["tasks", "check", "task.toml"],
        vec!["score", "-m", "builtin/nano", "x.jsonl"],
    ] {
        let output = mary(home.path(), &words);
        assert!(!output.status.success(), "{words:?}");
        assert!(
            said(&output).contains("FIFO"),
            "{words:?}: {}",
            said(&output)
        );
    }
    std::fs::rename(&data, &path).unwrap();
    for command in ["report", "resume"] {
        let output = mary(home.path(), &[command, &folder.display().to_string()]);
        assert!(!output.status.success(), "{command}");
        assert!(
            said(&output).contains("FIFO"),
            "{command}: {}",
            said(&output)
        );
    }
}

/// What reads a file of the user's looks at what it is before it waits for its content.
#[cfg(unix)]
#[test]
fn no_command_waits_for_a_fifo() {
    let home = tempfile::tempdir().unwrap();
    let fifo = |name: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        path
    };
    fifo("data.jsonl");
    fifo("adapter/adapter_model.safetensors");
    let cases: &[&[&str]] = &[
        &["grow", "--out", "grown", "--text", "data.jsonl"],
        &[
            "tune",
            "-m",
            "builtin/nano",
            "--data",
            "data.jsonl",
            "--out",
            "tuned",
        ],
        &[
            "run",
            "-m",
            "builtin/nano",
            "--adapter",
            "adapter",
            "-t",
            "htest/uppercase",
        ],
        &["ask", "-m", "builtin/nano", "--file", "data.jsonl"],
        &[
            "run",
            "-m",
            "openai/gpt-4o",
            "--model-arg",
            "prices=data.jsonl",
            "-t",
            "htest/uppercase",
            "--dry-run",
        ],
    ];
    for words in cases {
        let output = mary(home.path(), words);
        assert!(!output.status.success(), "{words:?}");
        assert!(
            said(&output).contains("FIFO"),
            "{words:?}: {}",
            said(&output)
        );
    }
    // Keys: the file is named, and the key is missing.
    fifo(".env");
    let words = ["ask", "-m", "groq/m", "hello"];
    let mut without = command(home.path(), &words);
    let output = without.env_remove("GROQ_API_KEY").output().unwrap();
    assert!(!output.status.success());
    assert!(
        said(&output).contains(".env is not read"),
        "{}",
        said(&output)
    );
    // Settings.
    fifo("mary.toml");
    let output = mary(home.path(), &["tasks"]);
    assert!(!output.status.success());
    assert!(said(&output).contains("FIFO"), "{}", said(&output));
}

#[test]
fn a_report_after_a_kill_adds_up_what_the_log_holds() {
    let (home, server) = (tempfile::tempdir().unwrap(), server());
    let folder = run(home.path(), &server);
    // As if two more answers had come after the summary was written.
    let log = folder.join("samples.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let first = text.lines().next().unwrap();
    let item = serde_json::from_str::<Value>(first).unwrap()["id"]["item"].clone();
    let item = item.as_str().unwrap().to_owned();
    let more: String = ["later-1", "later-2"]
        .map(|id| format!("{}\n", first.replace(&item, id)))
        .concat();
    std::fs::write(&log, text + &more).unwrap();
    let tables = home.path().join("tables");
    let path = folder.display().to_string();
    let output = mary(
        home.path(),
        &["report", &path, "--tables", &tables.display().to_string()],
    );
    assert!(output.status.success(), "{}", said(&output));
    let table = std::fs::read_to_string(tables.join("results.csv")).unwrap();
    // Columns are counted from the end: an interval has a comma of its own.
    let head = table.lines().next().unwrap();
    let n = head.rsplit(',').position(|name| name == "n").unwrap();
    let row = table.lines().nth(1).unwrap();
    assert_eq!(row.rsplit(',').nth(n), Some("6"), "{table}");
}

#[test]
fn another_models_name_in_replies_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let server = RawServer::start(|heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "wanted-7b"}]}));
        }
        Say::json(&json!({
            "model": "cheaper-1b",
            "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
        }))
    })
    .unwrap();
    let url = server.url("/v1");
    let arguments = [
        "run",
        "-m",
        "compatible/wanted-7b",
        "--base-url",
        &url,
        "-t",
    ];
    let more = [
        "htest/uppercase",
        "-k",
        "2",
        "--limit",
        "4",
        "--set",
        "mode=generate",
    ];
    let output = mary(
        home.path(),
        &[&arguments[..], &more[..], &["--apply-chat-template"]].concat(),
    );
    let table = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    let expected = "4 replies name another model: cheaper-1b";
    assert!(table.contains(expected), "{table}");
    let entries = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .flatten();
    let folder = entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    for file in ["summary.json", "report.html"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(expected), "{file}");
    }
}

#[test]
fn a_folder_starts_no_program_and_the_command_that_began_the_run_goes_on() {
    let there = Command::new("python3").arg("--version").output();
    if !there.is_ok_and(|o| o.status.success()) {
        mary_testkit::lacking::skip(mary_testkit::lacking::Lacking::Peers, "no python3");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(
        home.join("model.py"),
        "def answer(prompt):\n    open('asked', 'a').write('.')\n    print('aloud')\n    return 'A'\n",
    )
    .unwrap();
    let words = [
        "run",
        "-m",
        "python/./model.py:answer",
        "-t",
        "htest/uppercase",
        "-l",
        "3",
        "--set",
        "mode=generate",
        "--no-report",
        "--no-cache",
        "--json",
    ];
    let first = mary(home, &words);
    assert!(first.status.success(), "{}", said(&first));
    // What the object prints is no result.
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(summary["rows"][0]["samples"], 3);
    let asked = std::fs::read(home.join("asked")).unwrap().len();
    assert_eq!(asked, 3);
    let resumed = mary(home, &["resume"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", said(&resumed));
    assert!(
        said(&resumed).contains("repeat the command"),
        "{}",
        said(&resumed)
    );
    let again = mary(home, &words);
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(std::fs::read(home.join("asked")).unwrap().len(), 3);
}

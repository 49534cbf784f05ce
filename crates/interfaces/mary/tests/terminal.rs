//! Foreign text on a real terminal: hostile names in arguments, caches, logs and model files, printed
//! through a pty. Nothing that commands a terminal may come out.

use std::path::Path;
use std::process::Command;

use mary_contract::Cache as _;
use mary_testkit::lacking::{self, Lacking};
use mary_testkit::raw_server::{RawServer, Say};

/// Sets the window's title, clears the screen, rings, turns writing around, and colours it as nothing of
/// ours is coloured.
const HOSTILE: &str = "x\x1b]0;owned\x07\x1b[2J\u{9b}5n\u{202e}\x1b[95;4my";

/// What a command prints into a pty, or into a pipe where there is no `script` to make one.
fn on_a_terminal(home: &Path, arguments: &[&str]) -> String {
    let quoted: Vec<String> = std::iter::once(env!("CARGO_BIN_EXE_mary"))
        .chain(arguments.iter().copied())
        .map(|a| format!("'{}'", a.replace('\'', "'\\''")))
        .collect();
    let in_place = |mut command: Command| {
        command
            .current_dir(home)
            .env("MARY_RUNS", home.join("runs"))
            .env("MARY_CACHE_DIR", home.join("cache"))
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .output()
    };
    let mut pty = Command::new("script");
    pty.args(["-qec", &quoted.join(" "), "/dev/null"]);
    let output = in_place(pty).unwrap_or_else(|_| {
        lacking::skip(Lacking::Terminal, "no `script`; a pipe instead");
        let mut plain = Command::new(env!("CARGO_BIN_EXE_mary"));
        plain.args(arguments);
        in_place(plain).unwrap()
    });
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn assert_tame(what: &str, printed: &str) {
    for command in [
        "\x1b]",
        "\x07",
        "\x1b[2J",
        "\u{9b}",
        "\u{202e}",
        "\x1b[95;4m",
    ] {
        assert!(!printed.contains(command), "{what}: {printed:?}");
    }
}

#[test]
fn no_foreign_control_character_reaches_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    // A cache whose rows belong to a model of that name.
    std::fs::create_dir_all(home.path().join("cache")).unwrap();
    let found = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["cache", "stats", "--json"])
        .env("MARY_CACHE_DIR", home.path().join("cache"))
        .output()
        .unwrap();
    assert!(found.status.success());
    let cache = home.path().join("cache/answers.sqlite");
    {
        let mut cache = mary_store::ResponseCache::open(&cache).unwrap();
        cache.label().set(HOSTILE, HOSTILE);
        let key = serde_json::from_value("0".repeat(64).into()).unwrap();
        let reply = mary_contract::Reply::bare(mary_contract::Response::Generated(
            mary_contract::Generated {
                text: "x".into(),
                finish: mary_contract::Finish::Stop,
                reasoning: None,
            },
        ));
        cache.keep(&key, &reply).unwrap();
        cache.flush().unwrap();
    }
    // A file that names itself so, and a run folder that does.
    let model = home.path().join(format!("{HOSTILE}.gguf"));
    std::fs::write(&model, b"GGUF\x03\0\0\0").unwrap();
    let run = home.path().join("runs").join("r");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("manifest.json"), format!("{{\"{HOSTILE}\": 1}}")).unwrap();
    let gguf = format!("gguf/{}", model.display());
    let cases: Vec<Vec<&str>> = vec![
        vec!["run", "-m", HOSTILE, "-t", "htest/uppercase"],
        vec!["run", "-t", HOSTILE],
        vec!["run", "-m", &gguf, "-t", "htest/uppercase"],
        vec!["models", "show", HOSTILE],
        vec!["tasks", "show", HOSTILE],
        vec!["cache", "stats"],
        vec!["report", HOSTILE],
        vec!["report", "r"],
        vec!["resume", "r"],
        vec!["compare", HOSTILE, HOSTILE],
        vec!["import", HOSTILE],
        vec![HOSTILE],
        vec!["run", "--set", HOSTILE],
    ];
    for case in cases {
        let printed = on_a_terminal(home.path(), &case);
        assert!(!printed.trim().is_empty(), "{case:?} printed nothing");
        assert_tame(&format!("{case:?}"), &printed);
    }
}

/// A hostile text of exactly this many bytes.
fn hostile_of(length: usize) -> Vec<u8> {
    let mut bytes = "\x1b]0;owned\x07\x1b[2J\u{9b}".as_bytes().to_vec();
    bytes.resize(length.max(bytes.len()), b'z');
    bytes
}

/// Tensors whose names command a terminal, in a file that is right otherwise.
#[test]
fn no_tensor_name_reaches_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let golden = "../../models/mary-weights/tests/golden/llama.gguf";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(golden);
    let whole = std::fs::read(golden).unwrap();
    for name in [
        &b"blk.0.attn_output.weight"[..],
        b"blk.0.ffn_gate.weight",
        b"tokenizer.ggml.tokens",
    ] {
        let mut bytes = whole.clone();
        let place = bytes.windows(name.len()).position(|w| w == name);
        let place = place.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(name)));
        let hostile = hostile_of(name.len());
        assert_eq!(hostile.len(), name.len(), "the text fits");
        bytes[place..place + name.len()].copy_from_slice(&hostile);
        let file = home.path().join("m.gguf");
        std::fs::write(&file, bytes).unwrap();
        let model = format!("gguf/{}", file.display());
        for case in [
            vec!["models", "show", &model],
            vec![
                "run",
                "-m",
                &model,
                "-t",
                "htest/end-punctuation",
                "-l",
                "2",
            ],
        ] {
            let printed = on_a_terminal(home.path(), &case);
            assert!(!printed.trim().is_empty(), "{case:?} printed nothing");
            assert_tame(&format!("{case:?}"), &printed);
        }
    }
}

/// The same in a safetensors file, whose header may hold any name: it is said in an error, with its
/// control characters shown.
#[test]
fn no_tensor_name_of_a_header_in_json_reaches_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let golden = "../../models/mary-weights/tests/golden/llama";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(golden);
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(golden.join(name), home.path().join(name)).unwrap();
    }
    let whole = std::fs::read(golden.join("model.safetensors")).unwrap();
    let length = u64::from_le_bytes(*whole.first_chunk().unwrap());
    let length = usize::try_from(length).unwrap();
    let mut header: serde_json::Value = serde_json::from_slice(&whole[8..8 + length]).unwrap();
    // Three numbers in four bytes.
    header[HOSTILE] = serde_json::json!({"dtype": "F32", "shape": [3], "data_offsets": [0, 4]});
    let header = header.to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&whole[8 + length..]);
    std::fs::write(home.path().join("model.safetensors"), bytes).unwrap();
    let model = format!("hf/{}", home.path().display());
    let printed = on_a_terminal(home.path(), &["models", "show", &model]);
    assert_tame("a safetensors header", &printed);
    assert!(printed.contains("tensor `x\\x1b]0;owned"), "{printed:?}");
}

/// A server's words, and ids, titles and tags of an own task: in progress, notes, failures, tables.
#[test]
fn nothing_that_a_server_or_an_item_is_called_reaches_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let row = |n: usize| {
        let id = format!("{HOSTILE}{n}");
        serde_json::json!({"id": id, "kind": HOSTILE, "word": HOSTILE, "opposite": "B"}).to_string()
    };
    let rows: Vec<String> = (0..4).map(row).collect();
    std::fs::write(home.path().join("rows.jsonl"), rows.join("\n")).unwrap();
    let title = serde_json::Value::from(HOSTILE).to_string();
    let file = format!(
        "title = {title}\nabout = {title}\n[data]\npath = \"rows.jsonl\"\nid = \"id\"\nstrata = \"kind\"\n\
         tags = \"kind\"\n[request]\nkind = \"generate\"\nprompt = \"{{{{ word }}}}\"\n[judge]\n\
         kind = \"exact\"\nanswer = \"{{{{ opposite }}}}\"\n"
    );
    std::fs::write(home.path().join("task.toml"), file).unwrap();
    let answers = |status: u16| {
        RawServer::start(move |heard| {
            let body = if heard.method == "GET" {
                serde_json::json!({"data": [{"id": "m"}, {"id": HOSTILE}]})
            } else if status == 200 {
                serde_json::json!({"model": HOSTILE, "choices": [
                    {"message": {"content": HOSTILE, "reasoning": HOSTILE}, "finish_reason": HOSTILE}]})
            } else {
                serde_json::json!({"error": {"message": HOSTILE, "code": HOSTILE, "type": HOSTILE}})
            };
            let status = if heard.method == "GET" { 200 } else { status };
            Say::Answer(status, Vec::new(), body.to_string().into_bytes())
        })
        .unwrap()
    };
    let mut seen = String::new();
    for status in [200, 400, 401, 404, 500] {
        let server = answers(status);
        let url = server.url("/v1");
        let words = "run -m compatible/m -t task.toml --apply-chat-template --model-arg retries=1 \
                     --model-arg backoff_ms=1 --no-cache --base-url";
        let mut case: Vec<&str> = words.split_whitespace().collect();
        case.push(&url);
        let printed = on_a_terminal(home.path(), &case);
        assert_tame(&format!("{status}: {case:?}"), &printed);
        seen.push_str(&printed);
        for case in [
            vec!["report"],
            vec!["runs"],
            vec!["tasks", "check", "task.toml"],
        ] {
            let printed = on_a_terminal(home.path(), &case);
            assert_tame(&format!("{status}: {case:?}"), &printed);
            seen.push_str(&printed);
        }
    }
    // The text was shown, not left out: otherwise nothing was tested.
    assert!(seen.contains("\\x1b]0;owned"), "{seen}");
}

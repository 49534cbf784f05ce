//! Foreign text on a real terminal: hostile names in arguments, caches, logs and model files, printed
//! through a pty. Nothing that commands a terminal may come out.

use std::path::Path;
use std::process::Command;

use mary_contract::Cache as _;
use mary_testkit::lacking::{self, Lacking};

/// Sets the window's title, clears the screen, rings, and turns writing around.
const HOSTILE: &str = "x\x1b]0;owned\x07\x1b[2J\u{9b}5n\u{202e}y";

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
    for command in ["\x1b]", "\x07", "\x1b[2J", "\u{9b}", "\u{202e}"] {
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
        vec!["run", "-m", HOSTILE, "-t", "htest/rhyme"],
        vec!["run", "-t", HOSTILE],
        vec!["run", "-m", &gguf, "-t", "htest/rhyme"],
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

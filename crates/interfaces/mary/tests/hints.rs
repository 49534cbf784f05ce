//! No hint names an option that does not exist: every `--word` in a message of ours is held against
//! what the commands' help lists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of other programs that messages name: llama.cpp, vLLM, SGLang, pip, cargo; and colours of
/// the report's style sheet.
const OTHERS: &[&str] = &[
    "--merge",
    "--port",
    "--exact",
    "--nocapture",
    "--ignored",
    "--example",
    "--features",
    "--release",
    "--model-path",
    "--only-binary",
    "--no-input",
    "--no-deps",
    "--ignore-requires-python",
    "--dest",
    "--disable-pip-version-check",
    "--me--small",
    "--log_samples",
    // LibreOffice.
    "--convert-to",
    "--headless",
    // Slurm and HyperQueue.
    "--array",
    "--cpus",
    "--cpus-per-task",
    "--dependency",
    "--gres",
    "--job-name",
    "--mem",
    "--name",
    "--open-mode",
    "--output",
    "--output-mode",
    "--parsable",
    "--partition",
    "--requeue",
    "--resource",
    "--signal",
    "--stderr",
    "--stdout",
    "--time",
    "--time-limit",
];

fn help(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words)
        .arg("--help")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn options_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '(') {
            continue;
        }
        let word: String = text[at + 2..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(*c))
            .collect();
        if word.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.insert(format!("--{}", word.trim_end_matches('-')));
        }
    }
    found
}

/// All options of a command and of those below it.
fn collect(words: &mut Vec<String>, found: &mut BTreeSet<String>) {
    let text = help(words);
    found.extend(options_in(&text));
    // Commands stand before the options, below one heading or several.
    let commands = text.lines().take_while(|l| l.trim() != "Options:");
    let names: Vec<String> = commands
        .filter_map(|l| l.strip_prefix("  "))
        .filter(|l| l.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|l| l.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    for name in names {
        words.push(name);
        collect(words, found);
        words.pop();
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_option_that_a_message_names_exists() {
    let mut known = BTreeSet::new();
    collect(&mut Vec::new(), &mut known);
    assert!(known.len() > 40, "{known:?}");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for group in std::fs::read_dir(crates).unwrap().flatten() {
        for entry in std::fs::read_dir(group.path()).unwrap().flatten() {
            sources(&entry.path().join("src"), &mut files);
        }
    }
    let mut unknown = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // Tests stand at the end of a file; the report's style sheet has names of its own.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let tests = file.to_string_lossy().ends_with("_tests.rs");
        let style = |c: std::path::Component| c.as_os_str() == "style" || c.as_os_str() == "html";
        if tests || file.components().any(style) {
            continue;
        }
        for line in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
            for option in options_in(line) {
                let other = OTHERS.contains(&option.as_str()) || option.starts_with("--mary-batch");
                if !known.contains(&option) && !other {
                    unknown.push(format!("{option} in {}", file.display()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

//! The binary asks the families and knows none of them by name.

use std::path::{Path, PathBuf};

/// Every source file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// What a family is called: its id, and the spellings that pages use.
fn names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for family in mary_lab::families::families() {
        names.push(family.id().to_owned());
        for task in family.tasks() {
            let id = task.card().id.to_string();
            names.push(id);
        }
    }
    names.extend(["h-test", "perceptualqa", "sensoryvec"].map(String::from));
    names
}

#[test]
fn no_family_is_named_in_the_binary() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    assert!(files.len() > 20, "the sources are where they were");
    let names = names();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap().to_lowercase();
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = names.iter().find(|name| line.contains(name.as_str())) {
                found.push(format!("{}:{}: {name}", file.display(), number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "families are listed in mary-lab and offer what they have through `Family`:\n{}",
        found.join("\n")
    );
}

#[test]
fn what_a_family_offers_is_offered_for_its_own_tasks() {
    let registry = mary_lab::families::registry();
    for family in registry.families() {
        let own = format!("{}/", family.id());
        for name in family.tuning_sets().iter().chain(&family.tuning_tasks()) {
            assert!(name.starts_with(&own), "{name}");
        }
        for probe in family.development().iter().flat_map(|d| d.probes()) {
            assert!(registry.task(&probe).is_some(), "{probe}");
        }
        if let Some(command) = family.command() {
            assert!(!command.actions.is_empty(), "{}", family.id());
            for task in command.actions.iter().filter_map(|a| a.samples_of.as_ref()) {
                let begins = task.trim_end_matches('*');
                let mut all = registry.tasks().iter().map(|t| t.card().id.clone());
                assert!(all.any(|id| id.starts_with(begins)), "{task}");
            }
        }
    }
}

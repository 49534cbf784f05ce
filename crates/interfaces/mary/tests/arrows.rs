//! Arrows between rooms go one way only: what may depend on what, held against `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Room → rooms it may use. The picture is in docs/ARCHITECTURE.md; change both together.
const ALLOWED: &[(&str, &[&str])] = &[
    ("mary-contract", &[]),
    ("mary-platform", &[]),
    ("mary-stats", &[]),
    ("mary-template", &[]),
    ("mary-audit", &["mary-contract", "mary-stats"]),
    (
        "mary-embodied",
        &[
            "mary-contract",
            "mary-generators",
            "mary-platform",
            "mary-stats",
        ],
    ),
    ("mary-generators", &[]),
    (
        "mary-htest",
        &[
            "mary-contract",
            "mary-generators",
            "mary-platform",
            "mary-stats",
        ],
    ),
    (
        "mary-physico",
        &[
            "mary-contract",
            "mary-generators",
            "mary-platform",
            "mary-stats",
        ],
    ),
    (
        "mary-psychometric",
        &[
            "mary-contract",
            "mary-generators",
            "mary-platform",
            "mary-stats",
        ],
    ),
    (
        "mary-taskfile",
        &[
            "mary-contract",
            "mary-generators",
            "mary-platform",
            "mary-stats",
            "mary-template",
        ],
    ),
    ("mary-cuda", &["mary-contract", "mary-platform"]),
    ("mary-fetch", &["mary-contract", "mary-platform"]),
    ("mary-kernels", &[]),
    (
        "mary-local",
        &[
            "mary-contract",
            "mary-cuda",
            "mary-kernels",
            "mary-platform",
            "mary-weights",
        ],
    ),
    ("mary-pymodel", &["mary-contract", "mary-platform"]),
    (
        "mary-remote",
        &["mary-contract", "mary-fetch", "mary-platform"],
    ),
    (
        "mary-train",
        &[
            "mary-contract",
            "mary-cuda",
            "mary-generators",
            "mary-kernels",
            "mary-platform",
            "mary-weights",
        ],
    ),
    (
        "mary-weights",
        &[
            "mary-contract",
            "mary-fetch",
            "mary-kernels",
            "mary-platform",
            "mary-template",
        ],
    ),
    (
        "mary-lab",
        &[
            "mary-contract",
            "mary-embodied",
            "mary-htest",
            "mary-local",
            "mary-physico",
            "mary-platform",
            "mary-psychometric",
            "mary-stats",
            "mary-store",
            "mary-taskfile",
            "mary-train",
            "mary-weights",
        ],
    ),
    ("mary-store", &["mary-contract", "mary-platform"]),
    (
        "mary-study",
        &[
            "mary-contract",
            "mary-generators",
            "mary-lab",
            "mary-platform",
            "mary-serve",
            "mary-stats",
            "mary-store",
        ],
    ),
    ("mary-serve", &["mary-contract", "mary-platform"]),
    (
        "mary-python",
        &[
            "mary",
            "mary-contract",
            "mary-lab",
            "mary-pymodel",
            "mary-report",
            "mary-stats",
            "mary-store",
        ],
    ),
    (
        "mary-report",
        &["mary-contract", "mary-platform", "mary-stats"],
    ),
    (
        "mary-fuzz",
        &[
            "mary-contract",
            "mary-fetch",
            "mary-lab",
            "mary-local",
            "mary-remote",
            "mary-store",
            "mary-study",
            "mary-taskfile",
            "mary-testkit",
            "mary-train",
            "mary-weights",
        ],
    ),
    ("mary-testkit", &["mary-contract"]),
];

#[test]
fn every_room_uses_only_the_rooms_it_may() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED
        .iter()
        .map(|(room, may)| (*room, may.iter().copied().collect()))
        .collect();
    let mut seen = BTreeSet::new();
    for package in &metadata.packages {
        let room = package.name.as_str();
        if room == "mary" {
            continue; // the binary knows everything
        }
        let may = allowed.get(room).unwrap_or_else(|| {
            panic!("{room} is not in the picture; add it to ALLOWED and the docs")
        });
        seen.insert(room.to_owned());
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            if !name.starts_with("mary") {
                continue;
            }
            if dependency.kind == DependencyKind::Development {
                // Tests may use the testkit, and pure crates whose results they check. Studies are tried
                // in the report that shows their results.
                let real = [
                    // What was grown with eyes is opened by the reader and shown a picture.
                    ("mary-train", "mary-local"),
                    // Spending and judges are tried with a server that answers over HTTP.
                    ("mary-lab", "mary-remote"),
                    ("mary-study", "mary-report"),
                    // A whole program, from a model to a page, is an example of the laboratory.
                    ("mary-lab", "mary-report"),
                ];
                // A crate that names itself turns one of its features on for its tests.
                let fine = name == "mary-testkit"
                    || name == room
                    || may.contains(name)
                    || is_pure(name)
                    || real.contains(&(room, name));
                assert!(fine, "the tests of {room} use {name}");
                continue;
            }
            assert!(
                name != "mary-testkit" || room == "mary-fuzz",
                "{room} needs the testkit outside its tests"
            );
            assert!(
                may.contains(name),
                "{room} uses {name}: that arrow is not allowed"
            );
        }
    }
    for (room, _) in ALLOWED {
        assert!(
            seen.contains(*room),
            "{room} is in the picture but not in the workspace"
        );
    }
}

fn is_pure(room: &str) -> bool {
    matches!(room, "mary-stats" | "mary-audit" | "mary-weights")
}

/// The picture of docs/ARCHITECTURE.md: arrows go down, and tasks and models never see each other.
#[test]
fn groups_use_only_the_groups_below_them() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let group = |manifest: &str| {
        let mut parts = manifest.rsplit('/').skip(2);
        parts.next().unwrap_or_default().to_owned()
    };
    let groups: BTreeMap<&str, String> = metadata
        .packages
        .iter()
        .map(|package| (package.name.as_str(), group(package.manifest_path.as_str())))
        .collect();
    let below = |group: &str| -> &[&str] {
        match group {
            "core" => &["core"],
            "tasks" => &["core", "tasks"],
            "models" => &["core", "models"],
            "run" => &["core", "tasks", "models", "run"],
            "interfaces" => &["core", "tasks", "models", "run", "interfaces"],
            "test" => &["core", "tasks", "models", "run", "test"],
            other => panic!("{other} is no group of docs/ARCHITECTURE.md"),
        }
    };
    let mut arrows = 0;
    for package in &metadata.packages {
        let here = &groups[package.name.as_str()];
        for dependency in &package.dependencies {
            let Some(there) = groups.get(dependency.name.as_str()) else {
                continue;
            };
            if dependency.kind == DependencyKind::Normal {
                arrows += 1;
                let (from, to) = (&package.name, &dependency.name);
                assert!(
                    below(here).contains(&there.as_str()),
                    "{from} ({here}) uses {to} ({there})"
                );
            }
        }
    }
    assert!(arrows > 60, "{arrows} arrows");
}

/// A file of tests that `main.rs` does not name would be compiled by nobody and never fail.
#[test]
fn every_file_of_tests_is_part_of_its_crates_one_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    let groups = std::fs::read_dir(crates).unwrap().flatten();
    for member in groups.flat_map(|group| std::fs::read_dir(group.path()).unwrap().flatten()) {
        let tests = member.path().join("tests");
        let Ok(entries) = std::fs::read_dir(&tests) else {
            continue;
        };
        let entries: Vec<_> = entries.flatten().collect();
        // Golden files of unit tests lie there too.
        if !entries
            .iter()
            .any(|e| e.path().extension().is_some_and(|e| e == "rs"))
        {
            continue;
        }
        let main = std::fs::read_to_string(tests.join("main.rs")).unwrap();
        let manifest = std::fs::read_to_string(member.path().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("autotests = false"), "{manifest}");
        for entry in entries {
            let path = entry.path();
            let is_module =
                path.join("mod.rs").exists() || path.extension().is_some_and(|e| e == "rs");
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if is_module && name != "main" {
                assert!(main.contains(&format!("mod {name};")), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen} files of tests");
}

/// Commands share the library and what shows its results; none of them types at another.
#[test]
fn no_command_builds_anothers_arguments() {
    let commands = concat!(env!("CARGO_MANIFEST_DIR"), "/src/commands");
    let mut folders = vec![std::path::PathBuf::from(commands)];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let parses = text.contains("parse_from");
            let words: Vec<&str> = text.split_whitespace().collect();
            // A command's own file declares its arguments, implements them and takes them apart.
            let takes_apart = |at: usize| {
                let inside = words[at..].iter().take_while(|w| !w.starts_with('}'));
                inside.into_iter().any(|w| *w == "..")
            };
            let builds = (0..words.len().saturating_sub(2))
                .filter(|&at| !["struct", "for", "impl"].contains(&words[at]))
                .filter(|&at| words[at + 1].ends_with("Args") && words[at + 2].starts_with('{'))
                .filter(|&at| !takes_apart(at))
                .count();
            assert!(!parses && builds == 0, "{}", path.display());
        }
    }
    assert!(files > 20, "{files}");
}

/// Crates that read foreign sizes keep their overflow checks in release builds.
#[test]
fn sizes_are_checked_in_release_too() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../Cargo.toml"));
    let manifest: toml::Table = text.unwrap().parse().unwrap();
    let packages = manifest["profile"]["release"]["package"]
        .as_table()
        .unwrap();
    for room in [
        "mary-weights",
        "mary-store",
        "mary-remote",
        "mary-fetch",
        "mary-taskfile",
        "mary-lab",
    ] {
        let checks = packages.get(room).and_then(|p| p.get("overflow-checks"));
        let checks = checks.and_then(toml::Value::as_bool);
        assert_eq!(checks, Some(true), "{room}");
    }
}

/// Files that are read without looking at what they are: each is one of the system's or one that this
/// process made itself, under a name that nobody else gives.
const OPENED_DIRECTLY: &[&str] = &[
    "core/mary-platform/src/files.rs",
    "core/mary-platform/src/machine.rs",
    "core/mary-platform/src/replacement.rs",
    "core/mary-platform/src/spill.rs",
    "run/mary-store/src/lease.rs",
    "run/mary-store/src/mounts.rs",
    "run/mary-store/src/sort.rs",
    "models/mary-train/src/golden.rs",
    "models/mary-train/src/golden_lora.rs",
];

/// A FIFO or a device hangs or fills whoever opens it by hand: all else goes through `mary_platform`.
#[test]
fn files_of_others_are_opened_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&crates)
        .unwrap()
        .flat_map(|group| std::fs::read_dir(group.unwrap().path()).unwrap())
        .map(|room| room.unwrap().path().join("src"))
        .filter(|src| src.is_dir())
        .collect();
    let mut searched = 0;
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&crates).unwrap().display().to_string();
            let test = name.ends_with("tests.rs") || name.starts_with("test/");
            if test || !name.ends_with(".rs") || OPENED_DIRECTLY.contains(&name.as_str()) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            searched += 1;
            for by_hand in [
                "File::open(",
                "fs::read(",
                "fs::read_to_string(",
                "Reader::from_path(",
            ] {
                if code.contains(by_hand) {
                    found.push(format!("{name}: {by_hand}…)"));
                }
            }
        }
    }
    assert!(searched > 500, "{searched} files");
    assert!(
        found.is_empty(),
        "use mary_platform::{{open_plain, read_plain}}: {found:#?}"
    );
}

//! All task files of the installed package: how many are read, and why others are not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mary_taskfile::lm_eval::{Config, Merged, Shape, needs_python, reason, templates};

use crate::lm_eval::support::package;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    for path in entries.map(|e| e.unwrap().path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn task_files_without_python_are_read() {
    let Some(package) = package() else {
        return;
    };
    let mut all = Vec::new();
    files(&package, &mut all);
    let (mut read, mut without, mut groups, mut parts) = (0, 0, 0, 0);
    let mut refused: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    for path in &all {
        let merged = match Merged::read(path) {
            Ok(merged) => merged,
            Err(error) => panic!("{error}"),
        };
        match Shape::from_keys(&merged) {
            Shape::Group => {
                groups += 1;
                continue;
            }
            Shape::Part => {
                parts += 1;
                continue;
            }
            Shape::Task | Shape::Class => {}
        }
        let config = Config::from_merged(&merged).and_then(|c| templates(&c).map(|_| c));
        match config {
            Ok(config) => {
                read += 1;
                without += 1;
                for name in config.left_out {
                    *left_out.entry(name).or_default() += 1;
                }
            }
            Err(error) => {
                let python = needs_python(&error);
                without += usize::from(!python);
                *refused.entry((python, reason(&error))).or_default() += 1;
                if !python {
                    println!("{error}");
                }
            }
        }
    }
    println!(
        "{} files: {groups} groups, {parts} parts, {read} tasks read",
        all.len()
    );
    for ((python, why), n) in &refused {
        println!(
            "{n:6} refused: {why}{}",
            if *python { "" } else { " (no Python)" }
        );
    }
    println!("metrics left out: {left_out:?}");
    let share = read as f64 / without as f64;
    println!("{read} of {without} without Python: {:.2} %", 100.0 * share);
    assert!(share >= 0.95, "{read} of {without}");
}

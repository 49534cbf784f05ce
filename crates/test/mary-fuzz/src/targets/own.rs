//! What people hand on to each other: task files with their rows, study folders, forms of judges, and what the shards of a run leave in its folder.

use std::path::Path;

use mary_contract::{NoData, Task, TaskSettings};
use mary_lab::cluster::{Submissions, progress};
use mary_store::{ExportForm, RunFolder, ShardPlace, ShardStatus, export, join_shards};
use mary_study::forms::{self, FormOrigin};
use mary_study::settings::Language;
use mary_study::{Settings, Study};
use mary_taskfile::{Material, OwnTask};
use serde_json::json;

use super::{BLIND, JSON, LINES, Mutation, Result, Target, runs, template_pieces};
use crate::mutate::{self, Dice};

const TASK: &str = include_str!("good/task.toml");
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const FORM: &str = include_str!("good/form.csv");
const STUDY: &str = include_str!("good/study.toml");

pub(super) fn all() -> Result<Vec<Target>> {
    let rows = rows();
    let csv = "id,word,answer\n1,\"hot, or\",cold\n2,big,\"sm\"\"all\"\n3,'=1,x\n".repeat(4);
    let list = format!("[{}]", rows.trim_end().replace('\n', ","));
    let text = "a line\n\nanother line\r\n\u{feff}third\n".repeat(4);
    Ok(vec![
        task("task file", "task.toml")?,
        task("rows of a task", "rows.jsonl")?,
        material("rows jsonl", "x.jsonl", rows.as_bytes(), LINES)?,
        material("rows csv", "x.csv", csv.as_bytes(), BLIND)?,
        material("rows json", "x.json", list.as_bytes(), JSON)?,
        material("rows text", "x.txt", text.as_bytes(), BLIND)?,
        material("rows parquet", "x.parquet", &parquet()?, parquet_damage)?,
        study("study settings", "study.toml")?,
        study("study items", "items.json")?,
        Target::new(
            "judges' form",
            |dice| mutate::blinded(FORM.as_bytes(), dice),
            |bytes| forms::read("form.csv", bytes).is_ok(),
        ),
        shards("shard status", "shards/000-of-002/shard.json")?,
        shards("shard log", "shards/000-of-002/samples.jsonl")?,
        shards("submissions", "submit/submitted.jsonl")?,
    ])
}

fn rows() -> String {
    let row = |n: usize| {
        json!({"id": n, "kind": "x", "word": format!("word {n}"), "answer": n % 2,
            "choices": ["hot", "cold"], "picture": PICTURE})
        .to_string()
            + "\n"
    };
    (0..6).map(row).collect()
}

fn parquet() -> Result<Vec<u8>> {
    let (_kept, path) = runs::run()?;
    let folder = tempfile::tempdir()?;
    let written = export(&RunFolder::open(&path)?, ExportForm::Parquet, folder.path())?;
    let file = written.first().ok_or("nothing was exported")?;
    Ok(std::fs::read(file)?)
}

/// The description of the file stands at its end, its length before the last word.
fn parquet_damage(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let size = bytes.len();
    let near = if dice.roll(2) == 0 { size } else { 900 };
    for _ in 0..=dice.roll(3) {
        let at = size.saturating_sub(1 + dice.roll(near));
        match dice.roll(3) {
            0 => mutate::extreme(&mut bytes, at, dice),
            1 => mutate::any_byte(&mut bytes, at, dice),
            _ => mutate::overwrite(&mut bytes, at, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        }
    }
    bytes
}

/// A setting of one line becomes another: a number, a text, a template, a list.
fn settings(text: &[u8], separator: &str, dice: &mut Dice) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(lines.len());
        let key = lines
            .get(at)
            .and_then(|line| line.split_once(separator))
            .map(|(key, _)| key.to_owned());
        let value = match dice.roll(9) {
            0 => json!(dice.pick(&mutate::EXTREMES).copied().unwrap_or(0)),
            1 => json!(-1),
            2 => json!(1e300),
            3 => json!(dice.pick(&template_pieces())),
            4 => json!(format!("{{{{ word }}}}{}", "(a+)+$".repeat(dice.roll(20)))),
            5 => json!([]),
            6 => json!([1, "{{ word }}", [[2]]]),
            7 => json!(dice.pick(&["/dev/zero", "..", "rows.jsonl"])),
            _ => json!(true),
        };
        match (dice.roll(5), key) {
            (0, _) => drop(lines.get(at).cloned().map(|line| lines.insert(at, line))),
            (1, _) if lines.len() > 1 => drop(lines.remove(at)),
            (_, Some(key)) => {
                if let Some(line) = lines.get_mut(at) {
                    *line = format!("{key}{separator}{value}");
                }
            }
            _ => {}
        }
    }
    let mut bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    if dice.roll(6) == 0 {
        mutate::blind(&mut bytes, dice);
    }
    bytes
}

/// A folder with a task file and its rows, of which one is changed.
fn task(name: &'static str, file: &str) -> Result<Target> {
    let folder = tempfile::tempdir()?;
    for (name, text) in [("task.toml", TASK), ("rows.jsonl", &rows())] {
        std::fs::write(folder.path().join(name), text)?;
    }
    let mutate: Mutation = match name {
        "rows of a task" => LINES,
        _ => |good, dice| settings(good, " = ", dice),
    };
    let changed = folder.path().join(file);
    let read =
        move || OwnTask::read(&folder.path().join("task.toml")).is_ok_and(|task| use_task(&task));
    Target::of_file(name, changed, mutate, read)
}

/// Makes the first items and looks at them as a run would.
fn use_task(task: &dyn Task) -> bool {
    let settings = TaskSettings::default();
    let _ = (task.needs(&settings), task.conventions(&settings));
    let Ok(items) = task.items(&settings, &NoData) else {
        return false;
    };
    items.take(20).all(|item| item.is_ok())
}

fn material(name: &'static str, file: &str, good: &[u8], mutate: Mutation) -> Result<Target> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(file);
    std::fs::write(&file, good)?;
    let path = file.clone();
    Target::of_file(name, file, mutate, move || {
        let _kept = &folder;
        let rows = Material::open(&path).and_then(|material| material.rows());
        rows.is_ok_and(|mut rows| rows.all(|row| row.is_ok()))
    })
}

fn study(name: &'static str, file: &str) -> Result<Target> {
    let folder = tempfile::tempdir()?;
    let (draft, path) = (folder.path().join("draft"), folder.path().join("study"));
    std::fs::create_dir_all(&draft)?;
    std::fs::write(draft.join("study.toml"), STUDY)?;
    let source = FormOrigin {
        run: "run-1".into(),
        path: "runs/run-1".into(),
        task: "htest/rhyme".into(),
    };
    let form = forms::read("form.csv", FORM.as_bytes())?;
    let frozen = forms::frozen(&form, &source, Language::En, None, 3)?;
    Study::create(&path, &Settings::read(&draft)?, &frozen)?;
    let mutate: Mutation = match file {
        "items.json" => JSON,
        _ => |good, dice| settings(good, " = ", dice),
    };
    Target::of_file(name, path.join(file), mutate, move || {
        let _kept = &folder;
        let Ok(study) = Study::open(&path) else {
            return false;
        };
        for place in [0, 1, 3, study.settings.people.saturating_sub(1)] {
            for item in 0..study.questions.len().min(8) {
                let _ = study.order(place, item);
            }
            let _ = study.design().list(place);
        }
        study.keys().is_ok()
    })
}

/// A run that was divided: what its shards say about themselves, their logs, and what was submitted.
fn shards(name: &'static str, file: &str) -> Result<Target> {
    let (folder, path) = runs::run()?;
    for index in 0..2 {
        let place = ShardPlace::new(&path, index, 2);
        std::fs::create_dir_all(&place.path)?;
        for name in ["manifest.json", "samples.jsonl"] {
            std::fs::copy(path.join(name), place.path.join(name))?;
        }
        place.write_status(&ShardStatus {
            index,
            of: 2,
            planned: 6,
            whole: 12,
            already: 0,
            share: 0.5,
            process: mary_store::Holder::this(),
            job: Some("slurm 17_3".into()),
            started: 1,
            ended: Some(2),
            end: None,
        })?;
    }
    let submitted = r#"{"number":1,"engine":"slurm","of":2,"shards":[0,1],"jobs":["17"],"array_limit":1001,"merge":"18","at":0}"#;
    std::fs::create_dir_all(path.join("submit"))?;
    let list = path.join("submit/submitted.jsonl");
    std::fs::write(list, format!("{submitted}\n"))?;
    // The log of the whole, as it is before anything is joined.
    let log = path.join("samples.jsonl");
    let whole = std::fs::read(&log)?;
    let mutate = if name == "shard status" { JSON } else { LINES };
    Target::of_file(name, path.join(file), mutate, move || {
        let _kept = &folder;
        std::fs::write(&log, &whole).is_ok() && use_shards(&path)
    })
}

fn use_shards(path: &Path) -> bool {
    let told = progress::divisions(path).is_ok_and(|all| {
        let shown = all.into_iter().take(4).map(|of| progress::shards(path, of));
        shown.filter(Result::is_ok).count() > 0
    });
    let submitted = Submissions::of(path).is_ok_and(|all| {
        let _ = all.next();
        for submission in &all.all {
            let _ = (submission.task_of(0), submission.task_of(usize::MAX));
        }
        true
    });
    told & submitted & join_shards(path).is_ok()
}

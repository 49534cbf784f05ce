//! What people hand on to each other: task files, ours and lm-evaluation-harness', with their rows, study
//! folders, forms of judges, and what the shards of a run leave in its folder.

use std::path::{Path, PathBuf};

use mary_contract::{NoData, Task, TaskSettings};
use mary_lab::cluster::{Submissions, progress};
use mary_store::{ExportForm, RunFolder, ShardPlace, ShardStatus, export, join_shards};
use mary_study::forms::{self, Source};
use mary_study::settings::Language;
use mary_study::{Settings, Study};
use mary_taskfile::lm_eval::{HarnessTask, Places};
use mary_taskfile::{Material, OwnTask};
use tempfile::TempDir;

use super::{TEMPLATE_PIECES, Target, Trouble, runs};
use crate::mutate::{self, Dice};

const TASK: &str = r#"title = "Opposites"
about = "Which word is the opposite."
[data]
path = "rows.jsonl"
id = "id"
strata = "kind"
tags = "kind"
[request]
kind = "generate"
prompt = "{{ word }}{% for c in choices %} {{ loop.index }}) {{ c }}{% endfor %}"
system = "Answer with a number."
pictures = ["{{ picture }}"]
choices = ["{{ choices[0] }}", "{{ choices[1] }}"]
max_tokens = 8
temperature = 0.0
[judge]
kind = "choice"
answer = "{{ answer }}"
[shots]
count = 1
"#;

const YAML: &str = r#"task: opposites
include: base.yaml
output_type: multiple_choice
doc_to_text: "Q: {{word}}{% for c in choices %} {{ c | trim }}{% endfor %}\nA:"
doc_to_target: "{{ answer }}"
doc_to_choice: "{{ choices }}"
target_delimiter: " "
num_fewshot: 1
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
filter_list:
  - name: strict
    filter:
      - function: regex
        regex_pattern: "([A-Z])"
metadata: &m
  version: 1.0
"#;

const BASE: &str = "dataset_path: json\ndataset_kwargs:\n  data_files:\n    test: rows.jsonl\n\
                    test_split: test\nvalidation_split: test\n";

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const FORM: &str = "model,item,trial,shown,\"0 = wrong, 1 = right\",remark\nm,a,0,a text,1,\n\
                    m,b,0,another,0,x\nn,a,1,'=1+1,,\nn,b,0,ein Satz,1,\nm,c,0,more,0,\nn,c,0,less,1,\n";

const STUDY: &str = r#"name = "trial-study"
title = "A study of words"
language = "en"
people = 4
per_person = 2
lists = "latin"
seed = 3
minutes = 30
instructions = "Answer as well as you can."
[consent]
version = 1
text = "You agree to be asked."
[[check]]
kind = "attention"
question = "Choose the second."
options = ["first", "second"]
answer = 2
after = 1
"#;

/// The readers of this kind.
pub(super) fn all() -> Result<Vec<Box<dyn Target>>, Trouble> {
    let rows = rows();
    let parquet = parquet()?;
    let csv = "id,word,answer\n1,\"hot, or\",cold\n2,big,\"sm\"\"all\"\n3,'=1,x\n".repeat(4);
    let list = format!("[{}]", rows.trim_end().replace('\n', ","));
    let text = "a line\n\nanother line\r\n\u{feff}third\n".repeat(4);
    Ok(vec![
        Box::new(Own::new("task file", "task.toml", TASK)?),
        Box::new(Own::new("rows of a task", "rows.jsonl", &rows)?),
        Box::new(Own::new("lm-eval yaml", "task.yaml", YAML)?),
        Box::new(Own::new("lm-eval include", "base.yaml", BASE)?),
        Box::new(Rows::new("rows jsonl", "x.jsonl", rows.into_bytes())?),
        Box::new(Rows::new("rows csv", "x.csv", csv.into_bytes())?),
        Box::new(Rows::new("rows json", "x.json", list.into_bytes())?),
        Box::new(Rows::new("rows text", "x.txt", text.into_bytes())?),
        Box::new(Rows::new("rows parquet", "x.parquet", parquet)?),
        Box::new(People::new("study settings", "study.toml")?),
        Box::new(People::new("study items", "items.json")?),
        Box::new(Judges),
        Box::new(Shards::new("shard status", "shards/000-of-002/shard.json")?),
        Box::new(Shards::new("shard log", "shards/000-of-002/samples.jsonl")?),
        Box::new(Shards::new("submissions", "submit/submitted.jsonl")?),
    ])
}

fn rows() -> String {
    let row = |n: usize| {
        serde_json::json!({"id": n, "kind": "x", "word": format!("word {n}"), "answer": n % 2,
            "choices": ["hot", "cold"], "picture": PICTURE})
        .to_string()
            + "\n"
    };
    (0..6).map(row).collect()
}

fn parquet() -> Result<Vec<u8>, Trouble> {
    let (_kept, path) = runs::run()?;
    let folder = tempfile::tempdir()?;
    let written = export(&RunFolder::open(&path)?, ExportForm::Parquet, folder.path())?;
    Ok(std::fs::read(
        written.first().ok_or("nothing was exported")?,
    )?)
}

/// A setting of one line becomes another: a number, a text, a template, a list.
fn settings(text: &str, separator: &str, dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(lines.len());
        let key = lines
            .get(at)
            .and_then(|line| line.split_once(separator))
            .map(|(key, _)| key.to_owned());
        let value = match dice.roll(9) {
            0 => dice
                .pick(&mutate::EXTREMES)
                .copied()
                .unwrap_or(0)
                .to_string(),
            1 => "-1".to_owned(),
            2 => "1e300".to_owned(),
            3 => serde_json::json!(dice.pick(&TEMPLATE_PIECES)).to_string(),
            4 => serde_json::json!(format!("{{{{ word }}}}{}", "(a+)+$".repeat(dice.roll(20))))
                .to_string(),
            5 => "[]".to_owned(),
            6 => "[1, \"{{ word }}\", [[2]]]".to_owned(),
            7 => serde_json::json!(dice.pick(&[
                "/dev/zero",
                "..",
                "rows.jsonl",
                "task.yaml",
                "base.yaml"
            ]))
            .to_string(),
            _ => "true".to_owned(),
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

/// A folder with a task file of ours and one of lm-evaluation-harness, of which one file is changed.
struct Own {
    name: &'static str,
    good: String,
    file: PathBuf,
    folder: TempDir,
}

impl Own {
    fn new(name: &'static str, file: &str, good: &str) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        for (name, text) in [
            ("task.toml", TASK),
            ("task.yaml", YAML),
            ("base.yaml", BASE),
            ("rows.jsonl", &rows()),
        ] {
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(Self {
            name,
            good: good.to_owned(),
            file: folder.path().join(file),
            folder,
        })
    }
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

impl Target for Own {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        match self.file.extension().and_then(|e| e.to_str()) {
            Some("toml") => settings(&self.good, " = ", dice),
            Some("yaml") => settings(&self.good, ": ", dice),
            _ => mutate::json_lines(self.good.as_bytes(), dice),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        if std::fs::write(&self.file, bytes).is_err() {
            return false;
        }
        let folder = self.folder.path();
        let ours = || OwnTask::read(&folder.join("task.toml")).is_ok_and(|task| use_task(&task));
        let theirs = || {
            let Ok(read) = mary_taskfile::lm_eval::read(&folder.join("task.yaml")) else {
                return false;
            };
            let places = Places(vec![folder.to_owned()]);
            read.into_iter()
                .flatten()
                .all(|config| HarnessTask::new(config, &places).is_ok_and(|task| use_task(&task)))
        };
        match self.name {
            "task file" => ours(),
            "rows of a task" => ours() & theirs(),
            _ => theirs(),
        }
    }
}

/// Rows of a user's file in each of the formats.
struct Rows {
    name: &'static str,
    good: Vec<u8>,
    file: PathBuf,
    _folder: TempDir,
}

impl Rows {
    fn new(name: &'static str, file: &str, good: Vec<u8>) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        Ok(Self {
            name,
            good,
            file: folder.path().join(file),
            _folder: folder,
        })
    }
}

impl Target for Rows {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        match self.name {
            "rows jsonl" => mutate::json_lines(&self.good, dice),
            "rows json" => mutate::json_text(&self.good, dice),
            "rows parquet" => {
                // The description of the file stands at its end, its length before the last word.
                let mut bytes = self.good.clone();
                let size = bytes.len();
                let near = if dice.roll(2) == 0 { size } else { 900 };
                for _ in 0..=dice.roll(3) {
                    let at = size.saturating_sub(1 + dice.roll(near));
                    match dice.roll(3) {
                        0 => mutate::extreme(&mut bytes, at, dice),
                        1 => mutate::overwrite(
                            &mut bytes,
                            at,
                            &[u8::try_from(dice.roll(256)).unwrap_or(0)],
                        ),
                        _ => mutate::overwrite(&mut bytes, at, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
                    }
                }
                bytes
            }
            _ => {
                let mut bytes = self.good.clone();
                mutate::blind(&mut bytes, dice);
                bytes
            }
        }
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok()
            && Material::open(&self.file)
                .and_then(|material| material.rows())
                .is_ok_and(|mut rows| rows.all(|row| row.is_ok()))
    }
}

/// A study that came from elsewhere.
struct People {
    name: &'static str,
    good: Vec<u8>,
    file: PathBuf,
    path: PathBuf,
    _folder: TempDir,
}

impl People {
    fn new(name: &'static str, file: &str) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        let (draft, path) = (folder.path().join("draft"), folder.path().join("study"));
        std::fs::create_dir_all(&draft)?;
        std::fs::write(draft.join("study.toml"), STUDY)?;
        let source = Source {
            run: "run-1".into(),
            path: "runs/run-1".into(),
            task: "htest/rhyme".into(),
        };
        let form = forms::read("form.csv", FORM.as_bytes())?;
        let frozen = forms::frozen(&form, &source, Language::En, None, 3)?;
        Study::create(&path, &Settings::read(&draft)?, &frozen)?;
        Ok(Self {
            name,
            good: std::fs::read(path.join(file))?,
            file: path.join(file),
            path,
            _folder: folder,
        })
    }
}

impl Target for People {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        if self.name == "study items" {
            return mutate::json_text(&self.good, dice);
        }
        settings(&String::from_utf8_lossy(&self.good), " = ", dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        if std::fs::write(&self.file, bytes).is_err() {
            return false;
        }
        let Ok(study) = Study::open(&self.path) else {
            return false;
        };
        for place in [0, 1, 3, study.settings.people.saturating_sub(1)] {
            for item in 0..study.questions.len().min(8) {
                let _ = study.order(place, item);
            }
            let _ = study.design().list(place);
        }
        study.keys().is_ok()
    }
}

/// A form that a judge has filled in.
struct Judges;

impl Target for Judges {
    fn name(&self) -> &'static str {
        "judges' form"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = FORM.as_bytes().to_vec();
        mutate::blind(&mut bytes, dice);
        bytes
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        forms::read("form.csv", bytes).is_ok()
    }
}

/// A run that was divided: what its shards say about themselves, their logs, and what was submitted.
struct Shards {
    name: &'static str,
    good: Vec<u8>,
    file: PathBuf,
    path: PathBuf,
    /// The log of the whole, as it is before anything is joined.
    whole: Vec<u8>,
    _folder: TempDir,
}

impl Shards {
    fn new(name: &'static str, file: &str) -> Result<Self, Trouble> {
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
        std::fs::write(
            path.join("submit/submitted.jsonl"),
            format!("{submitted}\n"),
        )?;
        Ok(Self {
            name,
            good: std::fs::read(path.join(file))?,
            file: path.join(file),
            whole: std::fs::read(path.join("samples.jsonl"))?,
            path,
            _folder: folder,
        })
    }
}

/// Everything that looks at the shards of a folder.
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

impl Target for Shards {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        if self.name == "shard status" {
            return mutate::json_text(&self.good, dice);
        }
        mutate::json_lines(&self.good, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        let log = self.path.join("samples.jsonl");
        std::fs::write(&log, &self.whole).is_ok()
            && std::fs::write(&self.file, bytes).is_ok()
            && use_shards(&self.path)
    }
}

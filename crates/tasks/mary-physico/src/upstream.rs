//! Grids made by others: the authors' two published forms, ConceptARC with its folders as labels, and
//! ARC with labels of the user's own.
//!
//! The release on the Hugging Face hub has `image, label, choices, input_1, output_1 … input_3,
//! output_3`, exported as JSON lines or as one JSON list; the older supplement has one
//! `meta_dataN.json` per instance, `{"question": [six matrices], "gt", "choices"}`. The release swapped
//! the paper's core-dev and core-test: instances are put into the split of their concept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mary_contract::{DataError, DataSource, TaskError};
use mary_generators::{shuffle, stream};
use serde::Deserialize;
use serde_json::Value;

use crate::grid::{Grid, Pair};
use crate::instances::{Instance, Level, Split};

pub const DATASET: &str = "physico";
/// Moskvichev, Odouard & Mitchell 2023.
pub const CONCEPT_ARC: &str = "concept-arc";
/// Chollet 2019.
pub const ARC: &str = "arc";

/// Pairs of an instance, as in the paper.
const PAIRS: usize = 3;

#[derive(Deserialize)]
struct HubRecord {
    label: Value,
    choices: Vec<String>,
    input_1: Grid,
    output_1: Grid,
    input_2: Grid,
    output_2: Grid,
    input_3: Grid,
    output_3: Grid,
}

#[derive(Deserialize)]
struct Supplement {
    question: Vec<Grid>,
    gt: String,
    choices: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ArcTask {
    pub train: Vec<Pair>,
    pub test: Vec<Pair>,
}

fn damaged(path: &Path, message: impl Into<String>) -> TaskError {
    DataError::damaged(path, message).into()
}

fn text_of(path: &Path) -> Result<String, TaskError> {
    mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA)
        .map_err(|e| damaged(path, e.to_string()))
}

fn stem(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Files of a folder with these endings, in order, numbers in their names by value.
fn files(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, TaskError> {
    let entries = std::fs::read_dir(folder).map_err(|e| damaged(folder, e.to_string()))?;
    let ends = |p: &PathBuf| Some(endings.contains(&p.extension()?.to_str()?));
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    let mut found: Vec<PathBuf> = paths.filter(|p| ends(p) == Some(true)).collect();
    found.sort_by_key(|p| {
        let name = stem(p);
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        (digits.parse::<u64>().unwrap_or(u64::MAX), name)
    });
    Ok(found)
}

/// The place of the right choice: a label is written out or given as an index; `None` where the
/// release withholds it.
fn correct(label: &Value, choices: &[String]) -> Result<Option<usize>, String> {
    match label {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => {
            let at = choices.iter().position(|c| c.eq_ignore_ascii_case(text));
            let fault = || format!("expected the label `{text}` among the choices {choices:?}");
            at.map(Some).ok_or_else(fault)
        }
        Value::Number(n) => match (n.as_i64(), choices.len()) {
            (Some(i), _) if i < 0 => Ok(None),
            (Some(i), all) if (i as usize) < all => Ok(Some(i as usize)),
            (_, all) => Err(format!("expected an index below {all}, found {n}")),
        },
        other => Err(format!("expected a label or its index, found {other}")),
    }
}

/// One instance of the hub's form; `None` where its label is withheld.
fn hub_instance(text: &str, id: String) -> Result<Option<Instance>, String> {
    let record: HubRecord = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let choices = record.choices.len();
    if choices != 4 {
        return Err(format!("expected four choices, found {choices}"));
    }
    let inputs = [record.input_1, record.input_2, record.input_3];
    let outputs = [record.output_1, record.output_2, record.output_3];
    let both = inputs.into_iter().zip(outputs);
    let pairs = both.map(|(input, output)| Pair { input, output });
    let Some(correct) = correct(&record.label, &record.choices)? else {
        return Ok(None);
    };
    Ok(Some(loaded(id, pairs.collect(), record.choices, correct)))
}

fn loaded(id: String, pairs: Vec<Pair>, options: Vec<String>, correct: usize) -> Instance {
    let concept = options.get(correct).cloned().unwrap_or_default();
    Instance {
        id,
        split: Split::of_core(&concept).unwrap_or(Split::Associative),
        concept,
        aspect: None,
        pairs,
        options,
        correct,
        block: None,
        turn: 0,
    }
}

/// The authors' instances: every hub export whose name says `core` or `associative`, and the files of
/// the supplement (core only).
pub fn published(data: &dyn DataSource, level: Level) -> Result<Vec<Instance>, TaskError> {
    let folder = data.folder(DATASET)?;
    let mut found = Vec::new();
    let mut withheld = 0;
    for path in files(&folder, &["jsonl", "json"])? {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        let wanted = match level {
            Level::Core => name.contains("core") && !name.contains("count"),
            Level::Associative => name.contains("assoc") && !name.contains("count"),
        };
        if wanted && !name.starts_with("decoded") {
            withheld += hub_file(&path, level, &mut found)?;
        } else if level == Level::Core && name.starts_with("meta_data") {
            found.push(supplement_file(&path)?);
        }
    }
    if found.is_empty() {
        let message = if withheld > 0 {
            format!(
                "all {withheld} instances have their labels withheld; a local run needs a split with labels"
            )
        } else {
            "expected a hub export (core*.jsonl, associative*.jsonl) or meta_dataN.json, found neither".into()
        };
        return Err(damaged(&folder, message));
    }
    Ok(found)
}

/// Reads an export of the hub's form, one record a line or one list; gives how many are withheld.
fn hub_file(path: &Path, level: Level, found: &mut Vec<Instance>) -> Result<usize, TaskError> {
    let text = text_of(path)?;
    let stem = stem(path);
    let records: Vec<String> = if text.trim_start().starts_with('[') {
        let list: Result<Vec<Value>, _> = serde_json::from_str(&text);
        list.map_err(|e| damaged(path, e.to_string()))?
            .iter()
            .map(Value::to_string)
            .collect()
    } else {
        text.lines().map(str::to_owned).collect()
    };
    let mut withheld = 0;
    let records = records.into_iter().enumerate();
    for (index, record) in records.filter(|(_, record)| !record.trim().is_empty()) {
        let id = format!("{stem}-{:03}", index + 1);
        let read = hub_instance(&record, id);
        match read.map_err(|message| TaskError::record(path, index + 1, message))? {
            Some(mut instance) => {
                if level == Level::Associative {
                    instance.split = Split::Associative;
                }
                found.push(instance);
            }
            None => withheld += 1,
        }
    }
    Ok(withheld)
}

fn supplement_file(path: &Path) -> Result<Instance, TaskError> {
    let text = text_of(path)?;
    let file: Supplement = serde_json::from_str(&text).map_err(|e| damaged(path, e.to_string()))?;
    let (pairs, rest) = file.question.as_chunks::<2>();
    if pairs.len() < PAIRS || !rest.is_empty() || file.choices.len() != 4 {
        let message = format!(
            "expected three pairs of matrices and four choices, found {} matrices and {} choices",
            file.question.len(),
            file.choices.len()
        );
        return Err(damaged(path, message));
    }
    let label = Value::String(file.gt);
    let correct = correct(&label, &file.choices)
        .map_err(|e| damaged(path, e))?
        .ok_or_else(|| damaged(path, "expected a label in `gt`, found none"))?;
    let pairs = pairs.iter().cloned();
    let pairs = pairs.map(|[input, output]| Pair { input, output });
    Ok(loaded(stem(path), pairs.collect(), file.choices, correct))
}

pub fn arc_task(path: &Path) -> Result<ArcTask, TaskError> {
    let text = text_of(path)?;
    serde_json::from_str(&text).map_err(|e| damaged(path, e.to_string()))
}

/// A label as people read it: `CleanUp` is `clean up`.
fn spoken(label: &str) -> String {
    let mut out = String::new();
    let mut before: Option<char> = None;
    for c in label.chars() {
        let new_word = before.is_some_and(|b| {
            (c.is_uppercase() && b.is_lowercase()) || (c.is_ascii_digit() && !b.is_ascii_digit())
        });
        if new_word {
            out.push(' ');
        }
        if c.is_ascii_digit() || before.is_some_and(|b| b.is_ascii_digit()) {
            out.push(c)
        } else {
            out.extend(c.to_lowercase())
        }
        before = Some(c);
    }
    out
}

/// Labelled tasks become instances; the three wrong labels are drawn from the other labels.
fn with_options(
    tasks: Vec<(String, String, ArcTask)>,
    seed: u64,
    name: &str,
) -> Result<Vec<Instance>, TaskError> {
    let mut labels: Vec<String> = tasks.iter().map(|(_, label, _)| label.clone()).collect();
    labels.sort();
    labels.dedup();
    if labels.len() < 4 {
        return Err(TaskError::Setting(format!(
            "physico: four different labels are needed for four options, found {}",
            labels.len()
        )));
    }
    let mut found = Vec::new();
    for (id, label, task) in tasks {
        let train = task.train.into_iter();
        let pairs: Vec<Pair> = train.chain(task.test).take(PAIRS).collect();
        if pairs.len() < PAIRS {
            continue;
        }
        let mut rng = stream(seed, &format!("physico/{name}/{id}"));
        let mut options: Vec<String> = labels.iter().filter(|l| **l != label).cloned().collect();
        shuffle(&mut rng, &mut options);
        options.truncate(3);
        options.push(label.clone());
        shuffle(&mut rng, &mut options);
        let correct = options.iter().position(|o| *o == label).unwrap_or(0);
        found.push(Instance {
            split: Split::Associative,
            ..loaded(id, pairs, options, correct)
        });
    }
    Ok(found)
}

/// ConceptARC: every folder is a concept.
pub fn concept_arc(data: &dyn DataSource, seed: u64) -> Result<Vec<Instance>, TaskError> {
    let corpus = data.folder(CONCEPT_ARC)?.join("corpus");
    let entries = std::fs::read_dir(&corpus).map_err(|e| damaged(&corpus, e.to_string()))?;
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    let mut folders: Vec<PathBuf> = paths.filter(|p| p.is_dir()).collect();
    folders.sort();
    let mut tasks = Vec::new();
    for folder in folders {
        let label = spoken(&folder.file_name().unwrap_or_default().to_string_lossy());
        for path in files(&folder, &["json"])? {
            tasks.push((stem(&path), label.clone(), arc_task(&path)?));
        }
    }
    with_options(tasks, seed, CONCEPT_ARC)
}

/// ARC with the user's labels: lines `task,concept`, a head line and empty lines allowed.
pub fn arc(data: &dyn DataSource, labels: &str, seed: u64) -> Result<Vec<Instance>, TaskError> {
    let folder = data.folder(ARC)?;
    let file = Path::new(labels);
    let text = text_of(file)?;
    let mut wanted = BTreeMap::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || (index == 0 && line.eq_ignore_ascii_case("task,concept")) {
            continue;
        }
        let expected = || format!("expected `task,concept`, found `{line}`");
        let fault = || TaskError::record(labels, index + 1, expected());
        let (task, concept) = line.split_once(',').ok_or_else(fault)?;
        let task = task.trim().trim_end_matches(".json").to_owned();
        let concept = concept.trim().trim_matches('"').to_owned();
        wanted.insert(task, (index + 1, concept));
    }
    let mut tasks = Vec::new();
    for (task, (line, concept)) in wanted {
        let places = ["data/training", "data/evaluation", "."];
        let mut paths = places
            .map(|p| folder.join(p).join(format!("{task}.json")))
            .into_iter();
        let missing = || format!("no ARC task `{task}` in {}", folder.display());
        let fault = || TaskError::record(labels, line, missing());
        let path = paths.find(|p| p.is_file()).ok_or_else(fault)?;
        tasks.push((task, concept, arc_task(&path)?));
    }
    with_options(tasks, seed, ARC)
}

/// All tasks of ARC by name, its training half first, for tuning.
pub fn arc_tasks(data: &dyn DataSource) -> Result<Vec<(String, ArcTask)>, TaskError> {
    let folder = data.folder(ARC)?;
    let mut paths = files(&folder.join("data/training"), &["json"])?;
    paths.extend(files(&folder.join("data/evaluation"), &["json"])?);
    let named = |path: PathBuf| Ok((stem(&path), arc_task(&path)?));
    paths.into_iter().map(named).collect()
}

#[cfg(test)]
#[path = "upstream_tests.rs"]
mod tests;

//! A laboratory with real models, and a file scored in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::{ModelRef, Provider, Registry, Task};
use mary_lab::builtin::Builtin;
use mary_lab::texts::score::{By, ScoreOptions, ScoreTask, Tables, tables};
use mary_lab::texts::table::Cell;
use mary_lab::{Laboratory, Run, RunError, RunSpec, Silent, TaskChoice};

pub fn lab(runs: &Path, task: Arc<dyn Task>) -> Laboratory {
    let mut registry = Registry::new();
    registry.add_task(task).unwrap();
    let local: Vec<Box<dyn Provider>> = vec![
        Box::new(Builtin),
        Box::new(mary_local::provider::HF),
        Box::new(mary_local::provider::GGUF),
    ];
    Laboratory::new(runs)
        .tasks(registry)
        .providers(local)
        .answers(runs.join("answers.sqlite"))
}

pub fn spec(models: &[&str], task: &str) -> RunSpec {
    let mut spec = RunSpec::new(
        models[0].parse().unwrap(),
        [TaskChoice::new(task.to_owned())],
    );
    spec.subjects = models
        .iter()
        .map(|m| m.parse::<ModelRef>().unwrap())
        .collect();
    spec
}

/// Rows by the names of their columns.
pub type Rows = Vec<BTreeMap<String, Cell>>;

/// A file that was scored.
pub struct Scored {
    pub rows: BTreeMap<By, Rows>,
    pub done: Tables,
}

pub fn score(file: &Path, options: ScoreOptions, models: &[&str]) -> Result<Scored, RunError> {
    score_with(file, options, models, &[])
}

/// As [`score`], with settings of the models' backend.
pub fn score_with(
    file: &Path,
    options: ScoreOptions,
    models: &[&str],
    args: &[(&str, &str)],
) -> Result<Scored, RunError> {
    let runs = tempfile::tempdir().unwrap();
    let task = Arc::new(ScoreTask::open(file, options).unwrap());
    let lab = lab(runs.path(), task.clone());
    let mut spec = spec(models, &task.card().id);
    let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    spec.opening.args = args.collect();
    let mut run: Run<'_> = lab.prepare(&spec)?.open()?;
    run.go(&mut Silent, &AtomicBool::new(false))?;
    let wanted = By::of(task.options());
    let mut rows: BTreeMap<By, Rows> = wanted.iter().map(|by| (*by, vec![])).collect();
    let done = tables(&task, run.folder(), &wanted, &mut |by, cells| {
        let head = by.head(task.options());
        assert_eq!(head.len(), cells.len(), "{by:?}");
        let named = head.into_iter().map(|(name, _)| name).zip(cells);
        rows.get_mut(&by).unwrap().push(named.collect());
        Ok(())
    })
    .unwrap();
    Ok(Scored { rows, done })
}

pub fn number(cell: &Cell) -> f64 {
    cell.as_f64()
        .unwrap_or_else(|| panic!("no number: {cell:?}"))
}

pub fn words(cell: &Cell) -> &str {
    cell.as_str().unwrap_or_else(|| panic!("no text: {cell:?}"))
}

/// Writes a file beside which nothing else lies.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

//! How a model grew: figures and windows of its checkpoints on two quick tasks, for the first run and
//! for `mary grow --probe`.

use std::path::{Path, PathBuf};

use mary_checkpoints::{Sweep, members};
use mary_contract::{Exhibits, Limit, RunSummary};
use mary_run::{Laboratory, RunSpec, Silent, load_summary};
use mary_store::RunFolder;
use mary_suites::psychometric::windows;

use crate::suite::Wishes;
use crate::{interrupt, specification};

/// The two quick tasks.
const TASKS: [&str; 2] = ["psychometric/grammar-small", "psychometric/numbers"];
/// Items of each.
const ITEMS: usize = 60;

/// How a model grew so far.
pub struct Development {
    /// What is to be seen.
    pub exhibits: Exhibits,
    /// The run of every checkpoint, earliest first.
    pub runs: Vec<(PathBuf, RunSummary)>,
}

/// Asks the checkpoints of a model that were not asked before, without a word, and adds up all.
pub fn development(
    lab: &Laboratory,
    root: &Path,
    model: &str,
    tokens_per_step: Option<u64>,
) -> anyhow::Result<Development> {
    let tasks = specification::choose(
        lab.registry(),
        &TASKS.map(str::to_owned),
        &Wishes::default(),
        Some(Limit::Count(ITEMS)),
    )?;
    let mut spec = RunSpec::new(specification::DEFAULT_MODEL.parse()?, tasks);
    spec.execution.device = Some("cpu".to_owned());
    let sweep = Sweep {
        lab,
        spec,
        members: members(&[model.to_owned()], &["all".to_owned()], tokens_per_step)?,
        disk_limit: 0,
    };
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut state = sweep.open_state(root, &command)?;
    let stop = interrupt::flag()?;
    sweep.go(&mut state, &mut Silent, &stop)?;
    let mut runs = Vec::new();
    for record in state.records(&sweep.members) {
        if let Some(folder) = record.run() {
            let path = state.runs().join(folder);
            let summary = load_summary(lab.registry(), &RunFolder::open(&path)?)?;
            runs.push((path, summary));
        }
    }
    let summaries: Vec<RunSummary> = runs.iter().map(|(_, s)| s.clone()).collect();
    Ok(Development {
        exhibits: windows::exhibits(&summaries),
        runs,
    })
}

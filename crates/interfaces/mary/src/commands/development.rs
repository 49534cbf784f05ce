//! How a model grew: its checkpoints on the quick tasks of the families that follow development.

use std::path::{Path, PathBuf};

use mary_contract::{Exhibits, Limit, Registry, RunSummary};
use mary_lab::checkpoints::{Sweep, members};
use mary_lab::{Laboratory, RunSpec, Silent, TaskOptions, load_summary};
use mary_store::RunFolder;

use crate::interrupt;

const ITEMS: usize = 60;

pub struct Development {
    pub exhibits: Exhibits,
    /// The run of every checkpoint, earliest first.
    pub runs: Vec<(PathBuf, RunSummary)>,
}

pub fn exhibits(registry: &Registry, runs: &[RunSummary]) -> Exhibits {
    let mut all = Exhibits::default();
    for family in registry.families() {
        if let Some(development) = family.development() {
            let shown = development.exhibits(runs);
            all.append(shown);
        }
    }
    all
}

/// Asks the checkpoints of a model that were not asked before, without a word, and adds up all; the
/// quick tasks of one family, or of all that have some.
pub fn development(
    lab: &Laboratory,
    family: Option<&str>,
    root: &Path,
    model: &str,
    tokens_per_step: Option<u64>,
) -> anyhow::Result<Development> {
    let families = lab.registry().families().iter();
    let probes: Vec<String> = families
        .filter(|f| family.is_none_or(|wanted| f.id() == wanted))
        .filter_map(|f| f.development())
        .flat_map(|development| development.probes())
        .map(String::from)
        .collect();
    let limit = Some(Limit::Count(ITEMS));
    let tasks = TaskOptions::default().choose(lab.registry(), &probes, limit)?;
    let mut spec = RunSpec::new(mary_lab::DEFAULT_MODEL.parse()?, tasks);
    spec.execution.device = Some("cpu".to_owned());
    let sweep = Sweep {
        lab,
        spec,
        members: members(
            &[model.to_owned()],
            &["all".to_owned()],
            tokens_per_step,
            None,
        )?,
        disk_limit: 0,
        shard: None,
    };
    let mut state = sweep.open_state(root, &crate::words::words())?;
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
        exhibits: exhibits(lab.registry(), &summaries),
        runs,
    })
}

//! Tuned models beside the one they were made from: the tests of both, item by item.

use std::path::{Path, PathBuf};

use mary_contract::{JudgeChoice, ModelRef};
use mary_report::compare::{Side, comparison, table};
use mary_report::terminal;
use mary_run::{Execution, Opening, RunSpec};
use mary_store::RunFolder;

use super::{carry_out, report, summary};
use crate::cli::run::TestingArgs;
use crate::laboratory::laboratory;
use crate::settings::Place;
use crate::specification;
use crate::suite::TaskOptions;

/// What models are tested on.
pub struct Tests<'a> {
    /// Tasks, as `mary run` names them.
    pub tasks: &'a [String],
    /// Limit, shots and settings.
    pub testing: &'a TestingArgs,
    /// Seed of the items.
    pub seed: u64,
    /// Where the models run.
    pub device: &'a str,
}

impl Tests<'_> {
    /// Asks all tasks of all models, given as folders, in one ordinary run, and returns its folder.
    /// What was answered before is not asked again.
    pub fn run(&self, place: &Place, models: &[&Path]) -> anyhow::Result<PathBuf> {
        let task_options = TaskOptions {
            seed: self.seed,
            shots: self.testing.shots,
            chat: false,
            set: TaskOptions::pairs(&self.testing.set)?,
        };
        let mut subjects = Vec::new();
        for model in models {
            subjects.push(name(model).parse::<ModelRef>()?);
        }
        let limit = self.testing.limit;
        let mut tasks = specification::choose(&place.registry, self.tasks, &task_options, limit)?;
        specification::fit_to_models(&place.registry, &mut tasks, false);
        let spec = RunSpec {
            subjects,
            judge: JudgeChoice::None,
            tasks,
            trials: 1,
            seed: self.seed,
            opening: Opening::default(),
            execution: Execution {
                device: Some(self.device.to_owned()),
                ..Execution::default()
            },
        };
        let lab = laboratory(place);
        let mut run = lab.prepare(&spec)?.open()?;
        carry_out::go(&mut run, false)?;
        Ok(run.path().to_owned())
    }
}

/// A folder or file as `mary run` names it.
pub fn name(model: &Path) -> String {
    let provider = if model.is_file() { "gguf" } else { "hf" };
    format!("{provider}/{}", model.display())
}

/// Prints paired differences between each tuned model of a run and the first, untuned one: after minus
/// before, on the tasks `wanted` of each (by model and task); only these count for the correction.
pub fn show_differences(folder: &Path, wanted: impl Fn(&str, &str) -> bool) -> anyhow::Result<()> {
    let folder = RunFolder::open(folder)?;
    let mut sides: Vec<Side> = Vec::new();
    for card in &folder.manifest().models {
        sides.push(Side::new(card.model.to_string()));
    }
    for sample in folder.samples()? {
        let sample = sample?;
        let place = sides.iter().position(|s| s.label == sample.id.model);
        if let Some(place) = place
            && (place == 0 || wanted(&sample.id.model, &sample.id.task))
        {
            sides[place].add(&sample);
        }
    }
    // The untuned model last: a difference is what the earlier side has more. Tuned models share no
    // wanted task, or there is one of them.
    sides.rotate_left(1);
    let mut compared = comparison(&sides, true, folder.manifest().seed)?;
    // All models were asked the same items in one run: what a side lacks was left out above.
    compared.warnings.clear();
    super::print(&terminal::plain(&table(&compared), summary::style()))?;
    Ok(())
}

/// Prints the tables that families have for a model beside the one it was made from.
pub fn show_tables(
    place: &Place,
    folder: &Path,
    (tuned, base): (&Path, &Path),
) -> anyhow::Result<()> {
    let summary = report::load_summary(&place.registry, &RunFolder::open(folder)?)?;
    let pairs = [(name(tuned), name(base))];
    for family in place.registry.families() {
        for table in family.pair_tables(std::slice::from_ref(&summary), &pairs) {
            super::print(&format!("{}\n", table.title))?;
            super::print(&terminal::plain(&table, summary::style()))?;
        }
    }
    Ok(())
}

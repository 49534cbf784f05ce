//! Tuned models beside the one they were made from: the tests of both, item by item.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::{Exhibits, ModelRef, Table};
use mary_lab::{Execution, Opening, RunSpec, TaskOptions};
use mary_report::compare::{Side, comparison, table};
use mary_report::html::ReportOptions;
use mary_store::RunFolder;
use mary_weights::Checkpoint;

use super::{carry_out, chapters, summary};
use crate::cli::{LoraArgs, TestingArgs};
use crate::commands::tell;
use crate::settings::Place;
use crate::specification::laboratory;

/// What models are tested on.
pub struct Tests<'a> {
    /// Tasks, as `mary run` names them.
    pub tasks: &'a [String],
    pub testing: &'a TestingArgs,
    /// How they were tuned: seed, device and threads are those of the tests too.
    pub lora: &'a LoraArgs,
}

impl Tests<'_> {
    /// Asks all tasks of all models, given as folders, in one ordinary run, and returns its folder.
    /// What was answered before is not asked again.
    pub fn run(&self, place: &Place, models: &[&Path]) -> anyhow::Result<PathBuf> {
        let subjects = models.iter().map(|model| name(model).parse::<ModelRef>());
        let subjects = subjects.collect::<Result<_, _>>()?;
        self.say_form(models);
        let task_options = TaskOptions {
            seed: self.lora.seed,
            shots: self.testing.shots,
            chat: self.testing.apply_chat_template,
            set: TaskOptions::pairs(&self.testing.set)?,
        };
        let limit = self.testing.limit;
        let mut tasks = task_options.choose(&place.registry, self.tasks, limit)?;
        mary_lab::fit_to_models(&place.registry, &mut tasks, false);
        for choice in &mut tasks {
            let card = place.registry.task(&choice.id).map(|task| task.card());
            let family = card.and_then(|card| place.registry.family(&card.family));
            if let (Some(card), Some(family)) = (card, family) {
                family.learned_settings(card, &mut choice.settings);
            }
        }
        let spec = RunSpec {
            subjects,
            tasks,
            seed: self.lora.seed,
            opening: Opening {
                dtype: self.lora.dtype.clone(),
                ..Opening::default()
            },
            execution: Execution {
                device: Some(self.lora.device.clone()),
                threads: self.lora.threads,
                ..Execution::default()
            },
            ..RunSpec::default()
        };
        let lab = laboratory(place);
        let mut run = lab.prepare(&spec)?.open()?;
        carry_out::go(&mut run, false)?;
        Ok(run.path().to_owned())
    }

    /// Conversations are learned through a model's chat template, tests are plain text unless they are asked
    /// for otherwise: what was learned may then not show.
    fn say_form(&self, models: &[&Path]) {
        let learned_plain = self.lora.plain_text || self.testing.apply_chat_template;
        let has_template = |model: &&Path| {
            Checkpoint::open(model).is_ok_and(|checkpoint| checkpoint.template().is_some())
        };
        if !learned_plain && models.first().is_some_and(has_template) {
            tell!(
                "note: conversations were learned through the model's chat template, and the tests are plain text; \
                 --apply-chat-template asks them through it too, --plain-text learns without it"
            );
        }
    }
}

/// A folder or file as `mary run` names it.
pub fn name(model: &Path) -> String {
    let provider = if model.is_file() { "gguf" } else { "hf" };
    format!("{provider}/{}", model.display())
}

/// Paired differences between each tuned model of a run and the first, untuned one: after minus before,
/// on the tasks `wanted` of each (by model and task); only these count for the correction.
pub fn differences(folder: &Path, wanted: impl Fn(&str, &str) -> bool) -> anyhow::Result<Table> {
    let folder = RunFolder::open(folder)?;
    let models = folder.manifest().models.iter();
    let mut sides: Vec<Side> = models
        .map(|card| Side::new(card.model.to_string()))
        .collect();
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
    let mut compared = comparison(&sides, true)?;
    // All models were asked the same items in one run: what a side lacks was left out above.
    compared.warnings.clear();
    Ok(Table {
        id: "tuning-differences".into(),
        title: "After tuning, less before".into(),
        ..table(&compared)
    })
}

/// What the tuned models of a run make of their own lessons: rows of a tuned model say something about its
/// lessons where it has learned them.
pub fn learned(folder: &Path) -> anyhow::Result<Vec<Table>> {
    let folder = RunFolder::open(folder)?;
    let models = &folder.manifest().models;
    Ok(mary_lab::learning::exhibits(models)?.map_or_else(Vec::new, |shown| shown.tables))
}

/// The tables that families have for a model beside the one it was made from.
pub fn pair_tables(
    place: &Place,
    folder: &Path,
    (tuned, base): (&Path, &Path),
) -> anyhow::Result<Vec<Table>> {
    let summary = crate::library::summary(&place.registry, folder)?;
    let pairs = [(name(tuned), name(base))];
    let families = place.registry.families().iter();
    Ok(families
        .flat_map(|family| family.pair_tables(std::slice::from_ref(&summary), &pairs))
        .collect())
}

/// Prints tables. On request they also go to a file, one below the other.
pub fn show(tables: &[Table], csv: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = csv {
        let text: Vec<String> = tables.iter().map(mary_report::text::csv).collect();
        std::fs::write(path, text.join("\n")).with_context(|| path.display().to_string())?;
    }
    tables.iter().try_for_each(summary::show_table)
}

/// Writes the report of a test of tuned models, with these tables before those of the families.
pub fn write_report(place: &Place, run: &Path, tables: Vec<Table>) -> anyhow::Result<()> {
    let path = summary::report_path(run);
    let shown = Exhibits::default().with_tables(tables.into_iter().map(Some));
    let chapter = chapters::made("tuned", "Before and after tuning", shown);
    let (runs, options) = ([run.to_owned()], ReportOptions::default());
    chapters::write_with(&place.registry, &runs, &[chapter], &path, &options)?;
    tell!("report: {}\nrun:    {}", path.display(), run.display());
    Ok(())
}

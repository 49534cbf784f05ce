//! `mary observe`: vectors of one's own texts as a run, and arrays or similarities of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mary_contract::{Layers, ModelCard, RunSummary};
use mary_lab::Run;
use mary_lab::texts::observe::{
    self, ArrayForm, ObserveOptions, ObserveTask, PoolOf, TokenRows, similarities, similarity_head,
};
use mary_lab::texts::table::Form;
use mary_platform::counted;
use mary_store::RunFolder;

use super::instruments::TextArgs;
use super::{carry_out, instruments};
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::specification::{self, laboratory};

enum ObserveOutput<'a> {
    Vectors(ArrayForm, &'a Path),
    Cosines(Form, Option<&'a Path>),
}

const POOLS: Choices<PoolOf> = &[
    ("mean", PoolOf::Mean),
    ("last", PoolOf::Last),
    ("first", PoolOf::First),
    ("region", PoolOf::Region),
    ("joint", PoolOf::Joint),
    ("none", PoolOf::Every),
];

#[derive(Debug, Args)]
pub struct ObserveArgs {
    #[command(flatten)]
    pub texts: TextArgs,
    /// Two columns whose vectors are compared: cosines are printed
    #[arg(long, value_name = "LEFT,RIGHT", value_delimiter = ',', num_args = 1)]
    pub pair: Vec<String>,
    /// Columns that hold pictures: paths beside the file, base64 or `data:` addresses
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub pictures: Vec<String>,
    /// Layers: last, all, or numbers (0 is the embedding, -1 the last), for example 0,6,-1
    #[arg(long, default_value = "last", allow_hyphen_values = true)]
    pub layers: String,
    /// What is averaged (comma-separated or repeated)
    #[arg(long, value_parser = one_of("observe.pools", POOLS), value_delimiter = ',', default_value = "mean")]
    pub pool: Vec<PoolOf>,
    /// What every head attends to instead of vectors, as rows of a .parquet file; --layers counts blocks from 0
    #[arg(long, conflicts_with_all = ["pool", "pair"])]
    pub attention: bool,
    /// File for the vectors: .npy, .safetensors or .parquet; with --pair also .csv, .tsv or .jsonl for
    /// the cosines [default: cosines of pairs on standard output]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

impl Command for ObserveArgs {
    const NAME: &str = "observe";
    const ABOUT: &str = "Extract hidden-state vectors of your own texts, from any layer";
    const WORDS_WITH_DEFAULTS: bool = true;

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let wanted = wanted(self)?;
        let options = options(self)?;
        let file = instruments::input(place, &self.texts.file)?;
        let task = Arc::new(ObserveTask::open(&file, options)?);
        if self.attention || self.pool.contains(&PoolOf::Every) {
            return self.every_token(place, &task);
        }
        let (lab, spec) = self.texts.specified(place, task.clone(), &file)?;
        let prepared = lab.prepare(&spec)?;
        has_layers(task.options(), prepared.cards())?;
        if self.texts.dry_run {
            return instruments::dry_run(&prepared);
        }
        let mut run = prepared.open()?;
        let summary = carry_out::go(&mut run, self.texts.models.quiet)?;
        let mut whole = summary.complete;
        match wanted {
            ObserveOutput::Vectors(form, path) => {
                if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                    std::fs::create_dir_all(parent)?;
                }
                for written in observe::write(&task, run.folder(), form, path)? {
                    tell!("vectors: {}", written.display());
                }
            }
            ObserveOutput::Cosines(form, path) => {
                let without = cosines(&task, run.folder(), form, path)?;
                if without > 0 {
                    let pairs = counted(without, "pair");
                    tell!("warning: {pairs} without a similarity");
                    whole = false;
                }
            }
        }
        tell!("run:    {}", run.path().display());
        Ok(Status::done_if(whole))
    }
}

impl ObserveArgs {
    /// Writes the vectors of every token, text by text: a run folder would hold them all as text.
    fn every_token(&self, place: &Place, task: &ObserveTask) -> anyhow::Result<Status> {
        let parquet = |p: &&PathBuf| ArrayForm::of(p) == Some(ArrayForm::Parquet);
        let path = match self.out.as_ref().filter(parquet) {
            Some(path)
                if self.pool.len() == 1
                    && self.pictures.is_empty()
                    && self.texts.limit.is_none() =>
            {
                path
            }
            _ => {
                return usage_error(
                    "--pool none (or --attention) stands alone, without --pictures and --limit, and writes rows: --out FILE.parquet",
                );
            }
        };
        let lab = laboratory(place);
        let spec = specification::of_models(&lab, &self.texts.models, vec![])?;
        let settings = spec.model_settings();
        let card = |m| Ok(lab.provider(m)?.card(m, &settings)?);
        let cards = spec.subjects.iter().map(card);
        let cards = cards.collect::<anyhow::Result<Vec<ModelCard>>>()?;
        has_layers(task.options(), &cards)?;
        if let Some(other) = cards.iter().find(|card| !card.capabilities.observe) {
            return usage_error(format!("{} does not show its hidden states", other.model));
        }
        let mut rows = TokenRows::create(task, path)?;
        for subject in &spec.subjects {
            let model = lab.provider(subject)?.open(subject, &settings)?;
            let full = subject.to_string();
            let name = spec.execution.labels.get(&full).unwrap_or(&full);
            match self.attention {
                true => rows.attend(name, model.as_ref())?,
                false => rows.observe(name, model.as_ref())?,
            }
        }
        rows.finish()?;
        tell!("vectors: {}", path.display());
        Ok(Status::Done)
    }
}

/// Refuses layers that a model does not have. A picture is seen by layers of its own, which no card counts.
fn has_layers(options: &ObserveOptions, cards: &[ModelCard]) -> Result<(), UsageError> {
    let (Layers::These(wanted), []) = (&options.layers, options.pictures.as_slice()) else {
        return Ok(());
    };
    for card in cards {
        let Some(last) = card.layers.and_then(|n| i32::try_from(n).ok()) else {
            continue;
        };
        // -1 is the last, and the embedding is one more.
        let absent = wanted.iter().find(|&&n| n > last || n < -last - 1);
        if let Some(absent) = absent {
            let full = card.model.to_string();
            let called = card.label.as_ref().unwrap_or(&full);
            return Err(UsageError::new(format!(
                "--layers {absent}: {called} has layers 0 (the embedding) to {last}\nhint: -1 is the last layer; \
                 `--layers all` takes every one"
            )));
        }
    }
    Ok(())
}

pub fn task(args: &ObserveArgs, file: &Path) -> anyhow::Result<ObserveTask> {
    Ok(ObserveTask::open(file, options(args)?)?)
}

/// Prints what the arguments ask for, where they name no file for it.
pub fn printed(args: &ObserveArgs, run: &Run<'_>, summary: &RunSummary) -> anyhow::Result<Status> {
    let mut whole = summary.complete;
    if args.out.is_none() {
        let task = task(args, &args.texts.file)?;
        whole &= cosines(&task, run.folder(), Form::Csv, None)? == 0;
    }
    Ok(Status::done_if(whole))
}

fn wanted(args: &ObserveArgs) -> Result<ObserveOutput<'_>, UsageError> {
    let Some(path) = &args.out else {
        return match args.pair.is_empty() {
            true => Err(UsageError::new(
                "vectors go into a file\nhint: --out FILE.npy, FILE.safetensors or FILE.parquet; or --pair LEFT,RIGHT \
                 prints similarities",
            )),
            false => Ok(ObserveOutput::Cosines(Form::Csv, None)),
        };
    };
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match (ArrayForm::of(path), Form::of_ending(&ending)) {
        (Some(form), _) => Ok(ObserveOutput::Vectors(form, path)),
        (None, Some(form)) if !args.pair.is_empty() => Ok(ObserveOutput::Cosines(form, Some(path))),
        _ => Err(UsageError::new(format!(
            "{}: expected a file that ends in .npy, .safetensors or .parquet (or, for the cosines of --pair, .csv, \
             .tsv or .jsonl)",
            path.display()
        ))),
    }
}

fn options(args: &ObserveArgs) -> Result<ObserveOptions, UsageError> {
    let layers = match args.layers.trim() {
        "all" => Layers::All,
        "last" => Layers::Last,
        list => {
            let numbers = list.split(',').map(|n| n.trim().parse());
            let numbers: Result<Vec<i32>, _> = numbers.collect();
            Layers::These(numbers.map_err(|_| {
                UsageError::new(format!(
                    "--layers takes `last`, `all` or numbers like 0,6,-1, not `{list}`"
                ))
            })?)
        }
    };
    Ok(ObserveOptions {
        text: args.texts.text.clone(),
        pair: instruments::pair(&args.pair)?,
        id: args.texts.id.clone(),
        pictures: args.pictures.clone(),
        keep: args.texts.keep.clone(),
        region: args.texts.region.clone(),
        marks: instruments::marks(args.texts.marks.as_deref())?,
        layers,
        pools: args.pool.clone(),
    })
}

fn cosines(
    task: &ObserveTask,
    folder: &RunFolder,
    form: Form,
    path: Option<&Path>,
) -> anyhow::Result<usize> {
    let mut writer = instruments::table(form, similarity_head(task), path)?;
    let without = similarities(task, folder, &mut |cells| writer.row(cells))?;
    let cannot = |e| instruments::cannot_write(path, e);
    writer.finish().map_err(cannot)?;
    Ok(without)
}

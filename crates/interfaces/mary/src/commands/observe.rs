//! `mary observe`: vectors of one's own texts as a run, and arrays or similarities of them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use mary_contract::{Layers, ModelCard, RunSummary, Task as _};
use mary_lab::texts::InstrumentError;
use mary_lab::texts::observe::{
    self, ArrayForm, ObserveOptions, ObserveTask, PoolOf, similarities, similarity_head,
};
use mary_lab::texts::table::{Form, Writer};
use mary_lab::{Run, TaskChoice};
use mary_store::RunFolder;

use super::{carry_out, instruments};
use crate::cli::instruments::{ObserveArgs, PoolArg};
use crate::exit::{Status, UsageError};
use crate::laboratory::laboratory_with;
use crate::own;
use crate::settings::Place;
use crate::specification;

enum Wanted<'a> {
    Vectors(ArrayForm, &'a Path),
    Cosines(Form, Option<&'a Path>),
}

/// Observes what the arguments name.
pub fn observe(place: &Place, args: &ObserveArgs) -> anyhow::Result<Status> {
    let wanted = wanted(args)?;
    let options = options(args)?;
    let file = instruments::input(place, &args.file)?;
    let task = Arc::new(ObserveTask::open(&file, options)?);
    let mut place = place.clone();
    place.registry.add_task(task.clone())?;
    let words = own::words_about(&args.file, &file);
    let lab = laboratory_with(&place, |providers| providers, words);
    let mut choice = TaskChoice::new(task.card().id.to_string());
    choice.limit = args.limit;
    let spec = specification::of_models(&lab, &args.models, vec![choice])?;
    let prepared = lab.prepare(&spec)?;
    has_layers(task.options(), prepared.cards())?;
    if args.dry_run {
        return instruments::dry_run(&prepared);
    }
    let mut run = prepared.open()?;
    let summary = carry_out::go(&mut run, args.models.quiet)?;
    let mut whole = summary.complete;
    match wanted {
        Wanted::Vectors(form, path) => {
            if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                std::fs::create_dir_all(parent)?;
            }
            for written in observe::write(&task, run.folder(), form, path)? {
                super::tell(&format!("vectors: {}", written.display()));
            }
        }
        Wanted::Cosines(form, path) => {
            let without = cosines(&task, run.folder(), form, path)?;
            if without > 0 {
                let pairs = mary_platform::counted(without, "pair");
                super::tell(&format!("warning: {pairs} without a similarity"));
                whole = false;
            }
        }
    }
    super::tell(&format!("run:    {}", run.path().display()));
    Ok(match whole {
        true => Status::Done,
        false => Status::Incomplete,
    })
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

/// The task that the arguments make of a file.
pub fn task(args: &ObserveArgs, file: &Path) -> anyhow::Result<ObserveTask> {
    Ok(ObserveTask::open(file, options(args)?)?)
}

/// Prints what the arguments ask for, where they name no file for it.
pub fn printed(args: &ObserveArgs, run: &Run<'_>, summary: &RunSummary) -> anyhow::Result<Status> {
    let mut whole = summary.complete;
    if args.out.is_none() {
        let task = task(args, &args.file)?;
        whole &= cosines(&task, run.folder(), Form::Csv, None)? == 0;
    }
    Ok(match whole {
        true => Status::Done,
        false => Status::Incomplete,
    })
}

fn wanted(args: &ObserveArgs) -> Result<Wanted<'_>, UsageError> {
    let Some(path) = &args.out else {
        return match args.pair.is_empty() {
            true => Err(UsageError::new(
                "vectors go into a file\nhint: --out FILE.npy, FILE.safetensors or FILE.parquet; or --pair LEFT,RIGHT \
                 prints similarities",
            )),
            false => Ok(Wanted::Cosines(Form::Csv, None)),
        };
    };
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match (ArrayForm::of(path), Form::of_ending(&ending)) {
        (Some(form), _) => Ok(Wanted::Vectors(form, path)),
        (None, Some(form)) if !args.pair.is_empty() => Ok(Wanted::Cosines(form, Some(path))),
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
    let pool = |pool: &PoolArg| match pool {
        PoolArg::Mean => PoolOf::Mean,
        PoolArg::Last => PoolOf::Last,
        PoolArg::First => PoolOf::First,
        PoolArg::Region => PoolOf::Region,
        PoolArg::Joint => PoolOf::Joint,
    };
    Ok(ObserveOptions {
        text: args.text.clone(),
        pair: instruments::pair(&args.pair)?,
        id: args.id.clone(),
        pictures: args.pictures.clone(),
        keep: args.keep.clone(),
        region: args.region.clone(),
        marks: instruments::marks(args.marks.as_deref())?,
        layers,
        pools: args.pool.iter().map(pool).collect(),
    })
}

fn cosines(
    task: &ObserveTask,
    folder: &RunFolder,
    form: Form,
    path: Option<&Path>,
) -> anyhow::Result<usize> {
    let shown = path.unwrap_or(Path::new("standard output"));
    let at = |source| InstrumentError::Write {
        path: shown.to_owned(),
        source,
    };
    let out: Box<dyn Write + Send> = match path {
        None => Box::new(crate::terminal::Piped::new()),
        Some(path) => Box::new(File::create(path).map_err(at)?),
    };
    let mut writer = Writer::new(form, similarity_head(task), BufWriter::new(out)).map_err(at)?;
    let without = similarities(task, folder, &mut |cells| writer.row(cells))?;
    writer.finish().map_err(at)?;
    Ok(without)
}

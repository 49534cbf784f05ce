//! `mary tune`: LoRA on a local model, with what it did to held-out conversations.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use mary_contract::PromptForm;
use mary_lab::families::Recipe;
use mary_platform::counted;
use mary_stats::difference::{self, ScoreRange};
use mary_train::{
    AnswerScore, Decline, MergedProvenance, NumberType, Provenance, Reuse, Storage, TrainError,
    TuneEvent, TuneReport, TuneSettings,
};

use super::{adapter, tuned};
use crate::cli::{LoraArgs, TestingArgs, TrainingSetArgs};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, UsageError, missing_error, usage_error};
use crate::interrupt;
use crate::settings::Place;
use crate::terminal::bar;

#[derive(Debug, Args)]
pub struct TuneArgs {
    /// Local model to tune: a folder, or hf/…, gguf/…, builtin/nano
    #[arg(short, long)]
    pub model: String,
    /// What to learn from: a file of chat, ShareGPT or Alpaca records, one a line or one list, or the name
    /// of a set that `mary data tuning` writes
    #[arg(long, value_name = "FILE|SET")]
    pub data: PathBuf,
    #[command(flatten)]
    pub set: TrainingSetArgs,
    /// Folder for the adapter
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub lora: LoraArgs,
    /// Also write the merged model into this folder
    #[arg(long, value_name = "DIR")]
    pub merge: Option<PathBuf>,
    /// Ask these tasks before and after, and compare item by item (repeatable)
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Write over an adapter or merged model that was made from something else
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub testing: TestingArgs,
}

impl Command for TuneArgs {
    const NAME: &str = "tune";
    const ABOUT: &str = "Fine-tune a local model with LoRA";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let base = adapter::base_folder(place, &self.model)?;
        let data = training_set(place, self)?;
        let settings = settings(&base, &data, &self.out, &self.lora)?;
        if let Some(name) = &self.lora.recipe {
            tell!("recipe: {}", recipe_of(name)?.source);
        }
        match wanted(
            Provenance::planned(&settings)?.reuse(&self.out)?,
            self.force,
        ) {
            Reuse::Nothing | Reuse::Unfinished => {
                let report = with_bar(|on_event| mary_train::tune(&settings, on_event))?;
                if !report.finished {
                    let step = report.losses.len() as u64;
                    let of = report.steps;
                    return Err(TrainError::Stopped { step, of }.into());
                }
                if let Some(step) = report.best_step {
                    tell!(
                        "{} of {} steps done; the adapter of step {step}, which had the lowest held-out loss, is kept",
                        report.losses.len(),
                        report.steps
                    );
                }
                tell!("{}", losses(&report));
                tell!("{}", before_and_after(&report)?);
                let exact = report.learned.iter().filter(|s| s.greedy).count();
                tell!(
                    "answers learned from that are given exactly: {exact} of {} asked again",
                    report.learned.len()
                );
            }
            Reuse::Same => tell!(
                "the adapter is there already, made from the same base, data, settings and seed"
            ),
            Reuse::Other(differences) => return Err(another(&self.out, "adapter", &differences)),
        }
        tell!("adapter: {}", self.out.display());
        let folder = match (&self.merge, self.test.is_empty()) {
            (Some(merged), _) => merged.clone(),
            (None, false) => self.out.join("merged"),
            (None, true) => {
                let model = match Path::new(&self.model).exists() {
                    true => tuned::name(&base),
                    false => self.model.clone(),
                };
                tell!(
                    "try it: mary run -m {model} --adapter {}",
                    self.out.display()
                );
                return Ok(Status::Done);
            }
        };
        let there = MergedProvenance::planned(&base, &self.out, Storage::F32)?.reuse(&folder)?;
        match wanted(there, self.force) {
            Reuse::Nothing | Reuse::Unfinished => {
                mary_train::merge(&base, &self.out, &folder, Storage::F32)?;
            }
            Reuse::Same => {}
            Reuse::Other(differences) => return Err(another(&folder, "model", &differences)),
        }
        let merged = mary_train::merged_model(&folder);
        tell!(
            "merged model: {}\ntry it: mary run -m {}",
            merged.display(),
            tuned::name(&merged)
        );
        if self.test.is_empty() {
            return Ok(Status::Done);
        }
        let tests = tuned::Tests {
            tasks: &self.test,
            testing: &self.testing,
            lora: &self.lora,
        };
        let run = tests.run(place, &[&base, &merged])?;
        let mut tables = vec![tuned::differences(&run, |_, _| true)?];
        tables.extend(tuned::pair_tables(place, &run, (&merged, &base))?);
        // The report has a chapter of its own on learning.
        let shown = [tuned::learned(&run)?, tables.clone()].concat();
        tuned::show(&shown, self.testing.csv.as_deref())?;
        tuned::write_report(place, &run, tables)?;
        Ok(Status::Done)
    }
}

/// What is learned from: the file that was named, or the set of this name, written beside the adapter.
pub fn training_set(place: &Place, args: &TuneArgs) -> anyhow::Result<PathBuf> {
    let given = args.set.data_form.is_some() || !args.set.data_set.is_empty();
    if args.data.exists() {
        if given {
            return usage_error(format!(
                "--data-set and --data-form go with the name of a set; {} is a file",
                args.data.display()
            ));
        }
        return Ok(args.data.clone());
    }
    let name = args.data.to_string_lossy().replace('_', "-");
    if !super::tuning::is_set(&place.registry, &name) {
        return missing_error(format!(
            "{}: no such file, and no fine-tuning set of this name\nhint: there are {}",
            args.data.display(),
            super::tuning::sets(&place.registry).join(", ")
        ));
    }
    let wanted = super::tuning::request(&args.set, args.lora.seed)?;
    let file = args.out.join(format!("{}.jsonl", name.replace('/', "-")));
    super::tuning::write_into(place, &name, &wanted, &file)?;
    Ok(file)
}

/// With `--force` what was made from something else counts as nothing: it is written over.
fn wanted(there: Reuse, force: bool) -> Reuse {
    match there {
        Reuse::Other(_) if force => Reuse::Nothing,
        other => other,
    }
}

/// A folder that holds something else is not overwritten unless the user says so.
fn another(folder: &Path, what: &str, differences: &[String]) -> anyhow::Error {
    UsageError::new(format!(
        "{}: another {what} is there: {}\nhint: name another folder, or write over this one with --force",
        folder.display(),
        differences.join("; ")
    ))
    .into()
}

pub fn device(name: &str) -> anyhow::Result<mary_train::Device> {
    Ok(match mary_local::Device::parse(Some(name))? {
        mary_local::Device::Cpu => mary_train::Device::Cpu,
        mary_local::Device::Cuda(number) => mary_train::Device::Cuda(number),
    })
}

fn recipe_of(name: &str) -> Result<&'static Recipe, UsageError> {
    mary_lab::families::recipe(name).ok_or_else(|| {
        let known = mary_lab::families::recipes().join(", ");
        UsageError::new(format!(
            "no recipe is printed by the paper of `{name}`\nhint: there are recipes of {known}"
        ))
    })
}

/// What the user gave, or the paper prints, or else the usual.
fn chosen<T>(
    given: Option<T>,
    printed: Option<&Recipe>,
    of: fn(&Recipe) -> Option<T>,
    usual: T,
) -> T {
    given.or_else(|| of(printed?)).unwrap_or(usual)
}

pub fn settings(
    base: &Path,
    data: &Path,
    out: &Path,
    lora: &LoraArgs,
) -> anyhow::Result<TuneSettings> {
    let mut settings = TuneSettings::new(base.to_owned(), data.to_owned(), out.to_owned());
    let printed = lora.recipe.as_deref().map(recipe_of).transpose()?;
    let recipe = &mut settings.recipe;
    recipe.rank = chosen(lora.rank, printed, |r| r.rank, 8);
    recipe.alpha = chosen(lora.alpha, printed, |r| r.alpha, 16.0);
    recipe.dropout = chosen(lora.dropout, printed, |r| r.dropout, 0.05);
    recipe.optimizer.rate = chosen(lora.lr, printed, |r| r.rate, 2e-4);
    recipe.optimizer.decay = chosen(lora.weight_decay, printed, |r| r.weight_decay, 0.0);
    recipe.epochs = chosen(lora.epochs, printed, |r| Some(r.epochs), 3);
    recipe.batch = chosen(lora.batch_size, printed, |r| r.batch, 8);
    recipe.warm_up = chosen(lora.warm_up, printed, |r| r.warm_up, recipe.warm_up);
    recipe.held_out = lora.held_out.unwrap_or(recipe.held_out);
    let printed_every = printed.and_then(|r| r.evaluate_every);
    recipe.evaluate_every = lora.evaluate_every.or(printed_every);
    recipe.patience = lora.patience;
    settings.longest = chosen(lora.longest, printed, |r| r.longest, settings.longest);
    let schedule = printed.and_then(|r| r.schedule);
    let schedule = lora.schedule.as_deref().or(schedule);
    settings.recipe.decline = match schedule.unwrap_or("cosine") {
        "cosine" => Decline::Cosine,
        "linear" => Decline::Linear,
        "constant" => Decline::Constant,
        other => {
            return usage_error(format!(
                "`{other}` is no schedule\nhint: cosine, linear or constant"
            ));
        }
    };
    settings.seed = lora.seed;
    settings.recipe.examples = lora.examples;
    settings.recipe.form = lora.plain_text.then_some(PromptForm::Plain);
    settings.recipe.targets = lora.target.clone();
    settings.device = device(&lora.device)?;
    settings.numbers = match lora.dtype.as_deref() {
        None => None,
        Some("float32" | "f32") => Some(NumberType::F32),
        Some("bfloat16" | "bf16") => Some(NumberType::Bf16),
        Some(other) => {
            return usage_error(format!(
                "`{other}` is no type of numbers to learn with\nhint: bfloat16 or float32"
            ));
        }
    };
    if let Some(threads) = lora.threads {
        settings.threads = threads;
    }
    Ok(settings)
}

type OnEvent<'a> = &'a mut dyn FnMut(TuneEvent) -> ControlFlow<()>;

const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Trains, with a bar and Ctrl-C: the first stops after the step under way.
pub fn with_bar<T>(train: impl FnOnce(OnEvent<'_>) -> Result<T, TrainError>) -> anyhow::Result<T> {
    let stop = interrupt::flag()?;
    let terminal = std::io::stderr().is_terminal();
    let bar = bar(0, "step {pos}/{len} {bar:20} {eta} left  {msg}");
    let mut spoken: Option<Instant> = None;
    let mut all = 0;
    let trained = train(&mut |event| {
        match event {
            TuneEvent::Started {
                base_parameters,
                trained_parameters,
                conversations,
                steps,
                memory,
                device,
            } => {
                all = steps;
                bar.set_length(steps);
                bar.suspend(|| {
                    tell!(
                        "{trained_parameters} of {base_parameters} parameters are trained, on {} ({} held out), {}, about {} MB of memory, on {device}",
                        counted(conversations.0, "conversation"),
                        conversations.1,
                        counted(usize::try_from(steps).unwrap_or(usize::MAX), "step"),
                        memory / 1_000_000
                    );
                });
            }
            TuneEvent::Note(note) => bar.suspend(|| tell!("{note}")),
            TuneEvent::Step {
                step,
                loss,
                tokens_per_second,
                ..
            } => {
                bar.set_position(step);
                bar.set_message(format!("loss {loss:.3}  {tokens_per_second:.0} tokens/s"));
                let due = spoken.is_none_or(|at| at.elapsed() >= PLAIN_EVERY);
                if !terminal && (due || step == all) {
                    spoken = Some(Instant::now());
                    tell!("step {step}/{all}: loss {loss:.3}, {tokens_per_second:.0} tokens/s");
                }
            }
            TuneEvent::Evaluated(e) => bar.suspend(|| {
                tell!(
                    "step {}: held-out loss {:.4}, {:.1} % exact",
                    e.step,
                    e.loss,
                    100.0 * e.exact
                );
            }),
        }
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    bar.finish_and_clear();
    Ok(trained)
}

fn losses(report: &TuneReport) -> String {
    let mut text = match report.losses.as_slice() {
        [] => "no step was made".to_owned(),
        [only] => format!("loss per answer token (nats): {only:.3} in the only step"),
        [first, .., last] => format!(
            "loss per answer token (nats): {first:.3} at step 1, {last:.3} at step {}",
            report.losses.len()
        ),
    };
    let loss = |scores: &[AnswerScore]| {
        let tokens: usize = scores.iter().map(|s| s.tokens).sum();
        let total: f64 = scores.iter().map(|s| s.log_probability).sum();
        (tokens > 0).then(|| -total / tokens as f64)
    };
    if let (Some(before), Some(after)) = (loss(&report.before), loss(&report.after)) {
        text.push_str(&format!("; held out {before:.3} before, {after:.3} after"));
    }
    text
}

fn before_and_after(report: &TuneReport) -> anyhow::Result<String> {
    let hit = |score: &AnswerScore| f64::from(u8::from(score.greedy));
    let hits = |scores: &[AnswerScore]| -> Vec<f64> { scores.iter().map(hit).collect() };
    let (before, after) = (hits(&report.before), hits(&report.after));
    if before.is_empty() {
        return Ok(
            "no conversation was held out, so nothing can be said about what it learnt".into(),
        );
    }
    let found = difference::compare(&after, &before, None, ScoreRange::Unit)?;
    let points = |share: f64| share * 100.0;
    let interval = match found.bounds {
        Some((low, high)) => format!("95 % interval {:+.1} to {:+.1}", points(low), points(high)),
        None => format!("no interval ({})", found.method),
    };
    Ok(format!(
        "held-out answers given exactly: {:.1} % before, {:.1} % after; difference {:+.1} points, {interval} ({})",
        points(found.second),
        points(found.first),
        points(found.value),
        counted(before.len(), "conversation")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_losses_of_a_tuning_are_told() {
        let answer = |log_probability: f64, tokens: usize| AnswerScore {
            log_probability,
            greedy: false,
            tokens,
        };
        let mut report = TuneReport {
            losses: vec![3.25, 2.0, 0.5],
            before: vec![answer(-6.0, 2), answer(-2.0, 2)],
            after: vec![answer(-1.0, 2), answer(-1.0, 2)],
            learned: Vec::new(),
            curve: Vec::new(),
            best_step: None,
            steps: 3,
            finished: true,
        };
        assert_eq!(
            losses(&report),
            "loss per answer token (nats): 3.250 at step 1, 0.500 at step 3; held out 2.000 before, 0.500 after"
        );
        report.before.clear();
        assert!(losses(&report).ends_with("0.500 at step 3"));
    }
}

//! `mary ask`: a question of one's own, and its answer as it is written.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mary_contract::{
    Event, EventObserver, Image, Outcome, PromptForm, Sampling, StoreError, Task as _,
};
use mary_lab::texts::ask::{AskTask, Question, answer};
use mary_lab::texts::top::TopTask;
use mary_lab::{Laboratory, RunSpec, TaskChoice};
use mary_platform::visible;
use serde_json::json;

use crate::cli::ModelArgs;
use crate::command::Command;
use crate::commands::{carry_out, summary, tell};
use crate::exit::{MissingError, Status, UsageError, usage_error};
use crate::interrupt;
use crate::settings::Place;
use crate::specification::{self, laboratory, laboratory_watched};

#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question; `-`, or nothing at all, reads it from standard input
    pub question: Option<String>,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Read the question from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "question")]
    pub file: Option<PathBuf>,
    /// A system message
    #[arg(long)]
    pub system: Option<String>,
    /// A picture to be shown before the words (repeatable)
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Answers asked for
    #[arg(short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub n: u32,
    /// Continue the question as plain text, without the model's chat template
    #[arg(long)]
    pub raw: bool,
    /// 0 takes the likeliest token [default: 0 for one answer, 1 for several]
    #[arg(long, value_parser = warmth)]
    pub temperature: Option<f64>,
    /// Tokens of an answer, at most
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: u32,
    /// The answer ends before this text (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Not an answer: the N likeliest words in the blank ([MASK] or ___) of each line of the question, with their
    /// probabilities. A masked model sees both sides of the blank, another what stands before it
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["system", "image", "n", "temperature", "max_tokens", "stop"]
    )]
    pub top: Option<u32>,
    /// With --top: whole words, however many tokens they have, each with the probability that the word stands there and ends
    #[arg(long, requires = "top")]
    pub whole_words: bool,
    /// One JSON object for each answer
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

fn warmth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number from 0 on".to_owned()),
    }
}

impl Command for AskArgs {
    const NAME: &str = "ask";
    const ABOUT: &str = "Ask models a question of your own and watch the answer";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let text = text(self)?;
        if let Some(top) = self.top {
            return likeliest(self, place, &text, top);
        }
        let images = self
            .image
            .iter()
            .map(|p| image(p))
            .collect::<Result<_, _>>()?;
        let lab = laboratory(place);
        let choice = TaskChoice::new(AskTask::ID);
        let mut spec = specification::of_models(&lab, &self.models, vec![choice])?;
        spec.trials = self.n;
        spec.seed = self.seed;
        let several = self.n > 1;
        let question = Question {
            text,
            system: self.system.clone(),
            images,
            form: form(&lab, &spec, self.raw)?,
            sampling: Sampling {
                temperature: self.temperature.unwrap_or(f64::from(u8::from(several))),
                max_tokens: self.max_tokens,
                stop: self.stop.clone(),
                ..Sampling::greedy(self.max_tokens)
            },
        };
        for choice in &mut spec.tasks {
            choice.settings.form = question.form;
        }
        let task = Arc::new(AskTask::new(question));
        let mut place = place.clone();
        place.registry.add_task(task.clone())?;
        // Several answers at once would run into each other.
        let headings = several || spec.subjects.len() > 1;
        let lab = match self.json || headings {
            true => laboratory(&place),
            false => laboratory_watched(&place),
        };
        let mut run = lab.prepare(&spec)?.open()?;
        let cards = run.cards().iter();
        let labels = cards.filter_map(|card| Some((card.model.to_string(), card.label.clone()?)));
        let mut printer = Printer {
            json: self.json,
            headings,
            written: String::new(),
            printed: 0,
            failed: 0,
            labels: labels.collect(),
        };
        let stop = interrupt::flag()?;
        run.go(&mut printer, &stop)?;
        // What was answered before is not asked again, and is said again.
        if printer.printed + printer.failed == 0 {
            for sample in run.folder().samples()? {
                printer.finished(&sample?)?;
            }
        }
        if !self.models.quiet {
            tell!("run: {} ({})", run.path().display(), task.card().id);
        }
        Ok(Status::done_if(printer.failed == 0))
    }
}

/// The likeliest words in the blank of every line, as a table.
fn likeliest(args: &AskArgs, place: &Place, text: &str, top: u32) -> anyhow::Result<Status> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.map(str::to_owned).collect();
    let task = Arc::new(TopTask::new(lines, top, args.whole_words));
    let lab = laboratory(place);
    let choice = TaskChoice::new(TopTask::ID);
    let spec = specification::of_models(&lab, &args.models, vec![choice])?;
    let mut place = place.clone();
    place.registry.add_task(task.clone())?;
    let lab = laboratory(&place);
    let mut run = lab.prepare(&spec)?.open()?;
    carry_out::go(&mut run, args.models.quiet)?;
    let samples = run.folder().samples()?.collect::<Result<Vec<_>, _>>()?;
    let untold = samples
        .iter()
        .find(|sample| task.predictions(sample).is_none());
    if args.json {
        for sample in &samples {
            let words = task.predictions(sample).unwrap_or_default();
            let line =
                json!({ "model": sample.id.model, "sentence": sample.item.target, "words": words });
            super::print(&crate::terminal::json(&format!("{line}\n")))?;
        }
    } else {
        summary::show_table(&task.table(&samples))?;
    }
    if let Some(sample) = untold {
        let why = match &sample.judgement.outcome {
            Outcome::Failed(failure) => failure.message.as_str(),
            _ => "it does not tell its likeliest words; models with open weights do",
        };
        tell!("error: {}: {why}", sample.id.model);
    }
    Ok(Status::done_if(untold.is_none()))
}

fn text(args: &AskArgs) -> anyhow::Result<String> {
    let text = match (&args.question, &args.file) {
        (_, Some(file)) => mary_platform::read_plain_text(file, mary_platform::LARGEST_DATA)
            .map_err(|e| MissingError(format!("{}: {e}", file.display())))?,
        (Some(words), None) if words != "-" => words.clone(),
        _ => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|e| {
                    UsageError::new(format!("standard input cannot be read as text: {e}"))
                })?;
            text.trim_end_matches(['\n', '\r']).to_owned()
        }
    };
    if text.trim().is_empty() {
        return usage_error("there is no question\nhint: mary ask -m MODEL \"…\"");
    }
    Ok(text)
}

/// No service takes a larger picture.
const LARGEST_PICTURE: u64 = 64 << 20;

fn image(path: &Path) -> anyhow::Result<Image> {
    let data = mary_platform::read_plain(path, LARGEST_PICTURE)
        .map_err(|e| MissingError(format!("{}: {e}", path.display())))?;
    let kind = match &data {
        data if data.starts_with(b"\x89PNG") => "image/png",
        data if data.starts_with(b"\xff\xd8\xff") => "image/jpeg",
        data if data.starts_with(b"GIF8") => "image/gif",
        data if data.starts_with(b"RIFF") && data.get(8..12) == Some(&b"WEBP"[..]) => "image/webp",
        _ => {
            return usage_error(format!(
                "{}: expected a PNG, JPEG, GIF or WebP picture",
                path.display()
            ));
        }
    };
    Ok(Image {
        media_type: kind.to_owned(),
        data,
    })
}

/// The chat template where every model has one, unless plain text is asked for.
fn form(lab: &Laboratory, spec: &RunSpec, raw: bool) -> anyhow::Result<PromptForm> {
    if raw {
        return Ok(PromptForm::Plain);
    }
    let settings = spec.model_settings();
    for model in &spec.subjects {
        let mut card = lab.provider(model)?.card(model, &settings)?;
        if !card.capabilities.chat {
            spec.execution.label(&mut card);
            let called = card.label.unwrap_or_else(|| model.to_string());
            tell!("note: {called} has no chat template; the question is continued as plain text");
            return Ok(PromptForm::Plain);
        }
    }
    Ok(PromptForm::Chat)
}

struct Printer {
    json: bool,
    /// More than one answer: each gets a line that says whose it is.
    headings: bool,
    /// What of the answer under way is on the screen.
    written: String,
    printed: usize,
    failed: usize,
    labels: BTreeMap<String, String>,
}

impl Printer {
    fn print(text: &str) -> Result<(), StoreError> {
        crate::terminal::out(text).map_err(|source| StoreError::Io {
            path: "standard output".into(),
            source,
        })
    }

    fn finished(&mut self, sample: &mary_contract::Sample) -> Result<(), StoreError> {
        let written = std::mem::take(&mut self.written);
        let label = self.labels.get(&sample.id.model);
        let called = label.unwrap_or(&sample.id.model);
        let Some(text) = answer(sample) else {
            self.failed += 1;
            if let Outcome::Failed(failure) = &sample.judgement.outcome {
                tell!("error: {called}: {}", failure.message);
            }
            return Ok(());
        };
        self.printed += 1;
        if self.json {
            let mut line = json!({
                "model": sample.id.model,
                "trial": sample.id.trial,
                "answer": text,
            });
            if let Some(label) = label {
                line["label"] = json!(label);
            }
            return Self::print(&crate::terminal::json(&format!("{line}\n")));
        }
        if self.headings {
            let heading = format!("── {called} ({})\n", sample.id.trial + 1);
            return Self::print(&format!("{heading}{}\n", visible(text)));
        }
        match text.strip_prefix(written.as_str()) {
            Some(rest) => Self::print(&format!("{}\n", visible(rest))),
            // The end was cut at a stop string.
            None if written.starts_with(text) => Self::print("\n"),
            // What was on the screen broke off, and the second try says something else.
            None => Self::print(&format!(
                "\n\n(the answer broke off and was asked for again)\n{}\n",
                visible(text)
            )),
        }
    }
}

impl EventObserver for Printer {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        match event {
            Event::Writing(words) if !self.json && !self.headings => {
                self.written.push_str(words);
                Self::print(&visible(words))
            }
            Event::SampleFinished(sample) => self.finished(sample),
            Event::Warning(text) => {
                tell!("warning: {text}");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

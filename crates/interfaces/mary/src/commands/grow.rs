//! `mary grow`: a small model from scratch, with eyes or without, with its loss curve as it falls.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use mary_contract::Registry;
use mary_report::html::ReportOptions;
use mary_train::{
    GrowEvent, GrowReport, GrowSettings, Size, TextSource, VisionSettings, VisionSize, grow_vision,
};

use super::{chapters, development};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::specification::laboratory;
use crate::terminal::bar;

/// Items kept back from the generated corpus, as `--probe` names them.
const HELD_OUT: &str = "held-out";
const STEPS: u64 = 8_000;

/// Steps of a model that sees.
const SEEING_STEPS: u64 = 3_000;

#[derive(Debug, Args)]
pub struct GrowArgs {
    /// Folder for the checkpoints
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Text files to learn from [default: our own generated corpus]
    #[arg(long, value_name = "FILE")]
    pub text: Vec<PathBuf>,
    /// Grow a model that sees: a vision tower, a projector and a language model, learned together from
    /// generated pictures with questions about them
    #[arg(long, conflicts_with = "text")]
    pub eyes: bool,
    /// Size: pico, nano, micro
    #[arg(long, default_value = "nano")]
    pub size: String,
    /// Training steps [default: 8000; with --eyes 3000]
    #[arg(long)]
    pub steps: Option<u64>,
    /// Seed of weights, data and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where it is computed: cpu, or cuda:N in builds with CUDA
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// CPU threads [default: all]; they change the speed and nothing else
    #[arg(long)]
    pub threads: Option<usize>,
    /// Look at every checkpoint: `held-out` scores items kept back from the generated corpus; a family
    /// that follows development asks its quick tasks and keeps the developmental plot up to date
    #[arg(long, num_args = 0..=1, default_missing_value = "held-out", value_name = "WHAT")]
    pub probe: Option<String>,
}

impl Command for GrowArgs {
    const NAME: &str = "grow";
    const ABOUT: &str = "Grow a small model from scratch, keeping its checkpoints";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        if self.eyes {
            return see(self);
        }
        let steps = self.steps.unwrap_or(STEPS);
        let mut settings = GrowSettings::new(self.out.clone(), Size::named(&self.size)?, steps);
        settings.course.seed = self.seed;
        settings.device = super::tune::device(&self.device)?;
        if let Some(threads) = self.threads {
            settings.course.threads = threads;
        }
        if !self.text.is_empty() {
            settings.source = TextSource::Files(self.text.clone());
        }
        let probe = self.probe.as_deref();
        settings.course.probe = probe == Some(HELD_OUT);
        let family = probe.filter(|name| *name != HELD_OUT);
        if let Some(name) = family {
            known_probe(&place.registry, name)?;
        }
        let mut display = Display::new(steps);
        let mut tokens = None;
        let mut failure = None;
        let report = mary_train::grow(&settings, &mut |event| {
            display.show(&event);
            if let GrowEvent::Started {
                tokens_per_step, ..
            } = &event
            {
                tokens = Some(*tokens_per_step as u64);
            }
            if let (Some(family), GrowEvent::Checkpoint { .. }) = (family, &event) {
                match develop(place, self, family, tokens) {
                    Ok(line) => display.say(&line),
                    // Training is dearer than a plot: it goes on, and what went wrong is said at its end.
                    Err(error) => failure = Some(error),
                }
            }
            ControlFlow::Continue(())
        })?;
        if let Some(error) = failure {
            tell!("warning: the developmental plot: {error:#}");
        }
        Ok(display.conclude(&report, steps))
    }
}

fn see(args: &GrowArgs) -> anyhow::Result<Status> {
    if args.device != "cpu" {
        return usage_error(format!(
            "a model that sees grows on the processor alone, not on {}\nhint: leave --device out; some minutes on two cores are enough",
            args.device
        ));
    }
    if let Some(other) = args.probe.as_deref().filter(|name| *name != HELD_OUT) {
        return usage_error(format!(
            "with --eyes there is {HELD_OUT} to probe, not `{other}`\nhint: mary sweep asks the checkpoints anything else"
        ));
    }
    let steps = args.steps.unwrap_or(SEEING_STEPS);
    let mut settings = VisionSettings::new(args.out.clone(), VisionSize::named(&args.size)?, steps);
    settings.course.seed = args.seed;
    settings.course.probe = args.probe.is_some();
    if let Some(threads) = args.threads {
        settings.course.threads = threads;
    }
    let mut display = Display::new(steps);
    let report = grow_vision(&settings, &mut |event| {
        display.show(&event);
        ControlFlow::Continue(())
    })?;
    Ok(display.conclude(&report, steps))
}

/// Refuses a probe that no family has.
fn known_probe(registry: &Registry, name: &str) -> Result<(), UsageError> {
    let families = registry.families().iter();
    let known: Vec<&str> = families
        .filter(|f| f.development().is_some())
        .map(|f| f.id())
        .collect();
    if known.contains(&name) {
        return Ok(());
    }
    Err(UsageError::new(format!(
        "`{name}` is nothing to probe\nhint: there are {HELD_OUT}, {}",
        known.join(", ")
    )))
}

/// Asks the checkpoints written so far and draws their development anew; says how the last one did.
fn develop(
    place: &Place,
    args: &GrowArgs,
    family: &str,
    tokens: Option<u64>,
) -> anyhow::Result<String> {
    // A folder is a folder, whatever it is called.
    let model = format!("hf/{}", std::path::absolute(&args.out)?.display());
    let lab = laboratory(place);
    let growth =
        development::development(&lab, Some(family), &args.out.join("probes"), &model, tokens)?;
    let out = args.out.join("development.html");
    let paths: Vec<_> = growth.runs.iter().map(|(path, _)| path.clone()).collect();
    let options = ReportOptions::default();
    let chapter = chapters::made("development", "Development", growth.exhibits);
    chapters::write_with(&place.registry, &paths, &[chapter], &out, &options)?;
    let Some((_, last)) = growth.runs.last() else {
        return Ok("no checkpoint yet".into());
    };
    let scores: Vec<String> = last
        .rows
        .iter()
        .filter_map(|row| Some(format!("{} {:.3}", row.task, row.score.as_ref()?.value)))
        .collect();
    let model = last.rows.first().map_or("", |r| r.model.as_str());
    let step = model.rsplit(['/', '@']).next().unwrap_or(model);
    Ok(format!(
        "{step}: {}  (plot: {})",
        scores.join(", "),
        out.display()
    ))
}

/// A bar with the loss and its recent curve; plain lines without a terminal.
struct Display {
    bar: ProgressBar,
    plain: bool,
    recent: VecDeque<f64>,
    spoken: Instant,
}

impl Display {
    fn new(steps: u64) -> Self {
        Self {
            bar: bar(steps, "step {pos}/{len} {bar:20} {eta} left  {msg}"),
            plain: !std::io::stderr().is_terminal(),
            recent: VecDeque::new(),
            spoken: Instant::now(),
        }
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| tell!("{line}"));
    }

    fn conclude(self, report: &GrowReport, steps: u64) -> Status {
        self.bar.finish_and_clear();
        let (state, status) = match report.finished {
            true => ("done", Status::Done),
            false => ("not done; the same command continues", Status::Stopped),
        };
        let (step, rate) = (report.step, report.tokens_per_second);
        tell!("step {step} of {steps}, {state} ({rate:.0} tokens/s)");
        if let Some(folder) = &report.last_checkpoint {
            let folder = folder.display();
            tell!("last checkpoint: {folder}\ntry it: mary run -m hf/{folder}");
        }
        status
    }

    fn show(&mut self, event: &GrowEvent) {
        match event {
            GrowEvent::Started {
                parameters,
                tokens_per_step,
                memory,
                from_step,
                device,
            } => {
                self.bar.set_position(*from_step);
                self.bar.reset_eta();
                self.say(&format!(
                    "{parameters} parameters, {tokens_per_step} tokens a step, about {} MB of memory, from step {from_step}, on {device}",
                    memory / 1_000_000
                ));
            }
            GrowEvent::Step {
                step,
                loss,
                tokens_per_second,
                ..
            } => {
                self.recent.push_back(*loss);
                if self.recent.len() > 400 {
                    self.recent.pop_front();
                }
                self.bar.set_position(*step);
                let line = format!(
                    "loss {loss:.3} {}  {tokens_per_second:.0} tokens/s",
                    curve(&self.recent)
                );
                if self.plain && self.spoken.elapsed() > Duration::from_secs(10) {
                    self.spoken = Instant::now();
                    self.say(&format!("step {step}: {line}"));
                }
                self.bar.set_message(line);
            }
            GrowEvent::Checkpoint { .. } => {}
            GrowEvent::Note(note) => self.say(note),
            GrowEvent::Probed(probe) => self.say(&format!(
                "step {:>6}: minimal pairs {:.1} %, comparisons {:.1} %, number distance R² {:.2}",
                probe.step,
                probe.minimal_pairs * 100.0,
                probe.comparisons * 100.0,
                probe.distance_r2
            )),
            GrowEvent::VisionProbed(looked) => self.say(&format!(
                "step {:>6}: held-out pictures {:.1} %, blank {:.1} %, another's {:.1} %",
                looked.step,
                looked.own * 100.0,
                looked.blank * 100.0,
                looked.other * 100.0
            )),
        }
    }
}

/// The last losses as twenty small bars.
fn curve(losses: &VecDeque<f64>) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = 20.min(losses.len());
    let values: Vec<f64> = (0..width)
        .map(|i| {
            let (from, to) = (i * losses.len() / width, (i + 1) * losses.len() / width);
            losses.range(from..to).sum::<f64>() / (to - from) as f64
        })
        .collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = |v: f64| (v - low) / (high - low).max(1e-9);
    let place = |v: f64| (share(v) * 7.0).round().clamp(0.0, 7.0) as usize;
    values.iter().filter_map(|v| BARS.get(place(*v))).collect()
}

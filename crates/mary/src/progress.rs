//! What a person sees while a run goes on: a bar with rate, time left and failures on a terminal,
//! plain lines every few seconds without one.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mary_contract::{Event, EventObserver, Outcome, StoreError, visible_line};

use crate::terminal;

/// How often a plain line is printed.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows events.
pub struct Progress {
    bar: ProgressBar,
    mode: Mode,
    title: String,
    planned: u64,
    done: u64,
    failed: u64,
    unscored: u64,
    recalled: u64,
    started: Instant,
    spoken: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Quiet,
    Plain,
    Bar,
}

impl Progress {
    /// A display fitting where standard error goes.
    pub fn new(quiet: bool) -> Self {
        let mode = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Bar,
            (false, false) => Mode::Plain,
        };
        let now = Instant::now();
        Self {
            bar: ProgressBar::hidden(),
            mode,
            title: String::new(),
            planned: 0,
            done: 0,
            failed: 0,
            unscored: 0,
            recalled: 0,
            started: now,
            spoken: now,
        }
    }

    /// Says a line without disturbing the bar.
    pub fn say(&self, line: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Plain | Mode::Bar => terminal::line(line),
        }
    }

    fn start(&mut self, model: &str, task: &str, planned: usize, already: usize) {
        self.title = format!("{model}  {task}");
        self.planned = planned as u64;
        self.done = already as u64;
        (self.failed, self.unscored, self.recalled) = (0, 0, 0);
        self.started = Instant::now();
        self.spoken = Instant::now();
        if self.mode == Mode::Bar {
            let style = ProgressStyle::with_template(
                "{prefix:38!} {bar:24} {pos}/{len}  {per_sec}  {eta} left  {msg}",
            );
            self.bar = ProgressBar::with_draw_target(
                Some(self.planned),
                ProgressDrawTarget::stderr_with_hz(10),
            );
            if let Ok(style) = style {
                self.bar.set_style(style);
            }
            self.bar.set_prefix(visible_line(&self.title).into_owned());
            terminal::show_bar(Some(self.bar.clone()));
            self.bar.set_position(self.done);
            self.bar.reset_eta();
        } else if already > 0 {
            self.say(&format!(
                "{}: {already} of {planned} already done",
                self.title
            ));
        }
    }

    fn advance(&mut self, outcome: &Outcome) {
        self.done += 1;
        match outcome {
            Outcome::Scored(_) => {}
            Outcome::Unscored(_) => self.unscored += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
        if self.mode == Mode::Bar {
            self.bar.inc(1);
            if self.failed + self.unscored > 0 {
                self.bar.set_message(self.troubles());
            }
        } else if self.mode == Mode::Plain && self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            let rate = self.done as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
            let left = (self.planned.saturating_sub(self.done)) as f64 / rate.max(1e-9);
            let line = format!(
                "{}: {}/{}, {rate:.1}/s, {left:.0} s left{}",
                self.title,
                self.done,
                self.planned,
                self.troubles()
            );
            self.say(&line);
        }
    }

    fn troubles(&self) -> String {
        let mut text = String::new();
        if self.failed > 0 {
            text.push_str(&format!(" {} failed", self.failed));
        }
        if self.unscored > 0 {
            text.push_str(&format!(" {} unscored", self.unscored));
        }
        text
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
        terminal::show_bar(None);
        let seconds = self.started.elapsed().as_secs_f64();
        let cached = if self.recalled > 0 {
            format!(", {} from the cache", self.recalled)
        } else {
            String::new()
        };
        let line = format!(
            "{}: {} in {seconds:.1} s{cached}{}",
            self.title,
            self.done,
            self.troubles()
        );
        self.say(&line);
    }
}

impl EventObserver for Progress {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        match event {
            Event::TaskStarted {
                model,
                task,
                planned,
                already,
            } => {
                self.start(model, task, *planned, *already);
            }
            Event::Writing(_) => {}
            Event::Answered { recalled, .. } => self.recalled += u64::from(*recalled),
            Event::SampleFinished(sample) => self.advance(&sample.judgement.outcome),
            Event::Note(text) => self.say(text),
            Event::Warning(text) => self.say(&format!("warning: {text}")),
            Event::TaskFinished { .. } => self.finish(),
        }
        Ok(())
    }
}

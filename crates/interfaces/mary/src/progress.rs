//! What a person sees while a run goes on: a bar on a terminal, plain lines every few seconds without
//! one. Both tell which task of how many is asked, how fast, and how long the whole run will take:
//! tasks differ by orders of magnitude in what an item costs, so time left goes by cost, not by items.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mary_contract::{Event, EventObserver, Outcome, StoreError, UnscoredReason};
use mary_lab::texts::ask::NO_RIGHT_ANSWER;
use mary_lab::texts::observe::VECTORS_ALONE;
use mary_lab::{RunPart, duration};
use mary_platform::{counted, visible_line};

use crate::terminal;

/// How often rate and time left are told anew beside the bar.
const MESSAGE_EVERY: Duration = Duration::from_millis(500);
/// How often a plain line is printed.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

pub struct Progress {
    bar: ProgressBar,
    mode: Mode,
    title: String,
    parts: Vec<RunPart>,
    labels: BTreeMap<String, String>,
    /// Which part is asked, from 0.
    part: usize,
    /// Cost of one sample of the part that is asked.
    cost: u64,
    /// Cost of what was answered by a model, or recalled, since the display began.
    paid: u64,
    begun: Instant,
    planned: u64,
    done: u64,
    already: u64,
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
            parts: Vec::new(),
            labels: BTreeMap::new(),
            part: 0,
            cost: 1,
            paid: 0,
            begun: now,
            planned: 0,
            done: 0,
            already: 0,
            failed: 0,
            unscored: 0,
            recalled: 0,
            started: now,
            spoken: now,
        }
    }

    /// Knows all that is to come, so that it can tell how long that will take.
    pub fn of_run(mut self, parts: Vec<RunPart>, labels: BTreeMap<String, String>) -> Self {
        self.parts = parts;
        self.labels = labels;
        self
    }

    /// Cost of what is left: of this part, and of all that come after it.
    fn left(&self) -> u64 {
        let here = self.planned.saturating_sub(self.done) * self.cost;
        let later = self.parts.iter().skip(self.part + 1);
        here + later
            .map(|part| part.samples as u64 * part.cost)
            .sum::<u64>()
    }

    /// Time left, where enough was seen to tell.
    fn time_left(&self) -> Option<String> {
        let seconds = self.begun.elapsed().as_secs_f64();
        if self.paid == 0 || seconds < 1.0 {
            return None;
        }
        Some(duration(self.left() as f64 * seconds / self.paid as f64))
    }

    pub fn say(&self, line: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Plain | Mode::Bar => terminal::line(line),
        }
    }

    fn start(&mut self, model: &str, task: &str, planned: usize, already: usize) {
        let label = self.labels.get(model).map_or(model, String::as_str);
        let place = self
            .parts
            .iter()
            .position(|part| part.model == model && part.task == task);
        self.part = place.unwrap_or(0);
        self.cost = place.map_or(1, |place| self.parts[place].cost);
        // The task comes first: where room is short, the end of a long model's name is cut.
        self.title = match (place, self.parts.len()) {
            (Some(place), 2..) => format!("[{}/{}] {task}  {label}", place + 1, self.parts.len()),
            _ => format!("{task}  {label}"),
        };
        self.planned = planned as u64;
        self.done = already as u64;
        self.already = already as u64;
        (self.failed, self.unscored, self.recalled) = (0, 0, 0);
        self.started = Instant::now();
        self.spoken = Instant::now();
        if self.mode == Mode::Bar {
            let style = ProgressStyle::with_template(match bar_width(columns()) {
                0 => "{prefix} {pos}/{len} {msg}",
                10 => "{prefix} {bar:10} {pos}/{len} {msg}",
                _ => "{prefix} {bar:20} {pos}/{len} {msg}",
            });
            self.bar = ProgressBar::with_draw_target(
                Some(self.planned),
                ProgressDrawTarget::stderr_with_hz(10),
            );
            if let Ok(style) = style {
                self.bar.set_style(style);
            }
            // Room for the message that is still to come.
            self.bar
                .set_prefix(self.title_within(columns(), "1000/s  59 min 59 s left").0);
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
        self.paid += self.cost;
        match outcome {
            Outcome::Scored(_) => {}
            // Vectors, and answers to a question of one's own, are not judged at all.
            Outcome::Unscored(UnscoredReason::NotApplicable(why))
                if [VECTORS_ALONE, NO_RIGHT_ANSWER].contains(&why.as_str()) => {}
            Outcome::Unscored(_) => self.unscored += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
        if self.mode == Mode::Bar {
            self.bar.inc(1);
            if self.spoken.elapsed() >= MESSAGE_EVERY {
                self.spoken = Instant::now();
                let (title, message) = self.title_within(columns(), &self.message());
                self.bar.set_prefix(title);
                self.bar.set_message(message);
            }
        } else if self.mode == Mode::Plain && self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            let line = format!(
                "{}: {}/{}, {}",
                self.title,
                self.done,
                self.planned,
                self.message()
            );
            self.say(&line);
        }
    }

    /// Rate, time left for the whole run, and what went wrong.
    fn message(&self) -> String {
        let answered = self.done.saturating_sub(self.already) as f64;
        let rate = answered / self.started.elapsed().as_secs_f64().max(1e-9);
        let left = self.time_left();
        let left = left.map_or_else(String::new, |left| format!("  {left} left"));
        format!("{}/s{left}{}", rate_text(rate), self.troubles())
    }

    /// The title beside a message, in a line that does not wrap: the end of the title is cut, and where even
    /// that leaves no room for it, what went wrong is told at the end of the task only.
    fn title_within(&self, columns: usize, message: &str) -> (String, String) {
        let counts = 2 * self.planned.to_string().len() + 1;
        let bar = bar_width(columns);
        // Spaces between the parts, and the last column, where terminals wrap.
        let fixed = counts + bar + usize::from(bar > 0) + 3;
        let room = |message: &str| columns.saturating_sub(fixed + message.chars().count());
        let mut message = message.to_owned();
        if room(&message) < 12 {
            message = message.replace(&self.troubles(), "");
        }
        let room = room(&message).max(8);
        let title = visible_line(&self.title);
        let cut = match title.chars().count() > room {
            true => title.chars().take(room - 1).chain(['…']).collect(),
            false => title.into_owned(),
        };
        (cut, message)
    }

    fn troubles(&self) -> String {
        let mut text = String::new();
        if self.failed > 0 {
            text.push_str(&format!("  {} failed", self.failed));
        }
        if self.unscored > 0 {
            text.push_str(&format!("  {} unscored", self.unscored));
        }
        text
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
        terminal::show_bar(None);
        let seconds = self.started.elapsed().as_secs_f64();
        let cached = match self.recalled {
            0 => String::new(),
            n => format!(", {n} from the cache"),
        };
        let line = format!(
            "{}: {} in {seconds:.1} s{cached}{}",
            self.title,
            counted(usize::try_from(self.done).unwrap_or(usize::MAX), "sample"),
            self.troubles()
        );
        self.say(&line);
    }
}

fn columns() -> usize {
    usize::from(console::Term::stderr().size().1)
}

fn bar_width(columns: usize) -> usize {
    match columns {
        0..70 => 0,
        70..110 => 10,
        _ => 20,
    }
}

/// A rate with as many digits as anybody reads.
fn rate_text(rate: f64) -> String {
    match rate {
        r if r >= 10.0 => format!("{r:.0}"),
        r if r >= 1.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_goes_by_cost_over_the_whole_run() {
        let part = |task: &str, samples, cost| RunPart {
            model: "builtin/nano".into(),
            task: task.into(),
            samples,
            cost,
        };
        let mut progress = Progress::new(true).of_run(
            vec![part("a/cheap", 100, 1), part("a/dear", 100, 99)],
            BTreeMap::from([("builtin/nano".into(), "nano".into())]),
        );
        progress.start("builtin/nano", "a/cheap", 100, 0);
        assert_eq!(progress.title, "[1/2] a/cheap  nano");
        (progress.done, progress.paid) = (100, 100);
        assert_eq!(progress.left(), 9_900);
        // One second for a hundredth of the work: by items half would be left.
        progress.begun = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        let told = progress.time_left().unwrap();
        assert!(told.starts_with("16 min"), "{told}");
        progress.start("builtin/nano", "a/dear", 100, 40);
        assert_eq!(progress.left(), 60 * 99);
    }

    /// What is not judged is no trouble; what should have been judged and was not is.
    #[test]
    fn vectors_and_questions_are_not_called_unscored() {
        let mut progress = Progress::new(true);
        progress.start("builtin/nano", "observe/texts", 3, 0);
        for why in [VECTORS_ALONE, NO_RIGHT_ANSWER] {
            progress.advance(&Outcome::Unscored(UnscoredReason::NotApplicable(
                why.into(),
            )));
        }
        assert_eq!(progress.troubles(), "");
        let why = "a text has no vector".to_owned();
        progress.advance(&Outcome::Unscored(UnscoredReason::NotApplicable(why)));
        assert_eq!(progress.troubles(), "  1 unscored");
    }

    #[test]
    fn a_line_never_wraps_and_the_task_stays_readable() {
        let mut progress = Progress::new(true);
        progress.start(
            "a/model-with-a-long-name-of-40-characters",
            "own/rhyme",
            1_000,
            0,
        );
        (progress.failed, progress.unscored) = (120, 30);
        for columns in [60, 80, 120] {
            for message in ["1.1/s", "1.1/s  1 min 31 s left  120 failed  30 unscored"] {
                let (title, message) = progress.title_within(columns, message);
                let bar = bar_width(columns);
                let bar = if bar == 0 {
                    String::new()
                } else {
                    "█".repeat(bar) + " "
                };
                let line = format!("{title} {bar}1000/1000 {message}");
                assert!(line.chars().count() < columns, "{columns}: {line}");
                assert!(line.starts_with("own/rhyme"), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn durations_and_rates_have_two_units_and_few_digits() {
        for (seconds, text) in [
            (0.2, "1 s"),
            (59.0, "59 s"),
            (61.0, "1 min 1 s"),
            (7_260.0, "2 h 1 min"),
            (1e5, "1 d 3 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (rate, text) in [(1234.567, "1235"), (3.21, "3.2"), (0.0456, "0.05")] {
            assert_eq!(rate_text(rate), text);
        }
    }
}

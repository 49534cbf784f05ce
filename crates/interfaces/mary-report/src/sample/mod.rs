//! One sample as people look at it: its class of outcome, one line for lists, and its story as HTML.

mod grid;
mod render;
mod replies;

use std::borrow::Cow;
use std::fmt;

use mary_contract::{Exchange, Outcome, Request, Response, Sample, Target, UnscoredReason};
use serde::{Deserialize, Serialize};

use crate::escape;

pub(crate) use render::{Story, question};
pub(crate) use replies::answer;

/// How a sample ended, in the words lists are filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// Score 0.
    Wrong,
    Unparsed,
    Refused,
    /// Score one half.
    Tie,
    Failed,
    /// The provider withheld the answer.
    Filtered,
    Truncated,
    NotApplicable,
    /// A score that is neither 0, one half nor 1.
    Graded,
    /// Score 1.
    Right,
}

impl OutcomeClass {
    /// All, in the order a reader who looks for trouble wants them.
    pub const ALL: [Self; 10] = [
        Self::Wrong,
        Self::Unparsed,
        Self::Refused,
        Self::Tie,
        Self::Failed,
        Self::Filtered,
        Self::Truncated,
        Self::NotApplicable,
        Self::Graded,
        Self::Right,
    ];

    pub fn from_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Scored(s) if *s == 1.0 => Self::Right,
            Outcome::Scored(s) if *s == 0.0 => Self::Wrong,
            Outcome::Scored(s) if *s == 0.5 => Self::Tie,
            Outcome::Scored(_) => Self::Graded,
            Outcome::Failed(_) => Self::Failed,
            Outcome::Unscored(reason) => match reason {
                UnscoredReason::Unparsed => Self::Unparsed,
                UnscoredReason::Refused => Self::Refused,
                UnscoredReason::Filtered => Self::Filtered,
                UnscoredReason::Truncated => Self::Truncated,
                UnscoredReason::NotApplicable(_) => Self::NotApplicable,
            },
        }
    }

    pub fn name(self) -> &'static str {
        // In the order of declaration.
        let names =
            "wrong unparsed refused tie failed filtered truncated not_applicable graded right";
        names.split(' ').nth(self.index()).unwrap_or_default()
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::NotApplicable => "not applicable",
            other => other.name(),
        }
    }

    pub(crate) fn badge(self) -> String {
        let (name, words) = (self.name(), self.words());
        format!("<span class=\"badge {name}\">{words}</span>")
    }

    pub fn index(self) -> usize {
        self as usize
    }
}

/// By how much the right answer was preferred: the margin the judge measured, or else the log-probability
/// of the right continuation less that of the best other one. `None` where nothing of the kind was asked,
/// and where the verdict says the opposite: that task is judged by another convention.
pub(crate) fn margin(sample: &Sample) -> Option<f64> {
    let found = match sample.judgement.measures.get("margin") {
        Some(margin) => *margin,
        None => scored_margin(sample)?,
    };
    let agrees = match sample.judgement.outcome {
        Outcome::Scored(1.0) => found >= 0.0,
        Outcome::Scored(0.0) => found <= 0.0,
        Outcome::Scored(_) => true,
        _ => false,
    };
    (found.is_finite() && agrees).then_some(found)
}

fn scored_margin(sample: &Sample) -> Option<f64> {
    let [exchange] = sample.exchanges.as_slice() else {
        return None;
    };
    let scored = exchange.reply.as_ref().ok()?.answer.as_scored()?;
    let (options, correct) = sample.item.target.alternatives()?;
    if scored.continuations.len() != options.len() {
        return None;
    }
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    let right = *sums.get(correct)?;
    let others = sums.iter().enumerate().filter(|(i, _)| *i != correct);
    let best = others.map(|(_, sum)| *sum).max_by(f64::total_cmp)?;
    Some(right - best)
}

/// The letter an option is called by; numbers beyond the alphabet.
pub(crate) fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(n @ 0..26) => char::from(b'A' + n).to_string(),
        _ => (index + 1).to_string(),
    }
}

pub(crate) fn question_text(sample: &Sample) -> String {
    match &sample.item.target {
        Target::Choice { question, .. } if !question.is_empty() => question.clone(),
        Target::Pair { good, bad } => format!("{good} / {bad}"),
        _ => match sample.exchanges.first().map(|e| &e.ask.request) {
            Some(Request::Generate(g)) => g.prompt.text(),
            Some(Request::Score(s)) => {
                format!("{} {}", s.prefix.text(), s.continuations.join(" / "))
            }
            Some(Request::Observe(o)) => o.text.clone(),
            None => String::new(),
        },
    }
}

pub(crate) fn answer_excerpt(sample: &Sample, characters: usize) -> String {
    // Read only as far as needed: an answer of many megabytes is not copied to be cut.
    let mut pieces = sample.exchanges.iter().map(reply_text);
    let mut piece = pieces.next();
    let mut at = 0;
    let characters_of = std::iter::from_fn(|| {
        let text = piece.as_deref()?;
        match text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(c) => {
                at += c.len_utf8();
                Some(c)
            }
            None => {
                piece = pieces.next();
                at = 0;
                Some(' ')
            }
        }
    });
    escape::excerpt_of(characters_of, characters)
}

/// What a continuation is called beside its number: itself where it is short, otherwise the letter under
/// which the story of the sample lists it.
fn continuation_name(asked: &[String], index: usize) -> String {
    const SHORT: usize = 16;
    let text = asked.get(index).map_or("", |text| text.trim());
    match text.chars().count() {
        1..=SHORT => text.to_owned(),
        _ => letter(index),
    }
}

fn reply_text(exchange: &Exchange) -> Cow<'_, str> {
    match &exchange.reply {
        Ok(reply) => match &reply.answer {
            Response::Generated(g) => Cow::Borrowed(&g.text),
            Response::Scored(s) => {
                let asked = match &exchange.ask.request {
                    Request::Score(asked) => asked.continuations.as_slice(),
                    _ => &[],
                };
                let sums = s.continuations.iter().enumerate().map(|(index, c)| {
                    let name = continuation_name(asked, index);
                    format!("{name} {:.2}", c.sum())
                });
                Cow::Owned(format!("ln p: {}", sums.collect::<Vec<_>>().join(" / ")))
            }
            Response::Observed(o) => Cow::Owned(format!("{} pooled vectors", o.pools.len())),
        },
        Err(error) => Cow::Borrowed(&error.message),
    }
}

pub(crate) fn write_plain(out: &mut dyn fmt::Write, sample: &Sample) -> fmt::Result {
    let id = &sample.id;
    writeln!(out, "{} {} {}", id.model, id.task, id.item)?;
    for exchange in &sample.exchanges {
        let asked = match &exchange.ask.request {
            Request::Generate(g) => g.prompt.text(),
            Request::Score(s) => format!("{}\n{}", s.prefix.text(), s.continuations.join("\n")),
            Request::Observe(o) => o.text.clone(),
        };
        write!(out, "\n== asked\n{asked}\n\n== answered\n")?;
        if let Ok(reply) = &exchange.reply
            && let Response::Generated(g) = &reply.answer
            && let Some(reasoning) = &g.reasoning
        {
            write!(out, "{reasoning}\n\n== after this reasoning\n")?;
        }
        writeln!(out, "{}", reply_text(exchange))?;
    }
    Ok(())
}

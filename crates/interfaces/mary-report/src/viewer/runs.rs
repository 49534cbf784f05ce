//! The list of runs as a reader asks for it: narrowed by words, ordered by a column.

use std::cmp::Ordering;

use mary_contract::model_labels;

use super::RunEntry;
use super::query::encode;
use crate::subject;
use crate::summary::{self, Headline};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RunColumn {
    #[default]
    Begun,
    Run,
    Models,
    Tasks,
    Score,
    Samples,
    State,
    Size,
}

impl RunColumn {
    pub const ALL: [Self; 8] = [
        Self::Run,
        Self::Begun,
        Self::Models,
        Self::Tasks,
        Self::Score,
        Self::Samples,
        Self::State,
        Self::Size,
    ];

    /// Its heading, which is the name of the variant.
    pub fn words(self) -> String {
        format!("{self:?}")
    }

    pub fn name(self) -> String {
        self.words().to_lowercase()
    }

    /// Whether the largest (the newest) stands first unless asked otherwise.
    fn falls(self) -> bool {
        matches!(self, Self::Begun | Self::Score | Self::Samples | Self::Size)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunsQuery {
    pub words: String,
    pub column: RunColumn,
    /// Against the column's own direction.
    pub turned: bool,
}

impl RunsQuery {
    pub fn read(pairs: &[(String, String)]) -> Self {
        let mut asked = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "q" => asked.words = value.trim().to_lowercase(),
                "by" => {
                    let column = RunColumn::ALL.into_iter().find(|c| c.name() == *value);
                    asked.column = column.unwrap_or_default();
                }
                "turned" => asked.turned = value == "1",
                _ => {}
            }
        }
        asked
    }

    /// The address of the same list by another column; the present one is turned round.
    pub fn by(&self, column: RunColumn) -> String {
        let turned = column == self.column && !self.turned;
        format!(
            "/?q={}&by={}{}",
            encode(&self.words),
            column.name(),
            if turned { "&turned=1" } else { "" }
        )
    }

    /// How the present column is ordered, in the words of `aria-sort`.
    pub fn direction(&self) -> &'static str {
        match self.column.falls() != self.turned {
            true => "descending",
            false => "ascending",
        }
    }
}

#[derive(Debug)]
pub(super) struct RunLine<'a> {
    pub entry: &'a RunEntry,
    pub title: String,
    pub models: Vec<String>,
    pub tasks: Vec<String>,
    pub settings: Vec<String>,
    pub score: Option<Headline>,
}

pub(super) fn lines<'a>(entries: &'a [RunEntry], asked: &RunsQuery) -> Vec<RunLine<'a>> {
    let mut found: Vec<RunLine> = entries
        .iter()
        .map(line)
        .filter(|line| holds(line, &asked.words))
        .collect();
    found.sort_by(|a, b| {
        let order = compare(a, b, asked.column);
        match asked.direction() {
            "descending" => order.reverse(),
            _ => order,
        }
    });
    found
}

fn line(entry: &RunEntry) -> RunLine<'_> {
    let manifest = &entry.manifest;
    let labels = model_labels(&manifest.models);
    RunLine {
        entry,
        title: subject::run_title(manifest),
        models: subject::labelled(manifest, &labels),
        tasks: manifest.tasks.iter().map(|t| t.id.clone()).collect(),
        settings: subject::chosen_settings(manifest),
        score: entry.summary.as_ref().and_then(summary::in_short),
    }
}

fn holds(line: &RunLine, words: &str) -> bool {
    let text = [
        &line.title,
        &line.entry.name,
        &line.entry.manifest.id,
        &line.entry.manifest.created,
        &line.models.join(" "),
        &line.tasks.join(" "),
        &line.settings.join(" "),
        state(line.entry),
    ]
    .join(" ")
    .to_lowercase();
    words.split_whitespace().all(|word| text.contains(word))
}

fn compare(a: &RunLine, b: &RunLine, column: RunColumn) -> Ordering {
    let score = |line: &RunLine| line.score.as_ref().map_or(f64::NEG_INFINITY, |s| s.key);
    let begun = a.entry.manifest.created.cmp(&b.entry.manifest.created);
    let order = match column {
        RunColumn::Begun => Ordering::Equal,
        RunColumn::Run => a.title.cmp(&b.title),
        RunColumn::Models => a.models.cmp(&b.models),
        RunColumn::Tasks => a.tasks.len().cmp(&b.tasks.len()),
        RunColumn::Score => score(a).total_cmp(&score(b)),
        RunColumn::Samples => a.entry.samples.cmp(&b.entry.samples),
        RunColumn::State => state(a.entry).cmp(state(b.entry)),
        RunColumn::Size => a.entry.bytes.cmp(&b.entry.bytes),
    };
    order.then(begun)
}

pub(super) fn state(entry: &RunEntry) -> &'static str {
    match entry.complete {
        true => "complete",
        false => "going on or stopped",
    }
}

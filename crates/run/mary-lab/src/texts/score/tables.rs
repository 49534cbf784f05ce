//! Tidy tables of a scored file, in its order, read from the run folder to keep memory bounded.

use std::io;
use std::ops::Range;

use mary_contract::{ContinuationScore, Exchange, Response, Sample, Task as _};
use mary_store::{RunFolder, Seeker};

use super::words::{self, Word};
use super::{Beginning, Part, ScoreOptions, ScoreTask, Text, bits, verdict};
use crate::texts::InstrumentError;
use crate::texts::material::sample_id;
use crate::texts::table::{Cell, Head, Type};
use crate::texts::top::told;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// A text of the file.
    Text,
    /// A minimal pair of texts.
    Pair,
    /// A word of a text.
    Word,
    /// A region of interest.
    Region,
    /// A token of a text.
    Token,
}

impl By {
    /// The tables that a task can fill.
    pub fn of(options: &ScoreOptions) -> Vec<Self> {
        let mut all = vec![Self::Text, Self::Word, Self::Token];
        if options.pair.is_some() {
            all.push(Self::Pair);
        }
        if options.region.is_some() || options.marks.is_some() {
            all.push(Self::Region);
        }
        all.sort_unstable();
        all
    }

    /// Its name for files: `texts`, `words` …
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "texts",
            Self::Pair => "pairs",
            Self::Word => "words",
            Self::Region => "regions",
            Self::Token => "tokens",
        }
    }

    /// The columns that it has whatever is asked for.
    fn columns(self) -> impl Iterator<Item = (&'static str, Type)> {
        let tables = include_str!("columns.txt").lines();
        let own = tables.filter_map(move |line| line.strip_prefix(self.name())?.strip_prefix(' '));
        let columns = own.flat_map(|columns| columns.split(' '));
        columns
            .filter_map(|column| column.split_once(':'))
            .map(|(name, kind)| match kind {
                "number" => (name, Type::Number),
                "count" => (name, Type::Count),
                "flag" => (name, Type::Flag),
                _ => (name, Type::Text),
            })
    }

    /// Names and types of its columns.
    pub fn head(self, options: &ScoreOptions) -> Head {
        let mut head: Vec<(&str, Type)> = vec![("model", Type::Text), ("id", Type::Text)];
        let kept = head.len();
        if self != Self::Pair && options.pair.is_some() {
            head.push(("part", Type::Text));
        }
        head.extend(self.columns());
        if options.correction && matches!(self, Self::Word | Self::Region) {
            let corrected = ["logprob_corrected", "surprisal_corrected"];
            head.extend(corrected.map(|name| (name, Type::Number)));
        }
        if options.entropy && matches!(self, Self::Token | Self::Word) {
            head.push(("entropy", Type::Number));
        }
        if options.rank && matches!(self, Self::Token | Self::Word) {
            head.push(("rank", Type::Count));
        }
        if options.compare {
            head.push(("start_convention", Type::Text));
        }
        head.extend([("start_token", Type::Text), ("scoring", Type::Text)]);
        let mut head: Head = head.into_iter().map(|(n, t)| (n.to_owned(), t)).collect();
        if self == Self::Word {
            let told = head.len() - 2 - usize::from(options.compare);
            let mut more: Head = Vec::new();
            if options.predictors {
                more.push(("length".to_owned(), Type::Count));
                more.push(("frequency".to_owned(), Type::Number));
            }
            let next = 1..=options.next;
            more.extend(next.map(|n| (format!("surprisal_next_{n}"), Type::Number)));
            for n in 1..=options.top {
                more.push((format!("top_{n}"), Type::Text));
                more.push((format!("top_{n}_p"), Type::Number));
            }
            head.splice(told..told, more);
        }
        let columns = options.keep.iter().map(|name| (name.clone(), Type::Text));
        head.splice(kept..kept, columns);
        head
    }
}

/// What came of reading a run into tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tables {
    /// Texts or pairs with a score, over all models.
    pub scored: usize,
    /// Texts or pairs that failed, over all models.
    pub failed: usize,
    /// Those that are not answered yet.
    pub missing: usize,
    /// Texts whose tokens could not be laid onto them, so that they have no words.
    pub without_words: usize,
}

/// Gets the rows of each table.
pub type Sink<'a> = &'a mut dyn FnMut(By, Vec<Cell>) -> io::Result<()>;

/// Reads a run of the task into the wanted tables.
pub fn tables(
    task: &ScoreTask,
    folder: &RunFolder,
    wanted: &[By],
    sink: Sink<'_>,
) -> Result<Tables, InstrumentError> {
    let logged = folder.finished_ids()?;
    let models = &folder.manifest().models;
    let names: Vec<String> = models.iter().map(|m| m.model.to_string()).collect();
    let mut seeker: Seeker = folder.seeker()?;
    let mut done = Tables::default();
    for (at, card) in models.iter().enumerate() {
        let called = card.label.as_deref().unwrap_or(&names[at]);
        // The convention stands beside every score.
        let scoring = card.conventions.get("scoring");
        let scoring = scoring.map_or("chain rule", String::as_str);
        let begins = task.options().beginnings(card);
        for text in task.texts()? {
            let text = text?;
            let id = sample_id(&names[at], &task.card().id, &text.id);
            let Some(offset) = logged.offset(&id)? else {
                done.missing += 1;
                continue;
            };
            let sample = seeker.sample(offset)?;
            for begin in &begins {
                let mut rows = Rows {
                    options: task.options(),
                    model: called,
                    begin,
                    scoring,
                    text: &text,
                    wanted,
                    sink: &mut *sink,
                    done: &mut done,
                };
                rows.of(&sample, begin.which)
                    .map_err(|source| InstrumentError::Write {
                        path: "table".into(),
                        source,
                    })?;
            }
        }
    }
    Ok(done)
}

/// The rows of one text of one model.
struct Rows<'a, 'b> {
    options: &'a ScoreOptions,
    model: &'a str,
    /// What stood before the text.
    begin: &'a Beginning,
    scoring: &'a str,
    text: &'a Text,
    wanted: &'a [By],
    sink: &'a mut (dyn FnMut(By, Vec<Cell>) -> io::Result<()> + 'b),
    done: &'a mut Tables,
}

/// A word without the punctuation that touches it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Characters of a word, without the punctuation that touches it.
pub(crate) fn length(word: &str) -> usize {
    bare(word).chars().count()
}

/// Zipf's frequency of a word, without punctuation and in lower case.
pub(crate) fn frequency(known: &mary_embodied::Norms, word: &str) -> Option<f64> {
    known.frequency(&bare(word).to_lowercase())
}

fn surprisal(logprob: Option<f64>) -> Cell {
    logprob.map(|x| -bits(x)).into()
}

/// A range in bytes of the text, given in bytes of the continuation.
fn shown(place: &Range<usize>, shift: usize) -> [Cell; 2] {
    [
        place.start.saturating_sub(shift).into(),
        place.end.saturating_sub(shift).into(),
    ]
}

impl Rows<'_, '_> {
    fn wants(&self, by: By) -> bool {
        self.wanted.contains(&by)
    }

    /// The columns that every table begins with.
    fn begin(&self, part: Option<&Part>) -> Vec<Cell> {
        let mut cells = vec![self.model.into(), self.text.id.as_str().into()];
        cells.extend(self.text.kept.iter().map(|k| k.as_str().into()));
        if let Some(part) = part
            && self.options.pair.is_some()
        {
            cells.push(part.name.into());
        }
        cells
    }

    fn put(&mut self, by: By, mut cells: Vec<Cell>) -> io::Result<()> {
        if self.options.compare {
            cells.push(self.begin.conventions.as_str().into());
        }
        cells.extend([self.begin.token.as_str().into(), self.scoring.into()]);
        (self.sink)(by, cells)
    }

    /// Rows of one of the sample's questions, of which there are as many as start tokens.
    fn of(&mut self, sample: &Sample, which: usize) -> io::Result<()> {
        let asked = sample.exchanges.get(which);
        let answer = asked.and_then(|e| e.reply.as_ref().ok());
        let scores = match answer.map(|r| &r.answer) {
            Some(Response::Scored(s)) if s.continuations.len() == self.text.parts.len() => {
                s.continuations.as_slice()
            }
            _ => &[],
        };
        let outcome = &sample.judgement.outcome;
        let outcome = outcome.reason().unwrap_or(outcome.name()).to_owned();
        match (which, scores.is_empty()) {
            (0, true) => self.done.failed += 1,
            (0, false) => self.done.scored += 1,
            _ => {}
        }
        let text = self.text;
        let starts = self.options.starts().len();
        let mut likeliest = sample.exchanges.get(starts..).unwrap_or_default();
        for (at, part) in text.parts.iter().enumerate() {
            let words = part.word_places().len();
            let (own, later) = likeliest.split_at(words.min(likeliest.len()));
            likeliest = later;
            self.part(part, scores.get(at), (&outcome, own))?;
        }
        if self.wants(By::Pair)
            && let [good, bad] = text.parts.as_slice()
        {
            self.pair(good, bad, scores, &outcome)?;
        }
        Ok(())
    }

    fn part(
        &mut self,
        part: &Part,
        score: Option<&ContinuationScore>,
        (outcome, likeliest): (&str, &[Exchange]),
    ) -> io::Result<()> {
        let tokens = score.and_then(|s| words::token_places(&part.continuation, s));
        if score.is_some() && tokens.is_none() {
            self.done.without_words += 1;
        }
        if self.wants(By::Text) {
            self.text(part, (score, tokens.as_deref()), outcome)?;
        }
        let (Some(score), Some(tokens)) = (score, tokens) else {
            return Ok(());
        };
        if self.wants(By::Word) {
            let places = part.word_places();
            let found = words::scored_in(&part.continuation, &places, &tokens, score);
            for at in 0..found.len() {
                self.word(part, at, &found, (score, likeliest.get(at)))?;
            }
        }
        if self.wants(By::Region) {
            for (at, region) in part.regions.iter().enumerate() {
                self.region(part, at, region, (&tokens, score))?;
            }
        }
        if self.wants(By::Token) {
            self.tokens(part, &tokens, score)?;
        }
        Ok(())
    }

    fn text(
        &mut self,
        part: &Part,
        (score, tokens): (Option<&ContinuationScore>, Option<&[Range<usize>]>),
        outcome: &str,
    ) -> io::Result<()> {
        let count = part.word_places().len();
        let sum = score.map(ContinuationScore::sum);
        let per_word = score.and_then(|score| match score.first_unscored {
            false => Some(score.sum() / count.max(1) as f64),
            // The first word has no score: the mean is over the others.
            true => {
                let places = part.word_places();
                words::mean(&words::scored_in(
                    &part.continuation,
                    &places,
                    tokens?,
                    score,
                ))
            }
        });
        let mean = score.and_then(ContinuationScore::mean);
        let flag = |told: fn(&ContinuationScore) -> bool| Cell::from(score.map(told));
        let mut cells = self.begin(Some(part));
        cells.extend([
            part.text.as_str().into(),
            count.into(),
            score.map(|s| s.tokens.len()).into(),
            sum.into(),
            surprisal(sum),
            surprisal(mean),
            surprisal(per_word),
            flag(|s| s.first_unscored),
            flag(|s| s.boundary_merged),
            flag(|s| s.windowed),
            outcome.into(),
        ]);
        self.put(By::Text, cells)
    }

    fn pair(
        &mut self,
        good: &Part,
        bad: &Part,
        scores: &[ContinuationScore],
        outcome: &str,
    ) -> io::Result<()> {
        let mut cells = self.begin(None);
        cells.extend([good.text.as_str().into(), bad.text.as_str().into()]);
        match scores {
            [a, b] => {
                let margin = a.sum() - b.sum();
                let per_token = a.mean().zip(b.mean()).map(|(a, b)| a - b);
                cells.extend([
                    Cell::from(verdict(margin)),
                    margin.into(),
                    a.sum().into(),
                    b.sum().into(),
                    a.tokens.len().into(),
                    b.tokens.len().into(),
                    per_token.into(),
                ]);
            }
            _ => cells.extend([const { Cell::Null }; 7]),
        }
        cells.push(outcome.into());
        self.put(By::Pair, cells)
    }

    fn word(
        &mut self,
        part: &Part,
        at: usize,
        all: &[Word],
        (score, likeliest): (&ContinuationScore, Option<&Exchange>),
    ) -> io::Result<()> {
        let Some(word) = all.get(at) else {
            return Ok(());
        };
        // Of its first token, which decides how the word goes on: how open it was, and how near the front.
        let first = word.plain.map(|_| word.tokens.start);
        let details = score.details.as_ref().zip(first);
        let mut cells = self.begin(Some(part));
        let spelled = part.continuation.get(word.place.clone()).unwrap_or("");
        cells.extend([Cell::from(at + 1), spelled.into()]);
        cells.extend(shown(&word.place, part.shift()));
        cells.push(word.tokens.len().into());
        cells.extend([word.plain.into(), surprisal(word.plain)]);
        if self.options.correction {
            cells.extend([word.corrected.into(), surprisal(word.corrected)]);
        }
        if self.options.entropy {
            let entropy = details.and_then(|(d, at)| d.entropy.get(at));
            cells.push(entropy.map(|&e| bits(f64::from(e))).into());
        }
        if self.options.rank {
            let rank = details.and_then(|(d, at)| d.rank.get(at));
            cells.push(rank.copied().into());
        }
        if self.options.predictors {
            cells.push(length(spelled).into());
            let known = self.options.frequency.as_ref();
            cells.push(known.and_then(|known| frequency(known, spelled)).into());
        }
        for next in 1..=self.options.next {
            let next = all.get(at + next).and_then(|word| word.plain);
            cells.push(surprisal(next));
        }
        let reply = likeliest.and_then(|e| e.reply.as_ref().ok());
        let told = reply.and_then(told).unwrap_or_default();
        for n in 0..self.options.top as usize {
            let (token, p) = told.get(n).cloned().unzip();
            cells.extend([Cell::from(token), p.into()]);
        }
        self.put(By::Word, cells)
    }

    fn region(
        &mut self,
        part: &Part,
        at: usize,
        region: &Range<usize>,
        (tokens, score): (&[Range<usize>], &ContinuationScore),
    ) -> io::Result<()> {
        let inside = region.start + part.shift()..region.end + part.shift();
        // A token belongs to the region that holds its first byte that is not white space.
        let first_byte = |token: &Range<usize>| {
            let text = part.continuation.get(token.clone()).unwrap_or("");
            let space = text.len() - text.trim_start().len();
            if space < text.len() {
                token.start + space
            } else {
                token.end
            }
        };
        let first = tokens.partition_point(|t| first_byte(t) < inside.start);
        let last = tokens.partition_point(|t| first_byte(t) < inside.end);
        let of = first..last;
        let cut = score.first_unscored && inside.start == part.shift();
        let held = score.logprobs.get(of.clone()).unwrap_or_default();
        let sum: f64 = held.iter().map(|&x| f64::from(x)).sum();
        let sum = (!of.is_empty() && !cut).then_some(sum);
        let corrected = words::correction(&part.continuation, score, &of);
        let corrected = sum.zip(corrected).map(|(sum, by)| sum + by);
        let mut cells = self.begin(Some(part));
        let spelled = part.text.get(region.clone()).unwrap_or("");
        cells.extend([Cell::from(at + 1), spelled.into()]);
        cells.extend(shown(&inside, part.shift()));
        cells.push(of.len().into());
        cells.extend([sum.into(), surprisal(sum)]);
        if self.options.correction {
            cells.extend([corrected.into(), surprisal(corrected)]);
        }
        self.put(By::Region, cells)
    }

    fn tokens(
        &mut self,
        part: &Part,
        tokens: &[Range<usize>],
        score: &ContinuationScore,
    ) -> io::Result<()> {
        let words = part.word_places();
        let of = words::of_tokens(&words, tokens);
        // A first token without a score keeps its number.
        let before = usize::from(score.first_unscored) + 1;
        for (at, (token, &logprob)) in score.tokens.iter().zip(&score.logprobs).enumerate() {
            let mut cells = self.begin(Some(part));
            cells.extend([Cell::from(at + before), token.as_str().into()]);
            let place = tokens.get(at).cloned().unwrap_or_default();
            cells.extend(shown(&place, part.shift()));
            let word = of.get(at).copied().flatten();
            cells.push(word.map(|w| w + 1).into());
            let logprob = Some(f64::from(logprob));
            cells.extend([logprob.into(), surprisal(logprob)]);
            let told = score.details.as_ref();
            if self.options.entropy {
                let entropy = told.and_then(|d| d.entropy.get(at));
                cells.push(entropy.map(|&e| bits(f64::from(e))).into());
            }
            if self.options.rank {
                cells.push(told.and_then(|d| d.rank.get(at)).copied().into());
            }
            self.put(By::Token, cells)?;
        }
        Ok(())
    }
}

//! What a predictor adds to the baseline, word by word.

use std::collections::{BTreeMap, BTreeSet};

use mary_stats::difference::{ScoreRange, compare};
use mary_stats::held_out::{HeldOutVariance, held_out, regression, smooth};
use mary_stats::intervals::mean_clustered_t;
use mary_stats::mixed::{self, Criterion, Formula};
use mary_stats::multiple::holm;
use mary_stats::{Interval, LEVEL, StatsError};
use serde::Serialize;

use super::data::{Predictor, ReadWord, Reading};

/// How rows are dealt into folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folds {
    /// Whole sentences in turn, into so many folds (or as many as there are sentences).
    Sentences(usize),
    /// So many stretches of rows, as they stand.
    Rows(usize),
}

/// How the analysis is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which words' properties explain a measure: 0 is the word itself, 1 the one before it …
    pub lags: Vec<usize>,
    /// How rows are held out.
    pub folds: Folds,
    /// The variance of held-out rows.
    pub variance: HeldOutVariance,
    /// Only measures of words of letters alone: nothing that touches punctuation.
    pub letters_only: bool,
    /// Whether rows are taken by their lines and not by sentence and place.
    pub by_line: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lags: vec![0],
            folds: Folds::Sentences(10),
            variance: HeldOutVariance::Fitted,
            letters_only: false,
            by_line: false,
        }
    }
}

/// A predictor's own slope in the regression of all rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slope {
    /// How many words before.
    pub lag: usize,
    /// Change of the measure for one unit.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Two-sided p-value of no slope.
    pub p: f64,
}

/// What one predictor adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Added {
    /// The predictor.
    pub name: String,
    /// Its mean over all words that have one: for surprisal, the base-2 logarithm of perplexity.
    pub mean: f64,
    /// Log-likelihood of all rows with it.
    pub log_likelihood: f64,
    /// Slopes of the regression of all rows, by lag.
    pub slopes: Vec<Slope>,
    /// Gain in held-out log-likelihood a word, in nats.
    pub gain: Interval,
    /// The same where its effect may be curved.
    pub curved: Option<Interval>,
    /// Held-out log-likelihood of each row.
    #[serde(skip)]
    pub held_out: Vec<f64>,
    /// What a mixed model of each person's measures says.
    pub persons: Option<OfPersons>,
}

/// A mixed model of each person's measures, with random intercepts of persons and sentences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfPersons {
    /// Measures.
    pub rows: usize,
    /// Slope for the word itself (the first lag), with Wald's error.
    pub slope: Slope,
    /// Likelihood-ratio test against the baseline: statistic, degrees of freedom, p.
    pub test: (f64, usize, f64),
    /// Whether a spread is zero.
    pub singular: bool,
    /// Whether the search settled.
    pub converged: bool,
}

/// Two predictors on the same words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Names of both.
    pub names: (String, String),
    /// Difference of their gains a word, in nats.
    pub value: f64,
    /// Its interval, clustered by sentence.
    pub bounds: Option<(f64, f64)>,
    /// p-value, corrected for the number of comparisons (Holm).
    pub p: Option<f64>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Words whose measure counts: the same for all predictors.
    pub words: usize,
    /// Sentences or texts they stand in.
    pub sentences: usize,
    /// What the baseline is made of.
    pub baseline: Vec<String>,
    /// Log-likelihood of all rows under the baseline.
    pub log_likelihood: f64,
    /// Mean held-out log-likelihood of a word under the baseline, in nats.
    pub held_out: f64,
    /// Held-out log-likelihood of each row under the baseline.
    #[serde(skip)]
    pub baseline_rows: Vec<f64>,
    /// Fold of each row.
    #[serde(skip)]
    pub folds: Vec<usize>,
    /// By predictor, in the order given.
    pub added: Vec<Added>,
    /// Every two of them.
    pub compared: Vec<Compared>,
}

/// The rows of an analysis: for each, the words at the lags, the first of which is the nearest.
struct Rows<'a> {
    reading: &'a Reading,
    words: Vec<(&'a ReadWord, Vec<usize>)>,
    with_frequency: bool,
}

impl Rows<'_> {
    fn measure(&self) -> Vec<f64> {
        let all = self.words.iter();
        all.filter_map(|(word, _)| word.measure).collect()
    }

    fn column(&self, lag: usize, of: impl Fn(usize, &ReadWord) -> Option<f64>) -> Vec<f64> {
        let value = |(_, before): &(&ReadWord, Vec<usize>)| {
            let at = before[lag];
            of(at, &self.reading.words[at]).unwrap_or(0.0)
        };
        self.words.iter().map(value).collect()
    }

    /// Length, frequency and place of the nearest word with their products, then length and frequency of the others.
    fn baseline(&self, lags: &[usize]) -> (Vec<String>, Vec<Vec<f64>>) {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (at, lag) in lags.iter().enumerate() {
            let own = columns.len();
            let called = |what: &str| match lag {
                0 => what.to_owned(),
                n => format!("{what} {n} before"),
            };
            names.push(called("length"));
            columns.push(self.column(at, |_, w| Some(w.length)));
            if self.with_frequency {
                names.push(called("frequency"));
                columns.push(self.column(at, |_, w| w.frequency));
            }
            if at > 0 {
                continue;
            }
            names.push(called("position"));
            columns.push(self.column(at, |_, w| Some(w.place as f64)));
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                if let (Some(x), Some(y)) = (columns.get(own + a), columns.get(own + b)) {
                    let product = x.iter().zip(y).map(|(x, y)| x * y).collect();
                    names.push(format!("{} × {}", names[own + a], names[own + b]));
                    columns.push(product);
                }
            }
        }
        (names, columns)
    }
}

/// Fits the baseline and, for each predictor, the baseline with it, on the words for which everything is known.
pub fn analyse(
    reading: &Reading,
    predictors: &[Predictor],
    settings: &Settings,
) -> Result<Analysis, StatsError> {
    let rows = rows(reading, predictors, settings);
    let y = rows.measure();
    if y.is_empty() {
        return Err(StatsError::TooFew {
            what: "words with a measure and all predictors",
            needed: 10,
            found: 0,
        });
    }
    let (baseline, columns) = rows.baseline(&settings.lags);
    let sentences: Vec<usize> = rows.words.iter().map(|(w, _)| w.sentence).collect();
    let distinct: BTreeSet<usize> = sentences.iter().copied().collect();
    let folds = folds(settings.folds, &sentences, &distinct);
    let without = held_out(&columns, &y, &folds, settings.variance)?;
    let gained = |with: &[f64]| {
        let gains: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
        mean_clustered_t(&gains, &sentences, LEVEL)
    };
    let mut added: Vec<Added> = Vec::new();
    for predictor in predictors {
        let own: Vec<Vec<f64>> = (0..settings.lags.len())
            .map(|at| rows.column(at, |word, _| predictor.values[word]))
            .collect();
        let all = [columns.clone(), own.clone()].concat();
        let fitted = regression(&all, &y)?;
        let slopes = settings.lags.iter().enumerate().map(|(at, lag)| Slope {
            lag: *lag,
            value: fitted.slopes[columns.len() + at],
            error: fitted.errors[columns.len() + at],
            p: fitted.p[columns.len() + at],
        });
        let with = held_out(&all, &y, &folds, settings.variance)?;
        let mut curved = columns.clone();
        for column in &own {
            curved.extend(smooth(column)?);
        }
        let curved = held_out(&curved, &y, &folds, settings.variance);
        let known: Vec<f64> = predictor.values.iter().flatten().copied().collect();
        added.push(Added {
            name: predictor.name.clone(),
            mean: known.iter().sum::<f64>() / known.len().max(1) as f64,
            log_likelihood: fitted.log_likelihood,
            slopes: slopes.collect(),
            gain: gained(&with)?,
            curved: curved.ok().and_then(|held| gained(&held).ok()),
            held_out: with,
            persons: match reading.persons.len() > 1 {
                true => Some(of_persons(&rows, &columns, &own, settings)?),
                false => None,
            },
        });
    }
    Ok(Analysis {
        words: y.len(),
        sentences: distinct.len(),
        baseline,
        log_likelihood: regression(&columns, &y)?.log_likelihood,
        held_out: without.iter().sum::<f64>() / without.len() as f64,
        compared: compared(&added, &sentences)?,
        baseline_rows: without,
        folds,
        added,
    })
}

/// The words for which measure, baseline and predictors are known at all lags.
fn rows<'a>(reading: &'a Reading, predictors: &[Predictor], settings: &Settings) -> Rows<'a> {
    let places: BTreeMap<(usize, usize), usize> = reading
        .words
        .iter()
        .enumerate()
        .map(|(at, word)| ((word.sentence, word.place), at))
        .collect();
    let with_frequency = reading.words.iter().any(|word| word.frequency.is_some());
    let known = |at: &usize| {
        let word = &reading.words[*at];
        (word.frequency.is_some() || !with_frequency)
            && predictors.iter().all(|p| p.values[*at].is_some())
    };
    let mut words: Vec<(&ReadWord, Vec<usize>)> = Vec::new();
    for word in &reading.words {
        let letters = word.word.chars().all(char::is_alphabetic);
        if word.measure.is_none() || (settings.letters_only && !letters) {
            continue;
        }
        let before = settings.lags.iter().map(|lag| {
            let place = word.place.checked_sub(*lag)?;
            let at = places.get(&(word.sentence, place));
            at.copied().filter(known)
        });
        if let Some(before) = before.collect::<Option<Vec<usize>>>() {
            words.push((word, before));
        }
    }
    if settings.by_line {
        words.sort_by_key(|(word, _)| word.line);
    }
    Rows {
        reading,
        words,
        with_frequency,
    }
}

fn folds(folds: Folds, sentences: &[usize], distinct: &BTreeSet<usize>) -> Vec<usize> {
    match folds {
        Folds::Sentences(count) => {
            let count = count.clamp(2, distinct.len().max(2));
            let order: BTreeMap<usize, usize> = distinct
                .iter()
                .enumerate()
                .map(|(at, s)| (*s, at))
                .collect();
            sentences.iter().map(|s| order[s] % count).collect()
        }
        Folds::Rows(count) => {
            // The first stretches are a row longer where rows do not divide evenly.
            let (n, count) = (sentences.len(), count.max(2));
            let (each, longer) = (n / count, n % count);
            let sizes = (0..count).map(|fold| each + usize::from(fold < longer));
            sizes
                .enumerate()
                .flat_map(|(fold, size)| std::iter::repeat_n(fold, size))
                .collect()
        }
    }
}

fn compared(added: &[Added], sentences: &[usize]) -> Result<Vec<Compared>, StatsError> {
    let mut found = Vec::new();
    for (at, first) in added.iter().enumerate() {
        for second in &added[at + 1..] {
            let (a, b) = (&first.held_out, &second.held_out);
            let difference = compare(a, b, Some(sentences), ScoreRange::Unbounded)?;
            found.push(Compared {
                names: (first.name.clone(), second.name.clone()),
                value: difference.value,
                bounds: difference.bounds,
                p: difference.p,
            });
        }
    }
    let given: Vec<f64> = found.iter().filter_map(|c| c.p).collect();
    let mut corrected = holm(&given).unwrap_or_default().into_iter();
    for one in found.iter_mut().filter(|c| c.p.is_some()) {
        one.p = corrected.next();
    }
    Ok(found)
}

/// The same rows, person by person.
fn of_persons(
    rows: &Rows<'_>,
    baseline: &[Vec<f64>],
    own: &[Vec<f64>],
    settings: &Settings,
) -> Result<OfPersons, StatsError> {
    let each = || {
        let words = rows.words.iter().enumerate();
        words.flat_map(|(at, (word, _))| word.trials.iter().map(move |t| (at, word.sentence, *t)))
    };
    let mut table = mixed::Table::new();
    table.numbers("y", each().map(|(.., (_, value))| value))?;
    table.words("person", each().map(|(.., (person, _))| person.to_string()))?;
    table.words(
        "sentence",
        each().map(|(_, sentence, _)| sentence.to_string()),
    )?;
    let mut names = vec!["1".to_owned()];
    for (at, column) in baseline.iter().chain(own).enumerate() {
        let values: Vec<f64> = each().map(|(row, ..)| column[row]).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        // The baseline is put on one scale, which the search likes and no slope of interest depends on.
        let scale = if at < baseline.len() {
            variance.sqrt().max(1e-12)
        } else {
            1.0
        };
        names.push(format!("x{at}"));
        table.numbers(&format!("x{at}"), values.iter().map(|x| (x - mean) / scale))?;
    }
    let fit = |count: usize| {
        let fixed = names[..=count].join(" + ");
        let formula = Formula::parse(&format!("y ~ {fixed} + (1 | person) + (1 | sentence)"))?;
        mixed::linear(&formula.design(&table)?, Criterion::Ml)
    };
    let (smaller, found) = (fit(baseline.len())?, fit(names.len() - 1)?);
    let first = baseline.len() + 1;
    Ok(OfPersons {
        rows: found.rows,
        slope: Slope {
            lag: settings.lags.first().copied().unwrap_or(0),
            value: found.estimates[first],
            error: found.errors[first],
            p: found.p(first).unwrap_or(1.0),
        },
        test: found.against(&smaller)?,
        singular: found.singular,
        converged: found.converged,
    })
}

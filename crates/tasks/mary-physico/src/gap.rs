//! The parrot gap: how much better a model does on a concept in words (low level) than on the same
//! concept with the same option sets in grids (high level).

use mary_contract::{Cell, Estimate, Figure, Point, RunSummary, Series, Table};
use mary_stats::{Interval, difference, score_interval};

use crate::published::DECLARED;
use crate::results::{Outcome, outcomes, printed};
use crate::setup::InstanceSource;
use crate::worlds::Split;

#[derive(Debug, Clone, PartialEq)]
pub struct ConceptGap {
    /// `core: gravity`.
    pub pair: String,
    /// Accuracy in words.
    pub low: Estimate,
    /// Accuracy in grids.
    pub high: Estimate,
    pub difference: Estimate,
}

/// One model, low against high, under one way of asking the high level.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    pub model: String,
    pub task: String,
    pub how: String,
    /// The low-level task it is held against: definitions or photographs.
    pub against: String,
    pub concepts: Vec<ConceptGap>,
    pub low: f64,
    pub high: f64,
    /// Mean of the concepts' differences, with its interval over concepts where there are enough.
    pub overall: (f64, Option<Estimate>),
}

impl Gap {
    /// The cells with which its rows begin.
    fn heads(&self) -> Vec<Cell> {
        let said: [&str; 4] = [&self.model, &self.task, &self.how, short(&self.against)];
        said.map(Cell::from).to_vec()
    }
}

/// The low-level tasks whose option sets are those of grids.
const LOW: [&str; 2] = ["physico/definition", "physico/photo"];

/// High-level outcomes with fresh instances, and for each low-level task what was asked of the same model
/// with the same seed, so that the option sets are the same.
fn low_and_high<'o, 'r>(
    all: &'o [Outcome<'r>],
) -> impl Iterator<Item = (&'o Outcome<'r>, &'static str, Vec<&'o Outcome<'r>>)> {
    let fresh = |o: &&Outcome<'_>| o.is_high() && o.setup.source == InstanceSource::Fresh;
    let fresh = all.iter().filter(fresh);
    let pairs = fresh.flat_map(|o| LOW.map(|task| (o, task)));
    pairs.map(|(high, task)| {
        let same = |o: &&Outcome<'_>| {
            o.task() == task && o.model() == high.model() && o.setup.seed == high.setup.seed
        };
        (high, task, all.iter().filter(same).collect())
    })
}

/// Every gap the runs hold: definitions, and photographs where there are any, against each high-level task
/// with fresh instances of the same seed, whose option sets are then the same.
pub fn parrot_gaps(runs: &[RunSummary]) -> Vec<Gap> {
    let all = outcomes(runs);
    let gaps = low_and_high(&all).filter_map(|(high, _, lows)| {
        // Words scored by letter and words written are different questions: only the same way counts.
        let low = lows.iter().find(|o| o.setup.mode == high.setup.mode);
        gap(low?, high)
    });
    gaps.collect()
}

/// High-level tasks that have no gap because the low level was asked of the same model and seed, but
/// another way.
pub fn left_out(runs: &[RunSummary]) -> Option<Table> {
    let all = outcomes(runs);
    let rows = low_and_high(&all).filter_map(|(high, task, lows)| {
        let otherwise = lows.iter().all(|o| o.setup.mode != high.setup.mode);
        let how: Vec<String> = lows.iter().map(|o| o.how()).collect();
        let (model, asked) = (high.model().to_owned(), high.task().to_owned());
        let (against, how) = (short(task).to_owned(), how.join("; "));
        let row = vec![model, asked, high.how(), against, how];
        (otherwise && !lows.is_empty()).then_some(row)
    });
    DECLARED.rows("physico-parrot-gap-left-out", Cell::rows(rows.collect()))
}

fn gap(low: &Outcome<'_>, high: &Outcome<'_>) -> Option<Gap> {
    let mut concepts = Vec::new();
    for pair in high.values("pair") {
        let (Some(l), Some(h)) = (low.part("pair", pair), high.part("pair", pair)) else {
            continue;
        };
        concepts.push(ConceptGap {
            pair: pair.to_owned(),
            // Definition and grids are different questions.
            difference: l.estimate.minus(&h.estimate),
            low: l.estimate,
            high: h.estimate,
        });
    }
    if concepts.is_empty() {
        return None;
    }
    let mean =
        |of: fn(&ConceptGap) -> f64| concepts.iter().map(of).sum::<f64>() / concepts.len() as f64;
    let (low_mean, high_mean) = (mean(|c| c.low.value), mean(|c| c.high.value));
    let differences: Vec<f64> = concepts.iter().map(|c| c.difference.value).collect();
    let overall = over_concepts(&differences)?;
    Some(Gap {
        model: high.model().to_owned(),
        task: high.task().to_owned(),
        how: high.how(),
        against: low.task().to_owned(),
        low: low_mean,
        high: high_mean,
        overall,
        concepts,
    })
}

/// The mean over concepts with its interval, which needs [`difference::FEWEST`] of them.
pub(crate) fn over_concepts(differences: &[f64]) -> Option<(f64, Option<Estimate>)> {
    let (value, bounds) = difference::over_units(differences).ok()?;
    Some((value, bounds.map(|i| estimate_of(&i))))
}

pub(crate) fn estimate_of(i: &Interval) -> Estimate {
    Estimate::new(i.value, (i.low, i.high), i.n, i.method)
}

/// A mean difference over concepts; fewer than [`difference::FEWEST`] have no interval, and the cell says so.
pub(crate) fn mean_cell((value, estimate): &(f64, Option<Estimate>), concepts: usize) -> Cell {
    match estimate {
        Some(estimate) => Cell::points(estimate, 1).over("concepts"),
        None => Cell::too_few(format!("{:+.1}", 100.0 * value), concepts, "concepts"),
    }
}

/// The mean of the concepts' accuracies, with an interval over concepts from five on.
pub(crate) fn average_cell(values: &[f64]) -> Cell {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    match score_interval(values, None) {
        Ok(i) if values.len() >= difference::FEWEST => {
            Cell::percent(&estimate_of(&i), 1).over("concepts")
        }
        _ => Cell::too_few(printed(100.0 * mean, None), values.len(), "concepts"),
    }
}

pub fn overall_table(gaps: &[Gap]) -> Option<Table> {
    let rows = gaps.iter().map(|g| {
        let mean = |of: fn(&ConceptGap) -> f64| {
            average_cell(&g.concepts.iter().map(of).collect::<Vec<f64>>())
        };
        let mut row = g.heads();
        row.push(Cell::count(g.concepts.len()));
        row.extend([mean(|c| c.low.value), mean(|c| c.high.value)]);
        row.push(mean_cell(&g.overall, g.concepts.len()));
        row
    });
    DECLARED.rows("physico-parrot-gap", rows)
}

pub fn concept_table(gaps: &[Gap]) -> Option<Table> {
    let mut rows = Vec::new();
    for gap in gaps {
        let mut concepts: Vec<&ConceptGap> = gap.concepts.iter().collect();
        concepts.sort_by(|a, b| b.difference.value.total_cmp(&a.difference.value));
        for c in concepts {
            let mut row = gap.heads();
            row.push(concept_of(&c.pair).into());
            row.extend([Cell::percent(&c.low, 1), Cell::percent(&c.high, 1)]);
            row.push(Cell::points(&c.difference, 1));
            rows.push(row);
        }
    }
    DECLARED.rows("physico-parrot-gap-concepts", rows)
}

fn concept_of(pair: &str) -> &str {
    pair.split_once(": ").map_or(pair, |(_, concept)| concept)
}

pub fn scatter(gaps: &[Gap]) -> Option<Figure> {
    let series = gaps.iter().map(|gap| {
        let (task, against) = (short(&gap.task), short(&gap.against));
        let name = format!("{} ({task} against {against}, {})", gap.model, gap.how);
        let points = gap.concepts.iter().map(|c| {
            Point::new(concept_of(&c.pair), 100.0 * c.high.value)
                .at(100.0 * c.low.value)
                .with_samples(format!("{}|{}|pair={}", gap.model, gap.task, c.pair))
        });
        Series::measured(name, points)
    });
    DECLARED.series("physico-low-high", series)
}

pub fn short(task: &str) -> &str {
    task.strip_prefix("physico/").unwrap_or(task)
}

/// The split of a concept in a table's order: core-test first, as in the paper's Table 10.
pub fn order(pair: &str) -> (usize, String) {
    let concept = concept_of(pair);
    let place = match (pair.starts_with("core"), Split::of_core(concept)) {
        (true, Some(Split::CoreTest)) => 0,
        (true, _) => 1,
        (false, _) => 2,
    };
    (place, concept.to_owned())
}

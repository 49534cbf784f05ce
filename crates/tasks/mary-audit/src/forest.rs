//! The strong learner of an audit: a random forest on the whole surface at once.
//!
//! The simple baselines add up single features; a forest combines them, and finds what only two of
//! them together give away. Where other seeds of the same generator are at hand it learns on those and
//! is tried on the set audited, so that its hits are independent of its training; else the set is split
//! as for the simple baselines. Either way no question is on both sides.

use std::collections::HashSet;

use mary_stats::Moments;
use mary_stats::distributions::normal_cdf;
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;

use crate::features::words;
use crate::sees::sees;
use crate::surface::Surface;
use crate::validation::{Classes, Set};
use crate::{AuditError, AuditSettings, Example, Finding, Form, folds};

/// Rows to learn from at most: a forest on more takes minutes and sees no more.
const MOST_ROWS: usize = 4_000;
/// Items that are tried at most where the set itself is split.
const MOST_ITEMS: usize = 300;
/// Parts of the split where there are no other seeds.
const FOLDS: usize = 5;
const DEPTH: u16 = 12;
const LEAF: usize = 3;

type Forest = RandomForestRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// The groups of columns a forest sees, under the name of its finding.
struct View<'v> {
    name: &'static str,
    keep: Box<dyn Fn(&str) -> bool + 'v>,
    expected: bool,
}

/// One finding for each view: the whole surface, the relations between the parts alone, and, where
/// something is the rule, the surface without it.
pub(crate) fn findings(
    set: &Set<'_>,
    others: &[Vec<Example>],
    form: &Form,
    settings: &AuditSettings,
) -> Result<Vec<Finding>, AuditError> {
    if settings.trees == 0 {
        return Ok(Vec::new());
    }
    let cases = Cases::gather(set, others, form, settings);
    let rule = |group: &str| settings.expected.iter().any(|e| e == group);
    let has_rule = !settings.expected.is_empty();
    let mut views = vec![
        View {
            name: "forest",
            keep: Box::new(|_| true),
            expected: has_rule,
        },
        View {
            name: "forest_relations",
            keep: Box::new(|group| group == "relations"),
            expected: rule("relations"),
        },
    ];
    if has_rule {
        views.push(View {
            name: "forest_without_rule",
            keep: Box::new(move |group| !rule(group)),
            expected: false,
        });
    }
    views.iter().map(|view| cases.finding(view)).collect()
}

/// Names of the groups that a forest sees, so that they can be named as the rule.
pub(crate) const GROUPS: [&str; 3] = ["word_lengths", "letters", "relations"];

/// What is learned from and what is tried, as rows of one surface.
struct Cases<'s> {
    set: &'s Set<'s>,
    settings: &'s AuditSettings,
    surface: Surface,
    /// Right answers of all examples, those of the set first.
    right: Vec<usize>,
    /// How many examples of the surface belong to the set.
    own: usize,
    labels: usize,
    chance: f64,
}

/// Two items with the same words are the same question, in whatever order they stand.
fn identity(example: &Example) -> String {
    let mut bag = words(&example.question);
    if bag.is_empty() {
        bag = example.options.clone();
    }
    bag.sort();
    bag.join(" ")
}

impl<'s> Cases<'s> {
    fn gather(
        set: &'s Set<'s>,
        others: &[Vec<Example>],
        form: &Form,
        settings: &'s AuditSettings,
    ) -> Self {
        let tried = if others.is_empty() {
            MOST_ITEMS
        } else {
            usize::MAX
        };
        let mut all: Vec<&Example> = set.examples.iter().take(tried).collect();
        let own = all.len();
        let mut right: Vec<usize> = set.classes.right.iter().take(own).copied().collect();
        let known: HashSet<String> = all.iter().map(|e| identity(e)).collect();
        let mut rows = 0;
        for other in others {
            let classes = Classes::from_examples(other, form);
            for (example, answer) in other.iter().zip(classes.right) {
                rows += if set.classes.labels {
                    1
                } else {
                    example.options.len()
                };
                if rows <= MOST_ROWS && !known.contains(&identity(example)) {
                    all.push(example);
                    right.push(answer);
                }
            }
        }
        let surface = match form {
            Form::Labels(_) => Surface::of_questions(&all),
            Form::Options => Surface::of_options(&all),
        };
        Self {
            surface,
            right,
            own,
            labels: if set.classes.labels {
                set.classes.names.len()
            } else {
                0
            },
            chance: set.chance_of(own),
            set,
            settings,
        }
    }

    fn finding(&self, view: &View<'_>) -> Result<Finding, AuditError> {
        let columns = self.surface.chosen(&view.keep);
        let (credits, telling) = if columns.is_empty() {
            // Nothing is left to see: a guess.
            (vec![self.chance; self.own], Vec::new())
        } else {
            self.credits(&columns)?
        };
        let mut moments = Moments::new();
        for (credit, group) in credits.iter().zip(&self.set.groups) {
            moments.push_clustered(*credit, *group)?;
        }
        let accuracy = moments.interval()?;
        let above = accuracy.value - self.chance;
        let p = match moments.variance_of_mean() {
            Some(variance) if variance > 0.0 => normal_cdf(-above / variance.sqrt()),
            _ => f64::from(u8::from(above <= 0.0)),
        };
        Ok(Finding {
            baseline: view.name,
            sees: sees(view.name, self.set.classes.labels),
            accuracy,
            chance: self.chance,
            p: p.clamp(1e-12, 1.0),
            p_holm: 1.0,
            beats_chance: false,
            expected: view.expected,
            telling,
        })
    }

    /// Credit of every example of the set, and the columns that the forest relied on.
    fn credits(&self, columns: &[usize]) -> Result<(Vec<f64>, Vec<String>), AuditError> {
        let total = self.right.len();
        if total > self.own {
            let learned: Vec<usize> = (self.own..total).collect();
            let tried: Vec<usize> = (0..self.own).collect();
            return self.tried(columns, &learned, &tried);
        }
        let groups: Vec<usize> = self.set.groups.iter().take(self.own).copied().collect();
        let fold = folds::assign(&groups, &self.right, FOLDS, self.set.seed);
        let mut credits = vec![0.0; self.own];
        let mut telling = Vec::new();
        for part in 0..FOLDS {
            let held_out = |i: &usize| fold.get(*i) == Some(&part);
            let (tried, learned): (Vec<usize>, Vec<usize>) = (0..self.own).partition(held_out);
            if tried.is_empty() || learned.is_empty() {
                continue;
            }
            let (found, relied) = self.tried(columns, &learned, &tried)?;
            for (index, credit) in tried.into_iter().zip(found) {
                if let Some(place) = credits.get_mut(index) {
                    *place = credit;
                }
            }
            telling = relied;
        }
        Ok((credits, telling))
    }

    fn matrix(
        &self,
        columns: &[usize],
        examples: &[usize],
    ) -> Result<DenseMatrix<f64>, AuditError> {
        let rows = examples.iter().filter_map(|i| self.surface.rows.get(*i));
        let kept = |row: &Vec<f64>| {
            let values = columns.iter().filter_map(|c| row.get(*c));
            values.copied().collect()
        };
        let rows: Vec<Vec<f64>> = rows.flatten().map(kept).collect();
        DenseMatrix::from_2d_vec(&rows).map_err(learner)
    }

    fn tried(
        &self,
        columns: &[usize],
        learned: &[usize],
        tried: &[usize],
    ) -> Result<(Vec<f64>, Vec<String>), AuditError> {
        let (x, unseen) = (self.matrix(columns, learned)?, self.matrix(columns, tried)?);
        // Two labels are one question, A or not; of several each is a question of its own.
        let questions = match self.labels {
            0 => vec![0],
            2 => vec![1],
            many => (0..many).collect(),
        };
        let mut predicted = Vec::with_capacity(questions.len());
        let mut telling = Vec::new();
        for class in questions {
            let y = self.targets(learned, class);
            let forest = Forest::fit(&x, &y, self.parameters(columns.len())).map_err(learner)?;
            predicted.push(forest.predict(&unseen).map_err(learner)?);
            telling = self.relied(&forest, columns)?;
        }
        let mut credits = Vec::with_capacity(tried.len());
        let mut start = 0;
        for index in tried {
            let width = self.surface.rows.get(*index).map_or(0, Vec::len);
            let answer = self.right.get(*index).copied().unwrap_or(0);
            let scores: Vec<f64> = match (self.labels, predicted.as_slice()) {
                (0, [one]) => one.get(start..start + width).unwrap_or(&[]).to_vec(),
                (2, [one]) => one.get(start).map_or(vec![], |p| vec![1.0 - p, *p]),
                (_, all) => all.iter().filter_map(|p| p.get(start).copied()).collect(),
            };
            credits.push(credit(&scores, answer));
            start += width;
        }
        Ok((credits, telling))
    }

    fn targets(&self, examples: &[usize], class: usize) -> Vec<f64> {
        let flag = |b: bool| f64::from(u8::from(b));
        let mut y = Vec::new();
        for index in examples {
            let answer = self.right.get(*index).copied().unwrap_or(0);
            if self.labels > 0 {
                y.push(flag(answer == class));
            } else {
                let width = self.surface.rows.get(*index).map_or(0, Vec::len);
                y.extend((0..width).map(|place| flag(place == answer)));
            }
        }
        y
    }

    fn parameters(&self, columns: usize) -> RandomForestRegressorParameters {
        // A third of the columns at each split: a few telling ones among many would else be missed.
        RandomForestRegressorParameters::default()
            .with_n_trees(self.settings.trees)
            .with_max_depth(DEPTH)
            .with_min_samples_leaf(LEAF)
            .with_m((columns / 3).clamp(1, 40))
            .with_seed(self.settings.seed)
    }

    /// The columns that a forest split by most, in words.
    fn relied(&self, forest: &Forest, columns: &[usize]) -> Result<Vec<String>, AuditError> {
        let importance = forest.compute_feature_importances().map_err(learner)?;
        let order = importance.into_iter().zip(columns.iter().copied());
        let mut order: Vec<(f64, usize)> = order.collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let name = |(weight, place): &(f64, usize)| {
            let column = self.surface.columns.get(*place)?;
            Some(format!(
                "relies on {}: {} ({:.0} % of its gain)",
                column.group,
                column.name,
                100.0 * weight
            ))
        };
        Ok(order.iter().take(5).filter_map(name).collect())
    }
}

/// Share of a right answer: 1 for right, a share where several tie, 0 for wrong.
pub(crate) fn credit(scores: &[f64], answer: usize) -> f64 {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tied = scores.iter().filter(|s| **s >= best - 1e-12).count();
    match scores.get(answer) {
        Some(score) if *score >= best - 1e-12 => 1.0 / tied as f64,
        _ => 0.0,
    }
}

fn learner(error: smartcore::error::Failed) -> AuditError {
    AuditError::Learner(error.to_string())
}

//! What is wrong with a set without any learning: repeats, contradictions, leaks between sets,
//! and unbalanced or patterned labels.

use std::collections::{BTreeMap, HashMap};

use mary_stats::distributions::{chi_squared_upper, normal_cdf};
use serde::Serialize;

use crate::Example;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hygiene {
    /// Examples beyond the first of each question.
    pub repeats: usize,
    pub repeated: Vec<String>,
    /// Questions that occur with different right answers.
    pub contradictions: Vec<String>,
    /// How often each answer (labels) or position (options) is right.
    pub balance: BTreeMap<String, usize>,
    pub balance_p: f64,
    /// Share of neighbours in the file whose labels differ.
    pub alternation: f64,
    /// Longest stretch of one label.
    pub longest_run: usize,
    /// Two-sided p-value of as many runs by chance (Wald and Wolfowitz), for two labels.
    pub runs_p: Option<f64>,
}

impl Hygiene {
    /// Looks at a set in its file order. `label` names what is right in an example, where that
    /// means anything (the sides of a pair have no order).
    pub(crate) fn check(examples: &[Example], label: impl Fn(&Example) -> Option<String>) -> Self {
        let labels: Vec<String> = examples.iter().filter_map(label).collect();
        let mut seen: HashMap<String, (usize, &str)> = HashMap::new();
        let mut contradictions = Vec::new();
        let mut repeated = Vec::new();
        for example in examples {
            let entry = seen.entry(exact_identity(example));
            let entry = entry.or_insert((0, example.answer()));
            entry.0 += 1;
            if entry.0 == 2 {
                repeated.push(example.question.clone());
            }
            if entry.1 != example.answer() {
                contradictions.push(example.question.clone());
            }
        }
        contradictions.dedup();
        let repeats = examples.len() - seen.len();
        repeated.truncate(10);
        let mut balance = BTreeMap::<String, usize>::new();
        for label in &labels {
            *balance.entry(label.clone()).or_default() += 1;
        }
        let changes = labels.windows(2).filter(|w| w[0] != w[1]).count();
        Self {
            repeats,
            repeated,
            contradictions,
            balance_p: balance_p(&balance, labels.len()),
            alternation: changes as f64 / labels.len().saturating_sub(1).max(1) as f64,
            longest_run: labels
                .chunk_by(|a, b| a == b)
                .map(<[String]>::len)
                .max()
                .unwrap_or(0),
            runs_p: runs_p(&balance, changes + 1),
            balance,
        }
    }

    /// Whether the labels follow each other in strict alternation.
    pub fn strictly_alternates(&self) -> bool {
        self.balance.len() == 2 && self.alternation >= 1.0
    }

    /// Everything worth saying, one sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.repeats > 0 {
            remarks.push(format!(
                "{} repeated item(s), for example `{}`",
                self.repeats,
                self.repeated.first().map_or("", String::as_str)
            ));
        }
        if !self.contradictions.is_empty() {
            remarks.push(format!(
                "{} question(s) occur with different right answers, for example `{}`",
                self.contradictions.len(),
                self.contradictions.first().map_or("", String::as_str)
            ));
        }
        if self.balance_p < 0.01 {
            let balance = self.balance.iter();
            let shares: Vec<String> = balance.map(|(label, n)| format!("{label}: {n}")).collect();
            remarks.push(format!("unbalanced: {}", shares.join(", ")));
        }
        if self.strictly_alternates() {
            remarks.push("the labels strictly alternate: the place in the file tells them".into());
        } else if self.runs_p.is_some_and(|p| p < 0.01) {
            remarks.push(format!(
                "the order of the labels is not random: neighbours differ in {:.0} % of cases",
                100.0 * self.alternation
            ));
        }
        remarks
    }
}

/// Equal to the letter, options included (in any order).
fn exact_identity(example: &Example) -> String {
    let mut options = example.options.clone();
    options.sort();
    format!("{}\u{1f}{}", example.question, options.join("\u{1f}"))
}

fn balance_p(balance: &BTreeMap<String, usize>, n: usize) -> f64 {
    let k = balance.len() as f64;
    if k < 2.0 {
        return if n > 1 { 0.0 } else { 1.0 };
    }
    let expected = n as f64 / k;
    let far = |&c: &usize| (c as f64 - expected).powi(2) / expected;
    let chi: f64 = balance.values().map(far).sum();
    chi_squared_upper(chi, k - 1.0)
}

fn runs_p(balance: &BTreeMap<String, usize>, runs: usize) -> Option<f64> {
    let counts: Vec<f64> = balance.values().map(|&c| c as f64).collect();
    let [a, b] = counts.as_slice() else {
        return None;
    };
    let n = a + b;
    let mean = 2.0 * a * b / n + 1.0;
    let variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0);
    (variance > 0.0).then(|| 2.0 * normal_cdf(-((runs as f64 - mean).abs() / variance.sqrt())))
}

/// Questions that occur in both sets, spacing and case aside: a leak when one is the training set
/// or the pool of shots.
pub fn shared<'a>(first: &'a [Example], second: &[Example]) -> Vec<&'a Example> {
    let known: std::collections::HashSet<String> = second.iter().map(Example::identity).collect();
    let twice = first.iter().filter(|e| known.contains(&e.identity()));
    twice.collect()
}

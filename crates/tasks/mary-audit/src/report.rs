//! What an audit found, for machines and for people.

use std::fmt::Write as _;

use mary_contract::p_value;
use mary_stats::Interval;
use serde::Serialize;

use crate::{Form, Hygiene};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub baseline: &'static str,
    pub sees: &'static str,
    /// Accuracy by cross-validation, with its 95 % interval.
    pub accuracy: Interval,
    pub chance: f64,
    /// One-sided p-value of not beating chance.
    pub p: f64,
    /// The same, corrected by Holm for all baselines of this audit.
    pub p_holm: f64,
    /// Interval above chance, and significant after correction.
    pub beats_chance: bool,
    /// Named by the user as the rule itself.
    pub expected: bool,
    /// The most telling features, in words.
    pub telling: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    pub form: Form,
    pub n: usize,
    pub distinct: usize,
    /// In how many groups they were kept together (twins, blocks, repeats).
    pub groups: usize,
    /// Sets of other seeds that the forest learned on; 0 where the set itself was split.
    pub other_seeds: usize,
    pub findings: Vec<Finding>,
    pub hygiene: Hygiene,
}

impl AuditReport {
    /// Baselines that beat chance and were not named as the rule.
    pub fn shortcuts(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|f| f.beats_chance && !f.expected)
    }

    /// The verdict in one line. Nothing found is said only of what was tried.
    pub fn verdict(&self) -> String {
        let found = self.shortcuts().count();
        let tried = self.findings.len();
        let forest = self.findings.iter().any(|f| f.baseline == "forest");
        let learned = match (forest, self.other_seeds) {
            (false, _) => String::new(),
            (true, 0) => ", a random forest among them".to_owned(),
            (true, n) => format!(", among them a random forest that learned on {n} other seeds"),
        };
        match found {
            0 => format!("no shortcut found by the {tried} baselines tried{learned}"),
            1 => format!("1 of {tried} baselines found a shortcut{learned}"),
            n => format!("{n} of {tried} baselines found a shortcut{learned}"),
        }
    }

    pub fn finding(&self, baseline: &str) -> Option<&Finding> {
        self.findings.iter().find(|f| f.baseline == baseline)
    }

    /// The report as text, one line for each baseline.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let form = match &self.form {
            Form::Labels(labels) => format!("labels {}", labels.join(", ")),
            Form::Options => "options of each question's own".to_owned(),
        };
        let together = if self.groups < self.distinct {
            format!(" in {} groups kept together", self.groups)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "{} items, {} distinct questions{together}, {form}",
            self.n, self.distinct
        );
        let _ = writeln!(
            text,
            "{:<20} {:>7} {:<14}  {:>6}  {:<8}  verdict",
            "baseline", "right", "95 % interval", "chance", "p (Holm)"
        );
        for f in &self.findings {
            let verdict = match (f.beats_chance, f.expected) {
                (true, false) => "SHORTCUT",
                (true, true) => "the rule",
                (false, true) => "the rule, not found",
                (false, false) => "-",
            };
            let _ = writeln!(
                text,
                "{:<20} {:5.1} % [{:5.1}, {:5.1}]  {:4.1} %  {:<8}  {verdict}",
                f.baseline,
                100.0 * f.accuracy.value,
                100.0 * f.accuracy.low,
                100.0 * f.accuracy.high,
                100.0 * f.chance,
                p_value(f.p_holm),
            );
            if f.beats_chance {
                for line in f.telling.iter().take(3) {
                    let _ = writeln!(text, "    {line}");
                }
            }
        }
        text.push_str(&self.reading());
        for line in self.hygiene.remarks() {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// How the lines above are to be read.
    fn reading(&self) -> String {
        let mut text = String::from(
            "p is one-sided: it asks whether a baseline beats chance, so that one far below chance has p = 1.\n",
        );
        if self.findings.iter().any(|f| f.expected) {
            text.push_str(
                "the rule: this baseline sees what decides the answer, and may succeed; not found: it does not \
                 beat chance.\n",
            );
        }
        text
    }
}

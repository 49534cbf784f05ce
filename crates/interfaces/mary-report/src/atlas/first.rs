//! The first page in plain words: what was found, what was not, and what the numbers cannot mean.

use mary_platform::counted;

use super::{Atlas, Question, Scored, family};
use crate::escape::html;
use crate::number::{ScoreScale, VersusChance};

const CANNOT: &str = include_str!("cannot.html");

impl Atlas<'_> {
    fn judged(&self, model: &str, wanted: impl Fn(VersusChance) -> bool) -> usize {
        let own = self.questions.iter().filter_map(|q| q.scores.get(model));
        own.filter(|scored| wanted(scored.verdict())).count()
    }

    fn names(&self, wanted: impl Fn(&str) -> bool) -> String {
        let models = self.models.iter().filter(|model| wanted(model));
        models
            .map(|model| html(model))
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(super) fn found(&self) -> String {
        let mut out = String::from("<ul>");
        for model in &self.models {
            let known = self.judged(model, |v| v != VersusChance::Unknown);
            let above = self.judged(model, |v| v == VersusChance::Above);
            if known > 0 {
                let (model, known) = (html(model), counted(known, "task"));
                out += &format!("<li><b>{model}</b> is above chance on {above} of {known}.</li>");
            }
        }
        out += "</ul>";
        let above = |q: &&Question| q.has(|v| v == VersusChance::Above);
        let found: Vec<&Question> = self.questions.iter().filter(above).collect();
        for own in found.chunk_by(|a, b| family(a) == family(b)) {
            let title = own.first().map(|q| html(&self.family_title(family(q))));
            out += &format!("<h3>{}</h3><ul class=\"few\">", title.unwrap_or_default());
            for question in own {
                let verdict = |model: &str| question.scores.get(model).map(Scored::verdict);
                let names = self.names(|model| verdict(model) == Some(VersusChance::Above));
                out += &format!("<li>{}: {names}</li>", self.link(question));
            }
            out += "</ul>";
        }
        out
    }

    pub(super) fn not_found(&self) -> String {
        let known = |q: &&Question| q.has(|v| v != VersusChance::Unknown);
        let (known, unknown): (Vec<_>, Vec<_>) = self.questions.iter().partition(known);
        let none = known
            .iter()
            .filter(|q| !q.has(|v| v == VersusChance::Above));
        let none: Vec<String> = none.map(|q| self.link(q)).collect();
        let mut points = vec![format!(
            "No model is above chance on {} of {} with a chance level{} {}",
            none.len(),
            counted(known.len(), "task"),
            if none.is_empty() { "." } else { ":" },
            none.join("; ")
        )];
        if !unknown.is_empty() {
            let links: Vec<String> = unknown.iter().map(|q| self.link(q)).collect();
            points.push(format!(
                "Without a chance level, and so without a verdict: {}.",
                links.join("; ")
            ));
        }
        let nothing = self.names(|model| {
            self.judged(model, |v| v != VersusChance::Unknown) > 0
                && self.judged(model, |v| v == VersusChance::Above) == 0
        });
        if !nothing.is_empty() {
            points.push(format!(
                "Nothing above chance at all was found for {nothing}."
            ));
        }
        let compared = known.iter().copied().filter(|q| !q.tiers.is_empty());
        let alike = |q: &&Question| q.tiers.values().all(|tier| *tier == 1);
        points.push(format!(
            "On {} of {} with two models or more, no model can be told apart from the best.",
            compared.clone().filter(alike).count(),
            counted(compared.count(), "task")
        ));
        let scores = || self.questions.iter().flat_map(|q| q.scores.values());
        let constant = scores().filter(|s| s.row.constant_answer.is_some()).count();
        let floor = scores()
            .filter(|s| s.verdict() == VersusChance::AtFloor)
            .count();
        let partial = self.runs.iter().filter(|run| !run.complete).count();
        for (n, what, words) in [
            (
                constant,
                "score",
                "one answer was given nearly always, and the score says how often it is right",
            ),
            (
                floor,
                "score",
                "chance is left behind, but counting tokens may be enough (◇)",
            ),
            (
                partial,
                "run",
                "not every sample is there: results are partial",
            ),
        ] {
            if n > 0 {
                points.push(format!("For {}, {words}.", counted(n, what)));
            }
        }
        format!("<ul><li>{}</li></ul>", points.join("</li><li>"))
    }

    pub(super) fn cannot_mean(&self) -> String {
        let scores = self.questions.iter().flat_map(|q| q.scores.values());
        let shares = scores.filter(|s| s.scale == ScoreScale::Proportion);
        let estimates = shares.filter_map(|s| s.row.score.as_ref());
        let mut widths: Vec<f64> = estimates.map(|e| 50.0 * (e.high - e.low)).collect();
        widths.sort_by(f64::total_cmp);
        let width = widths.get(widths.len() / 2).map(|middle| {
            format!("<li><b>Small differences mean little here.</b> Half of the intervals are wider than ±{middle:.0} points.</li>")
        });
        format!("<ul>{CANNOT}{}</ul>", width.unwrap_or_default())
    }
}

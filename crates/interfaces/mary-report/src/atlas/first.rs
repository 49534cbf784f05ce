//! The first page in plain words: what was found, what was not, and what the numbers cannot mean.

use std::collections::BTreeMap;

use mary_contract::SummaryRow;
use mary_platform::counted;

use super::{Atlas, Question};
use crate::escape::html;
use crate::number::{ScoreScale, VersusChance};

/// What holds for every number of an atlas.
const CANNOT: &[&str] = &[
    "<b>Above chance is not understanding.</b> It shows that these answers are not guesses. A model may use a surface \
     feature that goes with the right answer; <code>mary data audit TASK</code> looks for such features.",
    "<b>Not distinguished from chance is not inability.</b> A small effect needs many items; the interval shows what \
     is still possible. Another prompt or more examples may bring out what this one does not.",
    "<b>Published items may have been learnt by heart.</b> They have been on the web. Fresh items were made from a seed \
     and cannot have been.",
    "<b>A tier is no rank.</b> Models of one tier could not be told apart on these items; with more items they might be. \
     Being in the first tier does not mean being able: look at the mark.",
    "<b>Percent and other numbers do not compare.</b> Some scores are shares of right answers, others correlations or \
     differences; each row has its own chance level.",
    "<b>People answered under other conditions.</b> Their scores come from the papers, mostly on the published items.",
];

impl Atlas<'_> {
    pub(super) fn found(&self) -> String {
        let mut out = String::from("<ul>");
        for model in &self.models {
            let known = self.judged(model, |v| v != VersusChance::Unknown);
            let above = self.judged(model, |v| v == VersusChance::Above);
            if known > 0 {
                let strongest = self.strongest(model).unwrap_or_default();
                out += &format!(
                    "<li><b>{}</b> is above chance on {above} of {}{strongest}.</li>",
                    html(model),
                    counted(known, "task"),
                );
            }
        }
        out += "</ul>";
        let mut families: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
        for question in self.questions.iter().filter(|q| !q.above().is_empty()) {
            families
                .entry(question.family())
                .or_default()
                .push(question);
        }
        for (family, found) in families {
            out += &format!(
                "<h3>{}</h3><ul class=\"few\">",
                html(&self.family_title(family))
            );
            for question in found {
                let above = question.above();
                let models: Vec<String> = self
                    .models
                    .iter()
                    .filter(|model| above.contains(&model.as_str()))
                    .map(|model| html(model))
                    .collect();
                out += &format!("<li>{}: {}</li>", self.link(question), models.join(", "));
            }
            out += "</ul>";
        }
        out
    }

    pub(super) fn not_found(&self) -> String {
        let mut points: Vec<String> = Vec::new();
        let with_chance: Vec<&Question> =
            self.questions.iter().filter(|q| q.has_chance()).collect();
        let links = |found: &[&Question]| {
            let all: Vec<String> = found.iter().map(|q| self.link(q)).collect();
            all.join("; ")
        };
        let nobody: Vec<&Question> = with_chance
            .iter()
            .copied()
            .filter(|q| q.above().is_empty())
            .collect();
        points.push(format!(
            "No model is above chance on {} of {}{}{}.",
            nobody.len(),
            counted(with_chance.len(), "task"),
            if nobody.is_empty() { "" } else { ": " },
            links(&nobody)
        ));
        let without: Vec<String> = self
            .models
            .iter()
            .filter(|m| self.judged(m, |v| v != VersusChance::Unknown) > 0)
            .filter(|m| self.judged(m, |v| v == VersusChance::Above) == 0)
            .map(|m| html(m))
            .collect();
        if !without.is_empty() {
            points.push(format!(
                "Nothing above chance at all was found for {}.",
                without.join(", ")
            ));
        }
        let compared: Vec<&Question> = self
            .questions
            .iter()
            .filter(|q| !q.tiers.is_empty())
            .collect();
        let alike: Vec<&Question> = compared
            .iter()
            .copied()
            .filter(|q| q.tiers.values().all(|tier| *tier == 1))
            .collect();
        if !compared.is_empty() {
            points.push(format!(
                "On {} of {} with two models or more, no model can be told apart from the best.",
                alike.len(),
                counted(compared.len(), "task")
            ));
        }
        let rows = || {
            self.questions
                .iter()
                .flat_map(|q| q.scores.values())
                .map(|s| &s.row)
        };
        let floors = |row: &&SummaryRow| VersusChance::judge(row) == VersusChance::AtFloor;
        for (n, words) in [
            (
                rows().filter(|row| row.constant_answer.is_some()).count(),
                "one answer was given nearly always: the score says how often that answer is right",
            ),
            (
                rows().filter(floors).count(),
                "the score leaves chance but may come from counting tokens (◇)",
            ),
        ] {
            if n > 0 {
                points.push(format!("For {}, {words}.", counted(n, "score")));
            }
        }
        let partial = self.runs.iter().filter(|run| !run.complete).count();
        if partial > 0 {
            points.push(format!(
                "{} not complete; results are partial.",
                match partial {
                    1 => "One run is".to_owned(),
                    n => format!("{n} runs are"),
                }
            ));
        }
        format!(
            "<ul>{}</ul>",
            points
                .iter()
                .map(|p| format!("<li>{p}</li>"))
                .collect::<String>()
        )
    }

    pub(super) fn cannot_mean(&self) -> String {
        let scores = self.questions.iter().flat_map(|q| q.scores.values());
        let mut widths: Vec<f64> = scores
            .filter(|s| s.scale == ScoreScale::Proportion)
            .filter_map(|s| s.row.score.as_ref())
            .map(|score| 50.0 * (score.high - score.low))
            .filter(|width| width.is_finite())
            .collect();
        widths.sort_by(f64::total_cmp);
        let mut out = String::from("<ul>");
        out.extend(CANNOT.iter().map(|text| format!("<li>{text}</li>")));
        if let Some(middle) = widths.get(widths.len() / 2) {
            out += &format!(
                "<li><b>Small differences mean little here.</b> Half of the intervals on this site are wider than \
                 ±{middle:.0} points.</li>"
            );
        }
        out + "</ul>"
    }

    fn judged(&self, model: &str, wanted: impl Fn(VersusChance) -> bool) -> usize {
        let own = self.questions.iter().filter_map(|q| q.scores.get(model));
        own.filter(|s| wanted(VersusChance::judge(&s.row))).count()
    }

    /// Where a model is furthest above chance, of shares of right answers.
    fn strongest(&self, model: &str) -> Option<String> {
        let own = self
            .questions
            .iter()
            .filter_map(|q| Some((q, q.scores.get(model)?)));
        let above = own.filter(|(_, s)| {
            VersusChance::judge(&s.row) == VersusChance::Above && s.scale == ScoreScale::Proportion
        });
        let margin = |(q, s): (_, &super::Scored)| {
            Some((
                s.row.score.as_ref()?.value - s.row.chance?,
                q,
                s.row.score.clone()?,
                s.row.chance?,
            ))
        };
        let (_, question, score, chance) = above
            .filter_map(margin)
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        let scale = ScoreScale::Proportion;
        Some(format!(
            ", furthest on {} ({} {}, chance {})",
            self.link(question),
            scale.value(score.value),
            scale.interval(&score),
            scale.value(chance)
        ))
    }
}

//! How a score is written down: percent or plain, with its interval, and where it stands to chance.

use mary_contract::{Cell, Estimate, Metric, OVER_FLOOR, RunSummary, SummaryRow, TaskRun};
use serde::Serialize;

/// The scale a score lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreScale {
    /// A share between 0 and 1, written as percent.
    Proportion,
    /// Anything else (a correlation, a difference), written as it is.
    Plain,
}

/// Where a score stands to chance, judged by its interval (and by that of its difference from a
/// guesser who counts tokens, where there is one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VersusChance {
    /// The whole interval lies above chance.
    Above,
    /// The interval holds chance: nothing is shown either way.
    NotDistinguished,
    /// The whole interval lies below chance.
    Below,
    /// No score, or no chance level.
    Unknown,
}

impl VersusChance {
    /// The verdict for a row. Where a guesser who only counts tokens was scored on the same items, a
    /// score must be on the same side of that guesser as of chance: texts of different length decide
    /// for a model that knows nothing.
    pub fn of(row: &SummaryRow) -> Self {
        let (Some(score), Some(chance)) = (&row.score, row.chance) else {
            return Self::Unknown;
        };
        let verdict = Self::judge(score, chance);
        match row.measure(OVER_FLOOR).map(|over| Self::judge(over, 0.0)) {
            Some(floor) if verdict != Self::Unknown && floor != verdict => Self::NotDistinguished,
            _ => verdict,
        }
    }

    /// Whether the interval alone would say more than the verdict does, because counting tokens
    /// scores as well.
    pub fn floored(row: &SummaryRow) -> bool {
        match (&row.score, row.chance) {
            (Some(score), Some(chance)) => Self::judge(score, chance) != Self::of(row),
            _ => false,
        }
    }

    /// The verdict for an estimate.
    pub fn judge(score: &Estimate, chance: f64) -> Self {
        if score.low > chance {
            Self::Above
        } else if score.high < chance {
            Self::Below
        } else if score.low <= chance && score.high >= chance {
            Self::NotDistinguished
        } else {
            Self::Unknown
        }
    }

    /// One character, never colour alone.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Above => "▲",
            Self::NotDistinguished => "≈",
            Self::Below => "▼",
            Self::Unknown => "",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Above => "above chance",
            Self::NotDistinguished => "not distinguished from chance",
            Self::Below => "below chance",
            Self::Unknown => "",
        }
    }
}

impl ScoreScale {
    /// The scale of a row: what the task says its score is ([`TaskRun::metric`]); numbers outside 0 to
    /// 1 are never written as percent.
    pub fn of(row: &SummaryRow, task: Option<&TaskRun>) -> Self {
        let inside = row
            .score
            .as_ref()
            .is_none_or(|s| [s.value, s.low, s.high].iter().all(|v| unit(*v)));
        let levels = [row.chance, row.human]
            .into_iter()
            .flatten()
            .all(|v| (0.0..=1.0).contains(&v));
        match task.and_then(TaskRun::metric) {
            Some(Metric::Share) | None if inside && levels => Self::Proportion,
            _ => Self::Plain,
        }
    }

    /// The scale of a row within its run.
    pub fn in_run(run: &RunSummary, row: &SummaryRow) -> Self {
        Self::of(row, run.manifest.task(&row.task))
    }

    /// A value, without its unit.
    pub fn bare(self, value: f64) -> String {
        let text = match self {
            Self::Proportion => format!("{:.1}", value * 100.0),
            Self::Plain => format!("{value:.3}"),
        };
        // "-0.0" says something that is not meant.
        if text
            .trim_start_matches('-')
            .bytes()
            .all(|b| matches!(b, b'0' | b'.'))
        {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    }

    /// A value with its unit.
    pub fn value(self, value: f64) -> String {
        match self {
            Self::Proportion => format!("{}%", self.bare(value)),
            Self::Plain => self.bare(value),
        }
    }

    /// A score as a cell of a table, with what it rests on.
    pub fn cell(self, score: &Estimate) -> Cell {
        let cell = match self {
            Self::Proportion => Cell::percent(score, 1),
            Self::Plain => Cell::number(score, 3),
        };
        cell.worded(self.value(score.value))
    }

    /// An interval.
    pub fn interval(self, estimate: &Estimate) -> String {
        format!(
            "[{}, {}]",
            self.bare(estimate.low),
            self.bare(estimate.high)
        )
    }

    /// What a value is multiplied by when drawn.
    pub fn factor(self) -> f64 {
        match self {
            Self::Proportion => 100.0,
            Self::Plain => 1.0,
        }
    }
}

fn unit(value: f64) -> bool {
    // Bootstrap bounds may leave the range by rounding only.
    (-1e-9..=1.0 + 1e-9).contains(&value)
}

/// A count with thin grouping: 1,000,000.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A p-value as papers write it.
pub fn p_value(p: f64) -> String {
    if p < 0.001 {
        "< .001".into()
    } else {
        format!("{p:.3}").trim_start_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mary_contract::Scoring;

    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low,
            high,
            n: 100,
            method: "wilson".into(),
        }
    }

    #[test]
    fn an_interval_that_touches_chance_distinguishes_nothing() {
        let cases = [
            (0.6, 0.51, 0.7, VersusChance::Above),
            (0.6, 0.5, 0.7, VersusChance::NotDistinguished),
            (0.4, 0.3, 0.5, VersusChance::NotDistinguished),
            (0.4, 0.3, 0.49, VersusChance::Below),
            (f64::NAN, f64::NAN, f64::NAN, VersusChance::Unknown),
        ];
        for (value, low, high, verdict) in cases {
            assert_eq!(
                VersusChance::judge(&estimate(value, low, high), 0.5),
                verdict
            );
        }
    }

    #[test]
    fn shares_are_percent_and_other_scales_stay_plain() {
        let mut row = SummaryRow {
            model: "m".into(),
            task: "f/t".into(),
            score: Some(estimate(0.625, 0.5, 0.75)),
            chance: Some(0.5),
            human: None,
            samples: 8,
            scored: 8,
            ties: 0,
            constant_answer: None,
            unscored: BTreeMap::new(),
            failed: BTreeMap::new(),
            measures: vec![],
            breakdowns: vec![],
            usage: mary_contract::Usage::default(),
        };
        assert_eq!(ScoreScale::of(&row, None), ScoreScale::Proportion);
        let said = TaskRun {
            scoring: Some(Scoring::number(Metric::RankCorrelation)),
            ..TaskRun::default()
        };
        assert_eq!(ScoreScale::of(&row, Some(&said)), ScoreScale::Plain);
        row.score = Some(estimate(0.1, -0.2, 0.4));
        assert_eq!(ScoreScale::of(&row, None), ScoreScale::Plain);
        assert_eq!(ScoreScale::Plain.bare(-0.0001), "0.000");
        assert_eq!(ScoreScale::Proportion.value(0.625), "62.5%");
        assert_eq!(
            ScoreScale::Proportion.interval(&estimate(0.5, 0.25, 1.0)),
            "[25.0, 100.0]"
        );
    }

    #[test]
    fn counts_are_grouped_and_p_values_read_as_in_papers() {
        assert_eq!(
            (count(0), count(999), count(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(p_value(0.0004), "< .001");
        assert_eq!(p_value(0.0421), ".042");
        assert_eq!(p_value(1.0), "1.000");
    }
}

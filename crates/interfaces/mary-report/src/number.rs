//! How a score is written down: percent or plain, with its interval, and where it stands to chance.

use std::cmp::Ordering;

pub use mary_contract::p_value;
use mary_contract::{Cell, Estimate, Metric, OVER_FLOOR, RunSummary, SummaryRow, TaskRun};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreScale {
    /// A share between 0 and 1, written as percent.
    Proportion,
    /// Anything else (a correlation, a difference), written as it is.
    Plain,
}

/// Where a score stands to chance: by its 95 % interval, by a guesser who counts tokens where there is
/// one, and corrected over the tasks of the model's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VersusChance {
    /// Above chance after Holm's correction.
    Above,
    /// The whole interval lies above chance; after the correction nothing is shown.
    AboveUncorrected,
    /// The interval holds chance: nothing is shown either way.
    NotDistinguished,
    /// The interval leaves chance out, but a guesser who only counts tokens may score as much.
    AtFloor,
    /// The whole interval lies below chance; after the correction nothing is shown.
    BelowUncorrected,
    /// Below chance after Holm's correction.
    Below,
    /// No score, or no chance level.
    Unknown,
}

/// How verdicts on many tasks are corrected, as `--json` names it.
pub(crate) const CORRECTION: &str = "holm";

impl VersusChance {
    pub const MARKED: [Self; 6] = [
        Self::Above,
        Self::AboveUncorrected,
        Self::NotDistinguished,
        Self::AtFloor,
        Self::BelowUncorrected,
        Self::Below,
    ];

    /// The verdict for a row. Where a guesser who only counts tokens was scored on the same items, a
    /// score must be on the same side of that guesser as of chance: texts of different length decide
    /// for a model that knows nothing.
    pub fn judge(row: &SummaryRow) -> Self {
        let (Some(score), Some(chance)) = (&row.score, row.chance) else {
            return Self::Unknown;
        };
        let holds = row.chance_test.is_some_and(|test| test.p_holm < 0.05);
        let floor = row.measure(OVER_FLOOR).map(|over| side(over, 0.0));
        match side(score, chance) {
            None => Self::Unknown,
            Some(Ordering::Equal) => Self::NotDistinguished,
            Some(side) if floor.is_some_and(|floor| floor != Some(side)) => Self::AtFloor,
            Some(Ordering::Greater) if holds => Self::Above,
            Some(Ordering::Greater) => Self::AboveUncorrected,
            Some(Ordering::Less) if holds => Self::Below,
            Some(Ordering::Less) => Self::BelowUncorrected,
        }
    }

    /// One character, never colour alone; the name in `--json`; what it means.
    fn described(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Above => ("▲", "above", "above chance"),
            Self::AboveUncorrected => (
                "△",
                "above_uncorrected",
                "above chance by its own interval only",
            ),
            Self::NotDistinguished => ("≈", "not_distinguished", "not distinguished from chance"),
            Self::AtFloor => ("◇", "at_floor", "may come from counting tokens"),
            Self::BelowUncorrected => (
                "▽",
                "below_uncorrected",
                "below chance by its own interval only",
            ),
            Self::Below => ("▼", "below", "below chance"),
            Self::Unknown => ("", "unknown", ""),
        }
    }

    pub fn mark(self) -> &'static str {
        self.described().0
    }

    pub fn name(self) -> &'static str {
        self.described().1
    }

    pub fn words(self) -> &'static str {
        self.described().2
    }

    pub(crate) fn said(row: &SummaryRow) -> String {
        let words = Self::judge(row).words();
        let Some(test) = row.chance_test else {
            return words.to_owned();
        };
        let mut said = format!("{words} (p {}", p_value(test.p));
        if let Some(p) = test.p_floor {
            said += &format!(", against counting tokens {}", p_value(p));
        }
        if test.tasks > 1 {
            let holm = p_value(test.p_holm);
            said += &format!(", {holm} after Holm over {} tasks", test.tasks);
        }
        said + ")"
    }

    pub(crate) fn legend(rows: &[SummaryRow]) -> Option<String> {
        let occurring = Self::MARKED
            .into_iter()
            .filter(|v| rows.iter().any(|r| Self::judge(r) == *v))
            .map(|v| format!("{} {}", v.mark(), v.words()));
        let occurring: Vec<String> = occurring.collect();
        (!occurring.is_empty()).then(|| occurring.join("   "))
    }
}

pub(crate) const HOW_DECIDED: &str = "Filled marks hold after Holm's correction over the tasks of a model in its run (a model that \
     only guesses gets one in at most 5 % of runs); the others go by the 95 % interval of that score alone.";

/// On which side of a level the whole interval lies; `Equal` where it holds the level.
fn side(score: &Estimate, level: f64) -> Option<Ordering> {
    if score.low > level {
        Some(Ordering::Greater)
    } else if score.high < level {
        Some(Ordering::Less)
    } else {
        (score.low <= level && score.high >= level).then_some(Ordering::Equal)
    }
}

impl ScoreScale {
    /// The scale of a row: what the task says its score is ([`TaskRun::metric`]); numbers outside 0 to
    /// 1 are never written as percent.
    pub fn for_row(row: &SummaryRow, task: Option<&TaskRun>) -> Self {
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

    pub fn in_run(run: &RunSummary, row: &SummaryRow) -> Self {
        Self::for_row(row, run.manifest.task(&row.task))
    }

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

    pub fn value(self, value: f64) -> String {
        match self {
            Self::Proportion => format!("{}%", self.bare(value)),
            Self::Plain => self.bare(value),
        }
    }

    pub fn cell(self, score: &Estimate) -> Cell {
        let cell = match self {
            Self::Proportion => Cell::percent(score, 1),
            Self::Plain => Cell::number(score, 3),
        };
        cell.worded(self.value(score.value))
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mary_contract::{ChanceTest, Scoring};

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

    fn row(value: f64, low: f64, high: f64) -> SummaryRow {
        SummaryRow {
            model: "m".into(),
            task: "f/t".into(),
            score: Some(estimate(value, low, high)),
            chance: Some(0.5),
            human: None,
            samples: 8,
            scored: 8,
            ties: 0,
            constant_answer: None,
            chance_test: None,
            unscored: BTreeMap::new(),
            failed: BTreeMap::new(),
            measures: vec![],
            breakdowns: vec![],
            usage: mary_contract::Usage::default(),
        }
    }

    #[test]
    fn a_filled_mark_needs_the_correction_and_an_open_one_the_interval() {
        use VersusChance::*;
        let cases = [
            (0.6, 0.51, 0.7, Above, AboveUncorrected),
            (0.6, 0.5, 0.7, NotDistinguished, NotDistinguished),
            (0.4, 0.3, 0.5, NotDistinguished, NotDistinguished),
            (0.4, 0.3, 0.49, Below, BelowUncorrected),
            (f64::NAN, f64::NAN, f64::NAN, Unknown, Unknown),
        ];
        for (value, low, high, corrected, alone) in cases {
            let mut row = row(value, low, high);
            assert_eq!(VersusChance::judge(&row), alone);
            for (p_holm, verdict) in [(0.049, corrected), (0.05, alone)] {
                row.chance_test = Some(ChanceTest {
                    p: 0.01,
                    p_floor: None,
                    p_holm,
                    tasks: 3,
                });
                assert_eq!(VersusChance::judge(&row), verdict, "{value} {p_holm}");
            }
        }
        let mut marks: Vec<&str> = VersusChance::MARKED.iter().map(|v| v.mark()).collect();
        marks.dedup();
        assert_eq!(marks.len(), 6);
    }

    /// Issue 37: ≈ stood beside 0.474 [0.362, 0.588] where chance is 0.
    #[test]
    fn where_the_floor_decided_the_mark_says_so() {
        let mut row = row(0.474, 0.362, 0.588);
        row.chance = Some(0.0);
        row.measures = vec![mary_contract::Measure {
            name: OVER_FLOOR.into(),
            estimate: estimate(0.03, -0.08, 0.14),
        }];
        let verdict = VersusChance::judge(&row);
        assert_eq!((verdict, verdict.mark()), (VersusChance::AtFloor, "◇"));
        // An interval that holds chance needs no floor to say nothing.
        row.chance = Some(0.5);
        assert_eq!(VersusChance::judge(&row), VersusChance::NotDistinguished);
    }

    #[test]
    fn shares_are_percent_and_other_scales_stay_plain() {
        let mut row = row(0.625, 0.5, 0.75);
        assert_eq!(ScoreScale::for_row(&row, None), ScoreScale::Proportion);
        let said = TaskRun {
            scoring: Some(Scoring::number(Metric::RankCorrelation)),
            ..TaskRun::default()
        };
        assert_eq!(ScoreScale::for_row(&row, Some(&said)), ScoreScale::Plain);
        row.score = Some(estimate(0.1, -0.2, 0.4));
        assert_eq!(ScoreScale::for_row(&row, None), ScoreScale::Plain);
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

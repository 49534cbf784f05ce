//! Tables of development: onsets, their order, and what was doubted.

use mary_contract::{Cell, Table, p_value};
use mary_stats::segmented::{Growth, order};

use super::{FEWEST, GrowthCurve, PAPER, PAPER_WINDOWS, corrected, method};
use crate::exhibits::DECLARED;
use crate::trajectories::{LeftOut, Part};

/// Large numbers with a unit, as people say them.
pub fn amount(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " B"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = if scaled >= 99.5 {
        0
    } else if scaled >= 9.95 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{unit}")
}

pub(super) fn onsets(found: &[GrowthCurve]) -> Table {
    let mut rows = Vec::new();
    for GrowthCurve { trajectory, growth } in found {
        let n = trajectory.sound().count();
        let mut row = vec![
            trajectory.ability.title(),
            trajectory.label.clone(),
            n.to_string(),
        ];
        match growth {
            None => row.extend(
                [format!("fewer than {FEWEST} checkpoints")]
                    .into_iter()
                    .chain(std::iter::repeat_n(String::new(), 5)),
            ),
            Some(growth) => row.extend(cells(growth)),
        }
        rows.push(row);
    }
    let paper = PAPER_WINDOWS.map(|(what, from, to)| {
        let mut row = vec![
            format!("{what} ({PAPER})"),
            "Pythia 70M–12B".into(),
            "154".into(),
            "read off by eye".into(),
            amount(from),
            amount(to),
        ];
        row.extend([const { String::new() }; 3]);
        row
    });
    DECLARED
        .table("psychometric-onsets")
        .saying("method", method())
        .with_rows(Cell::figures(rows))
        .with_published(Cell::figures(paper.to_vec()))
}

fn cells(growth: &Growth) -> Vec<String> {
    let test = format!("p {}", p_value(growth.p));
    let Some(window) = &growth.window else {
        let mut row = vec![format!("none ({test})")];
        row.extend(std::iter::repeat_n(String::new(), 5));
        return row;
    };
    let between = |i: &mary_stats::Interval, show: &dyn Fn(f64) -> String| {
        format!("{} ({} to {})", show(i.value), show(i.low), show(i.high))
    };
    let plain = |v: f64| format!("{v:.3}");
    let remark = match (window.onset_seen, window.end_seen) {
        (true, true) => "",
        (false, true) => "onset only bounded: it may lie before the first checkpoint",
        (true, false) => "end only bounded: growth may go on after the last checkpoint",
        (false, false) => "onset and end only bounded by the first and last checkpoint",
    };
    vec![
        format!("yes ({test})"),
        between(&window.onset, &amount),
        between(&window.end, &amount),
        between(&window.slope, &plain),
        between(&window.rise, &plain),
        remark.to_owned(),
    ]
}

struct Comparison {
    size: String,
    first: String,
    second: String,
    /// Resamples in which the first is the earlier.
    share: f64,
    /// Their intervals do not meet.
    apart: bool,
}

/// Which of two abilities begins to grow first, for every size with two windows.
pub(super) fn order_table(found: &[GrowthCurve]) -> Option<Table> {
    let mut tests: Vec<Comparison> = Vec::new();
    for (i, first) in found.iter().enumerate() {
        for second in found.iter().skip(i + 1) {
            let (a, b) = (&first.trajectory, &second.trajectory);
            let same_kind = (a.ability.part == Part::Score && b.ability.part == Part::Score)
                || (a.ability.task == b.ability.task
                    && matches!(
                        (&a.ability.part, &b.ability.part),
                        (Part::Tag(..), Part::Tag(..))
                    ));
            // Parts of one task are compared within one question.
            let apart = a.ability.task == b.ability.task && a.conditions != b.conditions;
            if a.size != b.size || !same_kind || apart {
                continue;
            }
            if let (Some(one), Some(other)) = (first.window(), second.window())
                && let Ok(share) = order(one, other)
            {
                tests.push(Comparison {
                    size: a.label.clone(),
                    first: a.title(),
                    second: b.title(),
                    share,
                    apart: one.onset.high < other.onset.low || other.onset.high < one.onset.low,
                });
            }
        }
    }
    let two_sided = |test: &Comparison| (2.0 * test.share.min(1.0 - test.share)).min(1.0);
    let tests = corrected(tests, |test| Some(two_sided(test))).into_iter();
    let rows = tests.map(|(test, p)| {
        let clear = p.is_some_and(|p| p < 0.05) && test.apart;
        let verdict = match (clear, test.share > 0.5) {
            (true, true) => format!("{} first", test.first),
            (true, false) => format!("{} first", test.second),
            (false, _) => "not told apart".to_owned(),
        };
        let p = p.map_or_else(String::new, p_value);
        let share = format!("{:.3}", test.share);
        vec![test.size, test.first, test.second, share, p, verdict]
    });
    DECLARED.rows("psychometric-order", Cell::figures(rows.collect()))
}

pub(super) fn left_out(all: &[LeftOut]) -> Option<Table> {
    let row = |one: &LeftOut| {
        let steps: Vec<String> = one.steps.iter().map(u64::to_string).collect();
        vec![
            one.size.clone(),
            one.task.clone(),
            one.variant.clone(),
            steps.join(", "),
        ]
    };
    let rows = Cell::figures(all.iter().map(row).collect());
    DECLARED.rows("psychometric-left-out", rows)
}

pub(super) fn doubts(found: &[GrowthCurve]) -> Option<Table> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for GrowthCurve { trajectory, .. } in found {
        for milestone in &trajectory.milestones {
            if let Some(doubt) = &milestone.doubt {
                rows.push(vec![
                    trajectory.label.clone(),
                    format!("step {}", milestone.step),
                    trajectory.ability.title(),
                    doubt.clone(),
                ]);
            }
        }
    }
    DECLARED.rows("psychometric-doubts", Cell::figures(rows))
}

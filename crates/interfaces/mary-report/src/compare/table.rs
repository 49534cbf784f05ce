//! Comparisons as a table for people.

use mary_contract::{Cell, NumberColumns, Table};

use super::{Compared, Comparison};
use crate::number::{ScoreScale, count, p_value};

/// The comparisons as a table for people. A single pair is named in the heading, several in columns.
pub fn table(compared: &Compared) -> Table {
    let mut pairs: Vec<(&str, &str)> = compared
        .comparisons
        .iter()
        .map(|c| (c.first.as_str(), c.second.as_str()))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let title = match pairs.as_slice() {
        [(first, second)] => format!("Paired comparison of {first} (first) with {second} (second)"),
        _ => "Paired comparison".into(),
    };
    let mut head = vec!["task"];
    if pairs.len() > 1 {
        head.extend(["first", "second"]);
    }
    // Scores, difference, interval and p-values; behind the verdict the counts.
    let start = head.len();
    let columns = (start..start + 6).chain([start + 7, start + 8]);
    let numbers = NumberColumns::At(columns.collect());
    head.extend(["first score", "second score", "difference", "95% interval"]);
    head.extend(["p", "p (Holm)", "verdict", "paired", "unpaired"]);
    Table {
        id: "comparison".into(),
        title,
        caption: caption(compared),
        head: head.into_iter().map(str::to_owned).collect(),
        // Items and intervals have columns of their own here.
        rows: Cell::figures(
            compared
                .comparisons
                .iter()
                .map(|c| row(c, pairs.len() > 1))
                .collect(),
        ),
        published: vec![],
        numbers,
    }
}

fn row(c: &Comparison, named: bool) -> Vec<String> {
    let signed = |v: f64| match c.scale {
        ScoreScale::Proportion => format!("{:+.1}", v * 100.0),
        ScoreScale::Plain => format!("{v:+.3}"),
    };
    let mut row = vec![c.task.clone()];
    if named {
        row.extend([c.first.clone(), c.second.clone()]);
    }
    row.extend([
        c.scale.value(c.first_mean),
        c.scale.value(c.second_mean),
        signed(c.difference),
        match (c.low, c.high) {
            (Some(low), Some(high)) => format!("[{}, {}]", signed(low), signed(high)),
            _ => "–".into(),
        },
        c.p.map_or("–".into(), p_value),
        c.p_holm.map_or("–".into(), p_value),
        verdict(c).to_owned(),
        if c.units < c.paired {
            format!("{} in {}", count(c.paired), count(c.units))
        } else {
            count(c.paired)
        },
        count(c.only_first + c.only_second + c.unscored),
    ]);
    row
}

fn caption(compared: &Compared) -> String {
    let mut methods: Vec<&str> = compared
        .comparisons
        .iter()
        .map(|c| c.method.as_str())
        .collect();
    methods.sort_unstable();
    methods.dedup();
    let mut caption = format!(
        "Differences are first minus second on the same items (percentage points for shares), with 95 % intervals ({}). p is two-sided and below .05 exactly where the interval leaves 0 out; p (Holm) is {} and decides the verdict. Too few differ: not even if all units that differ agreed would p fall below .05. Paired counts the items scored on both sides, and the independent units they fall into where several go together. Unpaired counts items missing or unscored on either side.",
        methods.join("; "),
        match compared.comparisons.len() {
            1 => "the same where there is one comparison".to_owned(),
            n => format!("corrected over all {n} comparisons"),
        }
    );
    for warning in &compared.warnings {
        caption.push_str(" Note: ");
        caption.push_str(warning);
        caption.push('.');
    }
    caption
}

fn verdict(c: &Comparison) -> &'static str {
    match c.p_holm {
        Some(p) if p < 0.05 && c.difference > 0.0 => "first better",
        Some(p) if p < 0.05 => "second better",
        Some(_) if c.too_few_differ => "too few differ",
        Some(_) => "no difference shown",
        None => "too few items",
    }
}

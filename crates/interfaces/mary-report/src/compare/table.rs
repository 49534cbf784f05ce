//! Comparisons as a table for people.

use std::collections::BTreeSet;

use mary_contract::{Cell, NumberColumns, Table};

use super::{Compared, Comparison};
use crate::DECLARED;
use crate::number::{ScoreScale, count, p_value};
use crate::paired::counted_units;

/// The comparisons as a table for people. A single pair is named in the heading, several in columns.
pub fn table(compared: &Compared) -> Table {
    let all = compared.comparisons.iter();
    let pairs: BTreeSet<(&str, &str)> = all.map(|c| (&*c.first, &*c.second)).collect();
    let pairs: Vec<_> = pairs.into_iter().collect();
    let pair = match pairs.as_slice() {
        [(first, second)] => format!(" of {first} (first) with {second} (second)"),
        _ => String::new(),
    };
    let named = pairs.len() > 1;
    let sides: &[&str] = if named { &["first", "second"] } else { &[] };
    // Scores, difference, interval and p-values; behind the verdict the counts.
    let start = 1 + sides.len();
    let columns = (start..start + 6).chain([start + 7, start + 8]);
    let rows = compared.comparisons.iter().map(|c| row(c, named)).collect();
    let mut table = DECLARED
        .table("comparison")
        .saying("methods", methods(compared))
        .saying(
            "corrected",
            match compared.comparisons.len() {
                1 => "the same where there is one comparison".to_owned(),
                n => format!("corrected over all {n} comparisons"),
            },
        )
        .saying("pair", pair)
        .with_heads("sides", sides.iter().copied())
        // Items and intervals have columns of their own here.
        .with_rows(Cell::figures(rows));
    table.numbers = NumberColumns::At(columns.collect());
    for warning in &compared.warnings {
        table.caption += &format!(" Note: {warning}.");
    }
    table
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
        counted_units(c.paired, c.units),
        count(c.only_first + c.only_second + c.unscored),
    ]);
    row
}

fn methods(compared: &Compared) -> String {
    let all = compared.comparisons.iter().map(|c| c.method.as_str());
    let once: BTreeSet<&str> = all.collect();
    once.into_iter().collect::<Vec<_>>().join("; ")
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

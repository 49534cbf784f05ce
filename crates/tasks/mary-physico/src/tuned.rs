//! Tuned models beside the ones they were made from: the tuned rows of the paper's Tables 4 and 5.

use mary_contract::{Cell, RunSummary, Table};

use crate::exhibits::{Group, SPLITS, groups, how, on};
use crate::published::{DECLARED, with_printed};
use crate::results::{Outcome, cell, outcomes};

/// Tables 4 and 5 of tuned models, given as pairs (tuned, base): each before and after, where both were
/// asked the same, with what the paper prints of tuning.
pub fn tuned_rows(runs: &[RunSummary], pairs: &[(String, String)]) -> Option<Table> {
    let all = outcomes(runs);
    let high: Vec<&Outcome<'_>> = all.iter().filter(|o| o.is_high()).collect();
    let groups = groups(&high);
    let row = |group: &Group<'_>, first: &Outcome<'_>, tuned: bool| {
        let how = match tuned {
            true => format!("{}, tuned", how(group)),
            false => how(group),
        };
        let mut row = vec![first.model().into(), how.into()];
        row.extend(SPLITS.map(|s| cell(on(group, s))));
        row
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (tuned, base) in pairs {
        for group in &groups {
            let Some(after) = group.first().filter(|f| f.model() == tuned) else {
                continue;
            };
            let same = |g: &&Group<'_>| {
                g.first().is_some_and(|f| {
                    f.model() == base
                        && f.asked() == after.asked()
                        && f.conditions.alike_where_shared(&after.conditions, &[])
                })
            };
            let twin = groups.iter().find(same);
            if let Some((found, before)) = twin.and_then(|g| Some((g, g.first()?))) {
                rows.push(row(found, before, false));
                rows.push(row(group, after, true));
            }
        }
    }
    with_printed(DECLARED.table("physico-table-4-tuned").with_rows(rows)).if_measured()
}

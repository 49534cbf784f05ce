//! What a chain of thought went by. The paper's Table 3 shows one that is misled by what the words mean; here
//! people mark any number of them, and the share of the misled stands beside what came of them.

use mary_contract::{Cell, MarkingForm, RunSummary, Sample, Table, Target};

use super::misled::MISLED;
use super::published::DECLARED;
use super::results::task_title;
use super::rule_naming::rule_in_words;

/// Chains of thought, to be marked by people.
pub(super) fn reasoning_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "it goes by how the text looks or sounds",
        "it is misled: it goes by meaning, mood, grammar or anything else than how the text looks or sounds",
        &[
            // Fresh items let the labels change places.
            "rule (A and B may have changed places)",
            "text",
            "right label",
            "reasoning",
        ],
    )
    .measured(MISLED);
    // A thought is what a judge read afterwards.
    for sample in samples.iter().filter(|s| s.exchanges.len() == 2) {
        let (
            Target::Choice {
                question,
                options,
                correct,
            },
            Some(rule),
        ) = (&sample.item.target, rule_in_words(&sample.id.task))
        else {
            continue;
        };
        let right = options.get(*correct).cloned().unwrap_or_default();
        let shown = vec![
            rule.to_owned(),
            question.clone(),
            right,
            sample.written().to_owned(),
        ];
        form.line(&sample.id, "", shown);
    }
    form
}

/// Table 3 as an analysis: how many chains are misled, and what came of them.
pub(super) fn misleading(runs: &[RunSummary]) -> Option<Table> {
    let rows = runs.iter().flat_map(|run| &run.rows).filter_map(|row| {
        let misled = row.measure(MISLED)?;
        let part = |of: &str| {
            let found = row.measure(&format!("accuracy[misled={of}]"));
            found.map_or_else(Cell::none, |e| Cell::percent(e, 1))
        };
        Some(vec![
            Cell::from(row.model.clone()),
            Cell::from(task_title(&row.task)),
            Cell::percent(misled, 1),
            part("yes"),
            part("no"),
        ])
    });
    DECLARED.rows("htest-table-3", rows.collect::<Vec<_>>())
}

//! A run's results as one plain table, for Markdown, LaTeX and CSV.

use mary_contract::{RunSummary, SummaryRow, Table};

use crate::{
    number::{ScoreScale, VersusChance, count},
    subject,
};

/// Everything worth knowing about a row beside its score: ties, unscored by reason, failed by kind.
/// Empty when there is nothing to say.
pub(crate) fn remarks(row: &SummaryRow) -> Vec<String> {
    let mut out = Vec::new();
    if row.ties > 0 {
        out.push(format!("{} tied", count(row.ties)));
    }
    for (reason, &n) in &row.unscored {
        if n > 0 {
            out.push(format!("{} {}", count(n), reason.replace('_', " ")));
        }
    }
    let failed: usize = row.failed.values().sum();
    if failed > 0 {
        let kinds: Vec<_> = row
            .failed
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(kind, _)| kind.replace('_', " "))
            .collect();
        out.push(format!("{} failed ({})", count(failed), kinds.join(", ")));
    }
    out
}

/// One row per task and model of some runs, with interval, chance, human level and counts.
pub fn summary_table(runs: &[RunSummary]) -> Table {
    let head = [
        "task",
        "model",
        "score",
        "95% interval",
        "vs chance",
        "chance",
        "human",
        "n",
        "remarks",
    ];
    let subjects = subject::subjects(runs);
    let mut rows = Vec::new();
    for (_, tasks) in subject::families(runs) {
        for task in &tasks {
            for who in &subjects {
                let Some(row) = subject::row(runs, who, task) else {
                    continue;
                };
                let scale = runs
                    .get(who.run)
                    .map_or(ScoreScale::Proportion, |r| ScoreScale::in_run(r, row));
                let score = row.score.as_ref();
                let level = |v: Option<f64>| v.map_or("–".into(), |v| scale.value(v));
                rows.push(vec![
                    task.clone(),
                    who.label.clone(),
                    score.map_or("–".into(), |s| scale.value(s.value)),
                    score.map_or("–".into(), |s| scale.interval(s)),
                    VersusChance::of(row).words().to_owned(),
                    level(row.chance),
                    level(row.human),
                    count(row.scored),
                    remarks(row).join("; "),
                ]);
            }
        }
    }
    Table {
        id: "results".into(),
        title: "Results".into(),
        caption: caption(runs),
        head: head.map(str::to_owned).to_vec(),
        rows,
        published: vec![],
    }
}

/// How the numbers of some runs are to be read.
pub(crate) fn caption(runs: &[RunSummary]) -> String {
    let mut methods: Vec<&str> = runs
        .iter()
        .flat_map(|r| &r.rows)
        .filter_map(|r| r.score.as_ref())
        .map(|s| s.method.as_str())
        .collect();
    methods.sort_unstable();
    methods.dedup();
    let methods = if methods.is_empty() {
        "none".to_owned()
    } else {
        methods.join(", ")
    };
    format!(
        "Mean score over the n scored samples with its 95 % interval ({methods}). A score is said to \
         be above or below chance only when its whole interval is. Ties count one half; unparsed, \
         refused and failed samples are not counted as wrong but listed."
    )
}

//! A run's results as one plain table, for Markdown, LaTeX and CSV.

use std::collections::BTreeSet;

use mary_contract::{ANISOTROPIC, Cell, FLOOR, RunSummary, SummaryRow, Table, Ties};

use crate::{
    DECLARED,
    number::{HOW_DECIDED, ScoreScale, VersusChance, count, p_value},
    subject,
};

pub(crate) fn constant_answer(row: &SummaryRow) -> Option<String> {
    let constant = row.constant_answer.as_ref()?;
    Some(format!(
        "constant answer: `{}` in {} of {}",
        constant.answer,
        count(constant.count),
        count(constant.of)
    ))
}

/// Everything worth knowing about a row beside its score: a constant answer, what was not counted, and how
/// the score is to be read. Empty when there is nothing to say.
pub(crate) fn remarks(run: &RunSummary, row: &SummaryRow) -> Vec<String> {
    let mut out: Vec<String> = constant_answer(row).into_iter().collect();
    out.extend(not_counted(row));
    out.extend(how_to_read(run, row));
    out
}

pub(crate) fn not_counted(row: &SummaryRow) -> Vec<String> {
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

/// What a reader of the score must know: what counting tokens would score, where cosines hardly differ.
pub(crate) fn how_to_read(run: &RunSummary, row: &SummaryRow) -> Vec<String> {
    let mut out = Vec::new();
    if VersusChance::judge(row) == VersusChance::AtFloor
        && let Some(floor) = row.measure(FLOOR)
    {
        let scale = ScoreScale::in_run(run, row);
        out.push(format!(
            "counting tokens scores {}",
            scale.value(floor.value)
        ));
    }
    if let Some(share) = row
        .measure(ANISOTROPIC)
        .map(|e| e.value)
        .filter(|v| *v > 0.0)
    {
        out.push(format!(
            "warning: all cosines above 0.99 in {:.0} % of the layers, see the centred measures",
            100.0 * share
        ));
    }
    out
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Headline {
    pub words: String,
    /// What runs are ordered by: the score of a run with one, else the share of scores above chance.
    pub key: f64,
}

/// The score of a run with one; of others, how many of their scores are above chance.
pub(crate) fn in_short(run: &RunSummary) -> Option<Headline> {
    if let [row] = run.rows.as_slice() {
        let score = row.score.as_ref()?;
        let scale = ScoreScale::in_run(run, row);
        let mark = VersusChance::judge(row).mark();
        return Some(Headline {
            words: format!(
                "{} {} {mark}",
                scale.value(score.value),
                scale.interval(score)
            ),
            key: score.value,
        });
    }
    let verdicts: Vec<VersusChance> = run.rows.iter().map(VersusChance::judge).collect();
    let of = |wanted| verdicts.iter().filter(|v| **v == wanted).count();
    let known = verdicts.len() - of(VersusChance::Unknown);
    let above = of(VersusChance::Above);
    match (run.rows.iter().any(|r| r.score.is_some()), known) {
        (false, _) => None,
        (true, 0) => Some(Headline {
            words: format!("{} scores", run.rows.len()),
            key: 0.0,
        }),
        (true, known) => Some(Headline {
            words: format!("{above} of {known} above chance"),
            key: above as f64 / known as f64,
        }),
    }
}

pub fn summary_table(runs: &[RunSummary]) -> Table {
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
                    VersusChance::judge(row).words().to_owned(),
                    level(row.chance),
                    level(row.human),
                    count(row.scored),
                    runs.get(who.run)
                        .map_or_else(String::new, |run| remarks(run, row).join("; ")),
                    runs.get(who.run).map_or_else(String::new, |run| {
                        subject::source(std::slice::from_ref(run), task)
                    }),
                    row.chance_test.map_or("–".into(), |t| p_value(t.p)),
                    row.chance_test.map_or("–".into(), |t| p_value(t.p_holm)),
                ]);
            }
        }
    }
    // Interval and n have columns of their own here.
    declared(runs).with_rows(Cell::figures(rows))
}

pub(crate) fn caption(runs: &[RunSummary]) -> String {
    declared(runs).caption
}

/// The table of results, with a caption that fits these runs. Columns that came later stand behind those
/// that were there.
fn declared(runs: &[RunSummary]) -> Table {
    let scores = runs.iter().flat_map(|r| &r.rows);
    let scores = scores.filter_map(|r| r.score.as_ref());
    let methods: BTreeSet<&str> = scores.map(|s| s.method.as_str()).collect();
    let methods: Vec<&str> = methods.into_iter().collect();
    let table = DECLARED.table("results").saying("how", HOW_DECIDED);
    let table = match methods.is_empty() {
        true => table.saying("methods", "none"),
        false => table.saying("methods", methods.join(", ")),
    };
    table.saying("ties", ties(runs))
}

/// What ties count, as far as some can be; by task where tasks differ.
fn ties(runs: &[RunSummary]) -> String {
    let mut rules: Vec<(&'static str, Vec<&str>)> = Vec::new();
    for task in runs.iter().flat_map(|r| &r.manifest.tasks) {
        // A run that does not say so was judged by the rule of the time.
        let rule = task.scoring.map_or(Ties::Half, |s| s.ties);
        let Some(words) = rule.words() else { continue };
        match rules.iter_mut().find(|(said, _)| *said == words) {
            Some((_, tasks)) if tasks.contains(&task.id.as_str()) => {}
            Some((_, tasks)) => tasks.push(&task.id),
            None => rules.push((words, vec![&task.id])),
        }
    }
    let capital = |text: &str| {
        let mut letters = text.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string());
        format!("{}{}", first.unwrap_or_default(), letters.as_str())
    };
    match rules.as_slice() {
        [] => String::new(),
        [(only, _)] => format!("{}. ", capital(only)),
        several => {
            let said: Vec<String> = several
                .iter()
                .map(|(words, tasks)| format!("{words} ({})", tasks.join(", ")))
                .collect();
            format!("{}. ", capital(&said.join("; ")))
        }
    }
}

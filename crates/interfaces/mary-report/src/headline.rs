//! What a run says in a few sentences, made from its numbers alone.

use mary_contract::{RunSummary, SummaryRow};
use mary_platform::{counted, given};

use crate::number::{ScoreScale, VersusChance};
use crate::subject::{self, Subject};

/// More models than this are told about together.
const EACH: usize = 4;

pub(crate) fn headline(runs: &[RunSummary], subjects: &[Subject]) -> Vec<String> {
    match subjects.len() {
        0 => Vec::new(),
        1..=EACH => subjects
            .iter()
            .filter_map(|who| of_one(runs, who))
            .collect(),
        _ => of_many(runs, subjects),
    }
}

fn rows<'a>(runs: &'a [RunSummary], who: &Subject) -> impl Iterator<Item = &'a SummaryRow> {
    let rows = runs.get(who.run).map_or(&[][..], |run| run.rows.as_slice());
    let model = who.model.clone();
    rows.iter().filter(move |row| row.model == model)
}

fn judged(rows: &[&SummaryRow], verdict: VersusChance) -> usize {
    let all = rows.iter().map(|row| VersusChance::judge(row));
    all.filter(|found| *found == verdict).count()
}

fn of_one(runs: &[RunSummary], who: &Subject) -> Option<String> {
    let run = runs.get(who.run)?;
    let all: Vec<&SummaryRow> = rows(runs, who).collect();
    given(!all.is_empty())?;
    let known = all.len() - judged(&all, VersusChance::Unknown);
    let mut sentences = Vec::new();
    if known > 0 {
        let above = judged(&all, VersusChance::Above);
        let below = judged(&all, VersusChance::Below);
        let mut text = format!(
            "{} is above chance on {above} of {}",
            who.label,
            counted(known, "task")
        );
        if below > 0 {
            text.push_str(&format!(" and below it on {below}"));
        }
        if known > 1 {
            text.push_str(&format!(" (Holm's correction over {known} tasks)"));
        }
        sentences.push(text);
        sentences.extend(by_interval_only(&all));
    }
    let margin = |row: &SummaryRow| Some(row.score.as_ref()?.value - row.chance?);
    let above = all
        .iter()
        .filter(|r| VersusChance::judge(r) == VersusChance::Above);
    let strongest = above
        .filter_map(|row| Some((margin(row)?, *row)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, row)) = strongest
        && let Some(score) = &row.score
    {
        let scale = ScoreScale::in_run(run, row);
        sentences.push(format!(
            "strongest: {}, {} {} where chance is {}",
            subject::task_name(&row.task),
            scale.value(score.value),
            scale.interval(score),
            scale.value(row.chance.unwrap_or_default())
        ));
    }
    if known < all.len() {
        let unknown = counted(all.len() - known, "task");
        let who = match known {
            0 => format!("{}: ", who.label),
            _ => String::new(),
        };
        sentences.push(format!("{who}{unknown} without a chance level"));
    }
    sentences.extend(troubles(&all));
    Some(sentences.join("; ") + ".")
}

fn of_many(runs: &[RunSummary], subjects: &[Subject]) -> Vec<String> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut known = 0;
    let mut all: Vec<&SummaryRow> = Vec::new();
    for who in subjects {
        let own: Vec<&SummaryRow> = rows(runs, who).collect();
        known += own.len() - judged(&own, VersusChance::Unknown);
        above.push((judged(&own, VersusChance::Above), &who.label));
        all.extend(own);
    }
    let total: usize = above.iter().map(|(n, _)| n).sum();
    let mut sentences = vec![format!(
        "{total} of {known} scores of {} are above chance (Holm's correction over the tasks of each model)",
        subject::counted_models(subjects.iter().map(|s| &s.model))
    )];
    sentences.extend(by_interval_only(&all));
    above.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    if let (Some(most), Some(least)) = (above.first(), above.last())
        && most.0 > least.0
    {
        sentences.push(format!(
            "most for {} ({}), fewest for {} ({})",
            most.1, most.0, least.1, least.0
        ));
    }
    sentences.extend(troubles(&all));
    vec![sentences.join("; ") + "."]
}

/// Scores whose own interval leaves chance out, and no more; and those that may come from counting tokens.
fn by_interval_only(rows: &[&SummaryRow]) -> Vec<String> {
    let open =
        judged(rows, VersusChance::AboveUncorrected) + judged(rows, VersusChance::BelowUncorrected);
    let others = |n| match n {
        1 => "other differs",
        _ => "others differ",
    };
    let mut said = Vec::new();
    if open > 0 {
        said.push(format!(
            "{open} {} from it by the 95 % interval alone, which the correction does not confirm",
            others(open)
        ));
    }
    let floor = judged(rows, VersusChance::AtFloor);
    if floor > 0 {
        said.push(format!(
            "{floor} {} from it, but not from what counting tokens scores (◇)",
            others(floor)
        ));
    }
    said
}

fn troubles(rows: &[&SummaryRow]) -> Vec<String> {
    let mut out = Vec::new();
    let constant = rows.iter().filter(|r| r.constant_answer.is_some()).count();
    if constant > 0 {
        out.push(format!(
            "one answer takes more than 95 % on {}",
            counted(constant, "task")
        ));
    }
    let unscored: usize = rows.iter().flat_map(|r| r.unscored.values()).sum();
    let failed: usize = rows.iter().flat_map(|r| r.failed.values()).sum();
    if unscored > 0 {
        out.push(format!(
            "{} could not be scored",
            counted(unscored, "sample")
        ));
    }
    if failed > 0 {
        out.push(format!("{} failed", counted(failed, "sample")));
    }
    out
}

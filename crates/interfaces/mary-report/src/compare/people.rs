//! People against a model, or people against people: a study is one side, its people a sample like its items.
//! Every answer of a person to a shared item counts; the other side's trials of that item are averaged.

use std::collections::BTreeSet;

use mary_platform::counted;
use mary_stats::StatsError;
use mary_stats::crossed::{CrossedAnswer, CrossedSide, difference_crossed};

use super::{Compared, Comparison, Scores, Side};
use crate::number::ScoreScale;
use crate::paired::scale_of;

pub(super) fn one_task(
    task: &str,
    (first, a): (&Side, &Scores),
    (second, b): (&Side, &Scores),
    out: &mut Compared,
) -> Result<(), StatsError> {
    let items = |scores: &Scores| -> BTreeSet<String> {
        scores.keys().map(|(item, _)| item.clone()).collect()
    };
    let (mine, theirs) = (items(a), items(b));
    let shared: Vec<&String> = mine.intersection(&theirs).collect();
    let (only_first, only_second) = (mine.len() - shared.len(), theirs.len() - shared.len());
    out.say_unshared(
        task,
        (first, second),
        shared.len(),
        (only_first, only_second),
    );
    let number = |item: &String| shared.binary_search(&item).ok();
    let answers = |scores: &Scores| -> Vec<CrossedAnswer> {
        let scored = scores.iter().filter_map(|((item, trial), verdict)| {
            Some(CrossedAnswer {
                score: verdict.score?,
                person: *trial as usize,
                item: number(item)?,
            })
        });
        scored.collect()
    };
    let (x, y) = (answers(a), answers(b));
    let is_shared = |(item, _): &&(String, u32)| number(item).is_some();
    let asked = |scores: &Scores| scores.keys().filter(is_shared).count();
    let unscored = asked(a) + asked(b) - x.len() - y.len();
    let side = |answers, side: &Side| CrossedSide {
        answers,
        people: side.people,
    };
    let Ok(found) = difference_crossed(side(&x, first), side(&y, second)) else {
        out.say_unscored(task, (first, second));
        return Ok(());
    };
    let scale = scale_of(None, x.iter().chain(&y).map(|a| a.score));
    // As for two models: of fewer items nothing is claimed.
    let enough = found.items >= mary_stats::difference::FEWEST;
    let known = enough && found.bounds.is_some() && scale == ScoreScale::Proportion;
    let (people, items) = (
        counted(found.people, "person"),
        counted(found.items, "item"),
    );
    out.comparisons.push(Comparison {
        task: task.to_owned(),
        first: first.label.clone(),
        second: second.label.clone(),
        first_mean: found.first,
        second_mean: found.second,
        difference: found.first - found.second,
        low: found.bounds.filter(|_| known).map(|b| b.0),
        high: found.bounds.filter(|_| known).map(|b| b.1),
        method: if known {
            format!("crossed, {people}, {items}")
        } else {
            format!(
                "none: {people}, {items}; two people and five items with scores from 0 to 1 are needed"
            )
        },
        p: found.p.filter(|_| known),
        p_holm: None,
        too_few_differ: false,
        scale,
        paired: found.items,
        units: found.items,
        only_first,
        only_second,
        unscored,
    });
    Ok(())
}

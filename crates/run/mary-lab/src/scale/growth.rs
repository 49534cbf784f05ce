//! Subjects on a scale that exists, and ability over training.

use std::collections::{BTreeMap, HashMap};

use mary_contract::{CheckpointName, Figure, Point, ReferenceLine, Series};
use mary_stats::irt::Item;
use mary_stats::irt::scale::stand;

use super::answers::{Answers, PEOPLE};
use super::kept::{Scale, ScaleSubject};
use crate::{DECLARED, RunError};

/// Puts whoever answered onto a scale whose items stay as they are, beside those who stand there already.
pub fn place(scale: &Scale, answers: &Answers, fewest: usize) -> Result<Scale, RunError> {
    let mut placed = scale.clone();
    let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); answers.subjects.len()];
    for (&(who, what), score) in &answers.scores {
        rows[who].push((what, *score));
    }
    let mut new = 0;
    for (subject, row) in answers.subjects.iter().zip(rows) {
        let bank = scale.bank(&subject.group);
        let places: HashMap<&str, usize> = bank
            .iter()
            .enumerate()
            .map(|(at, (_, item))| (item.hash.as_str(), at))
            .collect();
        let curves: Vec<Item> = bank.iter().map(|(_, item)| item.item.clone()).collect();
        let chance: Vec<f64> = bank.iter().map(|(_, item)| item.chance).collect();
        let kinds = scale.kinds(bank.iter().map(|(_, item)| *item));
        let known = row.iter().filter_map(|(what, score)| {
            let at = *places.get(answers.items[*what].hash.as_str())?;
            let whole = score.fract() == 0.0 && (0.0..=f64::from(curves[at].top())).contains(score);
            whole.then_some((at, *score as u8))
        });
        let known: Vec<(usize, u8)> = known.collect();
        if known.len() < fewest.max(1) {
            continue;
        }
        let standing = stand(&curves, &known, &chance, &kinds)
            .map_err(|e| RunError::Specification(e.to_string()))?;
        placed.subjects.retain(|known| known.name != subject.name);
        let own = ScaleSubject::new(subject, Some(&standing), &curves, false);
        placed.subjects.push(own);
        new += 1;
    }
    if new == 0 {
        return Err(RunError::Specification(format!(
            "nobody has {fewest} answers to items of this scale\nhint: ask the tasks of the scale with the same settings and seed"
        )));
    }
    placed.findings.push(format!(
        "{new} subjects were placed on these items and calibrated none of them"
    ));
    placed.sources.extend(answers.sources.iter().cloned());
    Ok(placed)
}

/// Ability over training, one line a model; `None` without checkpoints.
pub(super) fn development(scale: &Scale) -> Option<Figure> {
    let mut lines = BTreeMap::<&str, Vec<Point>>::new();
    let named = scale.subjects.iter().filter_map(|subject| {
        let (model, revision) = subject.name.rsplit_once('@')?;
        Some((
            model,
            CheckpointName::read(revision)?,
            subject.ability.as_ref()?,
        ))
    });
    let named: Vec<_> = named.collect();
    let tokens = named
        .iter()
        .all(|(model, at, _)| at.tokens_of(model).is_some());
    for (model, at, ability) in named {
        let x = match tokens {
            true => at.tokens_of(model).unwrap_or(0),
            false => at.step,
        };
        // The logarithm has no place for the beginning: it stands at one.
        let point = Point::measured("", ability).at((x as f64).max(1.0));
        lines.entry(model).or_default().push(point);
    }
    lines.retain(|_, points| points.len() > 1);
    lines
        .values_mut()
        .for_each(|points| points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    let mut people: Vec<f64> = scale
        .subjects
        .iter()
        .filter(|subject| subject.group == PEOPLE)
        .filter_map(|subject| Some(subject.ability.as_ref()?.value))
        .collect();
    people.sort_by(f64::total_cmp);
    let middle = people.get(people.len() / 2).map(|y| ReferenceLine {
        name: "people, in the middle".into(),
        y: *y,
    });
    let series = lines.into_iter();
    let mut drawn = DECLARED
        .figure("scale-development")
        .saying("x", if tokens { "tokens seen" } else { "step" })
        .with_series(series.map(|(name, points)| Series::measured(name, points)));
    drawn.references.extend(middle);
    drawn.if_measured()
}

//! Subjects on a scale that exists, and ability over training.

use std::collections::{BTreeMap, HashMap};

use mary_contract::{CheckpointName, Figure, Point, ReferenceLine, Series};
use mary_platform::grouped;
use mary_stats::LEVEL;
use mary_stats::intervals::mean_t;
use mary_stats::irt::Item;
use mary_stats::irt::scale::stand;

use super::answers::{Answers, MODELS, SUBJECTS};
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
    let series = lines.into_iter();
    let mut drawn = DECLARED
        .figure("scale-development")
        .saying("x", if tokens { "tokens seen" } else { "step" })
        .with_series(series.map(|(name, points)| Series::measured(name, points)));
    drawn.references = of_people(scale);
    drawn.if_measured()
}

/// Where people stand on average: each group beside the models, such as children of an age and adults.
fn of_people(scale: &Scale) -> Vec<ReferenceLine> {
    let beside = |group: &&str| ![MODELS, SUBJECTS].contains(group);
    let abilities = scale.subjects.iter().filter_map(|subject| {
        let group = Some(subject.group.as_str()).filter(beside)?;
        Some((group, subject.ability.as_ref()?.value))
    });
    let groups = grouped(abilities);
    let line = |(group, abilities): (&str, Vec<f64>)| match mean_t(&abilities, LEVEL) {
        Ok(mean) => ReferenceLine {
            name: format!(
                "{group}, mean of {}: {:.2} [{:.2}, {:.2}]",
                mean.n, mean.value, mean.low, mean.high
            ),
            y: mean.value,
        },
        Err(_) => ReferenceLine {
            name: format!("{group}, one"),
            y: abilities.first().copied().unwrap_or_default(),
        },
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use mary_stats::irt::scale::Curve;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_group_of_people_has_its_mean_on_the_figure_of_training() {
        let subject = |(name, group, value): &(&str, &str, f64)| {
            let ability = json!({"value": value, "low": value - 0.5, "high": value + 0.5, "n": 30, "method": "posterior"});
            json!({"name": name, "group": group, "lineage": name, "answers": 30, "calibrates": true, "ability": ability,
                   "expected": null, "above_chance": true, "outfit": null})
        };
        let checkpoints = [
            ("builtin/nano@step64", MODELS, -1.0),
            ("builtin/nano@step512", MODELS, 0.5),
            ("openai/m", MODELS, 2.0),
        ];
        let of = |people: &[(&str, &str, f64)]| {
            let subjects: Vec<_> = checkpoints.iter().chain(people).map(subject).collect();
            let scale = json!({"schema": 1, "version": "", "findings": [], "sources": [], "tasks": [], "curve": Curve::OnePl,
                               "compared": [], "items": [], "unscaled": [], "subjects": subjects, "reliability": null});
            let scale: Scale = serde_json::from_value(scale).unwrap();
            development(&scale).unwrap()
        };
        let people = [
            ("a", "adults", 1.0),
            ("b", "adults", 2.0),
            ("c", "adults", 3.0),
            ("d", "children", 0.25),
            ("e", SUBJECTS, 9.0),
        ];
        let drawn = of(&people);
        assert_eq!(drawn.series.len(), 1);
        let lines: Vec<(&str, f64)> = drawn.references.iter().map(|r| (&*r.name, r.y)).collect();
        // Student's quantile with two degrees of freedom, 4.303, over the root of three.
        let expected = [
            ("adults, mean of 3: 2.00 [-0.48, 4.48]", 2.0),
            ("children, one", 0.25),
        ];
        assert_eq!(lines, expected);
        assert!(of(&[]).references.is_empty());
    }
}

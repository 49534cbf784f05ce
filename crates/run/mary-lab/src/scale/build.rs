//! From answers to a scale, and what it is worth in words.

use std::collections::{BTreeMap, BTreeSet};

use mary_platform::counted;
use mary_stats::StatsError;
use mary_stats::irt::scale::{
    Calibration, FEWEST_SUBJECTS, FOR_FIT, FOR_SLOPES, Subjects, Wanted, calibrate,
};
use mary_stats::irt::{Item, Responses};

use super::answers::{Answers, Asked, PEOPLE, Subject};
use super::kept::{SCHEMA, Scale, ScaleItem, ScaleSubject, Unscaled, numbered};
use crate::RunError;

/// Below so many independent subjects, intervals of abilities hold less often than they say.
const FEW: usize = 50;

/// What kind of scale is wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScaleOptions {
    /// Curve, lineages, fewest answers, seed.
    pub wanted: Wanted,
    /// One group alone.
    pub only: Option<String>,
    /// Lineage by the beginning of a subject's name, where names tell it wrong.
    pub lineages: Vec<(String, String)>,
}

/// A scale, and what pictures of it need.
#[derive(Debug, Clone)]
pub struct Built {
    /// As it is kept.
    pub scale: Scale,
    pub(super) calibration: Calibration,
    pub(super) responses: Responses,
    pub(super) focal: Vec<bool>,
}

/// Makes a scale of answers. `tell` hears what is being done.
pub fn build(
    mut answers: Answers,
    options: &ScaleOptions,
    tell: &mut dyn FnMut(&str),
) -> Result<Built, RunError> {
    prepare(&mut answers, options)?;
    let responses = responses(&mut answers)?;
    let lineages = numbered(answers.subjects.iter().map(|subject| &subject.lineage));
    let kinds = kinds(&mut answers.items);
    let names: BTreeSet<&str> = answers.subjects.iter().map(|s| s.group.as_str()).collect();
    let pair = match *Vec::from_iter(names.iter().copied()) {
        [first, PEOPLE] => Some((PEOPLE.to_owned(), first.to_owned())),
        [first, second] => Some((first.to_owned(), second.to_owned())),
        _ => None,
    };
    let focal = pair.as_ref().map_or(Vec::new(), |(_, second)| {
        let subjects = answers.subjects.iter();
        subjects.map(|s| s.group == *second).collect()
    });
    let chance: Vec<f64> = answers.items.iter().map(|item| item.chance).collect();
    let data = Subjects {
        responses: &responses,
        lineages: &lineages,
        focal: &focal,
        chance: &chance,
        kinds: &kinds,
    };
    let calibration =
        calibrate(&data, &options.wanted, tell).map_err(|error| refusal(&error, &lineages))?;
    let scale = stored(&answers, &calibration, pair, options, names.len());
    Ok(Built {
        scale,
        calibration,
        responses,
        focal,
    })
}

/// Items by task and kind; by task alone where kinds have a handful of items each, which would decide what is asked.
fn kinds(items: &mut [Asked]) -> Vec<usize> {
    let number = |items: &[Asked]| numbered(items.iter().map(|i| (i.task.clone(), i.kind.clone())));
    let found = number(items);
    if found.iter().max().map_or(0, |most| most + 1) * 5 <= items.len() {
        return found;
    }
    items.iter_mut().for_each(|item| item.kind.clear());
    number(items)
}

/// Puts options in force: lineages by name, one group alone.
fn prepare(answers: &mut Answers, options: &ScaleOptions) -> Result<(), RunError> {
    for (prefix, _) in &options.lineages {
        let mut names = answers.subjects.iter().map(|subject| &subject.name);
        if !names.clone().any(|name| name.starts_with(prefix)) {
            return Err(RunError::Specification(format!(
                "no subject's name begins with `{prefix}`, which is to be of another lineage\nhint: names are whole, such as `{}`",
                names.next().map_or("", String::as_str)
            )));
        }
    }
    for subject in &mut answers.subjects {
        let named = options
            .lineages
            .iter()
            .find(|(prefix, _)| subject.name.starts_with(prefix));
        if let Some((_, lineage)) = named {
            subject.lineage.clone_from(lineage);
        }
    }
    if let Some(only) = &options.only {
        let mut next = 0;
        let place = |subject: &Subject| {
            next += usize::from(subject.group == *only);
            (subject.group == *only).then(|| next - 1)
        };
        let places: Vec<Option<usize>> = answers.subjects.iter().map(place).collect();
        if next == 0 {
            let groups: BTreeSet<&str> =
                answers.subjects.iter().map(|s| s.group.as_str()).collect();
            return Err(RunError::Specification(format!(
                "nobody is in the group `{only}`\nhint: there are {}",
                Vec::from_iter(groups).join(", ")
            )));
        }
        let all = std::mem::take(&mut answers.scores).into_iter();
        let own = all.filter_map(|((who, what), score)| Some(((places[who]?, what), score)));
        answers.scores = own.collect();
        answers.subjects.retain(|s| s.group == *only);
    }
    Ok(())
}

/// Scores as whole numbers from 0. Ties between right and wrong have no place in such a model and are left out.
fn responses(answers: &mut Answers) -> Result<Responses, RunError> {
    let mut values: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); answers.items.len()];
    for ((_, item), score) in &answers.scores {
        values[*item].insert(score.to_bits());
    }
    let mut levels: Vec<Vec<f64>> = Vec::new();
    for (at, values) in values.iter().enumerate() {
        let mut values: Vec<f64> = values.iter().map(|bits| f64::from_bits(*bits)).collect();
        values.sort_by(f64::total_cmp);
        if values.iter().all(|v| [0.0, 0.5, 1.0].contains(v)) {
            values = vec![0.0, 1.0];
        } else if values.len() > 6 || values.iter().any(|v| v.fract() != 0.0 || *v < 0.0) {
            let item = &answers.items[at];
            return Err(RunError::Specification(format!(
                "{}: item {} has scores that are neither right (1) and wrong (0) nor a few whole numbers",
                item.task, item.id
            )));
        }
        levels.push(values);
    }
    let (mut found, mut ties) = (Vec::new(), 0);
    for (&(who, item), score) in &answers.scores {
        match levels[item].iter().position(|level| level == score) {
            Some(place) => found.push((who, item, place as u8)),
            None => ties += 1,
        }
    }
    (0..ties).for_each(|_| answers.leave_out("ties between right and wrong"));
    Responses::new(answers.subjects.len(), answers.items.len(), found)
        .map_err(|error| RunError::Specification(error.to_string()))
}

fn refusal(error: &StatsError, lineages: &[usize]) -> RunError {
    let independent = lineages.iter().collect::<BTreeSet<_>>().len();
    let why = match independent < FEWEST_SUBJECTS {
        true => format!(
            "there {} of {}: no difficulty can be told from {} \
             subjects, and no number is given\nhint: add runs of models of other makers, or answers of people; \
             --lineage NAME=LINEAGE corrects what was taken for one",
            match lineages.len() {
                1 => "is 1 subject".to_owned(),
                n => format!("are {n} subjects"),
            },
            counted(independent, "lineage"),
            format_args!("fewer than {FEWEST_SUBJECTS} independent"),
        ),
        false => error.to_string(),
    };
    RunError::Specification(why)
}

fn stored(
    answers: &Answers,
    found: &Calibration,
    groups: Option<(String, String)>,
    options: &ScaleOptions,
    group_count: usize,
) -> Scale {
    let mut scaled = vec![false; answers.items.len()];
    let mut items = Vec::new();
    let compared = found.groups.iter().flat_map(|g| g.items.iter().flatten());
    let compared: BTreeMap<usize, _> = compared.map(|dif| (dif.item, dif)).collect();
    for item in &found.items {
        scaled[item.item] = true;
        let asked = &answers.items[item.item];
        let only = item.only.and_then(|focal| {
            let (reference, second) = groups.clone()?;
            Some(if focal { second } else { reference })
        });
        items.push(ScaleItem {
            task: asked.task.clone(),
            id: asked.id.clone(),
            hash: asked.hash.clone(),
            text: asked.text.clone(),
            kind: asked.kind.clone(),
            only,
            difficulty: item.curve.difficulty(),
            error: item.errors.difficulty,
            fit: item.fit.as_ref().map(|fit| (fit.outfit_z, fit.infit)),
            item: item.curve.clone(),
            chance: asked.chance,
            compared: compared.get(&item.item).map(|dif| (*dif).clone()),
        });
    }
    let unscaled: Vec<Unscaled> = (0..answers.items.len())
        .filter(|&at| !scaled[at])
        .map(|at| Unscaled {
            task: answers.items[at].task.clone(),
            id: answers.items[at].id.clone(),
            why: "everybody who calibrates has it right, or everybody wrong".into(),
        })
        .collect();
    let mut scale = Scale {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        findings: Vec::new(),
        sources: answers.sources.clone(),
        tasks: answers.tasks.clone(),
        curve: found.curve,
        compared: found.compared.clone(),
        items,
        unscaled,
        subjects: Vec::new(),
        focal: groups.as_ref().map(|groups| groups.1.clone()),
        groups: found
            .groups
            .as_ref()
            .and_then(|groups| serde_json::to_value(groups).ok()),
        reliability: found.reliability,
        between_kinds: found.between_kinds,
    };
    for (at, subject) in answers.subjects.iter().enumerate() {
        let bank: Vec<Item> = scale
            .bank(&subject.group)
            .iter()
            .map(|x| x.1.item.clone())
            .collect();
        let own = ScaleSubject::new(
            subject,
            found.subjects[at].as_ref(),
            &bank,
            found.calibrators.contains(&at),
        );
        scale.subjects.push(own);
    }
    scale.findings = findings(answers, found, groups, options, group_count, &scale);
    scale
}

/// What the scale is worth, in words; the common scale first.
fn findings(
    answers: &Answers,
    found: &Calibration,
    names: Option<(String, String)>,
    options: &ScaleOptions,
    group_count: usize,
    scale: &Scale,
) -> Vec<String> {
    let mut lines = vec![common(found, names, group_count)];
    let members = found.calibrators.len();
    let lineages: BTreeSet<&str> = found
        .calibrators
        .iter()
        .map(|&at| answers.subjects[at].lineage.as_str())
        .collect();
    lines.push(match options.wanted.clustered {
        true => format!(
            "items are calibrated on all {}, with errors clustered by {}",
            counted(members, "subject"),
            counted(lineages.len(), "lineage")
        ),
        false => format!(
            "items are calibrated on one member of each lineage: {members} of {}",
            counted(answers.subjects.len(), "subject")
        ),
    });
    if !scale.unscaled.is_empty() {
        lines.push(format!(
            "{} of {} have no difficulty: all who calibrate have them right, or all wrong",
            scale.unscaled.len(),
            counted(answers.items.len(), "item")
        ));
    }
    if lineages.len() < FOR_SLOPES && options.wanted.curve.is_none() {
        lines.push(format!(
            "slopes of single items are not estimated: that takes {FOR_SLOPES} independent subjects"
        ));
    }
    if members < FOR_FIT {
        lines.push(format!(
            "fit of single items is not judged: that takes {FOR_FIT} independent subjects"
        ));
    }
    if lineages.len() < FEW {
        lines.push(format!(
            "intervals of abilities take the items' numbers for known: with {} independent subjects they are too narrow \
             (docs/scales.md says by how much)",
            lineages.len()
        ));
    }
    match found.reliability {
        Some(r) if r < 0.5 => lines.push(format!(
            "the subjects differ too little to be told apart (reliability {r:.2}): do not rank them"
        )),
        Some(r) => lines.push(format!("reliability of abilities {r:.2}")),
        None => {}
    }
    if let Some(dimensions) = found.dimensions.as_ref().filter(|d| d.dimensions > 1) {
        lines.push(format!(
            "the answers have {} dimensions by parallel analysis: one number does not say all of them",
            dimensions.dimensions
        ));
    }
    if found.between_kinds > 0.0 {
        lines.push(format!(
            "subjects are better at one kind of items than at another, by {:.2} (standard deviation): errors of abilities \
             take that in",
            found.between_kinds.sqrt()
        ));
    }
    if let Some((a, b, share)) = twins(answers) {
        lines.push(format!(
            "{a} and {b} agree on {:.0} % of the items and count as two: name them one with --lineage if they are",
            100.0 * share
        ));
    }
    let without = scale.subjects.iter().filter(|s| s.ability.is_none());
    let few = without.count();
    if few > 0 {
        lines.push(format!(
            "without an ability of their own: {}, with fewer than {} answers or off the scale",
            counted(few, "subject"),
            options.wanted.fewest_answers
        ));
    }
    let out = answers.left_out.iter();
    let out: Vec<String> = out.map(|(what, n)| format!("{n} {what}")).collect();
    if !out.is_empty() {
        lines.push(format!("left out: {}", out.join(", ")));
    }
    lines
}

fn common(found: &Calibration, names: Option<(String, String)>, group_count: usize) -> String {
    let (Some(groups), Some((first, second))) = (&found.groups, names) else {
        return match group_count {
            0 | 1 => "one group of subjects: nothing to compare before a scale is made".into(),
            n => format!(
                "{n} groups of subjects are taken as one: two can be compared (--only names one)"
            ),
        };
    };
    let (sizes, test) = (groups.sizes, groups.test.name());
    let correlation = groups.correlation.map_or(String::new(), |r| {
        format!(", and difficulties correlate by {r:.2}")
    });
    let tested = groups.items.as_ref().map_or(0, Vec::len);
    match groups.common() {
        None => format!(
            "whether {first} and {second} share a scale cannot be told: {}. Numbers of the smaller group take it for granted.",
            groups
                .unclear
                .as_deref()
                .unwrap_or("no items can be compared")
        ),
        Some(false) => format!(
            "there is no common scale of {first} and {second}: {} of {tested} items behave alike ({test} tests){correlation}. What \
             follows is the scale of {} alone.",
            groups.alike(),
            if sizes.1 > sizes.0 { &second } else { &first }
        ),
        Some(true) => format!(
            "{first} and {second} share a scale: {} of {tested} items behave alike ({test} tests){correlation}; the others count for \
             each group apart",
            groups.alike()
        ),
    }
}

/// The two subjects of different lineages that agree most, where they agree nearly always.
fn twins(answers: &Answers) -> Option<(&str, &str, f64)> {
    let subjects = &answers.subjects;
    let mut rows: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); subjects.len()];
    for (&(who, what), score) in &answers.scores {
        rows[who].insert(what, *score);
    }
    let models: Vec<usize> = (0..subjects.len())
        .filter(|&at| subjects[at].group != PEOPLE && rows[at].len() >= 20)
        .collect();
    let mut best: Option<(&str, &str, f64)> = None;
    for (n, &a) in models.iter().enumerate() {
        for &b in &models[n + 1..] {
            let (first, second) = (&subjects[a], &subjects[b]);
            let both: Vec<bool> = rows[a]
                .iter()
                .filter_map(|(item, score)| Some(rows[b].get(item)? == score))
                .collect();
            let right =
                rows[a].values().filter(|s| **s > 0.5).count() as f64 / rows[a].len() as f64;
            // Two that have nearly all right agree without being one.
            if first.lineage == second.lineage || both.len() < 20 || !(0.1..0.9).contains(&right) {
                continue;
            }
            let share = both.iter().filter(|same| **same).count() as f64 / both.len() as f64;
            if share >= 0.95 && best.is_none_or(|(_, _, s)| share > s) {
                best = Some((&first.name, &second.name, share));
            }
        }
    }
    best
}

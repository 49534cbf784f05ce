//! Linear probes of every layer, with control tasks (Hewitt and Liang 2019), families of texts held out, an untrained model
//! beside, and the amnesic test (Elazar et al. 2021): does behaviour change when what the probe reads is removed?

use std::path::Path;

use mary_contract::{Change, Operation, Place, Site, Vector};
use mary_stats::intervals::{cluster_ids, mean_clustered_bounded, mean_clustered_t};
use mary_stats::linear::ridge;
use mary_stats::multiple::holm;
use mary_stats::{Interval, LEVEL, StatsError};
use mary_taskfile::Material;
use serde::Serialize;

use super::Subject;
use super::ask::{Lots, watching};
use super::directions::{Choice, Effect, Use, effects, end_of_region};
use super::pairs::joined;
use super::patch::{failed, p_of};
use crate::texts::{InstrumentError, material};

/// Folds of held-out families, at most.
const FOLDS: usize = 10;
/// Control tasks that are averaged.
const TASKS: u64 = 5;
/// Penalty of the probes, by the mean squared length of a state.
const STRENGTH: f64 = 1.0;

/// Which columns hold what.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProbeColumns {
    /// The texts.
    pub text: String,
    /// One of two labels.
    pub label: String,
    /// Families that are held out whole; without one, texts are dealt by lot.
    pub group: Option<String>,
    /// What control tasks give labels to; without one, the words that are probed.
    pub kind: Option<String>,
    /// Words whose last token is probed; without them, the last token of the text.
    pub region: Option<String>,
}

struct ProbeText {
    text: String,
    label: bool,
    group: String,
    kind: String,
    place: Place,
}

/// Labelled texts.
pub struct ProbeTexts {
    texts: Vec<ProbeText>,
    /// With columns `good` and `bad`, what is chosen after each text.
    choices: Vec<Choice>,
    labels: Vec<String>,
}

impl ProbeTexts {
    /// Reads a table; behaviour is looked at where it has the columns `good` and `bad`.
    pub fn open(path: &Path, columns: &ProbeColumns, joint: &str) -> Result<Self, InstrumentError> {
        let material = Material::open(path)?;
        let (mut texts, mut choices) = (Vec::new(), Vec::new());
        let mut labels: Vec<String> = Vec::new();
        for row in material.rows()? {
            let row = row?;
            let column = |name: &str| material::words(&material, &row, name);
            let optional = |name: &Option<String>| name.as_deref().map(column).transpose();
            let (text, label) = (column(&columns.text)?, column(&columns.label)?);
            if !labels.contains(&label) {
                labels.push(label.clone());
            }
            let region = end_of_region(&material, &row, (&text, columns.region.as_deref()))?;
            let (place, region) = region.map_or((Place::Last, None), |(p, words)| (p, Some(words)));
            let last = || {
                text.split_whitespace()
                    .next_back()
                    .unwrap_or_default()
                    .into()
            };
            if row.columns.contains_key("good") && row.columns.contains_key("bad") {
                let words = [column("good")?, column("bad")?];
                choices.push(Choice {
                    id: row.line.to_string(),
                    text: text.clone(),
                    words: words.map(|word| joined(&text, &word, joint)),
                    place,
                });
            }
            texts.push(ProbeText {
                group: optional(&columns.group)?.unwrap_or_else(|| row.line.to_string()),
                kind: optional(&columns.kind)?.or(region).unwrap_or_else(last),
                label: labels.first() != Some(&label),
                place,
                text,
            });
        }
        if labels.len() != 2 {
            let message = format!(
                "column `{}` has {} labels; a probe tells two apart",
                columns.label,
                labels.len()
            );
            return Err(material.wrong(1, message).into());
        }
        Ok(Self {
            texts,
            choices,
            labels,
        })
    }
}

/// A layer with its probe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbedLayer {
    /// Blocks done.
    pub layer: usize,
    /// Share of held-out texts with the right label.
    pub accuracy: Interval,
    /// The same for labels that each kind was given by lot.
    pub control: Interval,
    /// Accuracy less that of the control task.
    pub selectivity: Interval,
    /// Accuracy on states of an untrained model.
    pub untrained: Option<Interval>,
    /// The larger p-value: of selectivity, and of the difference from the untrained model.
    pub p: f64,
    /// Corrected by Holm over layers.
    pub p_holm: f64,
    /// Selective, and better than on the untrained model.
    pub marked: bool,
}

/// What probes found in one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probed {
    /// The model as it is called.
    pub model: String,
    /// The two labels.
    pub labels: Vec<String>,
    /// By layer.
    pub layers: Vec<ProbedLayer>,
    /// What is left of the choice between `good` and `bad` when the probe's direction is removed from a layer.
    pub amnesic: Vec<Effect>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// States by layer and text.
fn states(
    subject: &Subject<'_>,
    texts: &[ProbeText],
) -> Result<Vec<Vec<Vec<f64>>>, InstrumentError> {
    let asked = texts.iter().map(|t| {
        let layers = 0..=subject.layers;
        watching(&t.text, layers.map(|l| (Site::Stream(l), t.place)))
    });
    let mut layers = vec![Vec::with_capacity(texts.len()); subject.layers + 1];
    for answer in subject.ask(asked.collect())? {
        for (layer, state) in layers.iter_mut().zip(answer.states.iter().flatten()) {
            layer.push(state.0.iter().map(|&x| f64::from(x)).collect());
        }
    }
    Ok(layers)
}

/// Whether each text gets its label from a probe that saw no text of its fold.
fn held_out(rows: &[Vec<f64>], labels: &[bool], folds: &[usize]) -> Result<Vec<f64>, StatsError> {
    let mut right = vec![0.0; rows.len()];
    for fold in 0..FOLDS {
        let own = |at: &usize| folds[*at] == fold;
        let (test, train): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(own);
        if test.is_empty() {
            continue;
        }
        let features: Vec<Vec<f64>> = train.iter().map(|&at| rows[at].clone()).collect();
        let signs: Vec<f64> = train.iter().map(|&at| sign(labels[at])).collect();
        let (intercept, weights) = ridge(&features, &signs, STRENGTH)?;
        for at in test {
            let each = rows[at].iter().zip(&weights).map(|(x, w)| x * w);
            let score = intercept + each.sum::<f64>();
            right[at] = match score == 0.0 {
                true => 0.5,
                false => f64::from(u8::from((score > 0.0) == labels[at])),
            };
        }
    }
    Ok(right)
}

fn sign(label: bool) -> f64 {
    if label { 1.0 } else { -1.0 }
}

/// Probes every layer of a model, beside an untrained one where there is one.
pub fn probe(
    name: &str,
    (subject, twin): (&Subject<'_>, Option<&Subject<'_>>),
    of: &ProbeTexts,
    (random, seed): (usize, u64),
) -> Result<Probed, InstrumentError> {
    let groups = cluster_ids(of.texts.iter().map(|t| t.group.as_str()));
    let families = groups.iter().max().map_or(0, |g| g + 1);
    if families < 2 {
        return Err(InstrumentError::Usage(
            "all texts are of one group; at least two are needed, so that one can be held out"
                .into(),
        ));
    }
    // Families are dealt into folds in an order drawn by lot.
    let mut order: Vec<usize> = (0..families).collect();
    let mut lots = Lots::new(seed, "folds");
    (1..families)
        .rev()
        .for_each(|i| order.swap(i, lots.below(i + 1)));
    let folds: Vec<usize> = groups
        .iter()
        .map(|&g| order[g] % FOLDS.min(families))
        .collect();
    let labels: Vec<bool> = of.texts.iter().map(|t| t.label).collect();
    let own = states(subject, &of.texts)?;
    let beside = twin.map(|twin| states(twin, &of.texts)).transpose()?;
    let mut found = Probed {
        model: name.to_owned(),
        labels: of.labels.clone(),
        layers: Vec::new(),
        amnesic: Vec::new(),
        notes: notes(of, &folds),
    };
    for (layer, rows) in own.iter().enumerate() {
        let right = held_out(rows, &labels, &folds).map_err(failed)?;
        let mut control = vec![0.0; rows.len()];
        for task in 0..TASKS {
            // The labels of a control task: each kind has one, drawn by lot.
            let label =
                |t: &ProbeText| Lots::new(seed + task, &format!("kind {}", t.kind)).below(2) == 1;
            let drawn: Vec<bool> = of.texts.iter().map(label).collect();
            let found = held_out(rows, &drawn, &folds).map_err(failed)?;
            let each = control.iter_mut().zip(found);
            each.for_each(|(sum, right)| *sum += right / TASKS as f64);
        }
        let untrained = beside
            .as_ref()
            .map(|b| held_out(&b[layer], &labels, &folds));
        let untrained = untrained.transpose().map_err(failed)?;
        let probed = probed(layer, [&right, &control], untrained.as_deref(), &groups);
        found.layers.push(probed.map_err(failed)?);
    }
    let all: Vec<f64> = found.layers.iter().map(|l| l.p).collect();
    for (layer, p) in found.layers.iter_mut().zip(holm(&all).map_err(failed)?) {
        layer.p_holm = p;
        layer.marked &= p < 1.0 - LEVEL;
    }
    if of.choices.len() == of.texts.len() {
        let mut directions = Vec::new();
        for rows in &own {
            let signs: Vec<f64> = labels.iter().map(|&l| sign(l)).collect();
            let (_, weights) = ridge(rows, &signs, STRENGTH).map_err(failed)?;
            directions.push(Vector(weights.into_iter().map(|w| w as f32).collect()));
        }
        let uses = directions.iter().enumerate().map(|(layer, direction)| Use {
            layer,
            factor: 0.0,
            direction,
        });
        let remove = |one: &Use<'_>, direction: &Vector, choice: &Choice| Change {
            site: Site::Stream(one.layer),
            place: choice.place,
            operation: Operation::Remove(direction.clone()),
        };
        let uses: Vec<Use<'_>> = uses.collect();
        found.amnesic = effects(subject, &of.choices, &uses, (random, seed), remove)?;
    }
    Ok(found)
}

fn probed(
    layer: usize,
    [right, control]: [&[f64]; 2],
    untrained: Option<&[f64]>,
    groups: &[usize],
) -> Result<ProbedLayer, StatsError> {
    let less =
        |other: &[f64]| -> Vec<f64> { right.iter().zip(other).map(|(a, b)| a - b).collect() };
    let selectivity = mean_clustered_t(&less(control), groups, LEVEL)?;
    let (mut p, mut marked) = (p_of(&selectivity), selectivity.low > 0.0);
    if let Some(untrained) = untrained {
        let beyond = mean_clustered_t(&less(untrained), groups, LEVEL)?;
        p = p.max(p_of(&beyond));
        marked &= beyond.low > 0.0;
    }
    let share = |values: &[f64]| mean_clustered_bounded(values, groups, LEVEL);
    Ok(ProbedLayer {
        layer,
        accuracy: share(right)?,
        control: share(control)?,
        selectivity,
        untrained: untrained.map(share).transpose()?,
        p,
        p_holm: 1.0,
        marked,
    })
}

fn notes(of: &ProbeTexts, folds: &[usize]) -> Vec<String> {
    let seen = (0..of.texts.len()).filter(|&at| {
        let elsewhere =
            |other: usize| folds[other] != folds[at] && of.texts[other].kind == of.texts[at].kind;
        (0..of.texts.len()).any(elsewhere)
    });
    let share = seen.count() as f64 / of.texts.len() as f64;
    match share < 0.5 {
        true => vec![format!(
            "{:.0} % of held-out texts have a kind that the probe was trained on: a control task cannot be learned, and \
             selectivity is little more than accuracy less chance",
            100.0 * share
        )],
        false => Vec::new(),
    }
}

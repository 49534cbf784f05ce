//! Trajectories: the scores of one model's checkpoints in the order of training.
//!
//! A curve is of one question, judged in one way ([`Conditions`]): checkpoints that were asked with other
//! settings make another curve, or are named where they are too few for one.
//!
//! A checkpoint is known by its name: a revision (`…@step1000`) or a folder (`…/step1000`,
//! `…/checkpoint-1000`, and the other names of [`CheckpointName`]). Where the tokens of a step are known
//! (from the model card, which `mary sweep` fills in, or because the family is), the axis is tokens
//! seen; otherwise it is the step.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{
    CheckpointName, Conditions, Estimate, ModelCard, RunSummary, SummaryRow, TaskRun, variants,
};
use mary_platform::given;

#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The model without its step: `hf/EleutherAI/pythia-70m`.
    pub size: String,
    pub step: u64,
    pub tokens: Option<f64>,
}

/// Where in training a model stands, if its name says so.
pub fn stage(model: &str, card: Option<&ModelCard>) -> Option<Stage> {
    let said = card.and_then(ModelCard::training_tokens);
    // A checkpoint of any name has its place where a table said how many tokens it had seen.
    let by_tokens = || said.map(|step| CheckpointName { step, tokens: said });
    let place = |name: &str| CheckpointName::read(name).or_else(by_tokens);
    let (size, named) = match model.rsplit_once('@') {
        Some((size, revision)) if place(revision).is_some() => (size, place(revision)?),
        _ => {
            let (size, folder) = model.rsplit_once('/')?;
            (size, place(folder)?)
        }
    };
    Some(Stage {
        size: size.to_owned(),
        step: named.step,
        tokens: said.or_else(|| named.tokens_of(size)).map(|t| t as f64),
    })
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ability {
    pub task: String,
    pub part: Part,
}

pub const PARADIGM: &str = "set";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Score,
    Measure(String),
    /// The score of the items with this tag.
    Tag(String, String),
}

impl Ability {
    pub fn score(task: &str) -> Self {
        Self {
            task: task.to_owned(),
            part: Part::Score,
        }
    }

    pub fn title(&self) -> String {
        let task = self.task.strip_prefix("psychometric/");
        let task = match task.unwrap_or(&self.task) {
            "blimp" => "BLiMP",
            "grammar" => "grammar (fresh pairs)",
            "grammar-small" => "grammar (small world)",
            "numbers" => "number distance effect",
            "matrices" => "matrices",
            other => other,
        };
        match &self.part {
            Part::Score => task.to_owned(),
            Part::Measure(name) => format!("{task}: {}", name.replace('_', " ")),
            Part::Tag(tag, value) => {
                let between = if tag == PARADIGM { " " } else { "/" };
                format!("{task}: {}", value.replace('_', between))
            }
        }
    }

    pub fn id(&self) -> String {
        let part = match &self.part {
            Part::Score => String::new(),
            Part::Measure(name) => format!("-{name}"),
            Part::Tag(tag, value) => format!("-{tag}-{value}"),
        };
        slug(&format!("{}{part}", self.task))
    }

    fn value_in(&self, row: &SummaryRow) -> Option<Estimate> {
        match &self.part {
            Part::Score => row.score.clone(),
            Part::Measure(name) => row.measure(name).cloned(),
            Part::Tag(tag, value) => row.part(tag, value).cloned(),
        }
    }
}

/// A name as part of an id or of a file's name.
pub fn slug(text: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(clean).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub struct Milestone {
    /// The model as it was run.
    pub model: String,
    pub step: u64,
    /// Tokens seen, or the step where tokens are not known.
    pub x: f64,
    pub value: Estimate,
    /// Why it is shown apart and used for no window; empty for a sound one.
    pub doubt: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    pub ability: Ability,
    pub size: String,
    pub name: String,
    /// The same with the variant, where there are several.
    pub label: String,
    pub conditions: Conditions,
    /// The settings that tell this curve from others of the same size and task; empty when it is the
    /// only one.
    pub variant: String,
    /// Whether `x` is tokens; otherwise it is steps.
    pub in_tokens: bool,
    pub chance: Option<f64>,
    pub milestones: Vec<Milestone>,
}

impl Trajectory {
    pub fn title(&self) -> String {
        if self.variant.is_empty() {
            return self.ability.title();
        }
        format!("{} ({})", self.ability.title(), self.variant)
    }

    /// The milestones that nothing speaks against, with a place on a log axis.
    pub fn sound(&self) -> impl Iterator<Item = &Milestone> {
        let milestones = self.milestones.iter();
        milestones.filter(|m| m.doubt.is_none() && m.x > 0.0)
    }
}

struct Entry<'a> {
    stage: Stage,
    row: &'a SummaryRow,
    fingerprint: &'a str,
}

type Groups<'a> = BTreeMap<(String, String), BTreeMap<Conditions, Vec<Entry<'a>>>>;

/// Checkpoints below which there is no curve.
const FEWEST: usize = 3;

fn groups(runs: &[RunSummary]) -> Groups<'_> {
    let mut groups = Groups::new();
    for run in runs {
        for row in &run.rows {
            let mut models = run.manifest.models.iter();
            let card = models.find(|c| c.model.to_string() == row.model);
            let Some(stage) = stage(&row.model, card) else {
                continue;
            };
            let group = groups.entry((row.task.clone(), stage.size.clone()));
            let entries = group.or_default().entry(conditions(run, row)).or_default();
            // The same checkpoint asked the same twice: the later run counts.
            entries.retain(|e| e.stage.step != stage.step);
            entries.push(Entry {
                stage,
                row,
                fingerprint: card.map_or("", |c| c.fingerprint.as_str()),
            });
        }
    }
    for entries in groups.values_mut().flat_map(BTreeMap::values_mut) {
        entries.sort_by_key(|e| e.stage.step);
    }
    groups
}

pub fn conditions(run: &RunSummary, row: &SummaryRow) -> Conditions {
    run.manifest.conditions(&row.task).unwrap_or_else(|| {
        let unknown = TaskRun {
            id: row.task.clone(),
            ..TaskRun::default()
        };
        unknown.conditions()
    })
}

/// Trajectories of every ability of every model that was asked the same at three checkpoints or more.
///
/// Checkpoints with the same fingerprint and scores that leave the trend are kept, with their doubt
/// said: a duplicate is never taken silently.
pub fn trajectories(runs: &[RunSummary]) -> Vec<Trajectory> {
    curves(runs, abilities)
}

/// Trajectories of the parts of which a task's score is a mean: every paradigm of grammar, every layer of
/// the number line.
pub fn parts(runs: &[RunSummary]) -> Vec<Trajectory> {
    curves(runs, part_abilities)
}

/// Trajectories of one number that a task's rows hold under a tag, for every value of the tag.
pub fn by_tag(runs: &[RunSummary], task: &str, tag: &str) -> Vec<Trajectory> {
    curves(runs, |found, entries| {
        if found == task {
            tagged(found, tag, entries)
        } else {
            vec![]
        }
    })
}

fn curves(
    runs: &[RunSummary],
    abilities: impl Fn(&str, &[Entry<'_>]) -> Vec<Ability>,
) -> Vec<Trajectory> {
    let groups = groups(runs);
    let sizes: BTreeSet<String> = groups.keys().map(|(_, size)| size.clone()).collect();
    let mut found = Vec::new();
    for ((task, size), by_conditions) in &groups {
        let names = variants(&by_conditions.keys().collect::<Vec<_>>());
        for ((conditions, entries), variant) in by_conditions.iter().zip(names) {
            if entries.len() < FEWEST {
                continue;
            }
            let name = label(size, &sizes);
            let label = match variant.as_str() {
                "" => name.clone(),
                variant => format!("{name} ({variant})"),
            };
            for ability in abilities(task, entries) {
                let trajectory = follow(ability, size, entries).map(|followed| Trajectory {
                    name: name.clone(),
                    label: label.clone(),
                    conditions: conditions.clone(),
                    variant: variant.clone(),
                    ..followed
                });
                found.extend(trajectory);
            }
        }
    }
    found
}

/// Checkpoints that are on no curve because they were asked otherwise than the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub size: String,
    pub task: String,
    pub variant: String,
    pub steps: Vec<u64>,
}

/// What is on no curve although the size has checkpoints enough for one.
pub fn left_out(runs: &[RunSummary]) -> Vec<LeftOut> {
    let groups = groups(runs);
    let sizes: BTreeSet<String> = groups.keys().map(|(_, size)| size.clone()).collect();
    let mut found = Vec::new();
    for ((task, size), by_conditions) in &groups {
        let entries = by_conditions.values().flatten();
        let steps: BTreeSet<u64> = entries.map(|e| e.stage.step).collect();
        if steps.len() < FEWEST {
            continue;
        }
        let names = variants(&by_conditions.keys().collect::<Vec<_>>());
        for (entries, variant) in by_conditions.values().zip(names) {
            if entries.len() < FEWEST {
                found.push(LeftOut {
                    size: label(size, &sizes),
                    task: task.clone(),
                    variant,
                    steps: entries.iter().map(|e| e.stage.step).collect(),
                });
            }
        }
    }
    found
}

fn tagged(task: &str, tag: &str, entries: &[Entry<'_>]) -> Vec<Ability> {
    let breakdowns = entries.iter().flat_map(|e| &e.row.breakdowns);
    let tagged = breakdowns.filter(|b| b.tag == tag);
    let values: BTreeSet<&String> = tagged.flat_map(|b| b.values.keys()).collect();
    let ability = |value: &String| Ability {
        task: task.to_owned(),
        part: Part::Tag(tag.to_owned(), value.clone()),
    };
    values.into_iter().map(ability).collect()
}

fn part_abilities(task: &str, entries: &[Entry<'_>]) -> Vec<Ability> {
    match task {
        "psychometric/blimp" | "psychometric/grammar" | "psychometric/grammar-small" => {
            tagged(task, PARADIGM, entries)
        }
        "psychometric/numbers" => {
            let measures = entries.iter().flat_map(|e| &e.row.measures);
            let names = measures.map(|m| &m.name);
            let layers: BTreeSet<&String> = names
                .filter(|name| name.starts_with("distance.layer_"))
                .collect();
            layers.iter().map(|name| measured(task, name)).collect()
        }
        _ => vec![],
    }
}

/// Whether more is better: the score of word ages is a surprisal, and has exhibits of its own.
pub fn is_ability(task: &str) -> bool {
    task != crate::word_age::ID
}

/// The score, and for grammar its fields: the paper finds morphology first, then syntax, then
/// semantics.
fn abilities(task: &str, entries: &[Entry<'_>]) -> Vec<Ability> {
    if !is_ability(task) {
        return vec![];
    }
    let mut all = vec![Ability::score(task)];
    match task {
        "psychometric/blimp" | "psychometric/grammar" | "psychometric/grammar-small" => {
            all.extend(tagged(task, "field", entries));
        }
        "psychometric/numbers" => {
            all.extend(["ratio", "size", "mds_correlation", "max"].map(|m| measured(task, m)));
        }
        _ => {}
    }
    all
}

fn measured(task: &str, name: &str) -> Ability {
    Ability {
        task: task.to_owned(),
        part: Part::Measure(name.to_owned()),
    }
}

fn follow(ability: Ability, size: &str, entries: &[Entry<'_>]) -> Option<Trajectory> {
    let in_tokens = entries.iter().all(|e| e.stage.tokens.is_some());
    let milestone = |entry: &Entry<'_>| {
        let tokens = entry.stage.tokens.filter(|_| in_tokens);
        let own = entries.iter().find(|e| e.row.model == entry.row.model)?;
        let twin = twin(own, entries).map(|twin| twin.stage.step);
        Some(Milestone {
            model: entry.row.model.clone(),
            step: entry.stage.step,
            x: tokens.unwrap_or(entry.stage.step as f64),
            value: ability.value_in(entry.row)?,
            doubt: twin.map(|step| format!("its weights are those of step {step}")),
        })
    };
    let mut milestones: Vec<Milestone> = entries.iter().filter_map(milestone).collect();
    given(milestones.len() >= FEWEST)?;
    let chance = entries.first().and_then(|e| e.row.chance);
    let chance = chance.filter(|_| !matches!(ability.part, Part::Measure(_)));
    // Shares of right answers have honest standard errors; an R² of three formats may well have a bump.
    if chance.is_some() {
        doubt_spikes(&mut milestones);
    }
    Some(Trajectory {
        name: size.to_owned(),
        label: size.to_owned(),
        conditions: Conditions::default(),
        variant: String::new(),
        chance,
        ability,
        size: size.to_owned(),
        in_tokens,
        milestones,
    })
}

fn twin<'a, 'b>(own: &Entry<'_>, entries: &'b [Entry<'a>]) -> Option<&'b Entry<'a>> {
    let same = |e: &&Entry<'_>| {
        e.stage.step != own.stage.step
            && !own.fingerprint.is_empty()
            && e.fingerprint == own.fingerprint
    };
    entries.iter().find(same)
}

/// The last part of the name, unless two sizes share it.
fn label(size: &str, sizes: &BTreeSet<String>) -> String {
    fn last(text: &str) -> &str {
        text.rsplit('/').find(|p| !p.is_empty()).unwrap_or(text)
    }
    let alike = sizes.iter().filter(|other| last(other) == last(size));
    let name = if alike.count() > 1 { size } else { last(size) };
    name.to_owned()
}

fn doubt_spikes(milestones: &mut [Milestone]) {
    let sound = milestones.iter_mut().filter(|m| m.doubt.is_none());
    let mut sound: Vec<&mut Milestone> = sound.collect();
    let point = |e: &Estimate| (e.value, (e.high - e.low).max(0.0) / 3.92);
    let points: Vec<(f64, f64)> = sound.iter().map(|m| point(&m.value)).collect();
    for (place, milestone) in sound.iter_mut().enumerate() {
        let excess = spike(&points, place);
        milestone.doubt =
            excess.map(|by| format!("its value lies {by:.2} outside those before and after it"));
    }
}

/// How far a value lies outside the range of the two values before and the two after it, if that is
/// beyond noise: more than four standard errors and more than 15 % of the whole trajectory's range.
/// At the two ends only a value against growth is a spike (the first above, the last below its
/// neighbours). Smooth growth, however steep, is never one.
pub fn spike(points: &[(f64, f64)], place: usize) -> Option<f64> {
    let &(own, error) = points.get(place)?;
    let before = points.get(place.saturating_sub(2)..place)?;
    let after = points.get(place + 1..(place + 3).min(points.len()))?;
    given(before.len() + after.len() >= 2)?;
    let bounds = |list: &mut dyn Iterator<Item = f64>| {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        list.fold(none, |(l, h), v| (l.min(v), h.max(v)))
    };
    let (low, high) = bounds(&mut before.iter().chain(after).map(|p| p.0));
    // The range without the point itself: a spike must not hide behind its own height.
    let others = points.iter().enumerate().filter(|(i, _)| *i != place);
    let (least, most) = bounds(&mut others.map(|(_, p)| p.0));
    let near = before.iter().chain(after);
    let noise = near.map(|p| p.1).fold(error, f64::max);
    let above = if after.is_empty() { 0.0 } else { own - high };
    let below = if before.is_empty() { 0.0 } else { low - own };
    let excess = above.max(below);
    (excess > 4.0 * noise && excess > 0.15 * (most - least) && excess > 1e-9).then_some(excess)
}

#[cfg(test)]
#[path = "trajectories_tests.rs"]
mod tests;

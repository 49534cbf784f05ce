//! Typicality: a robin is more of a bird than an ostrich. Does a model order the members of a category
//! as people do? Three ways of asking (closeness of vectors, probability of a sentence, a ranking in
//! words), one set of norms, Spearman's correlation for each category and then the mean.

pub mod norms;
mod prompting;
mod surprisal;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{DataSource, Estimate, Item, ItemSource, Measure, Sample, Target, TaskCard};
use mary_contract::{SettingDefault, TaskError, TaskSettings};
use mary_generators::{shuffle, stream};
use mary_stats::correlation::Correlation;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use norms::{Category, Member};
pub use prompting::{Prompting, read_ranking};
pub(crate) use surprisal::FIRST_UNSCORED;
pub use surprisal::Surprisal;
pub use vectors::Vectors;

/// People's norms, or for the built-in model the small world's.
const AUTO: &str = "auto";
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NormSource {
    World,
    Rosch,
    Castro,
}

/// What `norms=auto` means for a task of these settings: people's norms, unless only the built-in model
/// is asked, whose whole world the other categories are. Nothing where the task has no norms or the user
/// chose some.
fn for_model(card: &TaskCard, settings: &TaskSettings, builtin: bool) -> SettingDefault {
    let default = card.param("norms").is_some_and(|p| p.default == AUTO);
    let open = default && settings.param(card, "norms") == AUTO;
    (open && !builtin).then_some(("norms", "rosch"))
}

fn source(card: &TaskCard, settings: &TaskSettings) -> Result<NormSource, TaskError> {
    use NormSource::{Castro, Rosch, World};
    // Whoever runs a model that is not the built-in one says `rosch` for `auto` ([`for_model`]).
    let words = [
        ("auto", World),
        ("world", World),
        ("rosch", Rosch),
        ("castro", Castro),
    ];
    settings.choose(card, "norms", &words)
}

fn categories(
    card: &TaskCard,
    settings: &TaskSettings,
    data: &dyn DataSource,
) -> Result<Vec<Category>, TaskError> {
    match source(card, settings)? {
        NormSource::World => Ok(norms::small_world()),
        NormSource::Rosch => norms::rosch(data),
        NormSource::Castro => match settings.param(card, "norms_file") {
            "" => Err(TaskError::Setting(format!(
                "{}: norms=castro needs a file\nhint: --set norms_file=PATH names the authors' table, or a CSV file \
                 with the columns category,item,proportion",
                card.id
            ))),
            path => norms::proportions(Path::new(path), settings.param(card, "norms_columns")),
        },
    }
}

fn item_source(card: &TaskCard, settings: &TaskSettings) -> ItemSource {
    match source(card, settings) {
        Ok(NormSource::Rosch) => ItemSource::Published,
        Ok(NormSource::Castro) => ItemSource::File,
        Ok(NormSource::World) | Err(_) => ItemSource::Fresh,
    }
}

/// Which members stand before the question, and `where_` they do.
fn exemplar_convention(shots: usize, typical: bool, where_: &str) -> String {
    match (shots, typical) {
        (0, _) => "none".to_owned(),
        (k, false) => format!("{k} drawn by the seed, {where_}"),
        (k, true) => format!("the {k} most typical, {where_}"),
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct ShownCategory {
    category: String,
    members: Vec<String>,
    typicality: Vec<f64>,
}

impl ShownCategory {
    fn new<'a>(category: &str, members: impl Iterator<Item = &'a Member>) -> Self {
        let (members, typicality) = members.map(|m| (m.name.clone(), m.typicality)).unzip();
        Self {
            category: category.to_owned(),
            members,
            typicality,
        }
    }

    fn target(&self) -> Target {
        Target::Data(json!(self))
    }

    fn read(item: &Item) -> Result<Self, String> {
        match &item.target {
            Target::Data(data) => {
                serde_json::from_value(data.clone()).map_err(|e| format!("a category: {e}"))
            }
            _ => Err("an item of typicality lists the members of a category".into()),
        }
    }
}

fn note(category: &str, found: &Correlation, left_out: &[String]) -> serde_json::Value {
    let mut note = json!({
        "category": category,
        "spearman": found.r.value,
        "low": found.r.low,
        "high": found.r.high,
        "members": found.r.n,
    });
    if let (false, Some(map)) = (left_out.is_empty(), note.as_object_mut()) {
        map.insert("left out".into(), json!(left_out));
    }
    note
}

pub(crate) fn measure_of(category: &str) -> String {
    format!("category:{category}")
}

/// One measure for each category, with the interval of its own correlation (the summary's breakdown
/// knows one number for a category and no interval).
fn by_category(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let mut found: BTreeMap<String, Estimate> = BTreeMap::new();
    for sample in samples {
        let notes = &sample.judgement.notes;
        let number = |name: &str| notes.get(name).and_then(serde_json::Value::as_f64);
        let name = notes.get("category").and_then(|c| c.as_str());
        if let (Some(name), Some(value), Some(low), Some(high)) =
            (name, number("spearman"), number("low"), number("high"))
        {
            let n = notes.get("members").and_then(serde_json::Value::as_u64);
            let (n, method) = (n.unwrap_or(0) as usize, "fisher-z (Bonett & Wright)");
            let estimate = Estimate::new(value, (low, high), n, method);
            found.entry(measure_of(name)).or_insert(estimate);
        }
    }
    let measure = |(name, estimate)| Measure::new(name, estimate);
    found.into_iter().map(measure).collect()
}

/// Most exemplars, as in the paper.
const MOST_SHOTS: usize = 3;
/// A rank correlation needs this many members beside the exemplars.
const FEWEST: usize = 4;

fn shots(card: &TaskCard, settings: &TaskSettings) -> Result<usize, TaskError> {
    let shots = settings.shots.unwrap_or(0);
    if shots > MOST_SHOTS {
        return Err(TaskError::Setting(format!(
            "{}: {shots} shots (-k, --shots); this task takes 0 to {MOST_SHOTS} exemplars",
            card.id
        )));
    }
    Ok(shots)
}

/// Places of the members that are shown as exemplars, and so left out of the correlation: drawn by the
/// seed, or the most typical ones.
fn exemplars(
    card: &TaskCard,
    category: &Category,
    seed: u64,
    shots: usize,
    typical: bool,
) -> Result<Vec<usize>, TaskError> {
    if category.members.len() < FEWEST + shots {
        let (id, name, members) = (&card.id, &category.name, category.members.len());
        return Err(TaskError::Setting(format!(
            "{id}: category `{name}` has {members} members; {shots} shots leave too few"
        )));
    }
    let mut order: Vec<usize> = (0..category.members.len()).collect();
    if typical {
        let of = |i: &usize| category.members.get(*i).map_or(0.0, |m| m.typicality);
        order.sort_by(|a, b| of(b).total_cmp(&of(a)));
    } else {
        let name = format!("psychometric/typicality/exemplars/{}", category.name);
        shuffle(&mut stream(seed, &name), &mut order);
    }
    order.truncate(shots);
    Ok(order)
}

#[cfg(test)]
mod tests;

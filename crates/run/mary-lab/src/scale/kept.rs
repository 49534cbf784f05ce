//! A scale as it is kept: `scale.json`.

use std::path::Path;

use mary_contract::{Estimate, TaskRun};
use mary_platform::{read_plain, replace_file};
use mary_stats::irt::adaptive::bank_share;
use mary_stats::irt::dif::ItemDif;
use mary_stats::irt::scale::{Curve, Standing};
use mary_stats::irt::{Item, Kinds};
use serde::{Deserialize, Serialize};

use super::answers::{Source, Subject};
use crate::RunError;

/// The file that holds a scale, in a folder of its own and in the folders of adaptive runs and studies.
pub const FILE: &str = "scale.json";
pub(super) const SCHEMA: u32 = 1;
const LARGEST: u64 = 1 << 30;

/// A scale as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Version of the file's form.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// What holds and what does not, in words; the first line says whether there is a common scale.
    pub findings: Vec<String>,
    /// Where the answers come from.
    pub sources: Vec<Source>,
    /// Tasks of the items, as they were run; a scale of tables alone has none.
    pub tasks: Vec<TaskRun>,
    /// The curve of all items.
    pub curve: Curve,
    /// Curves that were compared: name, log-likelihood, BIC.
    pub compared: Vec<(Curve, f64, f64)>,
    /// Items with their numbers.
    pub items: Vec<ScaleItem>,
    /// Items that have none, with why.
    pub unscaled: Vec<Unscaled>,
    /// Subjects with their abilities.
    pub subjects: Vec<ScaleSubject>,
    /// The second group of two, the one in which items may be harder.
    #[serde(default)]
    pub focal: Option<String>,
    /// How the two groups compare as a whole; absent in one group.
    #[serde(default)]
    pub groups: Option<serde_json::Value>,
    /// Share of the spread of abilities that is not error.
    pub reliability: Option<f64>,
    /// Variance of a subject's ability between kinds of content, which errors of abilities take in.
    #[serde(default)]
    pub between_kinds: f64,
}

/// An item on the scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleItem {
    /// Its task, or the table it stands in.
    pub task: String,
    /// Its id there.
    pub id: String,
    /// Of task, id and what is right.
    pub hash: String,
    /// What is asked.
    pub text: String,
    /// Kind of content within the task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The group it is for, where it is harder for one of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Its curve.
    #[serde(flatten)]
    pub item: Item,
    /// Where its curve is halfway up.
    pub difficulty: f64,
    /// Standard error of the difficulty.
    pub error: f64,
    /// Outfit as a standard normal value, and infit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<(f64, f64)>,
    /// Share that a guesser has right.
    #[serde(default)]
    pub chance: f64,
    /// How it compares between the two groups, where that could be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ItemDif>,
}

/// An item without a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unscaled {
    /// Its task, or the table it stands in.
    pub task: String,
    /// Its id there.
    pub id: String,
    /// Why it has none.
    pub why: String,
}

/// A subject on the scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleSubject {
    /// Who.
    pub name: String,
    /// `people`, `models`, or what a table says.
    pub group: String,
    /// Subjects of one lineage are not independent.
    pub lineage: String,
    /// Answers that count.
    pub answers: usize,
    /// Whether its answers calibrated the items.
    pub calibrates: bool,
    /// Ability with its 95 % interval; absent with few answers, or off the scale.
    pub ability: Option<Estimate>,
    /// Share right that is expected on all items of the scale.
    pub expected: Option<Estimate>,
    /// Whether it has significantly more right than a guesser.
    pub above_chance: bool,
    /// Mean squared standardised residual: above 1 it finds other items hard than the scale says.
    pub outfit: Option<f64>,
}

impl ScaleSubject {
    /// Somebody who stands so on these items.
    pub(super) fn new(
        subject: &Subject,
        standing: Option<&Standing>,
        bank: &[Item],
        calibrates: bool,
    ) -> Self {
        // What is expected on all items follows from what the ability leaves open.
        let interval = |of: &dyn Fn(f64) -> f64| {
            let Standing {
                ability, answers, ..
            } = standing?;
            let (low, high) = ability.bounds();
            Some(Estimate::new(
                of(ability.value),
                (of(low), of(high)),
                *answers,
                "posterior",
            ))
        };
        Self {
            name: subject.name.clone(),
            group: subject.group.clone(),
            lineage: subject.lineage.clone(),
            answers: standing.map_or(0, |s| s.answers),
            calibrates,
            ability: interval(&|theta| theta),
            expected: interval(&|theta| bank_share(bank, theta)),
            above_chance: standing.is_some_and(|s| s.above_chance),
            outfit: standing.map(|s| s.outfit),
        }
    }
}

impl Scale {
    /// Reads a scale: its folder or its file.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let file = match path.is_dir() {
            true => path.join(FILE),
            false => path.to_owned(),
        };
        let wrong = |why: String| {
            RunError::Specification(format!(
                "{}: {why}\nhint: `mary scale` makes a scale; name its folder",
                file.display()
            ))
        };
        let bytes = read_plain(&file, LARGEST).map_err(|e| wrong(e.to_string()))?;
        let scale: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        let sound = |item: &ScaleItem| {
            let curve = &item.item;
            let numbers = curve
                .intercepts
                .iter()
                .chain([&curve.slope, &curve.guessing]);
            numbers.clone().all(|x| x.is_finite())
                && curve.slope > 0.0
                && (0.0..1.0).contains(&curve.guessing)
                && (1..=20).contains(&curve.intercepts.len())
        };
        if scale.schema != SCHEMA || !scale.items.iter().all(sound) {
            return Err(wrong("this is no scale that this version reads".into()));
        }
        Ok(scale)
    }

    /// Writes it into a folder.
    pub fn write(&self, folder: &Path) -> Result<(), RunError> {
        crate::error::make_folder(folder, "the folder of the scale cannot be made")?;
        let file = folder.join(FILE);
        let bytes = serde_json::to_vec_pretty(self)
            .map_err(|e| RunError::Specification(format!("{}: {e}", file.display())))?;
        replace_file(&file, &bytes).map_err(|source| RunError::Folder {
            path: file,
            message: "the scale cannot be written".into(),
            source,
        })
    }

    /// Names the scale by its items and their numbers.
    pub fn hash(&self) -> String {
        let bytes = serde_json::to_vec(&self.items).unwrap_or_default();
        blake3::hash(&bytes).to_hex().chars().take(20).collect()
    }

    /// The items for one group, with their places in the scale.
    pub fn bank(&self, group: &str) -> Vec<(usize, &ScaleItem)> {
        let items = self.items.iter().enumerate();
        items
            .filter(|(_, item)| item.only.as_deref().is_none_or(|only| only == group))
            .collect()
    }
    /// Kinds of content of some of its items.
    pub fn kinds<'a>(&self, items: impl IntoIterator<Item = &'a ScaleItem>) -> Kinds {
        let names = items
            .into_iter()
            .map(|i| (i.task.as_str(), i.kind.as_str()));
        Kinds {
            of: numbered(names),
            variance: self.between_kinds,
        }
    }
}

/// Numbers names in the order in which they come.
pub(super) fn numbered<K: Ord>(names: impl IntoIterator<Item = K>) -> Vec<usize> {
    let mut places = std::collections::BTreeMap::new();
    let number = |name| {
        let next = places.len();
        *places.entry(name).or_insert(next)
    };
    names.into_iter().map(number).collect()
}

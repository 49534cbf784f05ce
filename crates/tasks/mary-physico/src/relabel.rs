//! Where the associative set came from (Yu et al. 2025, §4): people look at tasks of ARC and name the physical
//! concept that the grids bring to mind, in words of their own or "none"; others confirm what they named.
//! What is confirmed becomes a file of labels for `--set source=arc`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ForPeople, Item, ItemSource, Items, Judgement, Needs, Reply, Scoring, Target, Task,
    TaskCard, TaskError, TaskSettings,
};
use mary_generators::{shuffle, stream};
use serde_json::json;

use crate::cards::{card, conventions};
use crate::free_perception::{grids_for_people, to_be_marked};
use crate::grid_task::question;
use crate::judging;
use crate::prompt::PromptContent;
use crate::setup::PhysicoSettings;
use crate::upstream;
use crate::worlds;

const PAIRS: usize = 3;
const ASKED: &str = "If a physical concept explains how each of these grids turns into the other, or by analogy \
                     brings it to mind, name that concept in a few words (for example: gravity, reflection, \
                     diffusion). Otherwise write: none";

#[derive(Debug)]
pub(crate) struct Relabel;

pub(crate) static RELABEL_TASK: Relabel = Relabel;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("physico/relabel"));

/// The concept that an answer names, in one spelling; nothing where it names none.
pub(crate) fn label(answer: &str) -> Option<String> {
    let line = answer.lines().find(|l| !l.trim().is_empty())?;
    let bare = line.trim().trim_matches(|c: char| "\"'.,;:!*".contains(c));
    let words: Vec<String> = bare.split_whitespace().map(str::to_lowercase).collect();
    let label = words.join(" ");
    let none = ["", "none", "no", "nothing", "no concept", "i do not know"];
    if none.contains(&label.as_str()) {
        return None;
    }
    Some(worlds::concept(&label).map_or(label, |known| known.name.to_owned()))
}

impl Task for Relabel {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, _: &TaskSettings) -> ItemSource {
        ItemSource::Published
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::GENERATE
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = PhysicoSettings::read(&CARD, settings)?;
        let mut tasks = upstream::arc_tasks(data)?;
        shuffle(&mut stream(setup.seed, "physico/relabel"), &mut tasks);
        let items = tasks.into_iter().filter_map(|(name, task)| {
            let train = task.train.into_iter();
            let pairs: Vec<_> = train.chain(task.test).take(PAIRS).collect();
            (pairs.len() == PAIRS).then_some((name, pairs))
        });
        Ok(Box::new(items.take(setup.n).map(move |(name, pairs)| {
            // Without a heading the output of one pair stands in a line with the input of the next.
            let headed = pairs.iter().enumerate().map(|(at, pair)| {
                format!("Pair {}:\n{}", at + 1, question(std::slice::from_ref(pair)))
            });
            let grids = headed.collect::<Vec<_>>().join("\n\n");
            let asked = PromptContent::words(format!("{grids}\n\n{ASKED}"));
            let target = Target::Data(json!({ "grids": grids }));
            let asks = vec![judging::words(&setup, &asked)];
            Ok(Item::new(name, target, asks))
        })))
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        grids_for_people(ASKED, item)
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        let said = answers.first().and_then(|a| a.answer.as_generated());
        match said {
            // Nobody knows what is right: agreement is between those who named something.
            Some(said) => to_be_marked().read_as(label(&said.text).unwrap_or("none".into())),
            None => Judgement::fault("expected a concept in words"),
        }
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::WRITTEN
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&CARD, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_in_one_spelling() {
        for (answer, read) in [
            ("Gravity.", Some("gravity")),
            ("  wave   Interference\nbecause", Some("wave interference")),
            ("\"tug of war\"", Some("tug of war")),
            ("None", None),
            ("I do not know", None),
            ("\n", None),
        ] {
            assert_eq!(label(answer).as_deref(), read, "{answer}");
        }
    }
}

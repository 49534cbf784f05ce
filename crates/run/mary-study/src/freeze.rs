//! Drawing a study's items and freezing them: what is shown apart from what is right.
//!
//! Every item is tried on the task's own judge before anybody sees it: the right option must be judged
//! right and every other wrong, in the very form in which a person's answer will be handed in. A study
//! whose judge could not read people is refused here, not found out afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use mary_contract::{
    DataSource, ForPeople, Item, Outcome, PeopleAnswer, Target, Task, TaskRun, TaskSettings,
};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::forms::Judging;
use crate::lists::spread;
use crate::question::{Answer, Question, reply};

/// A task and how it is asked.
#[derive(Clone)]
pub struct Wanted {
    pub task: Arc<dyn Task>,
    pub settings: TaskSettings,
    /// Items of it, at most; nothing is all.
    pub limit: Option<usize>,
    /// Whether people may say that no option fits.
    pub none_fits: bool,
}

/// Everything that judging needs and nobody may see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keys {
    /// The command that drew the items; it names the files of tasks of one's own.
    #[serde(default)]
    pub command: Vec<String>,
    /// The tasks, as a run's manifest names them.
    pub tasks: Vec<TaskRun>,
    /// The items, in the order of the questions.
    pub items: Vec<KeyedItem>,
    /// Where people judge what models wrote: which answers of which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Judging>,
}

/// An item with its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyedItem {
    pub task: usize,
    /// The item as a model gets it.
    pub item: Item,
    /// What a model would have to write to choose each option.
    #[serde(default)]
    pub said: Vec<String>,
}

/// What is shown and what is right, in one order.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    pub questions: Vec<Question>,
    pub keys: Keys,
}

impl Frozen {
    /// The same items in an order that does not tell: strata are spread evenly, and where a stratum is the
    /// label (A, B, A, B …) the next answer could be read off the last ones. Items are mixed within stretches
    /// as long as a person's list, so that every list keeps its share of each stratum.
    #[must_use]
    pub fn mixed(self, length: usize, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.questions.len()).collect();
        for (number, stretch) in order.chunks_mut(length.max(1)).enumerate() {
            let name = format!("study/stretch/{number}");
            mary_generators::shuffle(&mut mary_generators::stream(seed, &name), stretch);
        }
        let Self { questions, keys } = self;
        Self {
            questions: taken(&order, questions),
            keys: Keys {
                items: taken(&order, keys.items),
                judging: keys.judging.map(|judging| Judging {
                    of: taken(&order, judging.of),
                    parts: taken(&order, judging.parts),
                    ..judging
                }),
                ..keys
            },
        }
    }
}

/// The values at these places, in this order.
fn taken<T>(order: &[usize], values: Vec<T>) -> Vec<T> {
    let mut slots: Vec<Option<T>> = values.into_iter().map(Some).collect();
    let at = |place: &usize| slots.get_mut(*place).and_then(Option::take);
    order.iter().filter_map(at).collect()
}

/// In a task with both, people answer in words.
const MODE: &str = "mode";
const IN_WORDS: &str = "generate";

/// Draws the items of some tasks by a seed.
pub fn freeze(wanted: &[Wanted], data: &dyn DataSource, seed: u64) -> Result<Frozen, StudyError> {
    let mut tasks = Vec::new();
    let mut drawn: Vec<(KeyedItem, Question)> = Vec::new();
    for (place, wanted) in wanted.iter().enumerate() {
        let settings = in_words(wanted);
        let card = wanted.task.card();
        let hash = card.dataset.as_ref().and_then(|d| data.hash(d).ok());
        tasks.push(TaskRun {
            dataset_hash: hash,
            ..TaskRun::of(&*wanted.task, settings.clone())
        });
        for item in choose(wanted, &settings, data, seed)? {
            let shown = wanted.task.for_people(&settings, &item).ok_or_else(|| {
                StudyError::refused(format!(
                    "{}: item {} cannot be shown to people: it asks for what only a model has\n\
                     hint: `mary tasks show {}` says what it asks",
                    card.id, item.id, card.id
                ))
            })?;
            let said = spoken(&*wanted.task, &settings, &item, &shown)?;
            let question = Question::of(&shown, wanted.none_fits);
            drawn.push((
                KeyedItem {
                    task: place,
                    item,
                    said,
                },
                question,
            ));
        }
    }
    let strata: Vec<(usize, &str)> = drawn
        .iter()
        .map(|(key, _)| (key.task, key.item.stratum.as_str()))
        .collect();
    let order = spread(&strata, seed);
    let mut slots: Vec<Option<(KeyedItem, Question)>> = drawn.into_iter().map(Some).collect();
    let (items, questions) = order
        .into_iter()
        .filter_map(|place| slots.get_mut(place).and_then(Option::take))
        .unzip();
    Ok(Frozen {
        questions,
        keys: Keys {
            command: Vec::new(),
            tasks,
            items,
            judging: None,
        },
    })
}

/// The settings under which people are asked.
fn in_words(wanted: &Wanted) -> TaskSettings {
    let mut settings = wanted.settings.clone();
    let takes_words = wanted
        .task
        .card()
        .param(MODE)
        .is_some_and(|p| p.values.split(',').any(|v| v.trim() == IN_WORDS));
    if takes_words {
        let mode = settings.params.entry(MODE.to_owned());
        mode.or_insert_with(|| IN_WORDS.to_owned());
    }
    settings
}

/// The items of one task: strata keep their shares, and of items that share a cluster (two orders of one
/// question, the two sides of a pair) a second one is taken only when there is no first one left.
fn choose(
    wanted: &Wanted,
    settings: &TaskSettings,
    data: &dyn DataSource,
    seed: u64,
) -> Result<Vec<Item>, StudyError> {
    let items: Vec<Item> = wanted
        .task
        .items(settings, data)?
        .collect::<Result<_, _>>()?;
    if items.is_empty() {
        let id = &wanted.task.card().id;
        return Err(StudyError::refused(format!("{id} has no items")));
    }
    let limit = wanted.limit.unwrap_or(items.len()).min(items.len());
    let strata: Vec<&str> = items.iter().map(|item| item.stratum.as_str()).collect();
    let order = spread(&strata, seed);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::with_capacity(order.len());
    for place in order {
        let Some(item) = items.get(place) else {
            continue;
        };
        let times = match &item.cluster {
            None => 0,
            Some(cluster) => {
                let times = seen.entry(cluster.as_str()).or_default();
                *times += 1;
                *times - 1
            }
        };
        ranked.push((times, place));
    }
    // Stable: within a rank the drawn order stays.
    ranked.sort_by_key(|(times, _)| *times);
    let chosen: std::collections::BTreeSet<usize> = ranked
        .into_iter()
        .take(limit)
        .map(|(_, place)| place)
        .collect();
    let items = items.into_iter().enumerate();
    Ok(items
        .filter(|(place, _)| chosen.contains(place))
        .map(|(_, item)| item)
        .collect())
}

/// What stands for each option in an answer, as the task's judge reads it.
fn spoken(
    task: &dyn Task,
    settings: &TaskSettings,
    item: &Item,
    shown: &ForPeople,
) -> Result<Vec<String>, StudyError> {
    let options = match &shown.answer {
        PeopleAnswer::Choice { options, .. } => options,
        PeopleAnswer::Several { options } => {
            return Ok(options.iter().map(|o| o.text.clone()).collect());
        }
        _ => return Ok(Vec::new()),
    };
    let correct = match &item.target {
        Target::Choice { correct, .. } => Some(*correct),
        Target::Pair { .. } => Some(0),
        Target::Text(_) | Target::Data(_) => None,
    };
    let texts: Vec<String> = options.iter().map(|o| o.text.clone()).collect();
    let letters: Vec<String> = (0..options.len())
        .map(|place| char::from(b'A' + u8::try_from(place % 26).unwrap_or(0)).to_string())
        .collect();
    let own: Vec<String> = options.iter().map(|o| o.said.clone()).collect();
    let candidates = if own.iter().all(|said| !said.is_empty()) {
        vec![own]
    } else {
        vec![texts, letters]
    };
    let Some(request) = item.asks.first().map(|ask| &ask.request) else {
        return Err(unread(task, item));
    };
    for said in candidates {
        let judged = |place: usize| {
            let reply = reply(&Answer::Choice(place), &said, request)?;
            Some(task.judge(settings, item, &[reply]))
        };
        let fits = (0..options.len()).all(|place| {
            let Some(judgement) = judged(place) else {
                return false;
            };
            match (&judgement.outcome, correct) {
                (Outcome::Scored(score), Some(correct)) => (*score == 1.0) == (place == correct),
                (Outcome::Scored(_), None) => true,
                _ => false,
            }
        });
        if fits {
            return Ok(said);
        }
    }
    Err(unread(task, item))
}

fn unread(task: &dyn Task, item: &Item) -> StudyError {
    let id = &task.card().id;
    StudyError::refused(format!(
        "{id}: the judge does not read a chosen option of item {} as right or wrong, by its text or by its letter\n\
         hint: a task of one's own can ask people in another way: `[people] answer = \"text\"`",
        item.id
    ))
}

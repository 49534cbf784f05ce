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

use crate::keys::taken;
pub use crate::keys::{Frozen, KeyedItem, Keys};
use crate::lists::spread;
use crate::question::{Answer, NoneFits, Question, reply};
use crate::{Result, StudyError};

#[derive(Clone)]
pub struct StudyTask {
    pub task: Arc<dyn Task>,
    pub settings: TaskSettings,
    /// Items of it, at most; nothing is all.
    pub limit: Option<usize>,
    pub none_fits: NoneFits,
}

/// In a task with both, people answer in words.
const MODE: &str = "mode";
const IN_WORDS: &str = "generate";

pub fn freeze(wanted: &[StudyTask], data: &dyn DataSource, seed: u64) -> Result<Frozen> {
    let mut tasks = Vec::new();
    let mut drawn: Vec<(KeyedItem, Question)> = Vec::new();
    let mut seconds = None;
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
            seconds = seconds.max(shown.seconds);
            let said = spoken(&*wanted.task, &settings, &item, &shown)?;
            let question = Question::for_task(&shown, wanted.none_fits);
            let task = place;
            let key = KeyedItem {
                task,
                item,
                said,
                critical: None,
            };
            drawn.push((key, question));
        }
    }
    let strata: Vec<(usize, &str)> = drawn
        .iter()
        .map(|(key, _)| (key.task, key.item.stratum.as_str()))
        .collect();
    let order = spread(&strata, seed);
    let (items, questions) = taken(&order, drawn).into_iter().unzip();
    Ok(Frozen {
        seconds,
        questions,
        keys: Keys {
            command: Vec::new(),
            tasks,
            items,
            judging: None,
        },
    })
}

fn in_words(wanted: &StudyTask) -> TaskSettings {
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
    wanted: &StudyTask,
    settings: &TaskSettings,
    data: &dyn DataSource,
    seed: u64,
) -> Result<Vec<Item>> {
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
) -> Result<Vec<String>> {
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
         hint: a task file can ask people in another way: `[people] answer = \"text\"`",
        item.id
    ))
}

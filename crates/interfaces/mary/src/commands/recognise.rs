//! Whether samples of another program are about items of a task of ours: a benchmark that both read. They are
//! matched by what was asked, so that they are paired item by item whatever the other program numbers them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use mary_contract::{Item, Request, Sample, Task, TaskError, TaskSettings};
use mary_store::Foreign;

use crate::settings::Place;

/// The tasks of ours that samples may be about, and their items once they were read: a benchmark that another
/// program keeps in sixty files is read once.
pub struct Benchmarks<'p> {
    place: &'p Place,
    read: HashMap<String, Result<Vec<Item>, TaskError>>,
}

impl<'p> Benchmarks<'p> {
    pub fn new(place: &'p Place) -> Self {
        Self {
            place,
            read: HashMap::new(),
        }
    }

    fn items(&mut self, task: &Arc<dyn Task>) -> &Result<Vec<Item>, TaskError> {
        let place = self.place;
        self.read
            .entry(task.card().id.to_string())
            .or_insert_with(|| {
                let data = place.local_data();
                task.items(&TaskSettings::default(), &data)?.collect()
            })
    }
}

/// Gives samples the ids of the items of ours that they are about; says what was found, where something was.
pub fn recognise(benchmarks: &mut Benchmarks, foreign: &mut Foreign) -> Option<String> {
    let (task, part) = candidate(benchmarks.place, &foreign.task)?;
    let card = task.card();
    let items = match benchmarks.items(&task) {
        Ok(items) => items,
        Err(error) => {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default();
            return Some(format!(
                "the samples of `{}` may be those of {}, and are not paired with it: {why}",
                foreign.task, card.id
            ));
        }
    };
    let mut known = Known::new(items, part.as_deref());
    let found: Vec<Option<Item>> = foreign.samples().map(|s| known.item_of(s)).collect();
    let matched = found.iter().flatten().count();
    if matched == 0 {
        return None;
    }
    let said = format!(
        "{matched} of {} samples of `{}` are items of {}",
        found.len(),
        foreign.task,
        card.id
    );
    let mut found = found.into_iter();
    foreign.recognised(&card.id, card.version, |_| found.next().flatten());
    Some(said)
}

/// The task of ours that a foreign task may be, and which part of it: one of the same name, or one that reads a
/// dataset of that name or of its beginning (`blimp_adjunct_island`).
fn candidate(place: &Place, name: &str) -> Option<(Arc<dyn Task>, Option<String>)> {
    let tasks = place.registry.tasks();
    if let Some(task) = tasks.iter().find(|t| *t.card().id == *name) {
        return Some((Arc::clone(task), None));
    }
    let name = name.replace('-', "_");
    tasks.iter().find_map(|task| {
        let dataset = task.card().dataset.as_ref()?.replace('-', "_");
        let part = name.strip_prefix(&dataset)?;
        match part.strip_prefix('_') {
            Some(part) => Some((Arc::clone(task), Some(part.to_owned()))),
            None => part.is_empty().then(|| (Arc::clone(task), None)),
        }
    })
}

struct Known(HashMap<Vec<String>, VecDeque<Item>>);

impl Known {
    /// Of the part named, where a stratum has that name: the same pair may stand in two parts.
    fn new(items: &[Item], part: Option<&str>) -> Self {
        let strata = items.iter().any(|i| Some(i.stratum.as_str()) == part);
        let mut known: HashMap<Vec<String>, VecDeque<Item>> = HashMap::new();
        for item in items {
            if strata && Some(item.stratum.as_str()) != part {
                continue;
            }
            let asked = asked(item.asks.iter().map(|a| &a.request));
            // What was asked stands in the sample's own exchanges.
            let item = Item {
                asks: Vec::new(),
                ..item.clone()
            };
            known.entry(asked).or_default().push_back(item);
        }
        Self(known)
    }

    /// The item that a sample is about, each once: where two ask the same, the first sample is the first's.
    fn item_of(&mut self, sample: &Sample) -> Option<Item> {
        let asked = asked(sample.exchanges.iter().map(|e| &e.ask.request));
        self.0.get_mut(&asked)?.pop_front()
    }
}

/// What is asked, whatever the order of options and the space before them: programs differ in both.
fn asked<'a>(requests: impl Iterator<Item = &'a Request>) -> Vec<String> {
    let mut said = Vec::new();
    for request in requests {
        match request {
            Request::Generate(g) => said.push(g.prompt.text().trim().to_owned()),
            Request::Score(s) => {
                let prefix = s.prefix.text();
                let whole = s.continuations.iter().map(|c| format!("{prefix}{c}"));
                said.extend(whole.map(|text| text.trim().to_owned()));
            }
            Request::Observe(o) => said.push(o.text.trim().to_owned()),
        }
    }
    said.sort_unstable();
    said
}

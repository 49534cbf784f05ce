//! The same items in words, as a picture and as both: one model's forms side by side, item by item, and
//! beside them models without a tower on the same words.
//!
//! Forms are set side by side only where everything else that was asked is alike
//! ([`Conditions::alike_where_shared`]); differences are taken item by item and carry intervals. `tables`
//! makes the tables and the figure, `sheet` shows items.

mod sheet;
mod tables;

pub use sheet::Sheet;

use std::collections::BTreeMap;

use mary_contract::{
    Conditions, Exhibits, Metric, ModelCard, Sample, ShownAs, TaskRun, Twin, variants_of,
};
use mary_platform::grouped;
use mary_stats::StatsError;

use crate::paired::{Key, Verdict};
use sheet::Shelf;

type Answers = BTreeMap<Key, Verdict>;

#[derive(Debug)]
struct Group {
    name: String,
    /// Settings that differ from form to form and tell nothing else.
    apart: Vec<String>,
    asked: BTreeMap<ShownAs, Conditions>,
    metric: Option<Metric>,
    answers: BTreeMap<(String, ShownAs), Answers>,
    shelf: Shelf,
}

#[derive(Debug, Default)]
pub struct Twins {
    groups: Vec<Group>,
    /// Every model, in the order of the runs, and whether it takes pictures.
    models: Vec<(String, bool)>,
}

/// Where the samples of a task go; made once for each task of a run.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    group: usize,
    shown: ShownAs,
}

impl Twins {
    pub fn model(&mut self, card: &ModelCard) {
        let name = card.model.to_string();
        match self.models.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sees)) => *sees |= card.capabilities.images,
            None => self.models.push((name, card.capabilities.images)),
        }
    }

    pub fn task(&mut self, twin: &Twin, run: &TaskRun) -> Place {
        let asked = run.conditions();
        let apart: Vec<&str> = twin.apart.iter().map(|name| &**name).collect();
        let fits = |group: &Group| {
            group.name == twin.name
                && group.asked.iter().all(|(shown, other)| {
                    let task = |c: &Conditions| (c.question.task.clone(), c.question.version);
                    match *shown == twin.shown {
                        true => *other == asked,
                        false => {
                            let (own, theirs) = (task(&asked), task(other));
                            (own.0 != theirs.0 || own.1 == theirs.1)
                                && asked.alike_where_shared(other, &apart)
                        }
                    }
                })
        };
        let group = match self.groups.iter().position(fits) {
            Some(place) => place,
            None => {
                self.groups.push(Group {
                    name: twin.name.clone(),
                    apart: apart.iter().map(|name| (*name).to_owned()).collect(),
                    asked: BTreeMap::new(),
                    metric: run.metric(),
                    answers: BTreeMap::new(),
                    shelf: Shelf::default(),
                });
                self.groups.len() - 1
            }
        };
        if let Some(group) = self.groups.get_mut(group) {
            group.asked.insert(twin.shown, asked);
        }
        Place {
            group,
            shown: twin.shown,
        }
    }

    /// Whether some items were asked in more than one form: else there is nothing to say of forms.
    pub fn any(&self) -> bool {
        let forms = self.groups.iter();
        let forms = forms.flat_map(|g| g.asked.keys().map(|form| (&g.name, form)));
        grouped(forms)
            .values()
            .any(|of| of.iter().any(|form| Some(form) != of.first()))
    }

    pub fn add(&mut self, place: Place, sample: &Sample) {
        let Some(group) = self.groups.get_mut(place.group) else {
            return;
        };
        if group.asked.len() < 2 {
            return;
        }
        let id = &sample.id;
        let said = group.answers.entry((id.model.clone(), place.shown));
        let key = (id.item.clone(), id.trial);
        said.or_default().insert(key, Verdict::from_sample(sample));
        group.shelf.offer(&group.name, place.shown, sample);
    }

    pub fn finish(self) -> Result<(Exhibits, Sheet), StatsError> {
        let names = self.names();
        let exhibits = tables::exhibits(&self.groups, &names, &self.models)?;
        let shelves = self.groups.into_iter().map(|group| group.shelf);
        let models = self.models.into_iter().map(|(name, _)| name).collect();
        Ok((exhibits, Sheet::new(names.into_iter().zip(shelves), models)))
    }

    /// What each group is called: the items, with the settings that tell it from others of the same name.
    fn names(&self) -> Vec<String> {
        let manner = |group: &Group| {
            let all = group.asked.values().map(Conditions::manner);
            all.reduce(|mut shared, other| {
                shared.retain(|name, value| other.get(name) == Some(value));
                shared
            })
            .unwrap_or_default()
        };
        let name = |group: &Group| {
            // A form that stands alone is no row of the tables that this name is for.
            let like =
                |g: &&Group| g.name == group.name && (g.asked.len() > 1) == (group.asked.len() > 1);
            let alike: Vec<&Group> = self.groups.iter().filter(like).collect();
            let manners: Vec<_> = alike.iter().map(|g| manner(g)).collect();
            let told = variants_of(&manners.iter().collect::<Vec<_>>());
            let place = alike.iter().position(|g| std::ptr::eq(*g, group));
            match place.and_then(|i| told.into_iter().nth(i)) {
                Some(told) if !told.is_empty() => format!("{} ({told})", group.name),
                _ => group.name.clone(),
            }
        };
        self.groups.iter().map(name).collect()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

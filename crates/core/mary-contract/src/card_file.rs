//! The cards of a family's tasks and what each states about its scores, as its data file has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Citation, Param, Reference, TaskCard, TaskSettings, Text};

/// The cards of a family's tasks, from a data file that is part of the program. Papers, parameters and groups of
/// conventions stand in it once and are named by the tasks that have them; a parameter may stand in its task.
///
/// A convention is a text, or one of several `by` the value of a setting (or of several settings, their values side
/// by side); a value that is not listed takes `else`, or states nothing. `{seed}`, the name of a setting and whatever
/// the task computes can stand in braces.
#[derive(Debug, Default, Deserialize)]
pub struct CardFile {
    citations: BTreeMap<String, (Text, Text)>,
    params: BTreeMap<String, Param>,
    #[serde(default)]
    conventions: BTreeMap<String, Conventions>,
    tasks: BTreeMap<String, CardEntry>,
}

type Conventions = BTreeMap<String, Convention>;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Convention {
    Text(String),
    By {
        by: String,
        #[serde(flatten)]
        texts: BTreeMap<String, String>,
    },
}

#[derive(Debug, Deserialize)]
struct CardEntry {
    title: Text,
    about: Text,
    version: Option<u32>,
    chance: Option<f64>,
    /// People's score and where it is from.
    human: Option<(f64, Text)>,
    params: Vec<OwnOrShared>,
    dataset: Option<Text>,
    citation: String,
    starter: Option<usize>,
    /// Groups of conventions that it shares.
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    conventions: Conventions,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OwnOrShared {
    Shared(String),
    Own(Param),
}

impl CardFile {
    /// Reads a data file. One that cannot be read holds no cards, which [`CardFile::check`] finds in a
    /// test.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// What is wrong with a data file: that it cannot be read, or names something that it does not hold.
    pub fn check(json: &str) -> Result<(), String> {
        let file: Self = serde_json::from_str(json).map_err(|e| e.to_string())?;
        for (id, task) in &file.tasks {
            if !file.citations.contains_key(&task.citation) {
                return Err(format!("{id}: there is no citation {}", task.citation));
            }
            if let Some(param) = task.params.iter().find(|p| file.param(p).is_none()) {
                return Err(format!("{id}: there is no parameter {param:?}"));
            }
            let unknown = |g: &&String| !file.conventions.contains_key(*g);
            if let Some(group) = task.also.iter().find(unknown) {
                return Err(format!("{id}: there are no conventions {group}"));
            }
        }
        Ok(())
    }

    fn param<'a>(&'a self, param: &'a OwnOrShared) -> Option<&'a Param> {
        match param {
            OwnOrShared::Own(own) => Some(own),
            OwnOrShared::Shared(name) => self.params.get(name),
        }
    }

    /// The card of a task; without words where the file has none.
    pub fn card(&self, id: &'static str) -> TaskCard {
        let Some(entry) = self.tasks.get(id) else {
            return TaskCard::new(id, "", "");
        };
        let citation = self.citations.get(&entry.citation).cloned();
        let (text, link) = citation.unwrap_or_default();
        let human = entry.human.clone();
        let params = entry.params.iter().filter_map(|param| self.param(param));
        TaskCard {
            version: entry.version.unwrap_or(1),
            chance: entry.chance,
            human: human.map(|(value, source)| Reference { value, source }),
            params: params.cloned().collect(),
            dataset: entry.dataset.clone(),
            citation: Citation { text, link },
            starter: entry.starter,
            ..TaskCard::new(id, entry.title.clone(), entry.about.clone())
        }
    }

    /// What a task states under these settings; `computed` goes before them, and fills places that are no settings.
    pub fn conventions(
        &self,
        card: &TaskCard,
        settings: &TaskSettings,
        computed: &[(&str, String)],
    ) -> BTreeMap<String, String> {
        let Some(entry) = self.tasks.get(&*card.id) else {
            return BTreeMap::new();
        };
        let mut stated = BTreeMap::new();
        for group in &entry.also {
            stated.extend(self.group(group, card, settings, computed));
        }
        stated.extend(said(&entry.conventions, card, settings, computed));
        stated
    }

    /// The same of a group of conventions, for a task whose card may stand elsewhere.
    pub fn group(
        &self,
        name: &str,
        card: &TaskCard,
        settings: &TaskSettings,
        computed: &[(&str, String)],
    ) -> BTreeMap<String, String> {
        let group = self.conventions.get(name);
        group.map_or_else(BTreeMap::new, |group| {
            said(group, card, settings, computed).collect()
        })
    }
}

fn said<'a>(
    conventions: &'a Conventions,
    card: &'a TaskCard,
    settings: &'a TaskSettings,
    computed: &'a [(&str, String)],
) -> impl Iterator<Item = (String, String)> + 'a {
    let value = move |name: &str| {
        let known = computed.iter().find(|(place, _)| *place == name);
        known.map_or_else(|| settings.param(card, name), |(_, value)| value.as_str())
    };
    let filled = move |text: &str| {
        let set = card.params.iter().map(|p| &*p.name);
        let places = computed.iter().map(|(name, _)| *name).chain(set);
        let text = places.fold(text.to_owned(), |text, name| {
            text.replace(&format!("{{{name}}}"), value(name))
        });
        text.replace("{seed}", &settings.seed.to_string())
    };
    conventions.iter().filter_map(move |(name, convention)| {
        let text = match convention {
            Convention::Text(text) => text,
            Convention::By { by, texts } => {
                let values = by.split(' ').map(value).collect::<Vec<_>>().join(" ");
                texts.get(&values).or_else(|| texts.get("else"))?
            }
        };
        Some((name.clone(), filled(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_file_does_not_hold_is_found() {
        let file = |citation: &str, param: &str| {
            format!(
                r#"{{"citations": {{"a2020": ["A. 2020.", "doi"]}},
                "params": {{"n": {{"name": "n", "default": "3", "values": "a number", "about": "."}}}},
                "tasks": {{"f/t": {{"title": "T", "about": "It.", "params": ["{param}"],
                    "human": [0.9, "A."], "citation": "{citation}"}}}}}}"#
            )
        };
        let sound = file("a2020", "n");
        assert_eq!(CardFile::check(&sound), Ok(()));
        assert!(CardFile::check(&file("b2021", "n")).is_err());
        assert!(CardFile::check(&file("a2020", "m")).is_err());
        let card = CardFile::read(&sound).card("f/t");
        assert_eq!(
            (&*card.family, card.version, card.params.len()),
            ("f", 1, 1)
        );
        assert_eq!(
            (&*card.citation.link, card.human.unwrap().value),
            ("doi", 0.9)
        );
    }
}

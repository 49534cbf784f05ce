//! The cards of a family's tasks, as its data file has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Citation, Param, Reference, TaskCard, Text};

/// The cards of a family's tasks, from a data file that is part of the program. Papers and parameters
/// stand in it once and are named by the tasks that have them; a parameter may stand in its task.
#[derive(Debug, Default, Deserialize)]
pub struct CardFile {
    citations: BTreeMap<String, (Text, Text)>,
    params: BTreeMap<String, Param>,
    tasks: BTreeMap<String, CardEntry>,
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

//! Designs of published studies (`presets.toml`), so that a study can be run again as it was.

use std::sync::LazyLock;

use mary_platform::distinct;
use serde::Deserialize;

use crate::keys::{Frozen, KeyedItem, Keys, taken};

/// The design of one study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    /// Whose design it is, where it is printed, and what it says.
    pub about: String,
    pub tasks: Vec<String>,
    pub set: Vec<String>,
    pub items: usize,
    pub people: usize,
    pub per_person: usize,
    /// Items of a set; within one, kinds of items come in one order.
    pub sets_of: usize,
    /// Whether people's attention is checked.
    pub attention: bool,
}

#[derive(Deserialize, Default)]
struct Presets {
    preset: Vec<Preset>,
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    // The file is part of the program and read by a test: it cannot fail here.
    let read: Presets = toml::from_str(include_str!("presets.toml")).unwrap_or_default();
    read.preset
});

pub fn presets() -> &'static [Preset] {
    &PRESETS
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    presets().iter().find(|p| p.name == name)
}

impl Frozen {
    /// The same items as sets of this length, in each of which the kinds of items (task and stratum) come in one
    /// order, that in which the tasks have them. Which items are in a set stays as it was spread.
    #[must_use]
    pub fn in_sets(self, length: usize) -> Self {
        let kind = |item: &KeyedItem| (item.task, item.item.stratum.clone());
        let first = |keys: &Keys| {
            let mut by_id: Vec<&KeyedItem> = keys.items.iter().collect();
            by_id.sort_by(|a, b| (a.task, &a.item.id).cmp(&(b.task, &b.item.id)));
            distinct(by_id.into_iter().map(kind))
        };
        let kinds = first(&self.keys);
        let place = |item: &KeyedItem| kinds.iter().position(|k| *k == kind(item));
        let mut order: Vec<usize> = (0..self.keys.items.len()).collect();
        for set in order.chunks_mut(length.max(1)) {
            // Stable: within a kind the spread order stays.
            set.sort_by_key(|&i| self.keys.items.get(i).and_then(place));
        }
        let mut sorted = self;
        sorted.questions = taken(&order, sorted.questions);
        sorted.keys.items = taken(&order, sorted.keys.items);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mary_contract::{Item, Target};

    use super::*;
    use crate::lists::{Design, Lists, spread};

    #[test]
    fn the_file_is_read() {
        assert_eq!(presets().len(), 1);
    }

    /// Five subtasks of 50 questions and four of 25, as in Appendix D.6.
    #[test]
    fn in_the_design_of_appendix_d_6_every_question_has_two_people_and_every_set_all_subtasks() {
        let design = preset("yang-2025").unwrap();
        let kinds: Vec<usize> = (0..9)
            .flat_map(|kind| vec![kind; if kind < 5 { 50 } else { 25 }])
            .collect();
        assert_eq!(kinds.len(), design.items);
        let item = |place: usize| {
            let kind = kinds[place];
            let item = Item::new(
                format!("{kind}-{place:03}"),
                Target::Text(String::new()),
                vec![],
            );
            KeyedItem {
                task: 0,
                item: item.in_stratum(format!("kind {}", 9 - kind)),
                said: vec![],
                critical: None,
            }
        };
        let order = spread(&kinds, 5);
        let frozen = Frozen {
            seconds: None,
            questions: vec![],
            keys: Keys {
                command: vec![],
                tasks: vec![],
                items: order.iter().map(|&place| item(place)).collect(),
                judging: None,
            },
        };
        let frozen = frozen.in_sets(design.sets_of);
        let kind = |place: usize| {
            frozen.keys.items[place].item.id[..1]
                .parse::<usize>()
                .unwrap()
        };
        for set in 0..7 {
            let shown: Vec<usize> = (0..50).map(|i| kind(50 * set + i)).collect();
            assert!(shown.is_sorted(), "tasks come in one order: {shown:?}");
            for kind in 0..9 {
                let count = shown.iter().filter(|k| **k == kind).count();
                let range = if kind < 5 { 7..=8 } else { 3..=4 };
                assert!(range.contains(&count), "set {set}, kind {kind}: {count}");
            }
        }
        let lists = Design {
            items: design.items,
            per_person: design.per_person,
            lists: Lists::Fixed,
            seed: 5,
        };
        let mut seen: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for person in 0..design.people {
            let list = lists.list(person);
            assert_eq!(list.len(), 100);
            // Two whole sets.
            assert!(
                list.chunks(50)
                    .all(|set| set[0] % 50 == 0 && set[49] == set[0] + 49)
            );
            for place in list {
                seen.entry(place).or_default().push(person);
            }
        }
        assert_eq!(seen.len(), design.items);
        assert!(seen.values().all(|people| people.len() == 2));
    }
}

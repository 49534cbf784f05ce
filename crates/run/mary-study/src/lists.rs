//! Who answers which items in which order, decided by the seed before anybody comes, so that a
//! place that becomes free is filled again exactly as designed.
//!
//! Items stand in one order in which strata are spread evenly, and lists are consecutive stretches
//! of it around the circle: every item is given to as many people as every other, or to one more.

use mary_generators::{below, shuffle, stream};
use mary_platform::grouped;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lists {
    /// Stretches turned by one for each round: every item in every place equally often.
    #[default]
    Latin,
    /// The same stretches, in an order drawn for each person.
    Balanced,
    /// The same stretches, in the order of the items, the same for everybody.
    Fixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    pub items: usize,
    pub per_person: usize,
    pub lists: Lists,
    pub seed: u64,
}

impl Design {
    /// The items of a place (from 0), in the order they are shown.
    pub fn list(&self, place: usize) -> Vec<usize> {
        let length = self.per_person.min(self.items);
        if length == 0 {
            return Vec::new();
        }
        // A file may promise more places than there are numbers; nobody sits that far back.
        let begin = place.saturating_mul(length);
        let mut list: Vec<usize> = (0..length)
            .map(|i| begin.saturating_add(i) % self.items)
            .collect();
        match self.lists {
            Lists::Latin => {
                let round = begin / self.items;
                list.rotate_left(round % length);
            }
            Lists::Fixed => {}
            Lists::Balanced => shuffle(
                &mut stream(self.seed, &format!("study/list/{place}")),
                &mut list,
            ),
        }
        list
    }

    /// The order in which a place is shown the options of an item: position shown → option.
    pub fn order(&self, place: usize, item: usize, options: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..options).collect();
        let name = format!("study/options/{place}/{item}");
        shuffle(&mut stream(self.seed, &name), &mut order);
        order
    }
}

/// An order of items in which strata are spread evenly, drawn by a seed: any stretch of it holds each
/// stratum in nearly its share.
pub fn spread<S: Ord + Clone>(strata: &[S], seed: u64) -> Vec<usize> {
    let mut rng = stream(seed, "study/spread");
    let mut places: Vec<(f64, usize)> = Vec::with_capacity(strata.len());
    for mut items in grouped(strata.iter().zip(0..)).into_values() {
        shuffle(&mut rng, &mut items);
        let n = items.len() as f64;
        // A start of its own for every stratum, else the first items of all stand together.
        let start = below(&mut rng, 1 << 20) as f64 / f64::from(1 << 20);
        for (rank, item) in items.into_iter().enumerate() {
            places.push(((rank as f64 + start) / n, item));
        }
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    places.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(items: usize, per_person: usize, lists: Lists) -> Design {
        Design {
            items,
            per_person,
            lists,
            seed: 7,
        }
    }

    #[test]
    fn no_place_is_too_far_back() {
        let design = Design {
            items: 6,
            per_person: 2,
            lists: Lists::Latin,
            seed: 3,
        };
        assert_eq!(design.list(1), [2, 3]);
        assert_eq!(design.list(usize::MAX).len(), 2);
    }

    #[test]
    fn every_item_is_given_equally_often_and_nobody_sees_one_twice() {
        for lists in [Lists::Latin, Lists::Balanced, Lists::Fixed] {
            for (items, per_person, people) in [(120, 40, 30), (50, 40, 31), (7, 7, 10), (9, 4, 9)]
            {
                let design = design(items, per_person, lists);
                let mut seen = vec![0; items];
                for place in 0..people {
                    let list = design.list(place);
                    let mut sorted = list.clone();
                    sorted.sort_unstable();
                    sorted.dedup();
                    assert_eq!(sorted.len(), per_person);
                    for item in list {
                        seen[item] += 1;
                    }
                }
                let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
                assert!(most - least <= 1, "{items} {per_person} {people}: {seen:?}");
            }
        }
    }

    #[test]
    fn in_a_latin_square_every_item_stands_once_in_every_place() {
        let design = design(12, 4, Lists::Latin);
        let mut stood = vec![[0; 4]; 12];
        // Four rounds of three lists.
        for place in 0..12 {
            for (position, item) in design.list(place).into_iter().enumerate() {
                stood[item][position] += 1;
            }
        }
        assert!(stood.iter().all(|places| *places == [1; 4]), "{stood:?}");
    }

    #[test]
    fn lists_and_orders_are_those_of_the_seed() {
        let one = design(40, 10, Lists::Balanced);
        assert_eq!(one.list(3), one.list(3));
        assert_ne!(one.list(3), Design { seed: 8, ..one }.list(3));
        assert_eq!(one.order(1, 2, 4).len(), 4);
        let orders: std::collections::BTreeSet<Vec<usize>> =
            (0..40).map(|place| one.order(place, 0, 4)).collect();
        assert!(orders.len() > 10, "{}", orders.len());
    }

    #[test]
    fn strata_are_spread() {
        let strata: Vec<u8> = (0..60).map(|i| if i < 20 { 0 } else { 1 }).collect();
        let order = spread(&strata, 3);
        for stretch in order.chunks(15) {
            let few = stretch.iter().filter(|&&i| strata[i] == 0).count();
            assert!((4..=6).contains(&few), "{few}");
        }
        let mut all = order.clone();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<_>>());
    }
}

//! Item response theory: how hard items are and how able those who answered are, on one scale.
//!
//! An item has a slope and one intercept for each score above zero; the probability of a score follows from the
//! ability `theta` (see [`Item`]). Difficulties are found without assuming how abilities are distributed
//! ([`rasch()`], conditional likelihood) or with a normal distribution of them ([`marginal`], 1PL, 2PL, 3PL with a
//! known share of lucky guesses, partial credit). Who answered only some of the items counts with those.
//!
//! ```
//! use mary_stats::irt::{Responses, rasch};
//!
//! // Four subjects, three items; the third item is the hardest, and nobody was asked everything.
//! let rows = [
//!     [Some(1), Some(1), Some(0)],
//!     [Some(1), Some(0), None],
//!     [Some(0), Some(1), Some(0)],
//!     [None, Some(0), Some(1)],
//! ];
//! let responses = Responses::from_rows(&rows)?;
//! let found = rasch(&responses)?;
//! assert!(found.difficulty(2) > found.difficulty(0));
//! # Ok::<(), mary_stats::StatsError>(())
//! ```

mod ability;
pub mod adaptive;
pub mod dif;
pub mod fit;
mod information;
mod item;
mod marginal;
mod rasch;
pub mod scale;

pub use ability::{Ability, Estimator, Kinds, ability, posterior};
pub use item::Item;
pub use marginal::{ItemErrors, Marginal, MarginalSettings, Prior, Slopes, marginal};
pub use rasch::{Rasch, rasch};

use crate::StatsError;

/// Who answered what with which score. Answers that nobody asked for are simply not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Responses {
    persons: Vec<Vec<(usize, u8)>>,
    /// Highest score of each item; 1 for items that are right or wrong.
    top: Vec<u8>,
}

impl Responses {
    /// From (person, item, score) in any order. Persons and items are numbered from 0; a person may have no answer.
    pub fn new(
        persons: usize,
        items: usize,
        answers: impl IntoIterator<Item = (usize, usize, u8)>,
    ) -> Result<Self, StatsError> {
        let wrong = |expected, found| StatsError::domain("item responses", expected, found);
        let mut rows = vec![Vec::new(); persons];
        let mut top = vec![1u8; items];
        for (person, item, score) in answers {
            let (Some(row), Some(highest)) = (rows.get_mut(person), top.get_mut(item)) else {
                let found = format!("person {person}, item {item}");
                return Err(wrong("persons and items within their numbers", found));
            };
            row.push((item, score));
            *highest = score.max(*highest);
        }
        for (person, row) in rows.iter_mut().enumerate() {
            row.sort_unstable();
            if row.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                let found = format!("person {person} twice on one item");
                return Err(wrong("one answer for each person and item", found));
            }
        }
        Ok(Self { persons: rows, top })
    }

    /// From a table with a row for each person; `None` where a question was not asked.
    pub fn from_rows<R: AsRef<[Option<u8>]>>(rows: &[R]) -> Result<Self, StatsError> {
        let items = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
        let answers = rows.iter().enumerate().flat_map(|(person, row)| {
            let scores = row.as_ref().iter().enumerate();
            scores.filter_map(move |(item, score)| Some((person, item, (*score)?)))
        });
        Self::new(rows.len(), items, answers)
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.top.len()
    }

    /// The answers of each person, (item, score), in the order of the items.
    pub fn persons(&self) -> &[Vec<(usize, u8)>] {
        &self.persons
    }

    /// Highest score of an item: 1 where answers are right or wrong.
    pub fn top(&self, item: usize) -> u8 {
        self.top.get(item).copied().unwrap_or(1)
    }

    /// The answers of some persons, in the given order.
    pub fn of_persons(&self, persons: &[usize]) -> Self {
        let rows = persons.iter().filter_map(|&p| self.persons.get(p).cloned());
        Self {
            persons: rows.collect(),
            top: self.top.clone(),
        }
    }

    /// With `item` of the persons in `second` counted as an item of its own, the last one.
    fn split(&self, item: usize, second: &[bool]) -> Self {
        let last = self.items();
        let mut copy = self.clone();
        copy.top.push(self.top(item));
        let rows = copy.persons.iter_mut().zip(second);
        for (row, _) in rows.filter(|(_, second)| **second) {
            if let Some(at) = row.iter().position(|answer| answer.0 == item) {
                let (_, score) = row.remove(at);
                row.push((last, score));
            }
        }
        copy
    }
}

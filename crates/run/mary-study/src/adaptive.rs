//! A study whose server chooses the next item by what a person's answers leave open. The choice follows from the seed,
//! the place and the answers that are stored, so that it needs no state of its own and survives whatever the answers
//! survive. What is right lies beside the keys; in such a study, which item comes next does tell whether the last
//! answer was.

use std::path::Path;

use mary_contract::Target;
use mary_lab::scale::{PEOPLE, Scale, item_hash};
use mary_platform::{given, read_plain, replace_file};
use mary_stats::irt::adaptive::{Selection, Stop, next_items, standing};
use mary_stats::irt::{Ability, Item, Kinds};
use serde::{Deserialize, Serialize};

use crate::error::io_at;
use crate::keys::Keys;
use crate::question::Answer;
use crate::{Result, StudyError};

const FILE: &str = "adaptive.json";
/// Nobody is judged by fewer answers.
const FEWEST: usize = 10;

/// The curves of a study's items, in their order, and when a person has answered enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveTest {
    pub scale: String,
    stop: Stop,
    curves: Vec<Item>,
    /// The right option of each item.
    right: Vec<usize>,
    /// Kind of content of each item.
    content: Vec<usize>,
    /// Variance of a person's ability between kinds.
    #[serde(default)]
    between_kinds: f64,
    seed: u64,
}

impl AdaptiveTest {
    /// The items of a study on a scale. A person answers at least until the last attention check, at most `most`.
    pub fn new(
        scale: &Scale,
        keys: &Keys,
        (error, most): (f64, usize),
        (after, seed): (usize, u64),
    ) -> Result<Self> {
        let bank = scale.bank(PEOPLE);
        let (mut known, mut right) = (Vec::new(), Vec::new());
        for key in &keys.items {
            let task = keys.tasks.get(key.task).map_or("", |task| task.id.as_str());
            let hash = item_hash(task, &key.item);
            let found = bank.iter().find(|(_, item)| item.hash == hash);
            let correct = match &key.item.target {
                Target::Choice { correct, .. } => Some(*correct),
                Target::Pair { .. } => Some(0),
                Target::Text(_) | Target::Data(_) => None,
            };
            let (Some((_, item)), Some(correct)) = (found, correct) else {
                return Err(StudyError::refused(format!(
                    "{task}: item {} is not on the scale, or is no choice between options",
                    key.item.id
                )));
            };
            known.push(*item);
            right.push(correct);
        }
        let most = most.min(known.len());
        Ok(Self {
            scale: scale.hash(),
            stop: Stop {
                error,
                fewest: FEWEST.max(after).min(most),
                most,
            },
            curves: known.iter().map(|item| item.item.clone()).collect(),
            right,
            content: scale.kinds(known).of,
            between_kinds: scale.between_kinds,
            seed,
        })
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let bytes = serde_json::to_vec(self).map_err(|e| StudyError::refused(e.to_string()))?;
        replace_file(&path, &bytes).map_err(io_at(&path))?;
        crate::private::folder(folder).map_err(io_at(folder))
    }

    /// The test of a study's folder, where it has one.
    pub(crate) fn read(folder: &Path, items: usize) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_plain(&path, 1 << 28).map_err(io_at(&path))?;
        let wrong = |message: String| StudyError::changed(path.clone(), message);
        let found: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        let lengths = [found.curves.len(), found.right.len(), found.content.len()];
        match lengths.iter().all(|n| *n == items) {
            true => Ok(Some(found)),
            false => Err(wrong(format!("{lengths:?} entries for {items} items"))),
        }
    }

    /// Scores of answers that are a choice; whoever ran out of time or found nothing that fits was wrong.
    fn scored<'a>(&self, answers: impl Iterator<Item = (usize, &'a Answer)>) -> Vec<(usize, u8)> {
        let known = answers.filter(|(item, _)| *item < self.curves.len());
        known
            .map(|(item, answer)| {
                let right = matches!(answer, Answer::Choice(at) if *at == self.right[item]);
                (item, u8::from(right))
            })
            .collect()
    }

    fn ability(&self, scored: &[(usize, u8)]) -> Option<Ability> {
        let kinds = Kinds {
            of: self.content.clone(),
            variance: self.between_kinds,
        };
        Some(standing(&self.curves, scored, &kinds).ok()?.ability)
    }

    /// The next item of a place after these answers; nothing once enough is known.
    pub(crate) fn next<'a>(
        &self,
        place: usize,
        answers: impl Iterator<Item = (usize, &'a Answer)>,
    ) -> Option<usize> {
        let scored = self.scored(answers);
        let ability = self.ability(&scored);
        given(!self.stop.reached(scored.len(), self.curves.len(), ability))?;
        let asked: Vec<usize> = scored.iter().map(|answer| answer.0).collect();
        let seed = self.seed ^ (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let selection = Selection::fair(self.content.clone(), seed);
        let theta = ability.map_or(0.0, |a| a.value);
        next_items(&self.curves, &asked, theta, 1, &selection)
            .first()
            .copied()
    }

    /// Where somebody who gave these answers stands, with how many count.
    pub fn standing<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a Answer)>,
    ) -> Option<(Ability, usize)> {
        let scored = self.scored(answers);
        Some((self.ability(&scored)?, scored.len()))
    }
}

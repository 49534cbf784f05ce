//! The questions of a source in a given order, numbered, and split for tuning.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mary_contract::{DataSource, TaskError};
use mary_generators::{shuffle, stream};
use mary_platform::grouped;

use super::setup::{Part, PerceptualQaSettings};
use crate::upstream::{self, NumberedQuestion};
use crate::{MaterialSource, Question, Subtask, own};

pub fn questions(
    setup: &PerceptualQaSettings,
    order: u32,
    data: &dyn DataSource,
) -> Result<Vec<NumberedQuestion>, TaskError> {
    let mut all = match setup.source {
        MaterialSource::Published => upstream::questions(data, setup.language, order)?,
        MaterialSource::Fresh => own_questions(setup, order),
    };
    if setup.part != Part::All {
        let test = held_out(&all, setup.seed);
        all.retain(|asked| test.contains(&asked.index) == (setup.part == Part::Test));
    }
    Ok(all)
}

fn own_questions(setup: &PerceptualQaSettings, order: u32) -> Vec<NumberedQuestion> {
    let mut all = Vec::new();
    for subtask in Subtask::ALL {
        let of_subtask = own::questions(setup.language).iter();
        let of_subtask: Vec<&Question> = of_subtask.filter(|q| q.subtask == subtask).collect();
        let places = right_places(of_subtask.len(), subtask, setup.seed, order);
        for (number, (question, place)) in (1..).zip(of_subtask.into_iter().zip(places)) {
            let index = 1000 * subtask.number() + number;
            let name = format!("embodied/perceptualqa/{index}/{order}");
            let mut rng = stream(setup.seed, &name);
            all.push(NumberedQuestion {
                index,
                question: shuffled(question, place, |wrong| shuffle(&mut rng, wrong)),
            });
        }
    }
    all
}

/// Where the right option stands: in the first order every place equally often, in the second never
/// where it stood in the first.
fn right_places(n: usize, subtask: Subtask, seed: u64, order: u32) -> Vec<usize> {
    let name = format!("embodied/perceptualqa/places/{}", subtask.name());
    let mut rng = stream(seed, &name);
    let mut places: Vec<usize> = (0..n).map(|i| i % 4).collect();
    shuffle(&mut rng, &mut places);
    if order == 2 {
        let mut steps: Vec<usize> = (0..n).map(|i| 1 + i % 3).collect();
        shuffle(&mut rng, &mut steps);
        for (place, step) in places.iter_mut().zip(steps) {
            *place = (*place + step) % 4;
        }
    }
    places
}

fn shuffled(
    question: &Question,
    place: usize,
    shuffle_wrong: impl FnOnce(&mut Vec<Cow<'static, str>>),
) -> Question {
    let right = question.options.get(question.correct).cloned();
    let right = right.unwrap_or_default();
    let others = question.options.iter().enumerate();
    let others = others.filter(|(i, _)| *i != question.correct);
    let mut options: Vec<_> = others.map(|(_, option)| option.clone()).collect();
    shuffle_wrong(&mut options);
    options.insert(place.min(options.len()), right);
    let mut question = question.clone();
    question.correct = place.min(3);
    for (slot, option) in question.options.iter_mut().zip(options) {
        *slot = option;
    }
    question
}

/// The fifth of each subtask that a tuning set leaves out. Questions that are the same but for the
/// order of their options (five in the released set) stay on one side.
fn held_out(all: &[NumberedQuestion], seed: u64) -> BTreeSet<u32> {
    let mut test = BTreeSet::new();
    for subtask in Subtask::ALL {
        let of_subtask = all.iter().filter(|a| a.question.subtask == subtask);
        let of_subtask = of_subtask.map(|asked| {
            let question = &asked.question;
            let mut options: Vec<String> = question.options.iter().map(|o| o.to_string()).collect();
            options.sort();
            ((question.question.to_string(), options), asked.index)
        });
        // By index, so that both orders and both languages split alike.
        let mut groups: Vec<Vec<u32>> = grouped(of_subtask).into_values().collect();
        groups.sort();
        let n: usize = groups.iter().map(Vec::len).sum();
        let wanted = (n as f64 * 0.2).round() as usize;
        let purpose = &format!("embodied/perceptualqa/split/{}", subtask.name());
        let mut rng = stream(seed, purpose);
        shuffle(&mut rng, &mut groups);
        let mut taken = 0;
        for group in groups {
            if taken + group.len() <= wanted {
                taken += group.len();
                test.extend(group);
            }
        }
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    fn bank() -> Vec<NumberedQuestion> {
        (0..40)
            .map(|i| NumberedQuestion {
                index: 3001 + i,
                question: Question {
                    subtask: Subtask::Geometry,
                    // The last two ask the same as the first two.
                    question: Cow::Owned(format!("question {}", i % 38)),
                    options: ["p", "q", "r", "s"].map(Cow::Borrowed),
                    correct: 1,
                    language: Language::En,
                },
            })
            .collect()
    }

    #[test]
    fn a_fifth_is_held_out_and_twins_stay_together() {
        let all = bank();
        for seed in 0..20 {
            let test = held_out(&all, seed);
            assert_eq!(test.len(), 8, "seed {seed}");
            assert_eq!(test.contains(&3001), test.contains(&3039));
            assert_eq!(test.contains(&3002), test.contains(&3040));
        }
        assert_ne!(held_out(&all, 1), held_out(&all, 2));
    }

    #[test]
    fn the_right_option_stands_everywhere_and_moves_between_orders() {
        let first = right_places(40, Subtask::Body, 7, 1);
        let second = right_places(40, Subtask::Body, 7, 2);
        for place in 0..4 {
            assert_eq!(first.iter().filter(|p| **p == place).count(), 10);
        }
        assert!(first.iter().zip(&second).all(|(a, b)| a != b));
    }

    #[test]
    fn shuffling_moves_the_right_option_and_loses_none() {
        let question = &bank()[0].question;
        let moved = shuffled(question, 3, |wrong| wrong.reverse());
        assert_eq!(moved.correct, 3);
        assert_eq!(moved.options, ["s", "r", "p", "q"].map(Cow::Borrowed));
    }
}

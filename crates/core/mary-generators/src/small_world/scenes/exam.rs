//! An exam: questions in blocks of sixteen, each of one kind about one subject, in which every answer is
//! right four times. Whoever reads the words alone is right one time in four, whatever is learned of them.

use super::{KINDS, Question, QuestionKind, Scene};
use crate::small_world::dice::Dice;

/// Questions of a block: four for each answer.
pub(crate) const BLOCK: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct Posed {
    pub scene: Scene,
    pub question: Question,
    pub block: usize,
    /// The place in the exam of the question whose picture is shown when another's is. It was asked the
    /// same, and a quarter of a block's are shown a picture with the same answer: whoever looks at it is right
    /// one time in four.
    pub other: usize,
}

/// So many blocks, their kinds in turn, all questions in one random order; all pictures are kept from lessons.
pub fn exam(seed: u64, blocks: usize) -> Vec<Posed> {
    let mut all = Vec::with_capacity(blocks * BLOCK);
    for block in 0..blocks {
        // Far from the numbers of lessons, whatever the seed.
        let dice = &mut Dice::for_document(seed, u64::MAX - 2 - block as u64);
        // Every wording comes in its turn: wordings are all there are, pictures are what is drawn.
        let (kind, subject) = (KINDS[block % KINDS.len()], block / KINDS.len() % 4);
        for (answer, copy) in (0..BLOCK).map(|i| (i / 4, i % 4)) {
            let (scene, question) = found(dice, kind, subject, answer);
            let other = (answer + copy) % 4 * 4 + (copy + 1) % 4;
            all.push(Posed {
                scene,
                question,
                block,
                other: block * BLOCK + other,
            });
        }
    }
    // What stands before a question must not tell its answer.
    let places: Vec<usize> = (0..all.len()).collect();
    let order = Dice::for_document(seed, u64::MAX - 1).shuffled(&places);
    let mut now = vec![0; all.len()];
    for (place, from) in order.iter().enumerate() {
        now[*from] = place;
    }
    let moved = order.iter().map(|from| Posed {
        other: now[all[*from].other],
        ..all[*from].clone()
    });
    moved.collect()
}

/// A picture, kept from lessons, in which this is the answer.
fn found(dice: &mut Dice, kind: QuestionKind, subject: usize, answer: usize) -> (Scene, Question) {
    loop {
        let scene = match kind {
            QuestionKind::Line => Scene::grid(dice),
            QuestionKind::Count => Scene::things(dice, 1, 4),
            // With one shape alone nothing has to be told apart.
            QuestionKind::Colour | QuestionKind::Shape | QuestionKind::Place => {
                Scene::things(dice, 2, 4)
            }
        };
        if !scene.is_held_out() {
            continue;
        }
        if let Some(question) = scene.ask(kind, subject).filter(|q| q.answer == answer) {
            return (scene, question);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_wording_has_every_answer_equally_often() {
        let mut met: BTreeMap<String, [usize; 4]> = BTreeMap::new();
        for posed in exam(11, 50) {
            met.entry(posed.question.text).or_default()[posed.question.answer] += 1;
        }
        assert!(met.len() > 12, "{met:?}");
        assert!(
            met.values().all(|n| n.iter().all(|k| *k == n[0])),
            "{met:?}"
        );
    }

    #[test]
    fn another_picture_is_never_its_own_and_has_the_same_answer_one_time_in_four() {
        let all = exam(4, 10);
        let others: BTreeSet<usize> = all.iter().map(|p| p.other).collect();
        assert_eq!(others.len(), all.len(), "every picture is shown once");
        let mut same = 0;
        for (i, posed) in all.iter().enumerate() {
            assert_ne!(posed.other, i);
            let other = &all[posed.other];
            assert_eq!(other.question.text, posed.question.text);
            same += usize::from(other.question.answer == posed.question.answer);
        }
        assert_eq!(same * 4, all.len());
    }

    #[test]
    fn all_pictures_are_kept_from_lessons_and_seeds_differ() {
        assert!(exam(2, 5).iter().all(|p| p.scene.is_held_out()));
        assert_ne!(exam(2, 1), exam(3, 1));
        assert_eq!(exam(2, 6), exam(2, 6));
    }
}

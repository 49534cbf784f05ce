//! The verdict on one answer to an item with options, however it was asked.

use crate::{Generated, Item, Judgement, Reply, Response, Scored};

impl Judgement {
    /// Judges the one answer by its scores or by its words; both are told the options and which of them is right.
    pub fn of_choice(
        item: &Item,
        answers: &[Reply],
        by_scores: impl FnOnce(&[String], usize, &Scored) -> Self,
        by_words: impl FnOnce(&[String], usize, &Generated) -> Self,
    ) -> Self {
        let Some((options, correct)) = item.target.choice() else {
            return Self::fault("expected an item with a choice as its target");
        };
        match answers {
            [reply] => match &reply.answer {
                Response::Scored(scored) => by_scores(options, correct, scored),
                Response::Generated(answer) => by_words(options, correct, answer),
                Response::Observed(_) => {
                    Self::fault("expected scores or words, found hidden states")
                }
            },
            other => Self::fault(format!("expected one answer, found {}", other.len())),
        }
    }
}

//! Analogies by surprisal: the most probable of "A is to B as C is to D".

use std::sync::LazyLock;

use mary_contract::{Judgement, Needs, PromptForm, Response, Scoring, Ties};

use super::AnalogyTask;
use crate::cards::{card, conventions};
use crate::choice::{self, By};
use crate::settings::no_shots;

pub static SURPRISAL: AnalogyTask = AnalogyTask {
    card: LazyLock::new(|| card("psychometric/analogies-surprisal")),
    needs: Needs::SCORE,
    scoring: Scoring::share(Ties::Shared),
    told: true,
    asks: |card, settings| {
        settings.check(card)?;
        no_shots(card, settings)?;
        Ok(Box::new(|question| {
            let [a, b] = &question.stem;
            let choices = question.choices.iter();
            let choices = choices.map(|[c, d]| format!("{c} is to {d}"));
            let stem = format!("{a} is to {b} as");
            vec![choice::score_answers(PromptForm::Plain, stem, choices)]
        }))
    },
    judge: |options, correct, answers| {
        if let [reply] = answers
            && let Response::Scored(scored) = &reply.answer
        {
            return choice::judge(options, correct, scored, By::Sum);
        }
        Judgement::fault("expected one score for each choice")
    },
    conventions: |card, settings| conventions(card, settings, &[]),
};

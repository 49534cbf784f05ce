//! Analogies by surprisal: the most probable of "A is to B as C is to D".

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ForPeople, InForce, Item, ItemSource, Items, Judgement, Needs, PromptForm, Reply,
    Response, Scoring, Task, TaskCard, TaskError, TaskSettings, Ties,
};

use super::{Question, id, item_source, questions, target};
use crate::cards::{card, conventions};
use crate::choice::{self, By};
use crate::settings::no_shots;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/analogies-surprisal"));

#[derive(Debug, Clone, Copy)]
pub struct AnalogiesSurprisal;

impl Task for AnalogiesSurprisal {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        item_source(&CARD, settings)
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(super::TO_PEOPLE))
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        let questions = questions(&CARD, settings)?;
        let item = |(index, question): (usize, Question)| {
            let [a, b] = &question.stem;
            let choices = question
                .choices
                .iter()
                .map(|[c, d]| format!("{c} is to {d}"));
            let stem = format!("{a} is to {b} as");
            let ask = choice::score_answers(PromptForm::Plain, stem, choices);
            Ok(Item::new(id(index), target(&question), vec![ask]))
        };
        Ok(Box::new(questions.into_iter().enumerate().map(item)))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        if let (Some((options, correct)), [reply]) = (item.target.choice(), answers)
            && let Response::Scored(scored) = &reply.answer
        {
            return choice::judge(options, correct, scored, By::Sum);
        }
        Judgement::fault("expected one score for each choice")
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::share(Ties::Shared)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&CARD, settings, &[])
    }
}

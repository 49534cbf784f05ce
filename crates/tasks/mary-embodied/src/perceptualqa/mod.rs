//! PerceptualQA: questions that a body answers by imagining, with four options.
//!
//! Every question is asked twice with its options in another order. In words (the paper's way) the
//! answer is JSON with a rationale; by score the letters' log-probabilities are compared, so that base
//! models can be asked too.

mod bank;
mod setup;

pub use bank::questions;
pub use setup::{Part, PerceptualQaSettings};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ErrorKind, ForPeople, Item, Items, Judgement, Measure, Needs, PeopleAnswer,
    Reference, Reply, Sample, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
};

use crate::cards::{FILE, card};
use crate::choice::{self, ShownQuestion, Template};
use crate::upstream::NumberedQuestion;
use crate::{Language, MaterialSource};

pub static PERCEPTUAL_QA: PerceptualQa = PerceptualQa;

pub(crate) static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("embodied/perceptualqa"));

#[derive(Debug, Clone, Copy)]
pub struct PerceptualQa;

/// The id of a question in one order: the same in both languages.
pub(crate) fn item_id(source: MaterialSource, index: u32, order: u32) -> String {
    match source {
        MaterialSource::Fresh => format!("own-{index}-{order}"),
        MaterialSource::Published => format!("{index}-{order}"),
    }
}

fn index_of(id: &str) -> Option<u32> {
    id.rsplit('-').nth(1)?.parse().ok()
}

fn item(setup: &PerceptualQaSettings, order: u32, asked: &NumberedQuestion) -> Item {
    let question = &asked.question;
    let options: Vec<String> = question.options.iter().map(|o| o.to_string()).collect();
    let ask = setup.asking.ask(&ShownQuestion {
        index: asked.index,
        question: &question.question,
        options: &options,
        language: setup.language,
        picture: None,
    });
    let target = Target::one_of(question.question.to_string(), options, question.correct);
    let subtask = question.subtask;
    let mut item = Item::new(item_id(setup.source, asked.index, order), target, vec![ask])
        .in_stratum_of("subtask", subtask.name())
        .tagged("sense", subtask.sense().name())
        .tagged("modality", subtask.sense().modality())
        .tagged("order", order.to_string());
    // Both orders, and released questions that recur with other options, share a text.
    item.cluster = Some(question.question.to_string());
    item
}

impl Task for PerceptualQa {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    /// People were asked the authors' questions, not ours, and not one part of them.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        let seen = PerceptualQaSettings::read(&CARD, settings)
            .is_ok_and(|s| s.source == MaterialSource::Published && s.part == Part::All);
        CARD.human.clone().filter(|_| seen)
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        // Settings that make no sense are refused by `items`.
        PerceptualQaSettings::read(&CARD, settings)
            .map_or_else(|_| Needs::default(), |s| s.asking.needs(false))
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = PerceptualQaSettings::read(&CARD, settings)?;
        let mut items = Vec::new();
        for order in setup.orders {
            let asked = bank::questions(&setup, *order, data)?;
            items.extend(asked.iter().map(|a| Ok(item(&setup, *order, a))));
        }
        Ok(Box::new(items.into_iter()))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        match PerceptualQaSettings::read(&CARD, settings) {
            Ok(setup) => {
                let index =
                    index_of(&item.id).filter(|_| setup.asking.template == Template::Published);
                choice::judge(item, answers, index)
            }
            Err(error) => Judgement::failed(ErrorKind::Internal, error.to_string()),
        }
    }

    /// Question and options; a chosen option is written as the JSON that a model writes, so that the
    /// paper's own reading holds for people too.
    fn for_people(&self, settings: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let setup = PerceptualQaSettings::read(&CARD, settings).ok()?;
        let mut shown = ForPeople::of(item)?;
        if let PeopleAnswer::Choice { options, .. } = &mut shown.answer {
            for (option, letter) in options.iter_mut().zip(choice::LETTERS) {
                option.said = match index_of(&item.id) {
                    Some(index) => {
                        serde_json::json!({"index": index, "answer": letter}).to_string()
                    }
                    None => letter.to_owned(),
                };
            }
        }
        Some(shown.told(match setup.language {
            Language::En => "Choose the most fitting answer.",
            Language::Zh => "请选出最合适的答案。",
        }))
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        choice::whole_set(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        let setup = PerceptualQaSettings::read(&CARD, settings);
        setup.map_or(Scoring::WRITTEN, |setup| setup.asking.scoring())
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = PerceptualQaSettings::read(&CARD, settings) else {
            return BTreeMap::new();
        };
        FILE.conventions(&CARD, settings, &setup.asking.computed(setup.language))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! The low level in the model's own words: it describes a concept and recognises it in that
//! description, its names masked. A judge may look for factual errors, and for the concept's core
//! properties before and after the question for more (the paper's recall, §5.2).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, FollowUp, Item, Items, Judgement, Measure, Needs, Outcome, Reply, Sample,
    Scoring, Target, Task, TaskCard, TaskError, TaskSettings, UnscoredReason,
};
use serde_json::json;

use crate::cards::{card, conventions};
use crate::grid_task::described;
use crate::judging;
use crate::low_level::{defined, planned_instances};
use crate::masking::{Masked, masked};
use crate::parse;
use crate::prompt;
use crate::setup::PhysicoSettings;
use crate::worlds::{self, Level};

/// It has no figure of people: nobody has asked them to play this with their own descriptions; what the
/// paper's people say is how many descriptions of models hold no error, and stands in that column of the
/// table.
static DESCRIBE_CARD: LazyLock<TaskCard> = LazyLock::new(|| card("physico/describe"));

#[derive(Debug)]
pub struct Describe;

impl Describe {
    fn masked(item: &Item, answers: &[Reply]) -> Option<Masked> {
        let (question, _) = choice(&item.target)?;
        let description = answers.first()?.answer.as_generated()?;
        Some(masked(worlds::concept(question)?, &description.text))
    }
}

impl Task for Describe {
    fn card(&self) -> &TaskCard {
        &DESCRIBE_CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings);
        Needs::GENERATE.judged(setup.is_ok_and(|s| s.judge || s.recall))
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings)?;
        let instances = planned_instances(&setup)?;
        Ok(Box::new(instances.into_iter().map(move |instance| {
            defined(&instance.concept)?;
            let asked = prompt::describe(&instance.concept);
            let ask = judging::words(&setup, &asked);
            Ok(described(&instance, instance.concept.clone(), vec![ask]))
        })))
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings)?;
        let Some((question, options)) = choice(&item.target) else {
            return Ok(vec![]);
        };
        let order = AnswerOrder::from_settings(&setup);
        let (Some(description), Some(masked)) = (written(answers, 0), Self::masked(item, answers))
        else {
            return Ok(vec![]);
        };
        let covered = |description: &str| {
            let asked = prompt::coverage(question, &aspects(question), description);
            judging::to_judge(&setup, &asked, 64)
        };
        if answers.len() == 1 {
            let guess = &prompt::guess(&masked.text, options);
            let mut asks = vec![judging::words(&setup, guess)];
            if setup.judge {
                let asked = prompt::judge(question, description);
                asks.push(judging::to_judge(&setup, &asked, 8));
            }
            if setup.recall {
                let before = [prompt::Shot {
                    asked: prompt::describe(question),
                    answer: description.to_owned(),
                }];
                let whole = prompt::prompt(setup.form, &before, &prompt::any_more(), false);
                asks.push(Ask::subject(judging::generate(&setup, whole)));
                asks.push(covered(description));
            }
            return Ok(asks);
        }
        if order.recall.is_some_and(|at| answers.len() == at + 2) {
            let more = order.recall.and_then(|at| written(answers, at));
            let both = format!("{description}\n\n{}", more.unwrap_or_default());
            return Ok(vec![covered(&both)]);
        }
        Ok(vec![])
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Ok(setup) = PhysicoSettings::read(&DESCRIBE_CARD, settings) else {
            return Judgement::fault("the settings of the run cannot be read");
        };
        let (Some((question, _)), Some((options, correct))) =
            (choice(&item.target), item.target.choice())
        else {
            return Judgement::fault("a PHYSICO item has a choice as its target");
        };
        let (Some(masked), [_, guess, ..]) = (Self::masked(item, answers), answers) else {
            return Judgement::fault("expected a description and a guess");
        };
        let mut judgement = judging::judged(options, correct, &guess.answer);
        if masked.text.trim().is_empty() {
            judgement.outcome = Outcome::Unscored(UnscoredReason::Unparsed);
        }
        let order = AnswerOrder::from_settings(&setup);
        let verdict = order.judge.and_then(|at| written(answers, at));
        if let Some(verdict) = verdict.and_then(parse::verdict) {
            judgement = judgement.measured("judged_correct", if verdict { 1.0 } else { 0.0 });
        }
        let all = aspects(question).len();
        if let Some(at) = order.recall {
            for (name, place) in [("recall", at + 1), ("recall_with_more", at + 2)] {
                let said = written(answers, place);
                if let Some(named) = said.and_then(|text| parse::numbers(text, all)) {
                    let share = named.len() as f64 / all.max(1) as f64;
                    judgement = judgement.measured(name, share);
                }
            }
        }
        judgement.notes = json!({ "masked": {
            "text": masked.text, "names": masked.names, "giveaways": masked.giveaways,
        }});
        judgement
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings);
        setup.map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&DESCRIBE_CARD, settings)
    }
}

fn choice(target: &Target) -> Option<(&str, &[String])> {
    match target {
        Target::Choice {
            question, options, ..
        } => Some((question, options)),
        _ => None,
    }
}

/// Where the answers of a description lie, by what was asked.
struct AnswerOrder {
    judge: Option<usize>,
    /// The answer to "any more?"; after it what the judge finds in the first and in both.
    recall: Option<usize>,
}

impl AnswerOrder {
    fn from_settings(setup: &PhysicoSettings) -> Self {
        let judge = setup.judge.then_some(2);
        Self {
            judge,
            recall: setup.recall.then_some(if setup.judge { 3 } else { 2 }),
        }
    }
}

fn written(answers: &[Reply], at: usize) -> Option<&str> {
    let reply = answers.get(at)?;
    Some(reply.answer.as_generated()?.text.as_str())
}

/// What a description of a concept should name: the rules of its core aspects.
fn aspects(concept: &str) -> Vec<&'static str> {
    let Some(concept) = worlds::concept(concept) else {
        return vec![];
    };
    concept.shown(Level::Core).map(|(_, a)| a.rule).collect()
}

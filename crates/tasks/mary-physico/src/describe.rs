//! The low level in the model's own words: it describes a concept and recognises it in that
//! description, its names masked. A judge may look for factual errors, and for the concept's core
//! properties before and after the question for more (the paper's recall, §5.2).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, Generate, Item, Items, Judgement, Measure, Needs, Outcome, Reply, Request,
    Sample, Sampling, Scoring, Target, Task, TaskCard, TaskError, TaskSettings, UnscoredReason,
};
use serde_json::json;

use crate::cards::card;
use crate::choice_task::said;
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
        let Target::Choice { question, .. } = &item.target else {
            return None;
        };
        let description = answers.first()?.answer.as_generated()?;
        Some(masked(worlds::concept(question)?, &description.text))
    }
}

impl Task for Describe {
    fn card(&self) -> &TaskCard {
        &DESCRIBE_CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs {
            generate: true,
            judge: PhysicoSettings::read(&DESCRIBE_CARD, settings)
                .is_ok_and(|s| s.judge || s.recall),
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings)?;
        let instances = planned_instances(&setup)?;
        Ok(Box::new(instances.into_iter().map(move |instance| {
            defined(&instance.concept)?;
            let asked = prompt::describe(&instance.concept);
            let whole = prompt::prompt(setup.form, &[], &asked, false);
            let ask = Ask::subject(Request::Generate(judging::generate(&setup, whole)));
            Ok(described(&instance, instance.concept.clone(), vec![ask]))
        })))
    }

    fn follow_up(
        &self,
        settings: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let setup = PhysicoSettings::read(&DESCRIBE_CARD, settings)?;
        let Target::Choice {
            question, options, ..
        } = &item.target
        else {
            return Ok(vec![]);
        };
        let order = AnswerOrder::from_settings(&setup);
        let (Some(description), Some(masked)) = (written(answers, 0), Self::masked(item, answers))
        else {
            return Ok(vec![]);
        };
        let judge = |asked: &prompt::PromptContent, tokens: u32| {
            Ask::judge(Request::Generate(Generate {
                prompt: prompt::prompt(setup.form, &[], asked, false),
                sampling: Sampling::greedy(tokens),
            }))
        };
        if answers.len() == 1 {
            let asked = prompt::guess(&masked.text, options);
            let whole = prompt::prompt(setup.form, &[], &asked, false);
            let subject = |whole| Ask::subject(Request::Generate(judging::generate(&setup, whole)));
            let mut asks = vec![subject(whole)];
            if setup.judge {
                asks.push(judge(&prompt::judge(question, description), 8));
            }
            if setup.recall {
                let before = [prompt::Shot {
                    asked: prompt::describe(question),
                    answer: description.to_owned(),
                }];
                let whole = prompt::prompt(setup.form, &before, &prompt::any_more(), false);
                asks.push(subject(whole));
                let named = prompt::coverage(question, &aspects(question), description);
                asks.push(judge(&named, 64));
            }
            return Ok(asks);
        }
        if order.recall.is_some_and(|at| answers.len() == at + 2) {
            let more = order.recall.and_then(|at| written(answers, at));
            let both = format!("{description}\n\n{}", more.unwrap_or_default());
            let named = prompt::coverage(question, &aspects(question), &both);
            return Ok(vec![judge(&named, 64)]);
        }
        Ok(vec![])
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Ok(setup) = PhysicoSettings::read(&DESCRIBE_CARD, settings) else {
            return judging::failed("the settings of the run cannot be read");
        };
        let Target::Choice {
            question,
            options,
            correct,
        } = &item.target
        else {
            return judging::failed("a PHYSICO item has a choice as its target");
        };
        let (Some(masked), [_, guess, ..]) = (Self::masked(item, answers), answers) else {
            return judging::failed("expected a description and a guess");
        };
        let mut judgement = judging::judged(options, *correct, &guess.answer);
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
        PhysicoSettings::read(&DESCRIBE_CARD, settings)
            .map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = PhysicoSettings::read(&DESCRIBE_CARD, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = said(
            "Yu et al. 2025, Figures 4 and 5; options parted by commas",
            "all names and inflections of the concept masked by word list",
        );
        let mut say = |name: &str, text: String| {
            conventions.insert(name.to_owned(), text);
        };
        judging::conventions(&setup, &mut say);
        if setup.judge {
            say(
                "judge",
                "`judged_correct`: share of descriptions in which the judge finds no factual error; our \
                 wording of the paper's rule"
                    .into(),
            );
        }
        if setup.recall {
            say(
                "recall",
                "share of the concept's core aspects that the judge finds in the description, and in it \
                 together with the answer to `Any more core properties or examples?` (the paper: by hand, \
                 85.0 for GPT-3.5 and 90.0 for GPT-4); our wording"
                    .into(),
            );
        }
        conventions
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

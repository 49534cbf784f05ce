//! Letter geometry: what a symbol looks like when it is turned, flipped, added to or taken from.
//!
//! Every question is made from pictures of real glyphs: the operation is carried out on the picture
//! and the result compared with every symbol, so that an item is asked only when one option clearly
//! looks like it and the other three clearly do not.

mod bank;
mod blocks;
mod drawing;
mod wording;

use bank::ALIKE;
pub(super) use bank::UNLIKE;
use blocks::items as fresh_items;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, FollowUp, ForPeople, Generated, InForce, Item, Items, Judgement, Needs,
    Outcome, Picture, Prompt, PromptForm, Reply, Request, Response, Score, Scored, Scoring, Start,
    Target, Task, TaskCard, TaskError, TaskSettings, Ties, UnscoredReason,
};

use super::ab_task::{FILE, card, name_wording, read_by_judge, written};
use super::setup::{HtestSettings, ItemsSource, Mode, Wording};
use super::{parse, prompt, upstream};

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("htest/letter-geometry"));

#[derive(Debug)]
pub struct LetterGeometry;

pub static LETTER_GEOMETRY: LetterGeometry = LetterGeometry;

/// A question before it becomes an item, whatever its source.
struct SourcedQuestion {
    id: String,
    question: String,
    options: Vec<String>,
    correct: usize,
    cluster: Option<String>,
    kind: Option<&'static str>,
}

fn asked(setup: &HtestSettings, data: &dyn DataSource) -> Result<Vec<SourcedQuestion>, TaskError> {
    if setup.source == ItemsSource::Published {
        let records = upstream::geometry_items(data)?.into_iter().enumerate();
        return Ok(records
            .map(|(index, record)| SourcedQuestion {
                id: format!("published-{:03}", index + 1),
                question: record.question,
                options: record.options,
                correct: record.correct,
                cluster: None,
                kind: None,
            })
            .collect());
    }
    let fresh = fresh_items(setup.seed, setup.n)?.into_iter().enumerate();
    Ok(fresh
        .map(|(index, item)| SourcedQuestion {
            id: fresh_id(setup.seed, index),
            question: item.question.operation.words(),
            options: item.options.iter().map(char::to_string).collect(),
            correct: item.correct,
            cluster: Some(format!("block-{:03}", item.block)),
            kind: Some(item.question.operation.kind().name()),
        })
        .collect())
}

fn fresh_id(seed: u64, index: usize) -> String {
    format!("{seed}-{index:04}")
}

/// Pictures of the first fresh items of a seed.
pub fn pictures(seed: u64, n: usize, how_many: usize) -> Vec<Picture> {
    let items = fresh_items(seed, n).unwrap_or_default();
    let first = items.iter().take(how_many).enumerate();
    let drawn = first.map(|(index, item)| drawing::drawn(&fresh_id(seed, index), item));
    drawn.collect()
}

fn direct(setup: &HtestSettings, asked: &SourcedQuestion) -> String {
    match setup.wording {
        Wording::Own => prompt::geometry(&asked.question, &asked.options),
        Wording::Released => prompt::released_geometry(&asked.question, &asked.options),
    }
}

/// Whether the two wordings ask otherwise: scored in plain form and in a chain of thought both are ours.
fn wording_matters(setup: &HtestSettings) -> bool {
    match setup.mode {
        Mode::Score => setup.form == PromptForm::Chat,
        Mode::Generate => true,
        Mode::Cot => false,
    }
}

fn ask(setup: &HtestSettings, asked: &SourcedQuestion) -> Ask {
    if setup.mode == Mode::Score {
        let plain = || prompt::geometry_up_to_answer(&asked.question, &asked.options);
        let (prefix, before) = match setup.form {
            PromptForm::Plain => (plain(), " "),
            PromptForm::Chat => (direct(setup, asked), ""),
        };
        let prompt = Prompt::single(setup.form, prefix);
        let options = asked.options.iter().map(|o| format!("{before}{o}"));
        let score = Score::new(prompt, options.collect(), Start::Model);
        return Ask::subject(Request::Score(score));
    }
    let text = match setup.mode {
        Mode::Cot => prompt::geometry_thinking(&asked.question, &asked.options),
        Mode::Generate | Mode::Score => direct(setup, asked),
    };
    Ask::subject(written(setup, text))
}

fn item(setup: &HtestSettings, asked: SourcedQuestion) -> Item {
    let ask = ask(setup, &asked);
    let target = Target::one_of(asked.question, asked.options, asked.correct);
    let mut item = Item::new(asked.id, target, vec![ask]);
    item.cluster = asked.cluster;
    match asked.kind {
        Some(kind) => item.in_stratum_of("operation", kind),
        None => item,
    }
}

impl Task for LetterGeometry {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let told = "Turn and flip the symbol in your mind, then choose what it looks like.";
        Some(ForPeople::of(item)?.told(told))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = HtestSettings::read(&CARD, settings).map_or(Mode::Score, |s| s.mode);
        Needs::answers(mode == Mode::Score).judged(mode == Mode::Cot)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = HtestSettings::read(&CARD, settings)?;
        let asked = asked(&setup, data)?.into_iter();
        Ok(Box::new(asked.map(move |a| Ok(item(&setup, a)))))
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let setup = HtestSettings::read(&CARD, settings)?;
        // The released code has no chain of thought here: ours, with our judge's temperature.
        let wording = Wording::Own;
        let ours = HtestSettings { wording, ..setup };
        let asked = prompt::geometry_reading;
        Ok(read_by_judge(&ours, item, answers, asked))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Some((options, correct)) = item.target.choice() else {
            return Judgement::fault("a letter-geometry item has a choice as its target");
        };
        let answers: Vec<&Response> = answers.iter().map(|r| &r.answer).collect();
        match answers.as_slice() {
            [Response::Scored(scored)] => judge_scores(options, correct, scored),
            [Response::Generated(answer)] => judge_words(options, correct, answer),
            [Response::Generated(thought), Response::Generated(reading)] => {
                judge_thought(options, correct, thought, reading)
            }
            other => Judgement::fault(format!(
                "expected one answer, or a thought and its reading, found {} answers",
                other.len()
            )),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(self.card());
        // There are no shots here; a number given for the other ten means nothing.
        asked.remove("shots");
        let matters = HtestSettings::read(&CARD, settings).is_ok_and(|s| wording_matters(&s));
        name_wording(&mut asked, matters);
        asked
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match HtestSettings::read(&CARD, settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Shared),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = HtestSettings::read(&CARD, settings) else {
            return BTreeMap::new();
        };
        let released = wording_matters(&setup) && setup.wording == Wording::Released;
        let computed = [
            ("alike", ALIKE.to_string()),
            ("max_tokens", setup.max_tokens.to_string()),
            ("temperature", setup.temperature.to_string()),
            ("unlike", UNLIKE.to_string()),
            ("wording", if released { "released" } else { "own" }.into()),
        ];
        FILE.conventions(&CARD, settings, &computed)
    }
}

fn judge_scores(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    let judgement = Judgement::most_probable(options, correct, scored);
    match (&judgement.outcome, scored.best_mean(correct)) {
        (Outcome::Scored(_), Some((_, by_mean))) => judgement.measured("mean_logprob", by_mean),
        _ => judgement,
    }
}

fn judge_words(options: &[String], correct: usize, answer: &Generated) -> Judgement {
    let right = |said: usize| f64::from(said == correct);
    let exact = parse::exact_symbol(&answer.text, options);
    let lenient = parse::lenient_symbol(&answer.text, options).map(right);
    let judgement = match (answer.withheld(), exact) {
        (Some(reason), _) => Judgement::unscored(reason),
        (None, None) => Judgement::unscored(UnscoredReason::Unparsed),
        (None, Some(said)) => {
            let read = options.get(said).cloned().unwrap_or_default();
            Judgement::scored(right(said)).read_as(read)
        }
    };
    let accuracy = exact.map_or(0.0, right);
    let judgement = judgement
        .measured("accuracy", accuracy)
        .measured("lenient_accuracy", lenient.unwrap_or(0.0));
    match lenient {
        Some(score) => judgement.measured("lenient", score),
        None => judgement,
    }
}

fn judge_thought(
    options: &[String],
    correct: usize,
    thought: &Generated,
    reading: &Generated,
) -> Judgement {
    let said = parse::lenient_symbol(&reading.text, options);
    match said.filter(|_| thought.withheld().is_none()) {
        Some(said) => {
            let score = f64::from(said == correct);
            let read = options.get(said).cloned().unwrap_or_default();
            Judgement::scored(score)
                .read_as(read)
                .measured("accuracy", score)
        }
        None => Judgement::unscored(thought.unread()).measured("accuracy", 0.0),
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{ContinuationScore, NoData, Outcome};

    use super::*;

    fn scores(values: [f32; 4]) -> Reply {
        let continuations = values
            .map(|v| ContinuationScore {
                tokens: vec!["x".into()],
                logprobs: vec![v],
                boundary_merged: false,
                first_unscored: false,
                windowed: false,
                details: None,
            })
            .to_vec();
        Reply::bare(Response::Scored(Scored { continuations }))
    }

    #[test]
    fn items_have_four_options_and_the_best_scored_one_is_taken() {
        let settings = TaskSettings::default();
        let items: Vec<Item> = LETTER_GEOMETRY
            .items(&settings, &NoData)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(items.len(), 200);
        let item = &items[0];
        let Target::Choice { correct, .. } = item.target else {
            panic!("a choice")
        };
        let mut values = [-5.0; 4];
        values[correct] = -1.0;
        let verdict = LETTER_GEOMETRY.judge(&settings, item, &[scores(values)]);
        assert_eq!(verdict.outcome, Outcome::Scored(1.0));
        let tie = LETTER_GEOMETRY.judge(&settings, item, &[scores([-1.0; 4])]);
        assert_eq!(tie.outcome, Outcome::Scored(0.25));
    }

    #[test]
    fn a_chain_of_thought_is_read_by_the_judge() {
        let settings = TaskSettings {
            params: [("mode".to_owned(), "cot".to_owned())].into(),
            ..TaskSettings::default()
        };
        assert!(LETTER_GEOMETRY.needs(&settings).judge);
        let item = LETTER_GEOMETRY
            .items(&settings, &NoData)
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let Some((options, correct)) = item.target.choice() else {
            panic!("a choice")
        };
        let words = |text: &str| Reply::bare(Response::Generated(Generated::whole(text.into())));
        let thought = words("The bar turns over.");
        let asks = LETTER_GEOMETRY
            .follow_up(&settings, &item, std::slice::from_ref(&thought))
            .unwrap();
        assert_eq!(asks.len(), 1);
        let verdict = |reading: &str| {
            let answers = [thought.clone(), words(reading)];
            LETTER_GEOMETRY.judge(&settings, &item, &answers).outcome
        };
        assert_eq!(verdict(&options[correct]), Outcome::Scored(1.0));
        assert_eq!(verdict(&options[(correct + 1) % 4]), Outcome::Scored(0.0));
        assert_eq!(verdict("None"), Outcome::Unscored(UnscoredReason::Unparsed));
    }

    #[test]
    fn the_released_wording_allows_one_token() {
        let set = |pairs: &[(&str, &str)]| TaskSettings {
            params: pairs
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..TaskSettings::default()
        };
        let asked = |settings: &TaskSettings| {
            let item = LETTER_GEOMETRY.items(settings, &NoData).unwrap().next();
            match item.unwrap().unwrap().asks.remove(0).request {
                Request::Generate(asked) => asked,
                _ => panic!("written"),
            }
        };
        let released = set(&[("mode", "generate"), ("wording", "released")]);
        let one = asked(&released);
        assert_eq!(
            (one.sampling.max_tokens, one.sampling.temperature),
            (1, 0.7)
        );
        let text = one.prompt.text();
        let last = text.lines().last().unwrap();
        assert!(
            last.ends_with("(Respond in one letter and nothing else)") && !last.contains(" (Re")
        );
        assert_eq!(asked(&set(&[("mode", "generate")])).sampling.max_tokens, 5);
        let more = set(&[
            ("mode", "generate"),
            ("wording", "released"),
            ("max_tokens", "4"),
        ]);
        assert_eq!(asked(&more).sampling.max_tokens, 4);
        assert!(LETTER_GEOMETRY.conventions(&released)["template"].contains("released code"));
    }

    #[test]
    fn a_question_in_full() {
        let settings = TaskSettings {
            params: [("mode".to_owned(), "generate".to_owned())].into(),
            ..TaskSettings::default()
        };
        let item = LETTER_GEOMETRY
            .items(&settings, &NoData)
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        insta::assert_json_snapshot!(item);
    }
}

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
    Ask, DataSource, ErrorKind, ForPeople, Generated, InForce, Item, Items, Judgement, Needs,
    Picture, Prompt, PromptForm, Reply, Request, Response, Score, Scored, Scoring, Start, Target,
    Task, TaskCard, TaskError, TaskSettings, Ties, UnscoredReason,
};
use mary_generators::best;
use serde_json::json;

use super::ab_task::{
    card, failed, name_wording, read_by_judge, source_convention, truth, unread, withheld, written,
};
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
    fresh_items(seed, n)
        .unwrap_or_default()
        .iter()
        .take(how_many)
        .enumerate()
        .map(|(index, item)| drawing::drawn(&fresh_id(seed, index), item))
        .collect()
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
        let (prefix, before) = match setup.form {
            PromptForm::Plain => (
                prompt::geometry_up_to_answer(&asked.question, &asked.options),
                " ",
            ),
            PromptForm::Chat => (direct(setup, asked), ""),
        };
        return Ask::subject(Request::Score(Score {
            prefix: Prompt::single(setup.form, prefix),
            continuations: asked
                .options
                .iter()
                .map(|o| format!("{before}{o}"))
                .collect(),
            start: Start::Model,
            details: Default::default(),
        }));
    }
    let text = match setup.mode {
        Mode::Cot => prompt::geometry_thinking(&asked.question, &asked.options),
        Mode::Generate | Mode::Score => direct(setup, asked),
    };
    Ask::subject(written(setup, text))
}

fn item(setup: &HtestSettings, asked: SourcedQuestion) -> Item {
    let ask = ask(setup, &asked);
    let target = Target::Choice {
        question: asked.question,
        options: asked.options,
        correct: asked.correct,
    };
    let mut item = Item::new(asked.id, target, vec![ask]);
    item.cluster = asked.cluster;
    match asked.kind {
        Some(kind) => item.in_stratum(kind).tagged("operation", kind),
        None => item,
    }
}

impl Task for LetterGeometry {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(
            ForPeople::of(item)?
                .told("Turn and flip the symbol in your mind, then choose what it looks like."),
        )
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = HtestSettings::read(&CARD, settings).map_or(Mode::Score, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            generate: mode != Mode::Score,
            judge: mode == Mode::Cot,
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = HtestSettings::read(&CARD, settings)?;
        let asked = asked(&setup, data)?;
        Ok(Box::new(
            asked.into_iter().map(move |a| Ok(item(&setup, a))),
        ))
    }

    fn follow_up(
        &self,
        settings: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let setup = HtestSettings::read(&CARD, settings)?;
        // The released code has no chain of thought here: ours, with our judge's temperature.
        let ours = HtestSettings {
            wording: Wording::Own,
            ..setup
        };
        Ok(read_by_judge(
            &ours,
            item,
            answers,
            prompt::geometry_reading,
        ))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Some((options, correct)) = item.target.choice() else {
            return failed("a letter-geometry item has a choice as its target");
        };
        let answers: Vec<&Response> = answers.iter().map(|r| &r.answer).collect();
        match answers.as_slice() {
            [Response::Scored(scored)] => judge_scores(options, correct, scored),
            [Response::Generated(answer)] => judge_words(options, correct, answer),
            [Response::Generated(thought), Response::Generated(reading)] => {
                judge_thought(options, correct, thought, reading)
            }
            other => failed(&format!(
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
        let mut conventions = BTreeMap::new();
        let mut say = |name: &str, text: String| conventions.insert(name.to_owned(), text);
        say("source", source_convention(&setup));
        let template = if !wording_matters(&setup) || setup.wording == Wording::Own {
            "our wording"
        } else {
            "the authors' released code (github.com/brucewlee/h-test, 4787987), byte for byte"
        };
        say("template", template.into());
        say(
            "pictures",
            format!(
                "DejaVu Sans; an option is right from likeness {ALIKE} on, wrong up to {UNLIKE}, never \
                 offered between"
            ),
        );
        let (temperature, most) = (setup.temperature, setup.max_tokens);
        let answer = match setup.mode {
            Mode::Score => {
                "the most probable of the four symbols, sum of token log-probabilities; \
                            `mean_logprob` per token beside it"
                    .into()
            }
            Mode::Cot => {
                "thinking out loud, read by the judge model as one of the symbols or None".into()
            }
            Mode::Generate => format!(
                "generated, temperature {temperature}, at most {most} tokens; the symbol and nothing else, \
                 `lenient` reads it out of a line"
            ),
        };
        say("answer", answer);
        match setup.mode {
            Mode::Score => say("ties", "shared among the symbols that tie".into()),
            _ => say(
                "unparsed",
                "left out of the score; wrong in `accuracy`".into(),
            ),
        };
        conventions
    }
}

fn judge_scores(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    if scored.continuations.len() != options.len() {
        return failed("expected one score for each option");
    }
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    let means: Option<Vec<f64>> = scored.continuations.iter().map(|c| c.mean()).collect();
    let Some((said, score)) = best(&sums, correct) else {
        let message = "an option's log-probability is not a number";
        return Judgement::failed(ErrorKind::NotFinite, message);
    };
    let mut judgement = Judgement::scored(score);
    if let Some(symbol) = options.get(said) {
        judgement = judgement.read_as(symbol.clone());
    }
    judgement.notes = json!({ "logprob": sums });
    match means.and_then(|means| best(&means, correct)) {
        Some((_, by_mean)) => judgement.measured("mean_logprob", by_mean),
        None => judgement,
    }
}

fn judge_words(options: &[String], correct: usize, answer: &Generated) -> Judgement {
    let right = |said: usize| truth(said == correct);
    let exact = parse::exact_symbol(&answer.text, options);
    let lenient = parse::lenient_symbol(&answer.text, options).map(right);
    let judgement = match (withheld(answer), exact) {
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
    match said.filter(|_| withheld(thought).is_none()) {
        Some(said) => {
            let score = truth(said == correct);
            let read = options.get(said).cloned().unwrap_or_default();
            Judgement::scored(score)
                .read_as(read)
                .measured("accuracy", score)
        }
        None => Judgement::unscored(unread(thought)).measured("accuracy", 0.0),
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{ContinuationScore, Finish, NoData, Outcome};

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
        let words = |text: &str| {
            Reply::bare(Response::Generated(Generated {
                text: text.into(),
                finish: Finish::Stop,
                reasoning: None,
            }))
        };
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

//! What the A/B tasks share: one implementation of [`Task`] over a rule.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, CardFile, Citation, DataSource, ErrorKind, Finish, ForPeople, Generate, Generated,
    InForce, Item, Items, Judgement, Measure, Needs, Prompt, PromptForm, Reference, Reply, Request,
    Response, SHOT_SET, Sample, Sampling, Score, Scored, Scoring, Start, Target, Task, TaskCard,
    TaskError, TaskSettings, Ties, UnscoredReason,
};
use serde_json::json;

use super::dataset::{Example, Label, Rule};
use super::misled::by_reasoning;
use super::setup::{HtestSettings, ItemsSource, Mode, Order, Tail, WORDING_PARAM, Wording};
use super::shots::{self, Draw, Drawn, pair_number};
use super::{parse, prompt, setup, upstream};

/// The card of a task of the family, as `cards.json` says.
pub fn card(id: &'static str) -> TaskCard {
    static FILE: LazyLock<CardFile> = LazyLock::new(|| CardFile::read(include_str!("cards.json")));
    FILE.card(id)
}

/// The card of an A/B task that the paper does not have: nothing was released, no people were asked.
pub fn own_card(
    id: &'static str,
    version: u32,
    (title, about): (&'static str, &'static str),
    citation: Citation,
) -> TaskCard {
    TaskCard {
        version,
        chance: Some(0.5),
        params: card("htest/uppercase").params,
        citation,
        ..TaskCard::new(id, title, about)
    }
}

/// An A/B task: everything that is its own. A task is one file with one of these and one line in
/// `tasks/mod.rs`.
#[derive(Debug)]
pub struct AbTask {
    pub card: LazyLock<TaskCard>,
    pub rule: Rule,
    /// Its name in the released files; `None` for a task that the paper does not have.
    pub upstream: Option<&'static str>,
    /// The surface baselines of an audit that *are* its rule, or see it in full: what they reach is
    /// no shortcut. Runs of characters (`character_ngrams`) see every rule that stands in the letters.
    pub rule_baselines: &'static [&'static str],
}

impl AbTask {
    fn drawn(
        &self,
        setup: &HtestSettings,
        apart: &[u64],
        data: &dyn DataSource,
    ) -> Result<Drawn, TaskError> {
        let released = match setup.source {
            ItemsSource::Fresh => None,
            ItemsSource::Published => Some(self.upstream.ok_or_else(|| {
                TaskError::Setting(format!(
                    "{}: expected source=fresh, found source=published; the paper has no such task, so \
                     that nothing was released\nhint: leave `--set source=` out",
                    self.card.id
                ))
            })?),
        };
        Drawn::new(setup, (&self.rule, apart), released, data)
    }

    fn ask(setup: &HtestSettings, shots: &[Example], text: &str) -> Ask {
        Ask::subject(match setup.mode {
            Mode::Generate => written(setup, prompt::published(shots, text)),
            Mode::Cot => {
                let words = match setup.wording {
                    Wording::Own => prompt::chain_of_thought(shots, text),
                    Wording::Released => prompt::released_chain_of_thought(shots, text),
                };
                written(setup, words)
            }
            Mode::Score => {
                let prefix = match setup.tail {
                    Tail::Label => prompt::up_to_label(shots, text),
                    Tail::Published => prompt::published(shots, text),
                };
                Request::Score(Score {
                    prefix: Prompt::single(setup.form, prefix),
                    continuations: continuations(setup),
                    start: Start::Model,
                    details: Default::default(),
                })
            }
        })
    }
}

/// Asks for an answer in words.
pub(super) fn in_words(form: PromptForm, text: String, sampling: Sampling) -> Request {
    let prompt = Prompt::single(form, text);
    Request::Generate(Generate { prompt, sampling })
}

pub(super) fn written(setup: &HtestSettings, text: String) -> Request {
    let sampling = Sampling {
        temperature: setup.temperature,
        ..Sampling::greedy(setup.max_tokens)
    };
    in_words(setup.form, text, sampling)
}

/// What a judge that was asked for 1 or 0 says.
pub(super) fn verdict(reply: &Reply) -> Judgement {
    let said = reply.answer.as_generated();
    match said.and_then(|s| s.text.trim().chars().next()) {
        Some('1') => Judgement::scored(1.0),
        Some('0') => Judgement::scored(0.0),
        _ => Judgement::unscored(UnscoredReason::Unparsed),
    }
}

/// `utils.py` of the released code: of the model that reads a chain of thought.
const RELEASED_JUDGE_TEMPERATURE: f64 = 0.7;

/// What the judge is asked about a chain of thought; `words` makes it from the question, its options and
/// the thought. Nothing in other modes.
pub(super) fn read_by_judge(
    setup: &HtestSettings,
    item: &Item,
    answers: &[Reply],
    words: impl Fn(&str, &[String], &str) -> String,
) -> Vec<Ask> {
    let (Mode::Cot, [reply]) = (setup.mode, answers) else {
        return vec![];
    };
    let thought = reply.answer.as_generated();
    let (
        Some(thought),
        Target::Choice {
            question, options, ..
        },
    ) = (thought, &item.target)
    else {
        return vec![];
    };
    // The released code's judge answers at its temperature, too.
    let temperature = match setup.wording {
        Wording::Own => 0.0,
        Wording::Released => RELEASED_JUDGE_TEMPERATURE,
    };
    let sampling = Sampling {
        temperature,
        ..Sampling::greedy(5)
    };
    let asked = words(question, options, &thought.text);
    vec![Ask::judge(in_words(setup.form, asked, sampling))]
}

/// The labels as they follow the prefix: a chat model answers with the bare letter; in plain text the
/// letter follows with what stands before it there.
fn continuations(setup: &HtestSettings) -> Vec<String> {
    let before = match (setup.form, setup.tail) {
        (PromptForm::Chat, _) => "",
        (PromptForm::Plain, Tail::Label) => " ",
        (PromptForm::Plain, Tail::Published) => "\n",
    };
    [Label::A, Label::B]
        .map(|label| format!("{before}{}", label.letter()))
        .to_vec()
}

fn item(setup: &HtestSettings, draw: &Draw, index: usize, example: &Example) -> Item {
    let mut id = match setup.source {
        ItemsSource::Fresh => format!("{}-{index:04}", setup.seed),
        ItemsSource::Published => format!("published-{:03}", index + 1),
    };
    if setup.crossed {
        id.push_str(&format!("-shots-{}", draw.number));
    }
    let ask = AbTask::ask(setup, &draw.shots, &example.text);
    let example = match draw.exchanged {
        true => example.exchanged(),
        false => example.clone(),
    };
    let target = Target::Choice {
        question: example.text,
        options: vec!["A".into(), "B".into()],
        correct: example.label.index(),
    };
    let mut item = Item::new(id, target, vec![ask])
        .in_stratum(example.label.letter())
        .tagged("label", example.label.letter());
    if setup.shot_sets > 1 {
        item = item.tagged(SHOT_SET, draw.number.to_string());
    }
    // Asked with every draw, an item is its own cluster where nothing else is.
    let own = || setup.crossed.then(|| index.to_string());
    item.cluster = example.pair.or_else(own);
    item
}

impl Task for AbTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        // Settings that make no sense are refused by `items`; until then, the default's needs.
        let setup = HtestSettings::read(&self.card, settings);
        let mode = setup.as_ref().map_or(Mode::Score, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            score_single_token: setup
                .is_ok_and(|s| s.form == PromptForm::Chat || s.tail == Tail::Label),
            generate: mode != Mode::Score,
            judge: mode == Mode::Cot,
            ..Needs::default()
        }
    }

    /// People were shown the authors' items, not fresh ones.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        let published = HtestSettings::read(&self.card, settings)
            .is_ok_and(|s| s.source == ItemsSource::Published);
        self.card.human.clone().filter(|_| published)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = HtestSettings::read(&self.card, settings)?;
        let apart = setup::apart(&self.card, settings)?;
        let drawn = self.drawn(&setup, &apart, data)?;
        let each = (0..drawn.test.len()).flat_map(move |index| {
            let example = drawn.test.get(index);
            let asked = example.into_iter().flat_map(|example| {
                let before = drawn.before(&setup, pair_number(example, index));
                before.map(|draw| Ok(item(&setup, draw, index, example)))
            });
            asked.collect::<Vec<_>>()
        });
        Ok(Box::new(each))
    }

    /// Where the shots were drawn several times they are what was sampled.
    fn family_tag(&self, settings: &TaskSettings) -> Option<&'static str> {
        let setup = HtestSettings::read(&self.card, settings);
        setup.is_ok_and(|s| s.shot_sets > 1).then_some(SHOT_SET)
    }

    fn follow_up(
        &self,
        settings: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let setup = HtestSettings::read(&self.card, settings)?;
        Ok(read_by_judge(
            &setup,
            item,
            answers,
            |question, _, thought| match setup.wording {
                Wording::Own => prompt::reading(question, thought),
                Wording::Released => prompt::released_reading(thought),
            },
        ))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Some((_, correct)) = item.target.choice() else {
            return failed("an H-TEST item has a choice as its target");
        };
        let setup = match HtestSettings::read(&self.card, settings) {
            Ok(setup) => setup,
            Err(error) => return failed(&error.to_string()),
        };
        let answers: Vec<&Response> = answers.iter().map(|r| &r.answer).collect();
        match (setup.mode, answers.as_slice()) {
            (Mode::Score, [Response::Scored(scored)]) => judge_scores(correct, scored),
            (Mode::Generate, [Response::Generated(answer)]) => judge_words(correct, answer),
            (Mode::Cot, [Response::Generated(thought), Response::Generated(reading)]) => {
                judge_thought(&setup, correct, thought, reading)
            }
            (mode, found) => failed(&format!(
                "expected the answers of {mode:?} mode, found {} answers of another kind",
                found.len()
            )),
        }
    }

    /// As in the paper's study: people find the rule from the same labelled examples.
    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let mut shown = ForPeople::of(item)?.in_order();
        let prompt = match &item.asks.first()?.request {
            Request::Generate(g) => g.prompt.text(),
            Request::Score(s) => s.prefix.text(),
            Request::Observe(_) => return None,
        };
        shown.examples = prompt::shown_examples(&prompt);
        let rule = if shown.examples.is_empty() {
            "Does this belong to group A or to group B?"
        } else {
            "The examples were labelled A or B by one rule. Find the rule, then label the last one."
        };
        Some(shown.told(rule))
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(self.card());
        // The number of shots has a default of its own in each mode.
        if let Ok(setup) = HtestSettings::read(self.card(), settings) {
            asked.insert("shots".into(), setup.shots.to_string());
            name_wording(&mut asked, setup.mode == Mode::Cot);
            asked.insert("shot_sets".into(), setup.shot_sets.to_string());
            let labels = if setup.both_labels { "both" } else { "fixed" };
            asked.insert("labels".into(), labels.into());
        }
        asked
    }

    /// Where people marked chains of thought: what came of those that are misled.
    fn overall(
        &self,
        settings: &TaskSettings,
        samples: &mut dyn Iterator<Item = Sample>,
    ) -> Vec<Measure> {
        match HtestSettings::read(&self.card, settings) {
            Ok(setup) if setup.mode == Mode::Cot => by_reasoning(samples),
            _ => Vec::new(),
        }
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match HtestSettings::read(&self.card, settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Half),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = HtestSettings::read(&self.card, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = BTreeMap::new();
        let mut say = |name: &str, text: String| conventions.insert(name.to_owned(), text);
        say("template", template_convention(&setup).into());
        say("k", setup.shots.to_string());
        say("order", order_convention(&setup));
        say("shots", shots::convention(&setup));
        say("source", source_convention(&setup));
        let (temperature, most) = (setup.temperature, setup.max_tokens);
        let answer = match setup.mode {
            Mode::Score => score_convention(&setup),
            Mode::Generate => {
                say("parser", "the paper's; `strict` beside it".into());
                format!("generated, temperature {temperature}, at most {most} tokens")
            }
            Mode::Cot => {
                let judge = match setup.wording {
                    Wording::Own => "our wording, temperature 0",
                    Wording::Released => {
                        "the released code's wording, temperature 0.7 and parser (it sets no limit to the thought)"
                    }
                };
                format!(
                    "thinking out loud in at most {most} tokens, read by the judge model as A, B or None: {judge}"
                )
            }
        };
        say("answer", answer);
        match setup.mode {
            Mode::Score => say("ties", "one half".into()),
            Mode::Generate | Mode::Cot => say("unparsed", UNPARSED.into()),
        };
        conventions
    }
}

/// The wording is part of a question only where it was not ours, and where the other would ask otherwise.
pub(super) fn name_wording(asked: &mut InForce, matters: bool) {
    if !matters || asked.get(WORDING_PARAM).is_none_or(|w| w == "own") {
        asked.remove(WORDING_PARAM);
    }
}

const UNPARSED: &str = "left out of the score (the paper's adjusted accuracy); wrong in `accuracy`";

pub(super) fn source_convention(setup: &HtestSettings) -> String {
    match setup.source {
        ItemsSource::Fresh => format!("fresh items of seed {}", setup.seed),
        ItemsSource::Published => format!("released items of seed {}", upstream::PUBLISHED_SEED),
    }
}

/// Byte for byte only where it is.
fn template_convention(setup: &HtestSettings) -> &'static str {
    match (setup.mode, setup.tail) {
        (Mode::Cot, _) if setup.wording == Wording::Released => {
            "the authors' released code (github.com/brucewlee/h-test, 4787987), byte for byte"
        }
        (Mode::Cot, _) => {
            "Lee & Lim 2024, Appendix G, up to `Label: `; the tail that asks for thinking is ours"
        }
        (Mode::Generate, _) => "Lee & Lim 2024, Appendix G, byte for byte",
        (Mode::Score, Tail::Published) => {
            "Lee & Lim 2024, Appendix G, byte for byte; the label is scored after its last line"
        }
        (Mode::Score, Tail::Label) => {
            "Lee & Lim 2024, Appendix G, up to `Label:`; its last lines (the options and the \
             instruction) are left out, and the label is scored where a shot has it"
        }
    }
}

fn order_convention(setup: &HtestSettings) -> String {
    match setup.order {
        Order::Random if setup.shots % 2 == 1 => format!(
            "one more A or B (by turns of the draws), mixed by seed {}",
            setup.seed
        ),
        Order::Random => format!("as many A as B, mixed by seed {}", setup.seed),
        Order::Alternating => "A, B, A, B, as published".into(),
    }
}

fn score_convention(setup: &HtestSettings) -> String {
    let place = match setup.tail {
        Tail::Label => "after `Label:`, where every shot has it",
        Tail::Published => "after the published last line",
    };
    format!(
        "the more probable of {:?}, sum of token log-probabilities, {place}",
        continuations(setup)
    )
}

pub(super) fn failed(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::Internal, message)
}

/// What a provider itself says about an answer that is none.
pub(super) fn withheld(answer: &Generated) -> Option<UnscoredReason> {
    match answer.finish {
        Finish::Refusal => Some(UnscoredReason::Refused),
        Finish::ContentFilter => Some(UnscoredReason::Filtered),
        _ => None,
    }
}

pub(super) fn unread(thought: &Generated) -> UnscoredReason {
    withheld(thought).unwrap_or(match thought.finish {
        Finish::Length => UnscoredReason::Truncated,
        _ => UnscoredReason::Unparsed,
    })
}

pub(super) fn truth(right: bool) -> f64 {
    if right { 1.0 } else { 0.0 }
}

fn judge_scores(correct: usize, scored: &Scored) -> Judgement {
    let [a, b] = scored.continuations.as_slice() else {
        return failed("expected the scores of two labels");
    };
    let (a, b) = (a.sum(), b.sum());
    if !(a.is_finite() && b.is_finite()) {
        let message = "a label's log-probability is not a number";
        return Judgement::failed(ErrorKind::NotFinite, message);
    }
    let (said, said_a, score) = match a.total_cmp(&b) {
        std::cmp::Ordering::Greater => ("A", 1.0, truth(correct == 0)),
        std::cmp::Ordering::Less => ("B", 0.0, truth(correct == 1)),
        std::cmp::Ordering::Equal => ("tie", 0.5, 0.5),
    };
    let mut judgement = Judgement::scored(score).read_as(said);
    judgement.notes = json!({ "logprob": { "A": a, "B": b } });
    judgement.measured("said_a", said_a)
}

/// A judgement from a label that may not have been read. `accuracy` counts an unread answer as wrong.
fn judge_label(correct: usize, said: Option<Label>, unread: UnscoredReason) -> Judgement {
    match said {
        Some(label) => {
            let score = truth(label.index() == correct);
            Judgement::scored(score)
                .read_as(label.letter())
                .measured("accuracy", score)
                .measured("said_a", truth(label == Label::A))
        }
        None => Judgement::unscored(unread).measured("accuracy", 0.0),
    }
}

fn judge_words(correct: usize, answer: &Generated) -> Judgement {
    if let Some(reason) = withheld(answer) {
        return judge_label(correct, None, reason).measured("strict_accuracy", 0.0);
    }
    let paper = parse::as_published(&answer.text);
    let strict = parse::strictly(&answer.text);
    let strict_score = strict.map(|label| truth(label.index() == correct));
    let mut judgement = judge_label(correct, paper, UnscoredReason::Unparsed)
        .measured("strict_accuracy", strict_score.unwrap_or(0.0))
        .measured("parsers_agree", truth(paper == strict));
    if let Some(score) = strict_score {
        judgement = judgement.measured("strict", score);
    }
    judgement
}

fn judge_thought(
    setup: &HtestSettings,
    correct: usize,
    thought: &Generated,
    reading: &Generated,
) -> Judgement {
    // What a second model says about it: A, B or (anything else) neither.
    let said = match setup.wording {
        Wording::Own => parse::strictly(&reading.text),
        Wording::Released => parse::as_published(&reading.text),
    };
    let said = said.filter(|_| withheld(thought).is_none());
    judge_label(correct, said, unread(thought))
}

#[cfg(test)]
#[path = "ab_task_tests.rs"]
mod tests;

//! What the A/B tasks share: one implementation of [`Task`] over a rule.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, CardFile, Citation, DataSource, ErrorKind, FollowUp, ForPeople, Generated, InForce, Item,
    Items, Judgement, Measure, Needs, Prompt, PromptForm, Reference, Reply, Request, Response,
    SHOT_SET, Sample, Sampling, Score, Scored, Scoring, Start, Target, Task, TaskCard, TaskError,
    TaskSettings, Ties, UnscoredReason,
};
use serde_json::json;

use super::dataset::{Example, Label, Rule};
use super::misled::by_reasoning;
use super::setup::{HtestSettings, ItemsSource, Mode, Order, Tail, WORDING_PARAM, Wording};
use super::shots::{self, Draw, Drawn, pair_number};
use super::{parse, prompt, setup};

/// The card of a task of the family, as `cards.json` says.
pub fn card(id: &'static str) -> TaskCard {
    FILE.card(id)
}

pub(super) static FILE: LazyLock<CardFile> =
    LazyLock::new(|| CardFile::read(include_str!("cards.json")));

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
                let prompt = Prompt::single(setup.form, prefix);
                Request::Score(Score::new(prompt, continuations(setup), Start::Model))
            }
        })
    }
}

pub(super) fn written(setup: &HtestSettings, text: String) -> Request {
    let sampling = Sampling::greedy(setup.max_tokens).at(setup.temperature);
    Request::words(setup.form, text, sampling)
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
    let sampling = match setup.wording {
        Wording::Own => Sampling::greedy(5),
        Wording::Released => Sampling::greedy(5).at(RELEASED_JUDGE_TEMPERATURE),
    };
    let asked = words(question, options, &thought.text);
    vec![Ask::judge(Request::words(setup.form, asked, sampling))]
}

/// The labels as they follow the prefix: a chat model answers with the bare letter; in plain text the
/// letter follows with what stands before it there.
fn continuations(setup: &HtestSettings) -> Vec<String> {
    let before = match (setup.form, setup.tail) {
        (PromptForm::Chat, _) => "",
        (PromptForm::Plain, Tail::Label) => " ",
        (PromptForm::Plain, Tail::Published) => "\n",
    };
    let said = [Label::A, Label::B].map(|label| format!("{before}{}", label.letter()));
    said.to_vec()
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
    let labels = vec!["A".into(), "B".into()];
    let target = Target::one_of(example.text, labels, example.label.index());
    let mut item = Item::new(id, target, vec![ask]).in_stratum_of("label", example.label.letter());
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
        let single = |s: HtestSettings| s.form == PromptForm::Chat || s.tail == Tail::Label;
        Needs {
            score_single_token: setup.is_ok_and(single),
            ..Needs::answers(mode == Mode::Score).judged(mode == Mode::Cot)
        }
    }

    /// People were shown the authors' items, not fresh ones.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        let setup = HtestSettings::read(&self.card, settings);
        let published = setup.is_ok_and(|s| s.source == ItemsSource::Published);
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

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let setup = HtestSettings::read(&self.card, settings)?;
        let words = |question: &str, _: &[String], thought: &str| match setup.wording {
            Wording::Own => prompt::reading(question, thought),
            Wording::Released => prompt::released_reading(thought),
        };
        Ok(read_by_judge(&setup, item, answers, words))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Some((_, correct)) = item.target.choice() else {
            return Judgement::fault("an H-TEST item has a choice as its target");
        };
        let setup = match HtestSettings::read(&self.card, settings) {
            Ok(setup) => setup,
            Err(error) => return Judgement::fault(error.to_string()),
        };
        let answers: Vec<&Response> = answers.iter().map(|r| &r.answer).collect();
        match (setup.mode, answers.as_slice()) {
            (Mode::Score, [Response::Scored(scored)]) => judge_scores(correct, scored),
            (Mode::Generate, [Response::Generated(answer)]) => judge_words(correct, answer),
            (Mode::Cot, [Response::Generated(thought), Response::Generated(reading)]) => {
                judge_thought(&setup, correct, thought, reading)
            }
            (mode, found) => Judgement::fault(format!(
                "expected the answers of {mode:?} mode, found {} answers of another kind",
                found.len()
            )),
        }
    }

    /// As in the paper's study: people find the rule from the same labelled examples.
    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let mut shown = ForPeople::of(item)?.in_order();
        shown.examples = prompt::shown_examples(&item.asks.first()?.request.text());
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
        let order = match setup.order {
            Order::Random if setup.shots % 2 == 1 => "odd",
            Order::Random => "even",
            Order::Alternating => "alternating",
        };
        let asking = match (setup.mode, setup.wording, setup.tail) {
            (Mode::Score, _, Tail::Label) => "score label",
            (Mode::Score, _, Tail::Published) => "score published",
            (Mode::Generate, ..) => "generate",
            (Mode::Cot, Wording::Own, _) => "cot own",
            (Mode::Cot, Wording::Released, _) => "cot released",
        };
        let computed = [
            ("asking", asking.to_owned()),
            ("continuations", format!("{:?}", continuations(&setup))),
            ("k", setup.shots.to_string()),
            ("max_tokens", setup.max_tokens.to_string()),
            ("order", order.to_owned()),
            ("shots", shots::convention(&setup)),
            ("temperature", setup.temperature.to_string()),
        ];
        // The card may be of a task that stands in no file.
        let mut said = FILE.group("labelled", &self.card, settings, &computed);
        said.extend(FILE.group("items", &self.card, settings, &computed));
        said
    }
}

/// The wording is part of a question only where it was not ours, and where the other would ask otherwise.
pub(super) fn name_wording(asked: &mut InForce, matters: bool) {
    if !matters || asked.get(WORDING_PARAM).is_none_or(|w| w == "own") {
        asked.remove(WORDING_PARAM);
    }
}

fn judge_scores(correct: usize, scored: &Scored) -> Judgement {
    let [a, b] = scored.continuations.as_slice() else {
        return Judgement::fault("expected the scores of two labels");
    };
    let (a, b) = (a.sum(), b.sum());
    if !(a.is_finite() && b.is_finite()) {
        let message = "a label's log-probability is not a number";
        return Judgement::failed(ErrorKind::NotFinite, message);
    }
    let (said, said_a, score) = match a.total_cmp(&b) {
        std::cmp::Ordering::Greater => ("A", 1.0, f64::from(correct == 0)),
        std::cmp::Ordering::Less => ("B", 0.0, f64::from(correct == 1)),
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
            let score = f64::from(label.index() == correct);
            Judgement::scored(score)
                .read_as(label.letter())
                .measured("accuracy", score)
                .measured("said_a", f64::from(label == Label::A))
        }
        None => Judgement::unscored(unread).measured("accuracy", 0.0),
    }
}

fn judge_words(correct: usize, answer: &Generated) -> Judgement {
    if let Some(reason) = answer.withheld() {
        return judge_label(correct, None, reason).measured("strict_accuracy", 0.0);
    }
    let paper = parse::as_published(&answer.text);
    let strict = parse::strictly(&answer.text);
    let strict_score = strict.map(|label| f64::from(label.index() == correct));
    let mut judgement = judge_label(correct, paper, UnscoredReason::Unparsed)
        .measured("strict_accuracy", strict_score.unwrap_or(0.0))
        .measured("parsers_agree", f64::from(paper == strict));
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
    let said = said.filter(|_| thought.withheld().is_none());
    judge_label(correct, said, thought.unread())
}

#[cfg(test)]
#[path = "ab_task_tests.rs"]
mod tests;

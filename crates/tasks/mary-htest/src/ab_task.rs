//! What the A/B tasks share: one implementation of [`Task`] over a rule.

use std::collections::BTreeMap;

use mary_contract::{
    Ask, Citation, DataSource, ErrorKind, Finish, ForPeople, Generate, Generated, InForce, Item,
    Items, Judgement, Needs, Param, Prompt, PromptForm, Reference, Reply, Request, Response,
    Sampling, Score, Scored, Scoring, Start, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
    UnscoredReason, text,
};
use serde_json::json;

use super::dataset::{Example, Label, Rule, mixed};
use super::setup::{AB_PARAMS, HtestSettings, ItemsSource, Mode, Order, Tail};
use super::{parse, prompt, upstream};

pub const CITATION: Citation = Citation::new(
    "Bruce W. Lee and JaeHyuk Lim. 2024. Language Models Don't Learn the Physical Manifestation \
           of Language. ACL 2024.",
    "arXiv:2402.11349",
);

/// The card of one of the paper's A/B tasks. The version is the task's own: raising it leaves the
/// stored answers of the others valid.
pub const fn card(
    id: &'static str,
    version: u32,
    title: &'static str,
    about: &'static str,
) -> TaskCard {
    TaskCard {
        id: text(id),
        family: text("htest"),
        version,
        title: text(title),
        about: text(about),
        chance: Some(0.5),
        human: Some(Reference::new(
            1.0,
            "Lee & Lim 2024, Table 7: four people named the rule from the shots, 10 of 10 each",
        )),
        params: Param::list(&AB_PARAMS),
        dataset: Some(text(super::upstream::DATASET)),
        citation: CITATION,
        starter: Some(20),
        content: None,
    }
}

/// The card of an A/B task that the paper does not have: nothing was released, no people were asked.
pub const fn own_card(
    id: &'static str,
    version: u32,
    title: &'static str,
    about: &'static str,
    citation: Citation,
) -> TaskCard {
    TaskCard {
        id: text(id),
        family: text("htest"),
        version,
        title: text(title),
        about: text(about),
        chance: Some(0.5),
        human: None,
        params: Param::list(&AB_PARAMS),
        dataset: None,
        citation,
        starter: None,
        content: None,
    }
}

/// An A/B task: everything that is its own. A task is one file with one of these and one line in
/// `tasks/mod.rs`.
#[derive(Debug)]
pub struct AbTask {
    pub card: &'static TaskCard,
    pub rule: Rule,
    /// Its name in the released files; `None` for a task that the paper does not have.
    pub upstream: Option<&'static str>,
    /// The surface baselines of an audit that *are* its rule, or see it in full: what they reach is
    /// no shortcut. Runs of characters (`character_ngrams`) see every rule that stands in the letters.
    pub rule_baselines: &'static [&'static str],
}

impl AbTask {
    fn examples(
        &self,
        setup: &HtestSettings,
        data: &dyn DataSource,
    ) -> Result<(Vec<Example>, Vec<Example>), TaskError> {
        let (mut shots, test) = match setup.source {
            ItemsSource::Fresh => {
                let sets = self.rule.sets(setup.seed, setup.n)?;
                (sets.shots, sets.test)
            }
            ItemsSource::Published => {
                let name = self.upstream.ok_or_else(|| {
                    TaskError::Setting(format!(
                        "{}: expected source=fresh, found source=published; the paper has no such \
                         task, so that nothing was released\nhint: leave `--set source=` out",
                        self.card.id
                    ))
                })?;
                (
                    upstream::shot_pool(data, name)?,
                    upstream::test_items(data, name)?,
                )
            }
        };
        shots.truncate(setup.shots);
        if setup.order == Order::Random {
            mixed(&mut shots, setup.seed, self.rule.name);
        }
        Ok((shots, test))
    }

    fn ask(setup: &HtestSettings, shots: &[Example], text: &str) -> Ask {
        Ask::subject(match setup.mode {
            Mode::Generate => written(setup, prompt::published(shots, text)),
            Mode::Cot => written(setup, prompt::chain_of_thought(shots, text)),
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

pub(super) fn written(setup: &HtestSettings, text: String) -> Request {
    Request::Generate(Generate {
        prompt: Prompt::single(setup.form, text),
        sampling: Sampling {
            temperature: setup.temperature,
            ..Sampling::greedy(setup.max_tokens)
        },
    })
}

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
    vec![Ask::judge(Request::Generate(Generate {
        prompt: Prompt::single(setup.form, words(question, options, &thought.text)),
        sampling: Sampling::greedy(5),
    }))]
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

fn item(setup: &HtestSettings, shots: &[Example], index: usize, example: Example) -> Item {
    let id = match setup.source {
        ItemsSource::Fresh => format!("{}-{index:04}", setup.seed),
        ItemsSource::Published => format!("published-{:03}", index + 1),
    };
    let ask = AbTask::ask(setup, shots, &example.text);
    let target = Target::Choice {
        question: example.text,
        options: vec!["A".into(), "B".into()],
        correct: example.label.index(),
    };
    let mut item = Item::new(id, target, vec![ask])
        .in_stratum(example.label.letter())
        .tagged("label", example.label.letter());
    item.cluster = example.pair;
    item
}

impl Task for AbTask {
    fn card(&self) -> &TaskCard {
        self.card
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        // Settings that make no sense are refused by `items`; until then, the default's needs.
        let setup = HtestSettings::read(self.card, settings);
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
        let published = HtestSettings::read(self.card, settings)
            .is_ok_and(|s| s.source == ItemsSource::Published);
        self.card.human.clone().filter(|_| published)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = HtestSettings::read(self.card, settings)?;
        let (shots, test) = self.examples(&setup, data)?;
        let items = test
            .into_iter()
            .enumerate()
            .map(move |(index, example)| Ok(item(&setup, &shots, index, example)));
        Ok(Box::new(items))
    }

    fn follow_up(
        &self,
        settings: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let setup = HtestSettings::read(self.card, settings)?;
        Ok(read_by_judge(
            &setup,
            item,
            answers,
            |question, _, thought| prompt::reading(question, thought),
        ))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let correct = match &item.target {
            Target::Choice { correct, .. } => *correct,
            _ => return failed("an H-TEST item has a choice as its target"),
        };
        let setup = match HtestSettings::read(self.card, settings) {
            Ok(setup) => setup,
            Err(error) => return failed(&error.to_string()),
        };
        let answers: Vec<&Response> = answers.iter().map(|r| &r.answer).collect();
        match (setup.mode, answers.as_slice()) {
            (Mode::Score, [Response::Scored(scored)]) => judge_scores(correct, scored),
            (Mode::Generate, [Response::Generated(answer)]) => judge_words(correct, answer),
            (Mode::Cot, [Response::Generated(thought), Response::Generated(reading)]) => {
                judge_thought(correct, thought, reading)
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
        }
        asked
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match HtestSettings::read(self.card, settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Half),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = HtestSettings::read(self.card, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = BTreeMap::new();
        let mut say = |name: &str, text: String| conventions.insert(name.to_owned(), text);
        say("template", template_convention(&setup).into());
        say("k", setup.shots.to_string());
        say("order", order_convention(&setup));
        say("source", source_convention(&setup));
        match setup.mode {
            Mode::Score => {
                say("answer", score_convention(&setup));
                say("ties", "one half".into());
            }
            Mode::Generate => {
                say(
                    "answer",
                    format!(
                        "generated, temperature {}, at most {} tokens",
                        setup.temperature, setup.max_tokens
                    ),
                );
                say("parser", "the paper's; `strict` beside it".into());
                say("unparsed", UNPARSED.into());
            }
            Mode::Cot => {
                say(
                    "answer",
                    "thinking out loud, read by the judge model as A, B or None".into(),
                );
                say("unparsed", UNPARSED.into());
            }
        }
        conventions
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
        return Judgement::failed(
            ErrorKind::NotFinite,
            "a label's log-probability is not a number",
        );
    }
    let (said, score) = match a.total_cmp(&b) {
        std::cmp::Ordering::Greater => ("A", truth(correct == 0)),
        std::cmp::Ordering::Less => ("B", truth(correct == 1)),
        std::cmp::Ordering::Equal => ("tie", 0.5),
    };
    let mut judgement = Judgement::scored(score).read_as(said);
    judgement.notes = json!({ "logprob": { "A": a, "B": b } });
    judgement.measured(
        "said_a",
        if said == "tie" {
            0.5
        } else {
            truth(said == "A")
        },
    )
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

fn judge_thought(correct: usize, thought: &Generated, reading: &Generated) -> Judgement {
    // What a second model says about it: A, B or (anything else) neither.
    let said = parse::strictly(&reading.text).filter(|_| withheld(thought).is_none());
    judge_label(correct, said, unread(thought))
}

#[cfg(test)]
#[path = "ab_task_tests.rs"]
mod tests;

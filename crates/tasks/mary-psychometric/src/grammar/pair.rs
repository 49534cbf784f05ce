//! A minimal pair as a question to a model, and the verdict on its answer.
//!
//! Both sentences are continuations of one empty prefix, whole, after a start token: their common
//! beginning (and that of all other pairs in flight) is computed once by the local backend's tree.

use std::cmp::Ordering;

use mary_contract::{
    Ask, ContinuationScore, FLOOR, Item, Judgement, OVER_FLOOR, Outcome, Prompt, Reply, Request,
    Response, START_MEASURE, Score, Scoring, Start, Target, TaskCard, TaskError, TaskSettings,
    Ties,
};
use serde_json::json;

use super::Phenomenon;
use crate::choice::not_finite;

/// The tag that says which paradigm a pair is of: paradigms are what was sampled.
pub const FAMILY: &str = "set";

pub const TO_PEOPLE: &str = "Which of the two sentences is acceptable English?";

pub fn default_start(
    card: &TaskCard,
    settings: &TaskSettings,
) -> Option<(&'static str, &'static str)> {
    let lm_eval = Convention::read(card, settings).is_ok_and(|c| c == Convention::LmEval);
    let chosen = settings.params.contains_key("start");
    (!chosen && !lm_eval).then_some(("start", "auto"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner {
    pub convention: Convention,
    /// What stands before the first word; the first decides, verdicts after the others stand beside it.
    pub starts: Vec<Start>,
}

impl Manner {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        let start = settings.param(card, "start");
        let starts = match start {
            "compare" => Start::COMPARED.to_vec(),
            one => vec![crate::settings::start(card, one)?],
        };
        Ok(Self {
            convention: Convention::read(card, settings)?,
            starts,
        })
    }

    pub(super) fn start_words(&self) -> String {
        match self.starts.as_slice() {
            // As earlier programs said it, so that their runs are found again.
            [Start::Always] => "always a start token, so that the first word counts".into(),
            [one] => one.words(),
            _ => "auto decides; `start_harness` and `start_none` are the verdicts after the \
                  harness' start token and after none, and their `_p` are paired, exact"
                .into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// The sentence as it is; a tie is one half.
    Mary,
    /// A space before the sentence (the harness' target delimiter); a tie is right, because the good
    /// sentence has index 0 and arg-max takes the first.
    LmEval,
}

impl Convention {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        let words = [
            ("mary", Self::Mary),
            ("lm-eval", Self::LmEval),
            ("lm_eval", Self::LmEval),
        ];
        settings.choose(card, "convention", &words)
    }

    fn sentence(self, text: &str) -> String {
        match self {
            Self::Mary => text.to_owned(),
            Self::LmEval => format!(" {text}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub id: String,
    pub set: String,
    pub phenomenon: Phenomenon,
    pub field: &'static str,
    pub good: String,
    pub bad: String,
}

pub fn item(manner: &Manner, pair: Pair) -> Item {
    let sentences = [&pair.good, &pair.bad].map(|s| manner.convention.sentence(s));
    let ask = |start: &Start| {
        Ask::subject(Request::Score(Score::new(
            Prompt::plain(""),
            sentences.to_vec(),
            start.clone(),
        )))
    };
    let asks = manner.starts.iter().map(ask).collect();
    let target = Target::Pair {
        good: pair.good,
        bad: pair.bad,
    };
    Item::new(pair.id, target, asks)
        .tagged("phenomenon", pair.phenomenon.name())
        .tagged("field", pair.field)
        .tagged("set", pair.set.clone())
        .in_stratum(pair.set)
}

fn preferred(good: f64, bad: f64, tie: f64) -> f64 {
    match good.total_cmp(&bad) {
        Ordering::Greater => 1.0,
        Ordering::Less => 0.0,
        Ordering::Equal => tie,
    }
}

/// The verdict. The score is by the sum of log-probabilities over the sentence; `per_token` compares
/// means per token; `peer_ties` counts a tie as right; `tie_rate` averages to the share of ties;
/// `good_logprob` is the mean log-probability per token of the good sentence (minus the loss); `floor`
/// is what counting tokens would score, `over_floor` the score less that. `start_…` are verdicts after other
/// start tokens.
pub fn judge(manner: &Manner, answers: &[Reply]) -> Judgement {
    let expected = manner.starts.len();
    let (Some((first, others)), true) = (answers.split_first(), answers.len() == expected) else {
        let found = answers.len();
        return Judgement::fault(format!(
            "expected {expected} answers with scores, found {found}"
        ));
    };
    let mut judgement = judge_one(manner.convention, first);
    for (start, other) in manner.starts.iter().skip(1).zip(others) {
        // A failure after one token is no verdict after another.
        match judge_one(manner.convention, other).outcome {
            Outcome::Scored(score) => {
                let name = format!("{START_MEASURE}{}", start.name());
                judgement = judgement.measured(&name, score);
            }
            Outcome::Unscored(_) => {}
            fault @ Outcome::Failed(_) => judgement.outcome = fault,
        }
    }
    judgement
}

fn judge_one(convention: Convention, answer: &Reply) -> Judgement {
    let Response::Scored(scored) = &answer.answer else {
        return Judgement::fault("expected an answer with scores");
    };
    let [good, bad] = scored.continuations.as_slice() else {
        return Judgement::fault("expected the scores of two sentences");
    };
    let (Some(good_mean), Some(bad_mean)) = (good.mean(), bad.mean()) else {
        return Judgement::fault("a sentence has no scored token");
    };
    let sums = [good, bad].map(ContinuationScore::sum);
    if !sums.iter().all(|s| s.is_finite()) {
        return not_finite("a sentence's log-probability is not a number");
    }
    let [good_sum, bad_sum] = sums;
    let tie = good_sum == bad_sum;
    let peer = preferred(good_sum, bad_sum, 1.0);
    let score = match convention {
        Convention::Mary => preferred(good_sum, bad_sum, 0.5),
        Convention::LmEval => peer,
    };
    // A model that knows nothing finds the sentence with fewer tokens the more probable.
    let floor = match bad.logprobs.len().cmp(&good.logprobs.len()) {
        Ordering::Greater => 1.0,
        Ordering::Less => 0.0,
        Ordering::Equal => 0.5,
    };
    let said = match good_sum.total_cmp(&bad_sum) {
        Ordering::Greater => "good",
        Ordering::Less => "bad",
        Ordering::Equal => "tie",
    };
    let mut judgement = Judgement::scored(score)
        .read_as(said)
        .measured("per_token", preferred(good_mean, bad_mean, 0.5))
        .measured("peer_ties", peer)
        .measured("tie_rate", if tie { 1.0 } else { 0.0 })
        .measured("good_logprob", good_mean)
        .measured(FLOOR, floor)
        .measured(OVER_FLOOR, score - floor);
    judgement.notes = json!({
        "logprob": { "good": good_sum, "bad": bad_sum },
        "tokens": { "good": good.logprobs.len(), "bad": bad.logprobs.len() },
    });
    judgement
}

pub fn scoring(convention: Convention) -> Scoring {
    Scoring::share(match convention {
        Convention::Mary => Ties::Half,
        Convention::LmEval => Ties::Right,
    })
}

#[cfg(test)]
mod tests {
    use mary_contract::{Scored, Task};

    use super::*;

    fn harness(convention: Convention) -> Manner {
        Manner {
            convention,
            starts: vec![Start::Always],
        }
    }

    fn answered(good: &[f32], bad: &[f32]) -> Vec<Reply> {
        let continuation = |logprobs: &[f32]| ContinuationScore {
            tokens: logprobs.iter().map(|_| "x".to_owned()).collect(),
            logprobs: logprobs.to_vec(),
            boundary_merged: false,
            first_unscored: false,
            windowed: false,
            details: None,
        };
        vec![Reply::bare(Response::Scored(Scored {
            continuations: vec![continuation(good), continuation(bad)],
        }))]
    }

    #[test]
    fn sum_and_mean_may_disagree_and_both_are_said() {
        let verdict = judge(
            &harness(Convention::Mary),
            &answered(&[-2.0, -2.0, -2.0], &[-2.5, -2.5]),
        );
        assert_eq!(verdict.outcome, mary_contract::Outcome::Scored(0.0));
        assert_eq!(verdict.measures["per_token"], 1.0);
        assert_eq!(verdict.measures["good_logprob"], -2.0);
    }

    #[test]
    fn a_tie_is_one_half_and_right_only_by_the_peers_name() {
        let tied = answered(&[-1.0, -2.0], &[-2.0, -1.0]);
        let ours = judge(&harness(Convention::Mary), &tied);
        assert_eq!(ours.outcome, mary_contract::Outcome::Scored(0.5));
        assert_eq!(
            (ours.measures["peer_ties"], ours.measures["tie_rate"]),
            (1.0, 1.0)
        );
        let theirs = judge(&harness(Convention::LmEval), &tied);
        assert_eq!(theirs.outcome, mary_contract::Outcome::Scored(1.0));
    }

    #[test]
    fn a_nan_is_an_error_never_a_score() {
        let verdict = judge(&harness(Convention::Mary), &answered(&[f32::NAN], &[-1.0]));
        assert!(matches!(
            verdict.outcome,
            mary_contract::Outcome::Failed(ref f) if f.kind == mary_contract::ErrorKind::NotFinite
        ));
    }

    #[test]
    fn the_peers_convention_puts_a_space_before_the_sentence() {
        let pair = Pair {
            id: "1".into(),
            set: "s".into(),
            phenomenon: Phenomenon::Binding,
            field: "syntax",
            good: "A b.".into(),
            bad: "A c.".into(),
        };
        let item = item(&harness(Convention::LmEval), pair);
        let Request::Score(score) = &item.asks[0].request else {
            panic!()
        };
        assert_eq!(score.continuations, [" A b.", " A c."]);
        assert_eq!(score.start, Start::Always);
    }

    #[test]
    fn the_default_is_no_chat_role_and_earlier_runs_keep_the_harness_token() {
        let card = Task::card(&crate::grammar::BLIMP);
        let starts = |settings: &TaskSettings| Manner::read(card, settings).unwrap().starts;
        // A run of an earlier program says nothing.
        let mut settings = TaskSettings::default();
        assert_eq!(starts(&settings), [Start::Always]);
        let said = mary_contract::Task::conventions(&crate::grammar::BLIMP, &settings);
        assert_eq!(
            said["start"],
            "always a start token, so that the first word counts"
        );
        let (name, value) = default_start(card, &settings).unwrap();
        settings.params.insert(name.to_owned(), value.to_owned());
        assert_eq!(starts(&settings), [Start::Text]);
        assert_eq!(default_start(card, &settings), None);
        // The harness' own convention stays the harness', start token and all.
        let lm_eval = [("convention".to_owned(), "lm-eval".to_owned())];
        settings.params = lm_eval.into();
        assert_eq!(default_start(card, &settings), None);
        assert_eq!(starts(&settings), [Start::Always]);
        settings.params.insert("start".into(), "allways".into());
        let error = Manner::read(card, &settings).unwrap_err().to_string();
        assert!(error.contains("auto, harness"), "{error}");
    }

    #[test]
    fn verdicts_after_other_start_tokens_stand_beside_the_first() {
        let mut answers = answered(&[-1.0], &[-2.0]);
        answers.extend(answered(&[-3.0], &[-2.0]));
        answers.extend(answered(&[-1.0], &[-1.0]));
        let manner = Manner {
            convention: Convention::Mary,
            starts: Start::COMPARED.to_vec(),
        };
        let verdict = judge(&manner, &answers);
        assert_eq!(verdict.outcome, Outcome::Scored(1.0));
        assert_eq!(verdict.measures["start_harness"], 0.0);
        assert_eq!(verdict.measures["start_none"], 0.5);
        assert!(matches!(
            judge(&manner, &answers[..2]).outcome,
            Outcome::Failed(_)
        ));
    }
}

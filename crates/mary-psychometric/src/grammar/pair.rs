//! A minimal pair as a question to a model, and the verdict on its answer.
//!
//! Both sentences are continuations of one empty prefix, whole, after a start token: their common
//! beginning (and that of all other pairs in flight) is computed once by the local backend's tree.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use mary_contract::{
    Ask, ContinuationScore, ErrorKind, FLOOR, Item, Judgement, Needs, OVER_FLOOR, Param, Prompt,
    Reply, Request, Response, Score, Scoring, Start, Target, TaskCard, TaskError, TaskSettings,
    Ties,
};
use serde_json::json;

use super::Phenomenon;

/// The tag that says which paradigm a pair is of: paradigms are what was sampled.
pub const FAMILY: &str = "set";

/// The setting that all tasks of minimal pairs share.
pub const CONVENTION: Param = Param::new(
    "convention",
    "mary",
    "mary, lm-eval",
    "mary: the sentence as it is, a tie is one half. lm-eval: as lm-evaluation-harness does it, \
            a space before the sentence and a tie counted as right.",
);

/// How sentences are scored and ties counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// The sentence as it is; a tie is one half.
    Mary,
    /// A space before the sentence (the harness' target delimiter); a tie is right, because the good
    /// sentence has index 0 and arg-max takes the first.
    LmEval,
}

impl Convention {
    /// Reads the setting.
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        match settings.param(card, &CONVENTION.name) {
            "mary" => Ok(Self::Mary),
            "lm-eval" | "lm_eval" => Ok(Self::LmEval),
            other => Err(TaskError::Setting(format!(
                "{}: `convention={other}` is not one of: {}",
                card.id, CONVENTION.values
            ))),
        }
    }

    fn sentence(self, text: &str) -> String {
        match self {
            Self::Mary => text.to_owned(),
            Self::LmEval => format!(" {text}"),
        }
    }
}

/// Needs: log-probabilities of whole sentences.
pub const NEEDS: Needs = Needs {
    generate: false,
    score: true,
    score_single_token: false,
    observe: false,
    images: false,
    judge: false,
};

/// What an item is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Unique within the task.
    pub id: String,
    /// The set or paradigm.
    pub set: String,
    /// The phenomenon.
    pub phenomenon: Phenomenon,
    /// The field.
    pub field: &'static str,
    /// The acceptable sentence.
    pub good: String,
    /// The other.
    pub bad: String,
}

/// The item of a pair.
pub fn item(convention: Convention, pair: Pair) -> Item {
    let sentences = [&pair.good, &pair.bad].map(|s| convention.sentence(s));
    let ask = Ask::subject(Request::Score(Score {
        prefix: Prompt::plain(""),
        continuations: sentences.to_vec(),
        start: Start::Always,
        details: Default::default(),
    }));
    let target = Target::Pair {
        good: pair.good,
        bad: pair.bad,
    };
    Item::new(pair.id, target, vec![ask])
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
/// is what counting tokens would score, `over_floor` the score less that.
pub fn judge(convention: Convention, answers: &[Reply]) -> Judgement {
    let [
        Reply {
            answer: Response::Scored(scored),
            ..
        },
    ] = answers
    else {
        return Judgement::failed(
            ErrorKind::Internal,
            format!(
                "expected one answer with scores, found {} answers",
                answers.len()
            ),
        );
    };
    let [good, bad] = scored.continuations.as_slice() else {
        return Judgement::failed(ErrorKind::Internal, "expected the scores of two sentences");
    };
    let (Some(good_mean), Some(bad_mean)) = (good.mean(), bad.mean()) else {
        return Judgement::failed(ErrorKind::Internal, "a sentence has no scored token");
    };
    let sums = [good, bad].map(ContinuationScore::sum);
    if !sums.iter().all(|s| s.is_finite()) {
        return Judgement::failed(
            ErrorKind::NotFinite,
            "a sentence's log-probability is not a number",
        );
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

/// What a score of pairs is.
pub fn scoring(convention: Convention) -> Scoring {
    Scoring::share(match convention {
        Convention::Mary => Ties::Half,
        Convention::LmEval => Ties::Right,
    })
}

/// The conventions a score of pairs was made under.
pub fn conventions(convention: Convention) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let mut say = |name: &str, text: &str| said.insert(name.to_owned(), text.to_owned());
    match convention {
        Convention::Mary => {
            say("template", "the sentence alone");
            say(
                "ties",
                "one half; `peer_ties` counts them as right, `tie_rate` is their share",
            );
        }
        Convention::LmEval => {
            say(
                "template",
                "a space and the sentence (lm-evaluation-harness)",
            );
            say(
                "ties",
                "right, as in lm-evaluation-harness; `tie_rate` is their share",
            );
        }
    }
    say(
        "start",
        "always a start token, so that the first word counts",
    );
    say(
        "score",
        "sum of token log-probabilities over the whole sentence; `per_token` compares means",
    );
    say(
        "intervals",
        "over paradigms (CR2, Satterthwaite); `families_fixed` has the one over pairs of these paradigms, \
         and so have results by phenomenon and set",
    );
    say(
        "floor",
        "the sentence with fewer tokens is taken; `over_floor` is the score less that",
    );
    said
}

#[cfg(test)]
mod tests {
    use mary_contract::Scored;

    use super::*;

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
            Convention::Mary,
            &answered(&[-2.0, -2.0, -2.0], &[-2.5, -2.5]),
        );
        assert_eq!(verdict.outcome, mary_contract::Outcome::Scored(0.0));
        assert_eq!(verdict.measures["per_token"], 1.0);
        assert_eq!(verdict.measures["good_logprob"], -2.0);
    }

    #[test]
    fn a_tie_is_one_half_and_right_only_by_the_peers_name() {
        let tied = answered(&[-1.0, -2.0], &[-2.0, -1.0]);
        let ours = judge(Convention::Mary, &tied);
        assert_eq!(ours.outcome, mary_contract::Outcome::Scored(0.5));
        assert_eq!(
            (ours.measures["peer_ties"], ours.measures["tie_rate"]),
            (1.0, 1.0)
        );
        let theirs = judge(Convention::LmEval, &tied);
        assert_eq!(theirs.outcome, mary_contract::Outcome::Scored(1.0));
    }

    #[test]
    fn a_nan_is_an_error_never_a_score() {
        let verdict = judge(Convention::Mary, &answered(&[f32::NAN], &[-1.0]));
        assert!(matches!(
            verdict.outcome,
            mary_contract::Outcome::Failed(ref f) if f.kind == ErrorKind::NotFinite
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
        let item = item(Convention::LmEval, pair);
        let Request::Score(score) = &item.asks[0].request else {
            panic!()
        };
        assert_eq!(score.continuations, [" A b.", " A c."]);
        assert_eq!(score.start, Start::Always);
    }
}

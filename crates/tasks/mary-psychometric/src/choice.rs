//! The best of several candidates by log-probability: ties shared, NaN refused, sum and mean side by
//! side.

use mary_contract::{
    Ask, ErrorKind, FLOOR, Finish, Generated, Judgement, OVER_FLOOR, Prompt, PromptForm, Request,
    Score, Scored, Start, UnscoredReason,
};
use mary_generators::best;
use serde_json::json;

/// Which of the two sums makes the verdict; the other stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Log-probability of the whole sequence (the beginning is the same for all candidates).
    Sum,
    Mean,
}

pub(crate) const SUM: &str = "sum_logprob";
pub(crate) const MEAN: &str = "mean_logprob";

pub(crate) fn judge(options: &[String], correct: usize, scored: &Scored, by: By) -> Judgement {
    if scored.continuations.len() != options.len() {
        return failed(&format!(
            "expected {} scores, one for each candidate, found {}",
            options.len(),
            scored.continuations.len()
        ));
    }
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    let (Some(by_sum), Some(by_mean)) = (best(&sums, correct), best_mean(scored, correct)) else {
        return not_finite("a candidate's log-probability is not a number");
    };
    let (said, score) = match by {
        By::Sum => by_sum,
        By::Mean => by_mean,
    };
    let mut judgement = Judgement::scored(score)
        .measured(SUM, by_sum.1)
        .measured(MEAN, by_mean.1);
    // A model that knows nothing finds the candidate with the fewest tokens the most probable. Means
    // per token have no such leaning.
    let lengths = scored.continuations.iter().map(|c| c.logprobs.len() as f64);
    let lengths: Vec<f64> = lengths.map(|n| -n).collect();
    if let (By::Sum, Some((_, floor))) = (by, best(&lengths, correct)) {
        judgement = judgement
            .measured(FLOOR, floor)
            .measured(OVER_FLOOR, score - floor);
    }
    if let Some(option) = options.get(said) {
        judgement = judgement.read_as(option.clone());
    }
    judgement.notes = json!({ "logprob": sums });
    judgement
}

/// The best candidate by its mean log-probability per token.
pub(crate) fn best_mean(scored: &Scored, correct: usize) -> Option<(usize, f64)> {
    let of = scored.continuations.iter();
    let means: Vec<f64> = of.map(|c| c.mean().unwrap_or(f64::NAN)).collect();
    best(&means, correct)
}

/// Asks how probable each of these is after a prompt.
pub(crate) fn score(prefix: Prompt, continuations: Vec<String>) -> Request {
    Request::Score(Score {
        prefix,
        continuations,
        start: Start::Model,
        details: Default::default(),
    })
}

/// The same of answers, which follow plain text after a blank and a chat without one.
pub(crate) fn score_answers(
    form: PromptForm,
    question: impl Into<String>,
    answers: impl IntoIterator<Item = impl std::fmt::Display>,
) -> Ask {
    let before = match form {
        PromptForm::Plain => " ",
        PromptForm::Chat => "",
    };
    let answers = answers.into_iter().map(|a| format!("{before}{a}"));
    Ask::subject(score(Prompt::single(form, question), answers.collect()))
}

/// Judges an answer in words by what `read` takes it for and whether that is right. One that was held back or
/// cannot be read has no score, and is wrong in `accuracy`.
pub(crate) fn judge_words(
    answer: &Generated,
    read: impl FnOnce(&str) -> Option<(String, bool)>,
) -> Judgement {
    let unread = |reason| Judgement::unscored(reason).measured("accuracy", 0.0);
    match (&answer.finish, read(&answer.text)) {
        (Finish::Refusal, _) => unread(UnscoredReason::Refused),
        (Finish::ContentFilter, _) => unread(UnscoredReason::Filtered),
        (_, None) => unread(UnscoredReason::Unparsed),
        (_, Some((said, right))) => {
            let score = f64::from(u8::from(right));
            Judgement::scored(score)
                .read_as(said)
                .measured("accuracy", score)
        }
    }
}

pub(crate) fn not_finite(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::NotFinite, message)
}

pub(crate) fn failed(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::Internal, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_shared_and_nan_is_refused() {
        assert_eq!(best(&[-1.0, -2.0], 0), Some((0, 1.0)));
        assert_eq!(best(&[-1.0, -2.0], 1), Some((0, 0.0)));
        assert_eq!(best(&[-1.0, -1.0, -3.0], 1), Some((0, 0.5)));
        assert_eq!(best(&[-1.0, f64::NAN], 0), None);
    }
}

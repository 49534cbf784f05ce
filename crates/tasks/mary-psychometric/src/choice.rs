//! The best of several candidates by log-probability: ties shared, NaN refused, sum and mean side by
//! side.

use mary_contract::{
    Ask, ErrorKind, FLOOR, Generated, Judgement, OVER_FLOOR, Outcome, Prompt, PromptForm, Request,
    Score, Scored, Start, UnscoredReason,
};

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
    let judgement = Judgement::most_probable(options, correct, scored);
    let Outcome::Scored(by_sum) = judgement.outcome else {
        return judgement;
    };
    let Some((said, by_mean)) = scored.best_mean(correct) else {
        return not_finite("a candidate's log-probability is not a number");
    };
    let judgement = judgement.measured(SUM, by_sum).measured(MEAN, by_mean);
    match (by, scored.floor(correct)) {
        (By::Sum, Some(floor)) => judgement
            .measured(FLOOR, floor)
            .measured(OVER_FLOOR, by_sum - floor),
        (By::Sum, None) => judgement,
        // Means per token do not lean to the candidate with the fewest tokens.
        (By::Mean, _) => Judgement {
            outcome: Outcome::Scored(by_mean),
            parsed: options.get(said).cloned(),
            ..judgement
        },
    }
}

/// Asks how probable each of these is after a prompt.
pub(crate) fn score(prefix: Prompt, continuations: Vec<String>) -> Request {
    Request::Score(Score::new(prefix, continuations, Start::Model))
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
    match (answer.withheld(), read(&answer.text)) {
        (Some(reason), _) => unread(reason),
        (None, None) => unread(UnscoredReason::Unparsed),
        (None, Some((said, right))) => {
            let score = f64::from(right);
            Judgement::scored(score)
                .read_as(said)
                .measured("accuracy", score)
        }
    }
}

pub(crate) fn not_finite(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::NotFinite, message)
}

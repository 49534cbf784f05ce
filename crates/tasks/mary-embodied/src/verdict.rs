//! What tasks with options share in judging: the most probable option, and the option that was read off
//! an answer in words.

use mary_contract::{ErrorKind, Generated, Judgement, Scored, best};
use serde_json::json;

/// The most probable option, and which options share that place: ties share the point. `name` is what an
/// option is read as.
pub(crate) fn by_scores<'n>(
    options: usize,
    correct: usize,
    scored: &Scored,
    name: impl Fn(usize) -> &'n str,
) -> (Judgement, Vec<usize>) {
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    if sums.len() != options {
        return (
            Judgement::fault("expected one score for each option"),
            vec![],
        );
    }
    let Some((first, score)) = best(&sums, correct) else {
        let why = "an option's log-probability is not a number";
        return (Judgement::failed(ErrorKind::NotFinite, why), vec![]);
    };
    let winners = (0..sums.len()).filter(|&i| sums.get(i) == sums.get(first));
    let winners: Vec<usize> = winners.collect();
    let mut judgement = Judgement::scored(score);
    if let [only] = winners.as_slice() {
        judgement = judgement.read_as(name(*only));
    }
    judgement.notes = json!({ "logprob": sums });
    (judgement, winners)
}

/// The option that was read off an answer in words, if any was. One that was cut off before it could be read
/// is told apart from one that says nothing.
pub(crate) fn by_words<'n>(
    answer: &Generated,
    said: Option<usize>,
    correct: usize,
    name: impl Fn(usize) -> &'n str,
) -> Judgement {
    match (answer.withheld(), said) {
        (None, Some(place)) => Judgement::scored(f64::from(place == correct)).read_as(name(place)),
        _ => Judgement::unscored(answer.unread()),
    }
}

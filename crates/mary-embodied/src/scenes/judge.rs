//! The verdict on one answer about a picture.

use mary_contract::{
    ErrorKind, Finish, Item, Judgement, Reply, Response, Scored, Target, UnscoredReason,
};
use serde_json::json;

/// Judges one item with a choice as its target.
pub(super) fn judge(item: &Item, answers: &[Reply]) -> Judgement {
    let Target::Choice {
        options, correct, ..
    } = &item.target
    else {
        return failed("expected an item with a choice as its target");
    };
    match answers {
        [reply] => match &reply.answer {
            Response::Scored(scored) => of_scores(options, *correct, scored),
            Response::Generated(answer) => {
                let withheld = match answer.finish {
                    Finish::Refusal => Some(UnscoredReason::Refused),
                    Finish::ContentFilter => Some(UnscoredReason::Filtered),
                    _ => None,
                };
                match (withheld, named_first(&answer.text, options)) {
                    (Some(reason), _) => Judgement::unscored(reason),
                    (None, Some(said)) => {
                        let right = if said == *correct { 1.0 } else { 0.0 };
                        Judgement::scored(right).read_as(option(options, said))
                    }
                    (None, None) if answer.finish == Finish::Length => {
                        Judgement::unscored(UnscoredReason::Truncated)
                    }
                    (None, None) => Judgement::unscored(UnscoredReason::Unparsed),
                }
            }
            Response::Observed(_) => failed("expected scores or words, found hidden states"),
        },
        _ => failed(&format!("expected one answer, found {}", answers.len())),
    }
}

fn failed(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::Internal, message)
}

fn option(options: &[String], place: usize) -> &str {
    options.get(place).map_or("", String::as_str)
}

fn of_scores(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    if sums.len() != options.len() {
        return failed("expected one score for each answer");
    }
    if !sums.iter().all(|s| s.is_finite()) {
        return Judgement::failed(
            ErrorKind::NotFinite,
            "an answer's log-probability is not a number",
        );
    }
    let best = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let winners: Vec<usize> = (0..sums.len())
        .filter(|i| sums.get(*i) == Some(&best))
        .collect();
    let share = match winners.contains(&correct) {
        true => 1.0 / winners.len() as f64,
        false => 0.0,
    };
    let mut judgement = Judgement::scored(share);
    if let [only] = winners.as_slice() {
        judgement = judgement.read_as(option(options, *only));
    }
    judgement.notes = json!({ "logprob": sums });
    judgement
}

/// The option that is named first in a text, as whole words.
fn named_first(text: &str, options: &[String]) -> Option<usize> {
    let plain: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let padded = format!(" {} ", words.join(" "));
    let places = options
        .iter()
        .enumerate()
        .filter_map(|(i, option)| Some((padded.find(&format!(" {option} "))?, i)));
    places.min().map(|(_, i)| i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{ContinuationScore, Generated, Outcome};

    fn item() -> Item {
        let target = Target::Choice {
            question: "Where is the circle?".into(),
            options: ["top left", "top right", "bottom left", "bottom right"]
                .map(String::from)
                .to_vec(),
            correct: 2,
        };
        Item::new("1-0001", target, vec![])
    }

    fn written(text: &str, finish: Finish) -> Judgement {
        let answer = Generated {
            text: text.into(),
            finish,
            reasoning: None,
        };
        judge(&item(), &[Reply::bare(Response::Generated(answer))])
    }

    #[test]
    fn the_answer_named_first_is_taken_and_an_unread_one_is_not_wrong() {
        let right = written("It is at the Bottom-Left, not top left.", Finish::Stop);
        assert_eq!(right.outcome, Outcome::Scored(1.0));
        assert_eq!(right.parsed.as_deref(), Some("bottom left"));
        let wrong = written("top right", Finish::Stop);
        assert_eq!(wrong.outcome, Outcome::Scored(0.0));
        let unread = written("leftovers on top", Finish::Stop);
        assert_eq!(unread.outcome, Outcome::Unscored(UnscoredReason::Unparsed));
        let refused = written("bottom left", Finish::Refusal);
        assert_eq!(refused.outcome, Outcome::Unscored(UnscoredReason::Refused));
    }

    #[test]
    fn the_most_probable_answer_is_taken_and_ties_are_shared() {
        let scores = |values: [f32; 4]| {
            let continuations = values.map(|v| ContinuationScore {
                tokens: vec!["x".into(), "y".into()],
                logprobs: vec![v, -0.5],
                boundary_merged: false,
                first_unscored: false,
                windowed: false,
                details: None,
            });
            let scored = Scored {
                continuations: continuations.to_vec(),
            };
            judge(&item(), &[Reply::bare(Response::Scored(scored))])
        };
        assert_eq!(
            scores([-2.0, -2.0, -1.0, -3.0]).outcome,
            Outcome::Scored(1.0)
        );
        assert_eq!(
            scores([-1.0, -2.0, -1.0, -3.0]).outcome,
            Outcome::Scored(0.5)
        );
        assert_eq!(
            scores([-1.0, -2.0, -1.5, -3.0]).outcome,
            Outcome::Scored(0.0)
        );
        let nan = scores([f32::NAN, -2.0, -1.0, -3.0]);
        assert!(matches!(nan.outcome, Outcome::Failed(_)));
    }
}

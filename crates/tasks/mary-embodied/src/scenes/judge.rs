//! The verdict on one answer about a picture.

use mary_contract::{Item, Judgement, Reply, Scored};

use crate::verdict::{by_scores, by_words};

pub(super) fn judge(item: &Item, answers: &[Reply]) -> Judgement {
    fn name<'o>(options: &'o [String]) -> impl Fn(usize) -> &'o str {
        move |place| options.get(place).map_or("", String::as_str)
    }
    let scores = |options: &[String], correct: usize, scored: &Scored| {
        by_scores(options.len(), correct, scored, name(options)).0
    };
    Judgement::of_choice(item, answers, scores, |options, correct, answer| {
        let said = named_first(&answer.text, options);
        by_words(answer, said, correct, name(options))
    })
}

/// The option that is named first in a text, as whole words.
fn named_first(text: &str, options: &[String]) -> Option<usize> {
    let plain = text
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric(), " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let padded = format!(" {} ", words.join(" "));
    let options = options.iter().enumerate();
    let places = options.filter_map(|(i, o)| Some((padded.find(&format!(" {o} "))?, i)));
    places.min().map(|(_, i)| i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{
        ContinuationScore, Finish, Generated, Outcome, Response, Scored, Target, UnscoredReason,
    };

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

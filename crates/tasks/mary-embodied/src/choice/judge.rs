//! The verdict on one answer.

use mary_contract::{Generated, Item, Judgement, Reply, Scored};

use super::{LETTERS, read};
use crate::verdict::{by_scores, by_words};

/// Judges one item with a choice as its target. `index` is the number that was asked under, where the
/// paper's reading is to check it.
///
/// Verdicts under other conventions: `accuracy` counts unread answers as wrong, `exact` is the paper's
/// reading, and both come once more for the item's `subtask` and `modality` (`exact[V-CA]`), since the
/// paper's tables have those columns. `said_a` … `said_d` show a leaning to a place.
pub fn judge(item: &Item, answers: &[Reply], index: Option<u32>) -> Judgement {
    let by_scores = |options: &[String], correct: usize, scored: &Scored| {
        judge_letters(options.len(), correct, scored)
    };
    Judgement::of_choice(item, answers, by_scores, |options, correct, answer| {
        let said = read::robustly(&answer.text, options);
        let exact = read::exactly(&answer.text, index);
        judge_words(item, correct, answer, (said, exact))
    })
}

fn letter(place: usize) -> &'static str {
    LETTERS.get(place).copied().unwrap_or_default()
}

fn judge_letters(options: usize, correct: usize, scored: &Scored) -> Judgement {
    let (mut judgement, winners) = by_scores(options, correct, scored, letter);
    if winners.is_empty() {
        return judgement;
    }
    let share = 1.0 / winners.len() as f64;
    for (place, letter) in LETTERS.iter().enumerate() {
        let said = if winners.contains(&place) { share } else { 0.0 };
        judgement = judgement.measured(&said_name(letter), said);
    }
    judgement
}

fn said_name(letter: &str) -> String {
    format!("said_{}", letter.to_lowercase())
}

fn judge_words(
    item: &Item,
    correct: usize,
    answer: &Generated,
    (said, exact): (Option<usize>, Option<usize>),
) -> Judgement {
    let score = said.map(|s| f64::from(s == correct));
    let is_withheld = answer.withheld().is_some();
    let mut judgement = by_words(answer, said, correct, letter);
    let conventions = [
        ("accuracy", score.filter(|_| !is_withheld).unwrap_or(0.0)),
        ("exact", f64::from(!is_withheld && exact == Some(correct))),
    ];
    for (name, value) in conventions {
        judgement = judgement.measured(name, value);
        for tag in ["subtask", "modality"] {
            if let Some(part) = item.tags.get(tag) {
                judgement = judgement.measured(&format!("{name}[{part}]"), value);
            }
        }
    }
    if let (Some(place), false) = (said, is_withheld) {
        for (other, letter) in LETTERS.iter().enumerate() {
            judgement = judgement.measured(&said_name(letter), f64::from(other == place));
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use mary_contract::{ContinuationScore, Finish, Outcome, Response, Target, UnscoredReason};

    use super::*;

    fn item() -> Item {
        let target = Target::Choice {
            question: "?".into(),
            options: ["red", "blue", "green", "grey"].map(String::from).to_vec(),
            correct: 2,
        };
        Item::new("1001-1", target, vec![]).tagged("subtask", "V-CA")
    }

    fn scores(values: [f32; 4]) -> Reply {
        let continuations = values.map(|v| ContinuationScore {
            tokens: vec!["x".into()],
            logprobs: vec![v],
            boundary_merged: false,
            first_unscored: false,
            windowed: false,
            details: None,
        });
        Reply::bare(Response::Scored(Scored {
            continuations: continuations.to_vec(),
        }))
    }

    fn words(text: &str, finish: Finish) -> Reply {
        Reply::bare(Response::Generated(Generated {
            text: text.into(),
            finish,
            reasoning: None,
        }))
    }

    #[test]
    fn the_most_probable_letter_is_taken_and_ties_are_shared() {
        let right = judge(&item(), &[scores([-2.0, -2.0, -1.0, -3.0])], None);
        assert_eq!(right.outcome, Outcome::Scored(1.0));
        assert_eq!(right.parsed.as_deref(), Some("C"));
        let tie = judge(&item(), &[scores([-1.0, -2.0, -1.0, -3.0])], None);
        assert_eq!(tie.outcome, Outcome::Scored(0.5));
        assert_eq!(tie.measures["said_a"], 0.5);
        let nan = judge(&item(), &[scores([f32::NAN, -2.0, -1.0, -3.0])], None);
        assert!(matches!(nan.outcome, Outcome::Failed(_)));
    }

    #[test]
    fn an_option_written_out_counts_for_us_and_not_for_the_paper() {
        let reply = words(r#"{"index": 1001, "answer": "green"}"#, Finish::Stop);
        let verdict = judge(&item(), &[reply], Some(1001));
        assert_eq!(verdict.outcome, Outcome::Scored(1.0));
        assert_eq!(verdict.measures["accuracy[V-CA]"], 1.0);
        assert_eq!(verdict.measures["exact[V-CA]"], 0.0);
    }

    #[test]
    fn unread_is_not_wrong_but_is_in_the_papers_accuracy() {
        let verdict = judge(&item(), &[words("hm", Finish::Stop)], Some(1001));
        assert_eq!(verdict.outcome, Outcome::Unscored(UnscoredReason::Unparsed));
        assert_eq!(verdict.measures["accuracy"], 0.0);
        assert!(!verdict.measures.contains_key("said_a"));
        let cut = judge(&item(), &[words("{\"index\"", Finish::Length)], Some(1001));
        assert_eq!(cut.outcome, Outcome::Unscored(UnscoredReason::Truncated));
        let refused = judge(&item(), &[words("C", Finish::Refusal)], Some(1001));
        assert_eq!(refused.outcome, Outcome::Unscored(UnscoredReason::Refused));
        assert_eq!(refused.measures["accuracy"], 0.0);
    }
}

//! How a person is asked: the row's own prompt, the file's wording before it, and the kind of answer
//! that `[people] answer` names. Without one the judge says what kind it is.

use mary_contract::{ForPeople, Item, Part, PeopleAnswer, PeopleOption, Request};

use crate::form::JudgeKind;
use crate::plan::Plan;

/// The item as a person is shown it; nothing where the file asks for vectors.
pub(crate) fn shown(plan: &Plan, item: &Item) -> Option<ForPeople> {
    let mut shown = ForPeople::of(item).or_else(|| prompted(item))?;
    // Options that the prompt lists by their letters stay in that order.
    let used = plan.templates.uses("prompt");
    if used.iter().any(|name| name == "lettered") {
        shown = shown.in_order();
    }
    if plan.judge() == JudgeKind::Number {
        shown.answer = PeopleAnswer::Number;
    }
    let Some(people) = &plan.form.people else {
        return Some(shown);
    };
    if let Some(answer) = kind(&people.answer) {
        shown.answer = answer;
    }
    Some(shown.told(people.wording.clone()))
}

/// An item whose right answer is the judge's own affair is still a prompt to be answered in words.
fn prompted(item: &Item) -> Option<ForPeople> {
    let text = match &item.asks.first()?.request {
        Request::Generate(g) => g.prompt.text(),
        Request::Score(_) | Request::Observe(_) => return None,
    };
    let parts = vec![Part::Text(text)];
    Some(ForPeople::new(parts, PeopleAnswer::Text))
}

/// `text`, `transcription`, `number`, `rating 1 to 7`, `several red | green | blue`. Other words are a
/// remark for readers and change nothing.
fn kind(said: &str) -> Option<PeopleAnswer> {
    let said = said.trim();
    let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    match word {
        "text" => Some(PeopleAnswer::Text),
        "transcription" => Some(PeopleAnswer::Transcription),
        "number" => Some(PeopleAnswer::Number),
        "rating" => {
            let (low, high) = rest.split_once("to")?;
            let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            (low < high).then_some(PeopleAnswer::Rating { low, high })
        }
        "several" => {
            let options = rest.split('|').map(str::trim);
            let options = options.filter(|option| !option.is_empty());
            let options: Vec<_> = options.map(PeopleOption::new).collect();
            (options.len() > 1).then_some(PeopleAnswer::Several { options })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_answers_are_read_and_remarks_are_left_alone() {
        assert_eq!(kind("number"), Some(PeopleAnswer::Number));
        let rating = PeopleAnswer::Rating { low: 1, high: 7 };
        assert_eq!(kind("rating 1 to 7"), Some(rating));
        assert_eq!(kind("rating 7 to 1"), None);
        let Some(PeopleAnswer::Several { options }) = kind("several red | green") else {
            panic!("expected several");
        };
        assert_eq!(options.len(), 2);
        assert_eq!(kind("one of the two words"), None);
    }
}

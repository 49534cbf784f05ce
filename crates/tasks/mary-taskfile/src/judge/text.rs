//! Answers in words held against given words: equal, contained, or read out by a pattern.

use mary_contract::{Generated, Item, Judgement};

use super::{Reading, accepted, fault};
use crate::form::{Ignore, Take};
use crate::plan::Plan;
use regex::{Captures, NoExpand};

pub(super) fn exact(plan: &Plan, item: &Item, said: &Generated) -> Reading {
    let text = match plan.form.judge.keep_spaces {
        true => said.text.as_str(),
        false => said.text.trim(),
    };
    let bare = bared(plan, text);
    let is = |a: &&str| bared(plan, a) == bare;
    let accepted = accepted(item);
    let verbatim = accepted.iter().any(|a| a.trim() == text);
    let verdict = Judgement::scored(f64::from(accepted.iter().any(is))).read_as(text);
    Ok(Some(verdict.measured("verbatim", f64::from(verbatim))))
}

/// One of those accepted stands somewhere in the answer, as whole words.
pub(super) fn contains(plan: &Plan, item: &Item, said: &Generated) -> Reading {
    let ignore = ignored(plan);
    let text = fold(&said.text, ignore);
    let mut accepted = accepted(item).into_iter();
    let found = accepted.find(|a| holds(&text, &fold(a, ignore)));
    let verdict = Judgement::scored(f64::from(found.is_some()));
    Ok(Some(match found {
        Some(found) => verdict.read_as(found),
        None => verdict,
    }))
}

/// What a pattern finds is one of those accepted; what it does not find is unparsed.
pub(super) fn pattern(plan: &Plan, item: &Item, said: &Generated) -> Reading {
    let Some(pattern) = &plan.pattern else {
        return Err(fault("the task has no pattern"));
    };
    let mut matches = pattern.captures_iter(&said.text);
    let found = match plan.take() {
        Take::First => matches.next(),
        Take::Last => matches.last(),
    };
    // Of several groups, the first that holds something; without groups, the whole.
    let group = |c: Captures<'_>| match c.len() {
        1 => c.get(0).map(|m| m.range()),
        _ => {
            let mut groups = c.iter().skip(1).flatten();
            groups.find(|m| !m.is_empty()).map(|m| m.range())
        }
    };
    let Some(text) = found.and_then(group).and_then(|at| said.text.get(at)) else {
        return Ok(None);
    };
    let text = text.trim();
    let bare = bared(plan, text);
    let is = |a: &&str| bared(plan, a) == bare;
    let correct = accepted(item).iter().any(is);
    Ok(Some(Judgement::scored(f64::from(correct)).read_as(text)))
}

/// Case and punctuation around an answer are ignored unless the file says otherwise.
fn ignored(plan: &Plan) -> &[Ignore] {
    let ignore = plan.form.judge.ignore.as_deref();
    ignore.unwrap_or(&[Ignore::Case, Ignore::Punctuation])
}

/// A text as it is compared: without what the file removes or ignores.
fn bared(plan: &Plan, text: &str) -> String {
    let mut text = text.to_owned();
    for pattern in &plan.removed {
        text = pattern.replace_all(&text, NoExpand("")).into_owned();
    }
    let ignore = ignored(plan);
    if !plan.form.judge.keep_spaces {
        return fold(&text, ignore);
    }
    match ignore.contains(&Ignore::Case) {
        true => text.to_lowercase(),
        false => text,
    }
}

/// A text without what is ignored; runs of spaces are one.
pub(super) fn fold(text: &str, ignore: &[Ignore]) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if ignore.contains(&Ignore::Case) {
        text = text.to_lowercase();
    }
    if ignore.contains(&Ignore::Punctuation) {
        let around =
            |c: char| c.is_ascii_punctuation() && !"-+%$#".contains(c) || "“”‘’«»。，".contains(c);
        text = text.trim_matches(around).trim().to_owned();
    }
    text
}

/// Whether words stand in a text, not as part of longer words.
pub(super) fn holds(text: &str, words: &str) -> bool {
    if words.is_empty() {
        return false;
    }
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.match_indices(words).any(|(at, found)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|t| t.chars().next());
        let cut_before = letter(before) && letter(found.chars().next());
        let cut_after = letter(after) && letter(found.chars().next_back());
        !cut_before && !cut_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_ignored() {
        let both = &[Ignore::Case, Ignore::Punctuation];
        assert_eq!(fold(" \"Paris\".\n", both), "paris");
        assert_eq!(fold("New   York!", both), "new york");
        assert_eq!(fold("-5", both), "-5");
        assert_eq!(fold("Paris.", &[]), "Paris.");
    }

    #[test]
    fn words_are_whole() {
        assert!(holds("a cat sat", "cat") && holds("cat", "cat") && holds("un chat, oui", "chat"));
        assert!(!holds("concatenate", "cat") && !holds("cats", "cat") && !holds("cat", ""));
        assert!(holds("concatenate the cat", "cat"));
        assert!(holds("这是苹果吗", "苹果"));
    }
}

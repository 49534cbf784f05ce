//! Reading the choice out of an answer. "Your response should end with your choice of answer" is what
//! the model is told, so that the last word wins: the last sentence that settles on an option ("the
//! answer is …", "… fits best", an option alone) counts, whatever was announced before it. Options that
//! a sentence denies ("not gravity", "gravity does not fit", "rather than gravity") are no choice. An
//! answer that names no option, or several without settling on one, stays unread.

use std::sync::LazyLock;

use serde::Deserialize;

/// The words and phrases of `parse_words.json`, plurals without their `s` as in [`Word`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    /// Words that begin a new thought: a denial before them does not reach past them.
    turns: Vec<String>,
    /// Phrases after which the choice comes.
    leads: Vec<String>,
    /// Headings before a colon after which the choice comes.
    headings: Vec<String>,
    /// Phrases that make what stands before them the choice.
    trails: Vec<String>,
    /// Words that may stand beside an option that stands alone.
    fillers: Vec<String>,
}

/// A test reads the file, so that a slip is found there and not here.
static PHRASES: LazyLock<Phrases> =
    LazyLock::new(|| serde_json::from_str(include_str!("parse_words.json")).unwrap_or_default());

fn among(word: &str, words: &[String]) -> bool {
    words.iter().any(|w| w == word)
}

/// A word of an answer: lower-case, a plural's `s` dropped, so that "Optical filter" is the option
/// "optical filters".
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    /// A comma, dash or bracket stands between it and the word before.
    comma: bool,
    /// A colon stands between it and the word before.
    colon: bool,
}

fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let (mut comma, mut colon) = (false, false);
    let mut current = String::new();
    let mut end = |current: &mut String, comma: &mut bool, colon: &mut bool| {
        let bare = current.trim_matches('.');
        if !bare.is_empty() {
            let lower = bare.to_lowercase();
            let text = match lower.strip_suffix('s') {
                Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem.to_owned(),
                _ => lower,
            };
            found.push(Word {
                text,
                comma: *comma,
                colon: *colon,
            });
            (*comma, *colon) = (false, false);
        }
        current.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '.' {
            current.push(c);
            continue;
        }
        end(&mut current, &mut comma, &mut colon);
        comma |= matches!(c, ',' | '–' | '—' | '(' | ')');
        colon |= c == ':';
    }
    end(&mut current, &mut comma, &mut colon);
    found
}

fn name(text: &str) -> Vec<String> {
    words(text).into_iter().map(|w| w.text).collect()
}

fn stands(words: &[Word], at: usize, phrase: &[String]) -> bool {
    let here = words.get(at..at + phrase.len()).filter(|h| !h.is_empty());
    here.is_some_and(|here| here.iter().zip(phrase).all(|(w, p)| w.text == *p))
}

#[derive(Debug, Clone, Copy)]
struct Mention {
    option: usize,
    /// Its first word and the word after its last.
    from: usize,
    to: usize,
    /// The sentence says that it is not this one.
    denied: bool,
}

/// The options named in a sentence, in order of mention. Where one option's name holds another's, the
/// longer one counts.
fn mentions(words: &[Word], options: &[Vec<String>]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let numbered = options.iter().enumerate();
        let here = numbered.filter(|(_, o)| stands(words, at, o));
        match here.max_by_key(|(_, o)| o.len()) {
            Some((option, name)) => {
                found.push(Mention {
                    option,
                    from: at,
                    to: at + name.len(),
                    denied: false,
                });
                at += name.len();
            }
            None => at += 1,
        }
    }
    for i in 0..found.len() {
        let denied = denied_before(words, &found, i) || denied_after(words, &found, i);
        if let Some(mention) = found.get_mut(i) {
            mention.denied = denied;
        }
    }
    found
}

fn text_at(words: &[Word], at: Option<usize>) -> &str {
    at.and_then(|i| words.get(i)).map_or("", |w| &w.text)
}

/// Whether the word at this place says no to what follows it.
fn says_no(words: &[Word], at: usize) -> bool {
    let before = text_at(words, at.checked_sub(1));
    let after = text_at(words, Some(at + 1));
    match text_at(words, Some(at)) {
        "not" => !["only", "just", "merely", "simply"].contains(&after),
        // isn't, doesn't, can't …
        "t" => before.ends_with('n') || before == "can",
        "no" => !["doubt", "question", "other", "longer"].contains(&after),
        "without" => !["doubt", "a", "any"].contains(&after),
        "none" => after != "other",
        "cannot" | "never" | "nor" | "neither" | "unlike" | "except" | "excluding" | "exclude"
        | "excluded" | "reject" | "rejected" | "rejecting" | "eliminate" | "eliminated"
        | "eliminating" | "nothing" | "against" | "dismiss" | "dismissed" => true,
        "than" => before == "rather",
        "of" => before == "instead",
        "out" => ["rule", "ruled", "ruling"].contains(&before),
        _ => false,
    }
}

/// Whether a sentence denies a mention before it comes to it.
fn denied_before(words: &[Word], all: &[Mention], i: usize) -> bool {
    const REACH: usize = 7;
    let Some(mention) = all.get(i) else {
        return false;
    };
    let start = match i.checked_sub(1).and_then(|b| all.get(b)) {
        Some(last) => {
            let between = words.get(last.to..mention.from).unwrap_or_default();
            let fills = |w: &Word| ["or", "and", "nor", "the", "a", "an"].contains(&&*w.text);
            let listed = between.iter().all(fills);
            let joined = between.iter().any(|w| w.text == "or" || w.text == "nor")
                || (between.is_empty() && words.get(mention.from).is_some_and(|w| w.comma));
            // "not gravity or reflection": what is said of the first is said of the second.
            if listed && joined && denied_before(words, all, i - 1) {
                return true;
            }
            last.to
        }
        None => 0,
    };
    let mut at = mention.from;
    while at > start && mention.from - at < REACH {
        let word = words.get(at);
        if word.is_some_and(|w| w.comma || w.colon) {
            return false;
        }
        at -= 1;
        let text = text_at(words, Some(at));
        if text == "but" && text_at(words, at.checked_sub(1)) == "anything" {
            return !(at.saturating_sub(4)..at).any(|k| says_no(words, k));
        }
        if says_no(words, at) {
            return true;
        }
        if among(text, &PHRASES.turns) {
            return false;
        }
        if leads(words, at) {
            // "I don't think the answer is gravity": the doubt reaches over the announcement.
            let doubts = |k: usize| {
                says_no(words, k)
                    && ["think", "believe", "say", "agree"].contains(&text_at(words, Some(k + 1)))
            };
            // "It does not demonstrate gravity".
            let refuses = at > start && says_no(words, at - 1);
            return refuses || (start..at).any(doubts);
        }
    }
    false
}

/// Whether a sentence denies a mention after it: "gravity does not fit".
fn denied_after(words: &[Word], all: &[Mention], i: usize) -> bool {
    const REACH: usize = 6;
    let Some(mention) = all.get(i) else {
        return false;
    };
    let next = all.get(i + 1).map_or(words.len(), |m| m.from);
    for at in mention.to..next.min(mention.to + REACH) {
        let Some(word) = words.get(at) else {
            return false;
        };
        let text = word.text.as_str();
        if word.comma || word.colon || among(text, &PHRASES.turns) {
            return false;
        }
        let no = match text {
            "wrong" | "incorrect" | "unlikely" | "excluded" | "eliminated" | "rejected"
            | "fail" | "impossible" | "irrelevant" => true,
            "ruled" => text_at(words, Some(at + 1)) == "out",
            "than" | "of" | "unlike" | "except" | "against" => false,
            "not" | "t" | "cannot" | "never" => {
                // "gravity, not reflection" denies what follows.
                let of_next = all.get(i + 1).is_some_and(|m| m.from <= at + 2);
                says_no(words, at) && !of_next
            }
            _ => false,
        };
        if no {
            return true;
        }
    }
    false
}

/// The place after a phrase that ends here, if one of these does.
fn phrase_at(words: &[Word], at: usize, phrases: &[String]) -> Option<usize> {
    let names = phrases.iter().map(|p| name(p));
    let here = names.filter(|p| stands(words, at, p));
    Some(at + here.map(|p| p.len()).max()?)
}

fn leads(words: &[Word], at: usize) -> bool {
    lead_end(words, at).is_some()
}

/// Where an announcement that begins at this word ends.
fn lead_end(words: &[Word], at: usize) -> Option<usize> {
    let heading = among(text_at(words, Some(at)), &PHRASES.headings)
        && words.get(at + 1).is_none_or(|w| w.colon);
    let lead = || phrase_at(words, at, &PHRASES.leads);
    heading.then_some(at + 1).or_else(lead)
}

enum Says {
    Settles(usize),
    /// Several, and not which.
    Several,
    /// Something that is none of the options, by a number or letter of its own.
    Elsewhere,
    Nothing,
}

fn says(words: &[Word], mentions: &[Mention], listed: bool) -> Says {
    let affirmed: Vec<&Mention> = mentions.iter().filter(|m| !m.denied).collect();
    let only = |of: &[&Mention]| match of {
        [] => Says::Nothing,
        [first, rest @ ..] if rest.iter().all(|m| m.option == first.option) => {
            Says::Settles(first.option)
        }
        _ => Says::Several,
    };
    // What follows the last announcement that is followed by an option.
    for at in (0..words.len()).rev() {
        let Some(end) = lead_end(words, at) else {
            continue;
        };
        let after: Vec<&Mention> = affirmed.iter().copied().filter(|m| m.from >= end).collect();
        if !after.is_empty() {
            return only(&after);
        }
        let rest = words.get(end..).unwrap_or_default();
        let own = |w: &Word| w.text.len() == 1 || w.text.chars().all(|c| c.is_ascii_digit());
        if affirmed.is_empty() && mentions.is_empty() && rest.len() == 1 && rest.iter().all(own) {
            return Says::Elsewhere;
        }
    }
    let trails = |m: &&Mention| {
        let mut after = m.to..words.len().min(m.to + 3);
        after.any(|at| phrase_at(words, at, &PHRASES.trails).is_some())
    };
    let trailed: Vec<&Mention> = affirmed.iter().copied().filter(trails).collect();
    if !trailed.is_empty() {
        return only(&trailed);
    }
    let covered = |i: usize| mentions.iter().any(|m| (m.from..m.to).contains(&i));
    let mut numbered = words.iter().enumerate();
    let alone = numbered.all(|(i, w)| covered(i) || among(&w.text, &PHRASES.fillers));
    // An affirmed option beside denied ones: "gravity, not reflection".
    let against = mentions.iter().any(|m| m.denied);
    if !listed && !affirmed.is_empty() && (alone || against) {
        return only(&affirmed);
    }
    Says::Nothing
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['!', '?', ';', '.'])
        .filter(|s| s.chars().any(char::is_alphanumeric))
}

/// Whether a line is a row of a list or describes an option under its name.
fn is_listed(line: &str, options: &[Vec<String>]) -> bool {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || c == '*' || c == '#');
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < bare.len() && digits.starts_with(['.', ')']);
    let bulleted = bare.starts_with(['-', '•', '–']);
    let words = words(line);
    let described = options
        .iter()
        .any(|o| stands(&words, 0, o) && words.get(o.len()).is_some_and(|w| w.colon || w.comma));
    numbered || bulleted || described
}

/// The option an answer settles on: what its last deciding sentence says; where none decides, the only
/// option that the last line affirms or ends in, else the only one of the whole text.
pub fn choice(answer: &str, options: &[String]) -> Option<usize> {
    let named: Vec<Vec<String>> = options.iter().map(|o| name(o)).collect();
    let worded = |l: &&str| l.chars().any(char::is_alphanumeric);
    let lines: Vec<&str> = answer.lines().filter(worded).collect();
    let mut settled = None;
    let mut heading = false;
    for line in &lines {
        let listed = is_listed(line, &named);
        for sentence in sentences(line) {
            let words = words(sentence);
            let mentions = mentions(&words, &named);
            match says(&words, &mentions, listed && !heading) {
                Says::Settles(option) => settled = Some(Some(option)),
                Says::Several | Says::Elsewhere => settled = Some(None),
                Says::Nothing => {}
            }
            // "Answer:" on a line of its own.
            heading = mentions.is_empty()
                && words.len() <= 4
                && sentence.trim_end().ends_with([':', '*']);
        }
    }
    if let Some(found) = settled {
        return found;
    }
    let last_line = lines.last().copied().unwrap_or_default();
    let last = words(last_line);
    // The last row of a list is no choice.
    let rows = lines.iter().filter(|l| is_listed(l, &named)).count();
    if rows > 1 && is_listed(last_line, &named) {
        return None;
    }
    let in_last = mentions(&last, &named);
    let affirmed = |all: &[Mention]| -> Vec<usize> {
        let kept = all.iter().filter(|m| !m.denied);
        kept.map(|m| m.option).collect()
    };
    let at_the_end = only(&affirmed(&in_last)).or_else(|| ends_in(&last, &in_last, options.len()));
    if at_the_end.is_some() || !in_last.is_empty() {
        return at_the_end;
    }
    let all = lines.iter().flat_map(|line| sentences(line));
    let all = all.flat_map(|s| affirmed(&mentions(&words(s), &named)));
    let all: Vec<usize> = all.collect();
    only(&all)
}

fn only(mentions: &[usize]) -> Option<usize> {
    let first = *mentions.first()?;
    mentions.iter().all(|m| *m == first).then_some(first)
}

/// The option that ends a line, where the line does not list the options side by side.
fn ends_in(words: &[Word], mentions: &[Mention], options: usize) -> Option<usize> {
    let last = mentions.last().filter(|m| !m.denied)?;
    let lists = ["or", "and", "nor"].contains(&text_at(words, last.from.checked_sub(1)))
        || words.get(last.from).is_some_and(|w| w.comma);
    let all = (0..options).all(|o| mentions.iter().any(|m| m.option == o));
    (last.to == words.len() && last.from > 0 && !lists && !all).then_some(last.option)
}

/// The strict reading: the last line is an option and nothing else, marks aside.
pub fn strictly(answer: &str, options: &[String]) -> Option<usize> {
    let line = answer.lines().rev().find(|l| !l.trim().is_empty())?;
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    options.iter().position(|o| o.eq_ignore_ascii_case(bare))
}

/// The numbers from 1 to `most` in an answer that is a list of numbers, each once; an empty list for 0
/// or "none"; `None` where it is no such list.
pub fn numbers(answer: &str, most: usize) -> Option<Vec<usize>> {
    let last = answer.lines().rev().find(|l| !l.trim().is_empty())?;
    let mut found = Vec::new();
    let mut zero = false;
    let words = last.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|w| !w.is_empty()) {
        match word.parse::<usize>() {
            Ok(0) => zero = true,
            Ok(n) if n <= most => found.push(n),
            Ok(_) => return None,
            Err(_) if word.eq_ignore_ascii_case("none") => zero = true,
            Err(_) if word.eq_ignore_ascii_case("and") => {}
            Err(_) if word.eq_ignore_ascii_case("answer") => {}
            Err(_) => return None,
        }
    }
    found.sort_unstable();
    found.dedup();
    (zero || !found.is_empty()).then_some(found)
}

/// The judge's 0 or 1.
pub fn verdict(answer: &str) -> Option<bool> {
    let bare = answer.trim().trim_matches(|c: char| !c.is_alphanumeric());
    let mut words = bare.split_whitespace();
    let ends = [words.next_back(), words.next()];
    let mut ends = ends.into_iter().flatten();
    let said = ends.find(|w| ["0", "1"].contains(w))?;
    Some(said == "1")
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;

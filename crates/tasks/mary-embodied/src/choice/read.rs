//! Reading the chosen option out of what a model wrote. What it wrote is hostile input: nothing here
//! can fail, and an answer that names no option, or two, stays unread.

use mary_platform::given;
use serde_json::Value;

use super::LETTERS;

/// The paper's reading, as its released outputs and its Table 14 show it: the answer is a JSON object
/// whose `answer` is exactly one of the four letters, under the index that was asked (as a number;
/// an index written as text was not matched).
pub fn exactly(text: &str, index: Option<u32>) -> Option<usize> {
    let mut objects = objects(text).into_iter();
    let object = objects.find(|o| o.get("answer").is_some())?;
    if let Some(index) = index
        && object.get("index").and_then(Value::as_u64) != Some(u64::from(index))
    {
        return None;
    }
    let answer = object.get("answer")?.as_str()?;
    LETTERS.iter().position(|letter| *letter == answer)
}

/// Everything that a careful reader would take for a choice: the `answer` of a JSON object, whole or
/// cut off, wrapped in marks or prose; a letter by itself; a letter with its option; the option
/// written out; "the answer is C". Two different choices are none.
pub fn robustly(text: &str, options: &[String]) -> Option<usize> {
    let mut fields: Vec<String> = objects(text).iter().filter_map(answer_field).collect();
    fields.extend(torn_fields(text));
    if !fields.is_empty() {
        return only(fields.iter().filter_map(|value| named(value, options)));
    }
    // A letter on each of several lines is a list of options, not a choice.
    let mut lines = text.trim().lines();
    let first = lines.next().and_then(|line| named(line, options));
    match named(text, options).or(first) {
        Some(choice) => only(lines.filter_map(|l| named(l, options)).chain([choice])),
        None => announced(text, options),
    }
}

/// The choice that all of these are; none where there is none, or two.
fn only(choices: impl Iterator<Item = usize>) -> Option<usize> {
    let mut found = None;
    for choice in choices {
        given(found.is_none_or(|old| old == choice))?;
        found = Some(choice);
    }
    found
}

/// The JSON objects in a text, in order, whatever stands around them. An object inside another is
/// found only when the outer one is none.
fn objects(text: &str) -> Vec<serde_json::Map<String, Value>> {
    // A model may write thousands of braces; no answer needs more than a few objects.
    const MOST: usize = 64;
    let mut found = Vec::new();
    let mut rest = text;
    for _ in 0..MOST {
        let Some(start) = rest.find('{') else { break };
        let candidate = &rest[start..];
        // The published example has an index with leading zeros, which is no JSON number; a model may
        // repeat it.
        let object = leading_object(candidate).or_else(|| object_with_padded_index(candidate));
        let end = object.as_ref().map_or(1, |(_, end)| *end);
        found.extend(object.map(|(object, _)| object));
        rest = candidate.get(end..).unwrap_or_default();
    }
    found
}

/// The object that a text begins with, and where it ends.
fn leading_object(text: &str) -> Option<(serde_json::Map<String, Value>, usize)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match stream.next() {
        Some(Ok(Value::Object(object))) => Some((object, stream.byte_offset())),
        _ => None,
    }
}

/// An object whose only fault is zeros before its index.
fn object_with_padded_index(text: &str) -> Option<(serde_json::Map<String, Value>, usize)> {
    let key = text.find("\"index\"")?;
    let colon = key + 7 + text.get(key + 7..)?.find(':')?;
    let digits = colon + 1 + text.get(colon + 1..)?.find(|c: char| !c.is_whitespace())?;
    let tail = text.get(digits..)?;
    let kept = tail.trim_start_matches('0');
    let cut = tail.len() - kept.len();
    let padded = kept.starts_with(|c: char| c.is_ascii_digit());
    given(cut > 0 && padded)?;
    let mended = format!("{}{kept}", text.get(..digits)?);
    leading_object(&mended).map(|(object, end)| (object, end + cut))
}

fn answer_field(object: &serde_json::Map<String, Value>) -> Option<String> {
    let field = object.iter().find(|(key, _)| {
        let key = key.trim().to_lowercase();
        ["answer", "correct_option", "choice", "答案"].contains(&key.as_str())
    });
    match field?.1 {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => match values.as_slice() {
            [Value::String(text)] => Some(text.clone()),
            _ => Some(String::new()),
        },
        // {"answer": {"C": "Red"}}
        Value::Object(inner) => match inner.keys().next() {
            Some(key) if inner.len() == 1 => Some(key.clone()),
            _ => Some(String::new()),
        },
        _ => Some(String::new()),
    }
}

/// The texts after every `"answer":`, in JSON that may be cut off, nested or not quite JSON.
fn torn_fields(text: &str) -> Vec<String> {
    // As for objects: no answer needs more.
    const MOST: usize = 64;
    let keys = ["\"answer\"", "'answer'", "\"答案\""].into_iter();
    let ends = keys.flat_map(|key| text.match_indices(key).map(|(at, key)| at + key.len()));
    let values = ends.filter_map(|end| torn_value(text.get(end..)?));
    values.take(MOST).collect()
}

/// What stands after the colon: a text in quotes, or what comes before the next mark.
fn torn_value(after: &str) -> Option<String> {
    let value = after.trim_start().strip_prefix([':', '：'])?.trim_start();
    let quote = value.chars().next()?;
    let inner = if matches!(quote, '"' | '\'') {
        value.get(1..)?.split(quote).next()?
    } else {
        value.split([',', '}', '\n']).next()?
    };
    Some(inner.to_owned())
}

fn is_mark(c: char) -> bool {
    c.is_whitespace() || "\"'`“”‘’.,:;!?*()[]（）【】。，：；、".contains(c)
}

fn bare(text: &str) -> String {
    text.trim_matches(is_mark).to_lowercase()
}

/// The option that a short text names: by its letter, by letter and option, or written out.
fn named(text: &str, options: &[String]) -> Option<usize> {
    let text = text.trim_matches(is_mark);
    let by_letter = leading_letter(text);
    if let Some((choice, rest)) = by_letter {
        // "C. Red" must not say red where C is blue.
        let other = written_out(rest, options);
        if rest.trim_matches(is_mark).is_empty() || other == Some(choice) {
            return Some(choice);
        }
    }
    let written = written_out(text, options);
    if written.is_some() {
        return written;
    }
    match by_letter {
        // "C. because it is red": the letter, a mark, and words that are no option.
        Some((choice, rest))
            if rest.starts_with(['.', ')', ':', ',', '。', '）', '：', '，', '、', '\n']) =>
        {
            let other = written_out(rest, options);
            (other.is_none() || other == Some(choice)).then_some(choice)
        }
        _ => None,
    }
}

/// A letter at the beginning, perhaps after "option", and what follows it.
fn leading_letter(text: &str) -> Option<(usize, &str)> {
    let lower = text.to_lowercase();
    let words = ["option ", "choice ", "选项", "选"];
    let word = words.iter().find(|word| lower.starts_with(*word));
    let skipped = word.map_or(0, |word| word.len());
    let text = text.get(skipped..)?.trim_start();
    let first = text.chars().next()?;
    let choice = match first {
        'A' | 'a' | 'Ａ' => 0,
        'B' | 'b' | 'Ｂ' => 1,
        'C' | 'c' | 'Ｃ' => 2,
        'D' | 'd' | 'Ｄ' => 3,
        _ => return None,
    };
    let rest = text.get(first.len_utf8()..)?;
    // A small letter counts only by itself: "a red one" is an article.
    let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let small = first.is_ascii_lowercase() && !rest.trim_matches(is_mark).is_empty();
    (ends && !small).then_some((choice, rest))
}

fn written_out(text: &str, options: &[String]) -> Option<usize> {
    let wanted = bare(text);
    given(!wanted.is_empty())?;
    let mut same = (0..options.len()).filter(|i| bare(&options[*i]) == wanted);
    match (same.next(), same.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// "The answer is C", "答案是 C": every such phrase must name the same option.
fn announced(text: &str, options: &[String]) -> Option<usize> {
    const PHRASES: [&str; 6] = [
        "answer is",
        "answer:",
        "correct option is",
        "答案是",
        "答案：",
        "答案为",
    ];
    let lower = text.to_lowercase();
    let phrases = PHRASES.iter();
    let places = phrases.flat_map(|phrase| lower.match_indices(phrase));
    only(places.filter_map(|(at, phrase)| {
        // Lower-casing may change lengths in rare scripts: then the place is not to be trusted.
        let mut lines = text.get(at + phrase.len()..)?.lines();
        let line = lines.find(|l| !l.trim().is_empty())?;
        let until = line.split(['.', '。', ',', '，']).next()?;
        named(until, options).or_else(|| named(line, options))
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn options() -> Vec<String> {
        ["Higher", "Lower", "At the same height", "It varies"]
            .map(String::from)
            .to_vec()
    }

    const NO: Option<usize> = None;

    /// Answer, the paper's reading under index 5001, ours.
    const ANSWERS: &[(&str, Option<usize>, Option<usize>)] = &[
        (
            r#"{"index": 5001, "answer": "B", "rationale": "x"}"#,
            Some(1),
            Some(1),
        ),
        (r#"{"index": 5001, "answer": "b"}"#, NO, Some(1)),
        (r#"{"index": "5001", "answer": "B"}"#, NO, Some(1)),
        (r#"{"index": 5002, "answer": "B"}"#, NO, Some(1)),
        (
            r#"{ "index": 005001, "answer": "D", "rationale": "y" }"#,
            Some(3),
            Some(3),
        ),
        (r#"{"index": 5001, "answer": "Lower"}"#, NO, Some(1)),
        (r#"{"index": 5001, "answer": "B. Lower"}"#, NO, Some(1)),
        (r#"{"index": 5001, "answer": "B.Lower"}"#, NO, Some(1)),
        (r#"{"index": 5001, "answer": "B. Higher"}"#, NO, NO),
        (r#"{"index": 5001, "answer": ["C"]}"#, NO, Some(2)),
        (
            r#"{"index": 5001, "answer": {"C": "At the same height"}}"#,
            NO,
            Some(2),
        ),
        (r#"{"index": 5001, "answer": null}"#, NO, NO),
        (r#"{"index": 5001, "answer": "E"}"#, NO, NO),
        (r#"{"index": 5001, "answer": ""}"#, NO, NO),
        (
            "```json\n{\"index\": 5001, \"answer\": \"A\"}\n```",
            Some(0),
            Some(0),
        ),
        (
            "Here it is: {\"index\": 5001, \"answer\": \"C\"} Done.",
            Some(2),
            Some(2),
        ),
        (
            "{\"index\": 5001, \"answer\": \"C\", \"rationale\": \"cut of",
            NO,
            Some(2),
        ),
        ("{'index': 5001, 'answer': 'A'}", NO, Some(0)),
        ("{\"答案\": \"B\", \"理由\": \"…\"}", NO, Some(1)),
        ("B", NO, Some(1)),
        ("(C)", NO, Some(2)),
        ("**D**", NO, Some(3)),
        ("b.", NO, Some(1)),
        ("C. At the same height", NO, Some(2)),
        ("C) they are level", NO, Some(2)),
        ("It varies", NO, Some(3)),
        ("it varies.", NO, Some(3)),
        ("The answer is B.", NO, Some(1)),
        ("The answer is B, so the answer is C.", NO, NO),
        ("Answer: Lower", NO, Some(1)),
        ("答案是B。", NO, Some(1)),
        ("答案：C", NO, Some(2)),
        ("选项D", NO, Some(3)),
        ("Ａ", NO, Some(0)),
        ("A higher place is likely", NO, NO),
        ("a", NO, Some(0)),
        ("a tall one", NO, NO),
        ("Higher or Lower", NO, NO),
        ("None of these", NO, NO),
        ("I cannot see.", NO, NO),
        ("", NO, NO),
        ("{", NO, NO),
        ("{}", NO, NO),
        ("{{{{\"answer\": \"A\"", NO, Some(0)),
        // Several answers: the same one twice is one, two different ones are none.
        (
            r#"{"index": 5001, "answer": "A"} {"index": 5001, "answer": "A"}"#,
            Some(0),
            Some(0),
        ),
        (
            r#"{"index": 5001, "answer": "A"} {"index": 5002, "answer": "B"}"#,
            Some(0),
            NO,
        ),
        (
            r#"[{"index": 1, "answer": "A"}, {"index": 2, "answer": "B"}, {"index": 3, "answer": "C"}, {"index": 4, "answer": "D"}, {"index": 5, "answer": "A"}, {"index": 6, "answer": "B", "rat"#,
            NO,
            NO,
        ),
        (
            r#"{"questions": [{"answer": "A"}, {"answer": "B"}]}"#,
            NO,
            NO,
        ),
        (
            r#"{"index": 5001, "answer": "A", "rationale": "the \"answer\": \"B\" is wrong"}"#,
            Some(0),
            Some(0),
        ),
        ("A\nB", NO, NO),
        (
            "A. Higher\nB. Lower\nC. At the same height\nD. It varies",
            NO,
            NO,
        ),
        ("B. Lower\nThe hand hangs down.", NO, Some(1)),
    ];

    #[test]
    fn both_readings_read_the_table_as_written() {
        let options = options();
        for (text, paper, ours) in ANSWERS {
            assert_eq!(
                exactly(text, Some(5001)),
                *paper,
                "the paper's reading of {text:?}"
            );
            assert_eq!(
                robustly(text, &options),
                *ours,
                "the robust reading of {text:?}"
            );
        }
    }

    #[test]
    fn a_label_comes_before_an_option_that_looks_like_one() {
        let options = ["B", "D", "p", "9"].map(String::from);
        assert_eq!(robustly(r#"{"answer": "B"}"#, &options), Some(1));
        assert_eq!(robustly(r#"{"answer": "p"}"#, &options), Some(2));
        assert_eq!(robustly(r#"{"answer": 9}"#, &options), Some(3));
    }

    #[test]
    fn two_equal_options_cannot_be_told_apart_by_their_text() {
        let options = ["up", "up", "down", "left"].map(String::from);
        assert_eq!(robustly("up", &options), None);
        assert_eq!(robustly("A. up", &options), Some(0));
        assert_eq!(robustly("A", &options), Some(0));
    }

    proptest! {
        #[test]
        fn no_answer_breaks_a_reading(text in "\\PC*|[{}\"answer:ABCD0 \\n答案]{0,40}") {
            let options = options();
            let _ = exactly(&text, Some(1));
            let _ = robustly(&text, &options);
        }

        #[test]
        fn what_the_paper_reads_we_read_the_same(letter in "[ABCD]", rationale in "\\PC{0,60}") {
            let text = serde_json::json!({"index": 7, "answer": letter, "rationale": rationale}).to_string();
            let options = options();
            prop_assert_eq!(exactly(&text, Some(7)), robustly(&text, &options));
        }
    }
}

//! Reading a label or a symbol out of what a model wrote. What it wrote is hostile input: nothing
//! here can fail, and an answer that names no label stays unread.

use super::dataset::Label;

/// The paper's parser, kept as the authors released it: on the lower-cased answer, A if it holds an
/// "a" and no "b", or "label: a", or "is a" without "or b"; B symmetrically; A is tried first. It
/// reads "banana" as neither and "I can't say" as A.
pub fn as_published(answer: &str) -> Option<Label> {
    let text = answer.to_lowercase();
    let says = |mine: char, other: char| {
        (text.contains(mine) && !text.contains(other))
            || text.contains(&format!("label: {mine}"))
            || (text.contains(&format!("is {mine}")) && !text.contains(&format!("or {other}")))
    };
    if says('a', 'b') {
        Some(Label::A)
    } else if says('b', 'a') {
        Some(Label::B)
    } else {
        None
    }
}

/// The strict parser: the first word must be the letter itself, perhaps after "Label:" and between
/// marks. A letter that goes on as a sentence on the same line ("A sentence with …") is an article,
/// not an answer, and a small letter counts only when nothing else is said.
pub fn strictly(answer: &str) -> Option<Label> {
    let marks = |c: char| !c.is_alphanumeric();
    let text = answer.trim_start_matches(marks);
    let text = match text.get(..5) {
        Some(head) if head.eq_ignore_ascii_case("label") => {
            let rest = text.get(5..).unwrap_or_default();
            let value = rest.trim_start_matches(marks);
            // "Labels differ" is prose; "Label: A" has a mark or blank in between.
            if value.len() == rest.len() {
                text
            } else {
                value
            }
        }
        _ => text,
    };
    let end = text.find(marks).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let alone = rest.trim_matches(marks).is_empty();
    let line = rest.lines().next().unwrap_or_default();
    let rest = line.trim_start_matches(' ');
    let goes_on = rest.starts_with(char::is_alphanumeric);
    match first {
        "A" if !goes_on => Some(Label::A),
        "B" if !goes_on => Some(Label::B),
        "a" if alone => Some(Label::A),
        "b" if alone => Some(Label::B),
        _ => None,
    }
}

/// Letter geometry, the paper's way: the answer is the symbol and nothing else.
pub fn exact_symbol(answer: &str, options: &[String]) -> Option<usize> {
    let answer = answer.trim();
    options.iter().position(|option| option == answer)
}

/// Letter geometry, leniently: the only option that stands by itself among the first line's words,
/// quotation marks and stops around it removed.
pub fn lenient_symbol(answer: &str, options: &[String]) -> Option<usize> {
    if let Some(exact) = exact_symbol(answer, options) {
        return Some(exact);
    }
    let line = answer.trim().lines().next().unwrap_or_default();
    let around = |c: char| "\"'`“”‘’.,:;!?*()[]".contains(c);
    let mut found = None;
    for word in line.split_whitespace() {
        let bare = word.trim_matches(around);
        let mut options = options.iter();
        let named = options.position(|option| option == word || option == bare);
        match (named, found) {
            (Some(new), Some(old)) if new != old => return None,
            (Some(new), _) => found = Some(new),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: Option<Label> = Some(Label::A);
    const B: Option<Label> = Some(Label::B);
    const NO: Option<Label> = None;

    /// Answer, paper's parser, strict parser.
    const ANSWERS: &[(&str, Option<Label>, Option<Label>)] = &[
        ("A", A, A),
        ("B", B, B),
        (" A", A, A),
        ("\nB", B, B),
        ("A\n", A, A),
        ("A.", A, A),
        ("B.", B, B),
        ("(A)", A, A),
        ("[B]", B, B),
        ("\"A\"", A, A),
        ("'B'", B, B),
        ("**A**", A, A),
        ("`B`", B, B),
        ("A)", A, A),
        ("- B", B, B),
        ("a", A, A),
        ("b", B, B),
        (" a.", A, A),
        ("Label: A", A, A),
        ("Label: B", B, B),
        ("label: b", B, B),
        ("LABEL: A", A, A),
        ("**Label:** B", NO, B),
        ("Label A", NO, A),
        ("Label - B", NO, B),
        ("A\nB", NO, A),
        ("B\nA", NO, B),
        ("A or B", NO, NO),
        ("B or A", NO, NO),
        ("A, B", NO, A),
        ("A/B", NO, A),
        ("AB", NO, NO),
        ("BA", NO, NO),
        ("", NO, NO),
        ("   \n", NO, NO),
        ("C", NO, NO),
        ("1", NO, NO),
        ("?", NO, NO),
        ("None", NO, NO),
        ("Neither one", NO, NO),
        ("I do not know", NO, NO),
        ("I can't tell", A, NO),
        ("Sorry, I can", A, NO),
        ("As an AI", A, NO),
        ("A sentence with four", A, NO),
        ("A because it ends", NO, NO),
        ("A (it rhymes)", A, A),
        ("B (no hyphen)", B, B),
        ("B: no mark", NO, B),
        ("The label is A", A, NO),
        ("The label is B", B, NO),
        ("The answer is A", A, NO),
        ("The answer is B", B, NO),
        ("It is A.", A, NO),
        ("It is b", B, NO),
        ("This is a B", A, NO),
        ("is it A or B", NO, NO),
        ("It is A or B", NO, NO),
        ("Group A", A, NO),
        ("Group B", B, NO),
        ("Option B", B, NO),
        ("Both", B, NO),
        ("Probably", NO, NO),
        ("Input: \"the", NO, NO),
        ("Output: B", B, NO),
        ("Labels differ", NO, NO),
        ("Label", NO, NO),
        ("A A A A A", A, NO),
        ("B\n\nInput: \"x", B, B),
        ("Answer: A", A, NO),
        ("Б", NO, NO),
        ("А", NO, NO),
        ("Ａ", NO, NO),
        ("🅰", NO, NO),
        ("apple", A, NO),
        ("banana", NO, NO),
        ("obviously not", B, NO),
    ];

    #[test]
    fn both_parsers_read_the_table_as_written() {
        const { assert!(ANSWERS.len() >= 60) };
        for &(answer, paper, strict) in ANSWERS {
            assert_eq!(
                as_published(answer),
                paper,
                "the paper's parser on {answer:?}"
            );
            assert_eq!(strictly(answer), strict, "the strict parser on {answer:?}");
        }
    }

    #[test]
    fn symbols_are_read_exactly_or_leniently() {
        let options: Vec<String> = ["N", "∀", "_", "u"].map(String::from).to_vec();
        let cases = [
            ("N", Some(0), Some(0)),
            (" ∀\n", Some(1), Some(1)),
            ("\"∀\"", None, Some(1)),
            ("The answer is N.", None, Some(0)),
            ("N or u", None, None),
            ("_", Some(2), Some(2)),
            ("n", None, None),
            ("", None, None),
            ("None", None, None),
        ];
        for (answer, exact, lenient) in cases {
            assert_eq!(exact_symbol(answer, &options), exact, "{answer:?}");
            assert_eq!(lenient_symbol(answer, &options), lenient, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_a_parser(answer in "\\PC*|[AaBb :label\\n\"]{0,12}") {
            let _ = as_published(&answer);
            let _ = strictly(&answer);
            let _ = lenient_symbol(&answer, &["A".into(), "∀".into()]);
        }

        #[test]
        fn the_strict_parser_needs_a_letter_of_its_own(word in "[c-zC-Z]{1,8}") {
            prop_assert_eq!(strictly(&word), None);
        }
    }
}

//! Reading the choice out of an answer. "Your response should end with your choice of answer" is what
//! the model is told, so that the end is looked at first; an answer that names no option, or several
//! without settling on one, stays unread.

/// The words of a text: lower-case, a plural's `s` dropped, so that "Optical filter" is the option
/// "optical filters".
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '-')
        .map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()))
        .flat_map(|w| w.split('-'))
        .filter(|w| !w.is_empty())
        .map(|w| {
            let lower = w.to_lowercase();
            match lower.strip_suffix('s') {
                Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem.to_owned(),
                _ => lower,
            }
        })
        .collect()
}

/// The options named in a text, in order of mention. Where one option's name holds another's, the
/// longer one counts.
fn mentions(text: &str, options: &[Vec<String>]) -> Vec<usize> {
    let words = words(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let here = options
            .iter()
            .enumerate()
            .filter(|(_, o)| !o.is_empty() && words.get(at..).is_some_and(|w| w.starts_with(o)))
            .max_by_key(|(_, o)| o.len());
        match here {
            Some((option, name)) => {
                found.push(option);
                at += name.len();
            }
            None => at += 1,
        }
    }
    found
}

/// The only option mentioned, if there is exactly one.
fn only(mentions: &[usize]) -> Option<usize> {
    let first = *mentions.first()?;
    mentions.iter().all(|m| *m == first).then_some(first)
}

/// What comes after the last phrase that announces an answer, up to the end of its line.
fn announced(text: &str) -> Option<&str> {
    const CUES: [&str; 8] = [
        "answer is",
        "answer:",
        "answer would be",
        "choice is",
        "choice:",
        "i choose",
        "i select",
        "i would choose",
    ];
    // Only ASCII is lower-cased, so that places in both texts are the same.
    let lower = text
        .to_ascii_lowercase()
        .replace("**", "  ")
        .replace('_', " ");
    let (at, cue) = CUES
        .iter()
        .filter_map(|cue| lower.rfind(cue).map(|at| (at, cue)))
        .max()?;
    let rest = text.get(at + cue.len()..)?;
    // A heading ("Answer:") may stand on a line of its own.
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    Some(rest.lines().next().unwrap_or(rest))
}

/// The option an answer settles on: the only one in what follows the last announcement ("the answer
/// is …"), else the only one in the last line, else the last one of the last line when the line ends
/// in it, else the only one in the whole text.
pub fn choice(answer: &str, options: &[String]) -> Option<usize> {
    let named: Vec<Vec<String>> = options.iter().map(|o| words(o)).collect();
    if let Some(said) = announced(answer)
        && let Some(option) = only(&mentions(said, &named))
    {
        return Some(option);
    }
    let mut lines = answer
        .lines()
        .rev()
        .filter(|l| l.chars().any(char::is_alphanumeric));
    let last = lines.next().unwrap_or_default();
    let in_last = mentions(last, &named);
    if let Some(option) = only(&in_last) {
        return Some(option);
    }
    if let Some(option) = ends_in(last, &named, &in_last) {
        return Some(option);
    }
    if in_last.is_empty() {
        only(&mentions(answer, &named))
    } else {
        None
    }
}

/// The option that ends a line, where the line does not list the options side by side.
fn ends_in(line: &str, options: &[Vec<String>], mentioned: &[usize]) -> Option<usize> {
    let last = *mentioned.last()?;
    let words = words(line);
    let name = options.get(last)?;
    let before = words.len().checked_sub(name.len() + 1)?;
    let lists = words
        .get(before)
        .is_some_and(|w| ["or", "and", "nor", "not"].contains(&w.as_str()));
    let all = (0..options.len()).all(|o| mentioned.contains(&o));
    (words.ends_with(name) && !lists && !all).then_some(last)
}

/// The strict reading: the last line is an option and nothing else, marks aside.
pub fn strictly(answer: &str, options: &[String]) -> Option<usize> {
    let line = answer.lines().rev().find(|l| !l.trim().is_empty())?;
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    options.iter().position(|o| o.eq_ignore_ascii_case(bare))
}

/// The judge's 0 or 1.
pub fn verdict(answer: &str) -> Option<bool> {
    let bare = answer.trim().trim_matches(|c: char| !c.is_alphanumeric());
    match bare.split_whitespace().next_back().or(Some(bare))? {
        "1" => Some(true),
        "0" => Some(false),
        _ => match bare.split_whitespace().next()? {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPTIONS: [&str; 4] = [
        "gravity",
        "reflection",
        "diffuse reflection of light",
        "optical filters",
    ];

    fn options() -> Vec<String> {
        OPTIONS.map(String::from).to_vec()
    }

    /// Answer, lenient reading, strict reading.
    const ANSWERS: &[(&str, Option<usize>, Option<usize>)] = &[
        ("gravity", Some(0), Some(0)),
        ("Gravity", Some(0), Some(0)),
        (" Gravity.", Some(0), Some(0)),
        ("**Gravity**", Some(0), Some(0)),
        ("\"reflection\"", Some(1), Some(1)),
        ("diffuse reflection of light", Some(2), Some(2)),
        ("Diffuse Reflection of Light.", Some(2), Some(2)),
        (
            "The rays scatter.\n\nDiffuse reflection of light",
            Some(2),
            Some(2),
        ),
        ("Optical filter", Some(3), None),
        ("optical-filters", Some(3), None),
        ("The answer is gravity.", Some(0), None),
        ("Answer: gravity", Some(0), None),
        ("**Answer:** Gravity", Some(0), None),
        ("Answer:\ngravity", Some(0), Some(0)),
        (
            "**Answer: reflection**\n\nThe ray comes back.",
            Some(1),
            None,
        ),
        ("My choice is optical filters", Some(3), None),
        ("I choose reflection because the ray turns", Some(1), None),
        ("Things fall, so it is gravity", Some(0), None),
        (
            "gravity would pull down; reflection turns back.\nHence the answer is reflection.",
            Some(1),
            None,
        ),
        (
            "It could be gravity or reflection. The answer is: **gravity**",
            Some(0),
            None,
        ),
        (
            "The answer is not gravity.\nI think the best fit is optical filters",
            Some(0),
            None,
        ),
        ("Not reflection but gravity", Some(0), None),
        ("gravity rather than reflection is shown", None, None),
        ("gravity or reflection", None, None),
        (
            "gravity, reflection, diffuse reflection of light, optical filters",
            None,
            None,
        ),
        ("gravity and reflection", None, None),
        ("", None, None),
        ("   \n\n", None, None),
        ("I cannot tell.", None, None),
        ("magnetism", None, None),
        ("B", None, None),
        ("2", None, None),
        ("antigravity", None, None),
        (
            "The options: gravity, reflection.\n\nI am not sure.",
            None,
            None,
        ),
        (
            "Only gravity fits here.\n\nI hope this helps!",
            Some(0),
            None,
        ),
        ("reflection\nreflection", Some(1), Some(1)),
        ("1. gravity\n2. reflection\n\nFinal answer: 2", None, None),
        ("REFLECTION", Some(1), Some(1)),
        ("`gravity`", Some(0), Some(0)),
        ("(gravity)", Some(0), Some(0)),
        ("Réflexion", None, None),
        ("🪂 gravity 🪂", Some(0), Some(0)),
        ("Choice: diffuse reflection of light\n", Some(2), None),
    ];

    #[test]
    fn answers_are_read_as_written_in_the_table() {
        for &(answer, lenient, strict) in ANSWERS {
            assert_eq!(choice(answer, &options()), lenient, "{answer:?}");
            assert_eq!(strictly(answer, &options()), strict, "strictly {answer:?}");
        }
    }

    #[test]
    fn numbers_and_places_can_be_options() {
        let counts: Vec<String> = ["1", "2", "3", "12"].map(String::from).to_vec();
        assert_eq!(choice("There are 12.", &counts), Some(3));
        assert_eq!(choice("2 objects", &counts), Some(1));
        let places: Vec<String> = ["row 1, column 2", "row 2, column 1"]
            .map(String::from)
            .to_vec();
        assert_eq!(choice("It is at row 2, column 1.", &places), Some(1));
    }

    #[test]
    fn the_judges_verdict_is_a_digit() {
        let cases = [
            ("1", Some(true)),
            ("0.", Some(false)),
            ("**1**", Some(true)),
            ("Verdict: 0", Some(false)),
            ("1 - correct", Some(true)),
            ("correct", None),
            ("", None),
        ];
        for (answer, expected) in cases {
            assert_eq!(verdict(answer), expected, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_parser(answer in "(\\PC|gravity|answer is|\n| ){0,20}") {
            let _ = choice(&answer, &options());
            let _ = strictly(&answer, &options());
            let _ = verdict(&answer);
        }

        #[test]
        fn an_option_alone_is_always_read(which in 0usize..4, blank in "[ \\n]{0,3}") {
            let answer = format!("{blank}{}{blank}", OPTIONS[which]);
            prop_assert_eq!(choice(&answer, &options()), Some(which));
        }
    }
}

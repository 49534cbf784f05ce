//! Regular expressions with Python's meaning: look-around, `$` before a last newline, and `findall`'s
//! choice of groups. Matching is bounded by Oniguruma's limit of steps.

use onig::{MatchParam, RegexOptions, Region, SearchOptions, Syntax};

const LONGEST: usize = 10_000;

const STEPS: u32 = 2_000_000;

/// Bytes that replacing makes, at most, where the text is not longer itself.
const LONGEST_RESULT: usize = 16 << 20;

pub struct Pattern {
    regex: onig::Regex,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

impl Pattern {
    /// Compiles a pattern as `re.compile` would.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        // `^` and `$` are those of the whole text, as in Python.
        let options = RegexOptions::REGEX_OPTION_SINGLELINE;
        let regex = onig::Regex::with_options(pattern, options, Syntax::python())
            .map_err(|e| e.description().to_owned())?;
        Ok(Self { regex })
    }

    fn search(&self, text: &str, from: usize) -> Option<Region> {
        let mut region = Region::new();
        let mut limits = MatchParam::default();
        limits.set_retry_limit_in_match(STEPS);
        let found = self.regex.search_with_param(
            text,
            from,
            text.len(),
            SearchOptions::SEARCH_OPTION_NONE,
            Some(&mut region),
            limits,
        );
        found.ok().flatten().map(|_| region)
    }

    /// All matches: for each, its place and what `findall` gives: the groups, or the whole where there
    /// are none.
    pub fn find_all<'t>(&self, text: &'t str) -> Vec<Match<'t>> {
        let mut found = Vec::new();
        let mut from = 0;
        while from <= text.len() {
            let Some(region) = self.search(text, from) else {
                break;
            };
            let Some((start, end)) = region.pos(0) else {
                break;
            };
            let group = |n: usize| {
                let place = region.pos(n);
                place.and_then(|(a, b)| text.get(a..b)).unwrap_or_default()
            };
            let groups = match region.len() {
                0 | 1 => vec![group(0)],
                n => (1..n).map(group).collect(),
            };
            found.push(Match { start, end, groups });
            from = if end > start {
                end
            } else {
                // After an empty match, on with the next character.
                let next = text.get(end..).and_then(|t| t.chars().next());
                end + next.map_or(1, char::len_utf8)
            };
        }
        found
    }

    /// `re.sub(pattern, "", text)`.
    pub fn remove(&self, text: &str) -> String {
        // What is taken out makes nothing longer.
        self.replace(text, "").unwrap_or_default()
    }

    /// `re.sub(pattern, with, text)`, where `with` may name groups as `\1` or `\g<1>`; nothing where that
    /// would be longer than any prompt.
    pub fn replace(&self, text: &str, with: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut last = 0;
        for found in self.find_all(text) {
            out.push_str(text.get(last..found.start).unwrap_or_default());
            insert(&mut out, with, &found, text)?;
            last = found.end;
        }
        out.push_str(text.get(last..).unwrap_or_default());
        Some(out)
    }
}

fn insert(out: &mut String, with: &str, found: &Match<'_>, text: &str) -> Option<()> {
    let long = |out: &String| out.len() > LONGEST_RESULT.max(2 * text.len());
    let mut rest = with;
    while let Some(at) = rest.find('\\') {
        if long(out) {
            return None;
        }
        out.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        let named = after.strip_prefix("g<").and_then(|t| t.split_once('>'));
        let (digit, tail) = match named {
            Some((name, tail)) => (name.parse::<usize>().ok(), tail),
            None => {
                let first = after.chars().next();
                let tail = after.get(first.map_or(0, char::len_utf8)..);
                (
                    first.and_then(|c| c.to_digit(10)).map(|d| d as usize),
                    tail.unwrap_or_default(),
                )
            }
        };
        match digit {
            Some(0) => out.push_str(text.get(found.start..found.end).unwrap_or_default()),
            Some(n) => out.push_str(found.groups.get(n - 1).copied().unwrap_or_default()),
            None => match after.chars().next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c) => out.push(c),
                None => out.push('\\'),
            },
        }
        rest = tail;
    }
    out.push_str(rest);
    (!long(out)).then_some(())
}

#[derive(Debug)]
pub struct Match<'t> {
    start: usize,
    end: usize,
    /// The groups, or the whole match where there are none.
    pub groups: Vec<&'t str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_findall() {
        let of = |pattern: &str, text: &str| -> Vec<Vec<String>> {
            let pattern = Pattern::new(pattern).unwrap();
            let all = pattern.find_all(text).into_iter();
            all.map(|f| f.groups.iter().map(|g| (*g).to_owned()).collect())
                .collect()
        };
        assert_eq!(
            of(r"#### (\-?[0-9\.\,]+)", "a #### 12 b #### -3,4"),
            [["12"], ["-3,4"]]
        );
        assert_eq!(
            of(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", "7 and 42"),
            [["", "7"], ["42", ""]]
        );
        assert_eq!(of(r"(?<=answer is )(.*)(?=.)", "the answer is B."), [["B"]]);
        assert_eq!(of(r"^(.*?)(?=\n|$)", "one\ntwo"), [["one"]]);
        assert_eq!(of(r"^(.*?)\s*$", "one\ntwo"), Vec::<Vec<String>>::new());
        assert_eq!(of(r"[A-D]", "A or D"), [["A"], ["D"]]);
        assert_eq!(of(r"(?P<x>\d)", "1"), [["1"]]);
        // Before a last newline, as in Python and not as in most other engines.
        assert_eq!(of(r"\.$", "x.\n"), [["."]]);
    }

    #[test]
    fn replacing_is_pythons() {
        let of = |pattern: &str, with: &str, text: &str| {
            Pattern::new(pattern).unwrap().replace(text, with).unwrap()
        };
        assert_eq!(of(",", "", "1,000,000"), "1000000");
        assert_eq!(of("(?s).*#### ", "", "x\ny #### 5"), "5");
        assert_eq!(of(r"(\w)(\w)", r"\2\1-", "abcd"), "ba-dc-");
        assert_eq!(of("x*", "-", "abc"), "-a-b-c-");
    }

    #[test]
    fn a_pattern_that_never_ends_is_given_up() {
        let pattern = Pattern::new("(a+)+$").unwrap();
        assert!(pattern.find_all(&("a".repeat(40) + "b")).is_empty());
    }
}

//! What is read from an answer in words before it is judged: the harness' filters, in the order of the
//! task file. Several named rows of filters are judged side by side.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value as Json;

use crate::lm_eval::Refusal;
use crate::lm_eval::pattern::{Match, Pattern};
use crate::lm_eval::python::{is_space, str_of_json};
use crate::lm_eval::yaml::{Data, Node};

/// The pattern of a `regex` filter that names none.
const NUMBER: &str = r"#### (\-?[0-9\.\,]+)";

/// What a filter gives where nothing was found, unless the file says otherwise.
const INVALID: &str = "[invalid]";

static PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{P}").ok());

#[derive(Debug, Clone)]
pub struct Pipeline {
    pub name: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    /// Nothing is left to be done where there is one answer.
    Nothing,
    Strip,
    Lower,
    Upper,
    Pick(Arc<Pick>),
    Option(Arc<Pick>, Ignored),
    Map(Arc<Vec<(String, Json)>>, Json),
}

/// A pattern, which of its matches counts, and what stands for none.
#[derive(Debug)]
struct Pick {
    pattern: Pattern,
    select: i64,
    fallback: String,
}

#[derive(Debug, Clone)]
struct Ignored {
    case: bool,
    punctuation: bool,
    patterns: Arc<Vec<Pattern>>,
}

/// Why a filter is refused or wrong, with its line.
type Fault = (usize, Result<Refusal, String>);

/// Reads one entry of `filter_list`.
pub fn read(node: &Node) -> Result<Pipeline, Fault> {
    let name = node.get("name").and_then(Node::text);
    let name = name.ok_or((
        node.line,
        Err("a filter of `filter_list` has no `name`".to_owned()),
    ))?;
    let Some(Data::List(steps)) = node.get("filter").map(|n| &n.data) else {
        return Err((node.line, Err("`filter` is a list of functions".into())));
    };
    Ok(Pipeline {
        name: name.to_owned(),
        steps: steps.iter().map(step).collect::<Result<_, _>>()?,
    })
}

fn step(node: &Node) -> Result<Step, Fault> {
    let function = node.get("function").and_then(Node::text);
    Ok(match function.unwrap_or_default() {
        "take_first" | "majority_vote" => Step::Nothing,
        "take_first_k" if matches!(node.get("k").map(|n| &n.data), Some(Data::Int(1))) => {
            Step::Nothing
        }
        "remove_whitespace" => Step::Strip,
        "lowercase" => Step::Lower,
        "uppercase" => Step::Upper,
        "regex" => Step::Pick(Arc::new(pick(node)?)),
        "multi_choice_regex" => {
            let patterns = patterns_to_ignore(node).map_err(|(line, why)| (line, Ok(why)))?;
            let ignored = Ignored {
                case: node.is_on("ignore_case"),
                punctuation: node.is_on("ignore_punctuation"),
                patterns: Arc::new(patterns),
            };
            Step::Option(Arc::new(pick(node)?), ignored)
        }
        "map" => {
            let entries: &[_] = match node.get("mapping_dict").map(|n| &n.data) {
                Some(Data::Map(entries)) => entries,
                _ => &[],
            };
            let texts = entries.iter().filter(|(key, _)| key.is_text);
            let pairs = texts.map(|(key, value)| (key.name.clone(), value.json()));
            let default = node.get("default_value").map_or(Json::Null, Node::json);
            Step::Map(Arc::new(pairs.collect()), default)
        }
        other => return Err((node.line, Ok(Refusal::Filter(other.to_owned())))),
    })
}

fn compiled(node: &Node) -> Result<Pattern, (usize, Refusal)> {
    let text = node.text().unwrap_or_default();
    Pattern::new(text).map_err(|why| (node.line, Refusal::Pattern(format!("`{text}`: {why}"))))
}

/// `regexes_to_ignore` of a filter or a metric.
pub fn patterns_to_ignore(node: &Node) -> Result<Vec<Pattern>, (usize, Refusal)> {
    match node.get("regexes_to_ignore").map(|n| &n.data) {
        Some(Data::List(members)) => members.iter().map(compiled).collect(),
        _ => Ok(Vec::new()),
    }
}

fn pick(node: &Node) -> Result<Pick, Fault> {
    let pattern = match node.get("regex_pattern") {
        Some(pattern) => compiled(pattern).map_err(|(line, why)| (line, Ok(why)))?,
        None => Pattern::new(NUMBER).map_err(|why| (node.line, Ok(Refusal::Pattern(why))))?,
    };
    let select = match node.get("group_select").map(|n| &n.data) {
        None => 0,
        Some(Data::Int(n)) => *n,
        Some(_) => return Err((node.line, Err("`group_select` is a whole number".into()))),
    };
    let fallback = node.get("fallback").map(|n| str_of_json(&n.json()));
    Ok(Pick {
        pattern,
        select,
        fallback: fallback.unwrap_or_else(|| INVALID.into()),
    })
}

impl Pipeline {
    /// The answer as it is.
    pub fn first() -> Self {
        Self {
            name: "none".into(),
            steps: Vec::new(),
        }
    }

    /// `options` is the row's column `choices`, which one filter looks at.
    pub fn read(&self, answer: &str, options: &[String]) -> String {
        let mut text = answer.to_owned();
        for step in &self.steps {
            text = match step {
                Step::Nothing => text,
                Step::Strip => text.trim_matches(is_space).to_owned(),
                Step::Lower => text.to_lowercase(),
                Step::Upper => text.to_uppercase(),
                Step::Pick(pick) => pick.read(&text),
                Step::Option(pick, ignored) => option(pick, ignored, &text, options),
                Step::Map(pairs, default) => {
                    let found = pairs.iter().find(|(key, _)| *key == text);
                    str_of_json(found.map_or(default, |(_, value)| value))
                }
            };
        }
        text
    }

    pub fn sees_options(&self) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Option(..)))
    }

    /// Its steps in words, for the conventions of a run.
    pub fn words(&self) -> String {
        let names = self.steps.iter().map(|step| match step {
            Step::Nothing => "take_first",
            Step::Strip => "remove_whitespace",
            Step::Lower => "lowercase",
            Step::Upper => "uppercase",
            Step::Pick(_) => "regex",
            Step::Option(..) => "multi_choice_regex",
            Step::Map(..) => "map",
        });
        match names.collect::<Vec<_>>().as_slice() {
            [] => "take_first".into(),
            names => names.join(", "),
        }
    }
}

impl Pick {
    /// The chosen match, in Python's way of counting.
    fn chosen<'a, 't>(&self, all: &'a [Match<'t>]) -> Option<&'a Match<'t>> {
        let from = if self.select < 0 { all.len() as i64 } else { 0 };
        all.get(usize::try_from(from + self.select).ok()?)
    }

    fn read(&self, text: &str) -> String {
        let all = self.pattern.find_all(text);
        let found = self.chosen(&all).and_then(|f| match f.groups.as_slice() {
            // One group counts even where it is empty; of several, the first that is not.
            [one] => Some(*one),
            several => several.iter().copied().find(|g| !g.is_empty()),
        });
        let found = found.unwrap_or(&self.fallback);
        found.trim_matches(is_space).to_owned()
    }
}

fn option(pick: &Pick, ignored: &Ignored, text: &str, options: &[String]) -> String {
    let of = |pattern: &Pattern, text: &str| -> Option<String> {
        let all = pattern.find_all(text);
        let found = pick.chosen(&all)?;
        let group = found.groups.iter().find(|g| !g.is_empty())?;
        let group = group.trim_matches(is_space);
        (!group.is_empty()).then(|| group.to_owned())
    };
    if let Some(found) = of(&pick.pattern, text) {
        return found;
    }
    let without = |text: &str| {
        let mut text = text.to_owned();
        for pattern in ignored.patterns.iter() {
            text = pattern.remove(&text);
        }
        if ignored.case {
            text = text.to_lowercase();
        }
        match PUNCTUATION.as_ref().filter(|_| ignored.punctuation) {
            Some(punctuation) => punctuation.replace_all(&text, "").into_owned(),
            None => text,
        }
    };
    let letter = |at: usize| char::from_u32(u32::from('A') + at as u32).unwrap_or('?');
    let bare: Vec<String> = options
        .iter()
        .map(|o| without(o.trim_matches(is_space)))
        .collect();
    // Longest first, so that an option that begins another does not hide it.
    let mut longest: Vec<String> = bare.iter().map(|o| regex::escape(o)).collect();
    longest.sort_by_key(|o| std::cmp::Reverse(o.chars().count()));
    if let Ok(pattern) = Pattern::new(&longest.join("|"))
        && let Some(found) = of(&pattern, &without(text))
    {
        // Of two equal options the later one counts, as in a dictionary.
        return match bare.iter().rposition(|o| *o == found) {
            Some(at) => format!("({})", letter(at)),
            None => found,
        };
    }
    let letters: Vec<String> = (0..options.len())
        .map(|at| letter(at).to_string())
        .collect();
    if let Ok(pattern) = Pattern::new(&format!(r":[\s]*({})", letters.join("|")))
        && let Some(found) = of(&pattern, text)
    {
        return match letters.contains(&found) {
            true => format!("({found})"),
            false => found,
        };
    }
    pick.fallback.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm_eval::yaml;

    fn pipeline(text: &str) -> Pipeline {
        read(&yaml::read(text).unwrap()).unwrap()
    }

    #[test]
    fn numbers_are_picked() {
        let last = pipeline(
            "name: x\nfilter:\n- function: regex\n  group_select: -1\n  regex_pattern: '(-?[$0-9.,]{2,})|(-?[0-9]+)'\n- function: take_first\n",
        );
        assert_eq!(last.read("3 apples and 12 pears", &[]), "12");
        assert_eq!(last.read("3 apples and 5", &[]), "5");
        assert_eq!(last.read("none", &[]), "[invalid]");
    }

    #[test]
    fn options_are_found_by_letter_and_words() {
        let mc = pipeline(
            "name: x\nfilter:\n- function: multi_choice_regex\n  group_select: -1\n  ignore_case: true\n  ignore_punctuation: true\n  regex_pattern: '(\\([A-Z]\\))'\n- function: take_first\n",
        );
        let options = ["Red", "Red wine", "Blue!"].map(String::from);
        assert_eq!(mc.read("so (A) or (B)", &options), "(B)");
        assert_eq!(mc.read("it is red wine", &options), "(B)");
        assert_eq!(mc.read("the answer: C", &options), "(C)");
        assert_eq!(mc.read("blue", &options), "(C)");
        assert_eq!(mc.read("nothing", &options), "[invalid]");
    }

    #[test]
    fn others_are_refused_by_name() {
        let node = yaml::read("name: x\nfilter:\n- function: custom\n").unwrap();
        let (line, refusal) = read(&node).unwrap_err();
        assert_eq!(
            (line, refusal.unwrap().kind().as_str()),
            (3, "filter `custom`")
        );
    }
}

//! `psychometric/define-use`: can a model that picks the right definition of a concept also use it? After
//! the Potemkin benchmark (Mancoridis et al. 2025): understanding that ends with the definition is a facade.
//!
//! Every item asks twice: which of four sentences defines the concept, and which of two things is an
//! instance of it. The concepts are such that both answers are computed: properties of strings and
//! numbers. The score is use; `defined` is the definition, and `potemkin` the share of wrong uses among
//! items whose concept was defined rightly (half is blind guessing, 0 is understanding). A file of other
//! concepts can be given (`--set source=file --set file=PATH`), one JSON object a line, or the benchmark's
//! own examples (`source=published`, see `released`).

mod released;

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{
    Ask, Citation, DataError, DataSource, Item, Items, Judgement, Needs, Param, Prompt, PromptForm,
    Reply, Request, Response, Score, Scored, Start, Target, Task, TaskCard, TaskError,
    TaskSettings, text,
};
use mary_generators::{Stream, below, best, shuffle, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::choice::failed;
use crate::settings::{choose, no_shots, number};

static PARAMS: [Param; 3] = [
    Param::new(
        "source",
        "fresh",
        "fresh, published, file",
        "Items made from the seed, the benchmark's released examples (`file` is its folder \
            BenchmarkDataset/classify or one of its CSV files), or those of a file of yours.",
    ),
    Param::new(
        "file",
        "",
        "a path",
        "With source=file: one JSON object a line with the fields concept, definitions (the right one \
            first), instance and other. With source=published: CSV with the columns Concept, Example and \
            True Label.",
    ),
    Param::new(
        "n",
        "10",
        "a number from 1 to 500",
        "Fresh items of each of the twelve concepts.",
    ),
];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/define-use"),
    family: text("psychometric"),
    version: 1,
    title: text("Definition and use"),
    about: text(
        "A model is asked for the definition of a concept (one of four) and to use it (which of two is an \
            instance). The score is use; `potemkin` is how often a concept that was defined rightly is used \
            wrongly: one half for a facade, 0 for understanding. Twelve concepts of strings and numbers \
            whose instances are computed.",
    ),
    chance: Some(0.5),
    human: None,
    params: Param::list(&PARAMS),
    dataset: None,
    citation: Citation {
        text: text(
            "Marina Mancoridis, Bec Weeks, Keyon Vafa and Sendhil Mullainathan. 2025. Potemkin \
            Understanding in Large Language Models. ICML 2025.",
        ),
        link: text("arXiv:2506.21521"),
    },
    starter: None,
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct DefineUse;

pub static DEFINE_USE: DefineUse = DefineUse;

/// A concept: its name with its article, its definition.
struct Concept {
    name: &'static str,
    definition: &'static str,
}

const CONCEPTS: [Concept; 12] = [
    Concept {
        name: "a palindrome",
        definition: "a string that reads the same backwards as forwards",
    },
    Concept {
        name: "an isogram",
        definition: "a string in which no letter occurs more than once",
    },
    Concept {
        name: "a pair of anagrams",
        definition: "two strings made of the same letters in different orders",
    },
    Concept {
        name: "an abecedarian string",
        definition: "a string whose letters stand in the order of the alphabet",
    },
    Concept {
        name: "a tautogram",
        definition: "a row of words that all begin with the same letter",
    },
    Concept {
        name: "a tautonym",
        definition: "a string that consists of the same part twice in a row",
    },
    Concept {
        name: "a prime number",
        definition: "a number above one that only one and itself divide",
    },
    Concept {
        name: "a square number",
        definition: "a number that is some whole number times itself",
    },
    Concept {
        name: "a triangular number",
        definition: "a number that is the sum of the first few whole numbers",
    },
    Concept {
        name: "an arithmetic progression",
        definition: "a row of numbers in which neighbours always differ by the same amount",
    },
    Concept {
        name: "a geometric progression",
        definition: "a row of numbers in which each is the same multiple of the one before",
    },
    Concept {
        name: "a leap year",
        definition: "a year with one day more in February than the others",
    },
];

fn letters(rng: &mut Stream, n: usize) -> Vec<char> {
    let mut all: Vec<char> = ('a'..='z').collect();
    shuffle(rng, &mut all);
    all.truncate(n);
    all
}

fn joined(parts: &[u64]) -> String {
    let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
    parts.join(", ")
}

fn prime(n: u64) -> bool {
    n > 1
        && (2..n)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}

fn root(n: u64) -> u64 {
    (0..).take_while(|r| r * r <= n).last().unwrap_or(0)
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// An instance of a concept and something near it that is none; nothing where the draw does not give
/// both.
fn pair(concept: usize, rng: &mut Stream) -> Option<(String, String)> {
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let number = |rng: &mut Stream, from: usize, to: usize| (from + below(rng, to - from)) as u64;
    Some(match concept {
        0 => {
            let half = letters(rng, 3);
            let whole: Vec<char> = half
                .iter()
                .chain(half.iter().rev().skip(1))
                .copied()
                .collect();
            let mut other = whole.clone();
            other.swap(0, 1);
            (text(&whole), text(&other))
        }
        1 => {
            let whole = letters(rng, 6);
            let mut other = whole.clone();
            let (from, to) = (below(rng, 3), 3 + below(rng, 3));
            *other.get_mut(to)? = *whole.get(from)?;
            (text(&whole), text(&other))
        }
        2 => {
            let whole = letters(rng, 7);
            let (first, extra) = (whole.get(..6)?.to_vec(), *whole.get(6)?);
            let mut second = first.clone();
            second.rotate_left(2);
            second.swap(0, 1);
            let mut other = second.clone();
            *other.get_mut(below(rng, 6))? = extra;
            let first = text(&first);
            (
                format!("{first} {}", text(&second)),
                format!("{first} {}", text(&other)),
            )
        }
        3 => {
            let mut whole = letters(rng, 6);
            whole.sort_unstable();
            let mut other = whole.clone();
            let at = below(rng, 5);
            other.swap(at, at + 1);
            (text(&whole), text(&other))
        }
        4 => {
            let members: Vec<&str> = mary_generators::small_world::categories()
                .flat_map(|c| c.members.iter().copied())
                .filter(|m| m.bytes().all(|b| b.is_ascii_lowercase()))
                .collect();
            let first = members.get(below(rng, members.len()))?.chars().next()?;
            let mut same: Vec<&str> = members
                .iter()
                .copied()
                .filter(|m| m.starts_with(first))
                .collect();
            same.sort_unstable();
            same.dedup();
            shuffle(rng, &mut same);
            let mut others: Vec<&str> = members
                .into_iter()
                .filter(|m| !m.starts_with(first))
                .collect();
            shuffle(rng, &mut others);
            let [a, b, c, ..] = same.as_slice() else {
                return None;
            };
            (
                format!("{a} {b} {c}"),
                format!("{a} {b} {}", others.first()?),
            )
        }
        5 => {
            let whole = letters(rng, 4);
            let (part, extra) = (whole.get(..3)?, *whole.get(3)?);
            let mut other = part.to_vec();
            *other.get_mut(below(rng, 3))? = extra;
            (
                format!("{0}{0}", text(part)),
                format!("{}{}", text(part), text(&other)),
            )
        }
        6 => {
            let n = number(rng, 11, 199);
            // Neither even nor a multiple of five: the last digit tells nothing.
            let near = [n + 2, n + 4, n + 6, n + 8, n + 10];
            let other = near
                .into_iter()
                .find(|m| !prime(*m) && !m.is_multiple_of(5) && !m.is_multiple_of(2))?;
            if !prime(n) {
                return None;
            }
            (n.to_string(), other.to_string())
        }
        7 => {
            let side = number(rng, 4, 31);
            let other = side * side + 2 * number(rng, 1, 4);
            if root(other).pow(2) == other {
                return None;
            }
            ((side * side).to_string(), other.to_string())
        }
        8 => {
            let (k, more) = (number(rng, 4, 30), number(rng, 1, 4));
            let whole = k * (k + 1) / 2;
            let other = whole + more;
            if root(8 * other + 1).pow(2) == 8 * other + 1 {
                return None;
            }
            (whole.to_string(), other.to_string())
        }
        9 => {
            let (from, step) = (number(rng, 1, 40), number(rng, 2, 9));
            let whole: Vec<u64> = (0..5).map(|i| from + i * step).collect();
            let mut other = whole.clone();
            *other.get_mut(1 + below(rng, 4))? += 1;
            (joined(&whole), joined(&other))
        }
        10 => {
            let (from, factor) = (number(rng, 1, 9), number(rng, 2, 4));
            let whole: Vec<u64> = (0..5).map(|i| from * factor.pow(i)).collect();
            let mut other = whole.clone();
            *other.get_mut(1 + below(rng, 4))? += 1;
            (joined(&whole), joined(&other))
        }
        _ => {
            let year = number(rng, 1600, 2400);
            let other = year + 2 * number(rng, 1, 3);
            if !leap(year) || leap(other) {
                return None;
            }
            (year.to_string(), other.to_string())
        }
    })
}

/// One item before it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Problem {
    concept: String,
    /// The right one first.
    definitions: Vec<String>,
    instance: String,
    other: String,
}

fn fresh(seed: u64, n: usize) -> Result<Vec<Problem>, TaskError> {
    let mut all = Vec::with_capacity(12 * n);
    for (index, concept) in CONCEPTS.iter().enumerate() {
        let mut rng = stream(seed, &format!("psychometric/define-use/{}", concept.name));
        let mut made: Vec<Problem> = Vec::with_capacity(n);
        for _ in 0..400 * n {
            if made.len() == n {
                break;
            }
            let Some((instance, other)) = pair(index, &mut rng) else {
                continue;
            };
            let mut rest: Vec<&str> = CONCEPTS
                .iter()
                .filter(|c| c.name != concept.name)
                .map(|c| c.definition)
                .collect();
            shuffle(&mut rng, &mut rest);
            let three = rest.into_iter().take(3);
            let definitions = std::iter::once(concept.definition).chain(three);
            made.push(Problem {
                concept: concept.name.to_owned(),
                definitions: definitions.map(str::to_owned).collect(),
                instance,
                other,
            });
        }
        if made.len() < n {
            return Err(TaskError::Generator(format!(
                "{}: {} made {} of {n} items",
                CARD.id,
                concept.name,
                made.len()
            )));
        }
        all.extend(made);
    }
    Ok(all)
}

fn from_file(path: &Path) -> Result<Vec<Problem>, TaskError> {
    let whole = mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA).map_err(|e| {
        DataError::Damaged {
            path: path.to_owned(),
            message: format!("expected a file of concepts: {e}"),
        }
    })?;
    let mut all = Vec::new();
    for (index, row) in whole.lines().enumerate() {
        if row.trim().is_empty() {
            continue;
        }
        let record_error = |message: String| TaskError::Record {
            file: path.display().to_string(),
            line: index + 1,
            message,
        };
        let problem: Problem =
            serde_json::from_str(row).map_err(|e| record_error(e.to_string()))?;
        if problem.definitions.len() < 2 {
            return Err(record_error(
                "expected two or more definitions, the right one first".into(),
            ));
        }
        all.push(problem);
    }
    Ok(all)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Fresh,
    File,
    Published,
}

fn read(settings: &TaskSettings) -> Result<(Source, usize), TaskError> {
    settings.check(&CARD)?;
    no_shots(&CARD, settings)?;
    let source = choose(
        &CARD,
        settings,
        "source",
        &[
            ("fresh", Source::Fresh),
            ("file", Source::File),
            ("published", Source::Published),
        ],
    )?;
    if settings.param(&CARD, "file").is_empty() {
        let hint = match source {
            Source::Fresh => None,
            Source::File => Some(
                "source=file needs a file\nhint: --set file=PATH names a file with one JSON object a line",
            ),
            Source::Published => Some(
                "source=published needs a file\nhint: --set file=PATH names the folder BenchmarkDataset/classify of the \
                 released benchmark, or one of its CSV files",
            ),
        };
        if let Some(hint) = hint {
            return Err(TaskError::Setting(format!("{}: {hint}", CARD.id)));
        }
    }
    let n = number(&CARD, settings, "n", |n: usize| (1..=500).contains(&n))?;
    Ok((source, n))
}

fn scored(form: PromptForm, prefix: String, options: &[&str]) -> Ask {
    let before = match form {
        PromptForm::Plain => " ",
        PromptForm::Chat => "",
    };
    Ask::subject(Request::Score(Score {
        prefix: Prompt::single(form, prefix),
        continuations: options.iter().map(|o| format!("{before}{o}")).collect(),
        start: Start::Model,
        details: Default::default(),
    }))
}

fn item(index: usize, form: PromptForm, problem: &Problem) -> Item {
    let Problem {
        concept,
        definitions,
        instance,
        other,
    } = problem;
    // The instance stands first in every second question.
    let (options, correct) = if index.is_multiple_of(2) {
        ([instance, other], 0)
    } else {
        ([other, instance], 1)
    };
    let question = format!(
        "One of these is {concept}: {} / {}. Which is {concept}?",
        options[0], options[1]
    );
    let shown: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let asks = vec![
        scored(form, format!("By definition, {concept} is"), &shown),
        scored(
            form,
            format!("{question} Answer:"),
            &options.map(String::as_str),
        ),
    ];
    let target = Target::Choice {
        question,
        options: options.map(Clone::clone).to_vec(),
        correct,
    };
    Item::new(format!("{concept} {index:04}"), target, asks)
        .in_stratum(concept.clone())
        .tagged("concept", concept.clone())
}

impl Task for DefineUse {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            score: true,
            ..Needs::default()
        }
    }

    fn family_tag(&self, _: &TaskSettings) -> Option<&'static str> {
        Some("concept")
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let (source, n) = read(settings)?;
        let file = Path::new(settings.param(&CARD, "file"));
        let form = settings.form;
        let problems = match source {
            Source::Fresh => fresh(settings.seed, n)?,
            Source::File => from_file(file)?,
            Source::Published => {
                let examples = released::from_path(file)?.into_iter().enumerate();
                return Ok(Box::new(
                    examples.map(move |(i, e)| Ok(released::item(i, form, &e))),
                ));
            }
        };
        let items = problems.into_iter().enumerate();
        Ok(Box::new(items.map(move |(i, p)| Ok(item(i, form, &p)))))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Target::Choice {
            options, correct, ..
        } = &item.target
        else {
            return failed("an item has two things as its target");
        };
        if settings.param(&CARD, "source") == "published" {
            return match answers {
                [
                    Reply {
                        answer: Response::Scored(scored),
                        ..
                    },
                ] => released::judge(options, *correct, scored),
                _ => failed("expected the scores of yes and no"),
            };
        }
        let [first, second] = answers else {
            return failed("expected two answers: definition and use");
        };
        let (Response::Scored(definition), Response::Scored(usage)) =
            (&first.answer, &second.answer)
        else {
            return failed("expected scores of definitions and of two things");
        };
        judge_both(options, *correct, definition, usage)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok((origin, _)) = read(settings) else {
            return BTreeMap::new();
        };
        let source = match origin {
            Source::Fresh => format!("fresh items of seed {}, twelve concepts", settings.seed),
            Source::File => format!("concepts of {}", settings.param(&CARD, "file")),
            Source::Published => format!("released examples of {}", settings.param(&CARD, "file")),
        };
        let (answer, rate) = match origin {
            Source::Published => (
                "the more probable of yes and no, mean log-probability per token",
                "not measured: the files hold no definitions to choose from; the paper's rate is twice the \
                 share of wrong answers among concepts that a model defined rightly",
            ),
            _ => (
                "the most probable of two things, mean log-probability per token; `defined`: the same of \
                 the definitions",
                "share of wrong uses among items whose concept was defined rightly",
            ),
        };
        [
            ("source", source.as_str()),
            ("answer", answer),
            ("potemkin", rate),
            ("ties", "shared"),
            ("intervals", "over concepts; `families_fixed` over items"),
        ]
        .map(|(name, said)| (name.to_owned(), said.to_owned()))
        .into()
    }
}

/// Use makes the score. By means per token, since definitions differ in length.
fn judge_both(
    options: &[String],
    correct: usize,
    definition: &Scored,
    usage: &Scored,
) -> Judgement {
    let means = |scored: &Scored| -> Vec<f64> {
        let of = scored.continuations.iter();
        of.map(|c| c.mean().unwrap_or(f64::NAN)).collect()
    };
    let (Some((_, defined)), Some((said, used))) =
        (best(&means(definition), 0), best(&means(usage), correct))
    else {
        return Judgement::failed(
            mary_contract::ErrorKind::NotFinite,
            "an answer's log-probability is not a number",
        );
    };
    let mut judgement = Judgement::scored(used).measured("defined", defined);
    if let Some(option) = options.get(said) {
        judgement = judgement.read_as(option.clone());
    }
    if defined == 1.0 {
        judgement = judgement.measured("potemkin", 1.0 - used);
    }
    judgement.notes = json!({ "defined": defined, "used": used });
    judgement
}

#[cfg(test)]
mod tests {
    use mary_contract::{ContinuationScore, NoData, Outcome};

    use super::*;

    /// Whether a thing is an instance, decided by other code than what makes it.
    fn is_instance(concept: &str, thing: &str) -> bool {
        let numbers = || -> Vec<f64> { thing.split(", ").map(|n| n.parse().unwrap()).collect() };
        let sorted = |s: &str| {
            let mut c: Vec<char> = s.chars().collect();
            c.sort_unstable();
            c
        };
        match concept {
            "a palindrome" => thing.chars().eq(thing.chars().rev()),
            "an isogram" => {
                let mut c = sorted(thing);
                c.dedup();
                c.len() == thing.len()
            }
            "a pair of anagrams" => {
                let (a, b) = thing.split_once(' ').unwrap();
                a != b && sorted(a) == sorted(b)
            }
            "an abecedarian string" => thing.chars().eq(sorted(thing)),
            "a tautogram" => {
                let first = thing.chars().next().unwrap();
                thing.split(' ').all(|w| w.starts_with(first))
            }
            "a tautonym" => {
                let (a, b) = thing.split_at(thing.len() / 2);
                a == b
            }
            "a prime number" => {
                let n: u64 = thing.parse().unwrap();
                (1..=n).filter(|d| n.is_multiple_of(*d)).count() == 2
            }
            "a square number" => {
                let n: u64 = thing.parse().unwrap();
                (0..=n).any(|r| r * r == n)
            }
            "a triangular number" => {
                let n: u64 = thing.parse().unwrap();
                (0..=n).any(|k| (0..=k).sum::<u64>() == n)
            }
            "an arithmetic progression" => {
                let x = numbers();
                x.windows(2).all(|w| w[1] - w[0] == x[1] - x[0])
            }
            "a geometric progression" => {
                let x = numbers();
                x.windows(2)
                    .all(|w| (w[1] / w[0] - x[1] / x[0]).abs() < 1e-9)
            }
            "a leap year" => {
                let y: u64 = thing.parse().unwrap();
                (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400)
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn instances_are_instances_and_the_others_are_not() {
        for seed in 0..3 {
            let all = fresh(seed, 40).unwrap();
            assert_eq!(all.len(), 12 * 40);
            for p in &all {
                assert!(is_instance(&p.concept, &p.instance), "{p:?}");
                assert!(!is_instance(&p.concept, &p.other), "{p:?}");
                assert_eq!(p.definitions.len(), 4, "{p:?}");
            }
        }
    }

    #[test]
    fn a_facade_defines_and_does_not_use() {
        let scores = |logprobs: &[f32]| Scored {
            continuations: logprobs
                .iter()
                .map(|l| ContinuationScore {
                    tokens: vec!["x".into()],
                    logprobs: vec![*l],
                    boundary_merged: false,
                    first_unscored: false,
                    windowed: false,
                    details: None,
                })
                .collect(),
        };
        let options = ["level".to_owned(), "lemon".to_owned()];
        let facade = judge_both(
            &options,
            0,
            &scores(&[-1.0, -2.0, -3.0, -4.0]),
            &scores(&[-2.0, -1.0]),
        );
        assert_eq!(facade.outcome, Outcome::Scored(0.0));
        assert_eq!(facade.measures["potemkin"], 1.0);
        let lost = judge_both(&options, 0, &scores(&[-3.0, -2.0]), &scores(&[-2.0, -1.0]));
        assert!(!lost.measures.contains_key("potemkin"));
    }

    #[test]
    fn items_are_balanced_and_files_are_read() {
        let settings = TaskSettings::default();
        let items: Vec<Item> = DEFINE_USE
            .items(&settings, &NoData)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let first = |i: &&Item| matches!(&i.target, Target::Choice { correct: 0, .. });
        assert_eq!(items.len(), 120);
        assert_eq!(items.iter().filter(first).count(), 60);
        let file = tempfile::NamedTempFile::new().unwrap();
        let row = r#"{"concept": "a vowel", "definitions": ["an open sound", "a closed one"], "instance": "e", "other": "k"}"#;
        std::fs::write(file.path(), format!("{row}\n\n")).unwrap();
        assert_eq!(from_file(file.path()).unwrap().len(), 1);
        std::fs::write(file.path(), "{}\n").unwrap();
        assert!(
            from_file(file.path())
                .unwrap_err()
                .to_string()
                .contains(":1:")
        );
    }
}

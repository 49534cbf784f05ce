//! `psychometric/define-use`: can a model that picks the right definition of a concept also use it? After
//! the Potemkin benchmark (Mancoridis et al. 2025): understanding that ends with the definition is a facade.
//!
//! Every item asks twice: which of four sentences defines the concept, and which of two things is an
//! instance of it. The concepts are such that both answers are computed: properties of strings and
//! numbers. The score is use; `defined` is the definition, and `potemkin` the share of wrong uses among
//! items whose concept was defined rightly (half is blind guessing, 0 is understanding). A file of other
//! concepts can be given (`--set source=file --set file=PATH`), one JSON object a line, or the benchmark's
//! own examples (`source=published`, see `released`).

mod concepts;
mod released;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, Item, Items, Judgement, Needs, PromptForm, Reply, Scored, Target, Task, TaskCard,
    TaskError, TaskSettings,
};
use mary_generators::{shuffle, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use concepts::concepts;

use crate::cards::{card, stated};
use crate::choice::{not_finite, score_answers};
use crate::settings::no_shots;
use crate::tables;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/define-use"));

#[derive(Debug, Clone, Copy)]
pub struct DefineUse;

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
    let concepts = concepts();
    for concept in &concepts {
        let mut rng = stream(seed, &format!("psychometric/define-use/{}", concept.name));
        let mut made: Vec<Problem> = Vec::with_capacity(n);
        for _ in 0..400 * n {
            if made.len() == n {
                break;
            }
            let Some((instance, other)) = (concept.pair)(&mut rng) else {
                continue;
            };
            let others = concepts.iter().filter(|c| c.name != concept.name);
            let mut rest: Vec<&str> = others.map(|c| c.definition).collect();
            shuffle(&mut rng, &mut rest);
            let definitions = std::iter::once(concept.definition).chain(rest.into_iter().take(3));
            made.push(Problem {
                concept: concept.name.to_owned(),
                definitions: definitions.map(str::to_owned).collect(),
                instance,
                other,
            });
        }
        if made.len() < n {
            let (id, name, made) = (&CARD.id, concept.name, made.len());
            let message = format!("{id}: {name} made {made} of {n} items");
            return Err(TaskError::Generator(message));
        }
        all.extend(made);
    }
    Ok(all)
}

fn from_file(path: &Path) -> Result<Vec<Problem>, TaskError> {
    let whole = tables::text(path, "a file of concepts")?;
    let mut all = Vec::new();
    for (index, row) in whole.lines().enumerate() {
        if row.trim().is_empty() {
            continue;
        }
        let record_error = |message: String| tables::record(path, index + 1, message);
        let problem: Problem =
            serde_json::from_str(row).map_err(|e| record_error(e.to_string()))?;
        if problem.definitions.len() < 2 {
            let why = "expected two or more definitions, the right one first";
            return Err(record_error(why.into()));
        }
        all.push(problem);
    }
    Ok(all)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ConceptSource {
    Fresh,
    File,
    Published,
}

fn read(settings: &TaskSettings) -> Result<(ConceptSource, usize), TaskError> {
    settings.check(&CARD)?;
    no_shots(&CARD, settings)?;
    use ConceptSource::{File, Fresh, Published};
    let sources = [("fresh", Fresh), ("file", File), ("published", Published)];
    let source = settings.choose(&CARD, "source", &sources)?;
    if settings.param(&CARD, "file").is_empty() {
        let hint = match source {
            ConceptSource::Fresh => None,
            ConceptSource::File => Some(
                "source=file needs a file\nhint: --set file=PATH names a file with one JSON object a line",
            ),
            ConceptSource::Published => Some(
                "source=published needs a file\nhint: --set file=PATH names the folder BenchmarkDataset/classify of the \
                 released benchmark, or one of its CSV files",
            ),
        };
        if let Some(hint) = hint {
            return Err(TaskError::Setting(format!("{}: {hint}", CARD.id)));
        }
    }
    let n = settings.number(&CARD, "n", |n: usize| (1..=500).contains(&n))?;
    Ok((source, n))
}

fn item(index: usize, form: PromptForm, problem: &Problem) -> Item {
    let (concept, instance, other) = (&problem.concept, &problem.instance, &problem.other);
    // The instance stands first in every second question.
    let (options, correct) = match index % 2 {
        0 => ([instance, other], 0),
        _ => ([other, instance], 1),
    };
    let [one, two] = options;
    let question = format!("One of these is {concept}: {one} / {two}. Which is {concept}?");
    let defined = format!("By definition, {concept} is");
    let asks = vec![
        score_answers(form, defined, &problem.definitions),
        score_answers(form, format!("{question} Answer:"), options),
    ];
    let target = Target::one_of(question, options.map(Clone::clone).to_vec(), correct);
    Item::new(format!("{concept} {index:04}"), target, asks)
        .in_stratum_of("concept", concept.clone())
}

impl Task for DefineUse {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn family_tag(&self, _: &TaskSettings) -> Option<&'static str> {
        Some("concept")
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let (source, n) = read(settings)?;
        let file = Path::new(settings.param(&CARD, "file"));
        let form = settings.form;
        let problems = match source {
            ConceptSource::Fresh => fresh(settings.seed, n)?,
            ConceptSource::File => from_file(file)?,
            ConceptSource::Published => {
                let examples = released::from_path(file)?.into_iter().enumerate();
                let items = examples.map(move |(i, e)| Ok(released::item(i, form, &e)));
                return Ok(Box::new(items));
            }
        };
        let items = problems.into_iter().enumerate();
        Ok(Box::new(items.map(move |(i, p)| Ok(item(i, form, &p)))))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Some((options, correct)) = item.target.choice() else {
            return Judgement::fault("an item has two things as its target");
        };
        if settings.param(&CARD, "source") == "published" {
            let only = answers.first().filter(|_| answers.len() == 1);
            return match only.and_then(|reply| reply.answer.as_scored()) {
                Some(scored) => released::judge(options, correct, scored),
                None => Judgement::fault("expected the scores of yes and no"),
            };
        }
        let [first, second] = answers else {
            return Judgement::fault("expected two answers: definition and use");
        };
        match (first.answer.as_scored(), second.answer.as_scored()) {
            (Some(defined), Some(used)) => judge_both(options, correct, defined, used),
            _ => Judgement::fault("expected scores of definitions and of two things"),
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        stated(read(settings), &CARD, settings)
    }
}

/// Use makes the score. By means per token, since definitions differ in length.
fn judge_both(
    options: &[String],
    correct: usize,
    definition: &Scored,
    usage: &Scored,
) -> Judgement {
    let (Some((_, defined)), Some((said, used))) =
        (definition.best_mean(0), usage.best_mean(correct))
    else {
        return not_finite("an answer's log-probability is not a number");
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
        let items: Vec<Item> = DefineUse
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

//! The baselines: what each of them sees, and the audit that runs them all.

use std::collections::{HashMap, HashSet};

use mary_stats::multiple;

use crate::features::{
    Bands, Memory, bag_of_words, capitals, first_character, last_character, ngrams, number_words,
    overlap, punctuation, similarity_to_rivals, standing,
};
use crate::validation::{Classes, Features, MOST_OPTIONS, Set, Sheet};
use crate::{AuditError, AuditReport, Example, Form, Hygiene, folds, forest, relations};

#[derive(Debug, Clone, PartialEq)]
pub struct AuditSettings {
    pub folds: usize,
    pub seed: u64,
    /// A baseline beats chance below this p-value after Holm's correction.
    pub alpha: f64,
    /// Most permutations behind a p-value; fewer are drawn once chance is plain.
    pub permutations: usize,
    /// Trees of the forest beside the simple baselines; none without it.
    pub trees: usize,
    /// Baselines that are the rule itself and therefore no shortcut; also `word_lengths`, `letters`
    /// and `relations`, which only the forest sees.
    pub expected: Vec<String>,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            folds: 10,
            seed: 0,
            alpha: 0.05,
            permutations: 999,
            trees: 60,
            expected: Vec::new(),
        }
    }
}

/// Fewer distinct questions than this cannot be split usefully.
const FEWEST: usize = 10;

/// What a learner may see of other seeds: a pair that recurs would be remembered, not learned.
fn apart_from(examples: &[Example], others: &[Vec<Example>], form: &Form) -> Vec<Vec<Example>> {
    let words = |example: &Example| {
        let words = example.question.split_whitespace();
        let mut words: Vec<String> = words.map(str::to_lowercase).collect();
        words.sort_unstable();
        words
    };
    let known: HashSet<Vec<String>> = match form {
        Form::Labels(_) => examples.iter().map(words).collect(),
        // The options are the question there.
        Form::Options => HashSet::new(),
    };
    let new = |example: &&Example| !known.contains(&words(example));
    let kept = |other: &Vec<Example>| other.iter().filter(new).cloned().collect();
    others.iter().map(kept).collect()
}

/// Runs every baseline that fits the form of the set.
pub fn audit(examples: &[Example], settings: &AuditSettings) -> Result<AuditReport, AuditError> {
    audit_beside(examples, &[], settings)
}

/// The same, with sets of other seeds of the same generator: the forest learns on those. Questions with
/// labels that are in the set itself, their words in any order, are left out of them.
pub fn audit_beside(
    examples: &[Example],
    others: &[Vec<Example>],
    settings: &AuditSettings,
) -> Result<AuditReport, AuditError> {
    let form = Form::detect(examples)?;
    let groups = folds::groups(examples);
    let distinct = groups.iter().enumerate().filter(|(i, g)| i == *g).count();
    if distinct < FEWEST {
        return Err(AuditError::TooFew {
            needed: FEWEST,
            found: distinct,
        });
    }
    let classes = Classes::from_examples(examples, &form);
    let folds = settings.folds.clamp(2, distinct);
    let set = Set {
        examples,
        folds,
        seed: settings.seed,
        groups,
        classes,
    };
    let sheets = match &form {
        Form::Labels(_) => label_sheets(&set),
        Form::Options => option_sheets(&set),
    };
    check_expected(settings, &sheets)?;
    let findings = sheets.iter().map(|sheet| set.finding(sheet, settings));
    let mut findings = findings.collect::<Result<Vec<_>, _>>()?;
    let others = apart_from(examples, others, &form);
    findings.extend(forest::findings(&set, &others, &form, settings)?);
    let p: Vec<f64> = findings.iter().map(|f| f.p).collect();
    for (finding, corrected) in findings.iter_mut().zip(multiple::holm(&p)?) {
        finding.p_holm = corrected;
        finding.beats_chance = corrected < settings.alpha && finding.accuracy.low > finding.chance;
    }
    let by_answer = matches!(form, Form::Labels(_));
    Ok(AuditReport {
        n: examples.len(),
        distinct: examples
            .iter()
            .map(Example::identity)
            .collect::<HashSet<_>>()
            .len(),
        groups: distinct,
        other_seeds: others.len(),
        hygiene: Hygiene::check(examples, |e| {
            if by_answer {
                Some(e.answer().to_owned())
            } else {
                (!e.unordered).then(|| format!("option {}", e.correct + 1))
            }
        }),
        form,
        findings,
    })
}

fn check_expected(settings: &AuditSettings, sheets: &[Sheet]) -> Result<(), AuditError> {
    for name in &settings.expected {
        let groups = forest::GROUPS.iter().copied();
        let names = sheets.iter().map(|sheet| sheet.name);
        let known: Vec<&str> = names.chain(groups).collect();
        if !known.contains(&name.as_str()) {
            return Err(AuditError::UnknownBaseline {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    Ok(())
}

type OfText = fn(&str) -> Vec<String>;

const TEXT_BASELINES: [(&str, OfText); 6] = [
    ("first_character", first_character),
    ("last_character", last_character),
    ("capitals", capitals),
    ("punctuation", punctuation),
    ("words", bag_of_words),
    ("character_ngrams", ngrams),
];

/// Numbers the features and keeps their names.
fn sheet(name: &'static str, rows: Vec<Vec<Vec<String>>>) -> Sheet {
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut numbered = Vec::with_capacity(rows.len());
    for row in rows {
        let mut numbers = Vec::with_capacity(row.len());
        for features in row {
            let number = |feature: String| {
                *known.entry(feature).or_insert_with_key(|feature| {
                    names.push(feature.clone());
                    names.len() as u32 - 1
                })
            };
            numbers.push(features.into_iter().map(number).collect());
        }
        numbered.push(numbers);
    }
    Sheet {
        name,
        features: Features::Fixed(numbered),
        names,
        prior_only: false,
    }
}

fn memory_sheet<'e>(set: &Set<'_>, texts: impl Iterator<Item = &'e str>) -> Sheet {
    let (texts, vocabulary) = number_words(texts);
    Sheet {
        name: "word_memory",
        features: Features::Remembered(texts, vocabulary),
        names: Memory::names(&set.classes.names),
        prior_only: false,
    }
}

fn order_sheet(set: &Set<'_>) -> Sheet {
    let mut names: Vec<String> = Vec::new();
    if set.classes.labels {
        for period in [2, 3, 4] {
            names.extend((1..=period).map(|i| format!("item {i} of every {period}")));
        }
        let follows = |label: &String| format!("follows an item labelled {label}");
        names.extend(set.classes.names.iter().map(follows));
    } else {
        let most = MOST_OPTIONS as i64;
        names.extend((-most..=most).map(|d| format!("{d:+} places from the answer before")));
    }
    Sheet {
        name: "file_order",
        features: Features::Order,
        names,
        prior_only: false,
    }
}

/// Baselines for sets with the same labels everywhere: the surface of the question.
fn label_sheets(set: &Set<'_>) -> Vec<Sheet> {
    let each = |of: &dyn Fn(&Example) -> Vec<String>| -> Vec<Vec<Vec<String>>> {
        set.examples.iter().map(|e| vec![of(e)]).collect()
    };
    let bands = Bands::of(set.examples.iter().map(|e| e.question.as_str()));
    let majority = sheet("majority", each(&|_| vec![]));
    let length = each(&|e| bands.features(&e.question));
    let mut sheets = vec![
        Sheet {
            prior_only: true,
            ..majority
        },
        order_sheet(set),
        sheet("length", length),
    ];
    sheets.extend(TEXT_BASELINES.map(|(name, of)| sheet(name, each(&|e| of(&e.question)))));
    let names = relations::names();
    let related = each(&|e| {
        let numbers = relations::within(&e.question).into_iter();
        let named = names.iter().zip(numbers);
        named.map(|(name, n)| format!("{name} {n}")).collect()
    });
    sheets.push(sheet("relations", related));
    let questions = set.examples.iter().map(|e| e.question.as_str());
    sheets.push(memory_sheet(set, questions));
    let mut neighbours = set.examples.windows(2);
    if neighbours.any(|w| w[0].options != w[1].options) {
        let order = each(&|e| vec![format!("options shown as {}", e.options.join(", "))]);
        sheets.push(sheet("option_order", order));
    }
    sheets
}

/// Baselines for sets whose questions have options of their own: the options without the question.
fn option_sheets(set: &Set<'_>) -> Vec<Sheet> {
    let each = |of: &dyn Fn(&str) -> Vec<String>| -> Vec<Vec<Vec<String>>> {
        let options = |e: &Example| e.options.iter().map(|o| of(o)).collect();
        set.examples.iter().map(options).collect()
    };
    let rows = |of: &dyn Fn(&Example) -> Vec<Vec<String>>| -> Vec<Vec<Vec<String>>> {
        set.examples.iter().map(of).collect()
    };
    let mut sheets = Vec::new();
    if set.examples.iter().all(|e| !e.unordered) {
        let place = |e: &Example| -> Vec<Vec<String>> {
            let places = 1..=e.options.len();
            places.map(|i| vec![format!("option {i}")]).collect()
        };
        sheets.push(sheet("position", rows(&place)));
        sheets.push(order_sheet(set));
    }
    let texts = || set.examples.iter().flat_map(|e| &e.options);
    let bands = Bands::of(texts().map(String::as_str));
    let length = |e: &Example| -> Vec<Vec<String>> {
        let lengths: Vec<f64> = e.options.iter().map(|o| o.chars().count() as f64).collect();
        let ranks = standing(("longest", "shortest"), &lengths).into_iter();
        let both = ranks.zip(e.options.iter().map(|o| bands.features(o)));
        both.map(|(rank, band)| [rank, band].concat()).collect()
    };
    sheets.push(sheet("length", rows(&length)));
    sheets.extend(TEXT_BASELINES.map(|(name, of)| sheet(name, each(&of))));
    let whole = each(&|o| vec![format!("option `{o}`")]);
    sheets.push(sheet("option_text", whole));
    sheets.push(memory_sheet(set, texts().map(String::as_str)));
    let odd = |e: &Example| standing(("most alike", "odd"), &similarity_to_rivals(&e.options));
    sheets.push(sheet("odd_one_out", rows(&odd)));
    if set.examples.iter().any(|e| !e.question.trim().is_empty()) {
        let shares = |e: &Example| {
            let shares: Vec<f64> = e.options.iter().map(|o| overlap(&e.question, o)).collect();
            let names = (
                "most repeated in the question",
                "least repeated in the question",
            );
            standing(names, &shares)
        };
        sheets.push(sheet("question_overlap", rows(&shares)));
    }
    sheets
}

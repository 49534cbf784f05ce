//! The baselines, and the cross-validation that runs them.

use mary_stats::distributions::binomial_cdf;
use mary_stats::{Moments, multiple};

use crate::features::{
    Bands, Memory, bag_of_words, capitals, first_character, last_character, ngrams, overlap,
    punctuation, similarity_to_rivals, standing,
};
use crate::learner::{Lifts, Telling};
use crate::{AuditError, AuditReport, Example, Finding, Form, Hygiene, folds};

/// How an audit is made.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditSettings {
    /// Parts of the cross-validation.
    pub folds: usize,
    /// Seed of the split.
    pub seed: u64,
    /// A baseline beats chance below this p-value after Holm's correction.
    pub alpha: f64,
    /// Baselines that are the rule itself and therefore no shortcut.
    pub expected: Vec<String>,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            folds: 10,
            seed: 0,
            alpha: 0.05,
            expected: Vec::new(),
        }
    }
}

/// Fewer distinct questions than this cannot be split usefully.
const FEWEST: usize = 10;

/// Runs every baseline that fits the form of the set.
pub fn audit(examples: &[Example], settings: &AuditSettings) -> Result<AuditReport, AuditError> {
    let form = Form::of(examples)?;
    let groups = folds::groups(examples);
    let distinct = groups.iter().enumerate().filter(|(i, g)| i == *g).count();
    if distinct < FEWEST {
        return Err(AuditError::TooFew {
            needed: FEWEST,
            found: distinct,
        });
    }
    let classes = Classes::of(examples, &form);
    let folds = settings.folds.clamp(2, distinct);
    let set = Set {
        examples,
        fold: folds::assign(&groups, &classes.right, folds, settings.seed),
        folds,
        groups,
        distinct,
        classes,
    };
    let sheets = match &form {
        Form::Labels(_) => label_sheets(&set),
        Form::Options => option_sheets(&set),
    };
    check_expected(settings, &sheets)?;
    let mut findings = sheets
        .iter()
        .map(|sheet| set.finding(sheet, settings))
        .collect::<Result<Vec<_>, _>>()?;
    let p: Vec<f64> = findings.iter().map(|f| f.p).collect();
    for (finding, corrected) in findings.iter_mut().zip(multiple::holm(&p)?) {
        finding.p_holm = corrected;
        finding.beats_chance = corrected < settings.alpha && finding.accuracy.low > finding.chance;
    }
    let by_answer = matches!(form, Form::Labels(_));
    Ok(AuditReport {
        n: examples.len(),
        groups: set.distinct,
        hygiene: Hygiene::of(examples, |e| {
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
        if !sheets.iter().any(|sheet| sheet.name == name) {
            let known: Vec<&str> = sheets.iter().map(|sheet| sheet.name).collect();
            return Err(AuditError::UnknownBaseline {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    Ok(())
}

/// What is predicted: one of the labels, or right against wrong for every option.
struct Classes {
    names: Vec<String>,
    /// For every example the label that is right, or the position of the right option.
    right: Vec<usize>,
    /// Whether labels are predicted.
    labels: bool,
}

impl Classes {
    fn of(examples: &[Example], form: &Form) -> Self {
        match form {
            Form::Labels(names) => Self {
                right: examples
                    .iter()
                    .map(|e| names.iter().position(|l| l == e.answer()).unwrap_or(0))
                    .collect(),
                names: names.clone(),
                labels: true,
            },
            Form::Options => Self {
                names: vec!["wrong".to_owned(), "right".to_owned()],
                right: examples.iter().map(|e| e.correct).collect(),
                labels: false,
            },
        }
    }
}

/// What one baseline sees of every example: one list of features for the question (labels), or one
/// for each option.
struct Sheet {
    name: &'static str,
    sees: &'static str,
    features: Features,
    /// Whether the share of each label is used: only the majority baseline is nothing but that.
    prior_only: bool,
}

enum Features {
    /// Example by example, one row for the question or one for each option.
    Fixed(Vec<Vec<Vec<String>>>),
    /// Depend on what was seen in training.
    Remembered,
}

struct Set<'a> {
    examples: &'a [Example],
    groups: Vec<usize>,
    distinct: usize,
    fold: Vec<usize>,
    folds: usize,
    classes: Classes,
}

impl Set<'_> {
    fn finding(&self, sheet: &Sheet, settings: &AuditSettings) -> Result<Finding, AuditError> {
        let credits = self.cross_validate(sheet);
        let mut moments = Moments::new();
        for (credit, group) in credits.iter().zip(&self.groups) {
            moments.push_clustered(*credit, *group)?;
        }
        let accuracy = moments.interval()?;
        let chance = self.chance(sheet);
        Ok(Finding {
            baseline: sheet.name,
            sees: sheet.sees,
            p: upper_p(accuracy.value, self.distinct, chance),
            accuracy,
            chance,
            p_holm: 1.0,
            beats_chance: false,
            expected: settings.expected.iter().any(|name| name == sheet.name),
            telling: self.telling(sheet),
        })
    }

    /// What guessing reaches: for labels the most frequent one, for options one in so many.
    fn chance(&self, sheet: &Sheet) -> f64 {
        let n = self.examples.len() as f64;
        if self.classes.labels {
            let k = self.classes.names.len();
            if sheet.prior_only {
                return 1.0 / k as f64;
            }
            return (0..k)
                .map(|c| self.classes.right.iter().filter(|r| **r == c).count() as f64 / n)
                .fold(0.0, f64::max);
        }
        self.examples
            .iter()
            .map(|e| 1.0 / e.options.len() as f64)
            .sum::<f64>()
            / n
    }

    /// Credit of every example: 1 for right, a share where several options tie.
    fn cross_validate(&self, sheet: &Sheet) -> Vec<f64> {
        let mut credits = vec![0.0; self.examples.len()];
        for fold in 0..self.folds {
            let remembered;
            let rows = match &sheet.features {
                Features::Fixed(rows) => rows,
                Features::Remembered => {
                    remembered = self.remember(Some(fold));
                    &remembered
                }
            };
            let lifts = self.learn(rows, Some(fold));
            for (index, row) in rows.iter().enumerate() {
                if self.fold.get(index) == Some(&fold)
                    && let Some(credit) = credits.get_mut(index)
                {
                    *credit = self.credit(&lifts, row, index);
                }
            }
        }
        credits
    }

    /// Counts over all examples outside a fold.
    fn learn<'f>(&self, rows: &'f [Vec<Vec<String>>], without: Option<usize>) -> Lifts<'f> {
        let mut lifts = Lifts::new(self.classes.names.len());
        for (index, row) in rows.iter().enumerate() {
            if without.is_some() && self.fold.get(index).copied() == without {
                continue;
            }
            let right = self.classes.right.get(index).copied().unwrap_or(0);
            for (place, features) in row.iter().enumerate() {
                let class = if self.classes.labels {
                    right
                } else {
                    usize::from(place == right)
                };
                lifts.add(features, class);
            }
        }
        lifts
    }

    fn credit(&self, lifts: &Lifts<'_>, row: &[Vec<String>], index: usize) -> f64 {
        let right = self.classes.right.get(index).copied().unwrap_or(0);
        let scores: Vec<f64> = if self.classes.labels {
            let features = row.first().map_or(&[][..], Vec::as_slice);
            (0..self.classes.names.len())
                .map(|class| lifts.log_share(class) + lifts.log_lift(features, class))
                .collect()
        } else {
            row.iter().map(|f| lifts.log_odds(f, 1)).collect()
        };
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let tied = scores.iter().filter(|s| **s >= best - 1e-12).count();
        match scores.get(right) {
            Some(score) if *score >= best - 1e-12 => 1.0 / tied as f64,
            _ => 0.0,
        }
    }

    /// Word memory: training texts do not remember themselves.
    fn remember(&self, without: Option<usize>) -> Vec<Vec<Vec<String>>> {
        let held_out = |index: usize| without.is_some() && self.fold.get(index).copied() == without;
        let mut memory = Memory::new(self.classes.names.len());
        for (index, example) in self.examples.iter().enumerate() {
            if !held_out(index) {
                for (text, class) in self.texts(example, index) {
                    memory.add(text, class);
                }
            }
        }
        self.examples
            .iter()
            .enumerate()
            .map(|(index, example)| {
                self.texts(example, index)
                    .map(|(text, class)| {
                        let own = (!held_out(index)).then_some(class);
                        memory.recall(text, own, &self.classes.names)
                    })
                    .collect()
            })
            .collect()
    }

    /// The texts of an example with their classes: the question, or every option.
    fn texts<'e>(
        &self,
        example: &'e Example,
        index: usize,
    ) -> impl Iterator<Item = (&'e str, usize)> {
        let right = self.classes.right.get(index).copied().unwrap_or(0);
        let labels = self.classes.labels;
        let question = labels.then_some((example.question.as_str(), right));
        let options = example
            .options
            .iter()
            .enumerate()
            .filter(move |_| !labels)
            .map(move |(place, option)| (option.as_str(), usize::from(place == right)));
        question.into_iter().chain(options)
    }

    fn telling(&self, sheet: &Sheet) -> Vec<String> {
        let remembered;
        let rows = match &sheet.features {
            Features::Fixed(rows) => rows,
            Features::Remembered => {
                remembered = self.remember(None);
                &remembered
            }
        };
        let lifts = self.learn(rows, None);
        let all = lifts.telling();
        let mut lines: Vec<String> = Vec::new();
        if !self.classes.labels {
            lines.extend(never_right(&all));
        }
        let shown = all
            .iter()
            .filter(|t| t.z.abs() > 2.5)
            // Of two labels one tells all; of right and wrong, right.
            .filter(|t| self.classes.labels && t.z > 0.0 || !self.classes.labels && t.class == 1);
        for t in shown.take(5) {
            let class = self.classes.names.get(t.class).map_or("", String::as_str);
            lines.push(format!(
                "{}: {class} in {} of {} (by chance {:.0})",
                t.feature, t.with_class, t.seen, t.expected
            ));
        }
        lines
    }
}

/// Frequent option texts that are hardly ever right, said in one sentence.
fn never_right(telling: &[Telling<'_>]) -> Option<String> {
    let rare: Vec<&Telling<'_>> = telling
        .iter()
        .filter(|t| t.class == 1 && t.seen >= 10.0 && t.z < -2.5)
        .filter(|t| t.feature.starts_with("option `"))
        .take(12)
        .collect();
    if rare.is_empty() {
        return None;
    }
    let names: Vec<&str> = rare
        .iter()
        .map(|t| {
            t.feature
                .trim_start_matches("option `")
                .trim_end_matches('`')
        })
        .collect();
    let sum = |of: fn(&Telling<'_>) -> f64| rare.iter().map(|t| of(t)).sum::<f64>();
    Some(format!(
        "an option in {{{}}} is right in {} of {} (by chance {:.0})",
        names.join(", "),
        sum(|t| t.with_class),
        sum(|t| t.seen),
        sum(|t| t.expected),
    ))
}

/// Probability of so many right by guessing; repeats of a question count once.
fn upper_p(accuracy: f64, distinct: usize, chance: f64) -> f64 {
    let n = distinct as u64;
    let hits = (accuracy * distinct as f64 + 1e-9).floor() as u64;
    if hits == 0 {
        return 1.0;
    }
    (1.0 - binomial_cdf(hits - 1, n, chance)).clamp(0.0, 1.0)
}

type OfText = fn(&str) -> Vec<String>;

const TEXT_BASELINES: [(&str, &str, OfText); 6] = [
    ("first_character", "the first character", first_character),
    (
        "last_character",
        "the last character and last letter",
        last_character,
    ),
    ("capitals", "where capitals stand and how many", capitals),
    (
        "punctuation",
        "marks, digits, characters beyond ASCII",
        punctuation,
    ),
    ("words", "which words occur", bag_of_words),
    (
        "character_ngrams",
        "runs of one to three characters",
        ngrams,
    ),
];

fn sheet(name: &'static str, sees: &'static str, rows: Vec<Vec<Vec<String>>>) -> Sheet {
    Sheet {
        name,
        sees,
        features: Features::Fixed(rows),
        prior_only: false,
    }
}

/// Baselines for sets with the same labels everywhere: the surface of the question.
fn label_sheets(set: &Set<'_>) -> Vec<Sheet> {
    let each = |of: &dyn Fn(usize, &Example) -> Vec<String>| -> Vec<Vec<Vec<String>>> {
        let rows = set.examples.iter().enumerate();
        rows.map(|(i, e)| vec![of(i, e)]).collect()
    };
    let bands = Bands::of(set.examples.iter().map(|e| e.question.as_str()));
    let mut sheets = vec![
        Sheet {
            prior_only: true,
            ..sheet(
                "majority",
                "nothing but how often each label is right",
                each(&|_, _| vec![]),
            )
        },
        sheet(
            "file_order",
            "the place in the file and the label before",
            each(&|i, _| file_order(set, i)),
        ),
        sheet(
            "length",
            "how long the question is",
            each(&|_, e| bands.features(&e.question)),
        ),
    ];
    for (name, sees, of) in TEXT_BASELINES {
        sheets.push(sheet(name, sees, each(&|_, e| of(&e.question))));
    }
    sheets.push(Sheet {
        name: "word_memory",
        sees: "whether the first and last word occurred in other items, and with which label",
        features: Features::Remembered,
        prior_only: false,
    });
    let shown = |e: &Example| e.options.first().cloned();
    if set
        .examples
        .windows(2)
        .any(|w| shown(&w[0]) != shown(&w[1]))
    {
        let order =
            |_: usize, e: &Example| vec![format!("options shown as {}", e.options.join(", "))];
        sheets.push(sheet(
            "option_order",
            "the order the labels are shown in",
            each(&order),
        ));
    }
    sheets
}

/// Baselines for sets whose questions have options of their own: the options without the question.
fn option_sheets(set: &Set<'_>) -> Vec<Sheet> {
    let each = |of: &dyn Fn(&str) -> Vec<String>| -> Vec<Vec<Vec<String>>> {
        let options = |e: &Example| e.options.iter().map(|o| of(o)).collect();
        set.examples.iter().map(options).collect()
    };
    let rows = |of: &dyn Fn(usize, &Example) -> Vec<Vec<String>>| -> Vec<Vec<Vec<String>>> {
        let examples = set.examples.iter().enumerate();
        examples.map(|(i, e)| of(i, e)).collect()
    };
    let mut sheets = Vec::new();
    if set.examples.iter().all(|e| !e.unordered) {
        let place = |_: usize, e: &Example| -> Vec<Vec<String>> {
            (0..e.options.len())
                .map(|i| vec![format!("option {}", i + 1)])
                .collect()
        };
        sheets.push(sheet(
            "position",
            "the place among the options",
            rows(&place),
        ));
        let order = |i: usize, e: &Example| -> Vec<Vec<String>> {
            (0..e.options.len())
                .map(|place| relative_order(set, i, place))
                .collect()
        };
        sheets.push(sheet(
            "file_order",
            "the place of the answer before",
            rows(&order),
        ));
    }
    let bands = Bands::of(
        set.examples
            .iter()
            .flat_map(|e| &e.options)
            .map(String::as_str),
    );
    let length = |_: usize, e: &Example| -> Vec<Vec<String>> {
        let lengths: Vec<f64> = e.options.iter().map(|o| o.chars().count() as f64).collect();
        let ranks = standing(("longest", "shortest"), &lengths);
        let absolute = e.options.iter().map(|o| bands.features(o));
        ranks
            .into_iter()
            .zip(absolute)
            .map(|(r, a)| [r, a].concat())
            .collect()
    };
    sheets.push(sheet("length", "how long the options are", rows(&length)));
    for (name, sees, of) in TEXT_BASELINES {
        sheets.push(sheet(name, sees, each(&of)));
    }
    sheets.push(sheet(
        "option_text",
        "the whole text of the option and how often it was right before",
        each(&|o| vec![format!("option `{o}`")]),
    ));
    sheets.push(Sheet {
        name: "word_memory",
        sees: "whether the option's words occurred in other items, right or wrong",
        features: Features::Remembered,
        prior_only: false,
    });
    let odd =
        |_: usize, e: &Example| standing(("most alike", "odd"), &similarity_to_rivals(&e.options));
    sheets.push(sheet(
        "odd_one_out",
        "how alike each option is to the others",
        rows(&odd),
    ));
    if set.examples.iter().any(|e| !e.question.trim().is_empty()) {
        let shares = |_: usize, e: &Example| {
            let shares: Vec<f64> = e.options.iter().map(|o| overlap(&e.question, o)).collect();
            standing(
                (
                    "most repeated in the question",
                    "least repeated in the question",
                ),
                &shares,
            )
        };
        sheets.push(sheet(
            "question_overlap",
            "how many of the option's words the question repeats",
            rows(&shares),
        ));
    }
    sheets
}

fn file_order(set: &Set<'_>, index: usize) -> Vec<String> {
    let before = index.checked_sub(1).and_then(|i| set.classes.right.get(i));
    let mut features: Vec<String> = [2, 3, 4]
        .map(|period| format!("item {} of every {period}", index % period + 1))
        .to_vec();
    if let Some(name) = before.and_then(|class| set.classes.names.get(*class)) {
        features.push(format!("follows an item labelled {name}"));
    }
    features
}

fn relative_order(set: &Set<'_>, index: usize, place: usize) -> Vec<String> {
    let before = index.checked_sub(1).and_then(|i| set.classes.right.get(i));
    before
        .map(|&before| {
            let shift = place as i64 - before as i64;
            format!("{shift:+} places from the answer before")
        })
        .into_iter()
        .collect()
}

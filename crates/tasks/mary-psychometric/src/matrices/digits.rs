//! The task of digit matrices.

use std::collections::BTreeMap;

use mary_contract::{
    Citation, DataSource, ForPeople, Item, Items, Judgement, Needs, Param, Reply, Response,
    Scoring, Target, Task, TaskCard, TaskError, TaskSettings, Ties, UnscoredReason, text,
};

use super::bracket::{MODE, Mode, SCORING, ask, bracketed, mode, written};
use super::digit_problem::{DATASET, DigitProblem, fresh_digits, upstream_digits};
use super::scoring;
use crate::choice::{self, By, failed};
use crate::settings::{choose, no_shots, number};

pub(super) const WEBB: Citation = Citation::new(
    "Taylor Webb, Keith J. Holyoak and Hongjing Lu. 2023. Emergent analogical reasoning in large \
           language models. Nature Human Behaviour 7.",
    "doi:10.1038/s41562-023-01659-w",
);

static PARAMS: [Param; 4] = [
    Param::new(
        "source",
        "fresh",
        "fresh, published",
        "Problems made from the seed, or those of Webb et al. 2023, experiment 1.",
    ),
    Param::new(
        "n",
        "180",
        "a number from 1 to 20000",
        "Fresh problems, nine kinds by turns.",
    ),
    MODE,
    SCORING,
];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/digit-matrices"),
    family: text("psychometric"),
    version: 1,
    title: text("Digit matrices"),
    about: text(
        "Matrices of digits in brackets with one to three rules along rows or columns, or logic on \
            sets of digits (union, intersection, exclusive or); the last cell is missing. The model's \
            answer is the most probable of eight candidates, or what it writes.",
    ),
    chance: Some(0.125),
    human: None,
    params: Param::list(&PARAMS),
    dataset: Some(text(DATASET)),
    citation: WEBB,
    starter: Some(36),
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct DigitMatrices;

pub static DIGIT_MATRICES: DigitMatrices = DigitMatrices;

#[derive(Debug, Clone, Copy)]
struct DigitSettings {
    fresh: bool,
    n: usize,
    mode: Mode,
    by: By,
}

impl DigitSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        Ok(Self {
            fresh: choose(
                &CARD,
                settings,
                "source",
                &[("fresh", true), ("published", false)],
            )?,
            n: number(&CARD, settings, "n", |n: usize| (1..=20_000).contains(&n))?,
            mode: mode(&CARD, settings)?,
            by: scoring(&CARD, settings)?,
        })
    }
}

/// Two rows and what is seen of the third.
fn prefix(problem: &DigitProblem) -> String {
    let rows: Vec<String> = problem
        .context
        .chunks(3)
        .map(|row| {
            row.iter()
                .map(|c| bracketed(c))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    rows.join("\n")
}

fn item(setup: DigitSettings, settings: &TaskSettings, problem: &DigitProblem) -> Item {
    let options: Vec<String> = problem.candidates.iter().map(|c| bracketed(c)).collect();
    let question = prefix(problem);
    let ask = ask(setup.mode, settings.form, &question, &options);
    let target = Target::Choice {
        question,
        options,
        correct: problem.correct,
    };
    let order = if problem.unordered { "set" } else { "sequence" };
    Item::new(problem.id.clone(), target, vec![ask])
        .in_stratum(problem.kind.clone())
        .tagged("kind", problem.kind.clone())
        .tagged("cells", order)
}

impl Task for DigitMatrices {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(
            "Find the pattern in the rows, then choose what is missing at the end of the last row.",
        ))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = DigitSettings::read(settings).map_or(Mode::Score, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            generate: mode == Mode::Generate,
            ..Needs::default()
        }
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some("kind")
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = DigitSettings::read(settings)?;
        let problems = if setup.fresh {
            fresh_digits(settings.seed, setup.n)?
        } else {
            upstream_digits(data)?
        };
        let settings = settings.clone();
        Ok(Box::new(
            problems
                .into_iter()
                .map(move |p| Ok(item(setup, &settings, &p))),
        ))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let setup = match DigitSettings::read(settings) {
            Ok(setup) => setup,
            Err(error) => return failed(&error.to_string()),
        };
        let Target::Choice {
            options, correct, ..
        } = &item.target
        else {
            return failed("a digit matrix has candidates as its target");
        };
        let answer = match answers {
            [reply] => &reply.answer,
            _ => return failed("expected one answer"),
        };
        match answer {
            Response::Scored(scored) => choice::judge(options, *correct, scored, setup.by),
            Response::Generated(words) => {
                let mut said = match written(words) {
                    Ok(said) => said,
                    Err(reason) => return Judgement::unscored(reason).measured("accuracy", 0.0),
                };
                if said.iter().any(|w| w.parse::<u64>().is_err()) {
                    return Judgement::unscored(UnscoredReason::Unparsed).measured("accuracy", 0.0);
                }
                let right = options.get(*correct).map_or("", String::as_str);
                let mut expected: Vec<&str> =
                    right.trim_matches(['[', ']']).split_whitespace().collect();
                let shown = bracketed(&said);
                if item.tags.get("cells").is_some_and(|c| c == "set") {
                    said.sort();
                    expected.sort_unstable();
                }
                let score = if said == expected { 1.0 } else { 0.0 };
                Judgement::scored(score)
                    .read_as(shown)
                    .measured("accuracy", score)
            }
            Response::Observed(_) => failed("expected scores or words, found hidden states"),
        }
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match DigitSettings::read(settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Shared),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = DigitSettings::read(settings) else {
            return BTreeMap::new();
        };
        let source = if setup.fresh {
            format!(
                "fresh problems of seed {}, balanced candidates",
                settings.seed
            )
        } else {
            "Webb et al. 2023, experiment 1".into()
        };
        conventions(
            setup.mode,
            setup.by,
            source,
            "rows of cells in brackets, nothing else",
        )
    }
}

/// What both tasks of bracketed answers state.
pub(super) fn conventions(
    mode: Mode,
    by: By,
    source: String,
    template: &str,
) -> BTreeMap<String, String> {
    let answer = match (mode, by) {
        (Mode::Score, By::Sum) => "the most probable candidate, sum of token log-probabilities",
        (Mode::Score, By::Mean) => "the most probable candidate, mean per token",
        (Mode::Generate, _) => "written greedily up to the closing bracket, exact match",
    };
    let last = match mode {
        Mode::Score => ("ties", "shared among the candidates that tie"),
        Mode::Generate => ("unparsed", "left out of the score; wrong in `accuracy`"),
    };
    [
        ("source", source.as_str()),
        ("template", template),
        ("answer", answer),
        last,
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into()
}

//! The task of letter strings.

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, ForPeople, Item, Items, Judgement, Needs, Param, Reply, Response, Scoring, Target,
    Task, TaskCard, TaskError, TaskSettings, Ties, UnscoredReason, text,
};

use super::bracket::{MODE, Mode, SCORING, ask, bracketed, mode, written};
use super::digits::{WEBB, conventions};
use super::letter_problem::{Generalisation, LetterProblem, fresh_letters};
use super::scoring;
use crate::choice::{self, By, failed};
use crate::settings::{no_shots, number};

/// Webb et al.'s first line.
const OPENING: &str = "Let's try to complete the pattern:\n\n";

static PARAMS: [Param; 4] = [
    Param::new(
        "n",
        "180",
        "a number from 1 to 2000",
        "Fresh problems, six transformations by turns.",
    ),
    Param::new(
        "generalisations",
        "0",
        "0, 1, 2, 3",
        "In how many ways the second line differs from the first: longer, a larger interval, \
                reversed, grouped, interleaved, numbers for letters.",
    ),
    MODE,
    SCORING,
];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/letter-strings"),
    family: text("psychometric"),
    version: 1,
    title: text("Letter strings"),
    about: text(
        "[a b c d] becomes [a b c e]; what becomes of [i j k l]? Six transformations (successor, \
            predecessor, extension, removing a repeated letter, mending a letter, sorting), with up to \
            three generalisations between the lines. The model's answer is the most probable of six \
            candidates, or what it writes.",
    ),
    chance: Some(1.0 / 6.0),
    human: None,
    params: Param::list(&PARAMS),
    dataset: None,
    citation: WEBB,
    starter: Some(36),
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct LetterStrings;

pub static LETTER_STRINGS: LetterStrings = LetterStrings;

#[derive(Debug, Clone, Copy)]
struct LetterSettings {
    n: usize,
    generalisations: usize,
    mode: Mode,
    by: By,
}

impl LetterSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        Ok(Self {
            n: number(&CARD, settings, "n", |n: usize| (1..=2000).contains(&n))?,
            generalisations: number(&CARD, settings, "generalisations", |n: usize| n <= 3)?,
            mode: mode(&CARD, settings)?,
            by: scoring(&CARD, settings)?,
        })
    }
}

fn item(setup: LetterSettings, settings: &TaskSettings, problem: &LetterProblem) -> Item {
    let [before, after] = &problem.source;
    let question = format!(
        "{} {}\n{}",
        bracketed(before),
        bracketed(after),
        bracketed(&problem.target)
    );
    let options: Vec<String> = problem.candidates.iter().map(|c| bracketed(c)).collect();
    let prefix = format!("{OPENING}{question}");
    let ask = ask(setup.mode, settings.form, &prefix, &options);
    let target = Target::Choice {
        question,
        options,
        correct: problem.correct,
    };
    let names: Vec<&str> = problem
        .generalisations
        .iter()
        .map(|g: &Generalisation| g.name())
        .collect();
    let generalised = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(" + ")
    };
    Item::new(problem.id.clone(), target, vec![ask])
        .in_stratum(problem.transformation.name())
        .tagged("transformation", problem.transformation.name())
        .tagged("generalisation", generalised)
}

impl Task for LetterStrings {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(
            "The first line shows a sequence before and after a change. Change the sequence of the second \
             line in the same way and choose the result.",
        ))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = LetterSettings::read(settings).map_or(Mode::Score, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            generate: mode == Mode::Generate,
            ..Needs::default()
        }
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some("transformation")
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = LetterSettings::read(settings)?;
        let problems = fresh_letters(settings.seed, setup.n, setup.generalisations)?;
        let settings = settings.clone();
        Ok(Box::new(
            problems
                .into_iter()
                .map(move |p| Ok(item(setup, &settings, &p))),
        ))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let by = match LetterSettings::read(settings) {
            Ok(setup) => setup.by,
            Err(error) => return failed(&error.to_string()),
        };
        let Target::Choice {
            options, correct, ..
        } = &item.target
        else {
            return failed("a letter string has candidates as its target");
        };
        match answers {
            [
                Reply {
                    answer: Response::Scored(scored),
                    ..
                },
            ] => choice::judge(options, *correct, scored, by),
            [
                Reply {
                    answer: Response::Generated(words),
                    ..
                },
            ] => {
                let said = match written(words) {
                    Ok(said) if !said.is_empty() => bracketed(&said),
                    Ok(_) => {
                        return Judgement::unscored(UnscoredReason::Unparsed)
                            .measured("accuracy", 0.0);
                    }
                    Err(reason) => return Judgement::unscored(reason).measured("accuracy", 0.0),
                };
                let right = options.get(*correct) == Some(&said);
                let score = if right { 1.0 } else { 0.0 };
                Judgement::scored(score)
                    .read_as(said)
                    .measured("accuracy", score)
            }
            _ => failed("expected one answer, scored or written"),
        }
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match LetterSettings::read(settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Shared),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = LetterSettings::read(settings) else {
            return BTreeMap::new();
        };
        let source = format!(
            "fresh problems of seed {}, {} generalisations",
            settings.seed, setup.generalisations
        );
        conventions(
            setup.mode,
            setup.by,
            source,
            "Webb et al. 2023, letter strings",
        )
    }
}

//! Fluid reasoning: Raven's matrices as text, and after Webb et al. matrices of digits and strings of
//! letters.

mod bracket;
mod digit_problem;
mod letter_problem;
mod matrix;
mod prompt;
mod rules;
mod upstream;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ForPeople, Item, ItemSource, Items, Judgement, Needs, Prompt, PromptForm,
    Reply, Scoring, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
};

pub use bracket::{Bracketed, DIGIT_MATRICES, LETTER_STRINGS};
pub use digit_problem::{DigitProblem, fresh_digits, upstream_digits};
pub use letter_problem::{LetterProblem, Transformation, fresh_letters};
pub use matrix::{ATTRIBUTES, Matrix, Panel, context_blind, fresh};
pub use prompt::{INSTRUCTIONS, Layout};
pub use rules::Rule;
pub use upstream::{IRAVEN, RAVEN, problems};

use crate::cards::{card, conventions};
use crate::choice::{self, By};
use crate::settings::no_shots;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/matrices"));

#[derive(Debug, Clone, Copy)]
pub struct Matrices;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatrixSource {
    Fresh,
    Released(&'static str),
}

#[derive(Debug, Clone)]
struct MatrixSettings {
    seed: u64,
    form: PromptForm,
    source: MatrixSource,
    n: usize,
    instructions: Vec<usize>,
    layout: Layout,
}

impl MatrixSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        scoring(&CARD, settings)?;
        use Layout::{Choices, Lines, LmRaven};
        use MatrixSource::{Fresh, Released};
        let layouts = [
            ("paper", Lines),
            ("lm-raven", LmRaven),
            ("choices", Choices),
        ];
        let sources = [
            ("fresh", Fresh),
            ("iraven", Released(IRAVEN)),
            ("raven", Released(RAVEN)),
        ];
        let layout = settings.choose(&CARD, "layout", &layouts)?;
        let said = settings.param(&CARD, "instruction");
        let instructions = match (said, said.parse::<usize>()) {
            ("all", _) => (0..INSTRUCTIONS.len()).collect(),
            (_, Ok(k)) if (1..=INSTRUCTIONS.len()).contains(&k) => vec![k - 1],
            _ => return Err(CARD.not_one_of("instruction", said)),
        };
        Ok(Self {
            seed: settings.seed,
            form: settings.form,
            source: settings.choose(&CARD, "matrices", &sources)?,
            n: settings.number(&CARD, "n", |n: usize| (1..=100_000).contains(&n))?,
            instructions,
            layout,
        })
    }
}

fn scoring(card: &TaskCard, settings: &TaskSettings) -> Result<By, TaskError> {
    settings.choose(card, "scoring", &[("sum", By::Sum), ("mean", By::Mean)])
}

fn item(setup: &MatrixSettings, matrix: &Matrix, instruction: usize) -> Item {
    let candidates = matrix.candidates.iter();
    let prefix = prompt::prefix(matrix, setup.layout, instruction);
    let continuations = candidates.clone().map(|c| match setup.form {
        PromptForm::Chat => prompt::panel(c),
        PromptForm::Plain => prompt::continuation(c, setup.layout),
    });
    let prompt = Prompt::single(setup.form, prefix);
    let ask = Ask::subject(choice::score(prompt, continuations.collect()));
    let options = candidates.map(prompt::panel).collect();
    let target = Target::one_of(prompt::question(matrix), options, matrix.correct);
    let mut item = Item::new(matrix.id.clone(), target, vec![ask])
        .tagged("instruction", (instruction + 1).to_string())
        .tagged("distinct_rules", distinct(&matrix.rules).to_string())
        .tagged("rules", matrix.rules.join(", "));
    for (attribute, rule) in ATTRIBUTES.iter().zip(&matrix.rules) {
        item = item.tagged(attribute, rule.clone());
    }
    if setup.instructions.len() > 1 {
        item.id += &format!("/instruction-{}", instruction + 1);
        item.cluster = Some(matrix.id.clone());
    }
    item
}

/// How many different rules beside constancy a matrix has.
fn distinct(rules: &[String; 3]) -> usize {
    let mut moving: Vec<&String> = rules.iter().filter(|r| *r != "constant").collect();
    moving.sort();
    moving.dedup();
    moving.len()
}

impl Task for Matrices {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        // Here the setting is called `matrices`; its words are fresh and the names of published sets.
        ItemSource::by_word(settings.param(&CARD, "matrices"))
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(
            "Find the pattern in the rows, then choose what is missing at the end of the third row.",
        ))
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some("rules")
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = MatrixSettings::read(settings)?;
        let matrices = match setup.source {
            MatrixSource::Fresh => fresh(setup.seed, setup.n)?,
            MatrixSource::Released(file) => problems(data, file)?,
        };
        Ok(Box::new(matrices.into_iter().flat_map(move |matrix| {
            let instructions = setup.instructions.iter();
            let items = instructions.map(|&k| Ok(item(&setup, &matrix, k)));
            items.collect::<Vec<_>>()
        })))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let by = match scoring(&CARD, settings) {
            Ok(by) => by,
            Err(error) => return Judgement::fault(error.to_string()),
        };
        let Some((options, correct)) = item.target.choice() else {
            return Judgement::fault("a matrix has eight candidates as its target");
        };
        let only = answers.first().filter(|_| answers.len() == 1);
        let Some(scored) = only.and_then(|reply| reply.answer.as_scored()) else {
            return Judgement::fault("expected the scores of eight candidates");
        };
        let judgement = choice::judge(options, correct, scored, by);
        judgement.measured("context_blind", blind(options, correct))
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::share(Ties::Shared)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = MatrixSettings::read(settings) else {
            return BTreeMap::new();
        };
        let instructions = setup.instructions.iter();
        let numbers: Vec<String> = instructions.map(|k| (k + 1).to_string()).collect();
        conventions(&CARD, settings, &[("instructions", numbers.join(", "))])
    }
}

fn blind(options: &[String], correct: usize) -> f64 {
    let parts = options
        .iter()
        .map(|o| o.trim_matches(['(', ')']).split(','));
    let parts: Vec<Vec<&str>> = parts.map(Iterator::collect).collect();
    matrix::most_alike(&parts, correct)
}

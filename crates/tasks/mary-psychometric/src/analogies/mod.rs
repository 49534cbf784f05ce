//! Analogies: A is to B as which of five pairs? By vectors, by surprisal, by asking.

pub mod formulas;
mod prompting;
pub mod sat;
mod surprisal;
mod vectors;

use std::path::Path;

use mary_contract::{Citation, ItemSource, Param, Target, TaskCard, TaskError, TaskSettings};

pub use prompting::{ANALOGIES_PROMPTING, AnalogiesPrompting};
pub use sat::{Question, WordPair};
pub use surprisal::{ANALOGIES_SURPRISAL, AnalogiesSurprisal};
pub use vectors::{ANALOGIES_VECTORS, AnalogiesVectors};

use crate::settings::choose;

const QUESTIONS: Param = Param::new(
    "questions",
    "own",
    "own, sat",
    "Questions written for Mary, or the user's file in the SAT layout (Turney's 374 questions are \
            given out on request only).",
);
const QUESTIONS_FILE: Param = Param::new(
    "questions_file",
    "",
    "a path",
    "With questions=sat: the file of questions.",
);

const CITATION: Citation = Citation::new(
    "Peter D. Turney. 2005. Measuring semantic similarity by latent relational analysis. IJCAI. \
           Protocol of Shah et al. 2024, Appendix B.4.1.",
    "arXiv:2407.01047",
);

/// What people are asked about a pair and five others.
const TO_PEOPLE: &str =
    "The two words are related in some way. Choose the pair that is related in the same way.";

/// Chance of one in five.
const CHANCE: Option<f64> = Some(0.2);

fn questions(card: &TaskCard, settings: &TaskSettings) -> Result<Vec<Question>, TaskError> {
    let own = choose(
        card,
        settings,
        "questions",
        &[("own", true), ("sat", false)],
    )?;
    match (own, settings.param(card, "questions_file")) {
        (true, _) => sat::own(),
        (false, "") => Err(TaskError::Setting(format!(
            "{}: questions=sat needs a file\nhint: --set questions_file=PATH names a file in the SAT layout",
            card.id
        ))),
        (false, path) => sat::read(Path::new(path)),
    }
}

/// Our own questions, or those of a file.
fn item_source(card: &TaskCard, settings: &TaskSettings) -> ItemSource {
    match settings.param(card, "questions") {
        "own" => ItemSource::Fresh,
        _ => ItemSource::File,
    }
}

fn source_convention(card: &TaskCard, settings: &TaskSettings) -> String {
    match settings.param(card, "questions") {
        "sat" => format!("SAT layout, {}", settings.param(card, "questions_file")),
        _ => "questions of our own".into(),
    }
}

fn id(index: usize) -> String {
    format!("question-{:03}", index + 1)
}

fn written(pair: &WordPair) -> String {
    pair.join(" : ")
}

fn target(question: &Question) -> Target {
    Target::Choice {
        question: written(&question.stem),
        options: question.choices.iter().map(written).collect(),
        correct: question.correct,
    }
}

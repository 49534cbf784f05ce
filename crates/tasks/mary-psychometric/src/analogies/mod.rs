//! Analogies: A is to B as which of five pairs? By vectors, by surprisal, by asking.

pub mod formulas;
mod prompting;
pub mod sat;
mod surprisal;
mod vectors;

use std::path::Path;

use mary_contract::{ItemSource, Target, TaskCard, TaskError, TaskSettings};

pub use prompting::AnalogiesPrompting;
pub use sat::{Question, WordPair};
pub use surprisal::AnalogiesSurprisal;
pub use vectors::AnalogiesVectors;

const TO_PEOPLE: &str =
    "The two words are related in some way. Choose the pair that is related in the same way.";

fn questions(card: &TaskCard, settings: &TaskSettings) -> Result<Vec<Question>, TaskError> {
    let own = settings.choose(card, "questions", &[("own", true), ("sat", false)])?;
    match (own, settings.param(card, "questions_file")) {
        (true, _) => sat::own(),
        (false, "") => Err(TaskError::Setting(format!(
            "{}: questions=sat needs a file\nhint: --set questions_file=PATH names a file in the SAT layout",
            card.id
        ))),
        (false, path) => sat::read(Path::new(path)),
    }
}

fn item_source(card: &TaskCard, settings: &TaskSettings) -> ItemSource {
    match settings.param(card, "questions") {
        "own" => ItemSource::Fresh,
        _ => ItemSource::File,
    }
}

fn id(index: usize) -> String {
    format!("question-{:03}", index + 1)
}

fn written(pair: &WordPair) -> String {
    pair.join(" : ")
}

fn target(question: &Question) -> Target {
    let options = question.choices.iter().map(written).collect();
    Target::one_of(written(&question.stem), options, question.correct)
}

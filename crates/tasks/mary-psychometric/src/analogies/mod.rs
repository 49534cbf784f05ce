//! Analogies: A is to B as which of five pairs? By vectors, by surprisal, by asking.

pub mod formulas;
mod prompting;
pub mod sat;
mod surprisal;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ForPeople, InForce, Item, ItemSource, Items, Judgement, Needs, Reply, Scoring,
    Target, Task, TaskCard, TaskError, TaskSettings,
};

pub use prompting::PROMPTING;
pub use sat::{Question, WordPair};
pub use surprisal::SURPRISAL;
pub use vectors::VECTORS;

/// One way of asking analogies.
#[derive(Debug)]
pub struct AnalogyTask {
    card: LazyLock<TaskCard>,
    needs: Needs,
    scoring: Scoring,
    /// Whether people are told what is asked of them.
    told: bool,
    /// Reads the settings; gives what asks a question.
    asks: fn(&TaskCard, &TaskSettings) -> Result<Asking, TaskError>,
    /// Judges the answers to a question with these choices, of which one is right.
    judge: fn(&[String], usize, &[Reply]) -> Judgement,
    conventions: fn(&TaskCard, &TaskSettings) -> BTreeMap<String, String>,
}

type Asking = Box<dyn Fn(&Question) -> Vec<Ask> + Send>;

impl Task for AnalogyTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        match settings.param(&self.card, "questions") {
            "own" => ItemSource::Fresh,
            _ => ItemSource::File,
        }
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(if self.told { TO_PEOPLE } else { "" }))
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        self.needs
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let asks = (self.asks)(&self.card, settings)?;
        let questions = questions(&self.card, settings)?.into_iter().enumerate();
        Ok(Box::new(questions.map(move |(index, question)| {
            let id = format!("question-{:03}", index + 1);
            Ok(Item::new(id, target(&question), asks(&question)))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        match item.target.choice() {
            Some((options, correct)) => (self.judge)(options, correct, answers),
            None => Judgement::fault("an analogy has choices as its target"),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        self.scoring
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        (self.conventions)(&self.card, settings)
    }
}

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

fn written(pair: &WordPair) -> String {
    pair.join(" : ")
}

fn target(question: &Question) -> Target {
    let options = question.choices.iter().map(written).collect();
    Target::one_of(written(&question.stem), options, question.correct)
}

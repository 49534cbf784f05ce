//! A question of one's own as a task of one item, so that cache, budget and run folder serve it too.

use std::collections::BTreeMap;

use mary_contract::{
    Ask, DataSource, Generate, Image, InForce, Item, Items, Judgement, Needs, Part, Prompt,
    PromptForm, Reply, Request, Sample, Sampling, Speaker, Target, Task, TaskCard, TaskError,
    TaskSettings, Turn, UnscoredReason,
};
use serde_json::Value;

/// Why a question has no verdict: nothing is wrong with its answer.
pub const NO_RIGHT_ANSWER: &str = "your own question has no right answer here";

/// What is asked, and how an answer is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The words.
    pub text: String,
    /// A system message.
    pub system: Option<String>,
    /// Pictures, shown before the words.
    pub images: Vec<Image>,
    /// In the model's chat template, or as text to be continued.
    pub form: PromptForm,
    /// How an answer is drawn.
    pub sampling: Sampling,
}

/// A question as a task.
pub struct AskTask {
    question: Question,
    card: TaskCard,
}

impl AskTask {
    /// The id of the task and the name of its only item.
    pub const ID: &'static str = "ask/question";

    /// A task of one item.
    pub fn new(question: Question) -> Self {
        let about = "Your own question; nothing is judged.";
        let mut card = TaskCard::new(Self::ID, "question", about);
        let request = Request::Generate(generate(&question));
        let written = serde_json::to_vec(&request).unwrap_or_default();
        card.content = Some(blake3::hash(&written).to_hex().to_string().into());
        Self { question, card }
    }
}

fn generate(question: &Question) -> Generate {
    let images = question.images.iter().cloned().map(Part::Image);
    let parts = images.chain([Part::Text(question.text.clone())]).collect();
    Generate {
        prompt: Prompt {
            form: question.form,
            system: question.system.clone(),
            turns: vec![Turn {
                speaker: Speaker::User,
                parts,
            }],
        },
        sampling: question.sampling.clone(),
    }
}

/// The words of a sample's answer; `None` where it failed.
pub fn answer(sample: &Sample) -> Option<&str> {
    let reply = sample.exchanges.first()?.reply.as_ref().ok()?;
    Some(&reply.answer.as_generated()?.text)
}

impl Task for AskTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            generate: true,
            images: !self.question.images.is_empty(),
            ..Needs::default()
        }
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let ask = Ask::subject(Request::Generate(generate(&self.question)));
        let item = Item::new("question", Target::Data(Value::Null), vec![ask]);
        Ok(Box::new(std::iter::once(Ok(item))))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, _: &[Reply]) -> Judgement {
        Judgement::unscored(UnscoredReason::NotApplicable(NO_RIGHT_ANSWER.into()))
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&self.card);
        if self.question.sampling.temperature == 0.0 {
            asked.remove("seed");
        }
        asked
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        let sampling = &self.question.sampling;
        let said = format!(
            "generated, temperature {}, at most {} tokens",
            sampling.temperature, sampling.max_tokens
        );
        BTreeMap::from([("answer".to_owned(), said)])
    }
}

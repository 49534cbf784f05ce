//! What every task with four options shares: how a question is put to a model, how the answer is
//! read, and how it is judged. PerceptualQA and the fresh questions are both asked this way, so that
//! their scores can stand beside each other.

mod judge;
pub mod prompt;
pub mod read;
mod whole_set;

pub use judge::judge;
pub use whole_set::whole_set;

use mary_contract::{
    Ask, Generate, Image, Needs, Part, Prompt, PromptForm, Request, Sampling, Score, Scoring,
    Start, TaskCard, TaskError, TaskSettings, Ties,
};

use crate::Language;

/// The four labels, in the order shown.
pub const LETTERS: [&str; 4] = ["A", "B", "C", "D"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Template {
    #[default]
    Published,
    /// The chat tuning set's: answers with letter and option.
    TuningChat,
    /// The instruction tuning set's: answers with the letter.
    TuningLetter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Score,
    Generate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    pub mode: Mode,
    pub form: PromptForm,
    pub template: Template,
    pub max_tokens: u32,
}

impl Asking {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(card)?;
        let modes = [("score", Mode::Score), ("generate", Mode::Generate)];
        let mode = settings.choose(card, "mode", &modes)?;
        let templates = [
            // A card without the parameter gives nothing, which is the evaluation's prompt.
            ("", Template::Published),
            ("published", Template::Published),
            ("tuning-chat", Template::TuningChat),
            ("tuning-letter", Template::TuningLetter),
        ];
        let template = settings.choose(card, "template", &templates)?;
        let max_tokens = settings.number(card, "max_tokens", |n: u32| n > 0)?;
        Ok(Self {
            mode,
            form: settings.form,
            template,
            max_tokens,
        })
    }

    /// What this way of asking needs; `images` when every item shows a picture.
    pub fn needs(&self, images: bool) -> Needs {
        Needs {
            score_single_token: true,
            images,
            ..Needs::answers(self.mode == Mode::Score)
        }
    }

    pub fn ask(&self, shown: &ShownQuestion<'_>) -> Ask {
        Ask::subject(match self.mode {
            Mode::Generate => {
                let sampling = Sampling::greedy(self.max_tokens);
                Request::Generate(Generate::new(self.written_prompt(shown), sampling))
            }
            Mode::Score => {
                let words = prompt::up_to_letter(shown, self.form);
                let prefix = with_picture(self.form, words, shown.picture);
                let letters = self.continuations(shown.language);
                Request::Score(Score::new(prefix, letters, Start::Model))
            }
        })
    }

    fn written_prompt(&self, shown: &ShownQuestion<'_>) -> Prompt {
        let (question, options) = (shown.question, shown.options);
        let user = match self.template {
            Template::Published => prompt::published(shown),
            Template::TuningChat => prompt::tuning_user(question, options),
            Template::TuningLetter => prompt::tuning_instruction(question, options),
        };
        let is_chat_set = self.template == Template::TuningChat;
        let system = is_chat_set.then(prompt::tuning_system);
        let (system, user) = match (self.form, system) {
            (PromptForm::Plain, Some(system)) => (None, format!("{system}{user}")),
            (_, system) => (system, user),
        };
        Prompt {
            system,
            ..with_picture(self.form, user, shown.picture)
        }
    }

    /// The letters as they follow the prefix: bare in a chat answer and after a Chinese colon, with
    /// its blank after `Answer:`.
    fn continuations(&self, language: Language) -> Vec<String> {
        let before = match (self.form, language) {
            (PromptForm::Plain, Language::En) => " ",
            _ => "",
        };
        LETTERS.map(|letter| format!("{before}{letter}")).to_vec()
    }

    pub fn scoring(&self) -> Scoring {
        match self.mode {
            Mode::Score => Scoring::share(Ties::Shared),
            Mode::Generate => Scoring::WRITTEN,
        }
    }

    /// What fills the conventions of this way of asking.
    pub fn computed(&self, language: Language) -> [(&'static str, String); 2] {
        let letters = format!("{:?}", self.continuations(language));
        let most = self.max_tokens.to_string();
        [("letters", letters), ("max_tokens", most)]
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ShownQuestion<'a> {
    /// The number in the JSON; the model is to give it back.
    pub index: u32,
    pub question: &'a str,
    pub options: &'a [String],
    pub language: Language,
    pub picture: Option<&'a Image>,
}

/// A prompt with a picture before its text.
pub(crate) fn with_picture(form: PromptForm, text: String, picture: Option<&Image>) -> Prompt {
    let mut prompt = Prompt::single(form, text);
    if let (Some(picture), Some(turn)) = (picture, prompt.turns.first_mut()) {
        turn.parts.insert(0, Part::Image(picture.clone()));
    }
    prompt
}

pub(crate) const LANGUAGES: [(&str, Language); 2] = [("en", Language::En), ("zh", Language::Zh)];

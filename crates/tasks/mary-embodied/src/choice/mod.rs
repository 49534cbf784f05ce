//! What every task with four options shares: how a question is put to a model, how the answer is
//! read, and how it is judged. PerceptualQA and the fresh questions are both asked this way, so that
//! their scores can stand beside each other.

mod judge;
pub mod prompt;
pub mod read;
mod whole_set;

pub use judge::judge;
pub use whole_set::whole_set;

use std::collections::BTreeMap;

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
            score: self.mode == Mode::Score,
            score_single_token: true,
            generate: self.mode == Mode::Generate,
            images,
            ..Needs::default()
        }
    }

    pub fn ask(&self, shown: &ShownQuestion<'_>) -> Ask {
        Ask::subject(match self.mode {
            Mode::Generate => Request::Generate(Generate {
                prompt: self.written_prompt(shown),
                sampling: Sampling::greedy(self.max_tokens),
            }),
            Mode::Score => Request::Score(Score {
                prefix: self.with_picture(prompt::up_to_letter(shown, self.form), shown.picture),
                continuations: self.continuations(shown.language),
                start: Start::Model,
                details: Default::default(),
            }),
        })
    }

    fn written_prompt(&self, shown: &ShownQuestion<'_>) -> Prompt {
        let ShownQuestion {
            question, options, ..
        } = shown;
        let (system, user) = match self.template {
            Template::Published => (None, prompt::published(shown)),
            Template::TuningChat => (
                Some(prompt::tuning_system()),
                prompt::tuning_user(question, options),
            ),
            Template::TuningLetter => (None, prompt::tuning_instruction(question, options)),
        };
        match (self.form, system) {
            (PromptForm::Plain, Some(system)) => {
                self.with_picture(format!("{system}{user}"), shown.picture)
            }
            (_, system) => Prompt {
                system,
                ..self.with_picture(user, shown.picture)
            },
        }
    }

    fn with_picture(&self, text: String, picture: Option<&Image>) -> Prompt {
        with_picture(self.form, text, picture)
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

    pub fn conventions(&self, language: Language) -> BTreeMap<String, String> {
        let (letters, most) = (self.continuations(language), self.max_tokens);
        let mut said = BTreeMap::new();
        let mut say = |name: &str, text: String| said.insert(name.to_owned(), text);
        let template = match (self.mode, self.template) {
            (Mode::Score, _) => prompt::SCORED_TEMPLATE,
            (_, Template::Published) => prompt::template_convention(language),
            (_, Template::TuningChat) => "Yang et al. 2025, Appendix D.1, chat shape",
            (_, Template::TuningLetter) => "Yang et al. 2025, Appendix D.1, instruction shape",
        };
        say("template", template.into());
        let answer = match self.mode {
            Mode::Score => {
                let ties = "shared: 1/k when the right letter is among k best";
                say("ties", ties.into());
                format!("the most probable of {letters:?}, sum of token log-probabilities")
            }
            Mode::Generate => {
                let parser = "robust: the letter, or the option written out; `exact` is the paper's: the \
                              answer field is the letter and nothing else, under the right index";
                say("parser", parser.into());
                let unparsed = "left out of the score; wrong in `accuracy` and in `exact`";
                say("unparsed", unparsed.into());
                format!("JSON with answer and rationale, temperature 0, at most {most} tokens")
            }
        };
        say("answer", answer);
        said
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

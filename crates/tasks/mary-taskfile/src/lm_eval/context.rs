//! From a row to what is asked: question, options and target by the rules of the harness, shots before
//! them, and its conventions of spaces. What is made here is, byte for byte, what the harness hands to a
//! model.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::lm_eval::config::{Config, Field, OutputType, RowTemplate};
use crate::lm_eval::python::{is_digits, is_space, literal, str_of_json};
use crate::lm_eval::render::Doc;
use crate::template::Templates;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// One piece of a prompt, and what follows it in plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: String,
    pub delimiter: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// The probability of each continuation after its context.
    Pairs {
        /// Contexts and continuations, one for each option (or the one).
        pairs: Vec<(String, String)>,
        /// The same without a question, where it is wanted.
        unconditional: Vec<(String, String)>,
    },
    Text(String),
    Answer(String),
}

#[derive(Debug, Clone)]
pub struct Made {
    /// The pieces of the prompt; of several contexts, the shared beginning.
    pub messages: Vec<Message>,
    pub asked: Question,
    pub question: Json,
    pub choices: Option<Vec<String>>,
    pub target: Json,
}

pub struct Maker {
    pub config: Arc<Config>,
    pub templates: Arc<Templates>,
    pub features: HashSet<String>,
    /// How many inputs a row has, by the first one; none where the options follow one question.
    pub several_inputs: bool,
    pub several_targets: bool,
}

#[derive(Debug)]
pub struct RowError(pub String);

impl From<&str> for RowError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Maker {
    pub fn new(
        config: Arc<Config>,
        templates: Arc<Templates>,
        first: &Doc,
    ) -> Result<Self, RowError> {
        let mut maker = Self {
            config: Arc::clone(&config),
            templates,
            features: first.keys().cloned().collect(),
            several_inputs: false,
            several_targets: false,
        };
        let shown = &config.shown;
        if shown.choice.is_some() {
            maker.several_inputs = maker.text(&shown.text, first)?.is_number();
        }
        maker.several_targets = maker.target(&shown.target, first)?.is_array();
        Ok(maker)
    }

    fn rendered(&self, key: &str, source: &str, doc: &Doc) -> Result<String, RowError> {
        let text = self.templates.text(source, doc);
        text.map_err(|error| RowError(error.explain(&format!("`{key}`"), doc)))
    }

    fn column<'d>(&self, name: &str, doc: &'d Doc) -> Option<&'d Json> {
        const NOTHING: &Json = &Json::Null;
        let known = self.features.contains(name) || doc.contains_key(name);
        known.then(|| doc.get(name).unwrap_or(NOTHING))
    }

    /// A column, or what a template gives; digits alone are a number where there are options.
    fn value(&self, key: &str, source: &str, doc: &Doc) -> Result<Json, RowError> {
        if let Some(value) = self.column(source, doc) {
            return Ok(value.clone());
        }
        let text = self.rendered(key, source, doc)?;
        if self.config.shown.choice.is_some() && is_digits(&text) {
            return literal(&text).map_err(|e| RowError(format!("`{key}`: {e}")));
        }
        Ok(Json::String(text))
    }

    /// `doc_to_text`.
    pub fn text(&self, field: &Field, doc: &Doc) -> Result<Json, RowError> {
        match field {
            Field::Int(n) => Ok(Json::from(*n)),
            Field::List(_) => {
                Err("`doc_to_text` is a list; expected a column or a template".into())
            }
            Field::Text(source) => self.value("doc_to_text", source, doc),
        }
    }

    /// `doc_to_target`.
    pub fn target(&self, field: &Field, doc: &Doc) -> Result<Json, RowError> {
        match field {
            Field::Int(n) => Ok(Json::from(*n)),
            Field::List(values) => Ok(Json::Array(values.clone())),
            Field::Text(source) => {
                let rendered = self.column(source, doc).is_none();
                let list = |text: &str| text.starts_with('[') && text.ends_with(']');
                match self.value("doc_to_target", source, doc)? {
                    Json::String(text) if rendered && list(&text) => {
                        Ok(literal(&text).unwrap_or(Json::String(text)))
                    }
                    value => Ok(value),
                }
            }
        }
    }

    /// `doc_to_choice`.
    pub fn choices(&self, field: &Field, doc: &Doc) -> Result<Vec<String>, RowError> {
        let value = match field {
            Field::List(values) => Json::Array(values.clone()),
            Field::Int(_) => return Err("`doc_to_choice` is a number; expected a list".into()),
            Field::Text(source) => match self.column(source, doc) {
                Some(value) => value.clone(),
                None => {
                    let text = self.rendered("doc_to_choice", source, doc)?;
                    literal(&text).map_err(|e| {
                        RowError(format!("`doc_to_choice` gives no list of options: {e}"))
                    })?
                }
            },
        };
        let Json::Array(members) = value else {
            return Err("`doc_to_choice` gives no list of options".into());
        };
        let texts = members.into_iter().map(|member| match member {
            Json::String(text) => Ok(text),
            other => Err(RowError(format!("an option is `{other}` and no text"))),
        });
        texts.collect()
    }

    fn prefix(&self, source: Option<&String>, doc: &Doc) -> Result<Option<String>, RowError> {
        let Some(source) = source else {
            return Ok(None);
        };
        match self.column(source, doc) {
            Some(value) => Ok(Some(str_of_json(value))),
            None => self.rendered("gen_prefix", source, doc).map(Some),
        }
    }

    pub fn make(&self, doc: &Doc, shots: &[&Doc]) -> Result<Made, RowError> {
        let config = &*self.config;
        let shown = &config.shown;
        let mut messages = Vec::new();
        let description = self.description(doc)?;
        if !description.is_empty() {
            messages.push(Message {
                role: Role::System,
                content: description,
                delimiter: String::new(),
            });
        }
        for shot in shots {
            self.shot(shot, &mut messages)?;
        }
        let question = self.text(&shown.text, doc)?;
        let choices = shown.choice.as_ref();
        let choices = choices.map(|field| self.choices(field, doc)).transpose()?;
        let target = self.target(&shown.target, doc)?;
        let prefix = self.prefix(shown.gen_prefix.as_ref(), doc)?;
        let prefix = prefix.filter(|p| !p.is_empty());
        let asked = if self.several_inputs {
            let inputs = choices.as_deref();
            let inputs = inputs.ok_or("several inputs need `doc_to_choice`")?;
            if config.output != OutputType::MultipleChoice {
                let why = "`doc_to_text` gives a number, which only multiple_choice understands";
                return Err(why.into());
            }
            let continuation = format!("{}{}", shown.target_delimiter, str_of_json(&target));
            let before = plain(&messages);
            let pairs = inputs.iter().map(|input| {
                let mut own = Vec::new();
                turn(&mut own, input, None, prefix.as_deref(), "", "");
                (format!("{before}{}", plain(&own)), continuation.clone())
            });
            Question::Pairs {
                pairs: pairs.collect(),
                unconditional: Vec::new(),
            }
        } else {
            let Json::String(text) = &question else {
                return Err(RowError(format!(
                    "`doc_to_text` gives `{question}`; expected text"
                )));
            };
            let delimiter = &shown.target_delimiter;
            turn(&mut messages, text, None, prefix.as_deref(), delimiter, "");
            self.asked(plain(&messages), choices.as_deref(), &target)?
        };
        Ok(Made {
            messages,
            asked,
            question,
            choices,
            target,
        })
    }

    fn asked(
        &self,
        context: String,
        choices: Option<&[String]>,
        target: &Json,
    ) -> Result<Question, RowError> {
        let text = || match target {
            Json::String(text) => Ok(text.clone()),
            other => Err(RowError(format!(
                "`doc_to_target` gives `{other}`; expected text"
            ))),
        };
        Ok(match self.config.output {
            OutputType::GenerateUntil => Question::Answer(context),
            OutputType::Rolling => Question::Text(text()?),
            OutputType::Loglikelihood => Question::Pairs {
                pairs: vec![(context, text()?)],
                unconditional: Vec::new(),
            },
            OutputType::MultipleChoice => {
                let choices = choices.unwrap_or_default();
                let delimiter = &self.config.shown.target_delimiter;
                let each = |context: &str| -> Vec<(String, String)> {
                    let pair = |c: &String| (context.to_owned(), format!("{delimiter}{c}"));
                    choices.iter().map(pair).collect()
                };
                let mut metrics = self.config.metrics.iter();
                let mutual = metrics.any(|m| m.name() == "acc_mutual_info");
                Question::Pairs {
                    pairs: each(&context),
                    unconditional: if mutual { each("") } else { Vec::new() },
                }
            }
        })
    }

    /// `description`: a column of the row, or a template.
    fn description(&self, doc: &Doc) -> Result<String, RowError> {
        let source = &self.config.description;
        if source.is_empty() {
            return Ok(String::new());
        }
        match doc.get(source) {
            Some(value) => Ok(str_of_json(value)),
            None => self.rendered("description", source, doc),
        }
    }

    fn shot(&self, doc: &Doc, messages: &mut Vec<Message>) -> Result<(), RowError> {
        let shown: &RowTemplate = &self.config.shots.shown;
        let mut question = self.text(&shown.text, doc)?;
        let choices = shown.choice.as_ref();
        let mut choices = choices.map(|field| self.choices(field, doc)).transpose()?;
        let target = self.target(&shown.target, doc)?;
        let source = shown.gen_prefix.as_ref().filter(|s| !s.is_empty());
        let prefix = source.map(|source| match doc.get(source) {
            Some(value) => Ok(str_of_json(value)),
            None => self.rendered("gen_prefix", source, doc),
        });
        let prefix = prefix.transpose()?.filter(|p| !p.is_empty());
        if self.several_inputs {
            let of = choices.take().unwrap_or_default();
            let chosen = question.as_i64().and_then(|n| at(&of, n));
            question =
                Json::String(chosen.ok_or("a shot's `doc_to_text` names none of its options")?);
        }
        let Json::String(text) = &question else {
            return Err(RowError(format!(
                "a shot's `doc_to_text` gives `{question}`; expected text"
            )));
        };
        let answer = match (&target, &choices) {
            (Json::Null, _) => None,
            (Json::String(text), _) if text.is_empty() => None,
            (Json::Number(n), Some(choices)) if !choices.is_empty() => {
                let chosen = n.as_i64().and_then(|n| at(choices, n));
                Some(chosen.ok_or("a shot's target names none of its options")?)
            }
            (Json::Array(several), _) => match several.first() {
                Some(Json::String(text)) => Some(text.clone()),
                _ => return Err(RowError(format!("a shot's target `{target}` is no text"))),
            },
            (Json::String(text), _) => Some(text.clone()),
            _ => return Err(RowError(format!("a shot's target `{target}` is no text"))),
        };
        turn(
            messages,
            text,
            answer.as_deref(),
            prefix.as_deref(),
            &shown.target_delimiter,
            &shown.fewshot_delimiter,
        );
        Ok(())
    }
}

/// A member of a list in Python's way of counting.
fn at(list: &[String], n: i64) -> Option<String> {
    let from = if n < 0 { list.len() as i64 } else { 0 };
    list.get(usize::try_from(from + n).ok()?).cloned()
}

fn plain(messages: &[Message]) -> String {
    let pieces = messages.iter().flat_map(|m| [&*m.content, &*m.delimiter]);
    pieces.collect()
}

fn no_space_between(before: &str, after: &str) -> bool {
    !(before.ends_with(is_space) || after.starts_with(is_space))
}

fn turn(
    messages: &mut Vec<Message>,
    question: &str,
    answer: Option<&str>,
    prefix: Option<&str>,
    target_delimiter: &str,
    fewshot_delimiter: &str,
) {
    let delimited = match (answer, prefix) {
        (Some(_), None) => true,
        (_, Some(prefix)) => !question.is_empty() && no_space_between(question, prefix),
        (None, None) => false,
    };
    messages.push(Message {
        role: Role::User,
        content: question.to_owned(),
        delimiter: if delimited { target_delimiter } else { "" }.to_owned(),
    });
    match (answer, prefix) {
        (Some(answer), prefix) => {
            let prefix = prefix.unwrap_or_default();
            let parted = !prefix.is_empty() && no_space_between(prefix, answer);
            let between = if parted { " " } else { "" };
            messages.push(Message {
                role: Role::Assistant,
                content: format!("{prefix}{between}{answer}"),
                delimiter: fewshot_delimiter.to_owned(),
            });
        }
        (None, Some(prefix)) => messages.push(Message {
            role: Role::Assistant,
            content: prefix.to_owned(),
            delimiter: String::new(),
        }),
        (None, None) => {}
    }
}

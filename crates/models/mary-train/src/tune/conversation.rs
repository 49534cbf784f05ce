//! Conversations read into tokens, with the answers marked.

use super::records::{self, Message};
use crate::net::{Packed, Segment};
use crate::{Result, TrainError};
use mary_contract::{Part, Prompt, PromptForm, Speaker, Turn};
use mary_weights::{ChatTemplate, Tokenizer};
use std::path::Path;

/// A conversation in tokens; only what the assistant says is trained on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Example {
    pub(super) tokens: Vec<u32>,
    pub(super) said: Vec<bool>,
}

impl Example {
    pub(super) fn targets(&self) -> usize {
        self.said.iter().skip(1).filter(|said| **said).count()
    }

    pub(super) fn add_to(&self, packed: &mut Packed) {
        let length = self.tokens.len().saturating_sub(1);
        let start = packed.tokens.len();
        packed.segments.push(Segment { start, length });
        packed.tokens.extend_from_slice(&self.tokens[..length]);
        let next = self.tokens.iter().zip(&self.said).skip(1);
        packed
            .targets
            .extend(next.map(|(token, said)| (*token, if *said { 1.0 } else { 0.0 })));
    }
}

pub(super) struct Reader<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) template: Option<&'a ChatTemplate>,
    pub(super) form: PromptForm,
    pub(super) longest: usize,
}

impl Reader<'_> {
    /// Reads a whole file; a bad line is an error that names it.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<Example>> {
        let mut examples = Vec::new();
        for (place, messages) in records::read(path)? {
            let fail = |what: String| TrainError::content(path, format!("{place}: {what}"));
            let example = self.example(&messages).map_err(fail)?;
            if example.targets() == 0 {
                return Err(fail(
                    "the assistant says nothing, so there is nothing to learn".to_owned(),
                ));
            }
            if example.tokens.len() - 1 > self.longest {
                return Err(fail(format!(
                    "{} tokens, but at most {} are taken (--longest, and the model's own limit)",
                    example.tokens.len() - 1,
                    self.longest
                )));
            }
            examples.push(example);
        }
        if examples.is_empty() {
            return Err(TrainError::content(path, "the tuning set is empty"));
        }
        Ok(examples)
    }

    fn example(&self, messages: &[Message]) -> Result<Example, String> {
        let pieces = match (self.form, self.template) {
            (PromptForm::Chat, Some(template)) => chat_pieces(messages, template)?,
            (PromptForm::Chat, None) => {
                return Err("the model has no chat template; use plain text".to_owned());
            }
            (PromptForm::Plain, _) => plain_pieces(messages)?,
        };
        let mut example = Example {
            tokens: Vec::new(),
            said: Vec::new(),
        };
        let mut add = |ids: &[u32], said: bool| {
            example.tokens.extend_from_slice(ids);
            example.said.resize(example.tokens.len(), said);
        };
        // As before a plain text that is scored: never the marker of a role.
        if self.form == PromptForm::Plain
            && let Some(start) = self.tokenizer.start_tokens(self.template).auto
        {
            add(&[start.id], false);
        }
        let answered = pieces.last().is_some_and(|(_, said)| *said);
        for (piece, said) in pieces {
            let encoding = self.tokenizer.encode(&piece, false);
            add(&encoding.map_err(|e| e.to_string())?.ids, said);
        }
        if self.form == PromptForm::Plain
            && answered
            && let Some(end) = self.tokenizer.eos()
        {
            add(&[end], true);
        }
        Ok(example)
    }
}

/// The rendered conversation, cut where the assistant begins and ends.
fn chat_pieces(
    messages: &[Message],
    template: &ChatTemplate,
) -> Result<Vec<(String, bool)>, String> {
    let mut prompt = Prompt {
        form: PromptForm::Chat,
        system: None,
        turns: Vec::new(),
    };
    let mut pieces = Vec::new();
    let mut written = String::new();
    for message in messages {
        let render =
            |prompt: &Prompt, open| template.render(prompt, open).map_err(|e| e.to_string());
        let said = message.role == "assistant";
        let counts = said && message.counts;
        if said {
            let before = render(&prompt, true)?;
            pieces.push((after(&before, &written)?.to_owned(), false));
            written = before;
        }
        add_turn(&mut prompt, message)?;
        if said {
            let whole = render(&prompt, false)?;
            pieces.push((after(&whole, &written)?.to_owned(), counts));
            written = whole;
        }
    }
    Ok(pieces)
}

fn after<'a>(text: &'a str, start: &str) -> Result<&'a str, String> {
    text.strip_prefix(start).ok_or_else(|| {
        "the chat template rewrites earlier turns when one is added; use conversations of one answer"
            .to_owned()
    })
}

fn add_turn(prompt: &mut Prompt, message: &Message) -> Result<(), String> {
    let speaker = match message.role.as_str() {
        "system" if prompt.turns.is_empty() => {
            prompt.system = Some(message.content.clone());
            return Ok(());
        }
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        other => {
            return Err(format!(
                "role \"{other}\" is not known here; expected system first, user or assistant"
            ));
        }
    };
    prompt.turns.push(Turn {
        speaker,
        parts: vec![Part::Text(message.content.clone())],
    });
    Ok(())
}

/// Contents as they stand, a space put where two would run together.
fn plain_pieces(messages: &[Message]) -> Result<Vec<(String, bool)>, String> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for message in messages {
        let said = match message.role.as_str() {
            "assistant" => message.counts,
            "system" | "user" => false,
            other => return Err(format!("role \"{other}\" is not known here")),
        };
        let apart = pieces
            .last()
            .is_some_and(|(text, _)| !text.ends_with(char::is_whitespace));
        let space = if apart && !message.content.starts_with(char::is_whitespace) {
            " "
        } else {
            ""
        };
        pieces.push((format!("{space}{}", message.content), said));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, content: &str) -> Message {
        Message::new(role, content)
    }

    #[test]
    fn plain_contents_are_joined_by_one_space() {
        let pieces = plain_pieces(&[message("user", "Label:"), message("assistant", "A")]);
        assert_eq!(
            pieces,
            Ok(vec![("Label:".to_owned(), false), (" A".to_owned(), true)])
        );
        let pieces = plain_pieces(&[message("user", "Label: "), message("assistant", "A")]);
        assert_eq!(
            pieces,
            Ok(vec![("Label: ".to_owned(), false), ("A".to_owned(), true)])
        );
        assert!(plain_pieces(&[message("robot", "beep")]).is_err());
    }

    #[test]
    fn only_what_the_assistant_says_counts() {
        let example = Example {
            tokens: vec![5, 6, 7, 8],
            said: vec![false, false, true, true],
        };
        let mut packed = Packed::default();
        example.add_to(&mut packed);
        example.add_to(&mut packed);
        assert_eq!(packed.tokens, [5, 6, 7, 5, 6, 7]);
        assert_eq!(packed.targets[..3], [(6, 0.0), (7, 1.0), (8, 1.0)]);
        assert_eq!(
            packed.segments[1],
            Segment {
                start: 3,
                length: 3
            }
        );
    }
}

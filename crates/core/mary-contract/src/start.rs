//! What stands before the first token of a scored text: the conventions by name, and the token that each of
//! them puts there for one model. docs/start-tokens.md says which convention gives which published figure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ModelCard, Request};

/// What stands before the first token of a scored text.
///
/// The names in stored requests are those of earlier programs (`model`, `always`, `never`), so that cached
/// answers are found again; people write `model`, `harness` and `none`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// What the model's tokenizer adds by itself. If that is nothing and the prefix is empty, the
    /// first token cannot be scored and is left out (minicons' convention for such models).
    #[default]
    Model,
    /// Always a begin-of-sequence token, or end-of-sequence for models that have no other, so that
    /// every token is scored (lm-evaluation-harness' convention for texts without a prefix; with
    /// one, it does as [`Start::Model`]). For a chat model this may be the marker of a role.
    Always,
    /// Never; the first token of an empty prefix is left out.
    Never,
    /// What stands before a plain text in training: what the tokenizer adds by itself, or else the token
    /// that ends a text. Never the marker of a role in a conversation, nor a token that is not used.
    Text,
    /// The token of this name.
    Token(String),
}

/// Measures of a verdict after another start token begin with this; its name follows.
pub const START_MEASURE: &str = "start_";

/// The names of the conventions, for people.
const NAMES: [(&str, Start); 6] = [
    ("auto", Start::Text),
    ("harness", Start::Always),
    ("model", Start::Model),
    ("none", Start::Never),
    ("always", Start::Always),
    ("never", Start::Never),
];

impl Start {
    /// What is compared where somebody wants to know whether verdicts depend on the start token. The first
    /// decides.
    pub const COMPARED: [Self; 3] = [Self::Text, Self::Always, Self::Never];

    /// What [`Start::from_str`] reads, for people.
    pub const VALUES: &'static str = "auto, harness, model, none, or a token such as <|endoftext|>";

    /// Its name; of a token, the token.
    pub fn name(&self) -> &str {
        match self {
            Self::Token(token) => token,
            named => {
                let known = NAMES.iter().find(|(_, start)| start == named);
                known.map_or("", |(name, _)| name)
            }
        }
    }

    /// As a run states it: earlier programs' conventions in their words, so that their runs are found again.
    pub fn stated(&self) -> String {
        match self {
            Self::Model => "model".into(),
            Self::Always => "always".into(),
            Self::Never => "never".into(),
            other => other.words(),
        }
    }

    /// What it does, in words that every score can state.
    pub fn words(&self) -> String {
        match self {
            Self::Model => "model: what the tokenizer adds".into(),
            Self::Always => {
                "harness: always a begin-of-sequence token, or else end-of-sequence, as in \
                 lm-evaluation-harness"
                    .into()
            }
            Self::Never => "none: the first token of a text has no score".into(),
            Self::Text => {
                "auto: the tokenizer's own start token, or else end of text; the model's card names it"
                    .into()
            }
            Self::Token(token) => format!("the token {token}"),
        }
    }
}

/// A name that is neither a convention nor looks like a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of: {values}\nhint: `token:{0}` puts the token `{0}` first", values = Start::VALUES)]
pub struct StartError(String);

impl FromStr for Start {
    type Err = StartError;

    fn from_str(text: &str) -> Result<Self, StartError> {
        if let Some((_, start)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(start.clone());
        }
        match text.strip_prefix("token:") {
            Some(token) if !token.is_empty() => Ok(Self::Token(token.to_owned())),
            // A bare word is a convention that was misspelt; special tokens have brackets.
            None if text.chars().any(|c| !c.is_alphanumeric() && c != '-') => {
                Ok(Self::Token(text.to_owned()))
            }
            _ => Err(StartError(text.to_owned())),
        }
    }
}

/// A token of a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedToken {
    /// As the vocabulary writes it.
    pub text: String,
    /// Its number.
    pub id: u32,
    /// Whether the chat template writes it between the turns of a conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chat_role: bool,
}

/// Names of tokens that end a text in training, where another text follows.
pub const TEXT_ENDS: [&str; 5] = [
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
];

/// Names of tokens that begin one. A template may write these and those above: they are no roles.
const TEXT_BEGINS: [&str; 6] = [
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<｜begin▁of▁sentence｜>",
    "[BOS]",
];

impl NamedToken {
    /// A token of a model with this chat template.
    pub fn new(text: String, id: u32, template: Option<&str>) -> Self {
        let boundary = TEXT_ENDS.contains(&&*text) || TEXT_BEGINS.contains(&&*text);
        let written = template.is_some_and(|t| !text.is_empty() && t.contains(&text));
        Self {
            chat_role: written && !boundary,
            text,
            id,
        }
    }

    /// Whether it can stand before a plain text: no marker of a role, and in use.
    fn is_plain(&self) -> bool {
        let unused = ["unused", "reserved"].iter().any(|w| self.text.contains(w));
        !self.chat_role && !unused
    }
}

impl fmt::Display for NamedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (id {}", self.text, self.id)?;
        f.write_str(if self.chat_role {
            ", a chat role)"
        } else {
            ")"
        })
    }
}

/// What each convention puts first for one model; `None` where it is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartTokens {
    /// [`Start::Model`].
    pub model: Option<NamedToken>,
    /// [`Start::Always`].
    pub harness: Option<NamedToken>,
    /// [`Start::Text`].
    pub auto: Option<NamedToken>,
}

/// A token, or that there is none.
fn or_nothing(token: Option<&NamedToken>) -> String {
    token.map_or_else(|| "nothing".to_owned(), NamedToken::to_string)
}

impl StartTokens {
    /// What each convention puts first, from what a tokenizer says: the token that it adds by itself, its
    /// begin-of-sequence token, and the tokens that end a text, its own first.
    ///
    /// ```
    /// use mary_contract::{NamedToken, Start, StartTokens};
    ///
    /// // GPT-2 adds nothing by itself, and has one token for both ends of a text.
    /// let end = NamedToken::new("<|endoftext|>".into(), 50256, None);
    /// let starts = StartTokens::of_tokenizer(None, None, &[end]);
    /// assert_eq!(starts.shown(&Start::Model), "nothing");
    /// assert_eq!(starts.shown(&"auto".parse()?), "<|endoftext|> (id 50256)");
    /// # Ok::<(), mary_contract::StartError>(())
    /// ```
    pub fn of_tokenizer(
        adds: Option<NamedToken>,
        bos: Option<NamedToken>,
        ends: &[NamedToken],
    ) -> Self {
        let plain = ends.iter().chain(&bos).find(|t| t.is_plain());
        Self {
            auto: adds.clone().or_else(|| plain.cloned()),
            harness: bos.clone().or_else(|| ends.first().cloned()),
            model: adds,
        }
    }

    /// The token that a convention puts first. `Err` for a token by name that is none of these.
    fn of<'a>(&'a self, start: &'a Start) -> Result<Option<&'a NamedToken>, &'a str> {
        Ok(match start {
            Start::Model => self.model.as_ref(),
            Start::Always => self.harness.as_ref(),
            Start::Never => None,
            Start::Text => self.auto.as_ref(),
            Start::Token(name) => {
                let all = [&self.auto, &self.harness, &self.model];
                let known = all.into_iter().flatten().find(|t| t.text == *name);
                Some(known.ok_or(name.as_str())?)
            }
        })
    }

    /// The token that a convention puts first, for tables.
    pub fn shown(&self, start: &Start) -> String {
        self.of(start).map_or_else(str::to_owned, or_nothing)
    }

    /// What is to be said where scores were made under a convention that puts another token first than the
    /// tokenizer would.
    pub fn overriding(&self, start: &Start) -> Option<String> {
        let (put, own) = (self.shown(start), or_nothing(self.model.as_ref()));
        (put != own).then(|| {
            format!(
                "{put} was put before the texts (start: {}); its tokenizer alone would put {own} there",
                start.name()
            )
        })
    }

    /// All three in words, for a card.
    pub fn words(&self) -> String {
        let [own, auto, harness] =
            [&self.model, &self.auto, &self.harness].map(|t| or_nothing(t.as_ref()));
        let mut words = format!("the tokenizer puts {own} first");
        if auto != own {
            words += &format!("; plain texts are scored after {auto}");
        }
        if harness != auto {
            words += &format!("; start=harness scores them after {harness}");
        }
        words
    }

    /// The same convention by the name under which earlier programs asked for the same token, so that the
    /// answers they kept are found. Only a name that they did not know is replaced.
    fn known_earlier(&self, start: &Start) -> Option<Start> {
        if !matches!(start, Start::Text | Start::Token(_)) {
            return None;
        }
        let token = self.of(start).ok()?;
        let mut known = [Start::Always, Start::Model, Start::Never].into_iter();
        known.find(|known| self.of(known) == Ok(token))
    }
}

impl ModelCard {
    /// The request under whose key an answer is kept, where that is not the request itself: one that earlier
    /// programs would have asked, and that puts the same token first.
    pub fn keyed_as(&self, request: &Request) -> Option<Request> {
        let Request::Score(score) = request else {
            return None;
        };
        let start = self.starts.as_ref()?.known_earlier(&score.start)?;
        let mut same = score.clone();
        same.start = start;
        Some(Request::Score(same))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prompt, Score, TaskCard};

    fn token(text: &str, id: u32) -> Option<NamedToken> {
        let chat_role = text.contains("im_");
        let text = text.to_owned();
        Some(NamedToken {
            text,
            id,
            chat_role,
        })
    }

    fn key(starts: &StartTokens, start: Start) -> crate::Key {
        let mut card = ModelCard::new("hf/x".parse().unwrap(), Default::default());
        card.starts = Some(starts.clone());
        let request = Request::Score(Score::new(Prompt::plain(""), vec!["a".into()], start));
        let request = card.keyed_as(&request).unwrap_or(request);
        crate::Key::of("f", &TaskCard::new("f/t", "t", "t"), 0, &request).unwrap()
    }

    #[test]
    fn a_key_changes_only_where_the_start_token_does() {
        // GPT-2: the same token by both conventions. SmolLM2-Instruct: a chat role by the harness'.
        let gpt2 = StartTokens {
            model: None,
            harness: token("<|endoftext|>", 50256),
            auto: token("<|endoftext|>", 50256),
        };
        assert_eq!(key(&gpt2, Start::Text), key(&gpt2, Start::Always));
        assert_eq!(
            key(&gpt2, Start::Token("<|endoftext|>".into())),
            key(&gpt2, Start::Always)
        );
        let smollm = StartTokens {
            model: None,
            harness: token("<|im_start|>", 1),
            auto: token("<|endoftext|>", 0),
        };
        assert_ne!(key(&smollm, Start::Text), key(&smollm, Start::Always));
        assert_ne!(key(&smollm, Start::Text), key(&smollm, Start::Never));
        // Names that earlier programs knew keep their own keys, whatever they put first.
        assert_ne!(key(&gpt2, Start::Model), key(&gpt2, Start::Never));
        let words = smollm.words();
        assert!(
            words.contains("<|im_start|> (id 1, a chat role)"),
            "{words}"
        );
        let said = smollm.overriding(&Start::Text).unwrap();
        assert!(said.contains("<|endoftext|> (id 0) was put"), "{said}");
        assert_eq!(smollm.overriding(&Start::Model), None);
    }

    #[test]
    fn a_plain_text_never_begins_with_a_role_or_an_unused_token() {
        let template = "{{ bos_token }}<|im_start|>user\n<|im_end|></s>";
        let named = |text: &str, id| NamedToken::new(text.to_owned(), id, Some(template));
        let start = |adds: Option<NamedToken>, bos: Option<NamedToken>, ends: &[NamedToken]| {
            let starts = StartTokens::of_tokenizer(adds, bos, ends);
            [starts.auto, starts.harness].map(|t| t.map(|t| t.text).unwrap_or_default())
        };
        let role = || named("<|im_start|>", 1);
        let turn_end = || named("<|im_end|>", 2);
        assert!(role().chat_role && turn_end().chat_role);
        // SmolLM2-Instruct: its begin and end of sequence are those of a turn.
        let ends = [turn_end(), named("<|endoftext|>", 0)];
        assert_eq!(
            start(None, Some(role()), &ends),
            ["<|endoftext|>", "<|im_start|>"]
        );
        // Without an end of text nothing is put first, rather than a role or a token out of use.
        let unused = named("<|reserved_special_token_0|>", 9);
        assert_eq!(start(None, Some(role()), &[unused, turn_end()])[0], "");
        // A template may write what begins or ends a text: that is no role.
        assert_eq!(start(None, None, &[named("</s>", 2)]), ["</s>", "</s>"]);
        // What the tokenizer adds by itself stands.
        let bos = Some(named("<s>", 1));
        assert_eq!(start(bos.clone(), bos, &[named("</s>", 2)]), ["<s>", "<s>"]);
    }

    #[test]
    fn conventions_are_read_by_old_and_new_names() {
        let read = |text: &str| text.parse::<Start>();
        assert_eq!(read("always"), Ok(Start::Always));
        assert_eq!(read("harness"), Ok(Start::Always));
        assert_eq!(read("never"), read("none"));
        assert_eq!(read("auto"), Ok(Start::Text));
        assert_eq!(read("<s>"), Ok(Start::Token("<s>".into())));
        assert_eq!(read("token:a"), Ok(Start::Token("a".into())));
        assert!(read("allways").unwrap_err().to_string().contains("harness"));
        for (name, start) in &NAMES[..4] {
            assert_eq!(start.name(), *name);
        }
        let kept = serde_json::to_string(&[Start::Model, Start::Always, Start::Never]).unwrap();
        assert_eq!(kept, r#"["model","always","never"]"#);
    }
}

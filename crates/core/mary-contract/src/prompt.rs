//! What a model is shown: a conversation of text and pictures, and whether it is to be wrapped in
//! the model's chat template or continued as plain text.

use serde::{Deserialize, Serialize};

/// A picture inside a prompt. Serialised as base64 so that a log line holds everything that was
/// shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// For example `image/png`.
    pub media_type: String,
    /// The encoded file, not raw pixels.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
}

impl Image {
    /// A PNG file.
    pub fn png(data: Vec<u8>) -> Self {
        let media_type = "image/png".into();
        Self { media_type, data }
    }
}

/// One piece of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words, as they are tokenised.
    Text(String),
    /// A picture, for models that see.
    Image(Image),
}

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The one who asks; system messages stand apart.
    User,
    /// The model, in the shots of a prompt.
    Assistant,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Whose turn it is.
    pub speaker: Speaker,
    /// What is said and shown, in order.
    pub parts: Vec<Part>,
}

/// How the prompt reaches the model. Recorded with every score, because the two are different
/// experiments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// The text as it stands, to be continued.
    #[default]
    Plain,
    /// Wrapped in the model's chat template (or sent as chat messages over HTTP).
    Chat,
}

impl PromptForm {
    /// The word for it in settings and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Chat => "chat",
        }
    }
}

/// A whole prompt.
///
/// ```
/// use mary_contract::{Prompt, PromptForm};
///
/// let prompt = Prompt::chat("Which is heavier?");
/// assert_eq!(prompt.form, PromptForm::Chat);
/// assert_eq!(prompt.text(), "Which is heavier?");
/// assert!(!prompt.has_images());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Whether it is continued as it stands or wrapped in a chat template.
    pub form: PromptForm,
    /// A system message, where the task has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation; a plain prompt has at most one user turn.
    pub turns: Vec<Turn>,
}

impl Prompt {
    /// Plain text to be continued. An empty text is the prompt "nothing at all".
    pub fn plain(text: impl Into<String>) -> Self {
        Self::single(PromptForm::Plain, text.into())
    }

    /// One user message for a chat model.
    pub fn chat(text: impl Into<String>) -> Self {
        Self::single(PromptForm::Chat, text.into())
    }

    /// One user text in the given form.
    pub fn single(form: PromptForm, text: impl Into<String>) -> Self {
        let turn = Turn {
            speaker: Speaker::User,
            parts: vec![Part::Text(text.into())],
        };
        Self {
            form,
            system: None,
            turns: vec![turn],
        }
    }

    /// Whether any turn holds a picture.
    pub fn has_images(&self) -> bool {
        let mut parts = self.turns.iter().flat_map(|t| &t.parts);
        parts.any(|p| matches!(p, Part::Image(_)))
    }

    /// All words in order (system message first), pictures left out. Used for ordering requests by
    /// shared prefix and for showing, never for scoring.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(system) = &self.system {
            out.push_str(system);
            out.push('\n');
        }
        for part in self.turns.iter().flat_map(|t| &t.parts) {
            if let Part::Text(text) = part {
                out.push_str(text);
            }
        }
        out
    }
}

mod base64_bytes {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(d)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

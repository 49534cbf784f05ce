//! Chat templates: a conversation rendered to the text a chat model was trained on.

use mary_contract::{ErrorKind, ModelError, Prompt};

/// A chat template in Hugging Face's dialect of Jinja.
pub struct ChatTemplate {
    source: String,
}

impl ChatTemplate {
    /// The rendered text; tokenise it with `add_special = false`, the template writes its own
    /// special tokens.
    pub fn render(
        &self,
        _prompt: &Prompt,
        _add_generation_prompt: bool,
    ) -> Result<String, ModelError> {
        Err(ModelError::new(ErrorKind::Internal, self.source.clone()))
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        &self.source
    }
}

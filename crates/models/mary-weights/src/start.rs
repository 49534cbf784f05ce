//! Which token stands before a text that is scored, by each convention: decided from the tokenizer's rule, its
//! special tokens and the chat template.

use mary_contract::{ErrorKind, ModelError, NamedToken, Start, StartTokens, TEXT_ENDS};

use crate::{ChatTemplate, Checkpoint, Tokenizer};

impl Tokenizer {
    /// What each convention puts first, for a model with this chat template.
    pub fn start_tokens(&self, template: Option<&ChatTemplate>) -> StartTokens {
        let template = template.map(ChatTemplate::source);
        let named = |id: u32| Some(NamedToken::new(self.token(id)?, id, template));
        let bos = self.bos();
        // A chat model is told to stop at the end of a turn; the token that ends a text has another name.
        let known = TEXT_ENDS.iter().filter_map(|name| self.id(name));
        let ends = self.eos_ids().iter().copied().chain(known);
        let ends: Vec<NamedToken> = ends.filter_map(named).collect();
        let adds = bos.filter(|_| self.adds_bos());
        StartTokens::of_tokenizer(adds.and_then(named), bos.and_then(named), &ends)
    }
}

impl Checkpoint {
    pub fn start_tokens(&self) -> StartTokens {
        self.tokenizer().start_tokens(self.template())
    }

    /// The token that stands before a plain text.
    pub fn start_token(&self, start: &Start) -> Result<Option<u32>, ModelError> {
        let tokenizer = self.tokenizer();
        Ok(match start {
            Start::Model => tokenizer.bos().filter(|_| tokenizer.adds_bos()),
            Start::Always => tokenizer.bos().or(tokenizer.eos()),
            Start::Never => None,
            Start::Text => self.start_tokens().auto.map(|token| token.id),
            Start::Token(name) => Some(tokenizer.id(name).ok_or_else(|| {
                let message = format!("this model has no token `{name}` to put before a text");
                let known = self.start_tokens().words();
                ModelError::new(ErrorKind::BadRequest, message)
                    .hint(format!("{known}; --start takes {}", Start::VALUES))
            })?),
        })
    }
}

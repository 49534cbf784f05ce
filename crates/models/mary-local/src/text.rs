//! From prompts to tokens, and how a text that is longer than the context is cut into windows.

use mary_contract::{Capabilities, Part, Prompt, PromptForm, Score, Speaker, Start};
use mary_weights::Checkpoint;

use crate::errors::{Result, bad_request};
use crate::trie::Sequence;
use crate::vision::Album;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub tokens: Vec<u32>,
    pub scored_from: usize,
    /// A token holds the end of the prefix and the beginning of the continuation.
    pub boundary_merged: bool,
    /// The first token had nothing before it.
    pub first_unscored: bool,
    /// Where each scored token lies in the continuation, in bytes.
    pub places: Vec<(u32, u32)>,
    /// Tokens of the source, where an encoder reads one.
    pub source: usize,
}

#[derive(Clone, Copy)]
pub struct Reader<'a> {
    checkpoint: &'a Checkpoint,
    album: Option<&'a Album<'a>>,
}

impl<'a> Reader<'a> {
    pub fn new(checkpoint: &'a Checkpoint) -> Self {
        Self {
            checkpoint,
            album: None,
        }
    }

    /// The same where prompts show these pictures.
    pub(crate) fn showing(checkpoint: &'a Checkpoint, album: &'a Album<'a>) -> Self {
        Self {
            checkpoint,
            album: Some(album),
        }
    }

    /// The prompt as the model will read it, and the token that stands before it.
    pub fn render(&self, prompt: &Prompt, start: &Start) -> Result<(String, Option<u32>)> {
        let nothing = Album::default();
        let album = self.album.unwrap_or(&nothing);
        let (mut text, first) = self.words(prompt, start, album.plain())?;
        if prompt.has_images() {
            text = album.write(text, prompt)?;
        }
        Ok((text, first))
    }

    /// The prompt in words, with `picture` in the place of every picture.
    fn words(
        &self,
        prompt: &Prompt,
        start: &Start,
        picture: &str,
    ) -> Result<(String, Option<u32>)> {
        match prompt.form {
            PromptForm::Plain => {
                let mut text = prompt.system.clone().unwrap_or_default();
                for part in prompt.turns.iter().flat_map(|t| &t.parts) {
                    text.push_str(match part {
                        Part::Text(words) => words,
                        Part::Image(_) => picture,
                    });
                }
                Ok((text, self.checkpoint.start_token(start)?))
            }
            PromptForm::Chat => {
                let template = self.checkpoint.template().ok_or_else(|| {
                    bad_request("this model has no chat template")
                        .hint("ask it to continue plain text instead")
                })?;
                let last = prompt.turns.last();
                let answers = last.is_none_or(|t| t.speaker == Speaker::User);
                // A template writes its own special tokens.
                Ok((template.render(prompt, answers)?, None))
            }
        }
    }

    /// The tokens of a prompt to be answered; never none.
    pub fn prompt(&self, prompt: &Prompt) -> Result<Vec<u32>> {
        if let Some(album) = self.album.filter(|album| album.answers()) {
            return Ok(vec![album.source(&self.source(prompt, false)?)?]);
        }
        let (text, first) = self.render(prompt, &Start::Model)?;
        let tokenizer = self.checkpoint.tokenizer();
        let mut tokens: Vec<u32> = first.into_iter().collect();
        tokens.extend(tokenizer.encode(&text, false)?.ids);
        self.put(&mut tokens, prompt)?;
        if tokens.is_empty() {
            tokens.extend(tokenizer.bos().or(tokenizer.eos()));
        }
        if tokens.is_empty() {
            let message = "the prompt is empty and this model has no token to start from";
            return Err(bad_request(message));
        }
        Ok(tokens)
    }

    pub fn continuations(&self, request: &Score) -> Result<Vec<Reading>> {
        if let Some(album) = self.album.filter(|album| album.answers()) {
            return self.targets(request, album);
        }
        if request.details.as_ids {
            return self.spelled(request);
        }
        let (prefix, first) = self.render(&request.prefix, &request.start)?;
        let read = |continuation: &String| {
            let mut reading = self.reading(&prefix, continuation, first)?;
            self.put(&mut reading.tokens, &request.prefix)?;
            Ok(reading)
        };
        request.continuations.iter().map(read).collect()
    }

    /// What an encoder reads of a prompt: its tokens, and what the tokenizer puts around a text.
    pub fn source(&self, prompt: &Prompt, as_ids: bool) -> Result<Vec<u32>> {
        let tokens = match as_ids {
            true => self.ids(&prompt.text())?,
            false => {
                let (text, _) = self.render(prompt, &Start::Never)?;
                self.checkpoint.tokenizer().encode(&text, true)?.ids
            }
        };
        match tokens.is_empty() {
            true => Err(bad_request("the encoder has no token to read")),
            false => Ok(tokens),
        }
    }

    /// Continuations as answers to a source, each read by itself.
    fn targets(&self, request: &Score, album: &Album<'_>) -> Result<Vec<Reading>> {
        let as_ids = request.details.as_ids;
        let source = self.source(&request.prefix, as_ids)?;
        let first = album.source(&source)?;
        let read = |continuation: &String| {
            let (ids, places) = match as_ids {
                true => {
                    let ids = self.ids(continuation)?;
                    let places = self.pieces(&ids);
                    (ids, places)
                }
                false => {
                    let read = self.checkpoint.tokenizer().encode(continuation, false)?;
                    let places = read.offsets.iter().map(|&(a, b)| (a as u32, b as u32));
                    (read.ids, places.collect())
                }
            };
            Ok(Reading {
                tokens: std::iter::once(first).chain(ids).collect(),
                scored_from: 1,
                boundary_merged: false,
                first_unscored: false,
                places,
                source: source.len(),
            })
        };
        request.continuations.iter().map(read).collect()
    }

    /// What is given as token ids is read as it is.
    fn ids(&self, text: &str) -> Result<Vec<u32>> {
        let size = self.checkpoint.tokenizer().vocab_size();
        let all = text.split_ascii_whitespace().map(|word| {
            let id = word.parse::<u32>().ok();
            id.filter(|&id| (id as usize) < size)
                .ok_or_else(|| bad_request(format!("`{word}` is no token id of this model")))
        });
        all.collect()
    }

    /// Where tokens lie in the text that they spell.
    fn pieces(&self, ids: &[u32]) -> Vec<(u32, u32)> {
        let mut end = 0;
        let places = ids.iter().map(|&id| {
            let start = end;
            end += self.checkpoint.tokenizer().piece(id).len() as u32;
            (start, end)
        });
        places.collect()
    }

    fn spelled(&self, request: &Score) -> Result<Vec<Reading>> {
        let prefix = self.ids(&request.prefix.text())?;
        let read = |continuation: &String| {
            let mut tokens = prefix.clone();
            tokens.extend(self.ids(continuation)?);
            let scored_from = prefix.len().max(1).min(tokens.len());
            Ok(Reading {
                scored_from,
                boundary_merged: false,
                first_unscored: prefix.is_empty() && !tokens.is_empty(),
                places: self.pieces(&tokens[scored_from..]),
                source: 0,
                tokens,
            })
        };
        request.continuations.iter().map(read).collect()
    }

    fn put(&self, tokens: &mut [u32], prompt: &Prompt) -> Result<()> {
        self.album.map_or(Ok(()), |album| album.put(tokens, prompt))
    }

    fn reading(&self, prefix: &str, continuation: &str, first: Option<u32>) -> Result<Reading> {
        let text = format!("{prefix}{continuation}");
        let encoding = self.checkpoint.tokenizer().encode(&text, false)?;
        // The first scored token is the one that holds the continuation's first byte.
        let offsets = &encoding.offsets;
        let holds = offsets.iter().position(|&(_, end)| end > prefix.len());
        let holds = holds.filter(|_| !continuation.is_empty());
        let at = holds.unwrap_or(encoding.ids.len());
        let merged = offsets
            .get(at)
            .is_some_and(|&(start, _)| start < prefix.len());
        let shift = usize::from(first.is_some());
        let first_unscored = at + shift == 0 && !encoding.ids.is_empty();
        let mut tokens: Vec<u32> = first.into_iter().collect();
        tokens.extend(encoding.ids);
        let scored_from = (at + shift).max(1).min(tokens.len());
        let inside = |at: usize| at.saturating_sub(prefix.len()) as u32;
        let scored = offsets.iter().skip(scored_from - shift.min(scored_from));
        Ok(Reading {
            scored_from,
            tokens,
            boundary_merged: merged,
            first_unscored,
            source: 0,
            places: scored
                .map(|&(start, end)| (inside(start), inside(end)))
                .collect(),
        })
    }
}

/// A text that does not fit is cut so that every token is scored with at least half a context before it.
pub fn windows(tokens: &[u32], scored_from: usize, context: usize) -> Vec<Sequence> {
    let most = context + 1; // the last token is never read, only predicted
    let mut all = vec![];
    let mut next = scored_from.max(1);
    while next < tokens.len() {
        let end = tokens.len().min(most.max(next + context / 2 + 1));
        let start = end.saturating_sub(most);
        let sequence = Sequence {
            tokens: tokens[start..end].to_vec(),
            scored_from: next - start,
        };
        all.push(sequence);
        next = end;
    }
    all
}

pub fn capabilities(language_head: bool, template: bool, images: bool) -> Capabilities {
    Capabilities {
        generate: language_head,
        score: language_head,
        score_single_token_only: false,
        observe: true,
        intervene: false,
        images,
        chat: language_head && template,
        plain: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_score_every_token_once_with_half_a_context_before_it(
            len in 1usize..200,
            from in 1usize..200,
            context in 1usize..40,
        ) {
            let tokens: Vec<u32> = (0..len as u32).collect();
            let from = from.min(len);
            let mut scored: Vec<u32> = vec![];
            for window in windows(&tokens, from, context) {
                prop_assert!(window.tokens.len() <= context + 1);
                prop_assert!(window.scored_from >= 1);
                let first = window.tokens[window.scored_from] as usize;
                prop_assert!(window.scored_from >= first.min(context / 2).max(1));
                scored.extend(&window.tokens[window.scored_from..]);
            }
            prop_assert_eq!(scored, tokens[from..].to_vec());
        }
    }

    #[test]
    fn a_text_that_fits_is_one_sequence() {
        let all = windows(&[1, 2, 3, 4], 2, 3);
        assert_eq!(
            all,
            [Sequence {
                tokens: vec![1, 2, 3, 4],
                scored_from: 2
            }]
        );
    }
}

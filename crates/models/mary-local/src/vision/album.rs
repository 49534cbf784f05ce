//! The pictures that a window of requests shows: each is read once, however often it is shown.

use std::collections::HashMap;
use std::sync::Arc;

use mary_contract::{Image, Part, Prompt};

use super::encoder::{EncodedPicture, VisionEncoder};
use super::shown::PictureRows;
use crate::errors::{Result, bad_model, bad_request, too_long};

type Hash = [u8; 32];

#[derive(Default)]
pub(crate) struct Album<'a> {
    encoder: Option<&'a VisionEncoder>,
    shown: Arc<PictureRows>,
    pictures: HashMap<Hash, Result<(u32, Arc<EncodedPicture>)>>,
    /// What an encoder-decoder answers, by its tokens: a source is shown as pictures are.
    sources: Option<Result<HashMap<Vec<u32>, u32>>>,
}

pub(crate) fn images(prompt: &Prompt) -> impl Iterator<Item = &Image> {
    let parts = prompt.turns.iter().flat_map(|t| &t.parts);
    parts.filter_map(|part| match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    })
}

impl<'a> Album<'a> {
    /// A picture that cannot be read spoils the requests that show it, and no others.
    pub(crate) fn read<'p>(
        encoder: Option<&'a VisionEncoder>,
        prompts: impl Iterator<Item = &'p Prompt>,
    ) -> Self {
        let Some(encoder) = encoder else {
            return Self::default();
        };
        let mut shown = PictureRows::new(encoder.width, encoder.both_ways());
        let mut pictures = HashMap::new();
        for image in prompts.flat_map(images) {
            let hash = *blake3::hash(&image.data).as_bytes();
            pictures.entry(hash).or_insert_with(|| {
                let picture = encoder.read(image, hash)?;
                let first = shown.add(&picture.rows, picture.grid);
                Ok((first, picture))
            });
        }
        Self {
            encoder: Some(encoder),
            shown: Arc::new(shown),
            pictures,
            sources: None,
        }
    }

    pub(crate) fn of_sources(read: Result<(PictureRows, HashMap<Vec<u32>, u32>)>) -> Self {
        let (shown, sources) = match read {
            Ok((shown, sources)) => (shown, Ok(sources)),
            Err(error) => (PictureRows::default(), Err(error)),
        };
        Self {
            shown: Arc::new(shown),
            sources: Some(sources),
            ..Self::default()
        }
    }

    pub(crate) fn answers(&self) -> bool {
        self.sources.is_some()
    }

    pub(crate) fn source(&self, tokens: &[u32]) -> Result<u32> {
        let read = match &self.sources {
            Some(Err(error)) => return Err(error.clone()),
            Some(Ok(all)) => all.get(tokens),
            None => None,
        };
        // Only those that are too long are left out.
        let long = || {
            format!(
                "the prefix has {} tokens, more than this model reads",
                tokens.len()
            )
        };
        read.copied().ok_or_else(|| too_long(long()))
    }

    pub(crate) fn shown(&self) -> &Arc<PictureRows> {
        &self.shown
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.rows() == 0
    }

    pub(crate) fn plain(&self) -> &str {
        self.encoder.map_or("", |e| e.words.plain.as_str())
    }

    fn find(&self, image: &Image) -> Result<(u32, &EncodedPicture)> {
        let hash = *blake3::hash(&image.data).as_bytes();
        match self.pictures.get(&hash) {
            Some(Ok((first, picture))) => Ok((*first, picture)),
            Some(Err(error)) => Err(error.clone()),
            None => Err(
                bad_request("the prompt holds a picture, and this model takes text only").hint(
                    "tasks with pictures need a model with a vision tower; see docs/vision.md",
                ),
            ),
        }
    }

    pub(crate) fn write(&self, text: String, prompt: &Prompt) -> Result<String> {
        let words: Result<Vec<String>> = images(prompt)
            .map(|image| self.find(image).map(|(_, picture)| picture.words.clone()))
            .collect();
        let words = words?;
        match self.encoder {
            Some(encoder) if !words.is_empty() => encoder.words.place(&text, &words),
            _ => Ok(text),
        }
    }

    pub(crate) fn put(&self, tokens: &mut [u32], prompt: &Prompt) -> Result<()> {
        let Some(encoder) = self.encoder else {
            return Ok(());
        };
        let mut rows = vec![];
        for image in images(prompt) {
            let (first, picture) = self.find(image)?;
            let count = picture.rows.len() / encoder.width.max(1);
            rows.extend((0..count as u32).map(|row| first + row));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let places = tokens.iter().filter(|&&t| t == encoder.image_token).count();
        if places != rows.len() {
            let count = rows.len();
            return Err(bad_model(format!(
                "the pictures have {count} rows; the tokenizer gives {places} places for them"
            ))
            .hint("the tokenizer may belong to another model"));
        }
        let mut rows = rows.into_iter();
        for token in tokens.iter_mut().filter(|t| **t == encoder.image_token) {
            *token = rows.next().unwrap_or(*token);
        }
        Ok(())
    }
}

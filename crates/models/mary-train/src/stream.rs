//! Text as an endless stream of tokens, in windows, from any place again.

use crate::corpus::{Corpus, stable_hash};
use crate::{Result, TrainError, tokenizer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::PathBuf;
use std::sync::Arc;
use tokenizers::Tokenizer;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum TextSource {
    Generated,
    /// Text files of the user's; documents are separated by empty lines.
    Files(Vec<PathBuf>),
}

/// Documents by number, without end.
#[derive(Debug, Clone)]
pub(crate) enum Documents {
    Generated(Corpus),
    Texts { seed: u64, texts: Arc<Vec<String>> },
}

impl Documents {
    pub(crate) fn open(source: &TextSource, seed: u64) -> Result<Self> {
        let files = match source {
            TextSource::Generated => return Ok(Self::Generated(Corpus::new(seed))),
            TextSource::Files(files) => files,
        };
        let mut texts = Vec::new();
        for path in files {
            let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA)
                .map_err(TrainError::file(path))?;
            let text = text.replace("\r\n", "\n");
            let documents = text.split("\n\n").map(str::trim).filter(|t| !t.is_empty());
            texts.extend(documents.map(str::to_owned));
        }
        if texts.is_empty() {
            return Err(TrainError::Settings(
                "the text files hold no text; give at least one file with some".to_owned(),
            ));
        }
        Ok(Self::Texts {
            seed,
            texts: Arc::new(texts),
        })
    }

    /// A mark of what the documents are, so that a run is not resumed on other text.
    pub(crate) fn mark(&self) -> u64 {
        match self {
            Self::Generated(corpus) => (0..64).fold(0, |mark, i| {
                mark ^ stable_hash(&corpus.document(i)).rotate_left(i as u32)
            }),
            Self::Texts { texts, .. } => texts.iter().fold(texts.len() as u64, |mark, text| {
                mark.rotate_left(5) ^ stable_hash(text)
            }),
        }
    }

    /// How many different documents there are, where they are counted.
    pub(crate) fn count(&self) -> Option<usize> {
        match self {
            Self::Generated(_) => None,
            Self::Texts { texts, .. } => Some(texts.len()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Position {
    pub(crate) next_document: u64,
    pub(crate) carry: Vec<u32>,
}

pub(crate) struct TokenStream {
    documents: Documents,
    tokenizer: Tokenizer,
    end: u32,
    position: Position,
    order: Option<(u64, Vec<u32>)>,
}

impl TokenStream {
    pub(crate) fn new(
        documents: Documents,
        tokenizer: Tokenizer,
        end: u32,
        position: Position,
    ) -> Self {
        Self {
            documents,
            tokenizer,
            end,
            position,
            order: None,
        }
    }

    pub(crate) fn position(&self) -> Position {
        self.position.clone()
    }

    /// The next window: `length` inputs and one more token to predict, which starts the next.
    pub(crate) fn window(&mut self, length: usize) -> Result<Vec<u32>> {
        while self.position.carry.len() < length + 1 {
            let text = self.next_text();
            self.position.carry.push(self.end);
            self.position
                .carry
                .extend(tokenizer::encode(&self.tokenizer, &text)?);
        }
        let window = self.position.carry[..=length].to_vec();
        self.position.carry.drain(..length);
        Ok(window)
    }

    fn next_text(&mut self) -> String {
        let number = self.position.next_document;
        self.position.next_document += 1;
        match &self.documents {
            Documents::Generated(corpus) => corpus.document(number),
            Documents::Texts { seed, texts } => {
                let (round, place) = (number / texts.len() as u64, number % texts.len() as u64);
                if self.order.as_ref().is_none_or(|(of, _)| *of != round) {
                    let mut order: Vec<u32> = (0..texts.len() as u32).collect();
                    shuffle(&mut order, *seed, round);
                    self.order = Some((round, order));
                }
                let at = self
                    .order
                    .as_ref()
                    .and_then(|(_, order)| order.get(place as usize));
                at.and_then(|i| texts.get(*i as usize))
                    .cloned()
                    .unwrap_or_default()
            }
        }
    }
}

/// Shuffles by a seed and the number of a stream of its random numbers.
pub(crate) fn shuffle<T>(order: &mut [T], seed: u64, stream: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    for i in (1..order.len()).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(position: Position) -> TokenStream {
        let corpus = Corpus::new(3);
        let tokenizer =
            tokenizer::train((0..500).map(move |i| corpus.document(i)), 400).expect("trains");
        TokenStream::new(Documents::Generated(corpus), tokenizer, 0, position)
    }

    #[test]
    fn a_stream_goes_on_from_its_position() {
        let mut whole = stream(Position::default());
        let mut windows: Vec<_> = (0..6).map(|_| whole.window(50).expect("window")).collect();
        let mut first = stream(Position::default());
        for want in windows.drain(..3) {
            assert_eq!(first.window(50).expect("window"), want);
        }
        let mut second = stream(first.position());
        for want in windows {
            assert_eq!(second.window(50).expect("window"), want);
        }
    }

    #[test]
    fn every_token_is_predicted_once() {
        let mut s = stream(Position::default());
        let (a, b) = (s.window(20).expect("window"), s.window(20).expect("window"));
        assert_eq!(a.last(), b.first());
    }

    #[test]
    fn a_round_over_files_meets_every_document_once() {
        let shuffled = |stream| {
            let mut order: Vec<u32> = (0..100).collect();
            shuffle(&mut order, 1, stream);
            order
        };
        let mut order = shuffled(2);
        assert_ne!(order, shuffled(3));
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<u32>>());
    }
}

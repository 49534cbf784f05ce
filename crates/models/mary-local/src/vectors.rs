//! Static word vectors as a model that can only be observed: one layer, one vector for each word.

use std::path::PathBuf;

use mary_contract::{
    Capabilities, LayerVector, Layers, Model, ModelCard, ModelRef, ModelSettings, Observe,
    Observed, Observer, OpenedModel, Pool, PooledVectors, Provider, Reply, Vector, WorkQueue,
};
use mary_weights::{StaticVectors, locate};

use crate::errors::{Result, bad_request};

/// `vectors/PATH`: word2vec, GloVe or fastText.
#[derive(Debug, Clone, Copy)]
pub struct VectorsProvider;

const CAN: Capabilities = Capabilities {
    generate: false,
    score: false,
    score_single_token_only: false,
    observe: true,
    intervene: false,
    images: false,
    chat: false,
    plain: true,
};

impl Provider for VectorsProvider {
    fn name(&self) -> &'static str {
        "vectors"
    }

    fn about(&self) -> &'static str {
        "static word vectors from a file (word2vec, GloVe, fastText): hidden states only"
    }

    fn card(&self, model: &ModelRef, _: &ModelSettings) -> Result<ModelCard> {
        find(model)?;
        Ok(card(model))
    }

    fn open(&self, model: &ModelRef, _: &ModelSettings) -> OpenedModel {
        let vectors = StaticVectors::open(&find(model)?)?;
        Ok(Box::new(VectorModel::new(model, vectors)))
    }
}

/// A path, a name of the catalogue that was pulled, or a file of a hub repository.
fn find(model: &ModelRef) -> Result<PathBuf> {
    locate(model).map_err(|mut error| {
        error.hint.get_or_insert_with(|| {
            "vectors/PATH names a word2vec, GloVe or fastText file".to_owned()
        });
        error
    })
}

fn card(model: &ModelRef) -> ModelCard {
    let mut card = ModelCard::new(model.clone(), CAN);
    card.architecture = Some("static vectors".to_owned());
    card.layers = Some(0);
    let convention = "words between spaces; a word that is not found is tried without punctuation \
                      and in lower case; outside the vocabulary there is no vector, and nothing counts \
                      as averaged";
    card.conventions
        .insert("words".to_owned(), convention.to_owned());
    card
}

pub struct VectorModel {
    card: ModelCard,
    vectors: StaticVectors,
}

impl VectorModel {
    pub fn new(model: &ModelRef, vectors: StaticVectors) -> Self {
        let mut card = card(model);
        card.fingerprint = vectors.fingerprint().to_owned();
        card.parameters = Some((vectors.len() * vectors.dim()) as u64);
        Self { card, vectors }
    }

    fn look_up(&self, word: &str) -> Option<&[f32]> {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase();
        [word, bare, lower.as_str()]
            .into_iter()
            .find_map(|form| self.vectors.get(form))
    }

    /// A word outside the vocabulary is no fault: the vector is empty, and the task counts it.
    fn mean(&self, words: &[&str]) -> PooledVectors {
        let mut sum = vec![0.0f64; self.vectors.dim()];
        let mut count = words.len();
        for word in words {
            let Some(vector) = self.look_up(word) else {
                count = 0;
                sum.clear();
                break;
            };
            let both = sum.iter_mut().zip(vector);
            both.for_each(|(s, x)| *s += f64::from(*x));
        }
        let vector = Vector(sum.into_iter().map(|s| (s / count as f64) as f32).collect());
        PooledVectors {
            tokens: count,
            layers: vec![LayerVector { layer: 0, vector }],
        }
    }

    fn answer(&self, request: &Observe) -> Result<Observed> {
        if let Layers::These(these) = &request.layers
            && let Some(layer) = these.iter().find(|&&l| l != 0 && l != -1)
        {
            let message = format!("layer {layer} was asked for; word vectors have layer 0 only");
            return Err(bad_request(message));
        }
        if request.picture.is_some() {
            return Err(crate::vision::no_tower());
        }
        let words = words(&request.text);
        let mut pools = vec![];
        for pool in &request.pools {
            let chosen: Vec<&str> = match *pool {
                // Of a word that the span cuts ("bone" in "bone-dry"), only what lies inside.
                Pool::Span { start, end } => words
                    .iter()
                    .filter(|(at, word)| *at < end && at + word.len() > start)
                    .map(|(at, word)| {
                        let inside = start.max(*at)..end.min(at + word.len());
                        request.text.get(inside).unwrap_or(word)
                    })
                    .collect(),
                Pool::Mean => words.iter().map(|(_, word)| *word).collect(),
                Pool::Last => words.last().map(|(_, word)| *word).into_iter().collect(),
                Pool::Joint => return Err(crate::vision::no_joint()),
                Pool::Token(at) => words.get(at).map(|(_, word)| *word).into_iter().collect(),
                Pool::First => words.first().map(|(_, word)| *word).into_iter().collect(),
            };
            if chosen.is_empty() {
                let message = format!("no word of {:?} lies in {pool:?}", request.text);
                return Err(bad_request(message));
            }
            pools.push(self.mean(&chosen));
        }
        Ok(Observed {
            pools,
            scores: None,
        })
    }
}

/// Words between spaces, with the byte each begins at.
fn words(text: &str) -> Vec<(usize, &str)> {
    let start = text.as_ptr().addr();
    text.split_whitespace()
        .map(|word| (word.as_ptr().addr() - start, word))
        .collect()
}

impl Model for VectorModel {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Observer for VectorModel {
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>) {
        while let Some(job) = queue.next() {
            let reply = self.answer(&job.request).map(Reply::bare);
            if queue.answer(job.ticket, reply).is_break() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_where_they_begin() {
        assert_eq!(words(" the  cat"), [(1, "the"), (6, "cat")]);
    }
}

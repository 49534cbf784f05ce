//! What whole distributions tell of scored tokens: entropy, rank, and how probable a new word was. The
//! logits of a vocabulary are looked at block by block and never kept.

use mary_contract::{Details, ModelError, TokenDetails};
use rayon::prelude::*;

use crate::engine::Session;
use crate::text::Reading;
use crate::trie::Chunk;

/// Rows whose logits are held at once.
const ROWS: usize = 128;

/// What was seen of a scored token besides its log-probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Seen {
    /// In nats.
    pub entropy: f32,
    /// From 1.
    pub rank: u32,
    /// ln of the probability that a word begins here; NaN where tokens do not tell.
    pub word_start: f32,
}

/// How distributions are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distributions<'a> {
    /// The tokens that begin a word.
    pub starts: Option<&'a [bool]>,
}

impl Distributions<'_> {
    /// Log-probabilities of what a chunk wants, and what was seen of each.
    pub fn at(
        &self,
        session: &mut Session<'_>,
        chunk: &Chunk,
    ) -> Result<(Vec<f32>, Vec<Seen>), ModelError> {
        let (mut values, mut seen) = (vec![], vec![]);
        let mut next = 0;
        for (block, rows) in chunk.head_rows.chunks(ROWS).enumerate() {
            let logits = session.logits(rows)?;
            let width = logits.len() / rows.len().max(1);
            let first = next;
            // Wanted tokens stand in the order of their rows.
            let end = ((block + 1) * ROWS) as u32;
            while next < chunk.wanted.len() && chunk.wanted[next].row < end {
                next += 1;
            }
            let wanted = &chunk.wanted[first..next];
            let rows: Vec<Row> = logits
                .par_chunks_exact(width.max(1))
                .map(|logits| Row::of(logits, self.starts))
                .collect();
            let told: Vec<(f32, Seen)> = wanted
                .par_iter()
                .map(|want| {
                    let at = want.row as usize - block * ROWS;
                    let logits = &logits[at * width..(at + 1) * width];
                    rows[at].token(logits, want.token as usize)
                })
                .collect();
            values.extend(told.iter().map(|t| t.0));
            seen.extend(told.iter().map(|t| t.1));
        }
        Ok((values, seen))
    }
}

/// What one distribution comes to.
struct Row {
    /// ln of the sum of exponentials.
    normaliser: f64,
    entropy: f64,
    word_start: f64,
}

impl Row {
    fn of(logits: &[f32], starts: Option<&[bool]>) -> Self {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let (mut sum, mut weighted, mut starting) = (0.0f64, 0.0f64, 0.0f64);
        for (token, &logit) in logits.iter().enumerate() {
            let above = logit - most;
            let share = f64::from(above.exp());
            sum += share;
            if share > 0.0 {
                weighted += share * f64::from(above);
            }
            if starts.is_some_and(|s| s.get(token) == Some(&true)) {
                starting += share;
            }
        }
        Self {
            normaliser: f64::from(most) + sum.ln(),
            entropy: sum.ln() - weighted / sum,
            word_start: match starts {
                Some(_) => (starting / sum).ln(),
                None => f64::NAN,
            },
        }
    }

    fn token(&self, logits: &[f32], token: usize) -> (f32, Seen) {
        let Some(&own) = logits.get(token) else {
            return (f32::NAN, Seen::default());
        };
        let above = logits.iter().filter(|&&other| other > own).count();
        let seen = Seen {
            entropy: self.entropy as f32,
            rank: above as u32 + 1,
            word_start: self.word_start as f32,
        };
        ((f64::from(own) - self.normaliser) as f32, seen)
    }
}

/// The details of a reading's scored tokens, as they were asked for. Of `nodes` there is one more than
/// of tokens where what follows the last one was looked at.
pub(crate) fn told(
    asked: Details,
    reading: &Reading,
    nodes: &[usize],
    seen: &[Seen],
) -> Option<Box<TokenDetails>> {
    if asked.is_none() {
        return None;
    }
    let all: Vec<Seen> = nodes.iter().filter_map(|&n| seen.get(n).copied()).collect();
    let tokens = all.get(..reading.places.len()).unwrap_or_default();
    let mut details = TokenDetails::default();
    if asked.places {
        details.places = reading.places.clone();
    }
    if asked.entropy {
        details.entropy = tokens.iter().map(|s| s.entropy).collect();
    }
    if asked.rank {
        details.rank = tokens.iter().map(|s| s.rank).collect();
    }
    // A mass of nothing has no logarithm; no number is made up for it.
    if asked.word_starts && all.iter().all(|s| s.word_start.is_finite()) {
        details.word_starts = all.iter().map(|s| s.word_start).collect();
    }
    Some(Box::new(details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_added_up_as_by_hand() {
        // Probabilities 1/2, 1/4, 1/8, 1/8, shifted by a constant that must not matter.
        let logits: Vec<f32> = [0.5f32, 0.25, 0.125, 0.125]
            .iter()
            .map(|p| p.ln() + 3.0)
            .collect();
        let row = Row::of(&logits, Some(&[false, true, false, true]));
        let (logprob, seen) = row.token(&logits, 1);
        assert!((logprob - 0.25f32.ln()).abs() < 1e-6);
        assert!((f64::from(seen.entropy) - 1.75 * std::f64::consts::LN_2).abs() < 1e-6);
        assert_eq!(seen.rank, 2);
        assert!((seen.word_start - 0.375f32.ln()).abs() < 1e-6);
        // Equal ones share the better place.
        assert_eq!(row.token(&logits, 3).1.rank, 3);
        assert!(Row::of(&logits, None).word_start.is_nan());
    }
}

//! Which rows are shown as shots: those that the harness would draw, one item after the other from one
//! generator, or the first ones.

use crate::lm_eval::config::{Config, Sampler};
use crate::lm_eval::random::Random;
use crate::lm_eval::render::Doc;

pub struct Pool {
    docs: Vec<Doc>,
    sampler: Sampler,
    random: Random,
    count: usize,
    /// Whether the row itself may be among them.
    own: bool,
}

impl Pool {
    /// A pool of rows. `split` is where they are from.
    pub fn new(config: &Config, docs: Vec<Doc>, count: usize, seed: u64) -> Self {
        Self {
            docs,
            sampler: config.shots.sampler,
            random: Random::new(seed),
            count,
            own: config.shots.split == config.splits.test,
        }
    }

    /// The shots of the next row; an error says how many there are.
    pub fn draw(&mut self, doc: &Doc) -> Result<Vec<&Doc>, String> {
        let (count, there) = (self.count, self.docs.len());
        let few =
            || format!("{count} shots are wanted and there are {there} rows to take them from");
        let chosen: Vec<usize> = match (self.sampler, self.own) {
            (Sampler::FirstN, own) => {
                let others = (0..there).filter(|n| !own || self.docs.get(*n) != Some(doc));
                others.take(count).collect()
            }
            (Sampler::Random, false) => self.random.sample(there, count).ok_or_else(few)?,
            (Sampler::Random, true) => {
                let drawn = self.random.sample(there, count + 1).ok_or_else(few)?;
                let other = |n: &usize| self.docs.get(*n) != Some(doc);
                let mut others: Vec<usize> = drawn.into_iter().filter(other).take(count).collect();
                if others.len() < count {
                    // The row stands in the pool more than once.
                    let pool: Vec<usize> = (0..there).filter(other).collect();
                    let again = self.random.sample(pool.len(), count).ok_or_else(few)?;
                    others = again.into_iter().map(|n| pool[n]).collect();
                }
                others
            }
        };
        if chosen.len() < count {
            return Err(few());
        }
        let docs = chosen.into_iter().filter_map(|n| self.docs.get(n));
        Ok(docs.collect())
    }
}

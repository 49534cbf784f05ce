//! Models whose weights have no room: blocks beyond those that are held are fetched when they are needed, the next
//! one while the present one computes. A pass over many batches takes all of them through one block before it
//! fetches another, so that every weight is read once for thousands of texts.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::{BlockOf, Plans, Transformer, WorkOf};
use crate::batch::Batch;
use crate::errors::{Result, internal};
use crate::kernels::Backend;

/// Reads a block and brings it onto the device.
pub(crate) type Fetch<B> = Arc<dyn Fn(usize) -> Result<BlockOf<B>> + Send + Sync>;

/// The block that is being fetched while another computes.
pub(crate) struct Coming<B: Backend>(Option<(usize, Fetching<B>)>);

type Fetching<B> = JoinHandle<Result<BlockOf<B>>>;

impl<B: Backend> Default for Coming<B> {
    fn default() -> Self {
        Self(None)
    }
}

impl<B: Backend> Coming<B> {
    /// Block `layer`, where it is not held; the one after it is on its way when this returns.
    pub(super) fn take(&mut self, of: &Transformer<B>, layer: usize) -> Result<Option<BlockOf<B>>> {
        let Some(fetch) = of.fetch.as_ref().filter(|_| layer + 1 >= of.blocks.len()) else {
            return Ok(None);
        };
        let block = match self.0.take() {
            _ if layer < of.blocks.len() => None,
            Some((number, fetching)) if number == layer => Some(fetching.join()),
            _ => Some(Ok(fetch(layer))),
        };
        let broken = |_| internal("the thread that fetches weights has stopped");
        let block = block.map(|b| b.map_err(broken)).transpose()?.transpose()?;
        if layer + 1 < of.architecture.layers {
            let fetch = Arc::clone(fetch);
            let next = std::thread::spawn(move || fetch(layer + 1));
            self.0 = Some((layer + 1, next));
        }
        Ok(block)
    }
}

/// A batch, and the rows of the cache to move before the next one.
pub struct Traveller {
    pub batch: Batch,
    pub moves: Vec<(usize, usize)>,
}

impl<B: Backend> Transformer<B> {
    /// Takes batches through the blocks, all of them through one before the next; gives their residual streams behind
    /// the last, or nothing where `stop` says so between two.
    pub(crate) fn travel(
        &self,
        batches: &[Traveller],
        cache_rows: usize,
        work: &mut WorkOf<B>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<B::Tensor>>> {
        work.writing = false;
        let mut streams = Vec::with_capacity(batches.len());
        let mut words = Vec::with_capacity(batches.len());
        for traveller in batches {
            let (batch, pictures) = self.words(&traveller.batch, work)?;
            let plan = self.backend.plan(&batch, &self.heads());
            self.embed(&plan, batch.len(), &pictures, work);
            streams.push(std::mem::take(&mut work.x));
            drop(plan);
            words.push(batch);
        }
        // What a batch looks like is the same in every block.
        let heads = self.heads();
        let plans: Vec<B::Plan<'_>> = words
            .iter()
            .map(|batch| self.backend.plan(batch, &heads))
            .collect();
        let rotary: Vec<Vec<B::Rotary>> = words.iter().map(|batch| self.rotary(batch)).collect();
        let width = self.architecture.kv_width();
        let mut cache = self.backend.cache(1, cache_rows, width);
        let mut coming = Coming::default();
        for layer in 0..self.architecture.layers {
            if stop() {
                return Ok(None);
            }
            let fetched = coming.take(self, layer)?;
            let block = fetched.as_ref().or(self.held(layer));
            let block = block.ok_or_else(|| internal(format!("block {layer} is nowhere")))?;
            for (i, stream) in streams.iter_mut().enumerate() {
                let plans = Plans {
                    usual: &plans[i],
                    whole: None,
                };
                let mut pass = self.pass(layer, &words[i], &plans, &rotary[i]);
                pass.store = 0;
                std::mem::swap(&mut work.x, stream);
                self.block(block, &pass, &mut cache, work);
                self.steer(layer, pass.rows, work);
                std::mem::swap(&mut work.x, stream);
                self.backend.move_rows(&mut cache, &batches[i].moves);
            }
            self.done_with(fetched);
            self.backend.check()?;
        }
        Ok(Some(streams))
    }

    /// Gives a block back once nothing that was launched reads it any more: its memory may be the next one's at once,
    /// and that comes beside what is computed.
    pub(super) fn done_with(&self, fetched: Option<BlockOf<B>>) {
        if fetched.is_some() {
            self.backend.rest();
        }
    }

    /// Makes the last states of a stream those that are asked about.
    pub(crate) fn arrive(
        &self,
        stream: B::Tensor,
        rows: usize,
        work: &mut WorkOf<B>,
    ) -> Result<()> {
        work.x = stream;
        self.finish(rows, work);
        self.backend.check()
    }
}

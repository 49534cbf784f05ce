//! Models whose weights have no room: blocks beyond those that are held are fetched when they are needed, the next
//! one while the present one computes. A pass over many batches takes all of them through one block before it
//! fetches another, so that every weight is read once for thousands of texts.

use std::sync::Arc;
use std::thread::JoinHandle;

use mary_contract::ModelError;

use super::{BlockOf, Plans, Transformer, Workspace};
use crate::batch::Batch;
use crate::errors::internal;
use crate::kernels::Backend;

/// Reads a block and brings it onto the device.
pub(crate) type Fetch<B> = Arc<dyn Fn(usize) -> Result<BlockOf<B>, ModelError> + Send + Sync>;

/// The block that is being fetched while another computes.
pub(crate) struct Coming<B: Backend>(Option<(usize, Fetching<B>)>);

type Fetching<B> = JoinHandle<Result<BlockOf<B>, ModelError>>;

impl<B: Backend> Default for Coming<B> {
    fn default() -> Self {
        Self(None)
    }
}

impl<B: Backend> Coming<B> {
    /// Block `layer`, where it is not held; the one after it is on its way when this returns.
    pub(super) fn take(
        &mut self,
        of: &Transformer<B>,
        layer: usize,
    ) -> Result<Option<BlockOf<B>>, ModelError> {
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

/// Batches on their way through the blocks, with a cache that holds one of them.
pub(crate) struct Travellers<B: Backend> {
    batches: Vec<Traveller>,
    streams: Vec<B::Tensor>,
    cache: B::Cache,
    coming: Coming<B>,
}

/// A batch, and the rows of the cache to move before the next one.
pub struct Traveller {
    pub batch: Batch,
    pub moves: Vec<(usize, usize)>,
}

impl<B: Backend> Transformer<B> {
    /// Brings the batches to the first block.
    pub(crate) fn depart(
        &self,
        mut batches: Vec<Traveller>,
        cache_rows: usize,
        work: &mut Workspace<B::Tensor>,
    ) -> Result<Travellers<B>, ModelError> {
        let mut streams = Vec::with_capacity(batches.len());
        for traveller in &mut batches {
            let (batch, pictures) = self.words(&traveller.batch, work)?;
            let plan = self.backend.plan(&batch, &self.heads());
            self.embed(&plan, batch.len(), &pictures, work);
            streams.push(std::mem::take(&mut work.x));
            drop(plan);
            traveller.batch = batch.into_owned();
        }
        let width = self.architecture.kv_width();
        Ok(Travellers {
            batches,
            streams,
            cache: self.backend.cache(1, cache_rows, width),
            coming: Coming::default(),
        })
    }

    /// Takes all batches through one block.
    pub(crate) fn through(
        &self,
        layer: usize,
        of: &mut Travellers<B>,
        work: &mut Workspace<B::Tensor>,
    ) -> Result<(), ModelError> {
        let fetched = of.coming.take(self, layer)?;
        let block = fetched.as_ref().or(self.blocks.get(layer));
        let block = block.ok_or_else(|| internal(format!("block {layer} is nowhere")))?;
        for (traveller, stream) in of.batches.iter().zip(&mut of.streams) {
            let batch = &traveller.batch;
            let plans = Plans {
                usual: &self.backend.plan(batch, &self.heads()),
                whole: None,
            };
            let rotary = self.rotary(batch)?;
            let mut pass = self.pass(layer, batch, &plans, &rotary);
            pass.store = 0;
            work.writing = false;
            std::mem::swap(&mut work.x, stream);
            self.block(block, &pass, &mut of.cache, work);
            self.steer(layer, pass.rows, work);
            std::mem::swap(&mut work.x, stream);
            self.backend.move_rows(&mut of.cache, &traveller.moves);
        }
        self.backend.check()
    }

    /// Makes one batch's last states those that are asked about.
    pub(crate) fn arrive(
        &self,
        batch: usize,
        of: &mut Travellers<B>,
        work: &mut Workspace<B::Tensor>,
    ) -> Result<(), ModelError> {
        let (Some(stream), Some(traveller)) = (of.streams.get_mut(batch), of.batches.get(batch))
        else {
            return Err(internal(format!("no batch {batch} is on its way")));
        };
        work.x = std::mem::take(stream);
        self.finish(traveller.batch.len(), work);
        self.backend.check()
    }
}

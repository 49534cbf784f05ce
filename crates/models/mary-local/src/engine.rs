//! A transformer on whichever device it was loaded to, behind one face: scoring, observing and writing
//! do not know where the numbers are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::ModelError;

use crate::config::Architecture;
use crate::kernels::{Backend, Draw, Look, Looked, Wanted};
use crate::transformer::{Batch, Transformer, Watch, Workspace};
use crate::vision::Shown;

/// What a loaded model can be asked, wherever it lies.
pub(crate) trait Engine: Send + Sync {
    fn architecture(&self) -> &Architecture;
    /// Memory for a computation, with room for this many cached positions.
    fn session(&self, rows: usize) -> Result<Session<'_>, ModelError>;
    /// Bytes of keys and values for one position.
    fn cache_bytes_per_row(&self) -> usize;
    /// Rows of a batch that keep the device busy.
    fn best_rows(&self) -> usize;
    /// Bytes the device can still give.
    fn free_memory(&self) -> Option<u64>;
    /// Batches whose answers may be on their way while another is computed.
    fn ahead(&self) -> usize;
}

/// A transformer and the memory its passes lend one another.
pub(crate) struct Placed<B: Backend> {
    transformer: Transformer<B>,
    work: Mutex<Vec<Workspace<B>>>,
}

impl<B: Backend> Placed<B> {
    pub(crate) fn new(transformer: Transformer<B>) -> Self {
        Self {
            transformer,
            work: Mutex::default(),
        }
    }
}

impl<B: Backend> Engine for Placed<B> {
    fn architecture(&self) -> &Architecture {
        self.transformer.architecture()
    }

    fn session(&self, rows: usize) -> Result<Session<'_>, ModelError> {
        let lent = self
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let cache = self.transformer.cache(rows);
        let steps = Run {
            home: self,
            work: lent.unwrap_or_default(),
            cache,
            asked: VecDeque::new(),
        };
        self.transformer.backend().check()?;
        Ok(Session(Box::new(steps)))
    }

    fn cache_bytes_per_row(&self) -> usize {
        self.transformer.cache_bytes_per_row()
    }

    fn best_rows(&self) -> usize {
        self.transformer.backend().best_rows()
    }

    fn free_memory(&self) -> Option<u64> {
        self.transformer.backend().free_memory()
    }

    fn ahead(&self) -> usize {
        self.transformer.backend().ahead()
    }
}

/// The steps of a computation.
trait Steps: Send {
    fn forward(&mut self, batch: &Batch, watch: Option<Watch<'_>>) -> Result<(), ModelError>;
    fn ask(&mut self, rows: &[usize], wanted: &[Wanted]) -> Result<(), ModelError>;
    fn collect(&mut self) -> Result<Vec<f32>, ModelError>;
    fn look(
        &mut self,
        rows: &[usize],
        wanted: &[Wanted],
        look: Look<'_>,
    ) -> Result<Option<Looked>, ModelError>;
    fn logits(&mut self, rows: &[usize]) -> Result<Vec<f32>, ModelError>;
    fn draws(&self) -> bool;
    fn draw(&mut self, rows: &[usize], draws: &[Draw]) -> Result<Vec<Option<u32>>, ModelError>;
    fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<(), ModelError>;
    fn show(&mut self, shown: Arc<Shown>);
}

struct Run<'a, B: Backend> {
    home: &'a Placed<B>,
    work: Workspace<B>,
    cache: B::Cache,
    asked: VecDeque<B::Pending>,
}

impl<B: Backend> Steps for Run<'_, B> {
    fn forward(&mut self, batch: &Batch, watch: Option<Watch<'_>>) -> Result<(), ModelError> {
        let transformer = &self.home.transformer;
        transformer.forward(batch, &mut self.cache, &mut self.work, watch)
    }

    fn ask(&mut self, rows: &[usize], wanted: &[Wanted]) -> Result<(), ModelError> {
        let transformer = &self.home.transformer;
        let pending = transformer.log_probs(&mut self.work, rows, wanted)?;
        self.asked.push_back(pending);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<f32>, ModelError> {
        match self.asked.pop_front() {
            Some(pending) => self.home.transformer.collect(pending),
            None => Ok(vec![]),
        }
    }

    fn look(
        &mut self,
        rows: &[usize],
        wanted: &[Wanted],
        look: Look<'_>,
    ) -> Result<Option<Looked>, ModelError> {
        let transformer = &self.home.transformer;
        transformer.distributions(&mut self.work, rows, wanted, look)
    }

    fn logits(&mut self, rows: &[usize]) -> Result<Vec<f32>, ModelError> {
        self.home.transformer.logits(&mut self.work, rows)
    }

    fn draws(&self) -> bool {
        self.home.transformer.backend().draws()
    }

    fn draw(&mut self, rows: &[usize], draws: &[Draw]) -> Result<Vec<Option<u32>>, ModelError> {
        self.home.transformer.draw(&mut self.work, rows, draws)
    }

    fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<(), ModelError> {
        let backend = self.home.transformer.backend();
        backend.move_rows(&mut self.cache, moves);
        backend.check()
    }

    fn show(&mut self, shown: Arc<Shown>) {
        self.work.shown = Some(shown);
    }
}

impl<B: Backend> Drop for Run<'_, B> {
    fn drop(&mut self) {
        let mut work = std::mem::take(&mut self.work);
        work.shown = None;
        self.home
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(work);
    }
}

/// A computation under way: its memory, its keys and values, and what was asked of it.
pub struct Session<'a>(Box<dyn Steps + 'a>);

impl Session<'_> {
    /// Runs a batch through every block.
    pub fn forward(&mut self, batch: &Batch, watch: Option<Watch<'_>>) -> Result<(), ModelError> {
        self.0.forward(batch, watch)
    }

    /// Starts on log-probabilities after some rows of the last batch; `wanted` counts rows by their
    /// place in `rows`. Answers come from [`Session::collect`] in the order asked.
    pub fn ask(&mut self, rows: &[usize], wanted: &[Wanted]) -> Result<(), ModelError> {
        self.0.ask(rows, wanted)
    }

    /// The log-probabilities asked for first; nothing where nothing is left.
    pub fn collect(&mut self) -> Result<Vec<f32>, ModelError> {
        self.0.collect()
    }

    /// Log-probabilities after some rows of the last batch and what was seen of each wanted token, where
    /// the device looks at distributions itself.
    pub(crate) fn look(
        &mut self,
        rows: &[usize],
        wanted: &[Wanted],
        look: Look<'_>,
    ) -> Result<Option<Looked>, ModelError> {
        self.0.look(rows, wanted, look)
    }

    /// All logits after some rows of the last batch, row after row.
    pub fn logits(&mut self, rows: &[usize]) -> Result<Vec<f32>, ModelError> {
        self.0.logits(rows)
    }

    /// Whether the device draws tokens by itself.
    pub fn draws(&self) -> bool {
        self.0.draws()
    }

    /// Tokens drawn after some rows of the last batch, on a device that draws.
    pub fn draw(&mut self, rows: &[usize], draws: &[Draw]) -> Result<Vec<Option<u32>>, ModelError> {
        self.0.draw(rows, draws)
    }

    /// Shows pictures to the batches that follow: tokens from `1 << 31` on are rows of these.
    pub fn show(&mut self, shown: Arc<Shown>) {
        self.0.show(shown);
    }

    /// Copies rows of the cache, one after the other.
    pub fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<(), ModelError> {
        self.0.move_rows(moves)
    }
}

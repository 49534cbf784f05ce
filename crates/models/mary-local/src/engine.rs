//! A transformer on whichever device it was loaded to; its callers do not know where the numbers are.

mod prefixes;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mary_contract::ModelError;

use crate::config::Architecture;
use crate::errors::{Result, internal, lock};
use crate::kernels::{Backend, Draw, Look, Looked, WantedToken};
use crate::transformer::{
    Batch, Following, Left, Script, Seen, Transformer, Traveller, Watch, WorkOf, Workspace,
};
use crate::vision::PictureRows;

pub(crate) use prefixes::{Prefixes, alike};

/// Bytes of keys and values that are kept between sessions, at most.
const KEPT_BYTES: usize = 1 << 30;

pub(crate) trait Engine: Send + Sync {
    fn architecture(&self) -> &Architecture;
    fn session(&self, rows: usize) -> Result<Session<'_>>;
    /// Bytes of keys and values for one position.
    fn cache_bytes_per_row(&self) -> usize;
    fn best_rows(&self) -> usize;
    /// Bytes the device can still give.
    fn free_memory(&self) -> Option<u64>;
    /// Batches whose answers may be on their way while another is computed.
    fn ahead(&self) -> usize;
    /// Whether there is no room for all weights, so that batches should go through the blocks together.
    fn fetches(&self) -> bool;
}

pub type Session<'a> = Box<dyn Steps + 'a>;

pub trait Steps: Send {
    fn forward(&mut self, batch: &Batch, watch: Option<Watch<'_>>) -> Result<()>;
    /// Takes batches through the blocks, all of them through one before the next, with a cache of so many rows for
    /// them alone; false where `stop` said so on the way.
    fn travel(
        &mut self,
        batches: &[Traveller],
        cache_rows: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool>;
    /// Makes the next of these batches, of so many rows, the one that is asked about.
    fn arrive(&mut self, rows: usize) -> Result<()>;
    /// A pass in which values are changed. It has a cache of its own; what is asked of rows afterwards is asked as usual.
    fn follow(&mut self, script: &Script) -> Result<Seen>;
    /// Starts on log-probabilities after some rows of the last batch; `wanted` counts rows by their place in
    /// `rows`. Answers come from [`Steps::collect`] in the order asked.
    fn ask(&mut self, rows: &[usize], wanted: &[WantedToken]) -> Result<()>;
    /// The log-probabilities asked for first; nothing where nothing is left.
    fn collect(&mut self) -> Result<Vec<f32>>;
    /// Log-probabilities and what was seen of each, where the device looks at distributions itself.
    fn look(
        &mut self,
        rows: &[usize],
        wanted: &[WantedToken],
        look: Look<'_>,
    ) -> Result<Option<Looked>>;
    /// All logits after some rows of the last batch, row after row.
    fn logits(&mut self, rows: &[usize]) -> Result<Vec<f32>>;
    /// Whether the device draws tokens by itself.
    fn draws(&self) -> bool;
    /// On a device that draws; `None` in a row whose logits are no numbers.
    fn draw(&mut self, rows: &[usize], draws: &[Draw]) -> Result<Vec<Option<u32>>>;
    /// Copies rows of the cache, one after the other.
    fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<()>;
    /// Shows pictures to the batches that follow: tokens from `1 << 31` on are rows of these.
    fn show(&mut self, shown: Arc<PictureRows>);
    /// Takes over the cache that the last session kept, if it has as many rows, and tells what lies in it.
    fn resume(&mut self) -> Prefixes;
    /// Keeps the cache for the next session that resumes, unless it is large.
    fn keep(self: Box<Self>, known: Prefixes);
}

/// A transformer and the memory its passes lend one another.
pub(crate) struct Placed<B: Backend> {
    first: Transformer<B>,
    /// The layers after the first one's, on other devices.
    rest: Vec<Transformer<B>>,
    work: Mutex<Vec<Works<B>>>,
    kept: Mutex<Option<(Rows<B>, Prefixes)>>,
}

type Works<B> = Vec<WorkOf<B>>;

/// The cache of each device, and how many rows each has.
struct Rows<B: Backend> {
    caches: Vec<B::Cache>,
    count: usize,
}

impl<B: Backend> Placed<B> {
    pub(crate) fn new(first: Transformer<B>, rest: Vec<Transformer<B>>) -> Self {
        Self {
            first,
            rest,
            work: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Transformer<B>> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// What has the last layers, and the head.
    fn end(&self) -> &Transformer<B> {
        self.rest.last().unwrap_or(&self.first)
    }

    fn check(&self) -> Result<()> {
        self.parts().try_for_each(|of| of.backend.check())
    }
}

impl<B: Backend> Engine for Placed<B> {
    fn architecture(&self) -> &Architecture {
        &self.first.architecture
    }

    fn session(&self, rows: usize) -> Result<Session<'_>> {
        let new = || self.parts().map(|_| Workspace::default()).collect();
        let steps = Run {
            home: self,
            works: lock(&self.work).pop().unwrap_or_else(new),
            rows: Some(Rows {
                caches: self.parts().map(|of| of.cache(rows)).collect(),
                count: rows,
            }),
            asked: VecDeque::new(),
            streams: VecDeque::new(),
        };
        self.check()?;
        Ok(Box::new(steps))
    }

    /// Of the device with the most: what fits there fits.
    fn cache_bytes_per_row(&self) -> usize {
        let all = self.parts().map(Transformer::cache_bytes_per_row);
        all.max().unwrap_or(0)
    }

    fn best_rows(&self) -> usize {
        self.first.backend.best_rows()
    }

    fn free_memory(&self) -> Option<u64> {
        let all = self.parts().map(|of| of.backend.free_memory());
        all.min().flatten()
    }

    /// Each device has a batch while those before it have the next ones.
    fn ahead(&self) -> usize {
        self.first.backend.ahead() * (1 + self.rest.len())
    }

    fn fetches(&self) -> bool {
        self.first.fetch.is_some()
    }
}

struct Run<'a, B: Backend> {
    home: &'a Placed<B>,
    works: Works<B>,
    /// Taken out when the session ends.
    rows: Option<Rows<B>>,
    asked: VecDeque<B::Pending>,
    /// Of batches that have travelled, the first one first.
    streams: VecDeque<B::Tensor>,
}

/// A part of the model, what it works in, and the part before it with what that left.
type Step<'s, B> = (&'s Transformer<B>, &'s mut WorkOf<B>, Option<Left<'s, B>>);

impl<'a, B: Backend> Run<'a, B> {
    /// What a call gave, unless a device failed in it or before.
    fn checked<T>(&self, value: T) -> Result<T> {
        self.home.check().map(|()| value)
    }

    /// Goes through the parts in order.
    fn through(
        home: &Placed<B>,
        works: &mut Works<B>,
        mut step: impl FnMut(Step<'_, B>) -> Result<()>,
    ) -> Result<()> {
        let mut before = None;
        for (of, work) in home.parts().zip(works) {
            step((of, &mut *work, before))?;
            before = Some((of, &*work));
        }
        Ok(())
    }

    /// What has the head, and what it works in.
    fn end(&mut self) -> Result<(&'a Transformer<B>, &mut WorkOf<B>)> {
        let work = self.works.last_mut().ok_or_else(ended)?;
        Ok((self.home.end(), work))
    }
}

impl<B: Backend> Steps for Run<'_, B> {
    fn forward(&mut self, batch: &Batch, mut watch: Option<Watch<'_>>) -> Result<()> {
        let rows = self.rows.as_mut().ok_or_else(ended)?;
        let mut caches = rows.caches.iter_mut();
        Self::through(self.home, &mut self.works, |(of, work, before)| {
            let cache = caches.next().ok_or_else(ended)?;
            of.forward(batch, before, cache, work, watch.as_mut())
        })
    }

    fn travel(
        &mut self,
        batches: &[Traveller],
        cache_rows: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool> {
        let (of, work) = self.end()?;
        let streams = of.travel(batches, cache_rows, work, stop)?;
        let whole = streams.is_some();
        self.streams = streams.unwrap_or_default().into();
        Ok(whole)
    }

    fn arrive(&mut self, rows: usize) -> Result<()> {
        let stream = self.streams.pop_front().ok_or_else(ended)?;
        let (of, work) = self.end()?;
        of.arrive(stream, rows, work)
    }

    fn follow(&mut self, script: &Script) -> Result<Seen> {
        let following = Following::new(script);
        Self::through(self.home, &mut self.works, |(of, work, before)| {
            of.forward_changed(&following, before, work)
        })?;
        Ok(following.seen())
    }

    fn ask(&mut self, rows: &[usize], wanted: &[WantedToken]) -> Result<()> {
        let (of, work) = self.end()?;
        let (head, cap) = of.gather(work, rows)?;
        let (x, b) = (&work.normed, &of.backend);
        let pending = b.log_probs(x, rows.len(), head, cap, wanted);
        let pending = self.checked(pending)?;
        self.asked.push_back(pending);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<f32>> {
        let Some(pending) = self.asked.pop_front() else {
            return Ok(vec![]);
        };
        let values = self.home.end().backend.collect(pending);
        self.checked(values)
    }

    fn look(
        &mut self,
        rows: &[usize],
        wanted: &[WantedToken],
        look: Look<'_>,
    ) -> Result<Option<Looked>> {
        let (of, work) = self.end()?;
        if !of.backend.looks() {
            return Ok(None);
        }
        let head = of.gather(work, rows)?;
        let (x, b) = (&work.normed, &of.backend);
        let seen = b.distributions(x, rows.len(), head, wanted, look);
        self.checked(Some(seen))
    }

    fn logits(&mut self, rows: &[usize]) -> Result<Vec<f32>> {
        let (of, work) = self.end()?;
        let cap = of.project(work, rows)?;
        let len = rows.len() * of.architecture.vocab;
        let mut logits = of.backend.download(&work.wide, len);
        if let Some(cap) = cap {
            logits.iter_mut().for_each(|x| *x = cap * (*x / cap).tanh());
        }
        self.checked(logits)
    }

    fn draws(&self) -> bool {
        self.home.end().backend.draws()
    }

    fn draw(&mut self, rows: &[usize], draws: &[Draw]) -> Result<Vec<Option<u32>>> {
        let (of, work) = self.end()?;
        let cap = of.project(work, rows)?;
        let shape = (of.architecture.vocab, cap);
        let tokens = of.backend.draw(&work.wide, shape, draws);
        self.checked(tokens)
    }

    fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<()> {
        let rows = self.rows.as_mut().ok_or_else(ended)?;
        for (of, cache) in self.home.parts().zip(&mut rows.caches) {
            of.backend.move_rows(cache, moves);
        }
        for work in &mut self.works {
            work.sources.move_rows(moves);
        }
        self.checked(())
    }

    fn show(&mut self, shown: Arc<PictureRows>) {
        for work in &mut self.works {
            work.shown = Some(Arc::clone(&shown));
        }
    }

    fn resume(&mut self) -> Prefixes {
        let needed = self.rows.as_ref().map_or(0, |rows| rows.count);
        match lock(&self.home.kept).take() {
            Some((rows, known)) if rows.count >= needed => {
                self.rows = Some(rows);
                known
            }
            _ => Prefixes::default(),
        }
    }

    fn keep(mut self: Box<Self>, known: Prefixes) {
        let row = self.home.cache_bytes_per_row();
        let small = |rows: &Rows<B>| rows.count.saturating_mul(row) <= KEPT_BYTES;
        let rows = self.rows.take().filter(small);
        *lock(&self.home.kept) = rows.map(|rows| (rows, known));
    }
}

fn ended() -> ModelError {
    internal("a session was asked after its end")
}

impl<B: Backend> Drop for Run<'_, B> {
    fn drop(&mut self) {
        let mut works = std::mem::take(&mut self.works);
        for work in &mut works {
            (work.shown, work.sources) = (None, Default::default());
        }
        lock(&self.home.work).push(works);
    }
}

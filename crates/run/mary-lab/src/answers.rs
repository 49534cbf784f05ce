//! What a run need not ask: cached answers and its own earlier ones. An answer is kept together with its
//! price.

use std::path::Path;

use mary_contract::{Cache, Key, Reply, StoreError};
use mary_store::{Label, PaidAnswers, ResponseCache};

use crate::RunError;
use crate::error::make_folder;
use crate::spending::SharedBook;

/// Where answers are looked up and kept.
pub(crate) struct Answers {
    cache: Option<ResponseCache>,
    pub(crate) paid: PaidAnswers,
    book: SharedBook,
    /// Answers come from elsewhere: what no cache keeps is kept in the run folder, whatever it costs.
    remote: bool,
}

impl Answers {
    pub(crate) fn open(
        cache: Option<&Path>,
        paid: PaidAnswers,
        book: SharedBook,
        remote: bool,
    ) -> Result<Self, RunError> {
        Ok(Self {
            cache: cache.map(open_cache).transpose()?,
            paid,
            book,
            remote,
        })
    }

    /// Says which model and task new rows of the cache belong to.
    pub(crate) fn label(&self) -> Option<Label> {
        self.cache.as_ref().map(ResponseCache::label)
    }
}

impl Cache for Answers {
    fn recall(&mut self, key: &Key) -> Result<Option<Reply>, StoreError> {
        match (self.paid.recall(key)?, &mut self.cache) {
            (None, Some(cache)) => cache.recall(key),
            (paid, _) => Ok(paid),
        }
    }

    fn keep(&mut self, key: &Key, reply: &Reply) -> Result<(), StoreError> {
        let cost = reply.meta.usage.cost.unwrap_or(0.0).max(0.0);
        if cost > 0.0 || self.remote && self.cache.is_none() {
            self.paid.keep(key, reply)?;
            self.book.kept(cost);
        }
        match &mut self.cache {
            Some(cache) => cache.keep(key, reply),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.cache.as_mut().map_or(Ok(()), Cache::flush)
    }
}

fn open_cache(path: &Path) -> Result<ResponseCache, RunError> {
    if let Some(parent) = path.parent() {
        make_folder(
            parent,
            "the cache folder cannot be made; --cache-dir names another, --no-cache does without",
        )?;
    }
    Ok(ResponseCache::open(path)?)
}

//! One thing made ready while the one before it is at work.

use std::thread::{Scope, ScopedJoinHandle};

/// Makes at most one thing ready ahead, on a thread of its own.
pub struct LoadAhead<'scope, 'env, T> {
    scope: &'scope Scope<'scope, 'env>,
    coming: Option<ScopedJoinHandle<'scope, T>>,
}

/// The thread that made something ready panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the thread that opened it broke down; this is a bug")]
pub struct BrokenDown;

impl<'scope, 'env, T: Send + 'scope> LoadAhead<'scope, 'env, T> {
    /// Nothing is on its way yet.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self {
            scope,
            coming: None,
        }
    }

    /// Begins to make the next thing ready. Whoever begins another before taking it loses the first.
    pub fn begin(&mut self, work: impl FnOnce() -> T + Send + 'scope) {
        self.coming = Some(self.scope.spawn(work));
    }

    /// Waits for what is on its way; `None` when nothing is.
    pub fn take(&mut self) -> Option<Result<T, BrokenDown>> {
        let worker = self.coming.take()?;
        Some(worker.join().map_err(|_| BrokenDown))
    }
}

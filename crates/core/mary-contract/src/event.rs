//! What happens during a run, as a stream: store, progress display and viewer are all readers of it.

use crate::{Sample, StoreError, Usage};

/// Something that happened during a run. `model` and `task` are full names.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Event<'a> {
    /// A model and a task begin.
    TaskStarted {
        model: &'a str,
        task: &'a str,
        /// Samples to come, all trials together, finished ones included.
        planned: usize,
        /// Of those, found finished in the log.
        already: usize,
    },
    /// A question was answered.
    Answered {
        /// From the cache, not by the model.
        recalled: bool,
        /// Tokens and money of this answer.
        usage: &'a Usage,
    },
    /// The answer that is being written, where there is only one, has grown by these words.
    Writing(&'a str),
    /// An item came to its end.
    SampleFinished(&'a Sample),
    /// Something worth saying while the run goes on: nothing is wrong.
    Note(&'a str),
    /// Something the user should know, which does not stop the run.
    Warning(&'a str),
    /// A model and a task are done.
    TaskFinished { model: &'a str, task: &'a str },
}

/// A reader of events. An error stops the run in a resumable state.
pub trait Observer {
    /// Called in the order in which things happen, on the thread of the run.
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError>;
}

/// A closure reads events too.
impl<F: FnMut(&Event<'_>) -> Result<(), StoreError>> Observer for F {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        self(event)
    }
}

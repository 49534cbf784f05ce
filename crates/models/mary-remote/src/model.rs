//! An open remote model, as the contract sees it.

use std::sync::Arc;

use mary_contract::{
    Generate, Generated, Generator, Model, ModelCard, Score, Scored, Scorer, WorkQueue,
};

use crate::batch::BatchQueue;
use crate::queue::{Serving, serve};
use crate::remote::Remote;

pub(crate) struct RemoteModel(pub(crate) Arc<Remote>);

impl RemoteModel {
    fn serving(&self) -> Serving<'_> {
        Serving {
            flow: &self.0.connection.flow,
            watched: self.0.watched,
            stop_wait: self.0.options.stop_wait,
        }
    }
}

impl Model for RemoteModel {
    fn card(&self) -> &ModelCard {
        &self.0.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        Some(self)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        self.0.card.capabilities.score.then_some(self)
    }
}

impl Generator for RemoteModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        let remote = &self.0;
        if let (Some(path), Some(format)) = (&remote.options.batch, remote.entry.batch_format()) {
            return BatchQueue::new(remote, format, path).serve(queue);
        }
        serve(queue, &self.serving(), |generate: Generate, listener| {
            let remote = Arc::clone(remote);
            // Found here, in the order of the queue, not in the order of sending.
            let shared = remote.shared_prefix(&generate);
            async move { remote.generate_one(generate, shared, listener).await }
        });
    }
}

impl Scorer for RemoteModel {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        serve(queue, &self.serving(), |score: Score, _| {
            let remote = Arc::clone(&self.0);
            async move { remote.score_one(score).await }
        });
    }
}

//! A model as the laboratory asks it: which of its faces it has, and who serves each of them.

use mary_contract::{
    Generate, Generated, Generator, Model, ModelCard, ModelError, ModelRef, ModelSettings, Observe,
    Observed, Observer, Score, Scored, Scorer, WorkQueue,
};
use mary_weights::Checkpoint;

use crate::model::LocalModel;
use crate::{generate, masked, observe, score};

/// Texts of the self-check: some share beginnings, some share nothing.
const SELF_CHECK: &[&str] = &[
    "The cat that the dogs chase is asleep.",
    "The cat that the dogs chase are asleep.",
    "The cat that the dog chases is asleep on the old red sofa.",
    "Nobody had seen the lighthouse since the storm.",
    "Seven plus five is twelve, and twelve plus one is",
];

impl LocalModel {
    /// Opens a checkpoint: checks names, shapes and memory, then loads.
    pub fn from_checkpoint(
        model: ModelRef,
        checkpoint: Checkpoint,
        settings: &ModelSettings,
    ) -> Result<Self, ModelError> {
        let model = Self::load(model, checkpoint, settings)?;
        if model.options().self_check && model.architecture().language_head {
            score::self_check(&model, SELF_CHECK)?;
        }
        Ok(model)
    }
}

impl Model for LocalModel {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn generator(&self) -> Option<&dyn Generator> {
        let writes = self.architecture().language_head;
        writes.then_some(self as &dyn Generator)
    }

    fn scorer(&self) -> Option<&dyn Scorer> {
        let scores = self.architecture().language_head || self.masking.is_some();
        scores.then_some(self as &dyn Scorer)
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Scorer for LocalModel {
    fn score(&self, queue: &mut dyn WorkQueue<Score, Scored>) {
        match self.masking {
            Some(masking) => masked::serve(self, masking, queue),
            None => score::serve(self, queue),
        }
    }
}

impl Observer for LocalModel {
    fn observe(&self, queue: &mut dyn WorkQueue<Observe, Observed>) {
        observe::serve(self, queue);
    }
}

impl Generator for LocalModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        generate::serve(self, queue);
    }
}

//! A model as the laboratory asks it: which of its faces it has, and who serves each of them.

use mary_contract::{
    Generate, Generated, Generator, Intervene, Intervened, Intervener, Model, ModelCard, ModelRef,
    ModelSettings, Observe, Observed, Observer, Prompt, Score, Scored, Scorer, Tokens, WorkQueue,
};
use mary_weights::Checkpoint;

use crate::errors::{Result, bad_request};
use crate::model::LocalModel;
use crate::text::Reader;
use crate::{generate, intervene, masked, observe, score};

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
    ) -> Result<Self> {
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

    fn intervener(&self) -> Option<&dyn Intervener> {
        let can = self.card.capabilities.intervene;
        can.then_some(self as &dyn Intervener)
    }

    fn tokens(&self) -> Option<&dyn Tokens> {
        Some(self)
    }
}

impl Tokens for LocalModel {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.checkpoint().tokenizer().encode(text, false)?.ids)
    }

    fn decode(&self, ids: &[u32]) -> Result<String> {
        let vocabulary = self.checkpoint().tokenizer().vocab_size();
        if let Some(id) = ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(bad_request(format!("{id} is no token id of this model")));
        }
        self.checkpoint().tokenizer().decode(ids)
    }

    fn piece(&self, id: u32) -> String {
        self.checkpoint().tokenizer().piece(id)
    }

    fn ends(&self) -> [Option<u32>; 2] {
        let tokenizer = self.checkpoint().tokenizer();
        [tokenizer.bos(), tokenizer.eos()]
    }

    fn prompt(&self, prompt: &Prompt) -> Result<Vec<u32>> {
        Reader::new(self.checkpoint()).prompt(prompt)
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

impl Intervener for LocalModel {
    fn intervene(&self, queue: &mut dyn WorkQueue<Intervene, Intervened>) {
        intervene::serve(self, queue);
    }
}

impl Generator for LocalModel {
    fn generate(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        generate::serve(self, queue);
    }
}

//! What can be chosen about tuning, and the papers' recipes by name.

use crate::learner::{Device, NumberType};
use crate::optimizer::{AdamW, Decline};
use crate::{Result, TrainError};
use mary_contract::PromptForm;
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config::QkvNames;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq)]
pub struct TuneSettings {
    /// The base model: a folder in Hugging Face layout, or a GGUF file.
    pub model: PathBuf,
    /// The tuning set: chat, ShareGPT or Alpaca records, one a line or one list.
    pub data: PathBuf,
    pub out: PathBuf,
    /// What decides the numbers besides the seed.
    pub recipe: TuningRecipe,
    /// Steps between states to resume from; changes nothing in the numbers.
    pub save_every: u64,
    /// Seed of the adapters, the order, the split and the dropout.
    pub seed: u64,
    /// Where it is computed; no part of the recipe.
    pub device: Device,
    /// The type of numbers in matrix multiplication on a GPU; None: bfloat16 unless the base is stored in 32 bits.
    pub numbers: Option<NumberType>,
    /// Worker threads; they change the speed and nothing else.
    pub threads: usize,
    /// Longest example in tokens that is taken.
    pub longest: usize,
    /// Memory that may be used, in bytes; None: what the machine has.
    pub memory_limit: Option<u64>,
}

/// The settings of a tuning that decide its numbers; device, threads and memory do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningRecipe {
    pub rank: usize,
    /// Their strength: the low-rank product is scaled by alpha / rank.
    pub alpha: f32,
    /// Share of an adapter's inputs dropped while training.
    pub dropout: f32,
    /// The matrices adapted, by the last part of their names; empty: the family's query and value.
    pub targets: Vec<String>,
    /// Conversations taken from the set, chosen by the seed; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<usize>,
    pub optimizer: AdamW,
    pub epochs: usize,
    pub batch: usize,
    pub warm_up: u64,
    pub decline: Decline,
    /// Share of the conversations kept back, scored before and after.
    pub held_out: f64,
    /// Plain text or chat template; absent: the template where there is one.
    pub form: Option<PromptForm>,
    /// Sums of gradients kept apart, at most; how many follows from the data, so that threads do not matter.
    pub slots: usize,
    /// Most tokens computed at a time in a slot, but for an example that is longer by itself.
    pub pack: usize,
    /// Steps between evaluations on what is kept back; absent: only before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluate_every: Option<u64>,
    /// Evaluations without a lower loss after which learning stops; the adapter is then the one with the
    /// lowest. Absent: all steps are done and the last adapter counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<usize>,
}

impl TuneSettings {
    /// Settings that suit a small model.
    pub fn new(model: PathBuf, data: PathBuf, out: PathBuf) -> Self {
        Self {
            model,
            data,
            out,
            recipe: TuningRecipe {
                rank: 8,
                alpha: 16.0,
                dropout: 0.05,
                targets: Vec::new(),
                examples: None,
                optimizer: AdamW {
                    rate: 1e-3,
                    beta1: 0.9,
                    beta2: 0.999,
                    eps: 1e-8,
                    decay: 0.0,
                    clip: 1.0,
                },
                epochs: 3,
                batch: 16,
                warm_up: 10,
                decline: Decline::Cosine,
                held_out: 0.1,
                form: None,
                slots: 8,
                pack: 512,
                evaluate_every: None,
                patience: None,
            },
            save_every: 20,
            seed: 1,
            device: Device::Cpu,
            numbers: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            longest: 512,
            memory_limit: None,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let recipe = &self.recipe;
        let fail = |what: &str| Err(TrainError::Settings(what.to_owned()));
        if recipe.rank == 0 {
            return fail("the rank must be at least 1: an adapter of rank 0 has nothing to train");
        }
        if recipe.epochs == 0
            || recipe.batch == 0
            || recipe.slots == 0
            || self.threads == 0
            || recipe.pack < 2
        {
            return fail(
                "epochs, batch, slots and threads must each be at least 1, pack at least 2",
            );
        }
        if recipe.examples == Some(0) {
            return fail("there must be at least one example to learn from");
        }
        if !(0.0..1.0).contains(&recipe.dropout) || !(0.0..1.0).contains(&recipe.held_out) {
            return fail("dropout and the held-out share must lie in 0 ≤ x < 1");
        }
        if recipe.evaluate_every == Some(0) || recipe.patience == Some(0) || self.save_every == 0 {
            return fail("steps between evaluations, patience and steps between states start at 1");
        }
        if recipe.patience.is_some() && recipe.evaluate_every.is_none() {
            return fail("stopping early needs evaluations while learning: say how often");
        }
        if recipe.evaluate_every.is_some() && recipe.held_out == 0.0 {
            return fail("evaluating while learning needs conversations that are kept back");
        }
        if self.device == Device::Cpu && self.numbers == Some(NumberType::Bf16) {
            return fail("the processor learns in 32 bits; bfloat16 products need a GPU");
        }
        if !(recipe.optimizer.rate > 0.0 && recipe.optimizer.rate.is_finite()) {
            return fail("the learning rate must be a positive number");
        }
        Ok(())
    }

    /// The matrices adapted: those that were named, or queries and values (all three where they are
    /// one matrix), as PEFT has it.
    pub(super) fn target_names(&self, architecture: &Architecture) -> Vec<String> {
        if !self.recipe.targets.is_empty() {
            return self.recipe.targets.clone();
        }
        let names = match architecture.names.qkv {
            QkvNames::Fused(name, _) => vec![name],
            QkvNames::Paired(both, values) => vec![both, values],
            QkvNames::Separate(query, _, value) => vec![query, value],
        };
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        names.into_iter().map(last).collect()
    }
}

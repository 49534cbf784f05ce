//! What can be chosen about growing, and the named sizes.

use crate::TrainError;
use crate::hf::Storage;
use crate::learner::Device;
use crate::net::Shape;
use crate::optimizer::{AdamW, Decline, Schedule};
use crate::stream::Source;
use std::path::PathBuf;
use std::time::Duration;

/// The model's measures, before the tokenizer has settled the vocabulary.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Size {
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Longest sequence, and the length of the packed windows.
    pub context: usize,
    /// Largest vocabulary of the tokenizer.
    pub vocabulary: usize,
}

impl Size {
    /// A size by its name: `pico`, `nano` or `micro`.
    pub fn named(name: &str) -> Result<Self, TrainError> {
        let (width, layers, heads, context, vocabulary) = match name {
            "pico" => (64, 2, 2, 256, 768),
            "nano" => (128, 4, 4, 512, 1280),
            "micro" => (256, 6, 8, 512, 2048),
            other => {
                return Err(TrainError::Settings(format!(
                    "no size is called \"{other}\"; there are pico, nano and micro"
                )));
            }
        };
        Ok(Self {
            width,
            layers,
            heads,
            context,
            vocabulary,
        })
    }

    /// The shape with this vocabulary.
    pub fn shape(&self, vocabulary: usize) -> Shape {
        Shape::neox(
            vocabulary,
            self.width,
            self.layers,
            self.heads,
            self.context,
        )
    }
}

/// Everything about one growth. What decides the weights is written into `recipe.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowSettings {
    /// The folder for checkpoints, the recipe, the losses and the state to resume from.
    pub out: PathBuf,
    /// The model's measures.
    pub size: Size,
    /// Where the text comes from.
    pub source: Source,
    /// Seed of the weights and of the text.
    pub seed: u64,
    /// Training steps in all.
    pub steps: u64,
    /// Sequences in a step.
    pub batch: usize,
    /// The optimiser.
    pub optimizer: AdamW,
    /// Steps of warm-up.
    pub warm_up: u64,
    /// Share of the learning rate left at the end.
    pub floor: f64,
    /// After step 512, a checkpoint every so many steps.
    pub checkpoint_every: u64,
    /// How checkpoints are stored.
    pub storage: Storage,
    /// A probe on held-out items at every checkpoint (generated corpus only).
    pub probe: bool,
    /// Where it is computed; no part of the recipe.
    pub device: Device,
    /// Worker threads; they change the speed and nothing else.
    pub threads: usize,
    /// Sums of gradients kept apart; fixed by the recipe, so that threads do not matter.
    pub slots: usize,
    /// The state to resume from is saved every so many steps.
    pub save_every: u64,
    /// Stop cleanly, state saved, after this long.
    pub stop_after: Option<Duration>,
    /// Memory that may be used, in bytes; None: what the machine has.
    pub memory_limit: Option<u64>,
}

impl GrowSettings {
    /// The usual settings for a size.
    pub fn new(out: PathBuf, size: Size, steps: u64) -> Self {
        Self {
            out,
            size,
            source: Source::Generated,
            seed: 1,
            steps,
            batch: 16,
            optimizer: AdamW {
                rate: 4e-3,
                beta1: 0.9,
                beta2: 0.95,
                eps: 1e-8,
                decay: 0.1,
                clip: 1.0,
            },
            warm_up: (steps / 50).clamp(10, 200),
            floor: 0.05,
            checkpoint_every: 1000,
            storage: Storage::F16,
            probe: true,
            device: Device::Cpu,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            slots: 16,
            save_every: 200,
            stop_after: None,
            memory_limit: None,
        }
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule {
            warm_up: self.warm_up,
            steps: self.steps,
            floor: self.floor,
            decline: Decline::Cosine,
        }
    }

    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let fail = |what: &str| Err(TrainError::Settings(what.to_owned()));
        if self.batch == 0 || self.slots == 0 || self.threads == 0 {
            return fail("batch, slots and threads must each be at least 1");
        }
        if self.checkpoint_every == 0 || self.save_every == 0 {
            return fail("checkpoint and state intervals must be at least 1 step");
        }
        let rate = self.optimizer.rate;
        if !(rate > 0.0 && rate.is_finite()) {
            return fail("the learning rate must be a positive number");
        }
        self.size.shape(self.size.vocabulary).check()
    }

    /// True for steps whose checkpoint is kept: 0, 1, 2, 4 … 512, then regular ones and the last.
    pub fn is_checkpoint(&self, step: u64) -> bool {
        step == 0
            || step == self.steps
            || (step <= 512 && step.is_power_of_two())
            || (step > 512 && step.is_multiple_of(self.checkpoint_every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_log_spaced_then_regular() {
        let size = Size::named("nano").expect("a size");
        let settings = GrowSettings::new(PathBuf::new(), size, 2500);
        let kept: Vec<u64> = (0..=2500).filter(|s| settings.is_checkpoint(*s)).collect();
        assert_eq!(
            kept,
            [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 2500]
        );
    }

    #[test]
    fn an_unknown_size_is_named_with_the_known_ones() {
        let error = Size::named("huge").expect_err("not a size").to_string();
        assert!(error.contains("huge") && error.contains("nano"), "{error}");
    }
}

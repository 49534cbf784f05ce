//! The course of a growth: how many steps of how much, how the learning rate moves, what is kept and when.

use crate::hf::Storage;
use crate::optimizer::{AdamW, Decline, Schedule};
use crate::{Result, TrainError};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// What can be chosen about any growth. What decides the weights is written into `recipe.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The folder for checkpoints, the recipe, the losses and the state to resume from.
    pub out: PathBuf,
    /// Seed of the weights and of the material.
    pub seed: u64,
    pub steps: u64,
    /// Sequences, or pictures, in a step.
    pub batch: usize,
    pub optimizer: AdamW,
    pub warm_up: u64,
    /// Share of the learning rate left at the end.
    pub floor: f64,
    /// After step 512, a checkpoint every so many steps.
    pub checkpoint_every: u64,
    pub storage: Storage,
    /// Held-out items at every checkpoint (of generated material only).
    pub probe: bool,
    /// Worker threads; they change the speed and nothing else.
    pub threads: usize,
    /// Sums of gradients kept apart; fixed by the recipe, so that threads do not matter.
    pub slots: usize,
    /// The state to resume from is saved every so many steps.
    pub save_every: u64,
    /// Stop cleanly, state saved, after this long.
    pub stop_after: Option<Duration>,
}

impl Course {
    pub(crate) fn new(out: PathBuf, steps: u64) -> Self {
        Self {
            out,
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
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            slots: 16,
            save_every: 200,
            stop_after: None,
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

    pub(crate) fn slots(&self) -> usize {
        self.slots.min(self.batch)
    }

    pub(crate) fn check(&self) -> Result<()> {
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
        Ok(())
    }

    /// True for steps whose checkpoint is kept: 0, 1, 2, 4 … 512, then regular ones and the last.
    pub fn is_checkpoint(&self, step: u64) -> bool {
        step == 0
            || step == self.steps
            || (step <= 512 && step.is_power_of_two())
            || (step > 512 && step.is_multiple_of(self.checkpoint_every))
    }

    /// Everything that decides the weights, as text, which resuming compares: what this kind of model is
    /// (`own`), then the course. Where all steps have equally many tokens, their number stands in it.
    pub(crate) fn recipe(&self, what: &str, own: Value, tokens: Option<usize>) -> String {
        let mut recipe = json!({
            "what": what,
            "maker": concat!("mary-train ", env!("CARGO_PKG_VERSION")),
        });
        let course = json!({
            "seed": self.seed,
            "steps": self.steps,
            "batch": self.batch,
            "tokens_per_step": tokens,
            "optimizer": self.optimizer,
            "warm_up": self.warm_up,
            "floor": self.floor,
            "decline": "cosine",
            "checkpoint_every": self.checkpoint_every,
            "storage": self.storage,
            "slots": self.slots(),
        });
        for part in [own, course] {
            if let (Value::Object(recipe), Value::Object(part)) = (&mut recipe, part) {
                let told = |name: &String| name != "tokens_per_step" || tokens.is_some();
                recipe.extend(part.into_iter().filter(|(name, _)| told(name)));
            }
        }
        format!("{recipe:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        let size = crate::grow::Size::named("nano").expect("a size");
        crate::grow::GrowSettings::new(PathBuf::new(), size, 2500).course
    }

    #[test]
    fn checkpoints_are_log_spaced_then_regular() {
        let course = course();
        let kept: Vec<u64> = (0..=2500).filter(|s| course.is_checkpoint(*s)).collect();
        assert_eq!(
            kept,
            [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 2500]
        );
    }

    /// A run begun by an earlier version is resumed by comparing this text: order and names stay.
    #[test]
    fn a_recipe_keeps_its_text() {
        let text = course().recipe("a", json!({"size": 1}), Some(8192));
        let keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("  \"")?.split('"').next())
            .collect();
        assert_eq!(
            keys.join(" "),
            "what maker size seed steps batch tokens_per_step optimizer warm_up floor decline checkpoint_every \
             storage slots"
        );
        let without = course().recipe("a", json!({"size": 1}), None);
        assert_eq!(text.replace("  \"tokens_per_step\": 8192,\n", ""), without);
    }
}

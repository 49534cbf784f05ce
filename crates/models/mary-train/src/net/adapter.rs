//! Low-rank adapters: where their two matrices lie, and which linear layers they sit on.

use super::layout::Layout;
use crate::{Result, TrainError};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// One adapted linear layer: `y += scale · B (A x)`.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// The name of the adapted layer in a model of transformers.
    pub(crate) name: String,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Place of A (rank × inputs) in the adapter's flat slice.
    pub(crate) down: Range<usize>,
    /// Place of B (outputs × rank).
    pub(crate) up: Range<usize>,
}

#[derive(Debug, Clone)]
pub struct AdapterLayout {
    /// Rank of every site; zero means no adapter at all.
    pub rank: usize,
    /// alpha / rank.
    pub scale: f32,
    /// Share of the inputs dropped while training.
    pub dropout: f32,
    pub total: usize,
    /// The base stores its matrices as `[in, out]`, which PEFT wants to know.
    pub turned: bool,
    /// The site of every linear layer, by its index.
    pub(crate) sites: Vec<Option<Site>>,
}

impl AdapterLayout {
    /// Sites on every linear layer whose last name part is one of `targets`.
    pub fn new(
        layout: &Layout,
        rank: usize,
        alpha: f32,
        dropout: f32,
        targets: &[String],
    ) -> Result<Self> {
        let mut sites = vec![None; layout.linear_count];
        let mut total = 0;
        let mut place = |size: usize| {
            let range = total..total + size;
            total = range.end;
            range
        };
        let mut known = std::collections::BTreeSet::new();
        let mut met = std::collections::BTreeSet::new();
        for linear in layout.blocks.iter().flat_map(|b| b.linears()) {
            let last = linear
                .name
                .rsplit('.')
                .next()
                .unwrap_or_default()
                .to_owned();
            known.insert(last.clone());
            if rank > 0 && targets.contains(&last) {
                sites[linear.index] = Some(Site {
                    name: layout.usual_name(&linear.name),
                    inputs: linear.inputs,
                    outputs: linear.outputs,
                    down: place(rank * linear.inputs),
                    up: place(linear.outputs * rank),
                });
            }
            if targets.contains(&last) {
                met.insert(last);
            }
        }
        if let Some(target) = targets.iter().find(|target| !met.contains(*target)) {
            let known = Vec::from_iter(known).join(", ");
            return Err(TrainError::Settings(format!(
                "no matrix of this model is called \"{target}\"; it has {known}"
            )));
        }
        let scale = if rank == 0 { 0.0 } else { alpha / rank as f32 };
        Ok(Self {
            rank,
            scale,
            dropout,
            total,
            turned: layout.entries.iter().any(|e| e.turned),
            sites,
        })
    }

    /// Every matrix: its name in PEFT's layout without the wrapper's prefix, its dimensions, its place.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>, Range<usize>)> {
        let sites = self.sites.iter().flatten();
        sites
            .flat_map(|site| {
                let tensor = |part: &str, dims: [usize; 2], place: &Range<usize>| {
                    let name = format!("{}.{part}.weight", site.name);
                    (name, dims.to_vec(), place.clone())
                };
                [
                    tensor("lora_A", [self.rank, site.inputs], &site.down),
                    tensor("lora_B", [site.outputs, self.rank], &site.up),
                ]
            })
            .collect()
    }

    /// New adapters: A uniform as PyTorch initialises a linear layer, B zero, so that nothing
    /// changes before the first step.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values = vec![0.0; self.total];
        for site in self.sites.iter().flatten() {
            let bound = 1.0 / (site.inputs as f32).sqrt();
            for x in &mut values[site.down.clone()] {
                *x = rng.random_range(-bound..bound);
            }
        }
        values
    }
}

//! A model in training on a GPU: its numbers, its steps, and what comes back.

use std::ops::Range;

use mary_contract::ErrorKind;
use mary_cuda::{Device, Memory, NumberType, args};
use mary_weights::fault::bad_request;
use std::sync::Arc;

use super::batch::{Batch, groups};
use super::buffers::Buffers;
use super::linear::{Adapted, Numbers};
use super::matrices::Matrices;
use super::pass::Pass;
use super::rows::Threads;
use super::{Done, Gpu, TRAIN, int};
use crate::job::TrainingJob;
use crate::memory::{AtOnce, at_once};
use crate::net::attention::Rotary;
use crate::net::{AdapterLayout, Net, Work};
use crate::optimizer::{AdamStep, AdamW, Moments};

/// Numbers of a chunk that one block of threads updates.
const CHUNK: usize = 16_384;

pub(crate) struct GpuTrainer {
    pub(super) gpu: Gpu,
    net: Net,
    base: Memory,
    matrices: Option<Matrices>,
    adapter: Option<(AdapterLayout, Memory)>,
    /// The adapter again as matrix multiplication takes it, where that is in 16 bits.
    short: Option<Memory>,
    pub(super) gradient: Memory,
    first: Memory,
    second: Memory,
    pub(super) trained: usize,
    chunks: Memory,
    chunk_count: usize,
    parts: Memory,
    /// The loss and the norm as doubles, then what the gradient is multiplied by.
    totals: Memory,
    angles: Memory,
    pub(super) buffers: Buffers,
    pub(super) at_once: AtOnce,
    note: Option<String>,
    told: bool,
}

fn bring(device: &Arc<Device>, numbers: &[f32]) -> Done<Memory> {
    let memory = device.alloc(numbers.len() * 4)?;
    device.write(numbers, memory.at())?;
    Ok(memory)
}

/// Places to update as the kernel takes them: first number, how many, weight decay.
fn chunks(groups: &[(Range<usize>, f64)]) -> Vec<u32> {
    let mut out = Vec::new();
    for (place, decay) in groups {
        for first in place.clone().step_by(CHUNK) {
            let count = CHUNK.min(place.end - first);
            let at = first as u64;
            out.extend([at as u32, (at >> 32) as u32, count as u32]);
            out.push((*decay as f32).to_bits());
        }
    }
    out
}

impl GpuTrainer {
    pub(crate) fn new(gpu: Gpu, job: &TrainingJob) -> Done<Self> {
        if let Some(what) = job.net.beyond_gpu() {
            return Err(bad_request(format!(
                "{} learns on the processor for now: the GPU's pass has no {what}",
                job.net.architecture.family
            ))
            .hint("use --device cpu"));
        }
        let device = Arc::clone(&gpu.device);
        let base = bring(&device, &job.base)?;
        let vectors = (base.at(), job.base.len());
        let matrices = match &job.stored {
            Some(stored) => Some(Matrices::bring(&gpu, stored, vectors)?),
            None => None,
        };
        let adapter = match &job.adapter {
            Some((table, values)) => Some((table.clone(), bring(&device, values)?)),
            None => None,
        };
        let trained = job.moments.first.len();
        let short = match (&matrices, &adapter) {
            (Some(_), Some(_)) => Some(device.alloc(2 * trained)?),
            _ => None,
        };
        let table = chunks(&job.groups);
        let list = device.alloc(table.len() * 4)?;
        device.write(&table, list.at())?;
        let angles = job.net.rotaries.first().map(Rotary::numbers);
        let angles = bring(&device, &angles.unwrap_or_default())?;
        let (first, second) = (
            bring(&device, &job.moments.first)?,
            bring(&device, &job.moments.second)?,
        );
        let gradient = device.alloc(trained * 4)?;
        let parts = device.alloc(trained.div_ceil(CHUNK) * 8)?;
        let totals = device.alloc(256)?;
        let rank = job.adapter.as_ref().map_or(0, |(table, _)| table.rank);
        let free = device.free().unwrap_or(0);
        let bytes = if matrices.is_some() { 2 } else { 4 };
        let a = &job.net.architecture;
        let new = Self {
            net: job.net.clone(),
            at_once: at_once(a, rank, bytes, (free, job.net.longest)),
            gpu,
            base,
            matrices,
            adapter,
            short,
            gradient,
            first,
            second,
            trained,
            chunks: list,
            chunk_count: table.len() / 4,
            parts,
            totals,
            angles,
            buffers: Buffers::default(),
            note: None,
            told: false,
        };
        new.shorten()?;
        Ok(new)
    }

    /// The adapter as matrix multiplication takes it, after it changed.
    fn shorten(&self) -> Done {
        match (&self.short, &self.adapter) {
            (Some(short), Some((_, values))) => {
                self.gpu.round(values.at(), short.at(), self.trained)
            }
            _ => Ok(()),
        }
    }

    fn values_at(&self) -> u64 {
        let adapter = self.adapter.as_ref();
        adapter.map_or(self.base.at(), |(_, values)| values.at())
    }

    fn kind(&self) -> NumberType {
        self.numbers(false).kind()
    }

    pub(crate) fn describe(&self) -> String {
        self.gpu.describe(self.kind())
    }

    pub(crate) fn note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// One step: forward and back over all packs, the gradient's norm, AdamW. Returns the summed loss
    /// and the norm.
    pub(crate) fn step(
        &mut self,
        work: &[&Work],
        scale: f32,
        settings: &AdamW,
        (step, rate): (u64, f64),
    ) -> Done<(f64, f64)> {
        self.gradient_of(work, scale)?;
        let device = Arc::clone(&self.gpu.device);
        let adam = AdamStep::new(settings, (step, rate));
        let (p, g, m, v) = (
            self.values_at(),
            self.gradient.at(),
            self.first.at(),
            self.second.at(),
        );
        self.norm(settings.clip)?;
        let (chunks, factor) = (self.chunks.at(), self.totals.at() + 16);
        let words = args![p, g, m, v, chunks, factor, adam];
        device.launch((TRAIN, "adam"), (self.chunk_count, 1), 256, 0, words)?;
        self.shorten()?;
        self.totals()
    }

    pub(super) fn totals(&self) -> Done<(f64, f64)> {
        let totals = self.gpu.device.read::<f64>(self.totals.at(), 2)?;
        Ok((
            totals.first().copied().unwrap_or(f64::NAN),
            totals.get(1).copied().unwrap_or(f64::NAN),
        ))
    }

    pub(super) fn norm(&self, clip: f64) -> Done {
        let (gradient, sums) = (self.gradient.at(), self.parts.at());
        let blocks = self.trained.div_ceil(CHUNK);
        let by = (Threads::Grid(blocks, 1), NumberType::Single);
        self.gpu.squares(by, gradient, self.trained as u64, sums)?;
        let by = (Threads::Grid(1, 1), NumberType::Single);
        let (norm, factor) = (self.totals.at() + 8, self.totals.at() + 16);
        self.gpu
            .gradient_norm(by, sums, int(blocks), clip, norm, factor)
    }

    pub(super) fn gradient_of(&mut self, work: &[&Work], scale: f32) -> Done {
        self.with_less(work, |trainer| trainer.try_gradient(work, scale))
    }

    /// Does something, again with less at once where memory runs out.
    fn with_less<T>(&mut self, work: &[&Work], act: impl Fn(&mut Self) -> Done<T>) -> Done<T> {
        let longest = work.iter().map(|w| w.packed.tokens.len()).max();
        loop {
            match act(self) {
                Err(error) if error.kind == ErrorKind::OutOfMemory => {
                    let Some(less) = smaller(self.at_once, longest.unwrap_or(0)) else {
                        return Err(error);
                    };
                    self.take_less(less)?;
                }
                other => return other,
            }
        }
    }

    /// Gives back a batch's memory and takes less at once from now on; said the first time.
    fn take_less(&mut self, less: AtOnce) -> Done {
        self.gpu.device.wait()?;
        self.buffers = Buffers::default();
        self.gpu.forget();
        self.at_once = less;
        if !self.told {
            self.note = Some(format!(
                "the GPU's memory is full: {} tokens at once from now on{}",
                less.tokens,
                match less.kept {
                    0 => ", and every layer's forward pass again in the backward pass",
                    _ => "",
                }
            ));
            self.told = true;
        }
        Ok(())
    }

    fn try_gradient(&mut self, work: &[&Work], scale: f32) -> Done {
        let device = &self.gpu.device;
        device.zero(self.gradient.at(), self.trained * 4)?;
        device.zero(self.totals.at(), 8)?;
        let total = self.totals.at();
        for group in groups(work, self.at_once.tokens) {
            self.pass(&group, true, |pass, buffers| {
                pass.loss_and_gradient(buffers, scale, total)
            })?;
        }
        Ok(())
    }

    fn pass<T>(
        &mut self,
        work: &[&Work],
        training: bool,
        act: impl FnOnce(&Pass<'_>, &mut Buffers) -> Done<T>,
    ) -> Done<T> {
        let batch = Batch::send(&self.gpu, (&self.net, self.kind()), work)?;
        let mut buffers = std::mem::take(&mut self.buffers);
        // Without a backward pass nothing is kept.
        let kept = if training { self.at_once.kept } else { 0 };
        buffers.kept_from = self.net.layout.blocks.len().saturating_sub(kept);
        let pass = Pass {
            gpu: &self.gpu,
            net: &self.net,
            n: self.numbers(training),
            batch: &batch,
            angles: self.angles.at(),
        };
        let done = act(&pass, &mut buffers);
        self.buffers = buffers;
        done
    }

    fn numbers(&self, training: bool) -> Numbers<'_> {
        let gradient = if training { self.gradient.at() } else { 0 };
        Numbers {
            base: self.base.at(),
            matrices: self.matrices.as_ref(),
            base_gradient: match &self.adapter {
                Some(_) => 0,
                None => gradient,
            },
            adapter: self.adapter.as_ref().map(|(table, values)| Adapted {
                table,
                values: self.short.as_ref().unwrap_or(values).at(),
                gradient,
                dropping: training,
            }),
        }
    }

    /// For every pack, the targets that count: log-probability, and whether none was more probable.
    pub(crate) fn answers(&mut self, work: &[&Work]) -> Done<Vec<Vec<(f32, bool)>>> {
        self.with_less(work, |trainer| trainer.try_answers(work))
    }

    fn try_answers(&mut self, work: &[&Work]) -> Done<Vec<Vec<(f32, bool)>>> {
        let mut out = Vec::with_capacity(work.len());
        for group in groups(work, self.at_once.tokens) {
            let found = self.pass(&group, false, |pass, buffers| pass.answers(buffers))?;
            let mut rest = found.chunks_exact(2).map(|x| (x[0], x[1] != 0.0));
            for w in &group {
                let count = w.packed.targets.iter().filter(|(_, w)| *w != 0.0).count();
                out.push(rest.by_ref().take(count).collect());
            }
        }
        Ok(out)
    }

    pub(crate) fn bring_back(&self, values: &[f32], moments: &Moments) -> Done {
        let device = &self.gpu.device;
        device.write(values, self.values_at())?;
        device.write(&moments.first, self.first.at())?;
        device.write(&moments.second, self.second.at())?;
        self.shorten()
    }

    pub(crate) fn fetch(&self, values: &mut Vec<f32>, moments: &mut Moments) -> Done {
        let device = &self.gpu.device;
        *values = device.read(self.values_at(), self.trained)?;
        moments.first = device.read(self.first.at(), self.trained)?;
        moments.second = device.read(self.second.at(), self.trained)?;
        Ok(())
    }
}

/// Half the tokens, but a pack stays whole; then no block keeps anything; then there is nothing less.
fn smaller(now: AtOnce, longest: usize) -> Option<AtOnce> {
    if now.tokens > longest.max(1) {
        return Some(AtOnce {
            tokens: (now.tokens / 2).max(longest).max(1),
            ..now
        });
    }
    (now.kept > 0).then_some(AtOnce { kept: 0, ..now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_at_once_ends_at_one_pack_without_anything_kept() {
        let mut now = AtOnce {
            tokens: 1000,
            kept: 3,
        };
        let mut seen = Vec::new();
        while let Some(less) = smaller(now, 300) {
            seen.push((less.tokens, less.kept));
            now = less;
        }
        assert_eq!(seen, [(500, 3), (300, 3), (300, 0)]);
    }

    #[test]
    fn chunks_cover_every_group_with_its_decay() {
        let table = chunks(&[(0..20_000, 0.5), (20_000..20_001, 0.0)]);
        let rows: Vec<&[u32]> = table.chunks(4).collect();
        let half = 0.5f32.to_bits();
        assert_eq!(rows[0], [0, 0, 16_384, half]);
        assert_eq!(rows[1], [16_384, 0, 3_616, half]);
        assert_eq!(rows[2], [20_000, 0, 1, 0]);
    }
}

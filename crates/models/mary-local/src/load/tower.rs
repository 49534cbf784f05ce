//! The tensors of a tower and of what stands beside it, read under the names that occur in the wild.

use mary_contract::ModelError;

use super::names::INCOMPLETE;
use super::{Loader, transpose};
use crate::config::Norm;
use crate::errors::{Result, bad_model};
use crate::kernels::{Backend, NormOf, Weights};
use crate::transformer::{TableOf, Transformer};
use crate::vision::TowerConfig;

const COLOURS: usize = 3;

pub(crate) struct TowerParts<B: Backend> {
    pub transformer: Transformer<B>,
    pub patch: B::Linear,
    pub class: Option<Vec<f32>>,
    /// Learned positions, row after row.
    pub positions: Option<Vec<f32>>,
}

impl<B: Backend> Loader<'_, B> {
    pub(crate) fn tower(&self, config: &TowerConfig) -> Result<TowerParts<B>> {
        let a = self.architecture;
        let pixels = COLOURS * config.frames * config.patch * config.patch;
        let name = self.tensors.embedding();
        let patch = match self.has(&format!("{name}.1")) {
            true => self.framed(&name, a.hidden, (pixels, config.frames))?,
            false => self.dense(name.trim_end_matches(".weight"), a.hidden, pixels)?,
        };
        let own = |name: &str| format!("{}embeddings.{name}", self.body);
        let class = || self.vector(&own("class_embedding"), a.hidden);
        let class = config.class.then(class).transpose()?;
        let positions = config.side.map(|side| {
            let rows = side * side + usize::from(config.class);
            self.vector(&own("position_embedding.weight"), rows * a.hidden)
        });
        let blocks = (0..a.layers).map(|layer| self.block(layer));
        let blocks = blocks.collect::<Result<_, _>>()?;
        let (embed_norm, final_norm) = self.outer_norms()?;
        // Rows come from patches; nothing is ever looked up.
        let embed = TableOf {
            table: self.backend.table(vec![0.0; a.hidden], a.hidden),
            rows: 1,
        };
        self.backend.check()?;
        Ok(TowerParts {
            transformer: Transformer {
                backend: self.backend.clone(),
                architecture: a.clone(),
                layers: 0..a.layers,
                embed,
                positions: None,
                embed_norm,
                project: None,
                blocks,
                final_norm,
                head: None,
                transform: None,
                alibi: None,
                axes: config.axes.clone(),
                both_ways: false,
                fetch: None,
                tower: true,
                steering: Default::default(),
                averages: vec![],
            },
            patch,
            class,
            positions: positions.transpose()?,
        })
    }

    pub(crate) fn under(&self, prefixes: &[&str], name: &str) -> Result<String> {
        let full = |prefix: &&str| format!("{prefix}{name}");
        let found = prefixes.iter().map(full).find(|name| self.has(name));
        found.ok_or_else(|| missing(&prefixes.iter().map(full).collect::<Vec<_>>().join(", ")))
    }

    /// A linear layer with its bias where it has one; its full name without `.weight`.
    pub(crate) fn dense(&self, name: &str, outputs: usize, inputs: usize) -> Result<B::Linear> {
        let data = self.vector(&format!("{name}.weight"), outputs * inputs)?;
        let bias = self.optional(&format!("{name}.bias"), outputs)?;
        let weights = Weights::plain(data, outputs, inputs);
        Ok(self.backend.prepare(vec![weights], bias))
    }

    /// A matrix that is stored as `[in, out]`.
    pub(crate) fn turned(&self, name: &str, outputs: usize, inputs: usize) -> Result<B::Linear> {
        let data = self.vector(name, outputs * inputs)?;
        let data = transpose(&data, inputs, outputs);
        let weights = Weights::plain(data, outputs, inputs);
        Ok(self.backend.prepare(vec![weights], None))
    }

    /// A norm of rows of this width; its full name without `.weight`.
    pub(crate) fn full_norm(
        &self,
        name: &str,
        width: usize,
        how: Norm,
    ) -> Result<NormOf<B::Vector>> {
        let weight = self.vector(&format!("{name}.weight"), width)?;
        let bias = self.optional(&format!("{name}.bias"), width)?;
        Ok(self.norm_of(weight, bias, how))
    }

    /// Each frame has a tensor of its own (`.weight`, `.weight.1`), as in GGUF files.
    fn framed(
        &self,
        name: &str,
        outputs: usize,
        (inputs, frames): (usize, usize),
    ) -> Result<B::Linear> {
        let frame = |n: usize| {
            let own = if n == 0 { name } else { &format!("{name}.{n}") };
            self.vector(own, outputs * inputs / frames)
        };
        let all: Vec<Vec<f32>> = (0..frames).map(frame).collect::<Result<_, _>>()?;
        let plane = (inputs / frames / COLOURS).max(1);
        let mut data = Vec::with_capacity(outputs * inputs);
        for start in (0..outputs * inputs / frames).step_by(plane) {
            for frame in &all {
                data.extend_from_slice(&frame[start..start + plane]);
            }
        }
        let weights = Weights::plain(data, outputs, inputs);
        let bias = self.bias(name, outputs)?;
        Ok(self.backend.prepare(vec![weights], bias))
    }

    pub(crate) fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        match self.checkpoint.info(name) {
            Some(info) if info.numbers() == Some(len) => self.read(name),
            Some(info) => Err(self.wrong_shape(name, &info.shape, &[len])),
            None => Err(missing(name)),
        }
    }
}

fn missing(name: &str) -> ModelError {
    bad_model(format!(
        "the model has a tower for pictures, but not the tensor `{name}`"
    ))
    .hint(INCOMPLETE)
}

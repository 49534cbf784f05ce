//! The tensors of a tower and of a projector, read under the names that occur in the wild.

use mary_contract::{ErrorKind, ModelError};
use mary_weights::Checkpoint;

use super::{LoadSettings, Loader};
use crate::config::Norm;
use crate::kernels::{Backend, NormOf, Weights};
use crate::transformer::{TableOf, Transformer};
use crate::vision::TowerConfig;

const COLOURS: usize = 3;

pub(crate) struct TowerParts<B: Backend> {
    pub transformer: Transformer<B>,
    /// From a patch's pixels to a row.
    pub patch: B::Linear,
    pub class: Option<Vec<f32>>,
    /// Learned positions, row after row.
    pub positions: Option<Vec<f32>>,
}

/// Whether a checkpoint holds this tower.
pub(crate) fn holds(checkpoint: &Checkpoint, config: &TowerConfig) -> bool {
    Loader::new(checkpoint, &config.architecture, LoadSettings::default()).is_ok()
}

pub(crate) fn tower<B: Backend>(
    backend: B,
    checkpoint: &Checkpoint,
    config: &TowerConfig,
    settings: LoadSettings,
) -> Result<TowerParts<B>, ModelError> {
    let a = &config.architecture;
    let loader = Loader::new(checkpoint, a, settings)?;
    let pixels = COLOURS * config.frames * config.patch * config.patch;
    let name = loader.top(a.names.embed, "weight");
    let patch = match loader.has(&format!("{name}.1")) {
        true => loader.framed(&backend, &name, a.hidden, (pixels, config.frames))?,
        false => loader.dense(&backend, name.trim_end_matches(".weight"), a.hidden, pixels)?,
    };
    let own = |name: &str| format!("{}embeddings.{name}", loader.body);
    let class = match config.class {
        true => Some(loader.vector(&own("class_embedding"), a.hidden)?),
        false => None,
    };
    let positions = match config.side {
        Some(side) => {
            let rows = side * side + usize::from(config.class);
            Some(loader.vector(&own("position_embedding.weight"), rows * a.hidden)?)
        }
        None => None,
    };
    let mut blocks = Vec::with_capacity(a.layers);
    for layer in 0..a.layers {
        blocks.push(loader.block(&backend, layer)?);
    }
    let norm = |name: &str| loader.norm(&backend, |part| loader.top(name, part));
    let embed_norm = match a.embedding.norm {
        true => Some(norm(a.names.embed_norm)?),
        false => None,
    };
    let final_norm = a.names.final_norm.map(norm).transpose()?;
    // Rows come from patches; nothing is ever looked up.
    let embed = TableOf {
        table: backend.table(vec![0.0; a.hidden], a.hidden),
        rows: 1,
    };
    backend.check()?;
    Ok(TowerParts {
        transformer: Transformer {
            backend,
            architecture: a.clone(),
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
            tower: true,
        },
        patch,
        class,
        positions,
    })
}

/// Reads what stands beside a tower.
pub(crate) struct Beside<'a>(Loader<'a>);

impl<'a> Beside<'a> {
    pub(crate) fn new(
        checkpoint: &'a Checkpoint,
        config: &'a TowerConfig,
        settings: LoadSettings,
    ) -> Result<Self, ModelError> {
        Loader::new(checkpoint, &config.architecture, settings).map(Self)
    }

    /// The first of these prefixes under which a tensor lies.
    pub(crate) fn under(&self, prefixes: &[&str], name: &str) -> Result<String, ModelError> {
        let full = |prefix: &&str| format!("{prefix}{name}");
        let found = prefixes.iter().map(full).find(|name| self.0.has(name));
        found.ok_or_else(|| missing(&prefixes.iter().map(full).collect::<Vec<_>>().join(", ")))
    }

    /// A linear layer with its bias where it has one; `name` without `.weight`.
    pub(crate) fn dense<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        self.0.dense(backend, name, outputs, inputs)
    }

    /// A matrix that is stored as `[in, out]`.
    pub(crate) fn turned<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        let data = self.0.vector(name, outputs * inputs)?;
        let data = super::transpose(&data, inputs, outputs);
        let weights = Weights::Plain {
            data,
            outputs,
            inputs,
        };
        Ok(backend.prepare(vec![weights], None))
    }

    /// A norm; `name` without `.weight`.
    pub(crate) fn norm<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        width: usize,
        how: Norm,
    ) -> Result<NormOf<B::Vector>, ModelError> {
        let mut weight = self.0.vector(&format!("{name}.weight"), width)?;
        if how.unit_offset {
            weight.iter_mut().for_each(|w| *w += 1.0);
        }
        let bias = self.0.optional(&format!("{name}.bias"), width)?;
        Ok(NormOf {
            weight: backend.vector(weight),
            bias: bias.map(|b| backend.vector(b)),
            how,
        })
    }

    /// Numbers that must be there.
    pub(crate) fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        self.0.vector(name, len)
    }

    /// The prefix under which the tower lies.
    pub(crate) fn body(&self) -> &'static str {
        self.0.body
    }
}

fn missing(name: &str) -> ModelError {
    ModelError::new(
        ErrorKind::BadModel,
        format!("the model has a tower for pictures, but not the tensor `{name}`"),
    )
    .hint("the download may be incomplete, or config.json belongs to another model")
}

impl Loader<'_> {
    /// A linear layer by its full name without `.weight`.
    fn dense<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<B::Linear, ModelError> {
        let data = self.vector(&format!("{name}.weight"), outputs * inputs)?;
        let bias = self.optional(&format!("{name}.bias"), outputs)?;
        let weights = Weights::Plain {
            data,
            outputs,
            inputs,
        };
        Ok(backend.prepare(vec![weights], bias))
    }

    /// A layer over patches of several frames, each frame in a tensor of its own (`.weight`, `.weight.1`), as
    /// GGUF files have it; in a patch, the frames of each colour lie together.
    fn framed<B: Backend>(
        &self,
        backend: &B,
        name: &str,
        outputs: usize,
        (inputs, frames): (usize, usize),
    ) -> Result<B::Linear, ModelError> {
        let frame = |n: usize| match n {
            0 => self.vector(name, outputs * inputs / frames),
            n => self.vector(&format!("{name}.{n}"), outputs * inputs / frames),
        };
        let all: Vec<Vec<f32>> = (0..frames).map(frame).collect::<Result<_, _>>()?;
        let plane = (inputs / frames / COLOURS).max(1);
        let mut data = Vec::with_capacity(outputs * inputs);
        for start in (0..outputs * inputs / frames).step_by(plane) {
            all.iter()
                .for_each(|frame| data.extend_from_slice(&frame[start..start + plane]));
        }
        let bias = name.replace(".weight", ".bias");
        let weights = Weights::Plain {
            data,
            outputs,
            inputs,
        };
        Ok(backend.prepare(vec![weights], self.optional(&bias, outputs)?))
    }

    /// Numbers that must be there, whatever their shape.
    fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let Some(info) = self.checkpoint.info(name) else {
            return Err(missing(name));
        };
        if info.numbers() != Some(len) {
            return Err(self.wrong_shape(name, &info.shape, &[len]));
        }
        self.read(name)
    }
}

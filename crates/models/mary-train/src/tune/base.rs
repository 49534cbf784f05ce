//! The model that is tuned: its weights as they are stored where that is not 32 bits. On a GPU those are
//! in bfloat16 then, and so is matrix multiplication; in 32 bits where the user or the file asks for it.

use std::path::Path;

use mary_weights::architecture::Architecture;
use mary_weights::{Checkpoint, TensorType};

use crate::learner::{Device, NumberType};
use crate::net::layout::Tensors;
use crate::net::stored::{Stored, read_flat};
use crate::net::{Frozen, Layout, Net};
use crate::{Result, TrainError};

pub(crate) struct Base {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) net: Net,
    /// Matrices stay as they are stored.
    pub(crate) apart: bool,
    device: Device,
}

impl Base {
    /// Reads the headers of a model; its longest sequence is that of a pack.
    pub(crate) fn open(
        path: &Path,
        (device, numbers): (Device, Option<NumberType>),
        pack: usize,
    ) -> Result<Self> {
        let fail = |e: mary_contract::ModelError| TrainError::content(path, e);
        let checkpoint = Checkpoint::open(path).map_err(fail)?;
        let architecture = Architecture::resolve(checkpoint.config()).map_err(fail)?;
        let layout = Self::layout(&checkpoint, &architecture, false)?;
        let apart = match (device, numbers) {
            (Device::Cpu, _) | (_, None) => Stored::suits(&checkpoint, &layout),
            (Device::Cuda(_), Some(numbers)) => numbers == NumberType::Bf16,
        };
        let layout = match apart {
            true => Self::layout(&checkpoint, &architecture, true)?,
            false => layout,
        };
        Ok(Self {
            net: Net::with_layout(architecture, layout, pack),
            checkpoint,
            apart,
            device,
        })
    }

    fn layout(checkpoint: &Checkpoint, architecture: &Architecture, apart: bool) -> Result<Layout> {
        let holds = |name: &str| checkpoint.info(name).is_some();
        let ends = format!("{}.weight", architecture.names.positions);
        let names = checkpoint.tensor_names();
        let table = names.iter().find(|name| name.ends_with(&ends));
        let positions = table
            .and_then(|name| checkpoint.info(name))
            .and_then(|info| info.shape.first().copied())
            .unwrap_or(0);
        let offset = architecture.embedding.position_offset;
        if offset.is_some_and(|o| positions < architecture.context + o) {
            return Err(TrainError::Settings(format!(
                "the table of positions has {positions} rows; config.json asks for {}",
                architecture.context
            )));
        }
        let tensors = Tensors {
            holds: &holds,
            positions,
            apart,
        };
        Layout::open(architecture, &tensors)
    }

    pub(crate) fn parameters(&self) -> usize {
        let numbers = |e: &crate::net::Entry| e.dims.iter().product::<usize>();
        self.net.layout.entries.iter().map(numbers).sum()
    }

    /// Bytes that the base takes in memory. What is mapped is counted too: every step reads it.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.net.layout.entries.iter();
        let stored = entries.filter(|e| e.place.is_empty());
        let mapped: u64 = stored
            .filter_map(|e| self.checkpoint.info(&e.name))
            .filter_map(|info| info.dtype.bytes_for(info.numbers()?))
            .map(|bytes| bytes as u64)
            .sum();
        mapped + 4 * self.net.layout.total as u64
    }

    /// Bytes that the matrices would take split for the tile unit, at most; none where there is no such unit
    /// or a GPU multiplies.
    pub(crate) fn split_bytes(&self) -> u64 {
        if self.device != Device::Cpu || Frozen::wants_transpose() {
            return 0;
        }
        let matrices = self.net.layout.entries.iter().filter(|e| e.dims.len() == 2);
        let bytes = |name: &str, numbers: usize| {
            let planes = match self.checkpoint.info(name).map(|info| info.dtype) {
                Some(TensorType::BF16) => 1,
                Some(TensorType::F16) => 2,
                _ => 3,
            };
            4 * planes * numbers as u64
        };
        matrices
            .map(|e| bytes(&e.name, e.dims.iter().product()))
            .sum()
    }

    pub(crate) fn numbers(&self) -> Result<(Vec<f32>, Option<Stored>)> {
        let flat = read_flat(&self.checkpoint, &self.net.layout)?;
        let stored = match self.apart {
            true => Some(Stored::open(&self.checkpoint, &self.net.layout)?),
            false => None,
        };
        Ok((flat, stored))
    }
}

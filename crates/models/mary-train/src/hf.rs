//! Folders in Hugging Face layout, written so that transformers loads them.

use crate::{Result, TrainError};
use half::{bf16, f16};
use mary_weights::TensorType;
use safetensors::serialize;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Storage {
    F32,
    /// 16 bits, ten of them for the fraction.
    F16,
    /// 16 bits with the range of 32.
    Bf16,
}

impl Storage {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }

    fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }

    fn bytes(self, numbers: &[f32]) -> Vec<u8> {
        let each = numbers.iter().copied();
        match self {
            Self::F32 => each.flat_map(f32::to_le_bytes).collect(),
            Self::F16 => each.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
            Self::Bf16 => each.flat_map(|x| bf16::from_f32(x).to_le_bytes()).collect(),
        }
    }
}

/// Writes a file beside its place, then moves it there, so that a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    mary_platform::replace_file(path, bytes).map_err(TrainError::file(path))
}

pub(crate) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TrainError::file(path)(error))
        }
        _ => Ok(()),
    }
}

pub(crate) struct Writer {
    storage: Storage,
    tensors: Vec<(String, Vec<usize>, Vec<u8>)>,
}

impl Writer {
    pub(crate) fn new(storage: Storage) -> Self {
        Self {
            storage,
            tensors: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let bytes = self.storage.bytes(values);
        self.tensors.push((name.to_owned(), dims.to_vec(), bytes));
    }

    pub(crate) fn write(self, path: &Path) -> Result<()> {
        self.write_with(path, [("format", "pt".to_owned())])
    }

    pub(crate) fn write_with<const N: usize>(
        self,
        path: &Path,
        metadata: [(&str, String); N],
    ) -> Result<()> {
        let fail = |e: safetensors::SafeTensorError| TrainError::content(path, e);
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for (name, dims, bytes) in &self.tensors {
            let view = TensorView::new(self.storage.dtype(), dims.clone(), bytes).map_err(fail)?;
            tensors.push((name.as_str(), view));
        }
        let metadata = metadata.map(|(name, value)| (name.to_owned(), value));
        let metadata = HashMap::from(metadata);
        write_whole(path, &serialize(tensors, Some(metadata)).map_err(fail)?)
    }
}

pub(crate) fn read_if_there(path: &Path) -> Result<Option<String>> {
    match mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(TrainError::file(path)),
    }
}

pub(crate) fn read_json(path: &Path) -> Result<Value> {
    let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_SETTINGS)
        .map_err(TrainError::file(path))?;
    serde_json::from_str(&text).map_err(|e| TrainError::content(path, e))
}

/// The numbers of a tensor of 16 or 32 bits.
pub(crate) fn read_tensor(path: &Path, name: &str, view: &TensorView<'_>) -> Result<Vec<f32>> {
    let dtype = match view.dtype() {
        Dtype::F32 => TensorType::F32,
        Dtype::F16 => TensorType::F16,
        Dtype::BF16 => TensorType::BF16,
        other => {
            let problem =
                format!("tensor {name} is stored as {other:?}; expected F32, F16 or BF16");
            return Err(TrainError::content(path, problem));
        }
    };
    Ok(mary_weights::numbers(dtype, view.data()))
}

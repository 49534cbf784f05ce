//! Folders in Hugging Face layout, written so that transformers loads them.

use crate::TrainError;
use crate::net::{Entry, Layout, Shape};
use half::{bf16, f16};
use safetensors::serialize;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::path::Path;

/// How numbers are stored in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Storage {
    /// 32 bits.
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
        match self {
            Self::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::F16 => numbers
                .iter()
                .flat_map(|x| f16::from_f32(*x).to_le_bytes())
                .collect(),
            Self::Bf16 => numbers
                .iter()
                .flat_map(|x| bf16::from_f32(*x).to_le_bytes())
                .collect(),
        }
    }
}

/// Writes a file beside its place, then moves it there, so that a reader never sees half a file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    mary_contract::replace_file(path, bytes).map_err(TrainError::file(path))
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<(), TrainError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TrainError::file(path)(error))
        }
        _ => Ok(()),
    }
}

/// Everything in a model folder.
pub(crate) struct Folder<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) layout: &'a Layout,
    pub(crate) parameters: &'a [f32],
    pub(crate) storage: Storage,
    pub(crate) tokenizer_json: &'a str,
    pub(crate) end_token: u32,
}

impl Folder<'_> {
    /// Writes the folder; the weights last, so that their presence means the folder is whole.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        let config = self.shape.to_config(self.storage.name(), self.end_token);
        write_whole(
            &folder.join("config.json"),
            format!("{config:#}\n").as_bytes(),
        )?;
        write_whole(
            &folder.join("tokenizer.json"),
            self.tokenizer_json.as_bytes(),
        )?;
        let tokenizer_config = crate::tokenizer::config(self.shape.context);
        write_whole(
            &folder.join("tokenizer_config.json"),
            tokenizer_config.as_bytes(),
        )?;
        write_weights(
            &folder.join("model.safetensors"),
            &self.layout.entries,
            self.parameters,
            self.storage,
        )
    }
}

/// Writes tensors of a flat slice as one safetensors file.
pub(crate) fn write_weights(
    path: &Path,
    entries: &[Entry],
    values: &[f32],
    storage: Storage,
) -> Result<(), TrainError> {
    let mut writer = Writer::new(storage);
    for entry in entries {
        writer.add(&entry.name, &entry.dims, &values[entry.place.clone()]);
    }
    writer.write(path)
}

/// A safetensors file in the making.
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

    pub(crate) fn write(self, path: &Path) -> Result<(), TrainError> {
        let fail = |e: safetensors::SafeTensorError| TrainError::content(path, e);
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for (name, dims, bytes) in &self.tensors {
            let view = TensorView::new(self.storage.dtype(), dims.clone(), bytes).map_err(fail)?;
            tensors.push((name.as_str(), view));
        }
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        write_whole(path, &serialize(tensors, Some(metadata)).map_err(fail)?)
    }
}

/// A JSON file.
pub(crate) fn read_json(path: &Path) -> Result<serde_json::Value, TrainError> {
    let text = mary_contract::read_plain_text(path, mary_contract::LARGEST_SETTINGS)
        .map_err(TrainError::file(path))?;
    serde_json::from_str(&text).map_err(|e| TrainError::content(path, e))
}

/// Widens one tensor into a slice, checking its dimensions.
pub(crate) fn read_tensor(
    path: &Path,
    name: &str,
    view: &TensorView<'_>,
    dims: &[usize],
    out: &mut [f32],
) -> Result<(), TrainError> {
    if view.shape() != dims {
        let problem = format!(
            "tensor {name} has dimensions {:?}, expected {dims:?}",
            view.shape()
        );
        return Err(TrainError::content(path, problem));
    }
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => {
            for (out, b) in out.iter_mut().zip(data.chunks_exact(4)) {
                *out = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
        }
        Dtype::F16 => {
            for (out, b) in out.iter_mut().zip(data.chunks_exact(2)) {
                *out = f16::from_le_bytes([b[0], b[1]]).to_f32();
            }
        }
        Dtype::BF16 => {
            for (out, b) in out.iter_mut().zip(data.chunks_exact(2)) {
                *out = bf16::from_le_bytes([b[0], b[1]]).to_f32();
            }
        }
        other => {
            let problem =
                format!("tensor {name} is stored as {other:?}; expected F32, F16 or BF16");
            return Err(TrainError::content(path, problem));
        }
    }
    Ok(())
}

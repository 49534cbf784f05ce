//! The state a run resumes from: one file, replaced whole, bound to its recipe.

use crate::hf::{Storage, Writer};
use crate::optimizer::Moments;
use crate::{Result, TrainError};
use safetensors::SafeTensors;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::HashMap;
use std::path::Path;

/// Numbers by name and the place in the text after a number of steps.
pub(crate) struct State<P> {
    pub(crate) step: u64,
    pub(crate) position: P,
    pub(crate) arrays: HashMap<String, Vec<f32>>,
}

/// Saves a state; `recipe` is what must be the same for it to be resumed.
pub(crate) fn save<P: Serialize>(
    path: &Path,
    recipe: &str,
    (step, position): (u64, &P),
    arrays: &[(&str, &[f32])],
) -> Result<()> {
    let mut writer = Writer::new(Storage::F32);
    for (name, values) in arrays {
        writer.add(name, &[values.len()], values);
    }
    let position = serde_json::to_string(position).map_err(|e| TrainError::content(path, e))?;
    let metadata = [
        ("step", step.to_string()),
        ("position", position),
        ("recipe", recipe.to_owned()),
    ];
    writer.write_with(path, metadata)
}

impl<P: DeserializeOwned> State<P> {
    /// Loads a state of the same recipe; None where there is no file.
    pub(crate) fn load(path: &Path, recipe: &str) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let bytes = mary_weights::RawBytes::of_file(path).map_err(TrainError::file(path))?;
        let fail = |e: safetensors::SafeTensorError| TrainError::content(path, e);
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(fail)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let text = |key: &str| {
            metadata
                .get(key)
                .ok_or_else(|| TrainError::content(path, format!("no \"{key}\" inside")))
        };
        if text("recipe")? != recipe {
            return Err(TrainError::content(
                path,
                "this folder holds a run of another recipe; choose another folder, or the same settings \
                 (recipe.json has them)",
            ));
        }
        let tensors = SafeTensors::deserialize(&bytes).map_err(fail)?;
        let mut arrays = HashMap::new();
        for (name, view) in tensors.tensors() {
            let numbers = crate::hf::read_tensor(path, &name, &view)?;
            arrays.insert(name, numbers);
        }
        Ok(Some(Self {
            step: text("step")?
                .parse()
                .map_err(|e| TrainError::content(path, e))?,
            position: serde_json::from_str(text("position")?)
                .map_err(|e| TrainError::content(path, e))?,
            arrays,
        }))
    }

    /// One of its arrays, which must have this many numbers.
    pub(crate) fn take(&mut self, path: &Path, name: &str, count: usize) -> Result<Vec<f32>> {
        let found = self.arrays.remove(name).unwrap_or_default();
        match found.len() == count {
            true => Ok(found),
            false => Err(TrainError::content(
                path,
                format!("\"{name}\" has {} numbers, expected {count}", found.len()),
            )),
        }
    }

    pub(crate) fn moments(&mut self, path: &Path, count: usize) -> Result<Moments> {
        Ok(Moments {
            first: self.take(path, "first", count)?,
            second: self.take(path, "second", count)?,
        })
    }
}

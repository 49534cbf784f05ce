//! The state a run resumes from: one file, replaced whole, bound to its recipe.

use crate::TrainError;
use crate::hf::write_whole;
use crate::optimizer::Moments;
use crate::stream::Position;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use std::collections::HashMap;
use std::path::Path;

/// Parameters, moments and the place in the text after a number of steps.
pub(crate) struct State {
    pub(crate) step: u64,
    pub(crate) parameters: Vec<f32>,
    pub(crate) moments: Moments,
    pub(crate) position: Position,
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Saves a state; `recipe` is what must be the same for it to be resumed.
pub(crate) fn save(
    path: &Path,
    recipe: &str,
    (step, position): (u64, &Position),
    (parameters, moments): (&[f32], &Moments),
) -> Result<(), TrainError> {
    let fail = |e: safetensors::SafeTensorError| TrainError::content(path, e);
    let parts = [
        ("parameters", bytes(parameters)),
        ("first", bytes(&moments.first)),
        ("second", bytes(&moments.second)),
    ];
    let mut tensors = Vec::new();
    for (name, bytes) in &parts {
        let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).map_err(fail)?;
        tensors.push((*name, view));
    }
    let position = serde_json::to_string(position).map_err(|e| TrainError::content(path, e))?;
    let metadata = HashMap::from([
        ("step".to_owned(), step.to_string()),
        ("position".to_owned(), position),
        ("recipe".to_owned(), recipe.to_owned()),
    ]);
    write_whole(path, &serialize(tensors, Some(metadata)).map_err(fail)?)
}

impl State {
    /// Loads a state of the same recipe; None where there is no file.
    pub(crate) fn load(
        path: &Path,
        recipe: &str,
        count: usize,
    ) -> Result<Option<Self>, TrainError> {
        if !path.exists() {
            return Ok(None);
        }
        let bytes = std::fs::read(path).map_err(TrainError::file(path))?;
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
        let numbers = |name: &str| -> Result<Vec<f32>, TrainError> {
            let mut out = vec![0.0; count];
            let view = tensors.tensor(name).map_err(fail)?;
            crate::hf::read_tensor(path, name, &view, &[count], &mut out)?;
            Ok(out)
        };
        Ok(Some(Self {
            step: text("step")?
                .parse()
                .map_err(|e| TrainError::content(path, e))?,
            parameters: numbers("parameters")?,
            moments: Moments {
                first: numbers("first")?,
                second: numbers("second")?,
            },
            position: serde_json::from_str(text("position")?)
                .map_err(|e| TrainError::content(path, e))?,
        }))
    }
}

//! Adapters on disk in PEFT's layout.

use crate::TrainError;
use crate::hf::{Storage, read_json, read_tensor, write_weights, write_whole};
use crate::net::{AdapterLayout, Entry, Layout};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const WEIGHTS: &str = "adapter_model.safetensors";
pub(super) const CONFIG: &str = "adapter_config.json";

/// Adapter weights with their table.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "fields are what their names say")]
pub struct Adapter {
    pub layout: AdapterLayout,
    pub values: Vec<f32>,
    alpha: f64,
    targets: Vec<String>,
}

impl Adapter {
    pub(super) fn new(
        layout: AdapterLayout,
        values: Vec<f32>,
        alpha: f32,
        targets: Vec<String>,
    ) -> Self {
        Self {
            layout,
            values,
            alpha: f64::from(alpha),
            targets,
        }
    }

    /// Writes `adapter_config.json` and `adapter_model.safetensors`, which PEFT loads. The configuration
    /// last: where it is, the adapter is whole.
    pub fn save(&self, folder: &Path, base: &Path) -> Result<(), TrainError> {
        self.save_weights(folder)?;
        self.save_config(folder, base)
    }

    pub(super) fn save_weights(&self, folder: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        write_weights(
            &folder.join(WEIGHTS),
            &entries(&self.layout),
            &self.values,
            Storage::F32,
        )
    }

    pub(super) fn save_config(&self, folder: &Path, base: &Path) -> Result<(), TrainError> {
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base.to_string_lossy(),
            "r": self.layout.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": plain(self.layout.dropout),
            "target_modules": self.targets,
            "bias": "none",
            "fan_in_fan_out": self.layout.turned,
            "inference_mode": true,
            "init_lora_weights": true,
            "modules_to_save": null,
            "use_rslora": false,
            "use_dora": false,
        });
        write_whole(&folder.join(CONFIG), format!("{config:#}\n").as_bytes())
    }

    /// Reads an adapter for a base with this table.
    pub fn load(folder: &Path, base: &Layout) -> Result<Self, TrainError> {
        let path = folder.join(CONFIG);
        let config = read_json(&path)?;
        let bad = |what: String| TrainError::content(&path, what);
        for key in ["use_dora", "use_rslora"] {
            if config.get(key).and_then(Value::as_bool) == Some(true) {
                return Err(bad(format!("\"{key}\" is on, which is not supported")));
            }
        }
        let rank = config
            .get("r")
            .and_then(Value::as_u64)
            .ok_or_else(|| bad("no rank \"r\"".to_owned()))?;
        let alpha = config
            .get("lora_alpha")
            .and_then(Value::as_f64)
            .ok_or_else(|| bad("no \"lora_alpha\"".to_owned()))?;
        let targets: Vec<String> = config
            .get("target_modules")
            .and_then(Value::as_array)
            .map(|list| {
                list.iter()
                    .filter_map(|v| v.as_str().map(str::to_owned))
                    .collect()
            })
            .ok_or_else(|| bad("no list \"target_modules\"".to_owned()))?;
        let layout = AdapterLayout::new(base, rank as usize, alpha as f32, 0.0, &targets)?;
        let values = read_values(&folder.join(WEIGHTS), &layout)?;
        Ok(Self {
            layout,
            values,
            alpha,
            targets,
        })
    }
}

/// Before an adapter is replaced: the folder holds none.
pub(super) fn forget(folder: &Path) -> Result<(), TrainError> {
    crate::hf::remove(&folder.join(CONFIG))
}

/// A number as it was written, without the digits that widening adds.
fn plain(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// The tensors of an adapter under PEFT's names.
fn entries(layout: &AdapterLayout) -> Vec<Entry> {
    let tensors = layout.tensors().into_iter();
    tensors
        .map(|(name, dims, place)| Entry {
            name: format!("base_model.model.{name}"),
            dims,
            place,
            turned: false,
        })
        .collect()
}

fn read_values(path: &Path, layout: &AdapterLayout) -> Result<Vec<f32>, TrainError> {
    let bytes = std::fs::read(path).map_err(TrainError::file(path))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| TrainError::content(path, e))?;
    let mut values = vec![0.0; layout.total];
    let entries = entries(layout);
    for entry in &entries {
        let view = tensors
            .tensor(&entry.name)
            .map_err(|e| TrainError::content(path, e))?;
        read_tensor(
            path,
            &entry.name,
            &view,
            &entry.dims,
            &mut values[entry.place.clone()],
        )?;
    }
    if tensors.len() != entries.len() {
        let problem = format!("{} tensors, expected {}", tensors.len(), entries.len());
        return Err(TrainError::content(path, problem));
    }
    Ok(values)
}

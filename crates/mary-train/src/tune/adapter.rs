//! Adapters on disk in PEFT's layout.

use crate::TrainError;
use crate::hf::{Storage, read_json, read_tensor, write_weights, write_whole};
use crate::net::{AdapterLayout, Entry, Layout};
use mary_weights::RawBytes;
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const WEIGHTS: &str = "adapter_model.safetensors";
pub(super) const CONFIG: &str = "adapter_config.json";

/// Adapter weights with their table.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// Where the matrices lie.
    pub layout: AdapterLayout,
    /// The numbers.
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
        let (rank, alpha) = rank_and_alpha(&config).map_err(bad)?;
        let targets: Vec<String> = config
            .get("target_modules")
            .and_then(Value::as_array)
            .map(|list| {
                list.iter()
                    .filter_map(|v| v.as_str().map(str::to_owned))
                    .collect()
            })
            .ok_or_else(|| bad("no list \"target_modules\"".to_owned()))?;
        let layout = AdapterLayout::new(base, rank, alpha as f32, 0.0, &targets)?;
        let values = read_values(&folder.join(WEIGHTS), &layout)?;
        Ok(Self {
            layout,
            values,
            alpha,
            targets,
        })
    }
}

/// No adapter has a higher rank: it would be wider than the layers it adapts.
const HIGHEST_RANK: u64 = 1 << 16;

/// Rank and alpha as the configuration gives them, where they can be believed.
pub(super) fn rank_and_alpha(config: &Value) -> Result<(usize, f64), String> {
    let found = |key: &str| {
        let value = config.get(key);
        value.map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let rank = config.get("r").and_then(Value::as_u64);
    let rank = rank.filter(|r| (1..=HIGHEST_RANK).contains(r));
    let rank = rank.ok_or_else(|| {
        let found = found("r");
        format!("\"r\": expected a whole number from 1 to {HIGHEST_RANK}, found {found}")
    })?;
    let alpha = config.get("lora_alpha").and_then(Value::as_f64);
    let alpha = alpha.filter(|a| (*a as f32).is_finite()).ok_or_else(|| {
        let found = found("lora_alpha");
        format!("\"lora_alpha\": expected a number, found {found}")
    })?;
    Ok((rank as usize, alpha))
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
    let bytes = RawBytes::of_file(path).map_err(TrainError::file(path))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| TrainError::content(path, e))?;
    let entries = entries(layout);
    if tensors.len() != entries.len() {
        let problem = format!("{} tensors, expected {}", tensors.len(), entries.len());
        return Err(TrainError::content(path, problem));
    }
    // The rank is the configuration's word; what is allocated by it must lie in the file.
    let held = tensors
        .iter()
        .map(|(_, view)| view.shape().iter().product::<usize>());
    let held: usize = held.sum();
    if held != layout.total {
        let (rank, total) = (layout.rank, layout.total);
        let problem = format!("{held} numbers, expected {total} for the rank {rank}");
        return Err(TrainError::content(path, problem));
    }
    let mut values = vec![0.0; layout.total];
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
    Ok(values)
}

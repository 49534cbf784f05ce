//! Adapters on disk in PEFT's layout.

use crate::hf::{Storage, Writer, write_whole};
use crate::net::AdapterLayout;
use crate::{Result, TrainError};
use serde_json::{Value, json};
use std::path::Path;

pub(super) const WEIGHTS: &str = "adapter_model.safetensors";
pub(super) const CONFIG: &str = "adapter_config.json";

/// Trained low-rank matrices. The configuration is written last: where it is, the adapter is whole.
pub(super) struct Adapter {
    pub(super) layout: AdapterLayout,
    pub(super) values: Vec<f32>,
    pub(super) alpha: f32,
    pub(super) targets: Vec<String>,
}

impl Adapter {
    pub(super) fn save_weights(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        let mut writer = Writer::new(Storage::F32);
        for (name, dims, place) in self.layout.tensors() {
            let name = format!("base_model.model.{name}");
            writer.add(&name, &dims, &self.values[place]);
        }
        writer.write(&folder.join(WEIGHTS))
    }

    pub(super) fn save_config(&self, folder: &Path, base: &Path) -> Result<()> {
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base.to_string_lossy(),
            "r": self.layout.rank,
            "lora_alpha": f64::from(self.alpha),
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

/// A number as it was written, without the digits that widening adds.
fn plain(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

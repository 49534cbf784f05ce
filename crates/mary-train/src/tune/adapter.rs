//! Adapters on disk in PEFT's layout, and folding them into a base model.

use super::open_base;
use crate::TrainError;
use crate::hf::{Storage, read_json, read_tensor, write_weights, write_whole};
use crate::net::{AdapterLayout, Entry, Layout};
use crate::provenance::{MergedProvenance, forget};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::path::Path;

const WEIGHTS: &str = "adapter_model.safetensors";
const CONFIG: &str = "adapter_config.json";

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

    /// Writes `adapter_config.json` and `adapter_model.safetensors`, which PEFT loads.
    pub fn save(&self, folder: &Path, base: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base.to_string_lossy(),
            "r": self.layout.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": plain(self.layout.dropout),
            "target_modules": self.targets,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "modules_to_save": null,
            "use_rslora": false,
            "use_dora": false,
        });
        write_whole(&folder.join(CONFIG), format!("{config:#}\n").as_bytes())?;
        write_weights(
            &folder.join(WEIGHTS),
            &entries(&self.layout),
            &self.values,
            Storage::F32,
        )
    }

    /// Reads an adapter for a base with this table.
    pub fn load(folder: &Path, base: &Layout) -> Result<Self, TrainError> {
        let path = folder.join(CONFIG);
        let config = read_json(&path)?;
        let bad = |what: String| TrainError::content(&path, what);
        for key in ["use_dora", "use_rslora", "fan_in_fan_out"] {
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

    /// Adds the adapter to the base's numbers.
    pub fn fold_into(&self, layout: &Layout, base: &mut [f32]) {
        let rank = self.layout.rank;
        for linear in layout.blocks.iter().flat_map(|b| b.linears()) {
            let Some(Some(site)) = self.layout.sites.get(linear.index) else {
                continue;
            };
            let (a, b) = (
                &self.values[site.down.clone()],
                &self.values[site.up.clone()],
            );
            crate::net::add_product(
                (linear.outputs, rank, linear.inputs),
                (b, a),
                self.layout.scale,
                &mut base[linear.weight.clone()],
            );
        }
    }
}

/// A number as it was written, without the digits that widening adds.
fn plain(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// The tensors of an adapter under PEFT's names.
fn entries(layout: &AdapterLayout) -> Vec<Entry> {
    let rank = layout.rank;
    layout
        .sites
        .iter()
        .flatten()
        .flat_map(|site| {
            let entry = |part: &str, dims: [usize; 2], place: &std::ops::Range<usize>| Entry {
                name: format!("base_model.model.{}.{part}.weight", site.name),
                dims: dims.to_vec(),
                place: place.clone(),
            };
            [
                entry("lora_A", [rank, site.inputs], &site.down),
                entry("lora_B", [site.outputs, rank], &site.up),
            ]
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

/// Files beside the weights that a merged model keeps.
const SIDECARS: &[&str] = &[
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "generation_config.json",
];

/// Folds an adapter into its base model and writes the result as a new model folder, with what it was
/// made from.
pub fn merge(model: &Path, adapter: &Path, out: &Path, storage: Storage) -> Result<(), TrainError> {
    if !model.join("config.json").exists() {
        return Err(TrainError::content(
            model,
            "merging needs a folder in Hugging Face layout (config.json, safetensors, tokenizer.json)",
        ));
    }
    let provenance = MergedProvenance::of(model, adapter, storage)?;
    forget(out)?;
    let (_, net, mut base) = open_base(model)?;
    Adapter::load(adapter, &net.layout)?.fold_into(&net.layout, &mut base);
    std::fs::create_dir_all(out).map_err(TrainError::file(out))?;
    let mut config = read_json(&model.join("config.json"))?;
    for key in ["torch_dtype", "dtype"] {
        if let Some(value) = config.get_mut(key) {
            *value = Value::from(storage.name());
        }
    }
    write_whole(&out.join("config.json"), format!("{config:#}\n").as_bytes())?;
    for name in SIDECARS {
        let from = model.join(name);
        if from.exists() {
            let to = out.join(name);
            std::fs::copy(&from, &to).map_err(TrainError::file(&to))?;
        }
    }
    write_weights(
        &out.join("model.safetensors"),
        &net.layout.entries,
        &base,
        storage,
    )?;
    provenance.write(out)
}

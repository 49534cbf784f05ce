//! Folding an adapter into its base model: every tensor of the checkpoint is kept, those that the adapter
//! names get its product added. Names decide, so this works for every architecture and for adapters that
//! PEFT made.

use std::collections::BTreeMap;
use std::path::Path;

use mary_architecture::Architecture;
use mary_weights::Checkpoint;
use safetensors::SafeTensors;
use serde_json::Value;

use super::adapter::{CONFIG, WEIGHTS};
use crate::TrainError;
use crate::hf::{Storage, Writer, read_json, read_tensor, write_whole};
use crate::provenance::{MergedProvenance, forget};

/// Files beside the weights that a merged model keeps.
const SIDECARS: &[&str] = &[
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
    "preprocessor_config.json",
];

/// The two matrices of one adapted layer.
struct Product {
    rank: usize,
    down: Vec<f32>,
    up: Vec<f32>,
}

/// What an adapter adds, by the name of the layer.
struct Products {
    scale: f32,
    layers: BTreeMap<String, Product>,
}

impl Products {
    fn read(folder: &Path) -> Result<Self, TrainError> {
        let path = folder.join(CONFIG);
        let config = read_json(&path)?;
        let bad = |what: String| TrainError::content(&path, what);
        let filled = |key: &str| match config.get(key) {
            Some(Value::Bool(on)) => *on,
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            _ => false,
        };
        for key in [
            "use_dora",
            "modules_to_save",
            "rank_pattern",
            "alpha_pattern",
        ] {
            if filled(key) {
                return Err(bad(format!("\"{key}\" is set, which is not supported")));
            }
        }
        let number = |key: &str| {
            let value = config.get(key).and_then(Value::as_f64);
            value.ok_or_else(|| bad(format!("no number \"{key}\"")))
        };
        let (rank, alpha) = (number("r")?, number("lora_alpha")?);
        let scale = match filled("use_rslora") {
            true => alpha / rank.sqrt(),
            false => alpha / rank,
        };
        Ok(Self {
            scale: scale as f32,
            layers: layers(&folder.join(WEIGHTS))?,
        })
    }
}

fn layers(path: &Path) -> Result<BTreeMap<String, Product>, TrainError> {
    let bytes = std::fs::read(path).map_err(TrainError::file(path))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| TrainError::content(path, e))?;
    let mut layers = BTreeMap::new();
    let read = |name: &str| -> Result<(Vec<usize>, Vec<f32>), TrainError> {
        let view = tensors
            .tensor(name)
            .map_err(|e| TrainError::content(path, e))?;
        let dims = view.shape().to_vec();
        let mut values = vec![0.0; dims.iter().product()];
        read_tensor(path, name, &view, &dims, &mut values)?;
        Ok((dims, values))
    };
    for name in tensors.names() {
        if name.ends_with(".lora_B.weight") {
            continue;
        }
        let Some(layer) = name.strip_suffix(".lora_A.weight") else {
            let problem = format!("the tensor {name} is neither lora_A nor lora_B of a layer");
            return Err(TrainError::content(path, problem));
        };
        let (down, up) = (read(name)?, read(&format!("{layer}.lora_B.weight"))?);
        let ([rank, _], [_, same]) = (down.0.as_slice(), up.0.as_slice()) else {
            return Err(TrainError::content(
                path,
                format!("{layer}: expected matrices"),
            ));
        };
        if rank != same {
            let problem = format!("{layer}: ranks {rank} and {same} differ");
            return Err(TrainError::content(path, problem));
        }
        let layer = layer.strip_prefix("base_model.model.").unwrap_or(layer);
        let product = Product {
            rank: *rank,
            down: down.1,
            up: up.1,
        };
        layers.insert(layer.to_owned(), product);
    }
    Ok(layers)
}

/// The tensor of a checkpoint that an adapter's layer means, whatever prefix the file has.
fn tensor_of(checkpoint: &Checkpoint, a: &Architecture, layer: &str) -> Option<String> {
    let usual = a.names.prefixes.first().map_or("", |(body, _)| *body);
    let bare = layer.strip_prefix(usual);
    let others = a
        .names
        .prefixes
        .iter()
        .filter_map(|(body, _)| Some(format!("{body}{}.weight", bare?)));
    std::iter::once(format!("{layer}.weight"))
        .chain(others)
        .find(|name| checkpoint.info(name).is_some())
}

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
    let fail = |e: mary_contract::ModelError| TrainError::content(model, e);
    let checkpoint = Checkpoint::open(model).map_err(fail)?;
    let architecture = Architecture::resolve(checkpoint.config()).map_err(fail)?;
    let Products { scale, layers } = Products::read(adapter)?;
    let mut added = BTreeMap::new();
    for (layer, product) in layers {
        let name = tensor_of(&checkpoint, &architecture, &layer).ok_or_else(|| {
            let problem = format!("the adapter changes {layer}, which this model does not have");
            TrainError::content(adapter, problem)
        })?;
        added.insert(name, product);
    }
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
    let mut writer = Writer::new(storage);
    for name in checkpoint.tensor_names() {
        let Some(info) = checkpoint.info(name) else {
            continue;
        };
        let mut values = checkpoint.read_f32(name).map_err(fail)?;
        if let Some(product) = added.get(name) {
            let turned = architecture.names.transposed;
            fold(product, (name, &info.shape), turned, scale, &mut values)
                .map_err(|problem| TrainError::content(adapter, problem))?;
        }
        writer.add(name, &info.shape, &values);
    }
    writer.write(&out.join("model.safetensors"))?;
    provenance.write(out)
}

/// Adds `scale · B A` to a matrix, or its transpose where the matrix is stored so.
fn fold(
    product: &Product,
    (name, shape): (&str, &[usize]),
    turned: bool,
    scale: f32,
    values: &mut [f32],
) -> Result<(), String> {
    let rank = product.rank;
    let (inputs, outputs) = (
        product.down.len() / rank.max(1),
        product.up.len() / rank.max(1),
    );
    let fits = match turned {
        true => shape == [inputs, outputs],
        false => shape == [outputs, inputs],
    };
    if !fits {
        return Err(format!(
            "the adapter of {name} maps {inputs} numbers to {outputs}, the matrix has shape {shape:?}"
        ));
    }
    if turned {
        crate::net::add_product_turned(
            (inputs, rank, outputs),
            (&product.down, &product.up),
            scale,
            values,
        );
    } else {
        crate::net::add_product(
            (outputs, rank, inputs),
            (&product.up, &product.down),
            scale,
            values,
        );
    }
    Ok(())
}

//! Folding an adapter into its base model: every tensor of the checkpoint is kept, those that the adapter
//! names get its product added. Names decide, so this works for every architecture and for adapters that
//! PEFT made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mary_weights::architecture::Architecture;
use mary_weights::{Additions, Checkpoint, RawBytes};
use safetensors::SafeTensors;
use serde_json::Value;

use super::adapter::{CONFIG, WEIGHTS, rank_and_alpha};
use super::progress::LOG;
use crate::hf::{Storage, Writer, read_json, read_tensor, remove, write_whole};
use crate::net::matmul::{Unit, View};
use crate::provenance::{self, MERGED_GGUF, MergedProvenance};
use crate::{Result, TrainError};

/// The file that shows a model in Hugging Face's layout.
const CONFIG_JSON: &str = "config.json";

/// Files beside the weights that a merged model keeps.
const SIDECARS: &str = "tokenizer.json tokenizer.model tokenizer_config.json special_tokens_map.json added_tokens.json vocab.json \
    merges.txt chat_template.jinja generation_config.json preprocessor_config.json";

struct Product {
    rank: usize,
    down: Vec<f32>,
    up: Vec<f32>,
}

/// What an adapter adds: its scale, and its matrices by the name of the layer.
fn read(folder: &Path) -> Result<(f32, BTreeMap<String, Product>)> {
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
    let (rank, alpha) = rank_and_alpha(&config).map_err(bad)?;
    let scale = match filled("use_rslora") {
        true => alpha / (rank as f64).sqrt(),
        false => alpha / rank as f64,
    };
    let layers = layers(&folder.join(WEIGHTS))?;
    if let Some((name, other)) = layers.iter().find(|(_, l)| l.rank != rank) {
        let found = other.rank;
        return Err(bad(format!(
            "\"r\": expected the rank of the matrices, which is {found} in {name}, found {rank}"
        )));
    }
    Ok((scale as f32, layers))
}

fn layers(path: &Path) -> Result<BTreeMap<String, Product>> {
    let bytes = RawBytes::of_file(path).map_err(TrainError::file(path))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| TrainError::content(path, e))?;
    let mut layers = BTreeMap::new();
    let read = |name: &str| -> Result<(Vec<usize>, Vec<f32>)> {
        let view = tensors
            .tensor(name)
            .map_err(|e| TrainError::content(path, e))?;
        Ok((view.shape().to_vec(), read_tensor(path, name, &view)?))
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
/// made from and how it was learned. A base in Hugging Face's layout is stored as `storage` says; of a
/// GGUF file only the matrices that the adapter changes are stored anew, in 32 bits.
pub fn merge(model: &Path, adapter: &Path, out: &Path, storage: Storage) -> Result<()> {
    let fail = |e: mary_contract::ModelError| TrainError::content(model, e);
    let checkpoint = Checkpoint::open(model).map_err(fail)?;
    // Before its files are hashed: what is no adapter is not read to its end.
    let changes = Changes::read(&checkpoint, model, adapter)?;
    let planned = MergedProvenance::planned(model, adapter, storage)?;
    let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(model, out)
        || model
            .parent()
            .is_some_and(|p| model.is_file() && same(p, out))
    {
        return Err(TrainError::Settings(format!(
            "{}: a merged model cannot be written over its base; name another folder",
            out.display()
        )));
    }
    // What shows that a model is here goes first and comes last: whoever is killed in between leaves a
    // folder that holds none, never one of unknown origin.
    for sign in [CONFIG_JSON, MERGED_GGUF] {
        remove(&out.join(sign))?;
    }
    provenance::forget(out)?;
    std::fs::create_dir_all(out).map_err(TrainError::file(out))?;
    // The learning curve goes with the model, so that a report of its answers can show it.
    let (curve, carried) = (adapter.join(LOG), out.join(LOG));
    match curve.exists() {
        true => carry(&curve, &carried)?,
        false => remove(&carried)?,
    }
    if checkpoint.is_gguf() {
        provenance::write(out, &planned)?;
        let file = out.join(MERGED_GGUF);
        return checkpoint.rewrite_gguf(&file, &changes).map_err(fail);
    }
    write_weights((&checkpoint, model), &changes, out, storage)?;
    provenance::write(out, &planned)?;
    let mut config = read_json(&model.join(CONFIG_JSON))?;
    for key in ["torch_dtype", "dtype"] {
        if let Some(value) = config.get_mut(key) {
            *value = Value::from(storage.name());
        }
    }
    write_whole(&out.join(CONFIG_JSON), format!("{config:#}\n").as_bytes())
}

/// What `mary run` opens of a folder that [`merge`] wrote: the folder, or the GGUF file in it.
pub fn merged_model(folder: &Path) -> PathBuf {
    match folder.join(MERGED_GGUF) {
        file if file.exists() => file,
        _ => folder.to_owned(),
    }
}

/// Larger than any file beside the weights.
const LARGEST_SIDECAR: u64 = 512 << 20;

fn carry(from: &Path, to: &Path) -> Result<()> {
    let bytes = mary_platform::read_plain(from, LARGEST_SIDECAR).map_err(TrainError::file(from))?;
    std::fs::write(to, bytes).map_err(TrainError::file(to))
}

/// An adapter's products by the names of the checkpoint's tensors.
struct Changes {
    scale: f32,
    /// Matrices are stored as their transposes.
    turned: bool,
    /// With the shape of the matrix.
    products: BTreeMap<String, (Product, Vec<usize>)>,
}

impl Changes {
    fn read(checkpoint: &Checkpoint, model: &Path, adapter: &Path) -> Result<Self> {
        let architecture = Architecture::resolve(checkpoint.config())
            .map_err(|e| TrainError::content(model, e))?;
        let turned = architecture.names.transposed;
        let (scale, layers) = read(adapter)?;
        let mut products = BTreeMap::new();
        for (layer, product) in layers {
            let name = tensor_of(checkpoint, &architecture, &layer).ok_or_else(|| {
                let problem =
                    format!("the adapter changes {layer}, which this model does not have");
                TrainError::content(adapter, problem)
            })?;
            let shape = checkpoint.info(&name).map(|info| info.shape.clone());
            let shape = shape.unwrap_or_default();
            product
                .check(&name, &shape, turned)
                .map_err(|problem| TrainError::content(adapter, problem))?;
            products.insert(name, (product, shape));
        }
        Ok(Self {
            scale,
            turned,
            products,
        })
    }

    /// Adds what the adapter adds to a tensor, where it adds anything.
    fn add_to(&self, name: &str, values: &mut [f32]) {
        if let Some((product, _)) = self.products.get(name) {
            product.add_to(self.turned, self.scale, values);
        }
    }
}

impl Additions for Changes {
    fn change(&self, name: &str) -> bool {
        self.products.contains_key(name)
    }

    fn numbers(&self, name: &str) -> Vec<f32> {
        let shape = self.products.get(name).map(|(_, shape)| shape.as_slice());
        let mut added = vec![0.0; shape.unwrap_or(&[0]).iter().product()];
        self.add_to(name, &mut added);
        added
    }
}

/// Writes the weights of a model in Hugging Face's layout, and what lies beside them.
fn write_weights(
    (checkpoint, model): (&Checkpoint, &Path),
    changes: &Changes,
    out: &Path,
    storage: Storage,
) -> Result<()> {
    for name in SIDECARS.split_whitespace() {
        let from = model.join(name);
        if from.exists() {
            let to = out.join(name);
            carry(&from, &to)?;
        }
    }
    let mut writer = Writer::new(storage);
    for name in checkpoint.tensor_names() {
        let Some(info) = checkpoint.info(name) else {
            continue;
        };
        let read = checkpoint.read_f32(name);
        let mut values = read.map_err(|e| TrainError::content(model, e))?;
        changes.add_to(name, &mut values);
        writer.add(name, &info.shape, &values);
    }
    writer.write(&out.join("model.safetensors"))
}

impl Product {
    fn sizes(&self) -> (usize, usize) {
        let rank = self.rank.max(1);
        (self.down.len() / rank, self.up.len() / rank)
    }

    /// Whether it fits a matrix, which may be stored as its transpose.
    fn check(&self, name: &str, shape: &[usize], turned: bool) -> Result<(), String> {
        let (inputs, outputs) = self.sizes();
        let fits = match turned {
            true => shape == [inputs, outputs],
            false => shape == [outputs, inputs],
        };
        match fits {
            true => Ok(()),
            false => Err(format!(
                "the adapter of {name} maps {inputs} numbers to {outputs}, the matrix has shape {shape:?}"
            )),
        }
    }

    /// Adds `scale · B A` to a matrix, or its transpose where the matrix is stored so.
    fn add_to(&self, turned: bool, scale: f32, values: &mut [f32]) {
        let (rank, (inputs, outputs)) = (self.rank, self.sizes());
        let (size, left, right) = match turned {
            true => {
                let (left, right) = (
                    View::transposed(&self.down, inputs),
                    View::transposed(&self.up, rank),
                );
                ((inputs, rank, outputs), left, right)
            }
            false => {
                let (left, right) = (View::rows(&self.up, rank), View::rows(&self.down, inputs));
                ((outputs, rank, inputs), left, right)
            }
        };
        let product = Unit::Vectors.product(size, left, right);
        product.scaled(scale).add_to(values, size.2);
    }
}

//! The hub's own quantised formats: GPTQ, AWQ, compressed-tensors, FP8, bitsandbytes and MXFP4 in Hugging Face folders.
//!
//! `quantization_config` says which one a folder is in, the names of its tensors which matrices are. Each becomes one
//! tensor under the name it has without quantisation, in blocks that are multiplied as they are; where there are none
//! for it, in 32 bits.

mod formats;
mod recipe;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mary_contract::ModelError;
use serde_json::Value;

use crate::folder::Weights;
use crate::mapped::Mapped;
use crate::stored::{Layout, Stored};
use crate::{TensorType, fault};
pub(crate) use recipe::Recipe;

const SUPPORTED: &str = "GPTQ (2, 3, 4 and 8 bits), AWQ (4 bits, gemm), compressed-tensors (pack-quantized with 2, 4 \
    and 8 bits, int-quantized, float-quantized, mxfp4-pack-quantized), FP8 (E4M3), bitsandbytes (NF4, FP4, INT8) and MXFP4";
const ELSE: &str = "take the checkpoint before it was quantised, or a GGUF file";

/// What is needed of `quantization_config` beside the tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Gptq {
        bits: usize,
        symmetric: bool,
        /// What the file's zero points lack.
        add: u8,
        size: Option<usize>,
    },
    Awq,
    Compressed {
        block: Option<(usize, usize)>,
    },
    Fp8 {
        block: Option<(usize, usize)>,
    },
    BitsAndBytes,
    Mxfp4,
}

/// What a folder in one of the formats comes to.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub recipes: BTreeMap<String, Recipe>,
    /// What the reader should know: that weights take more memory than the file.
    pub remark: Option<String>,
}

/// Finds the matrices of a folder that is quantised and puts them in the place of what they are made of.
pub(crate) fn translate(
    config: &Value,
    folder: &Path,
    weights: &mut Weights,
) -> Result<Packed, ModelError> {
    let own = |key: &str| config.get(key).filter(|value| value.is_object());
    let settings = own("quantization_config").or_else(|| own("compression_config"));
    let mut packed = Packed::default();
    if let Some(settings) = settings {
        let file = folder.join("config.json");
        let method = method(settings).map_err(|why| fault::bad(&file, why).hint(ELSE))?;
        packed = find(&method, weights)?;
        let all = packed.recipes.len();
        let plain = |r: &&Recipe| r.info.dtype == TensorType::F32;
        let unpacked = packed.recipes.values().filter(plain).count();
        packed.remark = (unpacked > 0).then(|| {
            let name = settings["quant_method"].as_str().unwrap_or_default();
            format!(
                "{unpacked} of its {all} {name} matrices are unpacked to 32 bits on loading, since there are no blocks \
                 for them (inputs in another order, or groups and rows that are no multiple of 32)"
            )
        });
    }
    match weights
        .tensors
        .iter()
        .find(|(name, stored)| bare(name, &packed, stored))
    {
        None => Ok(packed),
        Some((name, stored)) => {
            let file = &weights.files[stored.file].path;
            let message = format!(
                "tensor `{name}` is stored as {}, and what its numbers are multiples of is not there, or not named in \
                 config.json's quantization_config",
                stored.info.dtype
            );
            Err(fault::bad(file, message).hint(format!("supported are {SUPPORTED}; {ELSE}")))
        }
    }
}

/// Whether somebody would take the digits of a quantised matrix for its numbers.
fn bare(name: &str, packed: &Packed, stored: &Stored) -> bool {
    let digits = [
        TensorType::I8,
        TensorType::U8,
        TensorType::I16,
        TensorType::I32,
        TensorType::I64,
    ];
    let weight = ["weight", "qweight", "weight_packed"]
        .iter()
        .any(|end| name.rsplit('.').next() == Some(end));
    let whole = digits.contains(&stored.info.dtype) && stored.info.shape.len() > 1 && weight;
    !packed.recipes.contains_key(name) && (whole || stored.info.dtype == TensorType::F8E4m3)
}

fn find(method: &Method, weights: &mut Weights) -> Result<Packed, ModelError> {
    let mut parts = Parts {
        files: &weights.files,
        tensors: &weights.tensors,
        used: BTreeSet::new(),
    };
    let mut recipes = BTreeMap::new();
    for (name, stored) in &weights.tensors {
        let found = formats::find(method, name, &mut parts);
        let found =
            found.map(|found| found.and_then(|(name, recipe)| Ok((name, parts.kept(recipe)?))));
        let (own, recipe) = match found {
            None => continue,
            Some(Ok(found)) => found,
            Some(Err(why)) => {
                let file = &weights.files[stored.file].path;
                return Err(fault::bad(
                    file,
                    format!("the matrix of `{name}` cannot be read: {why}"),
                ));
            }
        };
        recipes.insert(own, recipe);
    }
    let used = parts.used;
    weights.tensors.retain(|name, _| !used.contains(name));
    for (name, recipe) in &recipes {
        let place = recipe.digits.1.clone();
        let stored = Stored {
            info: recipe.info.clone(),
            layout: Layout::Plain,
            ..place
        };
        weights.tensors.insert(name.clone(), stored);
    }
    Ok(Packed {
        recipes,
        remark: None,
    })
}

/// The tensors of a folder, of which matrices are made.
struct Parts<'a> {
    files: &'a [Mapped],
    tensors: &'a BTreeMap<String, Stored>,
    /// Those that are part of a matrix.
    used: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    fn look(&self, name: &str) -> Option<&'a Stored> {
        self.tensors.get(name)
    }

    fn take(&mut self, name: &str) -> Option<Stored> {
        let found = self.look(name)?.clone();
        self.used.insert(name.to_owned());
        Some(found)
    }

    fn need(&mut self, name: &str) -> Result<Stored, String> {
        self.take(name)
            .ok_or_else(|| format!("there is no tensor `{name}`"))
    }

    fn bytes(&self, stored: &Stored) -> Result<Cow<'a, [u8]>, String> {
        bytes_of(self.files, stored)
    }

    /// The numbers of a small tensor of whole ones.
    fn numbers(&self, stored: &Stored) -> Result<Vec<usize>, String> {
        let bytes = self.bytes(stored)?;
        if bytes.len() > 64 {
            return Err(format!(
                "a tensor of a few numbers has {} bytes",
                bytes.len()
            ));
        }
        let numbers = mary_kernels::dequant::numbers(stored.info.dtype, &bytes);
        // Shapes are below 2^24, so that they are whole as floats, too.
        let whole = |n: f32| (0.0..16_777_216.0).contains(&n).then_some(n as usize);
        let all: Option<Vec<usize>> = numbers.into_iter().map(whole).collect();
        all.ok_or_else(|| "a shape has numbers that cannot be".into())
    }

    /// A recipe whose blocks hold its matrix: of those that cannot, one for plain numbers.
    fn kept(&self, mut recipe: Recipe) -> Result<Recipe, String> {
        let (_, inputs) = recipe.shape();
        let bytes = |stored: &Stored| self.bytes(stored);
        if recipe.in_order(&bytes)? {
            recipe.groups = None;
        }
        let whole = inputs.is_multiple_of(32) && recipe.shared().is_multiple_of(32);
        if !whole || recipe.groups.is_some() {
            recipe.info.dtype = TensorType::F32;
        }
        Ok(recipe)
    }
}

/// The bytes of a tensor in row-major order.
pub(crate) fn bytes_of<'a>(files: &'a [Mapped], stored: &Stored) -> Result<Cow<'a, [u8]>, String> {
    let end = stored.start.checked_add(stored.len);
    let bytes = files.get(stored.file).zip(end);
    let bytes = bytes.and_then(|(file, end)| file.get(stored.start..end));
    let bytes = bytes.ok_or("a part of it lies outside its file")?;
    stored
        .read_raw(bytes)
        .ok_or_else(|| "a part of it is stored in an order that is not read".into())
}

/// Which format `quantization_config` names; `Err` says what is not supported.
fn method(settings: &Value) -> Result<Method, String> {
    let text = |key: &str| settings.get(key).and_then(Value::as_str);
    let unsupported = |what: String| {
        Err(format!(
            "its quantization_config names {what}; supported are {SUPPORTED}"
        ))
    };
    let yes = |key: &str| settings[key].as_bool() == Some(true);
    let (four, eight) = (yes("load_in_4bit"), yes("load_in_8bit"));
    let name = match text("quant_method").or_else(|| text("quant_type")) {
        Some(name) => name.to_lowercase(),
        // bitsandbytes' first configurations do not name it.
        None if four || eight => "bitsandbytes".to_owned(),
        None if settings.get("config_groups").is_some() => "compressed-tensors".to_owned(),
        None => return unsupported("no quant_method".into()),
    };
    let bits = settings["bits"].as_u64().or(settings["w_bit"].as_u64());
    match name.as_str() {
        "gptq" => {
            let format = text("checkpoint_format").unwrap_or("gptq");
            let add = match format {
                "gptq" => 1,
                "gptq_v2" => 0,
                other => return unsupported(format!("GPTQ in the layout {other}")),
            };
            match bits {
                Some(bits @ (2 | 3 | 4 | 8)) => Ok(Method::Gptq {
                    bits: bits as usize,
                    symmetric: settings["sym"].as_bool() == Some(true),
                    add,
                    size: settings["group_size"].as_u64().map(|n| n as usize),
                }),
                _ => unsupported(format!("GPTQ of {} bits", settings["bits"])),
            }
        }
        "awq" => match (
            bits,
            text("version").unwrap_or("gemm").to_lowercase().as_str(),
        ) {
            (Some(4), "gemm") => Ok(Method::Awq),
            (Some(4), other) => unsupported(format!("AWQ in the layout {other}")),
            _ => unsupported(format!("AWQ of {} bits", settings["bits"])),
        },
        "compressed-tensors" => compressed(settings).or_else(unsupported),
        "fp8" | "fbgemm_fp8" => match text("fmt").unwrap_or("e4m3") {
            "e4m3" => Ok(Method::Fp8 {
                block: rectangle(&settings["weight_block_size"]),
            }),
            other => unsupported(format!("FP8 of the type {other}")),
        },
        "modelopt" if text("quant_algo") == Some("FP8") => Ok(Method::Fp8 { block: None }),
        "bitsandbytes" => Ok(Method::BitsAndBytes),
        "mxfp4" => Ok(Method::Mxfp4),
        other => unsupported(other.to_owned()),
    }
}

/// Rows and columns that share a scale.
fn rectangle(value: &Value) -> Option<(usize, usize)> {
    let side = |i: usize| usize::try_from(value.get(i)?.as_u64().filter(|n| *n > 0)?).ok();
    side(0).zip(side(1))
}

/// compressed-tensors; `Err` is what is not supported.
fn compressed(settings: &Value) -> Result<Method, String> {
    let known = [
        "pack-quantized",
        "int-quantized",
        "float-quantized",
        "naive-quantized",
        "mxfp4-pack-quantized",
        "mixed-precision",
        "dense",
    ];
    let name = |value: &Value| value.as_str().map(str::to_owned);
    let none = serde_json::Map::new();
    let groups = settings["config_groups"].as_object().unwrap_or(&none);
    let formats = groups.values().filter_map(|group| name(&group["format"]));
    for format in formats.chain(name(&settings["format"])) {
        if !known.contains(&format.as_str()) {
            return Err(format!("compressed-tensors in the format {format}"));
        }
    }
    if let Some(sparse) = name(&settings["sparsity_config"]["format"]).filter(|f| f != "dense") {
        return Err(format!("compressed-tensors with the sparsity {sparse}"));
    }
    // Rotations are part of the model's arithmetic.
    if settings["transform_config"]["config_groups"]
        .as_object()
        .is_some_and(|g| !g.is_empty())
    {
        return Err("compressed-tensors with transforms".into());
    }
    let structure = |group: &Value| rectangle(&group["weights"]["block_structure"]);
    Ok(Method::Compressed {
        block: groups.values().find_map(structure),
    })
}

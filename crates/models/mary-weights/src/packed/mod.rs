//! The hub's own quantised formats: GPTQ, AWQ, compressed-tensors, FP8, bitsandbytes, MXFP4 and NVFP4 in Hugging Face folders.
//!
//! `quantization_config` says which one a folder is in, the names of its tensors which matrices are. Each becomes one
//! tensor under the name it has without quantisation, in blocks that are multiplied as they are; where there are none
//! for it, in 32 bits.

mod formats;
mod recipe;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::fault::Result;
use crate::folder::Weights;
use crate::mapped::Mapped;
use crate::stored::{Layout, Stored};
use crate::{TensorType, fault};
pub(crate) use recipe::Recipe;

const SUPPORTED: &str = "GPTQ (2, 3, 4 and 8 bits), AWQ (4 bits, gemm), compressed-tensors (pack-quantized with 2, 4 \
    and 8 bits, int-quantized, float-quantized, mxfp4- and nvfp4-pack-quantized), FP8 (E4M3), bitsandbytes (NF4, FP4, INT8), MXFP4 and NVFP4";
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
    /// FP8, NVFP4 and compressed-tensors; rows and columns that share a scale, where rectangles do.
    Bytes {
        block: Option<(usize, usize)>,
    },
    BitsAndBytes,
    Mxfp4,
}

/// What a folder in one of the formats comes to.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub recipes: Recipes,
    /// What the reader should know: that weights take more memory than the file.
    pub remark: Option<String>,
}

/// Finds the matrices of a folder that is quantised and puts them in the place of what they are made of.
pub(crate) fn translate(config: &Value, folder: &Path, weights: &mut Weights) -> Result<Packed> {
    let own = |key: &str| config.get(key).filter(|value| value.is_object());
    let settings = own("quantization_config").or_else(|| own("compression_config"));
    let mut packed = Packed::default();
    if let Some(settings) = settings {
        let file = folder.join("config.json");
        let method = method(settings).map_err(|why| fault::bad(&file, why).hint(ELSE))?;
        packed.recipes = find(&method, weights)?;
        let plain = |r: &&Recipe| r.info.dtype == TensorType::F32;
        let unpacked = packed.recipes.values().filter(plain).count();
        packed.remark = (unpacked > 0).then(|| {
            let name = settings["quant_method"].as_str().unwrap_or_default();
            let all = packed.recipes.len();
            format!(
                "{unpacked} of its {all} {name} matrices are unpacked to 32 bits on loading, since there are no blocks \
                 for them (inputs in another order, or groups and rows that are no multiple of 32)"
            )
        });
    }
    let mut digits = weights.tensors.iter();
    let Some((name, stored)) = digits.find(|(name, stored)| bare(name, &packed, stored)) else {
        return Ok(packed);
    };
    let message = format!(
        "tensor `{name}` is stored as {}, and what its numbers are multiples of is not there, or not named in \
         config.json's quantization_config",
        stored.info.dtype
    );
    let hint = format!("supported are {SUPPORTED}; {ELSE}");
    Err(fault::bad(&weights.files[stored.file].path, message).hint(hint))
}

/// Whether somebody would take the digits of a quantised matrix for its numbers.
fn bare(name: &str, packed: &Packed, stored: &Stored) -> bool {
    use TensorType::{BF16, F8E4m3, F16, F32, F64};
    let own = name.rsplit('.').next().unwrap_or_default();
    let weight = ["weight", "qweight", "weight_packed"].contains(&own);
    let whole = weight
        && stored.info.shape.len() > 1
        && ![F32, F16, BF16, F64].contains(&stored.info.dtype);
    !packed.recipes.contains_key(name) && (whole || stored.info.dtype == F8E4m3)
}

type Recipes = BTreeMap<String, Recipe>;

fn find(method: &Method, weights: &mut Weights) -> Result<Recipes> {
    let mut parts = Parts {
        files: &weights.files,
        tensors: &weights.tensors,
        used: BTreeSet::new(),
    };
    let mut recipes = Recipes::new();
    for (name, stored) in &weights.tensors {
        let Some((own, made)) = formats::find(method, name, &mut parts) else {
            continue;
        };
        let kept = made.and_then(|recipe| parts.kept(recipe)).map_err(|why| {
            let message = format!("the matrix of `{name}` cannot be read: {why}");
            fault::bad(&weights.files[stored.file].path, message)
        })?;
        recipes.insert(own, kept);
    }
    let used = parts.used;
    weights.tensors.retain(|name, _| !used.contains(name));
    for (name, recipe) in &recipes {
        let stored = Stored {
            info: recipe.info.clone(),
            layout: Layout::Plain,
            ..recipe.digits.1
        };
        weights.tensors.insert(name.clone(), stored);
    }
    Ok(recipes)
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

    /// A tensor that must be there, in one of these types.
    fn need(&mut self, name: &str, types: &[TensorType]) -> Result<Stored, String> {
        match self.take(name) {
            None => Err(format!("there is no tensor `{name}`")),
            Some(found) if types.contains(&found.info.dtype) => Ok(found),
            Some(found) => Err(format!("`{name}` must not be {}", found.info.dtype)),
        }
    }

    /// Whether a tensor that is there has this shape.
    fn same(&self, name: &str, wanted: &[usize]) -> Result<(), String> {
        match self.look(name).map(|stored| stored.info.shape.as_slice()) {
            Some(found) if found != wanted => {
                Err(format!("`{name}` has shape {found:?}, not {wanted:?}"))
            }
            _ => Ok(()),
        }
    }

    /// The groups of the inputs, where they are named.
    fn order(&mut self, name: &str, inputs: usize) -> Result<Option<Stored>, String> {
        if self.look(name).is_none() {
            return Ok(None);
        }
        self.same(name, &[inputs])?;
        self.need(name, &[TensorType::I32]).map(Some)
    }

    fn bytes(&self, stored: &Stored) -> Result<Cow<'a, [u8]>, String> {
        bytes_of(self.files, stored)
    }

    /// The numbers of a small tensor of whole ones.
    fn numbers(&self, stored: &Stored) -> Result<Vec<usize>, String> {
        let bytes = self.bytes(stored)?;
        // As many as are needed are enough to see that there are too many.
        let few = &bytes[..bytes.len().min(64)];
        let numbers = mary_kernels::dequant::numbers(stored.info.dtype, few);
        // Shapes are below 2^24, so that they are whole as floats, too.
        let whole = |n: f32| (0.0..16_777_216.0).contains(&n).then_some(n as usize);
        let all: Option<Vec<usize>> = numbers.into_iter().map(whole).collect();
        all.ok_or_else(|| "a shape has numbers that cannot be".into())
    }

    /// A recipe whose blocks hold its matrix: of those that cannot, one for plain numbers.
    fn kept(&self, mut recipe: Recipe) -> Result<Recipe, String> {
        if recipe.in_order(&|stored| self.bytes(stored))? {
            recipe.groups = None;
        }
        let (columns, inputs) = (recipe.place.columns, recipe.rows.1);
        let last = recipe.info.shape.last().copied().unwrap_or(0);
        let halves = recipe.info.dtype == TensorType::Nvfp4;
        let shared = if columns < inputs && !halves {
            columns
        } else {
            32
        };
        let whole = [last, inputs, shared].iter().all(|n| n.is_multiple_of(32));
        match (whole && recipe.groups.is_none(), recipe.info.dtype) {
            (true, _) => {}
            (_, TensorType::Mxfp4) => return Err("its rows are no whole blocks".into()),
            _ => recipe.info.dtype = TensorType::F32,
        }
        Ok(recipe)
    }
}

/// The bytes of a tensor in row-major order.
pub(crate) fn bytes_of<'a>(files: &'a [Mapped], stored: &Stored) -> Result<Cow<'a, [u8]>, String> {
    let end = stored.start.checked_add(stored.len);
    let bytes = files.get(stored.file).zip(end);
    let bytes = bytes.and_then(|(file, end)| file.get(stored.start..end));
    let read = bytes.and_then(|bytes| stored.read_raw(bytes));
    read.ok_or_else(|| "a part of it lies outside its file".into())
}

/// Which format `quantization_config` names; `Err` says what is not supported.
fn method(settings: &Value) -> Result<Method, String> {
    let text = |key: &str| settings.get(key).and_then(Value::as_str);
    let unsupported = |what: String| {
        Err(format!(
            "its quantization_config names {what}; supported are {SUPPORTED}"
        ))
    };
    let has = |key: &str| settings.get(key).is_some();
    let name = match text("quant_method") {
        Some(name) => name,
        // The first configurations of these two do not name them.
        None if has("load_in_4bit") || has("load_in_8bit") => "bitsandbytes",
        None if has("config_groups") => "compressed-tensors",
        None => return unsupported("no quant_method".into()),
    };
    let bits = settings["bits"].as_u64();
    match name {
        "gptq" => {
            let add = match text("checkpoint_format").unwrap_or("gptq") {
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
        "awq" => match (bits, text("version").unwrap_or("gemm")) {
            (Some(4), "gemm" | "GEMM") => Ok(Method::Awq),
            (Some(4), other) => unsupported(format!("AWQ in the layout {other}")),
            _ => unsupported(format!("AWQ of {} bits", settings["bits"])),
        },
        "compressed-tensors" => compressed(settings).or_else(unsupported),
        "fp8" | "fbgemm_fp8" => match text("fmt").unwrap_or("e4m3") {
            "e4m3" => Ok(Method::Bytes {
                block: rectangle(&settings["weight_block_size"]),
            }),
            other => unsupported(format!("FP8 of the type {other}")),
        },
        "modelopt" if matches!(text("quant_algo"), Some("FP8" | "NVFP4")) => {
            Ok(Method::Bytes { block: None })
        }
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
    let known = "pack-quantized int-quantized float-quantized naive-quantized mxfp4-pack-quantized nvfp4-pack-quantized \
        mixed-precision dense";
    let name = |value: &Value| value.as_str().map(str::to_owned);
    let none = serde_json::Map::new();
    let groups = settings["config_groups"].as_object().unwrap_or(&none);
    let formats = groups.values().filter_map(|group| name(&group["format"]));
    for format in formats.chain(name(&settings["format"])) {
        if !known.split(' ').any(|known| known == format) {
            return Err(format!("compressed-tensors in the format {format}"));
        }
    }
    if let Some(sparse) = name(&settings["sparsity_config"]["format"]).filter(|f| f != "dense") {
        return Err(format!("compressed-tensors with the sparsity {sparse}"));
    }
    // Rotations are part of the model's arithmetic.
    let turned = settings["transform_config"]["config_groups"].as_object();
    if turned.is_some_and(|groups| !groups.is_empty()) {
        return Err("compressed-tensors with transforms".into());
    }
    let structure = |group: &Value| rectangle(&group["weights"]["block_structure"]);
    Ok(Method::Bytes {
        block: groups.values().find_map(structure),
    })
}

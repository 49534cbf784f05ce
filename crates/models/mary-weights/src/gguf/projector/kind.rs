//! The projectors that are known: what each file says of its tower, and how pictures are prepared for it.

use serde_json::{Map, Value, json};

use super::Source;
use super::names::swapped;

/// A projector, by the name that llama.cpp gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Llava,
    /// The same name in files; tiles and a row at the end of each line tell it apart.
    LlavaNext,
    Idefics3,
    Gemma3,
    Qwen2,
    Qwen25,
}

pub(super) const KNOWN: &str = "mlp (LLaVA 1.5 and 1.6), idefics3 (Idefics3, SmolVLM), gemma3, qwen2vl_merger, \
     qwen2.5vl_merger";

type Object = Map<String, Value>;

impl Kind {
    pub fn named(name: &str) -> Result<Self, String> {
        Ok(match name {
            "mlp" => Self::Llava,
            "idefics3" => Self::Idefics3,
            "gemma3" => Self::Gemma3,
            "qwen2vl_merger" => Self::Qwen2,
            "qwen2.5vl_merger" => Self::Qwen25,
            other => return Err(format!("has the projector `{other}`, which is not run")),
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Llava | Self::LlavaNext => "mlp",
            Self::Idefics3 => "idefics3",
            Self::Gemma3 => "gemma3",
            Self::Qwen2 => "qwen2vl_merger",
            Self::Qwen25 => "qwen2.5vl_merger",
        }
    }

    /// The type of the only language model that it goes with: one that rotates by places, or that lets
    /// the rows of a picture see one another.
    pub fn text(self) -> Option<&'static str> {
        match self {
            Self::Gemma3 => Some("gemma3_text"),
            Self::Qwen2 | Self::Qwen25 => Some("qwen2_vl_text"),
            _ => None,
        }
    }

    /// The token whose places a picture takes. A vocabulary may lack it: it has no vector of its own.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Gemma3 => "<image_soft_token>",
            Self::Qwen2 | Self::Qwen25 => "<|image_pad|>",
            _ => "<image>",
        }
    }

    /// Words that stand around a picture.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Llava | Self::LlavaNext => &[],
            Self::Idefics3 => &["<fake_token_around_image>", "<global-img>"],
            Self::Gemma3 => &["<start_of_image>", "<end_of_image>"],
            Self::Qwen2 | Self::Qwen25 => &["<|vision_start|>", "<|vision_end|>"],
        }
    }

    /// The fields of `config.json` without the language model's.
    pub fn config(self, source: &Source<'_>) -> Result<Object, String> {
        let config = match self {
            Self::Llava | Self::LlavaNext => llava(source, self == Self::LlavaNext)?,
            Self::Idefics3 => json!({
                "model_type": "idefics3",
                "architectures": ["Idefics3ForConditionalGeneration"],
                "vision_config": siglip(source)?,
                "scale_factor": source.optional("projector.scale_factor")?.unwrap_or(2),
            }),
            Self::Gemma3 => gemma3(source)?,
            Self::Qwen2 | Self::Qwen25 => qwen(source, self == Self::Qwen25)?,
        };
        match config {
            Value::Object(config) => Ok(config),
            _ => Ok(Object::new()),
        }
    }

    /// As in `preprocessor_config.json`.
    pub fn processor(self, source: &Source<'_>) -> Result<Value, String> {
        let side = source.size("image_size")?;
        let square = json!({"height": side, "width": side});
        let mut processor = match self {
            // The original LLaVA pads a picture to a square of the mean colour, and makes that small.
            Self::Llava => json!({
                "image_processor_type": "LlavaImageProcessor",
                "do_pad": true,
                "size": {"shortest_edge": side},
                "crop_size": square,
            }),
            Self::LlavaNext => json!({
                "image_processor_type": "LlavaNextImageProcessor",
                "size": {"shortest_edge": side},
                "crop_size": square,
                "image_grid_pinpoints": pinpoints(source)?,
            }),
            // Files from before the key have towers whose folders name four sides.
            Self::Idefics3 => json!({
                "image_processor_type": "Idefics3ImageProcessor",
                "size": {"longest_edge": source.optional("preproc_image_size")?.unwrap_or(4 * side)},
                "max_image_size": {"longest_edge": side},
            }),
            Self::Gemma3 => json!({
                "image_processor_type": "Gemma3ImageProcessor",
                "size": square,
            }),
            // Limits as in the folders of the released models, which converters leave out.
            Self::Qwen2 | Self::Qwen25 => json!({
                "image_processor_type": "Qwen2VLImageProcessor",
                "patch_size": source.size("patch_size")?,
                "merge_size": merge(source)?,
                "temporal_patch_size": FRAMES,
                "min_pixels": source.optional("image_min_pixels")?.unwrap_or(56 * 56),
                "max_pixels": source.optional("image_max_pixels")?.unwrap_or(28 * 28 * 16_384),
            }),
        };
        for name in ["image_mean", "image_std"] {
            if let Some(three) = source.metadata.floats(&format!("clip.vision.{name}")) {
                processor[name] = json!(three);
            }
        }
        Ok(processor)
    }
}

/// Frames of a patch in Qwen2-VL; the converter refuses any other number.
const FRAMES: i64 = 2;

fn tower(source: &Source<'_>) -> Result<Value, String> {
    let mut config = json!({
        "hidden_size": source.size("embedding_length")?,
        "intermediate_size": source.size("feed_forward_length")?,
        "num_hidden_layers": source.size("block_count")?,
        "num_attention_heads": source.size("attention.head_count")?,
        "image_size": source.size("image_size")?,
        "patch_size": source.size("patch_size")?,
    });
    let epsilon = "clip.vision.attention.layer_norm_epsilon";
    if let Some(epsilon) = source.metadata.float(epsilon) {
        config["layer_norm_eps"] = json!(epsilon);
    }
    Ok(config)
}

/// The tower of Idefics3 and Gemma 3. `use_gelu` means the approximation here, as llama.cpp computes it
/// and as both families have it.
fn siglip(source: &Source<'_>) -> Result<Value, String> {
    let mut config = tower(source)?;
    config["model_type"] = json!("siglip_vision_model");
    config["hidden_act"] = json!(match () {
        () if source.flag("use_silu") => "silu",
        () if source.flag("use_gelu") => "gelu_pytorch_tanh",
        () => "quick_gelu",
    });
    Ok(config)
}

/// LLaVA reads the states before the last block, which the converter leaves out: all blocks of the file are
/// run, unless it names a layer.
fn llava(source: &Source<'_>, tiles: bool) -> Result<Value, String> {
    let class = source.tensors.contains_key("v.class_embd");
    let mut vision = tower(source)?;
    vision["model_type"] = json!(if class {
        "clip_vision_model"
    } else {
        "siglip_vision_model"
    });
    // The converter of LLaVA writes `use_gelu` for the exact function only.
    vision["hidden_act"] = json!(match () {
        () if source.flag("use_silu") => "silu",
        () if source.flag("use_gelu") => "gelu",
        () => "quick_gelu",
    });
    let named = source.metadata.integers("clip.vision.feature_layer");
    let layer = match named.as_deref() {
        None => source.size("block_count")?,
        Some(&[layer]) => layer,
        Some(several) => {
            return Err(format!(
                "has the projector `mlp` over several layers of its tower ({several:?}), which is not run"
            ));
        }
    };
    let (kind, class) = match tiles {
        true => ("llava_next", "LlavaNextForConditionalGeneration"),
        false => ("llava", "LlavaForConditionalGeneration"),
    };
    Ok(json!({
        "model_type": kind,
        "architectures": [class],
        "vision_config": vision,
        "vision_feature_layer": layer,
        "vision_feature_select_strategy": "default",
    }))
}

/// Heights and widths of the areas that tiles may fill, in the order in which transformers reads the same
/// numbers.
fn pinpoints(source: &Source<'_>) -> Result<Vec<[i64; 2]>, String> {
    let key = "clip.vision.image_grid_pinpoints";
    let flat = source.metadata.integers(key).unwrap_or_default();
    let (pairs, rest) = flat.as_chunks::<2>();
    match pairs.is_empty() || !rest.is_empty() {
        true => Err(format!(
            "has the projector `mlp` with tiles (LLaVA 1.6), but metadata `{key}` holds {} numbers",
            flat.len()
        )),
        false => Ok(pairs.to_vec()),
    }
}

fn gemma3(source: &Source<'_>) -> Result<Value, String> {
    let patches = source.size("image_size")? / source.size("patch_size")?;
    let scale = source.optional("projector.scale_factor")?.unwrap_or(4);
    let side = patches / scale;
    Ok(json!({
        "model_type": "gemma3",
        "architectures": ["Gemma3ForConditionalGeneration"],
        "vision_config": siglip(source)?,
        "mm_tokens_per_image": side * side,
    }))
}

/// So many by so many patches become one row: said, or seen from the width of the first layer.
fn merge(source: &Source<'_>) -> Result<i64, String> {
    if let Some(said) = source.optional("spatial_merge_size")? {
        return Ok(said);
    }
    let wide = source.dimension("mm.0.weight", 1)?;
    let square = wide / source.size("embedding_length")?;
    match square.isqrt() {
        side if side > 0 && side * side == square => Ok(side),
        _ => Err(format!(
            "its tensor `mm.0.weight` reads {square} patches, which are no square"
        )),
    }
}

fn qwen(source: &Source<'_>, five: bool) -> Result<Value, String> {
    let layers = source.size("block_count")?;
    let up = if swapped(source.tensors) {
        "ffn_down"
    } else {
        "ffn_up"
    };
    let hidden = source.size("embedding_length")?;
    let mut vision = json!({
        "depth": layers,
        "embed_dim": hidden,
        "hidden_size": hidden,
        "num_heads": source.size("attention.head_count")?,
        // The metadata holds the language model's width for Qwen2-VL, and nothing in older files.
        "intermediate_size": source.dimension(&format!("v.blk.0.{up}.weight"), 0)?,
        "patch_size": source.size("patch_size")?,
        "temporal_patch_size": FRAMES,
        "spatial_merge_size": merge(source)?,
        "hidden_act": match () {
            () if source.flag("use_silu") => "silu",
            () if source.flag("use_gelu") => "gelu",
            () => "quick_gelu",
        },
        "separate_qkv": source.tensors.contains_key("v.blk.0.attn_q.weight"),
    });
    if five {
        // Every so many layers one sees beyond its window.
        let every = source.size("n_wa_pattern")?;
        let whole = (1..=layers.min(1 << 16)).filter(|n| n % every == 0);
        vision["fullatt_block_indexes"] = whole.map(|n| n - 1).collect();
        vision["window_size"] = json!(source.optional("window_size")?.unwrap_or(112));
    }
    let (kind, class) = match five {
        true => ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"),
        false => ("qwen2_vl", "Qwen2VLForConditionalGeneration"),
    };
    Ok(json!({
        "model_type": kind,
        "architectures": [class],
        "vision_config": vision,
    }))
}

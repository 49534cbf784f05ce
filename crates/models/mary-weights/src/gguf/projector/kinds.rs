//! The projectors that are known: what each file says of its tower, and how pictures are prepared for it.

use serde_json::{Value, json};

use super::ProjectorSource;

/// The row at the end of each line of tiles (LLaVA 1.6).
pub(super) const NEWLINE: &str = "model.image_newline";

/// A projector, by the name that llama.cpp gives it.
pub(super) struct ProjectorKind {
    pub name: &'static str,
    /// The type of the only language model that it goes with: one that rotates by places, or that lets
    /// the rows of a picture see one another.
    pub text: Option<&'static str>,
    /// The token whose places a picture takes. A vocabulary may lack it: it has no vector of its own.
    pub placeholder: &'static str,
    /// Words that stand around a picture.
    pub words: &'static [&'static str],
    /// The fields of `config.json` without the language model's.
    pub config: fn(&ProjectorSource<'_>) -> Result<Value, String>,
    /// As in `preprocessor_config.json`; the second argument is the side of a picture.
    processor: fn(&ProjectorSource<'_>, i64) -> Result<Value, String>,
    /// Its entry in `names.json`.
    pub names: &'static str,
}

pub(super) const KNOWN: &str = "mlp (LLaVA 1.5 and 1.6), idefics3 (Idefics3, SmolVLM), gemma3, qwen2vl_merger, \
     qwen2.5vl_merger";

pub(super) static LLAVA: ProjectorKind = ProjectorKind {
    name: "mlp",
    text: None,
    placeholder: "<image>",
    words: &[],
    config: |source| llava(source, ("llava", "LlavaForConditionalGeneration")),
    // The original LLaVA pads a picture to a square of the mean colour, and makes that small.
    processor: |_, side| {
        Ok(json!({
            "image_processor_type": "LlavaImageProcessor",
            "do_pad": true,
            "size": {"shortest_edge": side},
            "crop_size": {"height": side, "width": side},
        }))
    },
    names: "llava",
};

/// The same name in files; tiles and a row at the end of each line tell it apart.
static LLAVA_NEXT: ProjectorKind = ProjectorKind {
    config: |source| llava(source, ("llava_next", "LlavaNextForConditionalGeneration")),
    processor: |source, side| {
        Ok(json!({
            "image_processor_type": "LlavaNextImageProcessor",
            "size": {"shortest_edge": side},
            "crop_size": {"height": side, "width": side},
            "image_grid_pinpoints": pinpoints(source)?,
        }))
    },
    names: "llava_next",
    ..LLAVA
};

pub(super) static IDEFICS3: ProjectorKind = ProjectorKind {
    name: "idefics3",
    words: &["<fake_token_around_image>", "<global-img>"],
    config: |source| {
        Ok(json!({
            "model_type": "idefics3",
            "architectures": ["Idefics3ForConditionalGeneration"],
            "vision_config": siglip(source)?,
            "scale_factor": source.optional("projector.scale_factor")?.unwrap_or(2),
        }))
    },
    // Files from before the key have towers whose folders name four sides.
    processor: |source, side| {
        let longest = source.optional("preproc_image_size")?.unwrap_or(4 * side);
        Ok(json!({
            "image_processor_type": "Idefics3ImageProcessor",
            "size": {"longest_edge": longest},
            "max_image_size": {"longest_edge": side},
        }))
    },
    names: "idefics3",
    ..LLAVA
};

pub(super) static GEMMA3: ProjectorKind = ProjectorKind {
    name: "gemma3",
    text: Some("gemma3_text"),
    placeholder: "<image_soft_token>",
    words: &["<start_of_image>", "<end_of_image>"],
    config: gemma3,
    processor: |_, side| {
        Ok(json!({
            "image_processor_type": "Gemma3ImageProcessor",
            "size": {"height": side, "width": side},
        }))
    },
    names: "gemma3",
};

/// The converter adds one to the norm of Gemma's projector, as to all norms of its language model.
pub(super) const GEMMA_NORM: &str = "mm.soft_emb_norm.weight";

pub(super) static QWEN2: ProjectorKind = ProjectorKind {
    name: "qwen2vl_merger",
    text: Some("qwen2_vl_text"),
    placeholder: "<|image_pad|>",
    words: &["<|vision_start|>", "<|vision_end|>"],
    config: |source| qwen(source, ("qwen2_vl", "Qwen2VLForConditionalGeneration")),
    // Limits as in the folders of the released models, which converters leave out.
    processor: |source, _| {
        Ok(json!({
            "image_processor_type": "Qwen2VLImageProcessor",
            "patch_size": source.size("patch_size")?,
            "merge_size": merge(source)?,
            "temporal_patch_size": FRAMES,
            "min_pixels": source.optional("image_min_pixels")?.unwrap_or(56 * 56),
            "max_pixels": source.optional("image_max_pixels")?.unwrap_or(28 * 28 * 16_384),
        }))
    },
    names: "qwen2",
};

pub(super) static QWEN25: ProjectorKind = ProjectorKind {
    name: "qwen2.5vl_merger",
    config: |source| {
        let mut config = qwen(source, ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"))?;
        // Every so many layers one sees beyond its window.
        let every = source.size("n_wa_pattern")?;
        let layers = source.size("block_count")?.min(1 << 16);
        let whole = (1..=layers).filter(|n| n % every == 0);
        let vision = &mut config["vision_config"];
        vision["fullatt_block_indexes"] = whole.map(|n| n - 1).collect();
        vision["window_size"] = json!(source.optional("window_size")?.unwrap_or(112));
        Ok(config)
    },
    names: "qwen25",
    ..QWEN2
};

impl ProjectorKind {
    pub fn of_file(source: &ProjectorSource<'_>) -> Result<&'static Self, String> {
        let architecture = source.metadata.text("general.architecture").unwrap_or("");
        if architecture != "clip" {
            return Err(format!(
                "is of architecture `{architecture}`; a file with a tower for pictures is of architecture `clip`"
            ));
        }
        let keys = ["clip.projector_type", "clip.vision.projector_type"];
        let name = keys.iter().find_map(|key| source.metadata.text(key));
        let name = name.unwrap_or(LLAVA.name);
        let known = [&LLAVA, &IDEFICS3, &GEMMA3, &QWEN2, &QWEN25];
        let Some(kind) = known.into_iter().find(|kind| kind.name == name) else {
            return Err(format!("has the projector `{name}`, which is not run"));
        };
        if name != LLAVA.name {
            return Ok(kind);
        }
        let newline = source.tensors.contains_key(NEWLINE);
        let merged = source.metadata.text("clip.vision.mm_patch_merge_type");
        match (newline, merged) {
            (true, Some("spatial_unpad")) => Ok(&LLAVA_NEXT),
            (true, _) | (false, Some("spatial_unpad")) => Err(format!(
                "has the projector `mlp` with tiles (LLaVA 1.6), but \
                 clip.vision.mm_patch_merge_type is {merged:?} and the tensor `{NEWLINE}` is {}",
                if newline { "there" } else { "missing" },
            )),
            (false, Some(other)) if other != "flat" => Err(format!(
                "has the projector `mlp` with patches merged as `{other}`, which is not run"
            )),
            _ => Ok(kind),
        }
    }

    /// As in `preprocessor_config.json`.
    pub fn processor(&self, source: &ProjectorSource<'_>) -> Result<Value, String> {
        let mut processor = (self.processor)(source, source.size("image_size")?)?;
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

fn tower(source: &ProjectorSource<'_>) -> Result<Value, String> {
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
fn siglip(source: &ProjectorSource<'_>) -> Result<Value, String> {
    let mut config = tower(source)?;
    config["model_type"] = json!("siglip_vision_model");
    config["hidden_act"] = json!(source.activation("gelu_pytorch_tanh"));
    Ok(config)
}

/// LLaVA reads the states before the last block, which the converter leaves out: all blocks of the file are
/// run, unless it names a layer.
fn llava(source: &ProjectorSource<'_>, (model_type, class): (&str, &str)) -> Result<Value, String> {
    let mut vision = tower(source)?;
    vision["model_type"] = json!(match source.tensors.contains_key("v.class_embd") {
        true => "clip_vision_model",
        false => "siglip_vision_model",
    });
    // The converter of LLaVA writes `use_gelu` for the exact function only.
    vision["hidden_act"] = json!(source.activation("gelu"));
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
    Ok(json!({
        "model_type": model_type,
        "architectures": [class],
        "vision_config": vision,
        "vision_feature_layer": layer,
        "vision_feature_select_strategy": "default",
    }))
}

/// Heights and widths of the areas that tiles may fill, in the order in which transformers reads the same
/// numbers.
fn pinpoints(source: &ProjectorSource<'_>) -> Result<Vec<[i64; 2]>, String> {
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

fn gemma3(source: &ProjectorSource<'_>) -> Result<Value, String> {
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
fn merge(source: &ProjectorSource<'_>) -> Result<i64, String> {
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

fn qwen(source: &ProjectorSource<'_>, (model_type, class): (&str, &str)) -> Result<Value, String> {
    let up = if source.swapped() {
        "ffn_down"
    } else {
        "ffn_up"
    };
    let hidden = source.size("embedding_length")?;
    let vision = json!({
        "depth": source.size("block_count")?,
        "embed_dim": hidden,
        "hidden_size": hidden,
        "num_heads": source.size("attention.head_count")?,
        // The metadata holds the language model's width for Qwen2-VL, and nothing in older files.
        "intermediate_size": source.dimension(&format!("v.blk.0.{up}.weight"), 0)?,
        "patch_size": source.size("patch_size")?,
        "temporal_patch_size": FRAMES,
        "spatial_merge_size": merge(source)?,
        "hidden_act": source.activation("gelu"),
        "separate_qkv": source.tensors.contains_key("v.blk.0.attn_q.weight"),
    });
    Ok(json!({
        "model_type": model_type,
        "architectures": [class],
        "vision_config": vision,
    }))
}

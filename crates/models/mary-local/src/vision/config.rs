//! What a `config.json` says of a model's tower and projector.

use mary_contract::ModelError;
use serde_json::{Value, json};

use crate::config::{Architecture, Fields, QkvLayout, QkvNames, Rope, UpNames};
use crate::errors::{Result, bad_model};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Connector {
    /// LLaVA 1.5: a perceptron; `class` keeps the row that stands for the whole picture.
    Llava { class: bool },
    /// LLaVA 1.6: the same over tiles, with a row at the end of every line.
    LlavaNext { class: bool },
    /// Idefics3, SmolVLM: so many by so many rows become one.
    Idefics3 { factor: usize },
    /// Gemma 3: averaged to so many rows.
    Gemma3 { tokens: usize },
    /// Qwen2-VL and Qwen2.5-VL: so many by so many patches become one.
    Qwen { merge: usize },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TowerConfig {
    pub architecture: Architecture,
    /// Side of a patch in pixels.
    pub patch: usize,
    pub frames: usize,
    /// Sides of the grid of learned positions; none where it turns by places.
    pub side: Option<usize>,
    /// A row that stands for the whole picture comes first.
    pub class: bool,
    /// Which of three positions each rotary frequency turns by.
    pub axes: Option<Vec<u8>>,
    /// Side of a window in pixels, and the layers that see beyond it (Qwen2.5-VL).
    pub windows: Option<(usize, Vec<usize>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VisionConfig {
    pub connector: Connector,
    pub tower: TowerConfig,
    /// The token whose places pictures take.
    pub image_token: u32,
    /// The language model's rotary frequencies turn by these positions (Qwen2-VL).
    pub text_axes: Option<Vec<u8>>,
}

/// A model of two towers whose vectors meet in one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contrastive {
    Clip,
    Siglip,
}

fn wrong(what: impl std::fmt::Display) -> ModelError {
    bad_model(format!("config.json: {what}"))
}

impl Connector {
    /// Whether the rows of a picture see one another in both directions.
    pub(crate) fn both_ways(&self) -> bool {
        matches!(self, Self::Gemma3 { .. })
    }
}

impl VisionConfig {
    /// Reads it; nothing where the model has no vision encoder of a kind that is known.
    pub(crate) fn resolve(config: &Value, text: &Architecture) -> Result<Option<Self>> {
        let outer = Fields::new(config);
        let Some(inner) = outer.object("vision_config") else {
            return Ok(None);
        };
        let declared = outer.text("model_type").unwrap_or_default();
        let (connector, tower) = match declared {
            "llava" | "llava_next" => {
                let class = match outer.text("vision_feature_select_strategy") {
                    None | Some("default") => false,
                    Some("full") => true,
                    Some(other) => {
                        return Err(wrong(format!(
                            "`vision_feature_select_strategy` is `{other}`, which is not known"
                        )));
                    }
                };
                let tower = llava_tower(&outer, &inner)?;
                match declared {
                    "llava" => (Connector::Llava { class }, tower),
                    _ => (Connector::LlavaNext { class }, tower),
                }
            }
            "idefics3" | "smolvlm" => {
                let factor = outer.count("scale_factor").unwrap_or(2);
                (
                    Connector::Idefics3 { factor },
                    plain(&inner, IDEFICS, true)?,
                )
            }
            "gemma3" => {
                let tokens = outer.count("mm_tokens_per_image").unwrap_or(256);
                (Connector::Gemma3 { tokens }, plain(&inner, SIGLIP, true)?)
            }
            "qwen2_vl" | "qwen2_5_vl" => {
                let merge = inner.count("spatial_merge_size").unwrap_or(2);
                let tower = qwen(&inner, declared == "qwen2_5_vl")?;
                (Connector::Qwen { merge }, tower)
            }
            _ => return Ok(None),
        };
        let named = ["image_token_index", "image_token_id"];
        let token = named.iter().find_map(|name| outer.count(name));
        let image_token = match token {
            // It stands for a place and has no vector of its own; GGUF files have none of that name, and it
            // lies right behind their vocabulary.
            Some(token) if token <= text.vocab => token as u32,
            Some(token) => {
                return Err(wrong(format!(
                    "the picture's token {token} lies outside the vocabulary of {}",
                    text.vocab
                )));
            }
            None => return Err(wrong("`image_token_id` is not there")),
        };
        let text_axes = match connector {
            Connector::Qwen { .. } => Some(sections(config, text)?),
            _ => None,
        };
        Ok(Some(Self {
            connector,
            tower,
            image_token,
            text_axes,
        }))
    }
}

/// What transformers assumes: hidden, intermediate, layers, heads, picture, patch, activation, epsilon.
pub(super) type Usual = (usize, usize, usize, usize, usize, usize, &'static str, f64);
pub(super) const CLIP: Usual = (768, 3072, 12, 12, 224, 32, "quick_gelu", 1e-5);
pub(super) const SIGLIP: Usual = (768, 3072, 12, 12, 224, 16, "gelu_pytorch_tanh", 1e-6);
const IDEFICS: Usual = (1152, 3072, 12, 16, 224, 32, "gelu_pytorch_tanh", 1e-6);

/// Prefixes of a tower's tensors that occur in the wild.
const PREFIXES: &[(&str, &str)] = &[
    ("vision_tower.vision_model.", ""),
    ("vision_tower.", ""),
    ("model.vision_tower.vision_model.", ""),
    ("model.vision_tower.", ""),
    ("vision_model.", ""),
    ("model.vision_model.", ""),
];

fn sound(what: &str, n: usize) -> Result<usize> {
    match n {
        1..=65_536 => Ok(n),
        _ => Err(wrong(format!("the tower's {what} is {n}"))),
    }
}

/// Blocks like CLIP's text tower, read in both directions without positions of their own.
fn tower_blocks(
    (hidden, intermediate): (usize, usize),
    (layers, heads): (usize, usize),
    activation: &str,
    eps: f64,
) -> Result<Architecture> {
    let mut a = Architecture::resolve(&json!({
        "model_type": "clip_text_model",
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_act": activation,
        "layer_norm_eps": eps,
        "vocab_size": 1,
        "max_position_embeddings": 1,
    }))?;
    a.causal = false;
    a.embedding.position_offset = None;
    Ok(a)
}

/// The tower of CLIP or SigLIP; with `normed`, what is read comes from behind the last norm.
pub(super) fn plain(f: &Fields<'_>, usual: Usual, normed: bool) -> Result<TowerConfig> {
    let count = |name: &str, usual: usize| f.count(name).unwrap_or(usual);
    let picture = sound("picture", count("image_size", usual.4))?;
    let patch = sound("patch", count("patch_size", usual.5))?;
    let widths = (
        count("hidden_size", usual.0),
        count("intermediate_size", usual.1),
    );
    let layers = count("num_hidden_layers", usual.2);
    let heads = count("num_attention_heads", usual.3);
    let activation = f.text("hidden_act").unwrap_or(usual.6);
    let eps = f.number("layer_norm_eps").unwrap_or(usual.7);
    let mut a = tower_blocks(widths, (layers, heads), activation, eps)?;
    let clip = usual == CLIP;
    a.family = if clip { "CLIP tower" } else { "SigLIP tower" };
    a.embedding.norm = clip;
    a.names.prefixes = PREFIXES;
    a.names.embed = "embeddings.patch_embedding";
    // Misspelt in every CLIP.
    a.names.embed_norm = "pre_layrnorm";
    a.names.final_norm = normed.then_some("post_layernorm");
    Ok(TowerConfig {
        architecture: a,
        patch,
        frames: 1,
        side: Some(picture / patch),
        class: clip,
        axes: None,
        windows: None,
    })
}

/// LLaVA's tower ends at the layer whose states are used, before the last norm.
fn llava_tower(outer: &Fields<'_>, f: &Fields<'_>) -> Result<TowerConfig> {
    let usual = match f.text("model_type").unwrap_or("clip_vision_model") {
        "clip_vision_model" => CLIP,
        "siglip_vision_model" => SIGLIP,
        other => {
            return Err(wrong(format!("the tower `{other}` is not known"))
                .hint("known: clip_vision_model, siglip_vision_model"));
        }
    };
    let mut tower = plain(f, usual, false)?;
    let layers = tower.architecture.layers;
    let wanted = match outer.get("vision_feature_layer") {
        None => -2,
        Some(value) => {
            let message = format!("`vision_feature_layer` is {value}; one layer is supported");
            value.as_i64().ok_or_else(|| wrong(message))?
        }
    };
    let from_end = if wanted < 0 { layers as i64 + 1 } else { 0 };
    let layer = usize::try_from(from_end + wanted).ok();
    let message = || format!("the tower of {layers} layers has no layer {wanted}");
    let layer = layer
        .filter(|l| *l <= layers)
        .ok_or_else(|| wrong(message()))?;
    tower.architecture.layers = layer;
    tower.architecture.kinds.truncate(layer);
    Ok(tower)
}

/// Qwen2-VL's tower: patches in their own resolution, which turn by their places.
fn qwen(f: &Fields<'_>, five: bool) -> Result<TowerConfig> {
    let hidden = match five {
        true => f.count("hidden_size").unwrap_or(3584),
        false => f.count("embed_dim").unwrap_or(1280),
    };
    let ratio = f.number("mlp_ratio").unwrap_or(4.0);
    let inside = f.count("intermediate_size").unwrap_or(match five {
        true => 3420,
        false => (hidden as f64 * ratio) as usize,
    });
    let act = if five { "silu" } else { "quick_gelu" };
    let counts = (
        f.count("depth").unwrap_or(32),
        f.count("num_heads").unwrap_or(16),
    );
    let act = f.text("hidden_act").unwrap_or(act);
    let mut a = tower_blocks((hidden, inside), counts, act, 1e-6)?;
    a.family = match five {
        true => "Qwen2.5-VL tower",
        false => "Qwen2-VL tower",
    };
    a.names.prefixes = &[("visual.", ""), ("model.visual.", "")];
    a.names.embed = "patch_embed.proj";
    a.names.layer = "blocks.{}.";
    // GGUF files have them apart, and say so in a field that no `config.json` has.
    a.names.qkv = match f.flag("separate_qkv", false) {
        true => QkvNames::Separate("attn.q", "attn.k", "attn.v"),
        false => QkvNames::Fused("attn.qkv", QkvLayout::Stacked),
    };
    a.names.attn_out = "attn.proj";
    a.names.attn_norm = "norm1";
    a.names.mlp_norm = "norm2";
    a.names.final_norm = None;
    if five {
        a.norm.rms = true;
        a.mlp.gated = true;
        a.names.up = UpNames::Separate("mlp.gate_proj", "mlp.up_proj");
        a.names.down = "mlp.down_proj";
    }
    if !a.head_dim.is_multiple_of(4) {
        let width = a.head_dim;
        return Err(wrong(format!(
            "heads of {width} cannot turn by rows and columns"
        )));
    }
    let rope = f.object("rope_parameters");
    let theta = rope
        .and_then(|r| r.number("rope_theta"))
        .unwrap_or(10_000.0);
    // Half of the frequencies turn by the row, half by the column.
    let half = Rope::plain(a.head_dim / 2, theta).frequencies;
    let mut rope = Rope::plain(a.head_dim, theta);
    rope.frequencies = [half.clone(), half.clone()].concat();
    let axes = [vec![1u8; half.len()], vec![2u8; half.len()]].concat();
    a.ropes = vec![rope];
    a.kinds.iter_mut().for_each(|k| k.rope = Some(0));
    let windows = five.then(|| {
        let whole = f.numbers("fullatt_block_indexes");
        let whole = whole.unwrap_or_else(|| vec![7.0, 15.0, 23.0, 31.0]);
        let whole = whole.into_iter().map(|n| n as usize).collect();
        (f.count("window_size").unwrap_or(112), whole)
    });
    Ok(TowerConfig {
        architecture: a,
        patch: sound("patch", f.count("patch_size").unwrap_or(14))?,
        frames: sound("frames", f.count("temporal_patch_size").unwrap_or(2))?,
        side: None,
        class: false,
        axes: Some(axes),
        windows,
    })
}

/// Which of time, height and width each frequency of the language model turns by.
fn sections(config: &Value, text: &Architecture) -> Result<Vec<u8>> {
    let outer = Fields::new(config);
    let inner = outer.object("text_config");
    let found = [inner, Some(outer)].into_iter().flatten().find_map(|f| {
        ["rope_parameters", "rope_scaling"]
            .iter()
            .find_map(|name| f.object(name)?.numbers("mrope_section"))
    });
    let lengths = found.unwrap_or_else(|| vec![16.0, 24.0, 24.0]);
    let mut axes = vec![];
    for (i, length) in lengths.iter().enumerate() {
        let length = (*length as usize).min(1 << 16);
        axes.resize(axes.len() + length, (i % 3) as u8);
    }
    let want = text.head_dim / 2;
    match axes.len() == want {
        true => Ok(axes),
        false => Err(wrong(format!(
            "`mrope_section` names {} frequencies; a head has {want}",
            axes.len()
        ))),
    }
}

//! A tower for pictures in a GGUF file of its own (`mmproj`), as llama.cpp's converters write it for LLaVA
//! 1.5: tensors and metadata in Hugging Face's terms, so that the two files together read like a LLaVA
//! folder.
//!
//! The converters leave the last block of the tower out, since LLaVA reads the states before it: all blocks
//! of the file are run. The older ones call the two layers of a feed-forward block by each other's names;
//! their shapes tell.

use std::collections::BTreeMap;

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::{Gguf, Metadata};
use crate::fault;
use crate::mapped::Mapped;
use crate::stored::Stored;

/// What such a file holds.
pub(crate) struct Projector {
    pub tensors: BTreeMap<String, Stored>,
    vision: Value,
    layers: i64,
    /// As in `preprocessor_config.json`.
    pub processor: Value,
}

impl Projector {
    /// Reads a file, which is the one of this number among those of the model.
    pub fn read(file: &Mapped, number: usize) -> Result<Self, ModelError> {
        let bad = |why: String| fault::bad(&file.path, why);
        let mut stored = BTreeMap::new();
        let metadata = Gguf::part(file, (0, 1), &mut stored)?;
        stored.values_mut().for_each(|tensor| tensor.file = number);
        known(&metadata, &stored).map_err(|why| {
            bad(why).hint(
                "towers of LLaVA 1.5 run from GGUF files; others run from their folder: hf/FOLDER",
            )
        })?;
        let source = Source {
            metadata: &metadata,
            tensors: &stored,
        };
        let (vision, layers) = source.config().map_err(bad)?;
        let processor = source.processor().map_err(bad)?;
        let tensors = renamed(stored).map_err(bad)?;
        Ok(Self {
            tensors,
            vision,
            layers,
            processor,
        })
    }

    /// The configuration of the model whose language model has this one.
    pub fn config(&self, text: Value, image_token: u32) -> Value {
        json!({
            "model_type": "llava",
            "architectures": ["LlavaForConditionalGeneration"],
            "text_config": text,
            "vision_config": self.vision,
            "vision_feature_layer": self.layers,
            "vision_feature_select_strategy": "default",
            "image_token_index": image_token,
        })
    }
}

/// Refuses what is no tower of LLaVA 1.5.
fn known(metadata: &Metadata, tensors: &BTreeMap<String, Stored>) -> Result<(), String> {
    let architecture = metadata.text("general.architecture").unwrap_or("");
    if architecture != "clip" {
        return Err(format!(
            "is of architecture `{architecture}`; a file with a tower for pictures is of architecture `clip`"
        ));
    }
    let named = ["clip.projector_type", "clip.vision.projector_type"];
    let kind = named.iter().find_map(|key| metadata.text(key));
    match kind {
        None | Some("mlp") => {}
        Some(other) => return Err(format!("has the projector `{other}`, which is not run")),
    }
    let tiles = tensors.keys().any(|name| name.contains("image_newline"));
    let merged = metadata.text("clip.vision.mm_patch_merge_type");
    if tiles || merged.is_some_and(|kind| kind != "flat") {
        return Err("reads pictures in tiles (LLaVA 1.6), which is not run".to_owned());
    }
    Ok(())
}

struct Source<'a> {
    metadata: &'a Metadata,
    tensors: &'a BTreeMap<String, Stored>,
}

impl Source<'_> {
    fn size(&self, name: &str) -> Result<i64, String> {
        let key = format!("clip.vision.{name}");
        match self.metadata.integer(&key) {
            Some(n) if (1..1 << 20).contains(&n) => Ok(n),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Err(format!("metadata `{key}` is missing")),
        }
    }

    fn config(&self) -> Result<(Value, i64), String> {
        let flag = |name: &str| self.metadata.flag(&format!("clip.{name}")) == Some(true);
        let class = self.tensors.contains_key("v.class_embd");
        let layers = self.size("block_count")?;
        let epsilon = self
            .metadata
            .float("clip.vision.attention.layer_norm_epsilon");
        let mut config = json!({
            "model_type": if class { "clip_vision_model" } else { "siglip_vision_model" },
            "hidden_size": self.size("embedding_length")?,
            "intermediate_size": self.size("feed_forward_length")?,
            "num_hidden_layers": layers,
            "num_attention_heads": self.size("attention.head_count")?,
            "image_size": self.size("image_size")?,
            "patch_size": self.size("patch_size")?,
            "hidden_act": match () {
                () if flag("use_silu") => "silu",
                () if flag("use_gelu") => "gelu",
                () => "quick_gelu",
            },
        });
        if let Some(epsilon) = epsilon {
            config["layer_norm_eps"] = json!(epsilon);
        }
        Ok((config, layers))
    }

    /// LLaVA 1.5 pads a picture to a square of the mean colour, and makes that small.
    fn processor(&self) -> Result<Value, String> {
        let side = self.size("image_size")?;
        let mut processor = json!({
            "image_processor_type": "LlavaImageProcessor",
            "do_pad": true,
            "size": {"shortest_edge": side},
            "crop_size": {"height": side, "width": side},
        });
        for name in ["image_mean", "image_std"] {
            if let Some(three) = self.metadata.floats(&format!("clip.vision.{name}")) {
                processor[name] = json!(three);
            }
        }
        Ok(processor)
    }
}

fn renamed(stored: BTreeMap<String, Stored>) -> Result<BTreeMap<String, Stored>, String> {
    let swapped = swapped(&stored);
    let mut out = BTreeMap::new();
    for (name, tensor) in stored {
        match hf_name(&name, swapped) {
            Some(hf) => {
                out.insert(hf, tensor);
            }
            None => {
                return Err(format!(
                    "tensor `{name}` has no place in a tower of LLaVA 1.5"
                ));
            }
        }
    }
    Ok(out)
}

/// Whether the layers of a feed-forward block go by each other's names: what is called `down` then makes a
/// row wider.
fn swapped(stored: &BTreeMap<String, Stored>) -> bool {
    let down = stored.get("v.blk.0.ffn_down.weight");
    down.is_some_and(|t| matches!(t.info.shape.as_slice(), [out, into] if out > into))
}

fn hf_name(name: &str, swapped: bool) -> Option<String> {
    if name == "v.class_embd" {
        return Some("vision_tower.vision_model.embeddings.class_embedding".to_owned());
    }
    let (stem, suffix) = name.rsplit_once('.')?;
    if !matches!(suffix, "weight" | "bias") {
        return None;
    }
    let projected = match stem {
        "mm.0" => Some("linear_1"),
        "mm.2" => Some("linear_2"),
        _ => None,
    };
    if let Some(layer) = projected {
        return Some(format!("multi_modal_projector.{layer}.{suffix}"));
    }
    let tower = "vision_tower.vision_model";
    if let Some(rest) = stem.strip_prefix("v.blk.") {
        let (layer, part) = rest.split_once('.')?;
        let layer: u32 = layer.parse().ok()?;
        let part = match (part, swapped) {
            ("attn_q", _) => "self_attn.q_proj",
            ("attn_k", _) => "self_attn.k_proj",
            ("attn_v", _) => "self_attn.v_proj",
            ("attn_out", _) => "self_attn.out_proj",
            ("ln1", _) => "layer_norm1",
            ("ln2", _) => "layer_norm2",
            ("ffn_up", false) | ("ffn_down", true) => "mlp.fc1",
            ("ffn_down", false) | ("ffn_up", true) => "mlp.fc2",
            _ => return None,
        };
        return Some(format!("{tower}.encoder.layers.{layer}.{part}.{suffix}"));
    }
    let part = match stem {
        "v.patch_embd" => "embeddings.patch_embedding",
        "v.position_embd" => "embeddings.position_embedding",
        // Misspelt in every CLIP.
        "v.pre_ln" => "pre_layrnorm",
        "v.post_ln" => "post_layernorm",
        _ => return None,
    };
    Some(format!("{tower}.{part}.{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_a_folder_whichever_way_a_block_calls_its_layers() {
        let fc1 = "vision_tower.vision_model.encoder.layers.3.mlp.fc1.bias";
        assert_eq!(hf_name("v.blk.3.ffn_up.bias", false).unwrap(), fc1);
        assert_eq!(hf_name("v.blk.3.ffn_down.bias", true).unwrap(), fc1);
        assert_eq!(
            hf_name("mm.2.weight", false).unwrap(),
            "multi_modal_projector.linear_2.weight"
        );
        assert_eq!(hf_name("mm.4.weight", false), None);
        assert_eq!(hf_name("v.blk.x.ln1.weight", false), None);
        assert_eq!(hf_name("v.class_embd.weight", false), None);
    }
}

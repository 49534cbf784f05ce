//! From the names of llama.cpp's `clip` files to Hugging Face's. A tensor without a place is refused by
//! name: leaving a weight out would be another model.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use super::kinds::{GEMMA_NORM, ProjectorKind};
use super::swapped;
use crate::stored::{Layout, Stored};

type Names = HashMap<&'static str, &'static str>;

/// GGUF's names with Hugging Face's.
#[derive(Deserialize)]
struct TensorNames {
    /// The beginning of a block's names.
    block: &'static str,
    /// Layers with a weight and a bias in a block. In Qwen's, queries, keys and values are one tensor in Hugging
    /// Face's files and three in most of llama.cpp's.
    inner: Names,
    /// The same outside the blocks. One is misspelt in every CLIP.
    outer: Names,
    /// Names that are no layer with a weight and a bias.
    whole: Names,
}

static TABLE: LazyLock<HashMap<&str, TensorNames>> =
    LazyLock::new(|| serde_json::from_str(include_str!("names.json")).unwrap_or_default());

pub(super) fn translate(
    kind: &ProjectorKind,
    stored: BTreeMap<String, Stored>,
) -> Result<BTreeMap<String, Stored>, String> {
    let swapped = swapped(&stored);
    let mut out = BTreeMap::new();
    for (name, mut tensor) in stored {
        let hf = hf_name(kind, &name, swapped).ok_or_else(|| {
            let kind = kind.name;
            format!("tensor `{name}` has no place in a tower with the projector `{kind}`")
        })?;
        if name == GEMMA_NORM {
            tensor.layout = Layout::PlusOne;
        }
        out.insert(hf, tensor);
    }
    Ok(out)
}

fn hf_name(kind: &ProjectorKind, name: &str, swapped: bool) -> Option<String> {
    let names = TABLE.get(kind.names)?;
    if let Some(whole) = names.whole.get(name) {
        return Some((*whole).to_owned());
    }
    let (stem, suffix) = name.rsplit_once('.')?;
    if !matches!(suffix, "weight" | "bias") {
        return None;
    }
    let Some(rest) = stem.strip_prefix("v.blk.") else {
        let hf = names.outer.get(stem)?;
        return Some(format!("{hf}.{suffix}"));
    };
    let (layer, part) = rest.split_once('.')?;
    let layer: u32 = layer.parse().ok()?;
    let part = match (part, swapped) {
        ("ffn_up", true) => "ffn_down",
        ("ffn_down", true) => "ffn_up",
        (part, _) => part,
    };
    let part = names.inner.get(part)?;
    Some(format!("{}.{layer}.{part}.{suffix}", names.block))
}

#[cfg(test)]
mod tests {
    use super::super::kinds::{GEMMA3, IDEFICS3, LLAVA, NEWLINE, QWEN2, QWEN25};
    use super::*;

    #[test]
    fn names_are_those_of_a_folder_whichever_way_a_block_calls_its_layers() {
        let llava = |name, swapped| hf_name(&LLAVA, name, swapped);
        let fc1 = "vision_tower.vision_model.encoder.layers.3.mlp.fc1.bias";
        assert_eq!(llava("v.blk.3.ffn_up.bias", false).unwrap(), fc1);
        assert_eq!(llava("v.blk.3.ffn_down.bias", true).unwrap(), fc1);
        assert_eq!(
            llava("mm.2.weight", false).unwrap(),
            "multi_modal_projector.linear_2.weight"
        );
        assert_eq!(llava("mm.4.weight", false), None);
        assert_eq!(llava("v.blk.x.ln1.weight", false), None);
        assert_eq!(llava("v.class_embd.weight", false), None);
        assert_eq!(llava(NEWLINE, false), None);
    }

    #[test]
    fn a_name_of_another_projector_has_no_place() {
        let soft = "mm.soft_emb_norm.weight";
        assert!(hf_name(&GEMMA3, soft, false).is_some());
        assert_eq!(hf_name(&IDEFICS3, soft, false), None);
        assert_eq!(hf_name(&GEMMA3, "mm.0.weight", false), None);
        assert_eq!(hf_name(&QWEN2, "v.blk.0.ffn_gate.weight", false), None);
        assert_eq!(
            hf_name(&QWEN25, "v.blk.1.ffn_up.weight", true).unwrap(),
            "visual.blocks.1.mlp.down_proj.weight"
        );
    }
}

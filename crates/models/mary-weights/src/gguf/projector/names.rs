//! From the names of llama.cpp's `clip` files to Hugging Face's. A tensor without a place is refused by
//! name: leaving a weight out would be another model.

use std::collections::BTreeMap;

use super::kind::Kind;
use crate::stored::{Layout, Stored};

/// The row at the end of each line of tiles (LLaVA 1.6).
pub(super) const NEWLINE: &str = "model.image_newline";

pub(super) fn translate(
    kind: Kind,
    stored: BTreeMap<String, Stored>,
) -> Result<BTreeMap<String, Stored>, String> {
    let swapped = swapped(&stored);
    let mut out = BTreeMap::new();
    for (name, mut tensor) in stored {
        let hf = hf_name(kind, &name, swapped).ok_or_else(|| {
            format!(
                "tensor `{name}` has no place in a tower with the projector `{}`",
                kind.name()
            )
        })?;
        // The converter adds one to the norm of Gemma's projector, as to all norms of its language model.
        if kind == Kind::Gemma3 && name == "mm.soft_emb_norm.weight" {
            tensor.layout = Layout::PlusOne;
        }
        out.insert(hf, tensor);
    }
    Ok(out)
}

/// Whether the layers of a feed-forward block go by each other's names: what is called `down` then makes a
/// row wider.
pub(super) fn swapped(stored: &BTreeMap<String, Stored>) -> bool {
    let down = stored.get("v.blk.0.ffn_down.weight");
    down.is_some_and(|t| matches!(t.info.shape.as_slice(), [out, into] if out > into))
}

fn hf_name(kind: Kind, name: &str, swapped: bool) -> Option<String> {
    if let Some(whole) = whole_name(kind, name) {
        return Some(whole.to_owned());
    }
    let (stem, suffix) = name.rsplit_once('.')?;
    if !matches!(suffix, "weight" | "bias") {
        return None;
    }
    let find = |table: &[(&str, &'static str)], stem: &str| {
        let found = table.iter().find(|(gguf, _)| *gguf == stem);
        found.map(|(_, hf)| *hf)
    };
    let table = match kind {
        Kind::Llava | Kind::LlavaNext | Kind::Idefics3 | Kind::Gemma3 => &PLAIN,
        Kind::Qwen2 => &QWEN2,
        Kind::Qwen25 => &QWEN25,
    };
    if let Some(rest) = stem.strip_prefix("v.blk.") {
        let (layer, part) = rest.split_once('.')?;
        let layer: u32 = layer.parse().ok()?;
        let part = match (part, swapped) {
            ("ffn_up", true) => "ffn_down",
            ("ffn_down", true) => "ffn_up",
            (part, _) => part,
        };
        let part = find(table.inner, part)?;
        return Some(format!("{}.{layer}.{part}.{suffix}", table.block));
    }
    let projector: &[(&str, &str)] = match kind {
        Kind::Llava | Kind::LlavaNext => &[
            ("mm.0", "multi_modal_projector.linear_1"),
            ("mm.2", "multi_modal_projector.linear_2"),
        ],
        _ => &[],
    };
    let hf = find(table.outer, stem).or_else(|| find(projector, stem))?;
    Some(format!("{hf}.{suffix}"))
}

/// Names that are no layer with a weight and a bias.
fn whole_name(kind: Kind, name: &str) -> Option<&'static str> {
    Some(match (kind, name) {
        (Kind::Llava | Kind::LlavaNext, "v.class_embd") => {
            "vision_tower.vision_model.embeddings.class_embedding"
        }
        (Kind::LlavaNext, NEWLINE) => "image_newline",
        (Kind::Idefics3, "mm.model.fc.weight") => "connector.modality_projection.proj.weight",
        (Kind::Gemma3, "mm.input_projection.weight") => {
            "multi_modal_projector.mm_input_projection_weight"
        }
        (Kind::Gemma3, "mm.soft_emb_norm.weight") => {
            "multi_modal_projector.mm_soft_emb_norm.weight"
        }
        // The second frame of a patch.
        (Kind::Qwen2 | Kind::Qwen25, "v.patch_embd.weight.1") => "visual.patch_embed.proj.weight.1",
        _ => return None,
    })
}

struct Table {
    block: &'static str,
    inner: &'static [(&'static str, &'static str)],
    outer: &'static [(&'static str, &'static str)],
}

const PLAIN: Table = Table {
    block: "vision_tower.vision_model.encoder.layers",
    inner: &[
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_out", "self_attn.out_proj"),
        ("ln1", "layer_norm1"),
        ("ln2", "layer_norm2"),
        ("ffn_up", "mlp.fc1"),
        ("ffn_down", "mlp.fc2"),
    ],
    outer: &[
        (
            "v.patch_embd",
            "vision_tower.vision_model.embeddings.patch_embedding",
        ),
        (
            "v.position_embd",
            "vision_tower.vision_model.embeddings.position_embedding",
        ),
        // Misspelt in every CLIP.
        ("v.pre_ln", "vision_tower.vision_model.pre_layrnorm"),
        ("v.post_ln", "vision_tower.vision_model.post_layernorm"),
    ],
};

const QWEN_OUTER: &[(&str, &str)] = &[
    ("v.patch_embd", "visual.patch_embed.proj"),
    ("v.post_ln", "visual.merger.ln_q"),
    ("mm.0", "visual.merger.mlp.0"),
    ("mm.2", "visual.merger.mlp.2"),
];

/// Queries, keys and values are one tensor in Hugging Face's files, three in most of llama.cpp's.
const QWEN2: Table = Table {
    block: "visual.blocks",
    inner: &[
        ("attn_qkv", "attn.qkv"),
        ("attn_q", "attn.q"),
        ("attn_k", "attn.k"),
        ("attn_v", "attn.v"),
        ("attn_out", "attn.proj"),
        ("ln1", "norm1"),
        ("ln2", "norm2"),
        ("ffn_up", "mlp.fc1"),
        ("ffn_down", "mlp.fc2"),
    ],
    outer: QWEN_OUTER,
};

const QWEN25: Table = Table {
    block: "visual.blocks",
    inner: &[
        ("attn_qkv", "attn.qkv"),
        ("attn_q", "attn.q"),
        ("attn_k", "attn.k"),
        ("attn_v", "attn.v"),
        ("attn_out", "attn.proj"),
        ("ln1", "norm1"),
        ("ln2", "norm2"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
    outer: QWEN_OUTER,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_a_folder_whichever_way_a_block_calls_its_layers() {
        let llava = |name, swapped| hf_name(Kind::Llava, name, swapped);
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
        assert!(hf_name(Kind::Gemma3, soft, false).is_some());
        assert_eq!(hf_name(Kind::Idefics3, soft, false), None);
        assert_eq!(hf_name(Kind::Gemma3, "mm.0.weight", false), None);
        assert_eq!(hf_name(Kind::Qwen2, "v.blk.0.ffn_gate.weight", false), None);
        assert_eq!(
            hf_name(Kind::Qwen25, "v.blk.1.ffn_up.weight", true).unwrap(),
            "visual.blocks.1.mlp.down_proj.weight"
        );
    }
}

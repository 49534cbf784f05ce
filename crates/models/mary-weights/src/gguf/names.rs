//! From GGUF's tensor names to Hugging Face's, undoing what llama.cpp's converter did to the rows.
//!
//! llama.cpp gives each part of a transformer one name (`tensor_mapping.py`), whatever its architecture: the names
//! follow from [`Names`](crate::architecture::config::Names). What is undone is what `convert_hf_to_gguf.py` does to
//! each architecture. A tensor without a place is refused by name: leaving a weight out would be another model.

use std::collections::BTreeMap;

use crate::architecture::Architecture;
use crate::architecture::config::form::{Conversion, GgufForm};
use crate::architecture::config::{Block, QkNorm, QkvNames, UpNames};
use crate::stored::{Layout, RowOrder, Stored};

/// Tensors that hold no weights; what they say goes into the configuration.
const ROPE_TABLES: [&str; 3] = [
    "rope_freqs.weight",
    "rope_factors_long.weight",
    "rope_factors_short.weight",
];

/// More experts or heads than any model has.
const MOST_PARTS: usize = 4096;

/// Renames every tensor and says how each is to be read.
pub(super) fn translate(
    form: &GgufForm,
    architecture: &Architecture,
    stored: BTreeMap<String, Stored>,
) -> Result<BTreeMap<String, Stored>, String> {
    let names = NameTable::new(architecture);
    let mut renamed = BTreeMap::new();
    for (name, mut tensor) in stored {
        if ROPE_TABLES.contains(&name.as_str()) {
            continue;
        }
        if form.conversion == Conversion::QkvJoined && name.contains(".attn_qkv.") {
            split_qkv(&name, &tensor, &names, &mut renamed)?;
            continue;
        }
        let hf = names.translate(&name).ok_or_else(|| {
            let form = form.name;
            format!("tensor `{name}` has no place in a model of architecture `{form}`")
        })?;
        if hf.contains("{}") {
            split_merged(&name, &hf, &tensor, &mut renamed)?;
            continue;
        }
        undo(form.conversion, architecture, &name, &mut tensor)?;
        renamed.insert(hf, tensor);
    }
    Ok(renamed)
}

/// GGUF's names without `.weight` and `.bias`, and Hugging Face's.
struct NameTable {
    outer: Vec<(&'static str, String)>,
    /// The beginning of a block's names, `{}` standing for its number.
    block: String,
    /// Within a block. Where one tensor holds a part of every expert or head, `{}` stands for the number of the part.
    inner: Vec<(&'static str, String)>,
}

impl NameTable {
    fn new(a: &Architecture) -> Self {
        let n = &a.names;
        let (body, before_head) = n.prefixes.first().copied().unwrap_or_default();
        let mut outer = vec![
            ("token_embd", n.embed),
            ("position_embd", n.positions),
            ("token_types", n.token_types),
            ("token_embd_norm", n.embed_norm),
            ("output_norm", n.final_norm.unwrap_or_default()),
        ];
        outer.retain(|(_, name)| !name.is_empty());
        let full = |(stem, name)| (stem, format!("{body}{name}"));
        let mut outer: Vec<(&str, String)> = outer.into_iter().map(full).collect();
        if a.language_head {
            outer.push(("output", format!("{before_head}{}", n.head)));
        }
        Self {
            outer,
            block: format!("{body}{}", n.layer),
            inner: within_block(a),
        }
    }

    fn translate(&self, name: &str) -> Option<String> {
        let (stem, suffix) = name.rsplit_once('.')?;
        if !matches!(suffix, "weight" | "bias") {
            return None;
        }
        let find = |pairs: &[(&str, String)], stem: &str| {
            let found = pairs.iter().find(|(gguf, _)| *gguf == stem);
            found.map(|(_, hf)| hf.clone())
        };
        let Some(rest) = stem.strip_prefix("blk.") else {
            return find(&self.outer, stem).map(|hf| format!("{hf}.{suffix}"));
        };
        let (layer, stem) = rest.split_once('.')?;
        let layer: u32 = layer.parse().ok()?;
        // Older files have a tensor for every expert: `ffn_gate.3`, where `ffn_gate_exps` came later.
        let hf = match stem.split_once('.') {
            Some((part, number)) => {
                let number: u32 = number.parse().ok()?;
                let merged = find(&self.inner, &format!("{part}_exps"))?;
                merged.replace("{}", &number.to_string())
            }
            None => find(&self.inner, stem)?,
        };
        let block = self.block.replace("{}", &layer.to_string());
        Some(format!("{block}{hf}.{suffix}"))
    }
}

fn within_block(a: &Architecture) -> Vec<(&'static str, String)> {
    let n = &a.names;
    let mut all: Vec<(&'static str, String)> = Vec::new();
    let mut add = |stem, name: &str| all.push((stem, name.to_owned()));
    add("post_attention_norm", n.post_norms.0);
    add("post_ffw_norm", n.post_norms.1);
    if a.block != Block::OutputNorm {
        add("attn_norm", n.attn_norm);
        if a.block != (Block::Parallel { shared: true }) {
            add("ffn_norm", n.mlp_norm);
        }
    }
    match n.qkv {
        // llama.cpp has none of those.
        QkvNames::Paired(..) => {}
        QkvNames::Fused(name, _) => add("attn_qkv", name),
        QkvNames::Separate(q, k, v) => {
            add("attn_q", q);
            add("attn_k", k);
            add("attn_v", v);
        }
    }
    for (stem, name) in [("attn_q_norm", n.qk_norms.0), ("attn_k_norm", n.qk_norms.1)] {
        match a.attention.qk_norm {
            QkNorm::None => {}
            QkNorm::Shared | QkNorm::Whole => add(stem, name),
            QkNorm::PerHead => add(stem, &format!("{name}.norms.{{}}")),
        }
    }
    add("attn_output", n.attn_out);
    if a.kinds.iter().any(|kind| !kind.sparse) {
        match n.up {
            UpNames::Plain(up) | UpNames::Fused(up) => add("ffn_up", up),
            UpNames::Separate(gate, up) => {
                add("ffn_gate", gate);
                add("ffn_up", up);
            }
        }
        add("ffn_down", n.down);
    }
    if let (Some(experts), Some(names)) = (a.experts, n.experts) {
        add("ffn_gate_inp", names.router);
        let (gate, up, down) = names.parts;
        let merged = ["ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"];
        let shared = ["ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"];
        for (i, part) in [gate, up, down].into_iter().enumerate() {
            add(merged[i], &format!("{}{part}", names.expert));
            if experts.shared.is_some() {
                add(shared[i], &format!("{}{part}", names.shared.0));
            }
        }
        if experts.shared.is_some() {
            add("ffn_gate_inp_shexp", names.shared.1);
        }
    }
    all.retain(|(_, name)| !name.is_empty());
    for (own, usual) in n.gguf {
        if let Some(entry) = all.iter_mut().find(|(stem, _)| stem == usual) {
            entry.0 = own;
        }
    }
    all
}

/// Part `number` of `count` equal ones.
fn part(tensor: &Stored, (number, count): (usize, usize), shape: Vec<usize>) -> Stored {
    let mut part = tensor.clone();
    part.info.shape = shape;
    part.len = tensor.len / count;
    part.start = tensor.start + number * part.len;
    part
}

/// Parts of a tensor whose outermost dimension counts them: experts, or heads.
fn split_merged(
    name: &str,
    pattern: &str,
    tensor: &Stored,
    renamed: &mut BTreeMap<String, Stored>,
) -> Result<(), String> {
    let wrong = || format!("tensor `{name}` does not hold equal parts");
    let (&count, rest) = tensor.info.shape.split_first().ok_or_else(wrong)?;
    // Blocks lie within rows, and a part is whole rows. An empty tensor could claim any number of parts.
    let sound = (1..=MOST_PARTS).contains(&count) && tensor.len >= count;
    if !sound || rest.is_empty() || !tensor.len.is_multiple_of(count) {
        return Err(wrong());
    }
    for number in 0..count {
        let name = pattern.replace("{}", &number.to_string());
        renamed.insert(name, part(tensor, (number, count), rest.to_vec()));
    }
    Ok(())
}

/// Query, key and value of one tensor, where Hugging Face has three.
fn split_qkv(
    name: &str,
    tensor: &Stored,
    names: &NameTable,
    renamed: &mut BTreeMap<String, Stored>,
) -> Result<(), String> {
    let wrong = || format!("tensor `{name}` is not a query, key and value of equal size");
    let mut shape = tensor.info.shape.clone();
    let rows = shape.first_mut().ok_or_else(wrong)?;
    // Blocks lie within rows, so a third of the rows is a third of the bytes.
    if !rows.is_multiple_of(3) || !tensor.len.is_multiple_of(3) {
        return Err(wrong());
    }
    *rows /= 3;
    for (number, stem) in ["attn_q", "attn_k", "attn_v"].into_iter().enumerate() {
        let hf = names.translate(&name.replace("attn_qkv", stem));
        let third = part(tensor, (number, 3), shape.clone());
        renamed.insert(hf.ok_or_else(wrong)?, third);
    }
    Ok(())
}

/// What the converter did to this tensor, undone on reading.
fn undo(
    conversion: Conversion,
    a: &Architecture,
    name: &str,
    tensor: &mut Stored,
) -> Result<(), String> {
    let is = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let (heads, groups, head_dim) = (a.heads, a.kv_heads, a.head_dim);
    let order = match conversion {
        Conversion::RotaryPairs if is(&[".attn_q.", ".attn_k."]) => RowOrder::Rotary { head_dim },
        Conversion::QkvByRole if is(&[".attn_qkv."]) => RowOrder::Qkv {
            heads,
            groups,
            head_dim,
        },
        Conversion::NormPlusOne if name.ends_with("norm.weight") => {
            tensor.layout = Layout::PlusOne;
            return Ok(());
        }
        Conversion::Transposed
            if tensor.info.shape.len() == 2
                && is(&[".attn_qkv.", ".attn_output.", ".ffn_up.", ".ffn_down."]) =>
        {
            tensor.info.shape.reverse();
            tensor.layout = Layout::Transposed;
            return Ok(());
        }
        _ => return Ok(()),
    };
    let rows = tensor.info.shape.first().copied().unwrap_or(0);
    if !order.fits(rows) {
        return Err(format!(
            "tensor `{name}` has {rows} rows, which its attention heads cannot share"
        ));
    }
    tensor.layout = Layout::Rows(order);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(model_type: &str) -> NameTable {
        let config = serde_json::json!({"model_type": model_type});
        NameTable::new(&Architecture::resolve(&config).unwrap())
    }

    #[test]
    fn names_inside_and_outside_the_blocks() {
        let (llama, gpt2) = (names("llama"), names("gpt2"));
        assert_eq!(
            llama.translate("blk.12.attn_q.weight").as_deref(),
            Some("model.layers.12.self_attn.q_proj.weight")
        );
        assert_eq!(
            llama.translate("output.weight").as_deref(),
            Some("lm_head.weight")
        );
        assert_eq!(llama.translate("blk.0.ffn_gate_exps.weight"), None);
        assert_eq!(gpt2.translate("blk.x.attn_qkv.weight"), None);
    }

    #[test]
    fn experts_come_apart_and_older_files_have_them_apart() {
        let table = names("mixtral");
        let name = |name| table.translate(name);
        assert_eq!(
            name("blk.3.ffn_up_exps.weight").as_deref(),
            Some("model.layers.3.block_sparse_moe.experts.{}.w3.weight")
        );
        assert_eq!(
            name("blk.3.ffn_up.7.weight").as_deref(),
            Some("model.layers.3.block_sparse_moe.experts.7.w3.weight")
        );
        assert_eq!(name("blk.3.ffn_up.weight"), None, "no layer is dense");
        assert_eq!(name("blk.3.ffn_up.x.weight"), None);

        let tensor = |shape: &[usize], len| Stored {
            info: crate::TensorInfo {
                shape: shape.to_vec(),
                dtype: crate::TensorType::F32,
            },
            file: 0,
            start: 100,
            len,
            layout: Layout::Plain,
        };
        let mut made = BTreeMap::new();
        split_merged("x", "e.{}.w", &tensor(&[3, 2, 4], 96), &mut made).unwrap();
        assert_eq!(made["e.2.w"].start, 164);
        assert_eq!((made["e.2.w"].len, made.len()), (32, 3));
        assert_eq!(made["e.0.w"].info.shape, [2, 4]);
        // Nothing can be any number of parts.
        let empty = tensor(&[1 << 40, 0, 4], 0);
        assert!(split_merged("x", "e.{}.w", &empty, &mut made).is_err());
        assert!(split_merged("x", "e.{}.w", &tensor(&[3], 12), &mut made).is_err());
    }
}

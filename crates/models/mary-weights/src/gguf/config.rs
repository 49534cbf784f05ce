//! From GGUF's metadata to the keys of Hugging Face's `config.json`.

mod open;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::names::KNOWN;
use super::{Meta, Metadata};
use crate::mapped::Mapped;
use crate::stored::Stored;

/// The metadata of one architecture, and the tensors that tell what the metadata does not.
struct Source<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
    tensors: &'a BTreeMap<String, Stored>,
    files: &'a [Mapped],
}

impl Source<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    fn integer(&self, name: &str) -> Option<i64> {
        self.metadata.integer(&self.key(name))
    }

    fn size(&self, name: &str) -> Result<i64, String> {
        let key = self.key(name);
        match self.metadata.integer(&key) {
            Some(n) if n > 0 => Ok(n),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Err(format!(
                "metadata `{key}` is missing or differs between layers"
            )),
        }
    }

    fn float(&self, name: &str) -> Option<f64> {
        self.metadata.float(&self.key(name))
    }

    fn has(&self, tensor: &str) -> bool {
        self.tensors.contains_key(tensor)
    }

    /// A small tensor of floats that belongs to the configuration.
    fn table(&self, name: &str) -> Option<Vec<f32>> {
        let tensor = self.tensors.get(name)?;
        let file = self.files.get(tensor.file)?;
        Some(tensor.read_f32(file.get(tensor.start..tensor.start + tensor.len)?))
    }

    /// How many experts there are.
    fn experts(&self) -> i64 {
        self.integer("expert_count").unwrap_or(0)
    }

    /// Rows (or another dimension, outermost first) of a tensor.
    fn dimension(&self, tensor: &str, number: usize) -> Option<i64> {
        let shape = &self.tensors.get(tensor)?.info.shape;
        i64::try_from(*shape.get(number)?).ok()
    }

    /// `1 / sqrt` of what attention scores are scaled by in Gemma. The files do not say it; the
    /// one model of each generation that departs from the head size is known by its depth.
    fn gemma_scalar(&self, head_dim: i64) -> Result<i64, String> {
        let odd_one = if self.architecture == "gemma2" {
            46
        } else {
            62
        };
        if self.size("block_count")? == odd_one {
            Ok(self.size("embedding_length")? / self.size("attention.head_count")?)
        } else {
            Ok(head_dim)
        }
    }
}

/// The configuration in Hugging Face's form.
pub(super) fn translate(
    metadata: &Metadata,
    tensors: &BTreeMap<String, Stored>,
    files: &[Mapped],
) -> Result<Value, String> {
    let architecture = metadata
        .text("general.architecture")
        .ok_or("does not say its architecture (general.architecture)")?;
    let source = Source {
        metadata,
        architecture,
        tensors,
        files,
    };
    sound(&source)?;
    let (name, class) = match architecture {
        "llama" if source.experts() > 0 => ("mixtral", "MixtralForCausalLM"),
        "llama" => ("llama", "LlamaForCausalLM"),
        "qwen" => ("qwen", "QWenLMHeadModel"),
        "qwen2vl" => ("qwen2_vl_text", "Qwen2VLForConditionalGeneration"),
        "qwen2moe" => ("qwen2_moe", "Qwen2MoeForCausalLM"),
        "qwen3moe" => ("qwen3_moe", "Qwen3MoeForCausalLM"),
        "olmo" => ("olmo", "OlmoForCausalLM"),
        "olmo2" => ("olmo2", "Olmo2ForCausalLM"),
        "olmoe" => ("olmoe", "OlmoeForCausalLM"),
        "granite" => ("granite", "GraniteForCausalLM"),
        "stablelm" => ("stablelm", "StableLmForCausalLM"),
        "bloom" => ("bloom", "BloomForCausalLM"),
        "bert" => ("bert", "BertModel"),
        "qwen2" => ("qwen2", "Qwen2ForCausalLM"),
        "qwen3" => ("qwen3", "Qwen3ForCausalLM"),
        "gemma2" => ("gemma2", "Gemma2ForCausalLM"),
        "gemma3" => ("gemma3_text", "Gemma3ForCausalLM"),
        "gpt2" => ("gpt2", "GPT2LMHeadModel"),
        "gptneox" => ("gpt_neox", "GPTNeoXForCausalLM"),
        "falcon" => ("falcon", "FalconForCausalLM"),
        "phi2" => ("phi", "PhiForCausalLM"),
        "phi3" => ("phi3", "Phi3ForCausalLM"),
        other => {
            return Err(format!(
                "architecture `{other}` is not known; known: {KNOWN}"
            ));
        }
    };
    if architecture == "olmo2" && source.integer("attention.sliding_window").is_some() {
        // OLMo 3 goes under the same name; its windows and rotary embeddings differ from layer to layer.
        return Err("is an OLMo 3 (an `olmo2` with windows), which is not known".into());
    }
    let mut config = shared(&source)?;
    config.insert("model_type".into(), json!(name));
    config.insert("architectures".into(), json!([class]));
    let turning = rotary(&source)?;
    let own = match architecture {
        "llama" | "qwen2" | "qwen2vl" | "qwen3" | "phi3" | "olmo2" => llama_like(&source)?,
        "qwen2moe" | "qwen3moe" | "olmoe" => sparse(&source)?,
        "olmo" | "granite" | "stablelm" => open::llama_with_more(&source)?,
        "bloom" => open::bloom(&source)?,
        "qwen" => open::qwen(&source)?,
        "bert" => open::bert(&source)?,
        "gemma2" | "gemma3" => gemma(&source)?,
        "gpt2" => gpt2(&source)?,
        "gptneox" => neox(&source)?,
        "falcon" => falcon(&source)?,
        _ => phi2(&source)?,
    };
    if let Value::Object(own) = own {
        config.extend(own);
    }
    if architecture == "phi3" {
        config.insert("partial_rotary_factor".into(), json!(turning));
    }
    if name == "mixtral" {
        config.insert("num_local_experts".into(), json!(source.experts()));
        config.insert(
            "num_experts_per_tok".into(),
            json!(source.size("expert_used_count")?),
        );
    }
    if let Some(scaling) = rope_scaling(&source)? {
        config.insert("rope_scaling".into(), scaling);
    }
    if let Some(sections) = metadata.integers(&source.key("rope.dimension_sections")) {
        // Which frequencies turn by time, height and width; files have room for a fourth.
        let sections: Vec<i64> = sections.into_iter().take(3).collect();
        let scaling = config.entry("rope_scaling").or_insert_with(|| json!({}));
        scaling["mrope_section"] = json!(sections);
        if scaling.get("rope_type").is_none() {
            scaling["rope_type"] = json!("mrope");
        }
    }
    config.retain(|_, value| !value.is_null());
    Ok(Value::Object(config))
}

/// Numbers of which the computation is made. One that is not a number must not become a default in silence.
const NUMBERS: [&str; 7] = [
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.scaling.factor",
    "attention.layer_norm_rms_epsilon",
    "attention.layer_norm_epsilon",
    "attn_logit_softcapping",
    "final_logit_softcapping",
];

/// Refuses numbers of the architecture that are none, or that nothing can be computed with.
fn sound(source: &Source<'_>) -> Result<(), String> {
    let begin = format!("{}.", source.architecture);
    let own = source.metadata.0.iter();
    let mut own: Vec<(&str, &Meta)> = own
        .filter_map(|(key, value)| Some((key.strip_prefix(&begin)?, value)))
        .collect();
    own.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in own {
        let number = match value {
            Meta::Float(x) => Some(*x),
            Meta::Integer(n) => Some(*n as f64),
            Meta::Floats(all) => all.iter().find(|x| !x.is_finite()).map(|x| f64::from(*x)),
            _ => None,
        };
        let wrong = |found: String, expected: &str| {
            Err(format!(
                "metadata `{begin}{name}` is {found}; expected {expected}"
            ))
        };
        match number {
            Some(x) if !x.is_finite() => return wrong(x.to_string(), "a finite number"),
            Some(x) if x <= 0.0 && name.starts_with("rope.freq_base") => {
                return wrong(x.to_string(), "a number above 0");
            }
            Some(x) if x < 0.0 && name.ends_with("epsilon") => {
                return wrong(x.to_string(), "a number from 0");
            }
            None if NUMBERS.contains(&name) => return wrong(format!("{value:?}"), "a number"),
            _ => {}
        }
    }
    Ok(())
}

/// Which share of a head's dimensions turns. Where the architecture turns all of them, a file that says
/// otherwise is refused.
fn rotary(source: &Source<'_>) -> Result<f64, String> {
    let key = source.key("rope.dimension_count");
    if !source.metadata.0.contains_key(&key)
        || matches!(source.architecture, "gpt2" | "bloom" | "bert")
    {
        return Ok(1.0);
    }
    let head = head_dim(source)?;
    let found = source.integer("rope.dimension_count");
    let some = matches!(
        source.architecture,
        "gptneox" | "phi2" | "phi3" | "stablelm"
    );
    match found {
        Some(n) if n == head || some && n > 0 && n < head => Ok(n as f64 / head as f64),
        _ => {
            let found = found.map_or("no whole number".to_owned(), |n| n.to_string());
            let expected = match some {
                true => format!("at most the {head} dimensions of a head"),
                false => format!(
                    "the {head} dimensions of a head, all of which turn in this architecture"
                ),
            };
            Err(format!("metadata `{key}` is {found}; expected {expected}"))
        }
    }
}

fn shared(source: &Source<'_>) -> Result<Map<String, Value>, String> {
    let embedding = source
        .tensors
        .get("token_embd.weight")
        .ok_or("has no tensor `token_embd.weight`")?;
    let [rows, columns] = embedding.info.shape[..] else {
        return Err("tensor `token_embd.weight` is not a matrix".into());
    };
    let hidden = source.size("embedding_length")?;
    if i64::try_from(columns) != Ok(hidden) {
        return Err(format!(
            "tensor `token_embd.weight` has rows of {columns} numbers, but the metadata says \
             {hidden}"
        ));
    }
    let token = |name: &str| {
        source
            .metadata
            .integer(&format!("tokenizer.ggml.{name}_token_id"))
    };
    let heads = source.size("attention.head_count")?;
    let config = json!({
        "vocab_size": rows,
        "hidden_size": hidden,
        "num_hidden_layers": source.size("block_count")?,
        "num_attention_heads": heads,
        "max_position_embeddings": source.size("context_length")?,
        "tie_word_embeddings": !source.has("output.weight"),
        "bos_token_id": token("bos"),
        "eos_token_id": token("eos"),
        "pad_token_id": token("padding"),
    });
    match config {
        Value::Object(map) => Ok(map),
        _ => Err("has no configuration".into()),
    }
}

fn head_dim(source: &Source<'_>) -> Result<i64, String> {
    match source.integer("attention.key_length") {
        Some(n) if n > 0 => Ok(n),
        _ => Ok(source.size("embedding_length")? / source.size("attention.head_count")?),
    }
}

fn llama_like(source: &Source<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    let qwen2 = matches!(source.architecture, "qwen2" | "qwen2vl" | "qwen2moe");
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "num_key_value_heads": source.integer("attention.head_count_kv").unwrap_or(heads),
        "head_dim": head_dim(source)?,
        "rms_norm_eps": source.float("attention.layer_norm_rms_epsilon").unwrap_or(1e-6),
        "rope_theta": source.float("rope.freq_base").unwrap_or(10_000.0),
        "hidden_act": "silu",
        "attention_bias": (!qwen2).then(|| source.has("blk.0.attn_q.bias")),
        "sliding_window": source.integer("attention.sliding_window"),
        "use_sliding_window": qwen2.then_some(false),
        "original_max_position_embeddings": source.integer("rope.scaling.original_context_length"),
    }))
}

/// Qwen2-MoE, Qwen3-MoE and OLMoE: which layers have experts is seen from the tensors.
fn sparse(source: &Source<'_>) -> Result<Value, String> {
    let mut config = llama_like(source)?;
    let layers = source.size("block_count")?;
    // A file that says more layers than it has tensors is refused elsewhere.
    let layers = layers.min(i64::try_from(source.tensors.len()).unwrap_or(i64::MAX));
    let is_dense = |layer: &i64| !source.has(&format!("blk.{layer}.ffn_gate_inp.weight"));
    let dense: Vec<i64> = (0..layers).filter(is_dense).collect();
    let first = (0..layers).find(|layer| !is_dense(layer)).unwrap_or(0);
    let width =
        |stem: &str, dimension| source.dimension(&format!("blk.{first}.{stem}.weight"), dimension);
    let third = source.architecture == "qwen3moe";
    let normalised = source.metadata.flag(&source.key("expert_weights_norm"));
    let own = json!({
        "num_experts": source.size("expert_count")?,
        "num_experts_per_tok": source.size("expert_used_count")?,
        "norm_topk_prob": normalised.unwrap_or(third),
        "mlp_only_layers": dense,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": width("ffn_gate_exps", 1),
        "shared_expert_intermediate_size": width("ffn_gate_shexp", 0),
    });
    if let (Value::Object(config), Value::Object(own)) = (&mut config, own) {
        config.extend(own);
        if source.architecture == "olmoe" {
            config.insert("intermediate_size".into(), json!(width("ffn_gate_exps", 1)));
        }
    }
    Ok(config)
}

fn gemma(source: &Source<'_>) -> Result<Value, String> {
    let third = source.architecture == "gemma3";
    let head_dim = head_dim(source)?;
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "num_key_value_heads": source.size("attention.head_count_kv")?,
        "head_dim": head_dim,
        "rms_norm_eps": source.float("attention.layer_norm_rms_epsilon").unwrap_or(1e-6),
        "rope_theta": source
            .float("rope.freq_base")
            .unwrap_or(if third { 1_000_000.0 } else { 10_000.0 }),
        "rope_local_base_freq": third
            .then(|| source.float("rope.freq_base_swa").unwrap_or(10_000.0)),
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": source.gemma_scalar(head_dim)?,
        "attn_logit_softcapping": source.float("attn_logit_softcapping"),
        "final_logit_softcapping": source.float("final_logit_softcapping"),
        "sliding_window": source
            .integer("attention.sliding_window")
            .or((!third).then_some(4096)),
        "sliding_window_pattern": third
            .then(|| source.integer("attention.sliding_window_pattern").unwrap_or(6)),
    }))
}

fn gpt2(source: &Source<'_>) -> Result<Value, String> {
    let hidden = source.size("embedding_length")?;
    let context = source.size("context_length")?;
    Ok(json!({
        "n_embd": hidden,
        "n_layer": source.size("block_count")?,
        "n_head": source.size("attention.head_count")?,
        "n_positions": context,
        "n_ctx": context,
        "n_inner": source.integer("feed_forward_length").filter(|n| *n != 4 * hidden),
        "layer_norm_epsilon": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
        "activation_function": "gelu_new",
    }))
}

fn neox(source: &Source<'_>) -> Result<Value, String> {
    let head_dim = head_dim(source)?;
    let rotary = source.integer("rope.dimension_count").unwrap_or(head_dim);
    let parallel = source.metadata.flag(&source.key("use_parallel_residual"));
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "rotary_pct": rotary as f64 / head_dim as f64,
        "rotary_emb_base": source.float("rope.freq_base").unwrap_or(10_000.0),
        "layer_norm_eps": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
        "hidden_act": "gelu",
        "use_parallel_residual": parallel.unwrap_or(true),
        "attention_bias": source.has("blk.0.attn_qkv.bias"),
    }))
}

fn falcon(source: &Source<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    let groups = source.integer("attention.head_count_kv").unwrap_or(1);
    let new = source.has("blk.0.attn_norm_2.weight");
    Ok(json!({
        "num_kv_heads": groups,
        "multi_query": groups == 1 && heads > 1,
        "new_decoder_architecture": new,
        "parallel_attn": true,
        "alibi": false,
        "bias": source.has("blk.0.attn_qkv.bias"),
        "ffn_hidden_size": source.integer("feed_forward_length"),
        "layer_norm_epsilon": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
        "rope_theta": source.float("rope.freq_base").unwrap_or(10_000.0),
        "activation": "gelu",
    }))
}

fn phi2(source: &Source<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    let head_dim = head_dim(source)?;
    let rotary = source.integer("rope.dimension_count").unwrap_or(head_dim);
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "num_key_value_heads": source.integer("attention.head_count_kv").unwrap_or(heads),
        "partial_rotary_factor": rotary as f64 / head_dim as f64,
        "rope_theta": source.float("rope.freq_base").unwrap_or(10_000.0),
        "layer_norm_eps": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
        "hidden_act": "gelu_new",
        "qk_layernorm": false,
    }))
}

/// Scaled rotary embeddings: said in metadata, or as a table of factors per frequency.
fn rope_scaling(source: &Source<'_>) -> Result<Option<Value>, String> {
    if let Some(factors) = source.table("rope_freqs.weight") {
        return llama3_scaling(source, &factors).map(Some);
    }
    if let (Some(long), Some(short)) = (
        source.table("rope_factors_long.weight"),
        source.table("rope_factors_short.weight"),
    ) {
        return Ok(Some(json!({
            "rope_type": "longrope",
            "type": "longrope",
            "long_factor": long,
            "short_factor": short,
        })));
    }
    let kind = source.metadata.text(&source.key("rope.scaling.type"));
    let factor = source.float("rope.scaling.factor");
    Ok(match (kind, factor) {
        (Some("none") | None, _) => None,
        (Some("linear"), Some(factor)) => {
            Some(json!({"rope_type": "linear", "type": "linear", "factor": factor}))
        }
        (Some("yarn"), Some(factor)) => Some(json!({
            "rope_type": "yarn",
            "type": "yarn",
            "factor": factor,
            "original_max_position_embeddings":
                source.integer("rope.scaling.original_context_length"),
        })),
        (Some("longrope"), _) => None, // the factors are tensors, and there are none
        (Some(kind), factor) => {
            return Err(format!(
                "rotary scaling `{kind}` with factor {factor:?} is not known"
            ));
        }
    })
}

/// Llama 3.1 and later: the converter wrote the factors out as a tensor. The three numbers that
/// made them are the same in all released models; whether they make *these* factors is checked.
fn llama3_scaling(source: &Source<'_>, factors: &[f32]) -> Result<Value, String> {
    let (low, high, original) = (1.0f64, 4.0f64, 8192.0f64);
    let theta = source.float("rope.freq_base").unwrap_or(10_000.0);
    let dim = (factors.len() * 2) as f64;
    let factor = f64::from(factors.iter().copied().fold(1.0f32, f32::max));
    for (i, &found) in factors.iter().enumerate() {
        let wavelength = std::f64::consts::TAU * theta.powf(2.0 * i as f64 / dim);
        let expected = if wavelength < original / high {
            1.0
        } else if wavelength > original / low {
            factor
        } else {
            let smooth = (original / wavelength - low) / (high - low);
            1.0 / ((1.0 - smooth) / factor + smooth)
        };
        if (expected - f64::from(found)).abs() > 1e-3 * expected {
            return Err(format!(
                "tensor `rope_freqs.weight` scales frequency {i} by {found}, where Llama 3's rule \
                 gives {expected:.4}; other rules are not known"
            ));
        }
    }
    Ok(json!({
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original as i64,
    }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn decimals_come_back_as_people_wrote_them() {
        assert_eq!(super::super::decimal(1e-5), 1e-5);
        assert_eq!(super::super::decimal(100_000.0), 100_000.0);
    }
}

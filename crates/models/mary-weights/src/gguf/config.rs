//! From GGUF's metadata to the keys of Hugging Face's `config.json`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::header::{Meta, Metadata};
use super::source::GgufSource;
use crate::architecture::config::form::{GgufForm, Rotation};
use crate::architecture::config::{Fields, Rope};
use crate::mapped::Mapped;
use crate::stored::Stored;

pub(super) fn translate(
    metadata: &Metadata,
    tensors: &BTreeMap<String, Stored>,
    files: &[Mapped],
) -> Result<(&'static GgufForm, Value), String> {
    let architecture = metadata
        .text("general.architecture")
        .ok_or("does not say its architecture (general.architecture)")?;
    let mut source = GgufSource {
        metadata,
        architecture,
        tensors,
        files,
        rotary_share: 1.0,
    };
    sound(&source)?;
    let form = GgufForm::named(architecture, source.experts() > 0).ok_or_else(|| {
        let known = GgufForm::known();
        format!("architecture `{architecture}` is not known; known: {known}")
    })?;
    let mut config = shared(&source)?;
    config.insert("model_type".into(), json!(form.model_type));
    config.insert("architectures".into(), json!([form.class]));
    source.rotary_share = rotary_share(&source, form.rotation)?;
    config.extend(form.config(&source)?);
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
    Ok((form, Value::Object(config)))
}

/// Numbers of which the computation is made. One that is not a number must not become a default in silence.
const NUMBERS: &str = "rope.freq_base rope.freq_base_swa rope.scaling.factor attention.layer_norm_rms_epsilon \
    attention.layer_norm_epsilon attn_logit_softcapping final_logit_softcapping";

/// Refuses numbers of the architecture that are none, or that nothing can be computed with.
fn sound(source: &GgufSource<'_>) -> Result<(), String> {
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
            None if NUMBERS.split_whitespace().any(|n| n == name) => {
                return wrong(format!("{value:?}"), "a number");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Which share of a head's dimensions turns. Where the architecture turns all of them, a file that says
/// otherwise is refused.
fn rotary_share(source: &GgufSource<'_>, rotation: Rotation) -> Result<f64, String> {
    let key = source.key("rope.dimension_count");
    if rotation == Rotation::None || !source.metadata.0.contains_key(&key) {
        return Ok(1.0);
    }
    let head = source.head_dim()?;
    let some = rotation == Rotation::Some;
    match source.metadata.integer(&key) {
        Some(n) if n == head || some && n > 0 && n < head => Ok(n as f64 / head as f64),
        found => {
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

fn shared(source: &GgufSource<'_>) -> Result<Map<String, Value>, String> {
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
    Ok(config.as_object().cloned().unwrap_or_default())
}

/// Scaled rotary embeddings: said in metadata, or as a table of factors per frequency.
fn rope_scaling(source: &GgufSource<'_>) -> Result<Option<Value>, String> {
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
fn llama3_scaling(source: &GgufSource<'_>, factors: &[f32]) -> Result<Value, String> {
    let factor = f64::from(factors.iter().copied().fold(1.0f32, f32::max));
    let scaling = json!({
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    });
    let (dim, theta) = (2 * factors.len(), source.rope_theta());
    let config = json!({"rope_theta": theta, "rope_scaling": scaling});
    let rule = Rope::read(&Fields::new(&config), dim, None).map_err(|e| e.message)?;
    let plain = Rope::plain(dim, theta).frequencies;
    let rule = plain.iter().zip(&rule.frequencies).map(|(p, r)| p / r);
    for (i, (found, expected)) in factors.iter().zip(rule).enumerate() {
        if (expected - found).abs() > 1e-3 * expected {
            return Err(format!(
                "tensor `rope_freqs.weight` scales frequency {i} by {found}, where Llama 3's rule \
                 gives {expected:.4}; other rules are not known"
            ));
        }
    }
    Ok(scaling)
}

#[cfg(test)]
mod tests {
    #[test]
    fn decimals_come_back_as_people_wrote_them() {
        assert_eq!(super::super::header::decimal(1e-5), 1e-5);
        assert_eq!(super::super::header::decimal(100_000.0), 100_000.0);
    }
}

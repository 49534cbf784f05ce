//! The architectures that are known: `families.json`. A new one is an entry there; its tensors are named once, in
//! `names.json`, and what they are called in GGUF files follows from that (`gguf/names.rs`).

use std::sync::LazyLock;

use mary_contract::ModelError;
use serde_json::Value;

use super::family::Family;
use super::fields::refused;
use super::form::GgufForm;
use super::names::over_usual;
use super::{Architecture, Fields, defaults};
use crate::fault::Result;

/// A test reads the file, so that no program can be shipped with a broken one.
pub(super) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let mut all = read(include_str!("families.json")).unwrap_or_default();
    #[cfg(test)]
    all.extend(read(super::invented::INVENTED).unwrap_or_default());
    for family in &mut all {
        let model_type = family.types.first().copied().unwrap_or_default();
        (family.gguf.iter_mut()).for_each(|form| form.model_type = model_type);
    }
    all
});

pub(super) fn read(text: &str) -> serde_json::Result<Vec<Family>> {
    let all: Vec<Value> = serde_json::from_str(text)?;
    all.into_iter()
        .map(|own| over_usual("family", own))
        .collect()
}

impl GgufForm {
    /// The form of this name, with or without experts where there are both.
    pub(crate) fn named(name: &str, sparse: bool) -> Option<&'static Self> {
        let forms = || Self::all().filter(|form| form.name == name);
        forms().find(|f| f.sparse == sparse).or(forms().next())
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().flat_map(|family| &family.gguf)
    }

    /// The names of all forms, for a message.
    pub(crate) fn known() -> String {
        let mut names: Vec<String> = Vec::new();
        for form in Self::all() {
            match form.also {
                "" => names.push(form.name.to_owned()),
                also => names.push(format!("{} (also {also})", form.name)),
            }
        }
        names.join(", ")
    }
}

/// Models of pictures and text whose text path is one of the families above; their own fields lie
/// under `text_config`.
const WRAPPERS: &[(&str, &str)] = &[
    ("llava", "llama"),
    ("llava_next", "llama"),
    // The original LLaVA: LLaMA's or Mistral's own fields and names, with a tower beside them.
    ("llava_llama", "llama"),
    ("llava_mistral", "mistral"),
    ("gemma3", "gemma3_text"),
    ("qwen2_vl", "qwen2_vl_text"),
    ("qwen2_5_vl", "qwen2_5_vl_text"),
    ("clip", "clip_text_model"),
    ("siglip", "siglip_text_model"),
    ("qwen3_vl", "qwen3_vl_text"),
    ("qwen3_vl_moe", "qwen3_vl_moe_text"),
    ("qwen3_5", "qwen3_5_text"),
    ("qwen3_5_moe", "qwen3_5_moe_text"),
    ("idefics3", "llama"),
    ("smolvlm", "llama"),
];

/// Numbers of which the computation is made. One that is not a number must not become a default in silence.
const NUMBERS: &str = "rope_theta rotary_emb_base rope_local_base_freq rms_norm_eps layer_norm_eps layer_norm_epsilon \
    partial_rotary_factor rotary_pct query_pre_attn_scalar norm_epsilon norm_eps mixer_rms_eps global_rope_theta \
    local_rope_theta expand mamba_expand logit_scale routed_scaling_factor residual_multiplier attention_multiplier logits_scaling";

fn numbers(fields: &Fields<'_>) -> Result<()> {
    for name in NUMBERS.split_whitespace() {
        if let Some(found) = fields.get(name)
            && fields.number(name).is_none()
        {
            return Err(refused(format!("`{name}` is {found}; expected a number")));
        }
    }
    Ok(())
}

impl Architecture {
    pub fn resolve(config: &Value) -> Result<Self> {
        let outer = Fields::new(config);
        let declared = outer.text("model_type").unwrap_or_default();
        let wrapper = WRAPPERS.iter().find(|(name, _)| *name == declared);
        let merged = wrapper.map(|(_, inner)| text_path(config, inner));
        let config = merged.as_ref().unwrap_or(config);
        let model_type = Fields::new(config).text("model_type").unwrap_or_default();
        let filled = defaults::filled(config, model_type);
        let fields = Fields::new(&filled);
        let family = FAMILIES.iter().find(|f| f.types.contains(&model_type));
        let family = family.ok_or_else(|| unknown(config, declared))?;
        numbers(&fields)?;
        let architecture = family.read(&fields)?;
        if fields.flag("use_bidirectional_attention", false) {
            let family = architecture.family;
            return Err(refused(format!(
                "a {family} that sees both ways is not known"
            )));
        }
        architecture.check()?;
        Ok(architecture)
    }

    /// The `model_type`s that can be read.
    pub fn known() -> Vec<&'static str> {
        let inner = FAMILIES.iter().flat_map(|f| f.types.iter().copied());
        inner
            .chain(WRAPPERS.iter().map(|(name, _)| *name))
            .collect()
    }
}

/// The configuration of a wrapper's text path, with the wrapper's own fields as a fallback (old
/// Qwen2-VL files keep everything on the outside).
fn text_path(config: &Value, inner: &str) -> Value {
    let mut merged = config.as_object().cloned().unwrap_or_default();
    let text = merged.get("text_config").and_then(Value::as_object);
    let text = text.cloned().unwrap_or_default();
    let model_type = text.get("model_type").and_then(Value::as_str);
    let model_type = Value::from(model_type.unwrap_or(inner));
    // Whether the head is the embedding is said outside, by those that say it there.
    let tied = merged.get("tie_word_embeddings").cloned();
    merged.extend(text);
    merged.extend(tied.map(|tied| ("tie_word_embeddings".to_owned(), tied)));
    merged.insert("model_type".to_owned(), model_type);
    Value::Object(merged)
}

fn unknown(config: &Value, declared: &str) -> ModelError {
    let class = config["architectures"][0].as_str();
    let name = match (declared, class) {
        ("", None) => "(the file names none)".to_owned(),
        ("", Some(class)) => class.to_owned(),
        (declared, None) => format!("`{declared}`"),
        (declared, Some(class)) => format!("`{declared}` ({class})"),
    };
    let known = Architecture::known().join(", ");
    refused(format!(
        "the architecture {name} is not one this program can run"
    ))
    .hint(format!("it runs these: {known}"))
}

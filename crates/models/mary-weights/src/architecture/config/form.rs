//! A family's form in GGUF files: what llama.cpp calls it, what its converter does to tensors, and from which metadata
//! the keys of `config.json` come.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::own::own_gguf;
use crate::gguf::source::GgufSource;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GgufForm {
    /// `general.architecture`.
    pub name: &'static str,
    /// What it is in Hugging Face's terms: the first type of its family.
    #[serde(skip)]
    pub model_type: &'static str,
    pub class: &'static str,
    /// Other models that go by this name, for the list of known ones.
    #[serde(default)]
    pub also: &'static str,
    /// Experts tell it from another form of the same name.
    #[serde(default)]
    pub sparse: bool,
    /// `tokenizer.ggml.pre` of files that are older than this key.
    #[serde(default = "usual_pre")]
    pub pre: &'static str,
    #[serde(default)]
    pub rotation: Rotation,
    #[serde(default)]
    pub conversion: Conversion,
    /// It has LLaMA's keys.
    #[serde(default)]
    like_llama: bool,
    /// The function that computes keys of its own.
    #[serde(default)]
    pub own: &'static str,
    /// The keys of `config.json` beside those and what all architectures have.
    #[serde(default)]
    keys: Vec<(&'static str, Key)>,
}

fn usual_pre() -> &'static str {
    "default"
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rotation {
    None,
    #[default]
    All,
    /// As many as the file says.
    Some,
}

/// What the converter does to tensors, which reading undoes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Conversion {
    #[default]
    None,
    /// Interleaves the halves of queries and keys that turn together.
    RotaryPairs,
    /// Takes queries, keys and values of the heads apart.
    QkvByRole,
    /// Leaves queries, keys and values in one tensor where Hugging Face has three (older files).
    QkvJoined,
    /// Adds one to the weights of norms.
    NormPlusOne,
    Transposed,
}

/// Where a key of `config.json` comes from.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Key {
    /// The same in every file.
    Is(Value),
    /// A number that must be there, and be above 0.
    Size(&'static str),
    Integer(&'static str),
    /// A number that must be there or has a default.
    Float(&'static str, Option<f64>),
    Flag(&'static str, bool),
    /// Whether there is such a tensor.
    Has(&'static str),
    Lacks(&'static str),
    KvHeads,
    HeadDim,
    RotaryShare,
    RopeTheta,
    RmsEps,
}

impl Key {
    fn read(&self, source: &GgufSource<'_>) -> Result<Value, String> {
        Ok(match self {
            Self::Is(value) => value.clone(),
            Self::Size(name) => json!(source.size(name)?),
            Self::Integer(name) => json!(source.integer(name)),
            Self::Float(name, usual) => {
                let missing = || format!("metadata `{}` is missing", source.key(name));
                json!(source.float(name).or(*usual).ok_or_else(missing)?)
            }
            Self::Flag(name, usual) => json!(source.flag(name).unwrap_or(*usual)),
            Self::Has(tensor) => json!(source.has(tensor)),
            Self::Lacks(tensor) => json!(!source.has(tensor)),
            Self::KvHeads => json!(source.kv_heads()?),
            Self::HeadDim => json!(source.head_dim()?),
            Self::RotaryShare => json!(source.rotary_share),
            Self::RopeTheta => json!(source.rope_theta()),
            Self::RmsEps => json!(source.rms_eps()),
        })
    }
}

impl GgufForm {
    pub(crate) fn config(&self, source: &GgufSource<'_>) -> Result<Map<String, Value>, String> {
        let mut config = match self.like_llama {
            true => source.like_llama()?,
            false => Map::new(),
        };
        if !self.own.is_empty()
            && let Value::Object(own) = own_gguf(self.own)?(source)?
        {
            config.extend(own);
        }
        for (name, key) in &self.keys {
            config.insert((*name).to_owned(), key.read(source)?);
        }
        Ok(config)
    }
}

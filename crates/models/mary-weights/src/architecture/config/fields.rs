//! Reading fields of a `config.json`, with an error that names the field.

use std::fmt::Display;

use mary_contract::ModelError;
use serde_json::Value;

use super::Activation;
use crate::fault::{Result, bad_model};

pub(super) fn refused(message: impl Display) -> ModelError {
    bad_model(format!("config.json: {message}"))
}

/// The fields of a configuration. A field that is `null` counts as absent.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    value: &'a Value,
}

impl<'a> Fields<'a> {
    pub fn new(value: &'a Value) -> Self {
        Self { value }
    }

    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|v| !v.is_null())
    }

    pub fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.get(name).filter(|v| v.is_object()).map(Fields::new)
    }

    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A flag, or what it is when absent.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    pub fn count(&self, name: &str) -> Option<usize> {
        self.get(name)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    }

    pub fn need(&self, name: &str) -> Result<usize> {
        self.count(name).ok_or_else(|| {
            let found = self
                .get(name)
                .map_or("nothing".to_owned(), Value::to_string);
            refused(format!("`{name}` should be a whole number; found {found}"))
        })
    }

    /// A count that must be there under one of the names between `|`, of which a number is the default. The message
    /// names the last.
    pub(super) fn need_one(&self, names: &str) -> Result<usize> {
        let mut all = names.split('|');
        let found = all.find_map(|name| self.count(name).or_else(|| name.parse().ok()));
        let last = names.rsplit('|').next().unwrap_or_default();
        found.map_or_else(|| self.need(last), Ok)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)
            .and_then(Value::as_f64)
            .filter(|x| x.is_finite())
    }

    pub(super) fn float(&self, name: &str, default: f64) -> f32 {
        self.number(name).unwrap_or(default) as f32
    }

    /// The share of a head that turns, under the first of these names; newer files keep it within
    /// `rope_parameters`, whose place in the order is that of the empty name.
    pub(super) fn rotary_share(&self, names: &[&str], default: f64) -> f64 {
        let number = |name: &&str| match *name {
            "" => self
                .object("rope_parameters")?
                .number("partial_rotary_factor"),
            name => self.number(name),
        };
        names.iter().find_map(number).unwrap_or(default)
    }

    /// An activation by the name that Hugging Face gives it, under the first of the fields between `|` that is there.
    pub(super) fn activation(&self, (fields, usual): (&str, &str)) -> Result<Activation> {
        let said = fields.split('|').find_map(|field| self.text(field));
        Ok(match said.unwrap_or(usual) {
            "gelu" | "gelu_python" => Activation::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "quick_gelu" => Activation::QuickGelu,
            "silu" | "swish" => Activation::Silu,
            "relu" => Activation::Relu,
            "relu2" => Activation::SquaredRelu,
            other => {
                return Err(
                    refused(format!("the activation `{other}` is not known")).hint(
                        "known: gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, silu, relu, relu2",
                    ),
                );
            }
        })
    }

    /// Whether each layer sees a window only: `layer_types` where the file has it, else by the layer's number.
    pub(super) fn sliding(
        &self,
        layers: usize,
        by_number: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = bool> {
        let types = self.texts("layer_types").unwrap_or_default();
        (0..layers).map(move |i| match types.get(i) {
            Some(name) => *name == "sliding_attention",
            None => by_number(i),
        })
    }

    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        let all = self.get(name)?.as_array()?.iter();
        all.map(Value::as_f64).collect()
    }

    pub fn texts(&self, name: &str) -> Option<Vec<&'a str>> {
        let all = self.get(name)?.as_array()?.iter();
        all.map(Value::as_str).collect()
    }
}

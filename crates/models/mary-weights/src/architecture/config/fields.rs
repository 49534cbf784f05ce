//! Reading fields of a `config.json`, with an error that names the field.

use mary_contract::{ErrorKind, ModelError};
use serde_json::Value;

/// The fields of a configuration. A field that is `null` counts as absent.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    value: &'a Value,
}

impl<'a> Fields<'a> {
    /// The fields of this object.
    pub fn new(value: &'a Value) -> Self {
        Self { value }
    }

    /// A field as it stands.
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

    /// A count that must be there.
    pub fn need(&self, name: &str) -> Result<usize, ModelError> {
        self.count(name).ok_or_else(|| {
            let found = self
                .get(name)
                .map_or("nothing".to_owned(), Value::to_string);
            ModelError::new(
                ErrorKind::BadModel,
                format!("config.json: `{name}` should be a whole number; found {found}"),
            )
        })
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)
            .and_then(Value::as_f64)
            .filter(|x| x.is_finite())
    }

    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        self.get(name)?
            .as_array()?
            .iter()
            .map(Value::as_f64)
            .collect()
    }

    pub fn texts(&self, name: &str) -> Option<Vec<&'a str>> {
        self.get(name)?
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect()
    }
}

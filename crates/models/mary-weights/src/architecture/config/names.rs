//! What the tensors of a family are called: `names.json`, over what most have (`usual.json`). A name that a family does
//! not fill in stays empty and is never asked for.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::Names;
use super::fields::refused;
use crate::fault::Result;

pub(super) fn names(family: &str) -> Result<Names> {
    static TABLE: LazyLock<HashMap<String, Names>> = LazyLock::new(|| {
        let all = read(include_str!("names.json"));
        #[cfg(test)]
        let all = all.and_then(|all| {
            Ok(all
                .into_iter()
                .chain(read(super::invented::NAMES)?)
                .collect())
        });
        all.unwrap_or_default()
    });
    let found = TABLE.get(family).cloned();
    found.ok_or_else(|| refused(format!("names.json has no names of `{family}`")))
}

/// A test reads the file, so that no program can be shipped with a broken one.
pub(super) fn read(text: &str) -> serde_json::Result<HashMap<String, Names>> {
    let all: HashMap<String, Value> = serde_json::from_str(text)?;
    let all = all.into_iter();
    all.map(|(family, own)| Ok((family, over_usual("names", own)?)))
        .collect()
}

/// An entry with what it does not say itself filled in: `usual.json`, which is LLaMA's recipe.
pub(super) fn over_usual<T: Deserialize<'static>>(kind: &str, own: Value) -> serde_json::Result<T> {
    let mut whole: Value = serde_json::from_str(include_str!("usual.json"))?;
    let mut whole = whole[kind].take();
    if let (Value::Object(whole), Value::Object(own)) = (&mut whole, own) {
        whole.extend(own);
    }
    // Read once for the whole process.
    serde_json::from_str(String::leak(whole.to_string()))
}

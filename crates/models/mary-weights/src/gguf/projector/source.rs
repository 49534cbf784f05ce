//! A file with a tower as it was written.

use std::collections::BTreeMap;

use crate::gguf::header::Metadata;
use crate::stored::Stored;

pub(super) struct ProjectorSource<'a> {
    pub metadata: &'a Metadata,
    pub tensors: &'a BTreeMap<String, Stored>,
}

impl ProjectorSource<'_> {
    /// A size that must be there.
    pub fn size(&self, name: &str) -> Result<i64, String> {
        let missing = || format!("metadata `clip.vision.{name}` is missing");
        self.optional(name)?.ok_or_else(missing)
    }

    pub fn optional(&self, name: &str) -> Result<Option<i64>, String> {
        let key = format!("clip.vision.{name}");
        match self.metadata.integer(&key) {
            Some(n) if (1..1 << 26).contains(&n) => Ok(Some(n)),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Ok(None),
        }
    }

    /// A dimension of a tensor that must be there, counted from the outermost.
    pub fn dimension(&self, name: &str, dimension: usize) -> Result<i64, String> {
        let tensor = self.tensors.get(name);
        let size = tensor.and_then(|t| t.info.shape.get(dimension).copied());
        size.and_then(|n| i64::try_from(n).ok())
            .ok_or_else(|| format!("has no tensor `{name}` of the right shape"))
    }

    /// The activation; `gelu` is what this kind of tower means by `use_gelu`.
    pub fn activation(&self, gelu: &'static str) -> &'static str {
        let flag = |name: &str| self.metadata.flag(&format!("clip.{name}")) == Some(true);
        match () {
            () if flag("use_silu") => "silu",
            () if flag("use_gelu") => gelu,
            () => "quick_gelu",
        }
    }

    /// Whether the layers of a feed-forward block go by each other's names: what is called `down` then makes a
    /// row wider.
    pub fn swapped(&self) -> bool {
        swapped(self.tensors)
    }
}

pub(super) fn swapped(stored: &BTreeMap<String, Stored>) -> bool {
    let down = stored.get("v.blk.0.ffn_down.weight");
    down.is_some_and(|t| matches!(t.info.shape.as_slice(), [out, into] if out > into))
}

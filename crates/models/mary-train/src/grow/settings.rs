//! What can be chosen about growing, and the named sizes.

use crate::growth::Course;
use crate::learner::Device;
use crate::net::Shape;
use crate::stream::TextSource;
use crate::{Result, TrainError};
use std::path::PathBuf;

/// The model's measures, before the tokenizer has settled the vocabulary.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Size {
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    /// Longest sequence, and the length of the packed windows.
    pub context: usize,
    pub vocabulary: usize,
}

impl Size {
    pub fn named(name: &str) -> Result<Self> {
        let (width, layers, heads, context, vocabulary) = match name {
            "pico" => (64, 2, 2, 256, 768),
            "nano" => (128, 4, 4, 512, 1280),
            "micro" => (256, 6, 8, 512, 2048),
            other => return Err(TrainError::no_size(other)),
        };
        Ok(Self {
            width,
            layers,
            heads,
            context,
            vocabulary,
        })
    }

    pub fn shape(&self, vocabulary: usize) -> Shape {
        Shape::neox(
            vocabulary,
            self.width,
            self.layers,
            self.heads,
            self.context,
        )
    }
}

/// Everything about one growth. What decides the weights is written into `recipe.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowSettings {
    pub course: Course,
    pub size: Size,
    pub source: TextSource,
    /// Where it is computed; no part of the recipe.
    pub device: Device,
    /// Memory that may be used, in bytes; None: what the machine has.
    pub memory_limit: Option<u64>,
}

impl GrowSettings {
    pub fn new(out: PathBuf, size: Size, steps: u64) -> Self {
        Self {
            course: Course::new(out, steps),
            size,
            source: TextSource::Generated,
            device: Device::Cpu,
            memory_limit: None,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.course.check()?;
        self.size.shape(self.size.vocabulary).check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_size_is_named_with_the_known_ones() {
        let error = Size::named("huge").expect_err("not a size").to_string();
        assert!(error.contains("huge") && error.contains("nano"), "{error}");
    }
}

//! How the papers fine-tuned, for `mary tune --recipe`, from `recipes.json`. What a paper does not print is
//! `None`. Two values are ours: PHYSICO's longest example, since two grids and their question are longer than
//! the default, and the batch of Yang et al., who print 4, accumulated over 4 steps.

use std::sync::LazyLock;

use serde::Deserialize;

/// What a paper prints about its fine-tuning.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Recipe {
    /// Whose paper prints it, by the family's id.
    pub family: &'static str,
    /// Where it is printed, and what is not.
    pub source: &'static str,
    /// How often every example is learned from.
    pub epochs: usize,
    /// Examples in one step of the optimiser.
    pub batch: Option<usize>,
    /// Rank of the adapter.
    pub rank: Option<usize>,
    /// Scale of the adapter (`alpha`).
    pub alpha: Option<f32>,
    /// Dropout on the input of the adapter.
    pub dropout: Option<f32>,
    /// Highest learning rate.
    pub rate: Option<f64>,
    /// Weight decay of the optimiser.
    pub weight_decay: Option<f64>,
    /// Steps over which the learning rate rises.
    pub warm_up: Option<u64>,
    /// How the rate falls: `cosine`, `linear` or `constant`.
    pub schedule: Option<&'static str>,
    /// Steps between two evaluations of what is kept back.
    pub evaluate_every: Option<u64>,
    /// Longest example in tokens.
    pub longest: Option<usize>,
}

static RECIPES: LazyLock<Vec<Recipe>> =
    LazyLock::new(|| serde_json::from_str(include_str!("recipes.json")).unwrap_or_default());

/// The recipe of a family's paper.
pub fn recipe(family: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|r| r.family == family)
}

/// The families whose papers print a recipe.
pub fn recipes() -> Vec<&'static str> {
    RECIPES.iter().map(|r| r.family).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_belongs_to_a_family() {
        for name in recipes() {
            assert!(crate::families::registry().family(name).is_some(), "{name}");
        }
        assert_eq!(recipe("physico").and_then(|r| r.rank), Some(64));
        assert_eq!(recipe("embodied").and_then(|r| r.warm_up), Some(100));
        assert!(recipe("psychometric").is_none(), "its paper tunes nothing");
    }
}

//! How the papers fine-tuned, as far as they print it: values for `mary tune --recipe`, by family. What a
//! paper does not print is `None` and stays at the program's default; a family whose paper tunes nothing
//! has no recipe.

/// What a paper prints about its fine-tuning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// The family's id.
    pub family: &'static str,
    /// Where it is printed, and what is not.
    pub source: &'static str,
    /// Rounds over the data.
    pub epochs: usize,
    /// Examples in one step.
    pub batch: Option<usize>,
    /// Rank of the adapter.
    pub rank: Option<usize>,
    /// Its scale.
    pub alpha: Option<f32>,
    /// Dropout on its input.
    pub dropout: Option<f32>,
    /// Learning rate.
    pub rate: Option<f64>,
    /// Weight decay.
    pub weight_decay: Option<f64>,
    /// Steps of warm-up.
    pub warm_up: Option<u64>,
    /// How the rate falls: `cosine`, `linear` or `constant`.
    pub schedule: Option<&'static str>,
    /// Steps between evaluations.
    pub evaluate_every: Option<u64>,
    /// Longest example in tokens.
    pub longest: Option<usize>,
}

const NONE: Recipe = Recipe {
    family: "",
    source: "",
    epochs: 3,
    batch: None,
    rank: None,
    alpha: None,
    dropout: None,
    rate: None,
    weight_decay: None,
    warm_up: None,
    schedule: None,
    evaluate_every: None,
    longest: None,
};

const RECIPES: &[Recipe] = &[
    Recipe {
        family: "htest",
        source: "Lee & Lim 2024, Appendix F: three epochs over 1,000 items of a task, on a provider's platform; \
                 nothing else is printed",
        ..NONE
    },
    Recipe {
        family: "physico",
        source: "PHYSICO, Appendix F; which matrices, which schedule and how many tokens is not printed",
        batch: Some(4),
        rank: Some(64),
        alpha: Some(16.0),
        dropout: Some(0.1),
        rate: Some(2e-4),
        weight_decay: Some(0.001),
        // Ours: two grids and their question are longer than what is taken otherwise.
        longest: Some(2048),
        ..NONE
    },
    Recipe {
        family: "embodied",
        // A batch of 4, accumulated over 4 steps.
        source: "Yang et al. 2025, Appendix D.1, of the Qwen2 models; rank, alpha and dropout are not printed",
        batch: Some(16),
        rate: Some(5e-6),
        weight_decay: Some(0.1),
        warm_up: Some(100),
        schedule: Some("cosine"),
        evaluate_every: Some(1000),
        longest: Some(4096),
        ..NONE
    },
];

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

//! Where in training a checkpoint stands, as far as names tell.

/// What the conventions of a model card call the tokens seen, for people; the number itself is
/// [`crate::ModelCard::tokens_seen`].
pub const TOKENS_SEEN: &str = "tokens_seen";
/// Tokens of one step of every Pythia model on the hub.
pub const PYTHIA_TOKENS_PER_STEP: u64 = 2_097_152;
/// Tokens of one step of the built-in model, from its recipe.
pub const NANO_TOKENS_PER_STEP: u64 = 8_192;

/// The step in `step1000` or `checkpoint-1000`.
pub fn step_of(name: &str) -> Option<u64> {
    let digits = name
        .strip_prefix("step")
        .or_else(|| name.strip_prefix("checkpoint-"))?;
    digits.trim_start_matches(['-', '_']).parse().ok()
}

/// Tokens of one step, where the family is known.
pub fn tokens_per_step(size: &str) -> Option<u64> {
    if size == "builtin/nano" {
        return Some(NANO_TOKENS_PER_STEP);
    }
    size.starts_with("hf/EleutherAI/pythia-")
        .then_some(PYTHIA_TOKENS_PER_STEP)
}

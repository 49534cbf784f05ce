//! Names of checkpoints: which step of training a branch, tag or folder is, and how many tokens the
//! model had seen by then, as far as the name or the family says.
//!
//! | name | whose |
//! |---|---|
//! | `step512`, `checkpoint-500` | Pythia, `mary grow`, the Hugging Face trainer |
//! | `ckpt_000` | Amber: the checkpoint after the first of 360 parts of its data |
//! | `step1000-tokens4B`, `stage1-step1000-tokens5B` | OLMo, OLMo 2 |
//! | `iter_0001000` | Megatron |
//! | `chck_1M` | BabyLM: a million words were read; words, not tokens, so the step counts them |
//! | `global_step1000` | DeepSpeed, BLOOM |

/// What the conventions of a model card call the tokens seen, for people; the number itself is
/// [`crate::ModelCard::tokens_seen`].
pub const TOKENS_SEEN: &str = "tokens_seen";

/// What the name of a checkpoint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointName {
    /// Training step, or the number of the checkpoint where names only count.
    pub step: u64,
    /// Tokens seen by then, where the name says so.
    pub tokens: Option<u64>,
}

/// What stands before the number.
const PREFIXES: &str = "global_step checkpoint step ckpt iteration iter";

/// Tokens of one step of every Pythia model on the hub.
pub const PYTHIA_TOKENS_PER_STEP: u64 = 2_097_152;
/// Tokens of one step of the built-in model, from its recipe.
pub const NANO_TOKENS_PER_STEP: u64 = 8_192;
/// Tokens between two checkpoints of Amber: its card states 1259.13 billion in all, in 360 parts of
/// equal size, with a checkpoint after each. (The paper on psychometric abilities rounds to four
/// billion.)
pub const AMBER_TOKENS_PER_CHECKPOINT: u64 = 1_259_130_000_000 / 360;

impl CheckpointName {
    /// Reads a name; nothing when it is not a checkpoint's.
    ///
    /// ```
    /// use mary_contract::CheckpointName;
    ///
    /// let olmo = CheckpointName::read("step1000-tokens4B").unwrap();
    /// assert_eq!((olmo.step, olmo.tokens), (1_000, Some(4_000_000_000)));
    /// let pythia = CheckpointName::read("step512").unwrap();
    /// assert_eq!(pythia.tokens_of("hf/EleutherAI/pythia-70m"), Some(512 * 2_097_152));
    /// assert!(CheckpointName::read("main").is_none());
    /// ```
    pub fn read(name: &str) -> Option<Self> {
        // OLMo 2 trains in stages; later ones branch off and are no part of one line.
        let name = name.strip_prefix("stage1-").unwrap_or(name);
        if let Some(words) = name.strip_prefix("chck_") {
            let step = read_amount(words)?;
            return Some(Self { step, tokens: None });
        }
        let mut prefixes = PREFIXES.split(' ');
        let rest = prefixes.find_map(|prefix| name.strip_prefix(prefix))?;
        let rest = rest.trim_start_matches(['-', '_']);
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let end = end.unwrap_or(rest.len());
        let (digits, rest) = rest.split_at(end);
        let step = digits.parse().ok()?;
        let tokens = match rest.trim_start_matches(['-', '_']).strip_prefix("tokens") {
            Some(amount) => Some(read_amount(amount)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { step, tokens })
    }

    /// Tokens seen by a checkpoint of a model without its revision (`hf/EleutherAI/pythia-70m`), where
    /// name or family say so.
    pub fn tokens_of(self, model: &str) -> Option<u64> {
        self.tokens.or_else(|| {
            if is_amber(model) {
                return (self.step + 1).checked_mul(AMBER_TOKENS_PER_CHECKPOINT);
            }
            tokens_per_step(model)?.checked_mul(self.step)
        })
    }
}

/// The step in `step1000`, `checkpoint-1000`, `ckpt_001` and the like.
pub fn step_of(name: &str) -> Option<u64> {
    CheckpointName::read(name).map(|named| named.step)
}

/// Tokens of one step, where the family is known and steps are what its names count.
pub fn tokens_per_step(model: &str) -> Option<u64> {
    if model == "builtin/nano" {
        return Some(NANO_TOKENS_PER_STEP);
    }
    let pythia = model.starts_with("hf/EleutherAI/pythia-");
    pythia.then_some(PYTHIA_TOKENS_PER_STEP)
}

fn is_amber(model: &str) -> bool {
    // The organisation was renamed; both addresses lead to it.
    ["hf/LLM360/Amber", "hf/IFM/Amber"].contains(&model)
}

/// A number of tokens as people write it: `4B`, `1.5T`, `300M`, `12,000,000`.
pub fn read_amount(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (text.get(..at)?, 1e3),
        Some((at, 'M' | 'm')) => (text.get(..at)?, 1e6),
        Some((at, 'B' | 'b' | 'G' | 'g')) => (text.get(..at)?, 1e9),
        Some((at, 'T' | 't')) => (text.get(..at)?, 1e12),
        _ => (text, 1.0),
    };
    let number = number.trim().replace([',', '_'], "");
    if unit == 1.0 {
        return number.parse().ok();
    }
    let amount = number.parse::<f64>().ok()? * unit;
    (amount.is_finite() && (0.0..1e18).contains(&amount)).then(|| amount.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_families_are_read() {
        let read = |name| CheckpointName::read(name).map(|c| (c.step, c.tokens));
        for (name, step) in [
            ("step512", 512),
            ("step-512", 512),
            ("step_512", 512),
            ("checkpoint-500", 500),
            ("ckpt_000", 0),
            ("ckpt_358", 358),
            ("iter_0001000", 1_000),
            ("iteration_7", 7),
            ("global_step95000", 95_000),
            ("chck_1M", 1_000_000),
            ("chck_100M", 100_000_000),
        ] {
            assert_eq!(read(name), Some((step, None)), "{name}");
        }
        assert_eq!(
            read("step1000-tokens4B"),
            Some((1_000, Some(4_000_000_000)))
        );
        assert_eq!(
            read("stage1-step150-tokens1.5B"),
            Some((150, Some(1_500_000_000)))
        );
        for other in [
            "main",
            "v1.0",
            "step",
            "stepx",
            "step12-beta",
            "chck_",
            "chck_many",
            "stage2-ingredient1-step1000-tokens3B",
            "stage2-step1000-tokens3B",
            "step1000-tokens",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn tokens_come_from_the_name_or_the_family() {
        let of = |model, name| CheckpointName::read(name).unwrap().tokens_of(model);
        assert_eq!(of("hf/EleutherAI/pythia-70m", "step2"), Some(4_194_304));
        assert_eq!(of("builtin/nano", "step512"), Some(512 * 8_192));
        assert_eq!(of("hf/LLM360/Amber", "ckpt_000"), Some(3_497_583_333));
        let last = of("hf/LLM360/Amber", "ckpt_359").unwrap();
        assert!(last.abs_diff(1_259_130_000_000) < 360);
        assert_eq!(of("hf/me/mine", "step2-tokens8M"), Some(8_000_000));
        assert_eq!(of("hf/me/mine", "step2"), None);
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, amount) in [
            ("4B", 4_000_000_000),
            ("1.26T", 1_260_000_000_000),
            ("300 M", 300_000_000),
            ("12,000,000", 12_000_000),
            ("0", 0),
        ] {
            assert_eq!(read_amount(text), Some(amount), "{text}");
        }
        for bad in ["", "B", "many", "-4B", "1e40T", "4.5"] {
            assert_eq!(read_amount(bad), None, "{bad}");
        }
    }
}

//! The type of number that weights are held in.

use mary_contract::ModelError;
use rayon::prelude::*;

use crate::errors::bad_request;

/// The `--dtype` that leaves the choice between the 16-bit types to the program.
pub(crate) const SAFE_16: &str = "16";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// As stored, widened to 32 bits.
    #[default]
    Single,
    /// Rounded to bfloat16; arithmetic stays in 32 bits.
    Bf16,
    /// Rounded to float16; arithmetic stays in 32 bits.
    F16,
}

impl Precision {
    /// Reads `--dtype`.
    pub fn parse(text: Option<&str>) -> Result<Self, ModelError> {
        match text.unwrap_or("f32") {
            "f32" | "float32" | "auto" => Ok(Self::Single),
            "bf16" | "bfloat16" => Ok(Self::Bf16),
            "f16" | "fp16" | "float16" | SAFE_16 => Ok(Self::F16),
            other => Err(
                bad_request(format!("`{other}` is not a number type for weights"))
                    .hint("use --dtype f32, bf16, f16, or 16 for whichever of these two is safe"),
            ),
        }
    }

    pub(crate) fn round(self, data: &mut [f32]) {
        match self {
            Self::Single => {}
            Self::Bf16 => each(data, |x| half::bf16::from_f32(x).to_f32()),
            Self::F16 => each(data, |x| half::f16::from_f32(x).to_f32()),
        }
    }
}

fn each(data: &mut [f32], round: impl Fn(f32) -> f32 + Sync) {
    let all = data.par_iter_mut().with_min_len(1 << 16);
    all.for_each(|x| *x = round(*x));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_types_are_read_and_others_refused() {
        assert_eq!(Precision::parse(Some("bf16")).unwrap(), Precision::Bf16);
        assert!(Precision::parse(Some("int3")).unwrap_err().hint.is_some());
    }
}

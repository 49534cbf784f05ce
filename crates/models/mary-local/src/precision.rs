//! The type of number that weights are held in.

use std::collections::BTreeMap;
use std::sync::Mutex;

use half::{bf16, f16};
use mary_weights::Checkpoint;
use rayon::prelude::*;

use crate::errors::{Result, bad_request, lock};

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
    pub fn parse(text: Option<&str>) -> Result<Self> {
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
            Self::Bf16 => each(data, |x| bf16::from_f32(x).to_f32()),
            Self::F16 => each(data, |x| f16::from_f32(x).to_f32()),
        }
    }
}

/// Why float16 does not hold a checkpoint, by a look at every weight; nothing where it does.
pub(crate) fn outgrown(checkpoint: &Checkpoint) -> Result<Option<String>> {
    // Card, fingerprint and model ask one after the other.
    static KNOWN: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let print = checkpoint.fingerprint()?;
    if let Some(known) = lock(&KNOWN).get(&print) {
        return Ok(known.clone());
    }
    let mut why = None;
    for name in checkpoint.tensor_names() {
        why = trouble(name, &checkpoint.read_f32(name)?);
        if why.is_some() {
            break;
        }
    }
    lock(&KNOWN).insert(print, why.clone());
    Ok(why)
}

/// The largest float16, and the square of half the distance of two of them near one.
const LARGEST: f64 = 65_504.0;
const FINEST: f64 = 1.0 / 4_194_304.0;

fn trouble(name: &str, weights: &[f32]) -> Option<String> {
    // Single numbers are marks of old files that nothing reads.
    if weights.len() < 2 {
        return None;
    }
    let squares = |round: fn(f32) -> f32| -> f64 {
        let all = weights.par_iter().with_min_len(1 << 16);
        all.map(|x| f64::from(x - round(*x)).powi(2)).sum()
    };
    let largest = weights.par_iter().with_min_len(1 << 16);
    let largest = f64::from(largest.map(|x| x.abs()).reduce(|| 0.0, f32::max));
    if largest > LARGEST {
        return Some(format!(
            "`{name}` reaches {largest:.3e}, float16 ends at 65,504"
        ));
    }
    let (size, lost) = (squares(|_| 0.0), squares(|x| f16::from_f32(x).to_f32()));
    if lost > size * FINEST && lost > squares(|x| bf16::from_f32(x).to_f32()) {
        let share = 100.0 * (lost / size).sqrt();
        return Some(format!(
            "`{name}` is so small that float16 loses {share:.2} % of it"
        ));
    }
    // A normed row has at most the square root of its width in one place.
    let reach = (largest + 1.0) * (weights.len() as f64).sqrt();
    (name.contains("norm") && reach > LARGEST)
        .then(|| format!("rows behind `{name}` may reach {reach:.3e}"))
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

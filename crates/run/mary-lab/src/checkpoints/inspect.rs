//! What the weights of a checkpoint are, without loading them: hashes, shapes, tokenizer, and a sketch.

use half::{bf16, f16};
use mary_contract::{ModelError, ModelRef};
use mary_weights::{Checkpoint, TensorType, locate};
use serde::{Deserialize, Serialize};

/// What was found in a checkpoint's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Hash of all weights.
    pub weights: String,
    /// `model_type` of the configuration.
    pub architecture: String,
    /// Hash of tensor names and shapes.
    pub shapes: String,
    /// Hash of how a probe text is cut into tokens.
    pub tokenizer: String,
    /// Numbers in all tensors.
    pub parameters: u64,
    /// Hash and size of every matrix by name; 0 for tensors that may be the same everywhere (masks).
    pub tensors: Vec<(u64, u64)>,
    /// A few numbers of every matrix, each matrix scaled to unit size.
    pub sketch: Vec<f32>,
}

/// Words of several scripts, digits and marks: two tokenizers that agree on it are the same for us.
const PROBE: &str = "The quick onyx goblin jumps over 12,345 lazy dwarves; isn't it?\n\tfn main() { x += 1; } \
                     Straße, naïve, Ωmega, 東京.";
/// Numbers taken from each matrix.
const SAMPLES: usize = 32;
/// Matrices sketched, at most.
const MATRICES: usize = 64;
/// Tensors with fewer numbers say nothing about where they come from.
const SMALL: usize = 1_024;

/// Looks at a checkpoint. For a hub model this fetches it first.
pub fn inspect(model: &ModelRef) -> Result<Inspection, ModelError> {
    let checkpoint = if model.provider == "builtin" {
        crate::builtin::checkpoint(model)?
    } else {
        Checkpoint::open(&locate(model)?)?
    };
    of(&checkpoint)
}

fn of(checkpoint: &Checkpoint) -> Result<Inspection, ModelError> {
    let names = checkpoint.tensor_names();
    let mut weights = blake3::Hasher::new();
    let mut shapes = blake3::Hasher::new();
    let (mut tensors, mut sketch, mut parameters, mut sketched) = (vec![], vec![], 0u64, 0);
    // Matrices are spread over the whole depth of the model.
    let matrices = names.iter().filter(|n| is_matrix(checkpoint, n)).count();
    let every = matrices.div_ceil(MATRICES).max(1);
    for name in &names {
        let Some(info) = checkpoint.info(name) else {
            continue;
        };
        let numbers: usize = info.shape.iter().product();
        parameters += numbers as u64;
        shapes.update(format!("{name} {:?}\n", info.shape).as_bytes());
        let Ok(bytes) = checkpoint.read_raw(name) else {
            // Stored in a way that only gives numbers (transposed and quantised): hash those.
            for number in checkpoint.read_f32(name)? {
                weights.update(&number.to_le_bytes());
            }
            tensors.push((0, numbers as u64));
            continue;
        };
        let hash = blake3::hash(&bytes);
        weights.update(name.as_bytes()).update(hash.as_bytes());
        let telling = is_matrix(checkpoint, name) && !constant(&bytes, info.dtype);
        let short = u64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
        tensors.push((if telling { short.max(1) } else { 0 }, numbers as u64));
        if telling {
            if sketched % every == 0 {
                sketch.extend(samples(&bytes, info.dtype, numbers));
            }
            sketched += 1;
        }
    }
    Ok(Inspection {
        weights: weights.finalize().to_hex().to_string(),
        architecture: architecture(checkpoint),
        shapes: short_hash(&shapes),
        tokenizer: tokenizer(checkpoint)?,
        parameters,
        tensors,
        sketch,
    })
}

fn short_hash(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn architecture(checkpoint: &Checkpoint) -> String {
    let config = checkpoint.config();
    config
        .get("model_type")
        .and_then(|t| t.as_str())
        .unwrap_or("unknown")
        .to_owned()
}

fn tokenizer(checkpoint: &Checkpoint) -> Result<String, ModelError> {
    let encoding = checkpoint.tokenizer().encode(PROBE, false)?;
    let mut hasher = blake3::Hasher::new();
    for id in encoding.ids {
        hasher.update(&id.to_le_bytes());
    }
    Ok(short_hash(&hasher))
}

fn is_matrix(checkpoint: &Checkpoint, name: &str) -> bool {
    checkpoint.info(name).is_some_and(|info| {
        info.shape.len() >= 2
            && info.shape.iter().product::<usize>() >= SMALL
            && matches!(
                info.dtype,
                TensorType::F32 | TensorType::F16 | TensorType::BF16
            )
    })
}

fn width(dtype: TensorType) -> usize {
    if dtype == TensorType::F32 { 4 } else { 2 }
}

/// Whether every number is the same.
fn constant(bytes: &[u8], dtype: TensorType) -> bool {
    let mut numbers = bytes.chunks_exact(width(dtype));
    match numbers.next() {
        None => true,
        Some(first) => numbers.all(|n| n == first),
    }
}

/// Evenly spaced numbers of a matrix, scaled so that their mean square is 1.
fn samples(bytes: &[u8], dtype: TensorType, numbers: usize) -> Vec<f32> {
    let width = width(dtype);
    let at = |i: usize| (2 * i + 1) * numbers / (2 * SAMPLES);
    let mut values: Vec<f32> = (0..SAMPLES)
        .filter_map(|i| number(bytes.get(at(i) * width..(at(i) + 1) * width)?, dtype))
        .map(|v| if v.is_finite() { v } else { 0.0 })
        .collect();
    let square = values.iter().map(|v| v * v).sum::<f32>() / values.len().max(1) as f32;
    let scale = if square > 0.0 {
        square.sqrt().recip()
    } else {
        0.0
    };
    for value in &mut values {
        // Three digits are plenty for a cosine, and keep the state file small.
        *value = (*value * scale * 1_000.0).round() / 1_000.0;
    }
    values
}

fn number(bytes: &[u8], dtype: TensorType) -> Option<f32> {
    match (dtype, bytes) {
        (TensorType::F32, &[a, b, c, d]) => Some(f32::from_le_bytes([a, b, c, d])),
        (TensorType::BF16, &[a, b]) => Some(bf16::from_le_bytes([a, b]).to_f32()),
        (TensorType::F16, &[a, b]) => Some(f16::from_le_bytes([a, b]).to_f32()),
        _ => None,
    }
}

/// Cosine of two sketches; nothing when they cannot be compared.
pub fn similarity(a: &[f32], b: &[f32]) -> Option<f64> {
    crate::texts::observe::cosine(a, b)
}

/// Share of the weights that two checkpoints have in common, by tensors that say something.
pub fn shared(a: &Inspection, b: &Inspection) -> f64 {
    if a.shapes != b.shapes {
        return 0.0;
    }
    let pairs = || {
        a.tensors
            .iter()
            .zip(&b.tensors)
            .filter(|(x, y)| x.0 != 0 && y.0 != 0)
    };
    let all: u64 = pairs().map(|(x, _)| x.1).sum();
    let same: u64 = pairs().filter(|(x, y)| x.0 == y.0).map(|(x, _)| x.1).sum();
    if all == 0 {
        0.0
    } else {
        same as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_one_training_run_know_each_other() {
        let look =
            |revision: &str| inspect(&format!("builtin/nano@{revision}").parse().unwrap()).unwrap();
        let (early, middle, late) = (look("step512"), look("step1000"), look("step10000"));
        assert_eq!(early.shapes, late.shapes);
        assert_eq!(early.tokenizer, late.tokenizer);
        assert_ne!(early.weights, late.weights);
        assert!(similarity(&early.sketch, &middle.sketch).unwrap() > 0.7);
        assert!(shared(&early, &middle) < 0.01);
        let mut stranger = late.sketch.clone();
        stranger.rotate_left(7);
        assert!(similarity(&late.sketch, &stranger).unwrap().abs() < 0.2);
    }
}

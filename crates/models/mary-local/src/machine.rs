//! What this machine brings to models in this process, for `mary doctor` and `mary --version`.

use mary_kernels::{packed, simd};

pub fn instructions() -> String {
    let vectors = match simd::width() {
        simd::Width::V4 => "AVX-512",
        simd::Width::V3 => "AVX2",
        simd::Width::Baseline => "portable",
    };
    let tiles = if packed::has_tiles() { ", AMX" } else { "" };
    format!("{vectors}{tiles}")
}

/// What `MARY_CPU` says, where that is none of the words it takes.
pub fn misspelt_cpu() -> Option<String> {
    let said = std::env::var("MARY_CPU").ok()?;
    let known = simd::CHOICES.iter().any(|(name, _)| *name == said);
    (!known && !said.is_empty()).then_some(said)
}

/// The words that `MARY_CPU` takes.
pub fn cpu_choices() -> impl Iterator<Item = &'static str> {
    simd::CHOICES.iter().map(|(name, _)| *name)
}

/// Name and free memory in bytes of each GPU; why there is none.
pub fn gpus() -> Result<Vec<(String, Option<u64>)>, String> {
    #[cfg(feature = "cuda")]
    {
        let mut found = Vec::new();
        loop {
            match crate::kernels::cuda::gpu(found.len()) {
                Ok(gpu) => found.push(gpu),
                Err(error) if found.is_empty() => return Err(error.to_string()),
                Err(_) => return Ok(found),
            }
        }
    }
    #[cfg(not(feature = "cuda"))]
    Err("this build has no GPU support (cargo build --release --features cuda)".to_owned())
}

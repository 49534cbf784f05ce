//! Kernels as they are embedded in the program: packed PTX text, in parts that are loaded when they
//! are first used.

use std::io::Read;

use mary_contract::{ErrorKind, ModelError};

/// A table of parts: the name of each and its packed text.
#[derive(Debug, Clone, Copy)]
pub struct Parts(pub &'static [(&'static str, &'static [u8])]);

impl Parts {
    /// The text of one part; from the folder `MARY_CUDA_PTX` where someone works on the kernels.
    pub fn text(&self, name: &str) -> Result<String, ModelError> {
        let broken = |why: String| ModelError::new(ErrorKind::Internal, why);
        if let Some(folder) = std::env::var_os("MARY_CUDA_PTX") {
            let path = std::path::Path::new(&folder).join(format!("{name}.ptx"));
            return std::fs::read_to_string(&path)
                .map_err(|e| broken(format!("{}: {e}", path.display())));
        }
        let Some((_, packed)) = self.0.iter().find(|(n, _)| *n == name) else {
            return Err(broken(format!(
                "there is no part `{name}` of the CUDA kernels"
            )));
        };
        let mut text = String::new();
        flate2::read::GzDecoder::new(*packed)
            .read_to_string(&mut text)
            .map_err(|e| broken(format!("the CUDA kernels `{name}` do not unpack: {e}")))?;
        Ok(text)
    }

    /// The first part that was not compiled from this source, and what it says of itself.
    pub fn stale(&self, source: &[u8]) -> Option<String> {
        // FNV-1a, as tools/compile_cuda_kernels.py computes it.
        let fold = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        let hash = format!("{:016x}", source.iter().fold(0xcbf2_9ce4_8422_2325, fold));
        self.0.iter().find_map(|(name, _)| {
            let text = match self.text(name) {
                Ok(text) => text,
                Err(error) => return Some(format!("{name}: {error}")),
            };
            let first = text.lines().next().unwrap_or_default();
            (!first.ends_with(&hash)).then(|| format!("{name}: {first}"))
        })
    }
}

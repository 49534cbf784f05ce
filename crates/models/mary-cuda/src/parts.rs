//! Kernels embedded in the program, packed: PTX text for any GPU, or machine code for one kind.

use std::io::Read;

use mary_contract::{ErrorKind, ModelError};

#[derive(Debug, Clone, Copy)]
pub struct Parts(pub &'static [(&'static str, &'static [u8])]);

/// Both kinds begin with a line that names their source.
const MACHINE_CODE: &[u8] = b"\x7fELF";

impl Parts {
    /// A part as the driver takes it: text that ends in a zero, or machine code.
    pub(crate) fn module(&self, name: &str) -> Result<Vec<u8>, ModelError> {
        let mut content = self.content(name)?;
        let line = content
            .iter()
            .position(|&b| b == b'\n')
            .map_or(0, |n| n + 1);
        if content[line..].starts_with(MACHINE_CODE) {
            return Ok(content.split_off(line));
        }
        content.push(0);
        Ok(content)
    }

    /// The content of one part; from the folder `MARY_CUDA_PTX` where someone works on the kernels.
    fn content(&self, name: &str) -> Result<Vec<u8>, ModelError> {
        let broken = |why: String| ModelError::new(ErrorKind::Internal, why);
        if let Some(folder) = std::env::var_os("MARY_CUDA_PTX") {
            let path = std::path::Path::new(&folder).join(format!("{name}.ptx"));
            return mary_platform::read_plain(&path, mary_platform::LARGEST_DATA)
                .map_err(|e| broken(format!("{}: {e}", path.display())));
        }
        let Some((_, packed)) = self.0.iter().find(|(n, _)| *n == name) else {
            return Err(broken(format!(
                "there is no part `{name}` of the CUDA kernels"
            )));
        };
        let mut content = vec![];
        flate2::read::GzDecoder::new(*packed)
            .read_to_end(&mut content)
            .map_err(|e| broken(format!("the CUDA kernels `{name}` do not unpack: {e}")))?;
        Ok(content)
    }

    /// The first part that was compiled from none of these sources, and what it says of itself.
    pub fn stale(&self, sources: &[&[u8]]) -> Option<String> {
        // FNV-1a, as tools/compile_cuda_kernels.py computes it.
        let fold = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        let hash = |s: &&[u8]| format!("{:016x}", s.iter().fold(0xcbf2_9ce4_8422_2325, fold));
        let hashes: Vec<String> = sources.iter().map(hash).collect();
        self.0.iter().find_map(|(name, _)| {
            let content = match self.content(name) {
                Ok(content) => content,
                Err(error) => return Some(format!("{name}: {error}")),
            };
            let first = content.split(|&b| b == b'\n').next().unwrap_or_default();
            let first = String::from_utf8_lossy(first);
            let known = hashes.iter().any(|h| first.ends_with(h));
            (!known).then(|| format!("{name}: {first}"))
        })
    }
}

//! Where and how a model is opened, read from the settings that all backends share.

use mary_contract::{ErrorKind, ModelError, ModelSettings};

use crate::kernels::cpu::matmul::Multiplier;
use crate::masked::Masking;
use crate::precision::Precision;

/// Where a model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
}

impl Device {
    /// Reads `--device`.
    pub fn parse(text: Option<&str>) -> Result<Self, ModelError> {
        let text = text.unwrap_or("cpu");
        if matches!(text, "cpu" | "auto") {
            return Ok(Self::Cpu);
        }
        let number = match text.strip_prefix("cuda") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix(':').and_then(|n| n.parse().ok()),
            None => None,
        };
        let wrong = |message: String, hint: &str| {
            Err(ModelError::new(ErrorKind::BadRequest, message).hint(hint))
        };
        match number {
            Some(number) if cfg!(feature = "cuda") => Ok(Self::Cuda(number)),
            Some(_) => wrong(
                format!("`{text}` is not a device this build can use"),
                "this program was built without CUDA: see docs/cuda.md, or use --device cpu",
            ),
            None => wrong(
                format!("`{text}` is not a device"),
                "devices are cpu, cuda:0, cuda:1, …",
            ),
        }
    }
}

/// Settings of this backend, read from [`ModelSettings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Requests that are planned together, where the user fixes it.
    pub batch_size: Option<usize>,
    /// Shared beginnings are computed once.
    pub share: bool,
    /// Compare tree and plain execution when the model is opened.
    pub self_check: bool,
    /// Rows of a batch, where the user fixes it.
    pub rows: Option<usize>,
    /// How matrices are multiplied.
    pub multiplier: Multiplier,
    /// The type weights are held in.
    pub precision: Precision,
    /// How a masked language model scores.
    pub masking: Masking,
    /// Threads; 0 means all.
    pub threads: usize,
    /// Where it runs.
    pub device: Device,
    /// On a GPU, 16-bit types round the weights only, as they do on the processor.
    pub exact_rows: bool,
    /// A GPU multiplies with this program's own kernels only.
    pub own_kernels: bool,
    /// Bytes that may be taken on a GPU, where the user limits it.
    pub memory: Option<u64>,
}

impl Options {
    /// Reads and checks the settings.
    pub fn read(settings: &ModelSettings) -> Result<Self, ModelError> {
        let wrong = |message: String, hint: &str| {
            Err(ModelError::new(ErrorKind::BadRequest, message).hint(hint))
        };
        let mut options = Self {
            batch_size: settings.batch_size,
            share: true,
            self_check: false,
            rows: None,
            multiplier: Multiplier::best(),
            precision: Precision::parse(settings.dtype.as_deref())?,
            masking: Masking::default(),
            threads: settings.threads.unwrap_or(0),
            device: Device::parse(settings.device.as_deref())?,
            exact_rows: false,
            own_kernels: false,
            memory: None,
        };
        for (key, value) in &settings.args {
            match (key.as_str(), value.as_str()) {
                ("trie", "on") => options.share = true,
                ("trie", "off") => options.share = false,
                ("selfcheck", "on") => options.self_check = true,
                ("selfcheck", "off") => options.self_check = false,
                ("matmul", "vectors") => options.multiplier = Multiplier::Vectors,
                ("matmul", "auto") => options.multiplier = Multiplier::best(),
                ("matmul", "own") => options.own_kernels = true,
                ("masked", "original") => options.masking = Masking::Alone,
                ("masked", "within-word") => options.masking = Masking::WithinWord,
                // Read where the checkpoint is opened.
                ("tokenizer" | "mmproj", name) if !name.is_empty() => {}
                ("rounding", "weights") => options.exact_rows = true,
                ("rounding", "rows") => options.exact_rows = false,
                ("memory", n) if n.parse().is_ok_and(|n: u64| n > 0) => {
                    options.memory = n.parse().ok().map(|n: u64| n.saturating_mul(1_000_000));
                }
                ("rows", n) if n.parse().is_ok_and(|n: usize| n > 0) => {
                    options.rows = n.parse().ok()
                }
                _ => {
                    return wrong(
                        format!("--model-arg {key}={value} means nothing to a local model"),
                        "known: trie=on|off, selfcheck=on|off, matmul=auto|vectors|own, rounding=rows|weights, masked=within-word|original, tokenizer=FOLDER|owner/repository, mmproj=FILE, rows=N, memory=MEGABYTES",
                    );
                }
            }
        }
        Ok(options)
    }
}

impl Options {
    /// Whether rows are rounded with the weights before they are multiplied.
    pub(crate) fn rounds_rows(&self) -> bool {
        matches!(self.device, Device::Cuda(_)) && !self.exact_rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[(&str, &str)]) -> Result<Options, ModelError> {
        let args = args
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Options::read(&ModelSettings {
            args,
            ..ModelSettings::default()
        })
    }

    #[test]
    fn settings_are_read_and_misspelt_ones_refused_with_the_known() {
        assert!(!read(&[("trie", "off")]).unwrap().share);
        assert_eq!(read(&[("rows", "64")]).unwrap().rows, Some(64));
        let error = read(&[("tree", "off")]).unwrap_err();
        assert!(error.message.contains("tree=off") && error.hint.unwrap().contains("trie=on|off"));
        assert!(read(&[("rows", "0")]).is_err());
    }

    #[test]
    fn devices_are_read_and_unknown_ones_refused() {
        assert_eq!(Device::parse(Some("auto")).unwrap(), Device::Cpu);
        let error = Device::parse(Some("tpu")).unwrap_err();
        assert!(error.hint.unwrap().contains("cuda:0"));
        let gpu = Device::parse(Some("cuda:1"));
        if cfg!(feature = "cuda") {
            assert_eq!(gpu.unwrap(), Device::Cuda(1));
        } else {
            let error = gpu.unwrap_err();
            assert!(error.message.contains("cuda:1"), "{error}");
            assert!(error.hint.unwrap().contains("docs/cuda.md"));
        }
    }
}

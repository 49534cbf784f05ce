//! Where and how a model is opened, read from the settings that all backends share.

use mary_contract::{ModelError, ModelSettings};
use serde_json::Value;

use crate::errors::bad_request;
use crate::kernels::cpu::matmul::Multiplier;
use crate::precision::{Precision, SAFE_16};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
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
        match number {
            Some(number) if cfg!(feature = "cuda") => Ok(Self::Cuda(number)),
            Some(_) => Err(
                bad_request(format!("`{text}` is not a device this build can use")).hint(
                    "this program was built without CUDA: see docs/cuda.md, or use --device cpu",
                ),
            ),
            None => Err(bad_request(format!("`{text}` is not a device"))
                .hint("devices are cpu, cuda:0, cuda:1, …")),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Masking {
    /// Nothing (Salazar et al. 2020).
    Alone,
    /// The later tokens of its word (Kauf and Ivanova 2023).
    #[default]
    WithinWord,
}

impl Masking {
    /// The convention in words, as it stands beside scores.
    pub fn about(self) -> &'static str {
        match self {
            Self::Alone => {
                "pseudo-log-likelihood, one token masked at a time (Salazar et al. 2020)"
            }
            Self::WithinWord => {
                "pseudo-log-likelihood, within-word left to right (Kauf and Ivanova 2023)"
            }
        }
    }
}

/// Settings of this backend, read from [`ModelSettings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub batch_size: Option<usize>,
    /// Shared beginnings are computed once.
    pub share: bool,
    /// Compare tree and plain execution when the model is opened.
    pub self_check: bool,
    pub rows: Option<usize>,
    pub multiplier: Multiplier,
    pub precision: Precision,
    pub masking: Masking,
    /// Threads; 0 means all.
    pub threads: usize,
    pub device: Device,
    /// On a GPU, 16-bit types round the weights only, as they do on the processor.
    pub exact_rows: bool,
    /// A GPU multiplies with this program's own kernels only.
    pub own_kernels: bool,
    /// Bytes that may be taken on a GPU, where the user limits it.
    pub memory: Option<u64>,
    /// The user left the choice between 16-bit types to the program.
    pub safe_16: bool,
}

const KNOWN: &str = "known: trie=on|off, selfcheck=on|off, matmul=auto|vectors|own, rounding=rows|weights, masked=within-word|original, tokenizer=FOLDER|owner/repository, mmproj=FILE, rows=N, memory=MEGABYTES";

/// Families whose rows are known to outgrow float16, which ends at 65,504.
const WIDE_FAMILIES: &[&str] = &["gemma", "paligemma"];

impl Options {
    /// Reads and checks the settings for a checkpoint, from whose configuration `--dtype 16` is chosen.
    pub fn read_for(settings: &ModelSettings, config: &Value) -> Result<Self, ModelError> {
        let mut options = Self::read(settings)?;
        let kinds = [&config["model_type"], &config["text_config"]["model_type"]];
        let wide = kinds
            .iter()
            .filter_map(|k| k.as_str())
            .any(|kind| WIDE_FAMILIES.iter().any(|family| kind.starts_with(family)));
        if options.safe_16 && wide {
            (options.precision, options.exact_rows) = (Precision::Bf16, true);
        }
        Ok(options)
    }

    /// What was chosen for `--dtype 16`, in words.
    pub(crate) fn chosen_16(&self) -> Option<&'static str> {
        self.safe_16.then_some(match self.precision {
            Precision::Bf16 => {
                "--dtype 16: weights are rounded to bf16 and rows are not, since rows of this family \
                 outgrow f16"
            }
            _ => "--dtype 16: f16",
        })
    }

    pub fn read(settings: &ModelSettings) -> Result<Self, ModelError> {
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
            safe_16: settings.dtype.as_deref() == Some(SAFE_16),
        };
        for (key, value) in &settings.args {
            let number = value.parse::<u64>().ok().filter(|n| *n > 0);
            match (key.as_str(), value.as_str()) {
                ("trie", "on" | "off") => options.share = value == "on",
                ("selfcheck", "on" | "off") => options.self_check = value == "on",
                ("matmul", "vectors") => options.multiplier = Multiplier::Vectors,
                ("matmul", "auto") => options.multiplier = Multiplier::best(),
                ("matmul", "own") => options.own_kernels = true,
                ("masked", "original") => options.masking = Masking::Alone,
                ("masked", "within-word") => options.masking = Masking::WithinWord,
                // Read where the checkpoint is opened.
                ("tokenizer" | "mmproj", name) if !name.is_empty() => {}
                ("rounding", "weights" | "rows") => options.exact_rows = value == "weights",
                ("memory", _) if number.is_some() => {
                    options.memory = number.map(|n| n.saturating_mul(1_000_000));
                }
                ("rows", _) if number.is_some() => options.rows = number.map(|n| n as usize),
                _ => {
                    let message =
                        format!("--model-arg {key}={value} means nothing to a local model");
                    return Err(bad_request(message).hint(KNOWN));
                }
            }
        }
        Ok(options)
    }

    /// Whether rows are rounded with the weights before they are multiplied.
    pub(crate) fn rounds_rows(&self) -> bool {
        matches!(self.device, Device::Cuda(_)) && !self.exact_rows
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn sixteen_bits_are_float16_unless_rows_outgrow_it() {
        let read = |dtype: &str, config: Value| {
            let settings = ModelSettings {
                dtype: Some(dtype.to_owned()),
                ..ModelSettings::default()
            };
            let options = Options::read_for(&settings, &config).unwrap();
            (options.precision, options.exact_rows, options.chosen_16())
        };
        let (precision, exact, said) = read("16", json!({"model_type": "llama"}));
        assert_eq!((precision, exact), (Precision::F16, false));
        assert!(said.unwrap().ends_with("f16"));
        for config in [
            json!({"model_type": "gemma2"}),
            json!({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}),
            json!({"model_type": "other", "text_config": {"model_type": "gemma3_text"}}),
        ] {
            let (precision, exact, said) = read("16", config);
            assert_eq!((precision, exact), (Precision::Bf16, true));
            assert!(said.unwrap().contains("bf16"));
        }
        // Who names a type gets it.
        let (precision, exact, said) = read("f16", json!({"model_type": "gemma2"}));
        assert_eq!((precision, exact, said), (Precision::F16, false, None));
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

//! Where and how a model is opened, read from the settings that all backends share.

use std::fmt;

use mary_contract::ModelSettings;
use mary_weights::Checkpoint;

use crate::errors::{Result, bad_request};
use crate::kernels::cpu::matmul::Multiplier;
use crate::precision::{Precision, SAFE_16, outgrown};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl Device {
    /// Reads one device, or those that divide a model's layers between them: `cuda:0+cuda:1`.
    pub fn parse_all(text: Option<&str>) -> Result<Vec<Self>> {
        let names = text.unwrap_or("cpu").split('+');
        let all = names.map(|name| Self::parse(Some(name.trim())));
        Self::of_one_kind(all.collect::<Result<_, _>>()?, text)
    }

    /// A model must give the same numbers wherever a request or a layer ends up.
    pub(crate) fn of_one_kind(all: Vec<Self>, text: Option<&str>) -> Result<Vec<Self>> {
        let gpus = all.iter().filter(|d| matches!(d, Self::Cuda(_)));
        if [0, all.len()].contains(&gpus.count()) {
            return Ok(all);
        }
        let message = format!(
            "`{}` mixes the processor with GPUs",
            text.unwrap_or_default()
        );
        Err(bad_request(message)
            .hint("they round differently: name GPUs only, for example --device cuda:0,cuda:1"))
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn number(self) -> usize {
        match self {
            Self::Cpu => 0,
            Self::Cuda(number) => number,
        }
    }

    /// Reads the name of one device.
    pub fn parse(text: Option<&str>) -> Result<Self> {
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
                .hint(
                "devices are cpu, cuda:0, cuda:1, …; cuda:0,cuda:1 opens a copy on each, cuda:0+cuda:1 divides the \
                 layers between them",
            )),
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
#[derive(Debug, Clone, PartialEq)]
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
    /// One, or those that divide the layers between them.
    pub devices: Vec<Device>,
    /// On a GPU, 16-bit types round the weights only, as they do on the processor.
    pub exact_rows: bool,
    /// A GPU multiplies with this program's own kernels only.
    pub own_kernels: bool,
    /// Bytes that may be taken on the GPU, or on the processor for weights and texts, where the user limits it.
    pub memory: Option<u64>,
    /// Blocks that are held in memory, where the user says; the others are fetched.
    pub held: Option<usize>,
    /// The user left the choice between 16-bit types to the program.
    pub safe_16: bool,
    /// Every matrix is shuffled by this seed: the model as it is without what it learned.
    pub untrained: Option<u64>,
    /// A file of directions that are added after the blocks, and how many times.
    pub steer: Option<(std::path::PathBuf, f32)>,
    /// Why that is not float16.
    pub outgrown: Option<String>,
}

const KNOWN: &str = "known: trie=on|off, selfcheck=on|off, matmul=auto|vectors|own, rounding=rows|weights, masked=within-word|original, tokenizer=FOLDER|owner/repository, mmproj=FILE, rows=N, memory=MEGABYTES, held=BLOCKS, untrained=SEED, steer=FILE, steer=FACTOR*FILE";

impl Options {
    /// Reads and checks the settings for a checkpoint, from whose weights `--dtype 16` is chosen.
    pub fn read_for(settings: &ModelSettings, checkpoint: &Checkpoint) -> Result<Self> {
        let mut options = Self::read(settings)?;
        if options.safe_16 {
            options.outgrown = outgrown(checkpoint)?;
        }
        if options.outgrown.is_some() {
            (options.precision, options.exact_rows) = (Precision::Bf16, true);
        }
        Ok(options)
    }

    /// What was chosen for `--dtype 16`, in words.
    pub(crate) fn chosen_16(&self) -> Option<String> {
        self.safe_16.then(|| match &self.outgrown {
            Some(why) => format!("--dtype 16: weights are rounded to bf16 and rows are not: {why}"),
            None => "--dtype 16: every weight was looked at and fits f16".to_owned(),
        })
    }

    pub fn read(settings: &ModelSettings) -> Result<Self> {
        let mut options = Self {
            batch_size: settings.batch_size,
            share: true,
            self_check: false,
            rows: None,
            multiplier: Multiplier::best(),
            precision: Precision::parse(settings.dtype.as_deref())?,
            masking: Masking::default(),
            threads: settings.threads.unwrap_or(0),
            devices: Device::parse_all(settings.device.as_deref())?,
            exact_rows: false,
            own_kernels: false,
            memory: None,
            held: None,
            safe_16: settings.dtype.as_deref() == Some(SAFE_16),
            untrained: None,
            steer: None,
            outgrown: None,
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
                ("held", _) if value.parse::<u32>().is_ok() => options.held = value.parse().ok(),
                ("untrained", _) if value.parse::<u64>().is_ok() => {
                    options.untrained = value.parse().ok();
                }
                ("steer", file) if !file.is_empty() => {
                    let parts = file.split_once('*');
                    let factor = parts.and_then(|(n, file)| Some((file, n.parse().ok()?)));
                    let (file, factor) = factor.unwrap_or((file, 1.0));
                    options.steer = Some((file.into(), factor));
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

    /// Where the first layers are.
    pub fn device(&self) -> Device {
        self.devices.first().copied().unwrap_or(Device::Cpu)
    }

    /// Whether rows are rounded with the weights before they are multiplied.
    pub(crate) fn rounds_rows(&self) -> bool {
        matches!(self.device(), Device::Cuda(_)) && !self.exact_rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[(&str, &str)]) -> Result<Options> {
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

    /// A tiny checkpoint, with numbers of one tensor changed.
    fn altered(golden: &str, name: &str, change: impl Fn(f32) -> f32) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        for file in std::fs::read_dir(from.join(golden)).unwrap().flatten() {
            std::fs::copy(file.path(), place.path().join(file.file_name())).unwrap();
        }
        let path = place.path().join("model.safetensors");
        let mut bytes = std::fs::read(&path).unwrap();
        let head = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..head]).unwrap();
        let offsets = &header[name]["data_offsets"];
        let [from, to] = [0, 1].map(|i| head + offsets[i].as_u64().unwrap() as usize);
        for number in bytes[from..to].chunks_exact_mut(4) {
            let old = f32::from_le_bytes(*number.first_chunk().unwrap());
            number.copy_from_slice(&change(old).to_le_bytes());
        }
        std::fs::write(&path, bytes).unwrap();
        place
    }

    #[test]
    fn sixteen_bits_are_float16_where_its_weights_fit_whatever_the_family() {
        let read = |dtype: &str, folder: &tempfile::TempDir| {
            let settings = ModelSettings {
                dtype: Some(dtype.to_owned()),
                ..ModelSettings::default()
            };
            let checkpoint = Checkpoint::open(folder.path()).unwrap();
            let options = Options::read_for(&settings, &checkpoint).unwrap();
            (options.precision, options.exact_rows, options.chosen_16())
        };
        // Gemma's reputation is no reason.
        let small = altered("gemma3", "model.norm.weight", |x| x);
        let (precision, exact, said) = read("16", &small);
        assert_eq!((precision, exact), (Precision::F16, false));
        assert!(said.unwrap().ends_with("f16"));
        let up = "model.layers.0.mlp.up_proj.weight";
        type Case<'a> = (&'a str, fn(f32) -> f32, &'a str);
        let cases: [Case<'_>; 3] = [
            (up, |x| x * 1e7, "reaches"),
            (up, |x| x * 1e-6, "loses"),
            ("model.norm.weight", |x| x * 2e4, "rows behind"),
        ];
        for (name, change, why) in cases {
            let folder = altered("llama", name, change);
            let (precision, exact, said) = read("16", &folder);
            assert_eq!(
                (precision, exact),
                (Precision::Bf16, true),
                "{name} {said:?}"
            );
            let said = said.unwrap();
            assert!(said.contains(why) && said.contains(name), "{said}");
            // Who names a type gets it.
            let (precision, exact, said) = read("f16", &folder);
            assert_eq!((precision, exact, said), (Precision::F16, false, None));
        }
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

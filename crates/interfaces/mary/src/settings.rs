//! Where things are kept: arguments, then environment, then `mary.toml`, then the system's usual places.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::Registry;
use mary_fetch::datasets::LocalData;

use crate::cli::PlaceArgs;

#[derive(Debug, Clone)]
pub struct Place {
    pub registry: Registry,
    pub runs: PathBuf,
    /// Upstream datasets in their own layout, if the user has a mirror.
    pub data: Option<PathBuf>,
    /// Answers, datasets and models kept between runs.
    pub cache: PathBuf,
}

impl Place {
    /// Resolves arguments and `mary.toml`; `registry` is what there is to be run.
    pub fn resolve(args: &PlaceArgs, registry: Registry) -> anyhow::Result<Self> {
        // What else may stand there is the reader of options' (`cli::defaults`).
        let file: PlaceArgs = parsed(Path::new("mary.toml"))?;
        let usual = || {
            directories::ProjectDirs::from("", "", "mary").map_or_else(
                || PathBuf::from(".mary-cache"),
                |dirs| dirs.cache_dir().to_owned(),
            )
        };
        Ok(Self {
            registry,
            runs: args
                .output_path
                .clone()
                .or(file.output_path)
                .unwrap_or_else(|| "runs".into()),
            data: args.data_dir.clone().or(file.data_dir),
            cache: args
                .cache_dir
                .clone()
                .or(file.cache_dir)
                .unwrap_or_else(usual),
        })
    }

    pub fn answers(&self) -> PathBuf {
        self.cache.join("answers.sqlite")
    }

    pub fn surveys(&self) -> PathBuf {
        self.cache.join("surveys")
    }

    pub fn datasets(&self) -> PathBuf {
        self.cache.join("datasets")
    }

    pub fn local_data(&self) -> LocalData {
        LocalData::new(self.data.clone(), self.datasets())
    }
}

/// All that `mary.toml` in the working folder says; nothing where there is none.
pub fn read_file() -> anyhow::Result<toml::Table> {
    parsed(Path::new("mary.toml"))
}

fn parsed<T: serde::de::DeserializeOwned + Default>(path: &Path) -> anyhow::Result<T> {
    match mary_platform::read_plain_text(path, mary_platform::LARGEST_SETTINGS) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
        Ok(text) => toml::from_str(&text)
            .map_err(|e| crate::exit::UsageError::new(format!("{}: {e}", path.display())).into()),
    }
}

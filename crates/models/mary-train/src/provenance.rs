//! What made a derived model: base, data, settings and seed, in a file beside it, so that it is used
//! again only where all of them are the same.

use std::path::Path;

use mary_weights::Checkpoint;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::hf::{read_if_there, write_whole};
use crate::{Result, Storage, TrainError, TuneSettings, TuningRecipe};

/// The file beside an adapter or a merged model.
pub const PROVENANCE: &str = "provenance.json";

/// The file of a merged model whose base is a GGUF file.
pub(crate) const MERGED_GGUF: &str = "model.gguf";

const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub schema: u32,
    /// The program that made it; for people, two versions of it may make the same adapter.
    pub program: String,
    /// Fingerprint of the base model: weights, configuration and tokenizer.
    pub base: String,
    /// Content hash of the tuning set.
    pub data: String,
    /// Seed of the adapters, the order, the split and the dropout.
    pub seed: u64,
    /// Everything else that decides the numbers.
    pub settings: TuningRecipe,
    /// How the tuning ended; follows from the rest, so that it is not compared. Absent in older files,
    /// which were written for finished tunings alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    pub steps: u64,
    pub of: u64,
    pub kept: u64,
    pub end: End,
}

/// Why a tuning did no further step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Finished,
    /// The loss on what is kept back fell no further.
    Early,
    /// The user stopped it; the same command goes on with it.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergedProvenance {
    pub schema: u32,
    pub program: String,
    pub base: String,
    /// Content hash of the adapter's weights and configuration.
    pub adapter: String,
    pub storage: String,
    /// What the adapter was made from, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<Provenance>,
}

/// Whether what lies in a folder may be used for what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reuse {
    Nothing,
    /// It was made from the very same.
    Same,
    /// It is being made from the very same and was stopped; tuning goes on from there.
    Unfinished,
    /// It was made from something else, difference by difference, or nobody knows from what.
    Other(Vec<String>),
}

impl Provenance {
    /// What these settings would make an adapter from. Reads the base model and the tuning set.
    pub fn planned(settings: &TuneSettings) -> Result<Self> {
        Ok(Self {
            schema: SCHEMA,
            program: program(),
            base: fingerprint(&settings.model)?.0,
            data: hash_of(&[&settings.data])?,
            seed: settings.seed,
            settings: settings.recipe.clone(),
            ending: None,
        })
    }

    /// Whether the adapter in a folder is the one this would make.
    pub fn reuse(&self, folder: &Path) -> Result<Reuse> {
        let there = reuse(folder, &["adapter_config.json"], self)?;
        Ok(
            match there == Reuse::Same && read::<Self>(folder)?.is_some_and(|f| f.is_interrupted())
            {
                true => Reuse::Unfinished,
                false => there,
            },
        )
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.ending.is_some_and(|e| e.end == End::Interrupted)
    }
}

impl MergedProvenance {
    /// What merging this adapter into this base would make a model from. Of a GGUF file only the matrices
    /// that the adapter changes are stored anew, in 32 bits.
    pub fn planned(base: &Path, adapter: &Path, storage: Storage) -> Result<Self> {
        let (base, gguf) = fingerprint(base)?;
        let storage = match gguf {
            true => "as stored, changed matrices in float32",
            false => storage.name(),
        };
        Ok(Self {
            schema: SCHEMA,
            program: program(),
            base,
            adapter: hash_of(&[
                &adapter.join("adapter_config.json"),
                &adapter.join("adapter_model.safetensors"),
            ])?,
            storage: storage.to_owned(),
            tuned: read(adapter)?,
        })
    }

    /// What the model in a folder was made from; None where it does not say, or was not merged here.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        // Other tools may call a file so: what is none of ours says nothing.
        let text = read_if_there(&folder.join(PROVENANCE))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Whether the model in a folder is the one this would make.
    pub fn reuse(&self, folder: &Path) -> Result<Reuse> {
        reuse(folder, &["config.json", MERGED_GGUF], self)
    }
}

/// Before a folder's files are replaced: what it said of them no longer holds.
pub(crate) fn forget(folder: &Path) -> Result<()> {
    crate::hf::remove(&folder.join(PROVENANCE))
}

fn program() -> String {
    format!("mary {}", env!("CARGO_PKG_VERSION"))
}

/// A model's fingerprint, and whether it is a GGUF file.
fn fingerprint(model: &Path) -> Result<(String, bool)> {
    let fail = |e: mary_contract::ModelError| TrainError::content(model, e);
    let checkpoint = Checkpoint::open(model).map_err(fail)?;
    Ok((
        checkpoint.fingerprint().map_err(fail)?,
        checkpoint.is_gguf(),
    ))
}

fn hash_of(files: &[&Path]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for path in files {
        let file = mary_platform::open_plain(path).map_err(TrainError::file(path))?;
        let size = file.metadata().map_err(TrainError::file(path))?.len();
        let most = mary_platform::LARGEST_DATA;
        if size > most {
            let problem = format!("expected a file of at most {most} bytes, found {size}");
            return Err(TrainError::content(path, problem));
        }
        hasher.update(&size.to_le_bytes());
        let read = hasher.update_reader(file);
        read.map_err(TrainError::file(path))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn read<T: DeserializeOwned>(folder: &Path) -> Result<Option<T>> {
    let path = folder.join(PROVENANCE);
    let text = read_if_there(&path)?;
    let read = text.map(|text| serde_json::from_str(&text)).transpose();
    read.map_err(|e| TrainError::content(&path, e))
}

pub(crate) fn write(folder: &Path, what: &impl Serialize) -> Result<()> {
    let path = folder.join(PROVENANCE);
    let text = serde_json::to_string_pretty(what).map_err(|e| TrainError::content(&path, e))?;
    write_whole(&path, format!("{text}\n").as_bytes())
}

/// `signs` are the files of which one is there where something is.
fn reuse<T>(folder: &Path, signs: &[&str], wanted: &T) -> Result<Reuse>
where
    T: Serialize + DeserializeOwned,
{
    if !signs.iter().any(|sign| folder.join(sign).exists()) {
        return Ok(Reuse::Nothing);
    }
    let Some(found) = read::<T>(folder)? else {
        return Ok(Reuse::Other(vec![format!(
            "it has no {PROVENANCE}, so nobody knows what it was made from"
        )]));
    };
    let value = |what: &T| {
        serde_json::to_value(what).map_err(|e| TrainError::content(&folder.join(PROVENANCE), e))
    };
    let mut differences = Vec::new();
    compare("", &value(&found)?, &value(wanted)?, &mut differences);
    Ok(if differences.is_empty() {
        Reuse::Same
    } else {
        Reuse::Other(differences)
    })
}

/// Every field in which two provenances differ, with both values.
fn compare(path: &str, there: &Value, wanted: &Value, out: &mut Vec<String>) {
    match (there, wanted) {
        _ if there == wanted => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k)));
            for key in keys.filter(|k| !["program", "ending"].contains(&k.as_str())) {
                let inner = match path {
                    "" | "settings" | "tuned" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                let none = &Value::Null;
                let (a, b) = (a.get(key).unwrap_or(none), b.get(key).unwrap_or(none));
                compare(&inner, a, b, out);
            }
        }
        _ => out.push(format!(
            "{path} was {}, is now {}",
            brief(there),
            brief(wanted)
        )),
    }
}

/// Hashes are long; their beginning tells them apart.
fn brief(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.len() > 16 => format!("{}…", text.chars().take(12).collect::<String>()),
        _ => value.to_string(),
    }
}

//! A tuned model as a folder: adapter and merged weights, made where they are not there, or not from
//! the same.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{TuneEvent, TuneReport, TuneSettings, merge, merged_model, tune};
use crate::provenance::{MergedProvenance, Provenance, Reuse};
use crate::{Result, Storage, TrainError};

#[derive(Debug)]
pub struct Derived {
    /// The merged model: a folder, or a GGUF file where the base is one.
    pub merged: PathBuf,
    /// What tuning did; absent where the adapter was there already.
    pub tuned: Option<TuneReport>,
}

/// Tunes and merges into `settings.out` and its folder `merged`, unless both are there and were made
/// from the same base, data, settings and seed. What was made from something else is made again;
/// `on_event` is told in a note what differs.
pub fn derive(
    settings: &TuneSettings,
    on_event: &mut dyn FnMut(TuneEvent) -> ControlFlow<()>,
) -> Result<Derived> {
    let (base, adapter) = (&settings.model, &settings.out);
    let tuned = match Provenance::planned(settings)?.reuse(adapter)? {
        Reuse::Same => None,
        Reuse::Nothing | Reuse::Unfinished => Some(tune(settings, on_event)?),
        Reuse::Other(differences) => {
            let note = format!(
                "{}: tuned again, since the adapter there is another: {}",
                adapter.display(),
                differences.join("; ")
            );
            // A stop is heard at the first step of the tuning itself.
            let _ = on_event(TuneEvent::Note(note));
            Some(tune(settings, on_event)?)
        }
    };
    if let Some(report) = tuned.as_ref().filter(|report| !report.finished) {
        return Err(TrainError::Stopped {
            step: report.losses.len() as u64,
            of: report.steps,
        });
    }
    let merged = adapter.join("merged");
    let wanted = MergedProvenance::planned(base, adapter, Storage::F32)?;
    if wanted.reuse(&merged)? != Reuse::Same {
        merge_whole(base, adapter, &merged)?;
    }
    Ok(Derived {
        merged: merged_model(&merged),
        tuned,
    })
}

/// Beside its place first: a folder that is there is a folder that is whole.
fn merge_whole(base: &Path, adapter: &Path, merged: &Path) -> Result<()> {
    let unfinished = adapter.join("merging");
    merge(base, adapter, &unfinished, Storage::F32)?;
    if merged.exists() {
        std::fs::remove_dir_all(merged).map_err(TrainError::file(merged))?;
    }
    std::fs::rename(&unfinished, merged).map_err(TrainError::file(merged))
}

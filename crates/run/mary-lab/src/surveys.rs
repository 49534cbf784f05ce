//! What a first pass over a task's items found, kept between processes: a finished run that is asked again, a resumed
//! one or another model's need not draw thousands of items only to count them.

use std::path::Path;
use std::time::UNIX_EPOCH;

use mary_contract::{Limit, Task, TaskRun, TaskSettings};

use crate::engine::EngineError;
use crate::engine::select::{Survey, survey};
use crate::{Laboratory, manifest};

/// Bytes of a kept survey: the places of some millions of items.
const LARGEST: u64 = 64 << 20;

impl Laboratory {
    /// Surveys a task's items, or finds what was found before.
    pub(crate) fn survey(
        &self,
        task: &dyn Task,
        settings: &TaskSettings,
        limit: Option<Limit>,
    ) -> Result<Survey, EngineError> {
        let kept = self.surveys.as_ref().and_then(|folder| {
            let run = manifest::task_run(self, task, settings.clone(), limit);
            Some(folder.join(format!("{}.json", key(&run)?)))
        });
        if let Some(known) = kept.as_deref().and_then(read) {
            return Ok(known);
        }
        let found = survey(task, settings, self.source(), limit)?;
        if let Some(path) = kept {
            // Whoever cannot keep it draws again the next time.
            let _ = write(&path, &found);
        }
        Ok(found)
    }
}

/// Beside what a manifest says of a task, the program itself: items are its code's doing.
fn key(run: &TaskRun) -> Option<String> {
    let program = std::env::current_exe().ok()?.metadata().ok()?;
    let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let stamp = (program.len(), built.as_nanos());
    let bytes = serde_json::to_vec(&(run, stamp)).ok()?;
    Some(blake3::hash(&bytes).to_hex().to_string())
}

fn read(path: &Path) -> Option<Survey> {
    serde_json::from_slice(&mary_platform::read_plain(path, LARGEST).ok()?).ok()
}

fn write(path: &Path, found: &Survey) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    mary_platform::replace_file(path, &serde_json::to_vec(found)?)
}

//! Task files in a folder of their own.

use std::path::PathBuf;

use mary_contract::{Item, NoData, Task, TaskError, TaskSettings};
use mary_taskfile::{OwnTask, TaskFileError};

/// A folder with a task file and its data.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// `mytask.toml` and one file of data.
    pub fn new(task: &str, data: (&str, &[u8])) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mytask.toml"), task).unwrap();
        std::fs::write(folder.path().join(data.0), data.1).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn task(&self) -> Result<OwnTask, TaskFileError> {
        OwnTask::read(&self.path("mytask.toml"))
    }

    /// All items under these settings.
    pub fn items(&self, settings: &TaskSettings) -> Result<Vec<Item>, TaskError> {
        let task = self.task().unwrap();
        task.items(settings, &NoData)?.collect()
    }

    /// What is wrong with the task file, or with its rows.
    pub fn fault(&self) -> String {
        match self.task() {
            Err(error) => error.to_string(),
            Ok(task) => match task.items(&TaskSettings::default(), &NoData) {
                Err(error) => error.to_string(),
                Ok(mut items) => items
                    .find_map(Result::err)
                    .expect("something is wrong")
                    .to_string(),
            },
        }
    }
}

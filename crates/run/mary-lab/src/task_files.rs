//! Tasks of one's own: files that a user or a stored run names, read into a registry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::{Registry, RunManifest, Task};
use mary_taskfile::{DesignTask, OwnTask};

use crate::RunError;

fn ending(path: &Path) -> String {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    ending.to_ascii_lowercase()
}

/// Whether a word names a task file: one of Mary's own, a suite of SyntaxGym, or a dataset as Inspect has
/// them, which is a task by itself. Those of lm-evaluation-harness (.yaml) are known, to say how they are imported.
///
/// ```
/// assert!(mary_lab::is_task_file("./mine.toml") && mary_lab::is_task_file("rows.jsonl"));
/// assert!(!mary_lab::is_task_file("htest/rhyme"));
/// ```
pub fn is_task_file(word: &str) -> bool {
    let path = Path::new(word.trim());
    matches!(ending(path).as_str(), "toml" | "yaml" | "yml") || is_dataset(path)
}

fn is_dataset(path: &Path) -> bool {
    matches!(ending(path).as_str(), "jsonl" | "json" | "csv")
}

/// The task files that a command line names.
pub fn files_named(command: &[String]) -> Vec<PathBuf> {
    let parts = command.iter().flat_map(|word| {
        let value = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => value,
            _ => word,
        };
        value.split(',')
    });
    let files = parts.filter(|part| is_task_file(part));
    files.map(PathBuf::from).collect()
}

fn read(file: &Path) -> Result<Arc<dyn Task>, RunError> {
    if matches!(ending(file).as_str(), "yaml" | "yml") {
        let file = file.display();
        return Err(RunError::Specification(format!(
            "{file}: task files of lm-evaluation-harness are imported once, with its own Python package\n\
             hint: `mary tasks import {file} --to FOLDER`, then `mary run -t FOLDER/NAME.toml`"
        )));
    }
    if let Some(design) = DesignTask::read(file)? {
        return Ok(Arc::new(design));
    }
    Ok(match is_dataset(file) {
        true => Arc::new(OwnTask::of_dataset(file)?),
        false => Arc::new(OwnTask::read(file)?),
    })
}

/// Reads task files into a registry.
pub struct TaskFiles<'a> {
    /// Where the tasks go.
    pub registry: &'a mut Registry,
    /// What a user should know but stops nothing: files that are gone.
    pub notes: Vec<String>,
}

impl TaskFiles<'_> {
    /// Reads the files among these names of tasks, and replaces each by the id of its task.
    pub fn take_in(&mut self, names: &mut Vec<String>) -> Result<(), RunError> {
        for name in std::mem::take(names) {
            if !is_task_file(&name) {
                names.push(name);
                continue;
            }
            names.push(self.add_file(Path::new(name.trim()))?);
        }
        Ok(())
    }

    /// Adds the task of a file and returns its id.
    pub fn add_file(&mut self, file: &Path) -> Result<String, RunError> {
        let task = read(file)?;
        let id = task.card().id.to_string();
        self.add(task, file)?;
        Ok(id)
    }

    /// Adds a task; the same one named twice is one.
    fn add(&mut self, task: Arc<dyn Task>, file: &Path) -> Result<(), RunError> {
        let (card, file) = (task.card(), file.display());
        if let Some(there) = self.registry.task(&card.id)
            && there.card().content == card.content
        {
            return Ok(());
        }
        if let Some(family) = self.registry.family(&card.family) {
            return Err(RunError::Specification(format!(
                "{file}: the task calls itself `{}`, and `{}` is a family of Mary's own\n\
                 hint: give it a `name` of another family",
                card.id,
                family.id()
            )));
        }
        let added = self.registry.add_task(task);
        added.map_err(|e| RunError::Specification(format!("{file}: {e}")))
    }

    /// Reads the task files of a stored run from where its command line says they were, and notes what is
    /// gone. `made` gives the task of a run that was made from its own command (scored or observed texts).
    pub fn recall<E: std::fmt::Display>(
        &mut self,
        manifest: &RunManifest,
        made: impl FnOnce(&RunManifest) -> Option<Result<Arc<dyn Task>, E>>,
    ) {
        let registry = &self.registry;
        let wanted: Vec<&str> = manifest
            .tasks
            .iter()
            .filter(|task| task.content.is_some() && registry.task(&task.id).is_none())
            .map(|task| task.id.as_str())
            .collect();
        if wanted.is_empty() {
            return;
        }
        let mut found: Vec<(PathBuf, Arc<dyn Task>)> = Vec::new();
        let mut trouble = None;
        match made(manifest) {
            Some(Ok(task)) => found.push((PathBuf::new(), task)),
            Some(Err(error)) => trouble = Some(error.to_string()),
            None => {
                for file in files_named(&manifest.command) {
                    match read(&file) {
                        Ok(task) => found.push((file, task)),
                        Err(error) => trouble = Some(error.to_string()),
                    }
                }
            }
        }
        for (file, task) in found {
            if wanted.contains(&&*task.card().id) {
                // Of another content, the registry will say that it has changed.
                let _ = self.add(task, &file);
            }
        }
        for id in wanted {
            if let Some(error) = trouble
                .as_ref()
                .filter(|_| self.registry.task(id).is_none())
            {
                self.notes.push(format!("{id}: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_command_lines() {
        let command = [
            "run",
            "-t",
            "stats,./a.toml",
            "--tasks=/x/b.toml",
            "-m",
            "hf/c",
        ];
        let found = files_named(&command.map(String::from));
        assert_eq!(
            found,
            [PathBuf::from("./a.toml"), PathBuf::from("/x/b.toml")]
        );
    }
}

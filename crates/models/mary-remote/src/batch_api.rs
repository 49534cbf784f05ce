//! The way into a provider's batch API, whatever its format: every question waits for its answer.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::{ErrorKind, ModelError};
use serde_json::Value;

use crate::batch_state::BatchPart;
use crate::batch_state::Results;
use crate::connection::{Body, Connection, Question};
use crate::format::{BatchFormat, Progress};
use crate::options::Result;
use crate::queue::wait;
use crate::wire::{ReadError, list_at, text};

/// Most pages of a provider's list that are looked through.
const MOST_PAGES: usize = 50;

/// How often a batch that may have been created is in the provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    Nowhere,
    /// With the provider's name for it.
    Once(String),
    Often(usize),
}

pub(crate) enum Creation {
    /// The provider's name for it.
    Done(String),
    Failed(ModelError),
    /// It may have been created though no answer says so.
    Unsure(ModelError),
}

pub(crate) struct BatchApi<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) format: &'static dyn BatchFormat,
}

impl BatchApi<'_> {
    fn ask<T: Send>(&self, question: Question<'_, T>) -> Result<T> {
        wait(self.connection.ask(question)).map(|received| received.answer)
    }

    /// Hands over what does not cost anything yet and returns the body that creates the batch.
    pub(crate) fn prepare(&self, name: &str, requests: Vec<(String, Value)>) -> Result<Value> {
        let file = match self.format.upload(&requests) {
            Some(upload) => {
                let body = Body::Raw(upload.content_type, &upload.bytes);
                Some(self.ask(Question::new(upload.path, body, &read_id))?)
            }
            None => None,
        };
        Ok(self.format.body(name, requests, file.as_deref()))
    }

    /// Creates a batch; this is sent once.
    pub(crate) fn create(&self, body: &Value) -> Creation {
        let unsure = AtomicBool::new(false);
        let created = self.ask(Question {
            once: Some(&unsure),
            ..Question::post(self.format.path(), &|_| body.clone(), &read_id)
        });
        match created {
            Ok(id) => Creation::Done(id),
            Err(error) if unsure.load(Ordering::Relaxed) => Creation::Unsure(error),
            Err(error) => Creation::Failed(error),
        }
    }

    /// The provider's names for all batches it lists, so that a new one can be told from them. Only
    /// where batches keep no name of ours.
    pub(crate) fn known(&self) -> Result<Vec<String>> {
        if self.format.keeps_names() {
            return Ok(Vec::new());
        }
        let listed = self.list()?;
        Ok(listed.iter().filter_map(|b| text(b, "/id")).collect())
    }

    fn list(&self) -> Result<Vec<Value>> {
        let (base, after) = (self.format.path(), self.format.after());
        let mut all: Vec<Value> = Vec::new();
        let mut path = format!("{base}?limit=100");
        for _ in 0..MOST_PAGES {
            let (listed, more) = self.ask(Question::get(&path, &|raw| {
                let listed = list_at(raw, "/data").cloned();
                let listed = listed.ok_or_else(|| ReadError::missing("list of batches"))?;
                let more = raw.get("has_more").and_then(Value::as_bool);
                Ok((listed, more.unwrap_or(false)))
            }))?;
            let last = listed.last().and_then(|one| text(one, "/id"));
            all.extend(listed);
            match last {
                Some(last) if more => {
                    path = format!("{base}?limit=100&{after}={}", checked(&last)?)
                }
                _ => break,
            }
        }
        Ok(all)
    }

    pub(crate) fn find(&self, part: &BatchPart) -> Result<Listed> {
        let listed = self.list()?;
        let ours = listed.iter().filter(|b| self.format.is_part(b, part));
        let mut ids: Vec<String> = ours.filter_map(|one| text(one, "/id")).collect();
        Ok(match ids.len() {
            0 => Listed::Nowhere,
            1 => Listed::Once(ids.remove(0)),
            many => Listed::Often(many),
        })
    }

    pub(crate) fn look(&self, id: &str) -> Result<Progress> {
        let path = format!("{}/{}", self.format.path(), checked(id)?);
        self.ask(Question::get(&path, &|raw| {
            let progress = self.format.progress(id, raw);
            progress.ok_or_else(|| ReadError::missing("status of the batch"))
        }))
    }

    /// Fetches the answers of a batch that has ended into files whose names begin with `beside`.
    pub(crate) fn fetch(
        &self,
        progress: &Progress,
        beside: &Path,
        results: &mut Results,
    ) -> Result<()> {
        for (number, file) in progress.files.iter().enumerate() {
            // An address in the answer is not followed: the key goes only where the user sent it.
            let path = self.format.file_path(checked(file)?);
            let mut file = beside.as_os_str().to_owned();
            file.push(format!(".{}-{number}.jsonl", checked(&progress.id)?));
            let file = PathBuf::from(file);
            self.ask(Question {
                file: Some(&file),
                ..Question::get(&path, &|_| Ok(()))
            })?;
            results.add(&file)?;
        }
        Ok(())
    }

    /// What a line of a batch's answers says, free of keys.
    pub(crate) fn outcome(&self, mut line: Value) -> Result<Value> {
        let scrubber = &self.connection.http.scrubber;
        scrubber.value(&mut line);
        self.format.outcome(&line).map_err(|e| scrubber.error(e))
    }
}

fn read_id(raw: &Value) -> Result<String, ReadError> {
    text(raw, "/id").ok_or_else(|| ReadError::missing("id"))
}

/// A provider's name for something becomes part of an address; it must not lead elsewhere.
fn checked(id: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.is_empty() && id.chars().all(plain) {
        return Ok(id);
    }
    let message = "the provider's name for a batch holds characters that do not belong there";
    Err(ModelError::new(ErrorKind::Transport, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for bad in ["", "../x", "a/b", "a?b", "a b"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
        assert!(checked("msgbatch_01-x").is_ok());
    }
}

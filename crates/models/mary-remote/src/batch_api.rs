//! The two batch APIs: OpenAI Batch (a file of requests, a batch, a file of answers) and Anthropic
//! Message Batches (one list in, one list out).
//!
//! Schemas: platform.openai.com/docs/api-reference/batch, docs.anthropic.com/en/api/creating-message-batches.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use mary_contract::{ErrorKind, ModelError};
use reqwest::Method;
use serde_json::{Value, json};

use crate::api_error::complaint;
use crate::batch::BatchPart;
use crate::batch_results::Results;
use crate::connection::{Body, Question};
use crate::model::Remote;
use crate::wire::{Unreadable, count, text};

/// What is submitted as one batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Submission {
    pub(crate) requests: Vec<(String, Value)>,
    /// About how large it is.
    pub(crate) bytes: usize,
    /// Dollars it may cost.
    pub(crate) estimate: f64,
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    pub(crate) id: String,
    pub(crate) ended: bool,
    /// In the provider's words.
    pub(crate) said: String,
    pub(crate) done: u64,
    pub(crate) total: u64,
    /// Every request has been seen to, one way or another; a batch that ended otherwise (expired,
    /// cancelled) may lack some.
    pub(crate) complete: bool,
    /// Files that hold answers (OpenAI).
    files: Vec<String>,
}

/// Which batch API a service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchDialect {
    /// A file of requests, a batch, a file of answers.
    OpenAi,
    /// One list in, one list out.
    Anthropic,
}

/// Most pages of a provider's list of batches that are looked through.
const MOST_PAGES: usize = 50;

/// A batch that may have been created, as far as the provider's list tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    One(String),
    /// It is not in the list.
    None,
    Several(usize),
}

/// The way into the batch API of a model's provider.
pub(crate) struct Entrance<'a> {
    remote: &'a Remote,
}

impl<'a> Entrance<'a> {
    pub(crate) fn new(remote: &'a Remote) -> Self {
        Self { remote }
    }

    fn is_anthropic(&self) -> bool {
        let format = self.remote.entry.main_format();
        format.and_then(|f| f.batches()) == Some(BatchDialect::Anthropic)
    }

    /// Hands over what does not cost anything yet (OpenAI: the file of requests) and returns the
    /// body that creates the batch.
    pub(crate) async fn prepare(
        &self,
        name: &str,
        submission: Submission,
    ) -> Result<Value, ModelError> {
        if self.is_anthropic() {
            return Ok(anthropic_body(submission));
        }
        let upload = upload(&submission)?;
        let read_id = |raw: &Value| Ok(text(raw, "/id").ok_or_else(|| Unreadable::missing("id"))?);
        let file = self
            .remote
            .connection
            .ask(
                Question {
                    body: Body::Raw(UPLOAD_TYPE, &upload),
                    ..Question::get("files", &read_id)
                }
                .posted(),
            )
            .await?
            .answer;
        Ok(json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"mary": name},
        }))
    }

    /// Creates a batch. Its creation is sent once; `unsure` is set when it may have been created
    /// though no answer says so.
    pub(crate) async fn create(
        &self,
        body: &Value,
        unsure: &AtomicBool,
    ) -> Result<String, ModelError> {
        let path = self.path("");
        let created = self
            .remote
            .connection
            .ask(Question {
                once: Some(unsure),
                ..Question::post(&path, &|_| body.clone(), &|raw| {
                    Ok(text(raw, "/id").ok_or_else(|| Unreadable::missing("id"))?)
                })
            })
            .await?;
        Ok(created.answer)
    }

    fn path(&self, rest: &str) -> String {
        let base = if self.is_anthropic() {
            "messages/batches"
        } else {
            "batches"
        };
        format!("{base}{rest}")
    }

    /// The provider's names for all batches it lists, so that a new one can be told from them. Only
    /// where batches keep no name of ours.
    pub(crate) async fn known(&self) -> Result<Vec<String>, ModelError> {
        if !self.is_anthropic() {
            return Ok(Vec::new());
        }
        let listed = self.list().await?;
        Ok(listed.iter().filter_map(|b| text(b, "/id")).collect())
    }

    async fn list(&self) -> Result<Vec<Value>, ModelError> {
        let after = if self.is_anthropic() {
            "after_id"
        } else {
            "after"
        };
        let mut all: Vec<Value> = Vec::new();
        let mut path = self.path("?limit=100");
        for _ in 0..MOST_PAGES {
            let page = self
                .remote
                .connection
                .ask(Question::get(&path, &|raw| {
                    let listed = raw.get("data").and_then(Value::as_array).cloned();
                    let listed = listed.ok_or_else(|| Unreadable::missing("list of batches"))?;
                    let more = raw.get("has_more").and_then(Value::as_bool);
                    Ok((listed, more.unwrap_or(false)))
                }))
                .await?;
            let (listed, more) = page.answer;
            let last = listed.last().and_then(|b| text(b, "/id"));
            all.extend(listed);
            match last {
                Some(last) if more => {
                    path = self.path(&format!("?limit=100&{after}={}", checked(&last)?));
                }
                _ => break,
            }
        }
        Ok(all)
    }

    /// Looks for a batch that may have been created. No clock is asked: OpenAI keeps our name for it;
    /// Anthropic keeps none, so there it is the one that was not listed before and has as many
    /// requests.
    pub(crate) async fn find(&self, part: &BatchPart) -> Result<Found, ModelError> {
        let listed = self.list().await?;
        let anthropic = self.is_anthropic();
        let ours = |batch: &&Value| {
            if !anthropic {
                return text(batch, "/metadata/mary").as_deref() == Some(&part.name);
            }
            let id = text(batch, "/id").unwrap_or_default();
            !part.known.contains(&id) && anthropic_total(batch) == part.requests.len() as u64
        };
        let found: Vec<String> = listed
            .iter()
            .filter(ours)
            .filter_map(|b| text(b, "/id"))
            .collect();
        Ok(match found.as_slice() {
            [] => Found::None,
            [one] => Found::One(one.clone()),
            several => Found::Several(several.len()),
        })
    }

    /// How far a batch is.
    pub(crate) async fn look(&self, id: &str) -> Result<Progress, ModelError> {
        let path = self.path(&format!("/{}", checked(id)?));
        let anthropic = self.is_anthropic();
        let told = self
            .remote
            .connection
            .ask(Question::get(&path, &|raw| {
                let progress = if anthropic {
                    anthropic_progress(id, raw)
                } else {
                    openai_progress(id, raw)
                };
                Ok(progress.ok_or_else(|| Unreadable::missing("status of the batch"))?)
            }))
            .await?;
        Ok(told.answer)
    }

    /// Fetches the answers of a batch that has ended into files whose names begin with `beside`.
    pub(crate) async fn fetch(
        &self,
        progress: &Progress,
        beside: &Path,
    ) -> Result<Results, ModelError> {
        // The address in the answer is not followed: the key goes only where the user sent it.
        let paths: Vec<String> = if self.is_anthropic() {
            vec![self.path(&format!("/{}/results", checked(&progress.id)?))]
        } else {
            let files = progress.files.iter();
            files
                .map(|file| Ok(format!("files/{}/content", checked(file)?)))
                .collect::<Result<_, ModelError>>()?
        };
        let mut results = Results::default();
        for (number, path) in paths.iter().enumerate() {
            let mut file = beside.as_os_str().to_owned();
            file.push(format!(".{}-{number}.jsonl", checked(&progress.id)?));
            let file = PathBuf::from(file);
            self.remote.connection.download(path, &file).await?;
            results.add(&file)?;
        }
        Ok(results)
    }

    /// What a line of a batch's answers says, free of keys.
    pub(crate) fn outcome(&self, mut entry: Value) -> Result<Value, ModelError> {
        let scrubber = self.remote.connection.http.scrubber();
        scrubber.value(&mut entry);
        let outcome = if self.is_anthropic() {
            anthropic_outcome(&entry)
        } else {
            openai_outcome(&entry)
        };
        outcome.map_err(|e| scrubber.error(e))
    }
}

/// A provider's name for something becomes part of an address; it must not lead elsewhere.
fn checked(id: &str) -> Result<&str, ModelError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.is_empty() && id.chars().all(plain) {
        return Ok(id);
    }
    Err(ModelError::new(
        ErrorKind::Transport,
        "the provider's name for a batch holds characters that do not belong there",
    ))
}

const BOUNDARY: &str = "mary-batch-7f3c2a91d8e64b05";
const UPLOAD_TYPE: &str = "multipart/form-data; boundary=mary-batch-7f3c2a91d8e64b05";

/// The file of requests as a form, as OpenAI's file endpoint wants it.
fn upload(submission: &Submission) -> Result<Vec<u8>, ModelError> {
    let mut form = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"requests.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
    )
    .into_bytes();
    for (name, body) in &submission.requests {
        let line = json!({
            "custom_id": name,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body,
        });
        serde_json::to_writer(&mut form, &line)
            .map_err(|e| ModelError::new(ErrorKind::Internal, e.to_string()))?;
        form.push(b'\n');
    }
    form.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    Ok(form)
}

fn anthropic_body(submission: Submission) -> Value {
    let requests: Vec<Value> = submission
        .requests
        .into_iter()
        .map(|(name, body)| json!({"custom_id": name, "params": body}))
        .collect();
    json!({ "requests": requests })
}

fn openai_progress(id: &str, raw: &Value) -> Option<Progress> {
    let status = text(raw, "/status")?;
    let ended = ["completed", "failed", "expired", "cancelled"].contains(&status.as_str());
    let why = text(raw, "/errors/data/0/message");
    Some(Progress {
        id: id.to_owned(),
        ended,
        complete: status == "completed",
        said: why.map_or(status.clone(), |why| format!("{status}: {why}")),
        done: count(raw, "/request_counts/completed") + count(raw, "/request_counts/failed"),
        total: count(raw, "/request_counts/total"),
        files: ["/output_file_id", "/error_file_id"]
            .iter()
            .filter_map(|path| text(raw, path))
            .collect(),
    })
}

const ANTHROPIC_COUNTS: [&str; 4] = ["succeeded", "errored", "canceled", "expired"];

fn anthropic_done(raw: &Value) -> u64 {
    ANTHROPIC_COUNTS
        .iter()
        .map(|name| count(raw, &format!("/request_counts/{name}")))
        .sum()
}

fn anthropic_total(raw: &Value) -> u64 {
    anthropic_done(raw) + count(raw, "/request_counts/processing")
}

fn anthropic_progress(id: &str, raw: &Value) -> Option<Progress> {
    let status = text(raw, "/processing_status")?;
    Some(Progress {
        id: id.to_owned(),
        ended: status == "ended",
        complete: status == "ended",
        said: status,
        done: anthropic_done(raw),
        total: anthropic_total(raw),
        files: Vec::new(),
    })
}

fn openai_outcome(entry: &Value) -> Result<Value, ModelError> {
    let status = count(entry, "/response/status_code");
    match entry.pointer("/response/body") {
        Some(body) if (200..300).contains(&status) => Ok(body.clone()),
        Some(body) => Err(refused(&body.to_string())),
        None => Err(refused(&entry.to_string())),
    }
}

fn anthropic_outcome(entry: &Value) -> Result<Value, ModelError> {
    let kind = text(entry, "/result/type").unwrap_or_default();
    match (kind.as_str(), entry.pointer("/result/message")) {
        ("succeeded", Some(message)) => Ok(message.clone()),
        ("errored", _) => {
            let error = entry.pointer("/result/error").cloned().unwrap_or_default();
            Err(refused(&error.to_string()))
        }
        (other, _) => Err(ModelError::new(
            ErrorKind::Transport,
            format!("the provider reports this request of the batch as {other}"),
        )
        .hint("give the same command again: it is submitted anew")),
    }
}

fn refused(body: &str) -> ModelError {
    let complaint = complaint(body.as_bytes());
    ModelError::new(
        ErrorKind::BadRequest,
        format!(
            "the provider refused this request of the batch: {}",
            complaint.message
        ),
    )
}

impl<T> Question<'_, T> {
    fn posted(mut self) -> Self {
        self.method = Method::POST;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_is_a_form_of_json_lines() {
        let form = upload(&Submission {
            requests: vec![("m1-0".into(), json!({"model": "gpt-4o"}))],
            ..Submission::default()
        })
        .unwrap();
        let form = String::from_utf8(form).unwrap().replace("\r\n", "\n");
        insta::assert_snapshot!("openai_upload", form);
        assert!(UPLOAD_TYPE.ends_with(BOUNDARY));
    }

    #[test]
    fn progress_is_read_in_both_forms() {
        let openai = openai_progress(
            "batch_1",
            &json!({"status": "in_progress", "request_counts": {"total": 10, "completed": 3, "failed": 1},
                    "output_file_id": null}),
        )
        .unwrap();
        assert!(!openai.ended);
        assert_eq!((openai.done, openai.total), (4, 10));
        let failed = openai_progress(
            "b",
            &json!({"status": "failed", "errors": {"data": [{"message": "bad line"}]}}),
        );
        assert_eq!(failed.unwrap().said, "failed: bad line");
        let anthropic = anthropic_progress(
            "msgbatch_1",
            &json!({"processing_status": "ended", "request_counts": {"processing": 0, "succeeded": 8, "errored": 1, "canceled": 0, "expired": 1}}),
        )
        .unwrap();
        assert!(anthropic.ended);
        assert_eq!((anthropic.done, anthropic.total), (10, 10));
    }

    #[test]
    fn outcomes_are_told_apart() {
        let good = json!({"custom_id": "a", "response": {"status_code": 200, "body": {"x": 1}}});
        assert_eq!(openai_outcome(&good).unwrap(), json!({"x": 1}));
        let bad =
            json!({"response": {"status_code": 400, "body": {"error": {"message": "too long"}}}});
        assert!(
            openai_outcome(&bad)
                .unwrap_err()
                .message
                .contains("too long")
        );
        let good = json!({"result": {"type": "succeeded", "message": {"content": []}}});
        assert!(anthropic_outcome(&good).is_ok());
        let bad = json!({"result": {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}}});
        assert!(anthropic_outcome(&bad).unwrap_err().message.ends_with("no"));
        let late = json!({"result": {"type": "expired"}});
        assert!(
            anthropic_outcome(&late)
                .unwrap_err()
                .message
                .contains("expired")
        );
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for bad in ["", "../x", "a/b", "a?b", "a b"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
        assert!(checked("msgbatch_01-x").is_ok());
    }
}

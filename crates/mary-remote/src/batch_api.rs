//! The two batch APIs: OpenAI Batch (a file of requests, a batch, a file of answers) and Anthropic
//! Message Batches (one list in, one list out).
//!
//! Schemas: platform.openai.com/docs/api-reference/batch, docs.anthropic.com/en/api/creating-message-batches.

use mary_contract::{ErrorKind, ModelError};
use reqwest::Method;
use serde_json::{Value, json};

use crate::api_error::complaint;
use crate::batch::BatchPart;
use crate::catalogue::Wire;
use crate::line::{Body, Question};
use crate::model::Remote;
use crate::retry::moment;
use crate::wire::{Unreadable, count, text};

/// What is submitted as one batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Submission {
    /// Names and bodies.
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
    /// Files that hold answers (OpenAI).
    files: Vec<String>,
}

type Results = Vec<(String, Result<Value, ModelError>)>;

/// The way into the batch API of a model's provider.
pub(crate) struct Entrance<'a> {
    remote: &'a Remote,
}

impl<'a> Entrance<'a> {
    pub(crate) fn new(remote: &'a Remote) -> Self {
        Self { remote }
    }

    fn is_anthropic(&self) -> bool {
        self.remote.entry.wire == Wire::Anthropic
    }

    /// Creates a batch. Its creation is sent once; after a broken answer the caller looks whether it
    /// is there.
    pub(crate) async fn create(
        &self,
        name: &str,
        submission: Submission,
    ) -> Result<String, ModelError> {
        let line = &self.remote.line;
        let body = if self.is_anthropic() {
            anthropic_body(submission)
        } else {
            let upload = upload(&submission)?;
            let read_id =
                |raw: &Value| Ok(text(raw, "/id").ok_or_else(|| Unreadable::missing("id"))?);
            let file = line
                .ask(
                    Question {
                        body: Body::Raw(UPLOAD_TYPE, &upload),
                        ..Question::get("files", &read_id)
                    }
                    .posted(),
                )
                .await?
                .answer;
            json!({
                "input_file_id": file,
                "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
                "metadata": {"mary": name},
            })
        };
        let path = self.path("");
        let created = line
            .ask(Question {
                once: true,
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

    /// Looks for a batch that may have been created.
    pub(crate) async fn find(&self, part: &BatchPart) -> Result<Option<String>, ModelError> {
        let path = self.path("?limit=100");
        let told = self
            .remote
            .line
            .ask(Question::get(&path, &|raw| {
                let listed = raw.get("data").and_then(Value::as_array).cloned();
                Ok(listed.ok_or_else(|| Unreadable::missing("list of batches"))?)
            }))
            .await?;
        let ours = |batch: &&Value| {
            if self.is_anthropic() {
                // Anthropic keeps no name for us: the time and the number of requests must do.
                let created = text(batch, "/created_at").and_then(|t| moment(&t));
                let since = created.and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
                let after = since.is_some_and(|s| s.as_secs() + 120 >= part.submitted);
                after && anthropic_total(batch) == part.requests.len() as u64
            } else {
                text(batch, "/metadata/mary").as_deref() == Some(&part.name)
            }
        };
        Ok(told.answer.iter().find(ours).and_then(|b| text(b, "/id")))
    }

    /// How far a batch is.
    pub(crate) async fn look(&self, id: &str) -> Result<Progress, ModelError> {
        let path = self.path(&format!("/{}", checked(id)?));
        let anthropic = self.is_anthropic();
        let told = self
            .remote
            .line
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

    /// The answers of a batch that has ended.
    pub(crate) async fn results(&self, progress: &Progress) -> Result<Results, ModelError> {
        // The address in the answer is not followed: the key goes only where the user sent it.
        let paths: Vec<String> = if self.is_anthropic() {
            vec![self.path(&format!("/{}/results", checked(&progress.id)?))]
        } else {
            let files = progress.files.iter();
            files
                .map(|file| Ok(format!("files/{}/content", checked(file)?)))
                .collect::<Result<_, ModelError>>()?
        };
        let mut results = Vec::new();
        for path in paths {
            let told = self
                .remote
                .line
                .ask(Question {
                    lines: true,
                    ..Question::get(&path, &|raw| {
                        Ok(raw.as_array().cloned().unwrap_or_default())
                    })
                })
                .await?;
            for entry in told.answer {
                if let Some(name) = text(&entry, "/custom_id") {
                    let outcome = if self.is_anthropic() {
                        anthropic_outcome(&entry)
                    } else {
                        openai_outcome(&entry)
                    };
                    results.push((
                        name,
                        outcome.map_err(|e| self.remote.line.http.scrubber().error(e)),
                    ));
                }
            }
        }
        Ok(results)
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

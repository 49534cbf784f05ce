//! The name of an answer. Two models, two revisions, two prompts or two trials never share one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Request, TaskCard};

/// Content hash of everything an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

#[derive(Serialize)]
struct Parts<'a> {
    schema: u32,
    fingerprint: &'a str,
    task: &'a str,
    task_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_content: Option<&'a str>,
    trial: u32,
    request: &'a Request,
}

impl Key {
    /// The key of a request to a model, within a task and a trial. The first argument is the model's
    /// fingerprint, so that another revision never finds these answers.
    ///
    /// ```
    /// use mary_contract::{Generate, Key, Prompt, Request, Sampling, TaskCard};
    ///
    /// let (prompt, sampling) = (Prompt::plain("2 + 2 ="), Sampling::greedy(2));
    /// let request = Request::Generate(Generate::new(prompt, sampling));
    /// let card = TaskCard::new("mine/sums", "Sums", "");
    /// let key = |trial| Key::of("weights-1", &card, trial, &request);
    /// assert_eq!(key(0)?, key(0)?);
    /// assert_ne!(key(0)?, key(1)?, "a second trial is asked again");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(
        fingerprint: &str,
        task: &TaskCard,
        trial: u32,
        request: &Request,
    ) -> Result<Self, serde_json::Error> {
        let parts = Parts {
            schema: 1,
            fingerprint,
            task: &task.id,
            task_version: task.version,
            task_content: task.content.as_deref(),
            trial,
            request,
        };
        // Written out first: a hasher fed word by word takes three times as long.
        let written = serde_json::to_vec(&parts)?;
        Ok(Self(blake3::hash(&written).to_hex().to_string()))
    }

    /// 64 lower-case hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

//! Errors as providers report them, turned into what happened and what to do.

use std::sync::LazyLock;

use mary_contract::{ErrorKind, ModelError};
use serde::Deserialize;
use serde_json::Value;

use crate::options::{OMITTABLE, bad};
use crate::secret::shortened;
use crate::wire::text;

/// What an error answer means for the one who asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The error, if this was the last attempt.
    pub error: ModelError,
    pub remedy: Remedy,
}

/// What can be done about it without the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    GiveUp,
    /// Ask again; the provider is overloaded or limits the rate.
    Slower,
    /// Ask again; something broke on their side.
    Again,
    /// Ask again without this parameter.
    Without(&'static str),
    /// Ask again with `max_completion_tokens` in place of `max_tokens`.
    RenameMaxTokens,
}

#[derive(Debug, Clone, Copy)]
pub struct AskedService<'a> {
    pub title: &'a str,
    /// Name of the environment variable that holds the key, where there is one.
    pub key_env: &'a str,
    /// Where keys and credit are looked after.
    pub console: &'a str,
    pub model: &'a str,
}

#[derive(Default)]
struct Complaint {
    message: String,
    /// Every code, type or status in it, lower case, joined by spaces.
    codes: String,
    param: Option<String>,
}

/// Reads OpenAI's, Anthropic's, Google's, vLLM's, Mistral's, Ollama's and FastAPI's shapes; anything
/// else (a proxy's HTML, say) gives its first words.
fn complaint(body: &[u8]) -> Complaint {
    let Ok(parsed) = serde_json::from_slice::<Value>(body) else {
        return Complaint {
            message: first_words(&String::from_utf8_lossy(body)),
            ..Complaint::default()
        };
    };
    // Google wraps errors of some endpoints in a list.
    let root = parsed.get(0).unwrap_or(&parsed);
    let inner = match root.get("error") {
        Some(error @ Value::Object(_)) => error,
        _ => root,
    };
    let places = [
        inner.get("message"),
        root.get("error"),
        root.get("detail"),
        root.pointer("/detail/0/msg"),
        root.pointer("/message/detail/0/msg"),
    ];
    let message = match places.into_iter().flatten().find_map(Value::as_str) {
        Some(text) => shortened(text.to_owned()),
        None => first_words(&parsed.to_string()),
    };
    let codes: Vec<String> = ["code", "type", "status"]
        .iter()
        .filter_map(|name| inner.get(*name))
        .chain(inner.pointer("/details/0/reason"))
        .map(|v| match v {
            Value::String(text) => text.to_lowercase(),
            other => other.to_string(),
        })
        .collect();
    Complaint {
        message,
        codes: codes.join(" "),
        param: text(inner, "/param"),
    }
}

fn first_words(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None if flat.is_empty() => "no words".into(),
        None => flat,
    }
}

pub(crate) fn refused_in_batch(body: &Value) -> ModelError {
    let complaint = complaint(body.to_string().as_bytes());
    let message = complaint.message;
    bad(format!(
        "the provider refused this request of the batch: {message}"
    ))
}

/// How providers put errors into words and codes, in `data/errors.json`.
#[derive(Default, Deserialize)]
struct Wordings {
    /// What no attempt will change. The first that fits counts.
    r#final: Vec<FinalError>,
    /// That a parameter is not taken.
    #[serde(borrow)]
    unsupported: Vec<&'static str>,
}

#[derive(Deserialize)]
struct FinalError {
    /// The status that says so, where there is one.
    #[serde(default)]
    status: Option<u16>,
    #[serde(borrow)]
    says: Vec<&'static str>,
    kind: ErrorKind,
    /// What to do, with places for the fields of [`AskedService`].
    hint: &'static str,
    /// What to do where no key was sent.
    #[serde(default)]
    without_key: Option<&'static str>,
}

const FILE: &str = include_str!("../data/errors.json");
static WORDINGS: LazyLock<Wordings> =
    // A test reads the file; nothing else can make it unreadable.
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

impl FinalError {
    fn hint(&self, service: &AskedService<'_>) -> String {
        match self.without_key {
            Some(hint) if service.key_env.is_empty() => hint.to_owned(),
            _ => self
                .hint
                .replace("{key_env}", service.key_env)
                .replace("{console}", service.console)
                .replace("{title}", service.title)
                .replace("{model}", service.model),
        }
    }
}

pub fn diagnose(service: &AskedService<'_>, status: u16, body: &[u8]) -> Diagnosis {
    let complaint = complaint(body);
    let lower = complaint.message.to_lowercase();
    let says = |words: &&str| lower.contains(words) || complaint.codes.contains(words);
    let told = format!("{} answered {status}: {}", service.title, complaint.message);
    let with = |kind, hint: String, remedy| Diagnosis {
        error: ModelError::new(kind, told.as_str()).hint(hint),
        remedy,
    };
    let fits = |e: &&FinalError| e.status == Some(status) || e.says.iter().any(says);
    if let Some(found) = WORDINGS.r#final.iter().find(fits) {
        return with(found.kind, found.hint(service), Remedy::GiveUp);
    }
    match status {
        408 | 504 => {
            let hint = format!("{} was too slow again and again; try later", service.title);
            with(ErrorKind::Timeout, hint, Remedy::Again)
        }
        429 | 503 | 529 => {
            let hint = "it stayed overloaded through all retries; go on later with `mary resume`, or set a rate with --model-arg rpm=… tpm=…";
            with(ErrorKind::Overloaded, hint.into(), Remedy::Slower)
        }
        409 | 425 | 500.. => {
            let hint = "a fault of the server; go on later with `mary resume`";
            with(ErrorKind::Transport, hint.into(), Remedy::Again)
        }
        _ => {
            let hint = "the provider does not take this request; its words say why";
            with(ErrorKind::BadRequest, hint.into(), learn(&complaint))
        }
    }
}

fn learn(complaint: &Complaint) -> Remedy {
    let lower = complaint.message.to_lowercase();
    let about_support = WORDINGS.unsupported.iter().any(|w| lower.contains(w))
        || complaint.codes.contains("unsupported_");
    if !about_support {
        return Remedy::GiveUp;
    }
    if lower.contains("max_completion_tokens") {
        return Remedy::RenameMaxTokens;
    }
    if lower.contains("cannot both be specified") {
        return Remedy::Without("top_p");
    }
    let named = complaint.param.as_deref().unwrap_or("");
    let by_param = OMITTABLE.iter().find(|name| **name == named);
    let by_words = || OMITTABLE.iter().find(|name| names_word(&lower, name));
    match by_param.or_else(by_words) {
        Some(name) => Remedy::Without(name),
        None => Remedy::GiveUp,
    }
}

/// Whether the text names the parameter as a word of its own (`stop`, not `stopped`).
fn names_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|t| t.chars().next());
        !part_of_word(before) && !part_of_word(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let wordings: Wordings = serde_json::from_str(FILE).unwrap();
        assert!(wordings.r#final.len() == 6 && wordings.unsupported.len() == 10);
    }
}

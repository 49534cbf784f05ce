//! Keys: where they come from, and how they are kept out of everything that is written.
//!
//! A key is read from the environment or from `.env` in the working directory, never from an
//! argument. It lives in a [`Secret`], which shows nothing of itself, and every text that leaves
//! this crate (an error, a raw answer) goes through a [`Scrubber`] first, because providers like to
//! repeat the key they were given.

use std::fmt;
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};
use serde_json::Value;

const REDACTED: &str = "[key removed]";
/// Shorter strings are no keys, and removing them everywhere would mangle honest text.
const SHORTEST_KEY: usize = 6;

/// A key. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; white space around it (a common slip in `.env` files) is dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key itself, for the one place that sets the header.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([key removed])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Looks a key up: the environment first, then `.env` in `folder`. An empty value counts as absent.
pub fn find(names: &[&str], folder: &Path) -> Option<Secret> {
    let from_environment = names.iter().filter_map(|name| std::env::var(name).ok());
    let file = std::fs::read_to_string(folder.join(".env")).unwrap_or_default();
    let from_file = names.iter().filter_map(|name| dotenv_value(&file, name));
    from_environment
        .chain(from_file)
        .map(Secret::new)
        .find(|key| !key.0.is_empty())
}

/// The value of a name in the text of a `.env` file. The last assignment wins, as in a shell.
fn dotenv_value(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(dotenv_line)
        .filter(|(n, _)| *n == name)
        .map(|(_, value)| value)
        .next_back()
}

fn dotenv_line(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        Some(inner.split(quote).next().unwrap_or(inner))
    });
    let value = match quoted {
        Some(inner) => inner,
        // Outside quotes, a comment starts at ` #`.
        None => value.split(" #").next().unwrap_or(value).trim_end(),
    };
    Some((name.trim(), value.to_owned()))
}

/// The error for a key that is nowhere.
pub(crate) fn missing(provider: &str, names: &[&str]) -> ModelError {
    let name = names.first().copied().unwrap_or("the key");
    ModelError::new(
        ErrorKind::Auth,
        format!("{provider} needs a key, and {name} is neither in the environment nor in .env"),
    )
    .hint(format!(
        "put `{name}=…` into a file .env in the working directory, or `export {name}=…`; a key is never taken from an argument"
    ))
}

/// Takes keys out of text.
#[derive(Clone, Default)]
pub struct Scrubber {
    secrets: Vec<Secret>,
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} keys)", self.secrets.len())
    }
}

impl Scrubber {
    /// Removes these keys.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let secrets = secrets
            .into_iter()
            .filter(|s| s.0.len() >= SHORTEST_KEY)
            .collect();
        Self { secrets }
    }

    /// The text without keys.
    pub fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.secrets {
            if out.contains(&secret.0) {
                out = out.replace(&secret.0, REDACTED);
            }
        }
        out
    }

    /// The value without keys, in strings and in names of fields.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if self.secrets.iter().any(|s| text.contains(&s.0)) {
                    *text = self.text(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|v| self.value(v)),
            Value::Object(fields) => {
                let named = |name: &str| self.secrets.iter().any(|s| name.contains(&s.0));
                if fields.keys().any(|name| named(name)) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, v)| (self.text(&name), v))
                        .collect();
                }
                fields.iter_mut().for_each(|(_, v)| self.value(v));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The error without keys.
    #[must_use]
    pub fn error(&self, mut error: ModelError) -> ModelError {
        error.message = self.text(&error.message);
        error.hint = error.hint.map(|hint| self.text(&hint));
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_never_shows_itself() {
        let key = Secret::new(" sk-test-0123456789 \n");
        assert_eq!(key.reveal(), "sk-test-0123456789");
        for shown in [
            format!("{key:?}"),
            format!("{key}"),
            format!("{:#?}", Some(&key)),
        ] {
            assert!(!shown.contains("0123"), "{shown}");
        }
        let scrubber = Scrubber::new([key]);
        assert!(!format!("{scrubber:?}").contains("0123"));
    }

    #[test]
    fn env_files_are_read_as_people_write_them() {
        let file = "# keys\nexport A_KEY = one two # the first\nB_KEY=\"x # y\" # c\nC_KEY='z'\nA_KEY=last\nbroken\n#D_KEY=no\nE_KEY=\n";
        let value = |name| dotenv_value(file, name);
        assert_eq!(value("A_KEY").as_deref(), Some("last"));
        assert_eq!(value("B_KEY").as_deref(), Some("x # y"));
        assert_eq!(value("C_KEY").as_deref(), Some("z"));
        assert_eq!(value("D_KEY"), None);
        assert_eq!(value("E_KEY").as_deref(), Some(""));
    }

    #[test]
    fn a_key_is_found_in_the_folder_and_an_empty_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(".env"),
            "MARY_TEST_EMPTY=\nMARY_TEST_KEY=abcdef-123\n",
        )
        .unwrap();
        let key = find(&["MARY_TEST_EMPTY", "MARY_TEST_KEY"], folder.path()).unwrap();
        assert_eq!(key.reveal(), "abcdef-123");
        assert!(find(&["MARY_TEST_NOTHING"], folder.path()).is_none());
    }

    #[test]
    fn keys_leave_texts_values_names_and_errors() {
        let scrubber = Scrubber::new([Secret::new("sk-live-42424242"), Secret::new("abc")]);
        assert_eq!(scrubber.text("abc sk-live-42424242!"), "abc [key removed]!");
        let mut value = json!({"sk-live-42424242": ["x", {"k": "a sk-live-42424242"}], "n": 1});
        scrubber.value(&mut value);
        assert!(!value.to_string().contains("42424242"));
        let error =
            ModelError::new(ErrorKind::Auth, "bad sk-live-42424242").hint("sk-live-42424242");
        assert!(!format!("{:?}", scrubber.error(error)).contains("42424242"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_keeps_a_key(before in ".{0,30}", after in ".{0,30}", key in "[a-zA-Z0-9_-]{8,40}") {
            let scrubber = Scrubber::new([Secret::new(&key)]);
            let text = format!("{before}{key}{after}{key}");
            proptest::prop_assert!(!scrubber.text(&text).contains(&key));
        }

        #[test]
        fn no_env_file_is_too_odd_to_read(text in "\\PC{0,200}") {
            let _ = dotenv_value(&text, "A");
        }
    }
}

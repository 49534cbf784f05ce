//! Keys: read from the environment or from `.env`, never from an argument, and kept out of
//! everything that is written: every text that leaves this crate goes through a [`Scrubber`],
//! because providers like to repeat the key they were given.

use std::fmt;
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};
use serde_json::Value;

const REDACTED: &str = "[key removed]";
/// Shorter strings are no keys, and removing them everywhere would mangle honest text.
const SHORTEST_KEY: usize = 6;
/// So many characters of a key in a row are removed like the whole: a key that somebody cut in two
/// is still most of a key.
pub const SHORTEST_PIECE: usize = 12;
/// No error message is longer, whatever a server wrote into it.
const LONGEST_MESSAGE: usize = 2_000;

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
    let filled = |key: &Secret| !key.0.is_empty();
    if let Some(key) = from_environment.map(Secret::new).find(filled) {
        return Some(key);
    }
    let path = folder.join(".env");
    let file = match mary_platform::read_plain_text(&path, mary_platform::LARGEST_SETTINGS) {
        Ok(text) => text,
        Err(error) => {
            // Without a word, the message would be that the key is missing.
            if error.kind() != std::io::ErrorKind::NotFound {
                mary_platform::notice(&format!("{} is not read: {error}", path.display()));
            }
            return None;
        }
    };
    let from_file = names.iter().filter_map(|name| dotenv_value(&file, name));
    from_file.map(Secret::new).find(filled)
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

pub(crate) fn missing(provider: &str, names: &[&str]) -> ModelError {
    let name = names.first().copied().unwrap_or("the key");
    let message =
        format!("{provider} needs a key, and {name} is neither in the environment nor in .env");
    ModelError::new(ErrorKind::Auth, message)
    .hint(format!(
        "put `{name}=…` into a file .env in the working directory, or `export {name}=…`; a key is never taken from an argument"
    ))
}

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
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let secrets = secrets
            .into_iter()
            .filter(|s| s.0.len() >= SHORTEST_KEY)
            .collect();
        Self { secrets }
    }

    /// Whether there is a key to look for.
    pub fn is_idle(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The text without keys, and without pieces of keys.
    pub fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.secrets {
            if let Some(clean) = without(&out, &secret.0) {
                out = clean;
            }
        }
        out
    }

    fn finds(&self, text: &str) -> bool {
        self.secrets
            .iter()
            .any(|secret| next_piece(text.as_bytes(), secret.0.as_bytes(), 0).is_some())
    }

    /// The value without keys, in strings and in names of fields.
    pub fn value(&self, value: &mut Value) {
        if self.is_idle() {
            return;
        }
        match value {
            Value::String(text) => {
                if self.finds(text) {
                    *text = self.text(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|v| self.value(v)),
            Value::Object(fields) => {
                if fields.keys().any(|name| self.finds(name)) {
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

    /// The body of an answer without keys: as JSON where it is JSON, so that a key written with
    /// escapes is found too.
    pub fn body(&self, body: &[u8]) -> Vec<u8> {
        if self.is_idle() {
            return body.to_vec();
        }
        if let Ok(mut value) = serde_json::from_slice::<Value>(body) {
            self.value(&mut value);
            return value.to_string().into_bytes();
        }
        self.text(&String::from_utf8_lossy(body)).into_bytes()
    }

    /// The error without keys, and no longer than a page. What is cut is cut after the keys are gone.
    #[must_use]
    pub fn error(&self, mut error: ModelError) -> ModelError {
        error.message = shortened(self.text(&error.message));
        error.hint = error.hint.map(|hint| shortened(self.text(&hint)));
        error
    }
}

pub(crate) fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The text without any [`SHORTEST_PIECE`] characters of the key in a row; `None` when there are
/// none.
fn without(text: &str, key: &str) -> Option<String> {
    let (bytes, key) = (text.as_bytes(), key.as_bytes());
    let mut piece = next_piece(bytes, key, 0)?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    loop {
        out.extend_from_slice(bytes.get(from..piece.start).unwrap_or_default());
        // Pieces that touch are one.
        if !out.ends_with(REDACTED.as_bytes()) || from == 0 || piece.start > from {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        from = piece.end;
        match next_piece(bytes, key, from) {
            Some(next) => piece = next,
            None => break,
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    // A key is ASCII, so cuts lie between characters; a stranger's key may not be.
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// The first stretch from `from` on that is the key or at least a piece of it, as long as it goes.
fn next_piece(text: &[u8], key: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
    let least = SHORTEST_PIECE.min(key.len());
    let mut at = from;
    while at + least <= text.len() {
        // A piece that covers `at + least - 1` can only begin at or after `at`; if that byte is in no
        // key at all, nothing before it can either.
        let last = *text.get(at + least - 1)?;
        if !key.contains(&last) {
            at += least;
            continue;
        }
        let window = text.get(at..at + least)?;
        let starts = key.windows(least).enumerate().filter(|(_, w)| *w == window);
        let longest = starts
            .map(|(start, _)| {
                let rest = key.get(start..).unwrap_or_default();
                let here = text.get(at..).unwrap_or_default();
                rest.iter().zip(here).take_while(|(a, b)| a == b).count()
            })
            .max();
        if let Some(length) = longest {
            return Some(at..at + length);
        }
        at += 1;
    }
    None
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

    #[test]
    fn a_key_cut_in_two_leaves_no_piece_of_twelve() {
        let key = "sk-test-0123456789abcdefghijklmnopqrstu";
        let scrubber = Scrubber::new([Secret::new(key)]);
        for cut in 0..key.len() {
            for text in [
                format!("you sent {}…", &key[..cut]),
                format!("…{} is wrong", &key[cut..]),
                format!("{} {}", &key[..cut], &key[cut..]),
            ] {
                let clean = scrubber.text(&text);
                for piece in key.as_bytes().windows(SHORTEST_PIECE) {
                    let piece = std::str::from_utf8(piece).unwrap();
                    assert!(!clean.contains(piece), "{text} became {clean}");
                }
            }
        }
        assert_eq!(
            scrubber.text("sk-test-0"),
            "sk-test-0",
            "too little to tell"
        );
        assert_eq!(
            scrubber.text(&format!("a {key}{key} b")),
            "a [key removed] b"
        );
    }

    #[test]
    fn a_key_in_escapes_is_found_in_a_body() {
        let scrubber = Scrubber::new([Secret::new("sk-live-42424242")]);
        let body = scrubber.body(br#"{"error":"bad sk\u002dlive-42424242"}"#);
        assert_eq!(
            String::from_utf8(body).unwrap(),
            r#"{"error":"bad [key removed]"}"#
        );
        let page = scrubber.body(b"<html>sk-live-42424242 \xff");
        assert!(!String::from_utf8_lossy(&page).contains("4242"));
    }

    #[test]
    fn an_error_is_no_longer_than_a_page() {
        let error = ModelError::new(ErrorKind::Transport, "é".repeat(1_000_000));
        let error = Scrubber::default().error(error);
        assert_eq!(error.message.chars().count(), LONGEST_MESSAGE + 1);
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

//! Python's JSON is not quite JSON: it may hold NaN and Infinity. And numbers may be words.

use std::io::Read;
use std::path::Path;

use mary_contract::StoreError;
use serde_json::Value;

use crate::fault::{corrupt, io_at};

/// No log is larger than this in one piece; a hostile archive must not fill the memory.
pub(super) const LARGEST: u64 = 4 << 30;

/// Reads to the end, within bounds.
pub(super) fn read_all(from: impl Read, most: u64, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(io_at(path))?;
    if bytes.len() as u64 > most {
        return Err(corrupt(
            path,
            0,
            format!("unpacks to more than {most} bytes"),
            "split the log, or export it as .eval",
        ));
    }
    Ok(bytes)
}

/// JSON with `NaN`, `Infinity` and `-Infinity` read as null. Those stand outside of strings only.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(e) => match without_nan(bytes) {
            Some(cleaned) => serde_json::from_slice(&cleaned),
            None => Err(e),
        },
    }
}

fn without_nan(bytes: &[u8]) -> Option<Vec<u8>> {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let mut out = Vec::with_capacity(bytes.len());
    let (mut in_string, mut escaped, mut found) = (false, false, false);
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        let word = WORDS.iter().find(|w| !in_string && rest.starts_with(w));
        if let Some(word) = word {
            out.extend_from_slice(b"null");
            rest = rest.get(word.len()..).unwrap_or_default();
            found = true;
            continue;
        }
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
        rest = tail;
    }
    found.then_some(out)
}

/// A score as a number: numbers, truth values, and the words Inspect uses. `None` for null, NaN
/// and anything without a value.
pub(super) fn number(value: &Value) -> Option<f64> {
    let n = match value {
        Value::Number(n) => n.as_f64()?,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::String(text) => match text.trim() {
            "C" => 1.0,
            "P" => 0.5,
            "I" | "N" => 0.0,
            word => match word.to_ascii_lowercase().as_str() {
                "true" | "yes" | "correct" => 1.0,
                "false" | "no" | "incorrect" => 0.0,
                other => other.parse().ok()?,
            },
        },
        _ => return None,
    };
    n.is_finite().then_some(n)
}

/// An id as text: other tools use numbers and strings.
pub(super) fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    }
}

/// A value in a message, not longer than a line.
pub(super) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(
        || "nothing".into(),
        |v| v.to_string().chars().take(80).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nan_is_read_as_null_but_not_inside_text() {
        let value = parse(br#"{"a": NaN, "b": [-Infinity, 1], "c": "NaN \" Infinity"}"#).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": null, "b": [null, 1], "c": "NaN \" Infinity"})
        );
        assert!(parse(b"{\"a\": Nan}").is_err());
    }

    #[test]
    fn scores_in_words_are_numbers() {
        let cases = [
            ("\"C\"", 1.0),
            ("\"I\"", 0.0),
            ("true", 1.0),
            ("0.25", 0.25),
            ("\"P\"", 0.5),
        ];
        for (text, expected) in cases {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(number(&value), Some(expected), "{text}");
        }
        assert_eq!(number(&Value::Null), None);
        assert_eq!(number(&"inf".into()), None);
        assert_eq!(number(&"maybe".into()), None);
    }

    proptest! {
        #[test]
        fn good_json_is_read_as_it_is(text in any::<String>(), n in any::<i64>()) {
            let value = serde_json::json!({ "text": text, "n": n });
            prop_assert_eq!(parse(value.to_string().as_bytes()).unwrap(), value);
        }

        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&noise);
        }
    }
}

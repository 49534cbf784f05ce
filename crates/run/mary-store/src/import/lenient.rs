//! Python's JSON is not quite JSON: it may hold NaN and Infinity. And numbers may be words.

use serde_json::{Deserializer, Value};

use super::bounded::{Lenient, bounded};

/// JSON with `NaN`, `Infinity` and `-Infinity` read as null, and about how much memory it takes.
pub(super) fn parse(bytes: &[u8]) -> Result<(Value, u64), serde_json::Error> {
    let strict = whole(&mut Deserializer::from_slice(bytes));
    strict.or_else(|error| {
        let mut lenient = Lenient::new(bytes, u64::MAX);
        let read = whole(&mut Deserializer::from_reader(&mut lenient));
        if lenient.found { read } else { Err(error) }
    })
}

/// One value and nothing behind it.
pub(super) fn whole<'de, R: serde_json::de::Read<'de>>(
    from: &mut Deserializer<R>,
) -> Result<(Value, u64), serde_json::Error> {
    let read = bounded(&mut *from)?;
    from.end()?;
    Ok(read)
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
        let (value, _) =
            parse(br#"{"a": NaN, "b": [-Infinity, 1], "c": "NaN \" Infinity"}"#).unwrap();
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
            prop_assert_eq!(parse(value.to_string().as_bytes()).unwrap().0, value);
        }

        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&noise);
        }
    }
}

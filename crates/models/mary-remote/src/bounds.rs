//! How much JSON a server may send: its size is limited where it is read, its depth by the parser
//! (128), and the number of its elements here, before anything is allocated for them.
//!
//! Sixty-four megabytes of `[[],[],[]…` are a few bytes each on the wire and some hundred in memory.

use serde_json::Value;

/// Most values in one answer. A whole vocabulary with log-probabilities is below a million.
pub const MOST_ELEMENTS: usize = 4_000_000;

/// Reads an answer, unless it has more elements than any honest one.
pub fn parse(body: &[u8]) -> Result<Value, String> {
    let elements = elements(body);
    if elements > MOST_ELEMENTS {
        return Err(format!(
            "the answer has more than {MOST_ELEMENTS} elements, which no honest one has"
        ));
    }
    serde_json::from_slice(body).map_err(|e| e.to_string())
}

/// How many values a JSON text has at most: one, and one for each separator or opening outside of
/// strings.
fn elements(body: &[u8]) -> usize {
    let mut count = 1;
    let mut in_string = false;
    let mut escaped = false;
    for byte in body {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b',' | b'[' | b'{' => count += 1,
                _ => {}
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_outside_of_strings() {
        assert_eq!(elements(b"1"), 1);
        assert_eq!(elements(br#"{"a":[1,2],"b,[":"\",["}"#), 5);
        assert!(parse(br#"{"a": [1, 2]}"#).is_ok());
    }

    #[test]
    fn a_flood_of_elements_and_a_deep_nest_are_refused() {
        let flood = format!("[{}[]]", "[],".repeat(MOST_ELEMENTS));
        assert!(parse(flood.as_bytes()).unwrap_err().contains("elements"));
        let nest = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(nest.as_bytes()).unwrap_err().contains("recursion"));
    }
}

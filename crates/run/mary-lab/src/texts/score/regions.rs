//! Regions of interest, named by a column that holds their words or by marks in the text itself.

use std::ops::Range;

use serde_json::Value;

/// Takes the marks off a text and gives the regions between them.
pub fn unmark(text: &str, open: &str, close: &str) -> Result<(String, Vec<Range<usize>>), String> {
    let mut plain = String::new();
    let mut regions = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let inner = &rest[at + open.len()..];
        if let Some(stray) = rest[..at].find(close) {
            return Err(stray_mark(close, plain.len() + stray));
        }
        plain.push_str(&rest[..at]);
        let end = inner
            .find(close)
            .ok_or_else(|| format!("`{open}` is not closed by `{close}`"))?;
        let words = &inner[..end];
        if words.contains(open) {
            return Err(format!(
                "`{open}` stands inside a region; regions do not nest"
            ));
        }
        if words.trim().is_empty() {
            return Err(format!("there is nothing between `{open}` and `{close}`"));
        }
        regions.push(plain.len()..plain.len() + words.len());
        plain.push_str(words);
        rest = &inner[end + close.len()..];
    }
    if let Some(stray) = rest.find(close) {
        return Err(stray_mark(close, plain.len() + stray));
    }
    plain.push_str(rest);
    Ok((plain, regions))
}

fn stray_mark(close: &str, at: usize) -> String {
    format!("`{close}` at byte {} closes nothing", at + 1)
}

/// The regions that a column names: words or a list of them, each exactly once in the text.
pub fn named(text: &str, column: &Value) -> Result<Vec<Range<usize>>, String> {
    let wanted: Vec<&str> = match column {
        Value::Null => Vec::new(),
        Value::String(words) if words.trim().is_empty() => Vec::new(),
        Value::String(words) => vec![words],
        Value::Array(list) => list
            .iter()
            .map(|v| v.as_str().ok_or("a region is not text"))
            .collect::<Result<_, _>>()?,
        _ => return Err("expected the words of a region, or a list of them".into()),
    };
    let mut regions = Vec::new();
    for words in wanted {
        if words.trim().is_empty() {
            return Err("a region has no words".into());
        }
        let mut found = text.match_indices(words);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => regions.push(at..at + words.len()),
            (None, _) => return Err(format!("the region {words:?} does not stand in the text")),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "the region {words:?} stands in the text more than once\n\
                     hint: mark it in the text instead (--marks)"
                ));
            }
        }
    }
    Ok(regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_come_off_and_stray_ones_are_refused() {
        let (text, regions) = unmark("The [[key]] to it [[is]].", "[[", "]]").unwrap();
        assert_eq!(text, "The key to it is.");
        assert_eq!(regions, [4..7, 14..16]);
        assert_eq!(
            unmark("no marks", "[[", "]]").unwrap(),
            ("no marks".into(), vec![])
        );
        for wrong in ["a [[b", "a ]] b", "a [[ ]] b", "a [[b [[c]] d]]"] {
            assert!(unmark(wrong, "[[", "]]").is_err(), "{wrong}");
        }
    }

    #[test]
    fn named_regions_stand_once() {
        assert_eq!(
            named("a dog and a cat", &json!("a cat")).unwrap(),
            vec![10..15; 1]
        );
        assert_eq!(named("a dog", &json!(["a", "dog"])).unwrap(), [0..1, 2..5]);
        assert!(
            named("a dog a", &json!("a"))
                .unwrap_err()
                .contains("more than once")
        );
        assert!(
            named("a dog", &json!("cat"))
                .unwrap_err()
                .contains("does not stand")
        );
        assert!(named("a dog", &json!(null)).unwrap().is_empty());
    }
}

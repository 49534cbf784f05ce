//! What a tokenizer's pipeline may do to a text: how much longer each part makes it is known before
//! anything runs.
//!
//! A `tokenizer.json` of a few kilobytes can ask for any amount of memory: three rules that replace a letter
//! by four thousand turn one letter into 64 billion, and a part that is repeated a million times costs a
//! million passes. Honest pipelines have a handful of parts that lengthen a text a few times.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

/// Longest text that a part may put into another.
const LONGEST_INSERT: usize = 4096;
const LONGEST_WORD: usize = 1 << 16;
const MOST_PARTS: usize = 256;
/// A pipeline may make a text this many times longer.
const MOST_GROWTH: u64 = 4096;
/// Up to here any text is taken; beyond, the text must stay below [`LONGEST_GROWN`].
const USUAL_GROWTH: u64 = 64;
/// What a text may become in an unusual pipeline; the tokenizer keeps some forty bytes for each.
const LONGEST_GROWN: u64 = 8 << 20;
/// How often a post-processor may repeat a text, and how many tokens it may add.
const MOST_REPEATS: usize = 8;
const MOST_ADDED: usize = 1024;
/// No vocabulary has ids beyond this.
pub(super) const LARGEST_ID: usize = 1 << 24;

/// The parts of a `tokenizer.json` that decide; the vocabulary is not kept.
#[derive(Deserialize)]
struct Pipeline {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    model: Model,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Model {
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    unk_token: Option<String>,
}

pub(super) fn check_file(bytes: &[u8]) -> Result<(), String> {
    let all: Pipeline = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    let model = [
        (
            "continuing_subword_prefix",
            &all.model.continuing_subword_prefix,
        ),
        ("end_of_word_suffix", &all.model.end_of_word_suffix),
        ("unk_token", &all.model.unk_token),
    ];
    for (name, word) in model {
        at_most(name, word.as_deref().unwrap_or_default(), LONGEST_INSERT)?;
    }
    check(&all.normalizer, &all.pre_tokenizer, &all.decoder)?;
    check_post(&all.post_processor)
}

pub(super) fn check(normalizer: &Value, pre: &Value, decoder: &Value) -> Result<u64, String> {
    let mut parts = 0;
    let before = growth(normalizer, &mut parts)?.saturating_mul(growth(pre, &mut parts)?);
    let after = growth(decoder, &mut parts)?;
    for (what, times) in [("normalizer and pre-tokenizer", before), ("decoder", after)] {
        if times > MOST_GROWTH {
            return Err(format!(
                "its {what} can make a text {times} times longer; expected at most {MOST_GROWTH} times"
            ));
        }
    }
    Ok(before)
}

pub(super) fn check_text(text: &str, growth: u64) -> Result<(), String> {
    let grown = (text.len() as u64).saturating_mul(growth);
    if growth > USUAL_GROWTH && grown > LONGEST_GROWN {
        return Err(format!(
            "a text of {} bytes can become {growth} times longer in its pipeline; expected at most \
             {LONGEST_GROWN} bytes",
            text.len()
        ));
    }
    Ok(())
}

fn growth(part: &Value, parts: &mut usize) -> Result<u64, String> {
    *parts += 1;
    if *parts > MOST_PARTS {
        return Err(format!("its pipeline has more than {MOST_PARTS} parts"));
    }
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    let kind = text("type");
    if kind == "Sequence" {
        let names = ["normalizers", "pretokenizers", "decoders"];
        let inner = names.iter().filter_map(|name| part[*name].as_array());
        let mut product: u64 = 1;
        for inner in inner.flatten() {
            product = product.saturating_mul(growth(inner, parts)?);
        }
        return Ok(product);
    }
    if kind == "Precompiled" {
        return Ok(precompiled(text("precompiled_charsmap")));
    }
    for (name, value) in part.as_object().into_iter().flatten() {
        at_most(name, value.as_str().unwrap_or_default(), LONGEST_WORD)?;
    }
    Ok(match kind {
        "Replace" => {
            let content = text("content");
            at_most("content", content, LONGEST_INSERT)?;
            let pattern = &part["pattern"];
            let regex = pattern["Regex"].as_str();
            at_most("pattern", regex.unwrap_or_default(), LONGEST_WORD)?;
            match (regex, pattern["String"].as_str()) {
                (None, Some(found)) if !found.is_empty() => {
                    at_most("pattern", found, LONGEST_WORD)?;
                    (content.len().div_ceil(found.len()) as u64).max(1)
                }
                // It may match nothing, between any two letters.
                _ => 1 + content.len() as u64,
            }
        }
        "Prepend" => {
            at_most("prepend", text("prepend"), LONGEST_INSERT)?;
            // Of the shortest text; long ones hardly grow.
            2
        }
        // Bytes as letters of two bytes; spaces around ideographs.
        "ByteLevel" | "BertNormalizer" | "Metaspace" => 2,
        _ => 1,
    })
}

/// SentencePiece's own table: the length of a trie, the trie, and what its letters become, each ended by a
/// zero. What becomes longest there is a letter of three bytes in every honest table.
fn precompiled(table: &str) -> u64 {
    let bytes = base64::engine::general_purpose::STANDARD.decode(table);
    let bytes = bytes.unwrap_or_default();
    let size = bytes
        .first_chunk::<4>()
        .map_or(0, |n| u32::from_le_bytes(*n));
    let texts = bytes.get(4 + size as usize..).unwrap_or_default();
    let longest = texts.split(|b| *b == 0).map(<[u8]>::len).max();
    (longest.unwrap_or(0) as u64).div_ceil(3).max(1)
}

pub(super) fn check_post(post: &Value) -> Result<(), String> {
    let (repeats, added) = added_by(post, 0)?;
    if repeats > MOST_REPEATS || added > MOST_ADDED {
        return Err(format!(
            "its post-processor repeats a text {repeats} times and adds {added} tokens; expected at \
             most {MOST_REPEATS} and {MOST_ADDED}"
        ));
    }
    Ok(())
}

/// How often a text stands in what a post-processor makes, and how many tokens are added.
fn added_by(post: &Value, depth: usize) -> Result<(usize, usize), String> {
    if depth > 8 {
        return Err("its post-processors contain each other too deeply".into());
    }
    let list = |name: &str| post[name].as_array().into_iter().flatten();
    let (mut repeats, mut added) = (1usize, 0usize);
    for inner in list("processors") {
        let (times, more) = added_by(inner, depth + 1)?;
        repeats = repeats.saturating_mul(times.max(1));
        added = added.saturating_mul(times.max(1)).saturating_add(more);
    }
    let specials = post["special_tokens"].as_object();
    let ids = specials.into_iter().flat_map(|s| s.values());
    let ids = ids.map(|s| s["ids"].as_array().map_or(0, Vec::len)).max();
    for side in ["single", "pair"] {
        let texts = list(side).filter(|p| p.get("Sequence").is_some()).count();
        let tokens = list(side).filter(|p| p.get("SpecialToken").is_some());
        repeats = repeats.max(texts);
        added = added.max(tokens.count().saturating_mul(ids.unwrap_or(0).max(1)));
    }
    Ok((repeats, added))
}

fn at_most(name: &str, text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        let found = text.len();
        return Err(format!(
            "`{name}` in its pipeline is {found} bytes long; expected at most {most}"
        ));
    }
    Ok(())
}

pub(super) fn check_vocabulary(inner: &tokenizers::Tokenizer) -> Result<usize, String> {
    let mut size = 0;
    for (token, id) in inner.get_vocab(true) {
        if token.len() > LONGEST_WORD {
            return Err(format!(
                "the token with the id {id} is {} bytes long; expected at most {LONGEST_WORD}",
                token.len()
            ));
        }
        size = size.max(id as usize + 1);
    }
    if size > LARGEST_ID {
        return Err(format!(
            "its largest id is {}; expected at most {LARGEST_ID} tokens",
            size - 1
        ));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn growth_is_a_product_and_too_much_is_refused() {
        let replace = |n: usize| json!({"type": "Replace", "pattern": {"String": "a"}, "content": "a".repeat(n)});
        let all = |parts: Vec<Value>| {
            let parts = json!({"type": "Sequence", "normalizers": parts});
            check(&parts, &Value::Null, &Value::Null)
        };
        assert_eq!(all(vec![]), Ok(1));
        assert_eq!(all(vec![replace(3), replace(5)]), Ok(15));
        assert!(
            all(vec![replace(4096); 3])
                .unwrap_err()
                .contains("times longer")
        );
        assert!(all(vec![replace(4097)]).unwrap_err().contains("4097 bytes"));
        assert!(all(vec![json!({"type": "ByteLevel"}); 30]).is_err());
        assert!(
            all(vec![json!({"type": "NFC"}); 300])
                .unwrap_err()
                .contains("parts")
        );
        let regex = json!({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "abc"});
        assert_eq!(
            check(&regex, &json!({"type": "ByteLevel"}), &Value::Null),
            Ok(8)
        );
        let long = json!({"type": "Prepend", "prepend": "a".repeat(5000)});
        assert!(all(vec![long]).unwrap_err().contains("prepend"));
        assert!(check(&Value::Null, &Value::Null, &replace(5000)).is_err());
    }

    #[test]
    fn texts_are_bounded_where_a_pipeline_is_unusual() {
        let long = "a".repeat(1 << 20);
        assert!(check_text(&long, USUAL_GROWTH).is_ok());
        assert!(check_text(&long, 65).is_err() && check_text("a", MOST_GROWTH).is_ok());
    }

    #[test]
    fn a_post_processor_adds_a_few_tokens() {
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let template =
            |n: usize| json!({"type": "TemplateProcessing", "single": vec![text.clone(); n]});
        assert!(check_post(&template(1)).is_ok() && check_post(&template(9)).is_err());
        let nested = json!({"type": "Sequence", "processors": [template(3), template(3)]});
        assert!(check_post(&nested).is_err());
        let ids: Vec<u32> = (0..2000).collect();
        let many = json!({"single": [{"SpecialToken": {"id": "x", "type_id": 0}}, text],
            "special_tokens": {"x": {"id": "x", "ids": ids, "tokens": []}}});
        assert!(check_post(&many).unwrap_err().contains("2000 tokens"));
    }
}

//! The first Qwen's tokenizer: `qwen.tiktoken`, a line for each token with its bytes (base64) and its
//! rank. Such a file has no merges; they follow from the ranks.

use ahash::AHashMap;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use tokenizers::AddedToken;
use tokenizers::models::bpe::BPE;

use super::ggml::QWEN2;
use super::pipeline::{Parts, byte_letters, byte_level, split_then_bytes};

/// Tokens that stand behind the ranked ones, in this order; `pictures` adds Qwen-VL's.
fn specials(pictures: bool) -> Vec<String> {
    let mut all: Vec<String> = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        .map(str::to_owned)
        .into();
    all.extend((0..205).map(|n| format!("<|extra_{n}|>")));
    if pictures {
        let tags = [
            "<ref>", "</ref>", "<box>", "</box>", "<quad>", "</quad>", "<img>", "</img>",
            "<imgpad>",
        ];
        all.extend(tags.map(str::to_owned));
    }
    all
}

pub(super) fn from_ranks(file: &[u8], pictures: bool) -> Result<tokenizers::Tokenizer, String> {
    let ranks = read(file)?;
    let mut vocab: AHashMap<String, u32> = AHashMap::with_capacity(ranks.len());
    let mut tokens: Vec<(&[u8], u32)> = ranks.iter().map(|(t, r)| (t.as_slice(), *r)).collect();
    tokens.sort_unstable_by_key(|(_, rank)| *rank);
    let mut merges = Vec::new();
    for (token, rank) in &tokens {
        vocab.insert(byte_letters(token), *rank);
        // A token that its smaller fellows do not add up to is found only as a whole word.
        if let Some((left, right)) = halves(token, *rank, &ranks) {
            merges.push((byte_letters(left), byte_letters(right)));
        }
    }
    let first_special = u32::try_from(tokens.len()).map_err(|_| "has too many tokens")?;
    let model = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .ignore_merges(true)
        .build()
        .map_err(|e| e.to_string())?;
    let mut parts = Parts::new(model);
    parts.normalizer = json!({"type": "NFC"});
    parts.pre_tokenizer = split_then_bytes(&[QWEN2]);
    parts.decoder = byte_level(false, true);
    parts.added = specials(pictures)
        .into_iter()
        .map(|token| AddedToken::from(token, true).normalized(false))
        .collect();
    let tokenizer = parts.assemble()?;
    match tokenizer.token_to_id("<|endoftext|>") {
        Some(id) if id == first_special => Ok(tokenizer),
        found => Err(format!(
            "its special tokens should begin at {first_special}; found {found:?}"
        )),
    }
}

fn read(file: &[u8]) -> Result<AHashMap<Vec<u8>, u32>, String> {
    let text = std::str::from_utf8(file).map_err(|_| "is not UTF-8")?;
    let mut ranks = AHashMap::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim().is_empty())
    {
        let entry = line.split_once(' ').and_then(|(token, rank)| {
            let token = STANDARD.decode(token).ok().filter(|t| !t.is_empty())?;
            Some((token, rank.trim().parse::<u32>().ok()?))
        });
        let (token, rank) =
            entry.ok_or_else(|| format!("line {} is no token and its rank", number + 1))?;
        ranks.insert(token, rank);
    }
    let most = ranks.values().max().map_or(0, |m| *m as usize + 1);
    if ranks.is_empty() || most != ranks.len() {
        return Err(format!(
            "has {} tokens, but ranks up to {most}",
            ranks.len()
        ));
    }
    Ok(ranks)
}

/// The two tokens that are joined last into this one, when only smaller ranks are joined.
fn halves<'a>(
    token: &'a [u8],
    rank: u32,
    ranks: &AHashMap<Vec<u8>, u32>,
) -> Option<(&'a [u8], &'a [u8])> {
    // Where each part begins, and the end.
    let mut cuts: Vec<usize> = (0..=token.len()).collect();
    while cuts.len() > 3 {
        let best = cuts
            .windows(3)
            .enumerate()
            .filter_map(|(i, w)| match w {
                [from, _, to] => Some((*ranks.get(token.get(*from..*to)?)?, i + 1)),
                _ => None,
            })
            .filter(|(joined, _)| *joined < rank)
            .min()?;
        cuts.remove(best.1);
    }
    match cuts[..] {
        [_, middle, _] => Some(token.split_at(middle)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against OpenAI's `tiktoken` with the same ranks and the same splitting.
    #[test]
    fn ids_are_those_of_tiktoken() {
        let file = include_bytes!("../../tests/golden/tiktoken/qwen.tiktoken");
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/tiktoken/golden.json")).unwrap();
        let tokenizer = from_ranks(file, false).unwrap();
        let texts = golden["texts"].as_array().unwrap();
        assert!(texts.len() > 10);
        for text in texts {
            let said = text["text"].as_str().unwrap();
            let expected: Vec<u32> = serde_json::from_value(text["ids"].clone()).unwrap();
            let found = tokenizer.encode(said, false).unwrap();
            assert_eq!(found.get_ids(), expected, "{said}");
        }
        let pictures = from_ranks(file, true).unwrap();
        let end = pictures.token_to_id("<|endoftext|>").unwrap();
        assert_eq!(pictures.token_to_id("<img>"), Some(end + 214));
    }

    #[test]
    fn a_damaged_file_is_refused_in_words() {
        for (text, said) in [
            ("", "has 0 tokens"),
            ("YQ== 0\nnothing\n", "line 2"),
            ("YQ== 0\nYg== 7\n", "ranks up to 8"),
        ] {
            let why = from_ranks(text.as_bytes(), false).err().unwrap();
            assert!(why.contains(said), "{why}");
        }
    }
}

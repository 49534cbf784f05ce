//! Putting a pipeline of the `tokenizers` crate together from its parts.

use ahash::AHashMap;
use serde_json::{Value, json};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::{
    AddedToken, DecoderWrapper, ModelWrapper, NormalizerWrapper, PostProcessorWrapper,
    PreTokenizerWrapper,
};

/// The parts of a pipeline; all but the model in the form of `tokenizer.json`.
pub(crate) struct Parts {
    pub model: ModelWrapper,
    pub normalizer: Value,
    pub pre_tokenizer: Value,
    pub post_processor: Value,
    pub decoder: Value,
    /// Tokens found in a text before anything else is done with it.
    pub added: Vec<AddedToken>,
}

impl Parts {
    pub fn new(model: impl Into<ModelWrapper>) -> Self {
        Self {
            model: model.into(),
            normalizer: Value::Null,
            pre_tokenizer: Value::Null,
            post_processor: Value::Null,
            decoder: Value::Null,
            added: Vec::new(),
        }
    }

    pub fn assemble(self) -> Result<tokenizers::Tokenizer, String> {
        fn part<T: serde::de::DeserializeOwned>(value: Value) -> Result<Option<T>, String> {
            serde_json::from_value(value).map_err(|e| e.to_string())
        }
        super::limits::check(&self.normalizer, &self.pre_tokenizer, &self.decoder)?;
        let mut tokenizer = tokenizers::Tokenizer::new(self.model);
        tokenizer
            .with_normalizer(part::<NormalizerWrapper>(self.normalizer)?)
            .map_err(|e| e.to_string())?;
        tokenizer.with_pre_tokenizer(part::<PreTokenizerWrapper>(self.pre_tokenizer)?);
        tokenizer.with_post_processor(part::<PostProcessorWrapper>(self.post_processor)?);
        tokenizer.with_decoder(part::<DecoderWrapper>(self.decoder)?);
        // Special and other tokens go in together, in the order of their ids.
        tokenizer
            .add_tokens(self.added)
            .map_err(|e| e.to_string())?;
        Ok(tokenizer)
    }
}

/// BERT's word pieces: `##` continues a word, `[CLS]` and `[SEP]` stand around a text.
pub(crate) fn word_pieces(
    vocab: AHashMap<String, u32>,
    normalizer: Value,
) -> Result<Parts, String> {
    let id = |token: &str| vocab.get(token).map(|&id| (token.to_owned(), id));
    let (cls, sep) = (id("[CLS]"), id("[SEP]"));
    if id("[UNK]").is_none() || cls.is_none() || sep.is_none() {
        return Err("lacks one of [UNK], [CLS], [SEP]".into());
    }
    let model = WordPiece::builder()
        .vocab(vocab)
        .unk_token("[UNK]".into())
        .continuing_subword_prefix("##".into())
        .max_input_chars_per_word(100)
        .build()
        .map_err(|e| e.to_string())?;
    let mut parts = Parts::new(model);
    parts.normalizer = normalizer;
    parts.pre_tokenizer = json!({"type": "BertPreTokenizer"});
    parts.post_processor = template(cls.as_ref(), sep.as_ref());
    parts.decoder = json!({"type": "WordPiece", "prefix": "##", "cleanup": true});
    parts.added = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        .map(|t| AddedToken::from(t, true).normalized(false))
        .to_vec();
    Ok(parts)
}

/// A line of merges, where it joins two tokens into a third.
pub(crate) fn merge(line: &str, vocab: &AHashMap<String, u32>) -> Option<(String, String)> {
    let (left, right) = line.split_once(' ')?;
    let made = format!("{left}{right}");
    let known = [left, right, &made].iter().all(|t| vocab.contains_key(*t));
    known.then(|| (left.to_owned(), right.to_owned()))
}

/// GPT-2's byte level, optionally with its own splitting of words.
pub(crate) fn byte_level(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": false,
        "use_regex": use_regex,
    })
}

pub(crate) fn split_then_bytes(patterns: &[&str]) -> Value {
    let mut steps: Vec<Value> = patterns
        .iter()
        .map(|p| {
            json!({"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": false})
        })
        .collect();
    steps.push(byte_level(false, false));
    json!({"type": "Sequence", "pretokenizers": steps})
}

pub(crate) fn template(before: Option<&(String, u32)>, after: Option<&(String, u32)>) -> Value {
    let special = |token: &(String, u32), side: u32| json!({"SpecialToken": {"id": token.0, "type_id": side}});
    let around = |text: &str, side: u32| {
        let mut pieces: Vec<Value> = before.iter().map(|t| special(t, side)).collect();
        pieces.push(json!({"Sequence": {"id": text, "type_id": side}}));
        pieces.extend(after.iter().map(|t| special(t, side)));
        pieces
    };
    let single = around("A", 0);
    let mut pair = single.clone();
    pair.extend(around("B", 1));
    let tokens: serde_json::Map<String, Value> = before
        .iter()
        .chain(after.iter())
        .map(|(token, id)| {
            let entry = json!({"id": token, "ids": [id], "tokens": [token]});
            (token.clone(), entry)
        })
        .collect();
    json!({
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": tokens,
    })
}

fn printable(byte: &u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

fn moved_bytes() -> impl Iterator<Item = u8> {
    (0..=u8::MAX).filter(|byte| !printable(byte))
}

/// The letter GPT-2's vocabulary writes for a byte: printable Latin-1 as it is, the rest moved to
/// U+0100 and on.
fn byte_of_letter(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    if let Ok(byte) = u8::try_from(code) {
        return printable(&byte).then_some(byte);
    }
    let nth = usize::try_from(code.checked_sub(0x100)?).ok()?;
    moved_bytes().nth(nth)
}

/// Bytes as GPT-2's vocabulary writes them.
pub(crate) fn byte_letters(bytes: &[u8]) -> String {
    let letter = |byte: &u8| match printable(byte) {
        true => char::from(*byte),
        false => {
            let nth = moved_bytes().position(|moved| moved == *byte);
            char::from_u32(0x100 + nth.unwrap_or(0) as u32).unwrap_or('\u{fffd}')
        }
    };
    bytes.iter().map(letter).collect()
}

pub(crate) fn from_byte_letters(piece: &str) -> String {
    let bytes: Option<Vec<u8>> = piece.chars().map(byte_of_letter).collect();
    bytes.map_or_else(
        || piece.to_owned(),
        |b| String::from_utf8_lossy(&b).into_owned(),
    )
}

/// The byte of a SentencePiece byte piece `<0xAB>`.
pub(crate) fn byte_piece(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_letters_spell_every_byte_once() {
        let mut seen: Vec<u8> = (0x21..0x180)
            .filter_map(char::from_u32)
            .filter_map(byte_of_letter)
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..=255).collect::<Vec<u8>>());
        assert_eq!(from_byte_letters("Ġcafé"), " caf\u{fffd}");
        assert_eq!(from_byte_letters("ĠcafÃ©"), " café");
        let all: Vec<u8> = (0..=255).collect();
        let back: Option<Vec<u8>> = byte_letters(&all).chars().map(byte_of_letter).collect();
        assert_eq!(back, Some(all));
    }
}

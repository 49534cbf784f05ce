//! A byte-level BPE tokenizer, trained on the corpus at hand and written as `tokenizer.json`.

use crate::hf::write_whole;
use crate::{Result, TrainError};
use serde_json::json;
use std::path::Path;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

/// The token between documents, and before a text that is scored.
pub const END: &str = "<|endoftext|>";

fn fail(error: impl std::fmt::Display) -> TrainError {
    TrainError::Tokenizer(error.to_string())
}

/// Trains a tokenizer of at most `vocabulary` tokens; the end token has number 0.
pub fn train(texts: impl Iterator<Item = String> + Send, vocabulary: usize) -> Result<Tokenizer> {
    if vocabulary < 257 {
        return Err(TrainError::Settings(format!(
            "a byte-level tokenizer needs at least 257 tokens, found {vocabulary}"
        )));
    }
    let end = AddedToken::from(END, true);
    let mut trainer: TrainerWrapper = BpeTrainer::builder()
        .vocab_size(vocabulary)
        .min_frequency(2)
        .show_progress(false)
        .special_tokens(vec![end.clone()])
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build()
        .into();
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));
    tokenizer.train(&mut trainer, texts).map_err(fail)?;
    tokenizer.add_special_tokens([end]).map_err(fail)?;
    Ok(tokenizer)
}

/// The tokens of a text, without special tokens.
pub fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let encoding = tokenizer.encode_fast(text, false).map_err(fail)?;
    Ok(encoding.get_ids().to_vec())
}

/// Larger than any tokenizer there is.
const LARGEST_TOKENIZER: u64 = 512 << 20;

pub fn load(path: &Path) -> Result<Tokenizer> {
    let bytes =
        mary_platform::read_plain(path, LARGEST_TOKENIZER).map_err(TrainError::file(path))?;
    mary_weights::read_tokenizer(&bytes).map_err(|e| TrainError::content(path, e))
}

/// The tokenizer of a folder, or a new one that is written there.
pub(crate) fn load_or_train(
    folder: &Path,
    train: impl FnOnce() -> Result<Tokenizer>,
) -> Result<Tokenizer> {
    let path = folder.join("tokenizer.json");
    if path.exists() {
        return load(&path);
    }
    let tokenizer = train()?;
    write_whole(&path, to_json(&tokenizer)?.as_bytes())?;
    Ok(tokenizer)
}

pub(crate) fn token_id(tokenizer: &Tokenizer, token: &str) -> Result<u32> {
    let id = tokenizer.token_to_id(token);
    id.ok_or_else(|| TrainError::Tokenizer(format!("no token {token}")))
}

pub fn to_json(tokenizer: &Tokenizer) -> Result<String> {
    tokenizer.to_string(false).map_err(fail)
}

/// The `tokenizer_config.json` beside it.
pub fn config(context: usize) -> String {
    let config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "unk_token": END,
        "add_prefix_space": false,
        "clean_up_tokenization_spaces": false,
        "model_max_length": context,
    });
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Corpus;

    fn small() -> Tokenizer {
        let corpus = Corpus::new(1);
        train((0..2000).map(move |i| corpus.document(i)), 600).expect("trains")
    }

    #[test]
    fn any_text_comes_back_from_its_tokens() {
        let tokenizer = small();
        for text in [
            "Seven is more than three.",
            "naïve Ωmega \u{1F600}\n\t x",
            "",
        ] {
            let ids = encode(&tokenizer, text).expect("encodes");
            assert_eq!(tokenizer.decode(&ids, true).expect("decodes"), text);
        }
    }

    #[test]
    fn training_twice_gives_the_same_file() {
        assert_eq!(
            to_json(&small()).expect("json"),
            to_json(&small()).expect("json")
        );
    }

    #[test]
    fn the_end_token_is_number_zero() {
        assert_eq!(small().token_to_id(END), Some(0));
    }
}

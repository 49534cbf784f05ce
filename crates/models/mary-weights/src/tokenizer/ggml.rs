//! The tokenizer inside a GGUF file.
//!
//! `tokenizer.ggml.model` says the algorithm (`gpt2` is byte-level BPE, `llama` is SentencePiece's
//! BPE, `bert` word pieces) and `tokenizer.ggml.pre` how a text is cut before it. The regular expressions are those of
//! llama.cpp's `llama-vocab.cpp` and of the models' own `tokenizer.json`; a kind that is not known
//! is refused, since a guess would tokenise almost right.

use std::collections::HashSet;

use ahash::AHashMap;
use serde_json::{Value, json};
use tokenizers::AddedToken;
use tokenizers::models::bpe::BPE;

use super::pipeline::{Parts, byte_level, merge, split_then_bytes, word_pieces};
use super::sentencepiece::{Algorithm, Piece, PieceKind, Prefix, Vocabulary};
use super::{Specials, Tokenizer};
use crate::architecture::config::form::GgufForm;
use crate::gguf::Metadata;

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(super) const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const KNOWN: &str = "default, gpt-2, gpt-neox, olmo, phi-2, mpt, smollm, starcoder, refact, \
                     command-r, codeshell, bloom, gpt3-finnish, roberta-bpe, llama-bpe, llama3, llama-v3, dbrx, smaug-bpe, falcon, \
                     falcon3, qwen2, stablelm2, deepseek-r1-qwen, gpt-4o";

/// Builds the tokenizer from metadata. `template` tells which end-of-turn tokens are in use.
pub(crate) fn load(metadata: &Metadata, template: Option<&str>) -> Result<Tokenizer, String> {
    let tokens = metadata
        .texts("tokenizer.ggml.tokens")
        .ok_or("has no tokenizer (tokenizer.ggml.tokens)")?;
    let kinds: Vec<PieceKind> = metadata
        .integers("tokenizer.ggml.token_type")
        .unwrap_or_default()
        .into_iter()
        .map(PieceKind::from_number)
        .chain(std::iter::repeat(PieceKind::Normal))
        .take(tokens.len())
        .collect();
    let kind = metadata.text("tokenizer.ggml.model").unwrap_or("");
    let pre = metadata.text("tokenizer.ggml.pre");
    let mut specials = specials(metadata, tokens, template);
    let parts = match kind {
        "gpt2" => {
            specials.add_bos.get_or_insert(pre == Some("llama-bpe"));
            byte_level_bpe(metadata, tokens, &kinds, pre)?
        }
        "llama" => {
            specials.add_bos.get_or_insert(true);
            sentencepiece(metadata, tokens, &kinds)?.pipeline(Prefix::EveryStretch)?
        }
        "bert" => {
            // What stands around a text is part of the pipeline.
            let parts = wordpiece(tokens)?;
            return Tokenizer::new(
                parts.assemble()?,
                Specials {
                    add_bos: None,
                    add_eos: None,
                    ..specials
                },
            );
        }
        other => {
            return Err(format!(
                "has a tokenizer of kind `{other}`; `gpt2` (BPE), `llama` (SentencePiece) and \
                 `bert` (word pieces) are supported"
            ));
        }
    };
    specials.add_eos.get_or_insert(false);
    Tokenizer::new(parts.assemble()?, specials)
}

/// Word pieces: converters mark what begins a word with `▁` where BERT's files mark what continues one
/// with `##`. Whether letters are made small is not written down; a vocabulary with capitals keeps them.
fn wordpiece(tokens: &[String]) -> Result<Parts, String> {
    let special = |token: &str| token.starts_with('[') && token.ends_with(']');
    let plain = |token: &String| match token.strip_prefix('▁') {
        Some(word) => word.to_owned(),
        None if special(token) || token.is_empty() => token.clone(),
        None => format!("##{token}"),
    };
    let vocab = (0u32..)
        .zip(tokens)
        .map(|(id, token)| (plain(token), id))
        .collect();
    let capitals = tokens
        .iter()
        .any(|t| !special(t) && t.contains(char::is_uppercase));
    word_pieces(
        vocab,
        json!({
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": true,
            "strip_accents": null,
            "lowercase": !capitals,
        }),
    )
}

fn byte_level_bpe(
    metadata: &Metadata,
    tokens: &[String],
    kinds: &[PieceKind],
    pre: Option<&str>,
) -> Result<Parts, String> {
    let pre = pre.unwrap_or_else(|| {
        // Files older than the key; these architectures have one tokenizer each.
        let architecture = metadata.text("general.architecture").unwrap_or("");
        GgufForm::named(architecture, false).map_or("default", |form| form.pre)
    });
    let mut vocab: AHashMap<String, u32> = AHashMap::with_capacity(tokens.len());
    for (id, token) in (0u32..).zip(tokens) {
        vocab.entry(token.clone()).or_insert(id);
    }
    let merges = metadata
        .texts("tokenizer.ggml.merges")
        .ok_or("has no merges (tokenizer.ggml.merges)")?
        .iter()
        .map(|line| {
            merge(line, &vocab).ok_or_else(|| {
                let line: String = line.chars().take(60).collect();
                format!("its merge `{line}` does not join two tokens into a third")
            })
        })
        .collect::<Result<Vec<_>, String>>()?;
    let ignore_merges = matches!(pre, "llama-bpe" | "llama3" | "llama-v3");
    let model = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .ignore_merges(ignore_merges)
        .build()
        .map_err(|e| e.to_string())?;
    let mut parts = Parts::new(model);
    parts.pre_tokenizer = pre_tokenizer(pre)?;
    if matches!(pre, "qwen2" | "deepseek-r1-qwen" | "gpt-neox") {
        parts.normalizer = json!({"type": "NFC"});
    }
    parts.decoder = byte_level(false, true);
    parts.added = tokens
        .iter()
        .zip(kinds)
        .filter(|(token, kind)| {
            !token.is_empty()
                && matches!(
                    kind,
                    PieceKind::Control | PieceKind::UserDefined | PieceKind::Unknown
                )
        })
        .map(|(token, kind)| {
            AddedToken::from(token.clone(), *kind != PieceKind::UserDefined).normalized(false)
        })
        .collect();
    Ok(parts)
}

fn pre_tokenizer(pre: &str) -> Result<Value, String> {
    Ok(match pre {
        "gpt-2" | "gpt2" | "gpt-neox" | "olmo" | "phi-2" | "mpt" => byte_level(false, true),
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => json!({
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": true},
                byte_level(false, true),
            ],
        }),
        "llama-bpe" | "llama3" | "llama-v3" | "dbrx" | "smaug-bpe" | "falcon3" => {
            split_then_bytes(&[LLAMA3])
        }
        "qwen2" | "stablelm2" | "deepseek-r1-qwen" => split_then_bytes(&[QWEN2]),
        "gpt-4o" => split_then_bytes(&[GPT4O]),
        "bloom" | "gpt3-finnish" => split_then_bytes(&[r" ?[^(\s|.,!?…。，、।۔،)]+"]),
        "roberta-bpe" => byte_level(false, true),
        "falcon" => split_then_bytes(&[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"]),
        "default" => {
            split_then_bytes(&[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"])
        }
        other => {
            return Err(format!(
                "cuts texts by the rules `{other}` (tokenizer.ggml.pre), which are not known; \
                 known: {KNOWN}"
            ));
        }
    })
}

fn sentencepiece(
    metadata: &Metadata,
    tokens: &[String],
    kinds: &[PieceKind],
) -> Result<Vocabulary, String> {
    let scores = metadata
        .floats("tokenizer.ggml.scores")
        .ok_or("has no scores (tokenizer.ggml.scores)")?;
    if scores.len() != tokens.len() {
        return Err(format!(
            "has {} tokens but {} scores",
            tokens.len(),
            scores.len()
        ));
    }
    if let Some(at) = scores.iter().position(|s| s.is_nan()) {
        return Err(format!("its token {at} has no number for a score"));
    }
    let pieces: Vec<Piece> = tokens
        .iter()
        .zip(scores)
        .zip(kinds)
        .map(|((text, score), kind)| Piece {
            text: text.clone(),
            score,
            kind: *kind,
        })
        .collect();
    let id = |key| token_id(metadata, key, tokens.len());
    Ok(Vocabulary {
        algorithm: Algorithm::Bpe,
        unk: id("tokenizer.ggml.unknown_token_id").or(Some(0)),
        bos: id("tokenizer.ggml.bos_token_id"),
        eos: id("tokenizer.ggml.eos_token_id"),
        byte_fallback: pieces.iter().any(|p| p.kind == PieceKind::Byte),
        charsmap: Vec::new(),
        dummy_prefix: metadata
            .flag("tokenizer.ggml.add_space_prefix")
            .unwrap_or(true),
        squeeze_spaces: metadata
            .flag("tokenizer.ggml.remove_extra_whitespaces")
            .unwrap_or(false),
        pieces,
    })
}

fn token_id(metadata: &Metadata, key: &str, tokens: usize) -> Option<u32> {
    let id = u32::try_from(metadata.integer(key)?).ok()?;
    ((id as usize) < tokens).then_some(id)
}

fn specials(metadata: &Metadata, tokens: &[String], template: Option<&str>) -> Specials {
    let id = |key: &str| token_id(metadata, key, tokens.len());
    let mut eos: Vec<u32> = ["eos_token_id", "eot_token_id", "eom_token_id"]
        .iter()
        .filter_map(|name| id(&format!("tokenizer.ggml.{name}")))
        .collect();
    // A chat template ends turns with a token that older files do not name.
    let ends = ["<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>"];
    eos.extend(
        (0u32..)
            .zip(tokens)
            .filter(|(_, t)| {
                ends.contains(&t.as_str()) && template.is_some_and(|x| x.contains(t.as_str()))
            })
            .map(|(id, _)| id),
    );
    let mut seen = HashSet::new();
    eos.retain(|id| seen.insert(*id));
    Specials {
        bos: id("tokenizer.ggml.bos_token_id"),
        eos,
        add_bos: metadata.flag("tokenizer.ggml.add_bos_token"),
        add_eos: metadata.flag("tokenizer.ggml.add_eos_token"),
    }
}

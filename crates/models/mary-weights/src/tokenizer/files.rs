//! The tokenizer of a Hugging Face folder: `tokenizer.json`, else SentencePiece's
//! `tokenizer.model`, else the plain vocabulary files of older checkpoints and of the first Qwen.

use ahash::AHashMap;
use serde_json::{Value, json};
use tokenizers::AddedToken;
use tokenizers::models::bpe::BPE;

use super::pipeline::{Parts, byte_level, merge, template, word_pieces};
use super::sentencepiece::{Prefix, Vocabulary};
use super::{Specials, Tokenizer, guarded};
use crate::fault::{self, Result, not_found};
use crate::folder::Sidecars;

/// Names that special tokens have in `tokenizer_config.json` and `special_tokens_map.json`.
const ROLES: &str = "bos_token eos_token unk_token sep_token pad_token cls_token mask_token";

pub(crate) fn load(files: &Sidecars, config: &Value) -> Result<Tokenizer> {
    let (name, built) = if let Some(bytes) = files.get("tokenizer.json") {
        ("tokenizer.json", super::read_tokenizer(bytes))
    } else if let Some((name, bytes)) = files.sentencepiece() {
        (name, guarded(|| from_sentencepiece(bytes, files)))
    } else if let (Some(vocab), Some(merges)) = (files.get("vocab.json"), files.get("merges.txt")) {
        (
            "vocab.json",
            guarded(|| from_merges(vocab, merges, files, config)),
        )
    } else if let Some(ranks) = files.get("qwen.tiktoken") {
        let pictures = config["visual"].is_object();
        (
            "qwen.tiktoken",
            guarded(|| super::tiktoken::from_ranks(ranks, pictures)),
        )
    } else if let Some(vocab) = files.get("vocab.txt") {
        ("vocab.txt", guarded(|| from_words(vocab, files)))
    } else {
        return Err(not_found(format!(
            "{}: no tokenizer; looked for tokenizer.json, tokenizer.model, vocab.json with \
                 merges.txt, qwen.tiktoken, and vocab.txt",
            files.folder.display()
        ))
        .hint(
            "copy the tokenizer's files from the model's page into the folder, or name another \
             model's: --model-arg tokenizer=FOLDER or tokenizer=owner/repository",
        ));
    };
    let path = files.folder.join(name);
    built
        .and_then(|inner| {
            let specials = specials(&inner, files, config);
            guarded(|| Tokenizer::new(inner, specials))
        })
        .map_err(|why| fault::bad(&path, format!("is not a usable tokenizer: {why}")))
}

fn from_sentencepiece(bytes: &[u8], files: &Sidecars) -> Result<tokenizers::Tokenizer, String> {
    let vocabulary = Vocabulary::parse(bytes)?;
    let settings = files.json("tokenizer_config.json").unwrap_or_default();
    let prefix = match settings["legacy"].as_bool() {
        Some(false) => Prefix::TextOnly,
        _ => Prefix::EveryStretch,
    };
    let mut parts = vocabulary.pipeline(prefix)?;
    // LLaMA's tokenizers begin a text with BOS unless told otherwise; T5's end it with EOS.
    let class = settings["tokenizer_class"].as_str().unwrap_or("");
    let token = |id: Option<u32>| {
        let id = id?;
        let piece = vocabulary.pieces.get(id as usize)?;
        Some((piece.text.clone(), id))
    };
    let (bos, eos) = match class {
        c if c.starts_with("T5") => (None, token(vocabulary.eos)),
        _ => (token(vocabulary.bos), None),
    };
    parts.post_processor = template(bos.as_ref(), eos.as_ref());
    let mut tokenizer = parts.assemble()?;
    add_tokens(&mut tokenizer, files)?;
    Ok(tokenizer)
}

/// GPT-2's files: `vocab.json` and `merges.txt`; RoBERTa and CLIP use them with a twist each.
fn from_merges(
    vocab: &[u8],
    merges: &[u8],
    files: &Sidecars,
    config: &Value,
) -> Result<tokenizers::Tokenizer, String> {
    let vocab: serde_json::Map<String, Value> =
        serde_json::from_slice(vocab).map_err(|e| e.to_string())?;
    let vocab = vocab
        .into_iter()
        .map(|(token, id)| {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or_else(|| format!("token `{token}` has no id"))?;
            Ok((token, id))
        })
        .collect::<Result<AHashMap<String, u32>, String>>()?;
    let merges = std::str::from_utf8(merges)
        .map_err(|_| "merges.txt is not UTF-8")?
        .lines()
        .filter(|line| !line.starts_with("#version") && !line.is_empty())
        .map(|line| {
            let wrong = || format!("merges.txt: `{line}` does not join two tokens into a third");
            merge(line, &vocab).ok_or_else(wrong)
        })
        .collect::<Result<Vec<_>, String>>()?;
    let kind = config["model_type"].as_str().unwrap_or("");
    let clip = kind.starts_with("clip");
    let id = |token: &str| vocab.get(token).map(|&id| (token.to_owned(), id));
    let (start, end) = if clip {
        (id("<|startoftext|>"), id("<|endoftext|>"))
    } else {
        (id("<s>"), id("</s>"))
    };
    let mut builder = BPE::builder().vocab_and_merges(vocab, merges);
    if clip {
        builder = builder
            .end_of_word_suffix("</w>".into())
            .unk_token("<|endoftext|>".into());
    }
    let mut parts = Parts::new(builder.build().map_err(|e| e.to_string())?);
    parts.decoder = byte_level(false, true);
    if clip {
        parts.normalizer = json!({"type": "Sequence", "normalizers": [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ]});
        parts.pre_tokenizer = json!({"type": "Sequence", "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"},
                "behavior": "Removed",
                "invert": true,
            },
            byte_level(false, false),
        ]});
        parts.post_processor = template(start.as_ref(), end.as_ref());
    } else {
        let settings = files.json("tokenizer_config.json").unwrap_or_default();
        let prefix = settings["add_prefix_space"].as_bool().unwrap_or(false);
        parts.pre_tokenizer = byte_level(prefix, true);
        if kind == "roberta" {
            parts.post_processor = template(start.as_ref(), end.as_ref());
        }
    }
    let mut tokenizer = parts.assemble()?;
    add_tokens(&mut tokenizer, files)?;
    if kind == "roberta" {
        let mask = AddedToken::from("<mask>", true)
            .lstrip(true)
            .normalized(true);
        tokenizer.add_tokens([mask]).map_err(|e| e.to_string())?;
    }
    Ok(tokenizer)
}

/// BERT's `vocab.txt`: one piece a line.
fn from_words(vocab: &[u8], files: &Sidecars) -> Result<tokenizers::Tokenizer, String> {
    let vocab = std::str::from_utf8(vocab).map_err(|_| "is not UTF-8")?;
    let vocab: AHashMap<String, u32> = vocab
        .lines()
        .zip(0u32..)
        .map(|(line, id)| (line.trim_end().to_owned(), id))
        .collect();
    let settings = files.json("tokenizer_config.json").unwrap_or_default();
    let lowercase = settings["do_lower_case"].as_bool().unwrap_or(true);
    let chinese = settings["tokenize_chinese_chars"].as_bool();
    let parts = word_pieces(
        vocab,
        json!({
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": chinese.unwrap_or(true),
            "strip_accents": settings["strip_accents"],
            "lowercase": lowercase,
        }),
    )?;
    let mut tokenizer = parts.assemble()?;
    add_tokens(&mut tokenizer, files)?;
    Ok(tokenizer)
}

/// Special and added tokens that lie beside a plain vocabulary, in the order of their ids.
fn add_tokens(tokenizer: &mut tokenizers::Tokenizer, files: &Sidecars) -> Result<(), String> {
    let settings = files.json("tokenizer_config.json").unwrap_or_default();
    let map = files.json("special_tokens_map.json").unwrap_or_default();
    let mut extra: Vec<(u64, AddedToken)> = Vec::new();
    if let Some(added) = settings["added_tokens_decoder"].as_object() {
        for (id, token) in added {
            let id: u64 = id
                .parse()
                .map_err(|_| format!("`{id}` is not a token id"))?;
            let content = token["content"].as_str().unwrap_or_default();
            let flag = |name: &str| token[name].as_bool().unwrap_or(false);
            let token = AddedToken::from(content, flag("special"))
                .lstrip(flag("lstrip"))
                .rstrip(flag("rstrip"))
                .single_word(flag("single_word"))
                .normalized(flag("normalized"));
            extra.push((id, token));
        }
    }
    if let Some(Value::Object(added)) = files.json("added_tokens.json") {
        for (token, id) in added {
            let id = id
                .as_u64()
                .ok_or_else(|| format!("token `{token}` has no id"))?;
            if extra.iter().all(|(_, t)| t.content != token) {
                extra.push((id, AddedToken::from(token, false).normalized(false)));
            }
        }
    }
    for role in ROLES.split_whitespace() {
        for source in [&settings, &map] {
            if let Some(content) = content(&source[role])
                && extra.iter().all(|(_, t)| t.content != content)
                && let Some(id) = tokenizer.token_to_id(content)
            {
                extra.push((id.into(), AddedToken::from(content, true).normalized(false)));
            }
        }
    }
    extra.retain(|(_, token)| !token.content.is_empty());
    extra.sort_by_key(|(id, _)| *id);
    for (id, token) in extra {
        let content = token.content.clone();
        tokenizer.add_tokens([token]).map_err(|e| e.to_string())?;
        let got = tokenizer.token_to_id(&content).map(u64::from);
        if got != Some(id) {
            return Err(format!(
                "added token `{content}` should have the id {id} but would get {got:?}"
            ));
        }
    }
    Ok(())
}

/// A special token's text: a string, or an object with a `content`.
fn content(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

/// Begin and end tokens, from every place a folder may name them.
fn specials(inner: &tokenizers::Tokenizer, files: &Sidecars, config: &Value) -> Specials {
    let settings = files.json("tokenizer_config.json").unwrap_or_default();
    let map = files.json("special_tokens_map.json").unwrap_or_default();
    let generation = files.json("generation_config.json").unwrap_or_default();
    let named = |role: &str| {
        [&settings, &map]
            .iter()
            .find_map(|source| content(&source[role]))
            .and_then(|token| inner.token_to_id(token))
    };
    let ids = |source: &Value, role: &str| -> Vec<u32> {
        let one = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok());
        match &source[role] {
            Value::Array(items) => items.iter().filter_map(one).collect(),
            value => one(value).into_iter().collect(),
        }
    };
    let text = &config["text_config"];
    // Encoders have no end of text to generate; a [SEP] of BERT is not named `eos_token`.
    let bos = named("bos_token").or_else(|| {
        [config, text]
            .iter()
            .find_map(|c| ids(c, "bos_token_id").first().copied())
            .filter(|&id| inner.id_to_token(id).is_some())
    });
    let mut eos: Vec<u32> = Vec::new();
    for id in named("eos_token")
        .into_iter()
        .chain(ids(config, "eos_token_id"))
        .chain(ids(text, "eos_token_id"))
        .chain(ids(&generation, "eos_token_id"))
    {
        if !eos.contains(&id) && inner.id_to_token(id).is_some() {
            eos.push(id);
        }
    }
    Specials {
        bos,
        eos,
        add_bos: settings["add_bos_token"].as_bool(),
        add_eos: settings["add_eos_token"].as_bool(),
    }
}

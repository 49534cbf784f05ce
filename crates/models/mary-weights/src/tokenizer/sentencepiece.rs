//! SentencePiece vocabularies: the `tokenizer.model` file, and the same thing inside GGUF files.
//!
//! The file is a protocol buffer (`sentencepiece_model.proto` of the SentencePiece project); the
//! few fields that matter are read here directly. A BPE vocabulary becomes merges in the order its
//! scores give, as Hugging Face's conversion does; a unigram vocabulary is taken as it is.

use std::collections::HashMap;

use ahash::AHashMap;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokenizers::models::bpe::BPE;
use tokenizers::models::unigram::Unigram;
use tokenizers::{AddedToken, ModelWrapper};

use super::pipeline::Parts;

/// Longer pieces are never made by merging: splitting them at every place would take too long, and
/// SentencePiece's own limit is sixteen characters.
const MAX_MERGED_CHARS: usize = 128;

/// What a piece is for; the numbers are those of the file format, and GGUF uses the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

impl PieceKind {
    pub fn from_number(number: i64) -> Self {
        match number {
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub text: String,
    pub score: f32,
    pub kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Unigram,
    Bpe,
}

/// Where a vocabulary with a dummy prefix puts its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Before every stretch of text between special tokens, as SentencePiece and llama.cpp do.
    EveryStretch,
    /// Before the text only (`"legacy": false` in Hugging Face's settings).
    TextOnly,
}

#[derive(Debug, Clone)]
pub(crate) struct Vocabulary {
    pub pieces: Vec<Piece>,
    pub algorithm: Algorithm,
    pub unk: Option<u32>,
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub byte_fallback: bool,
    /// Rules of Unicode normalisation, compiled by SentencePiece.
    pub charsmap: Vec<u8>,
    pub dummy_prefix: bool,
    pub squeeze_spaces: bool,
}

impl Vocabulary {
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut vocabulary = Self {
            pieces: Vec::new(),
            algorithm: Algorithm::Unigram,
            unk: Some(0),
            bos: Some(1),
            eos: Some(2),
            byte_fallback: false,
            charsmap: Vec::new(),
            dummy_prefix: true,
            squeeze_spaces: true,
        };
        let mut message = Message(bytes);
        while let Some((field, value)) = message.next()? {
            match (field, value) {
                (1, Wire::Bytes(piece)) => vocabulary.pieces.push(parse_piece(piece)?),
                (2, Wire::Bytes(trainer)) => vocabulary.read_trainer(trainer)?,
                (3, Wire::Bytes(normalizer)) => vocabulary.read_normalizer(normalizer)?,
                _ => {}
            }
        }
        if vocabulary.pieces.is_empty() {
            return Err("holds no pieces".into());
        }
        Ok(vocabulary)
    }

    fn read_trainer(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut message = Message(bytes);
        // Negative ids mean "none"; protocol buffers write them as 64-bit two's complement.
        let id = |n: u64| u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32);
        while let Some((field, value)) = message.next()? {
            match (field, value) {
                (3, Wire::Number(1)) => self.algorithm = Algorithm::Unigram,
                (3, Wire::Number(2)) => self.algorithm = Algorithm::Bpe,
                (3, Wire::Number(other)) => {
                    return Err(format!(
                        "is of model type {other}; unigram (1) and BPE (2) are supported"
                    ));
                }
                (35, Wire::Number(n)) => self.byte_fallback = n != 0,
                (40, Wire::Number(n)) => self.unk = id(n),
                (41, Wire::Number(n)) => self.bos = id(n),
                (42, Wire::Number(n)) => self.eos = id(n),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_normalizer(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut message = Message(bytes);
        while let Some((field, value)) = message.next()? {
            match (field, value) {
                (2, Wire::Bytes(map)) => self.charsmap = map.to_vec(),
                (3, Wire::Number(n)) => self.dummy_prefix = n != 0,
                (4, Wire::Number(n)) => self.squeeze_spaces = n != 0,
                _ => {}
            }
        }
        Ok(())
    }

    pub fn pipeline(&self, prefix: Prefix) -> Result<Parts, String> {
        let mut parts = Parts::new(self.model()?);
        let mut steps = Vec::new();
        if !self.charsmap.is_empty() {
            steps.push(json!({
                "type": "Precompiled",
                "precompiled_charsmap": STANDARD.encode(&self.charsmap),
            }));
        }
        if self.squeeze_spaces {
            steps.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
            steps.push(json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}));
        }
        let prepend = self.dummy_prefix && prefix == Prefix::EveryStretch;
        if prepend {
            steps.push(json!({"type": "Prepend", "prepend": "▁"}));
        }
        steps.push(json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}));
        parts.normalizer = json!({"type": "Sequence", "normalizers": steps});
        // Unigram pieces never cross a space; merges of BPE are not kept from it.
        let split = self.algorithm == Algorithm::Unigram;
        let scheme = if self.dummy_prefix && !prepend {
            "first"
        } else {
            "never"
        };
        if split || scheme == "first" {
            parts.pre_tokenizer = json!({
                "type": "Metaspace",
                "replacement": "▁",
                "prepend_scheme": scheme,
                "split": split,
            });
        }
        parts.decoder = decoder(self.dummy_prefix);
        parts.added = self
            .pieces
            .iter()
            .filter(|p| {
                matches!(p.kind, PieceKind::Control | PieceKind::Unknown)
                    || (p.kind == PieceKind::UserDefined && !p.text.contains('▁'))
            })
            .filter(|p| !p.text.is_empty())
            .map(|p| {
                AddedToken::from(p.text.clone(), p.kind != PieceKind::UserDefined).normalized(false)
            })
            .collect();
        Ok(parts)
    }

    fn model(&self) -> Result<ModelWrapper, String> {
        let unk = self.unk.filter(|&id| (id as usize) < self.pieces.len());
        match self.algorithm {
            Algorithm::Unigram => {
                let scored = self
                    .pieces
                    .iter()
                    .map(|p| (p.text.clone(), f64::from(p.score)))
                    .collect();
                Unigram::from(scored, unk.map(|id| id as usize), self.byte_fallback)
                    .map(Into::into)
                    .map_err(|e| e.to_string())
            }
            Algorithm::Bpe => {
                let mut vocab: AHashMap<String, u32> = AHashMap::new();
                for (id, piece) in (0u32..).zip(&self.pieces) {
                    vocab.entry(piece.text.clone()).or_insert(id);
                }
                let mut builder = BPE::builder()
                    .vocab_and_merges(vocab, merges(&self.pieces))
                    .fuse_unk(true)
                    .byte_fallback(self.byte_fallback);
                if let Some(unk) = unk {
                    builder = builder.unk_token(self.pieces[unk as usize].text.clone());
                }
                builder.build().map(Into::into).map_err(|e| e.to_string())
            }
        }
    }
}

fn decoder(dummy_prefix: bool) -> Value {
    let mut steps = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if dummy_prefix {
        steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({"type": "Sequence", "decoders": steps})
}

/// Every way to make a piece of two others, best score first; among equal scores the longer left
/// part first, as Hugging Face's conversion orders them.
fn merges(pieces: &[Piece]) -> Vec<(String, String)> {
    let mergeable: HashMap<&str, usize> = pieces
        .iter()
        .enumerate()
        .rev() // the first of two equal pieces wins
        .filter(|(_, p)| matches!(p.kind, PieceKind::Normal | PieceKind::UserDefined))
        .map(|(id, p)| (p.text.as_str(), id))
        .collect();
    let mut found: Vec<(f32, usize, usize, &str, &str)> = Vec::new();
    for piece in pieces {
        if !mergeable.contains_key(piece.text.as_str()) {
            continue;
        }
        let length = piece.text.chars().count();
        if length > MAX_MERGED_CHARS {
            continue;
        }
        let mut local: Vec<_> = piece
            .text
            .char_indices()
            .enumerate()
            .skip(1)
            .filter_map(|(left, (at, _))| {
                let (l, r) = piece.text.split_at(at);
                let (l_id, r_id) = (mergeable.get(l)?, mergeable.get(r)?);
                Some(((*l_id, *r_id), (piece.score, left, length - left, l, r)))
            })
            .collect();
        local.sort_by_key(|(ids, _)| *ids);
        found.extend(local.into_iter().map(|(_, merge)| merge));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(b.2.cmp(&a.2)));
    found
        .into_iter()
        .map(|(_, _, _, l, r)| (l.to_owned(), r.to_owned()))
        .collect()
}

fn parse_piece(bytes: &[u8]) -> Result<Piece, String> {
    let mut piece = Piece {
        text: String::new(),
        score: 0.0,
        kind: PieceKind::Normal,
    };
    let mut message = Message(bytes);
    while let Some((field, value)) = message.next()? {
        match (field, value) {
            (1, Wire::Bytes(text)) => {
                piece.text = String::from_utf8_lossy(text).into_owned();
            }
            (2, Wire::Four(bits)) => piece.score = f32::from_bits(bits),
            (3, Wire::Number(kind)) => {
                piece.kind = PieceKind::from_number(i64::try_from(kind).unwrap_or_default());
            }
            _ => {}
        }
    }
    if piece.score.is_nan() {
        return Err(format!("piece `{}` has no number for a score", piece.text));
    }
    Ok(piece)
}

struct Message<'a>(&'a [u8]);

enum Wire<'a> {
    Number(u64),
    Four(u32),
    Eight,
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    fn next(&mut self) -> Result<Option<(u64, Wire<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Wire::Number(self.varint()?),
            1 => {
                self.take(8)?;
                Wire::Eight
            }
            2 => {
                let n = usize::try_from(self.varint()?).map_err(|_| cut())?;
                Wire::Bytes(self.take(n)?)
            }
            5 => {
                let bytes = self.take(4)?;
                Wire::Four(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            }
            _ => return Err(cut()),
        };
        Ok(Some((key >> 3, value)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(cut())
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        if n > self.0.len() {
            return Err(cut());
        }
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(taken)
    }
}

fn cut() -> String {
    "is not a SentencePiece model, or ends too early".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_bytes_are_refused_and_nothing_panics() {
        for bytes in [
            &b""[..],
            b"\x0a",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"hello, this is not a model",
            &[0xff; 64],
        ] {
            assert!(Vocabulary::parse(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn merges_come_best_score_first() {
        let piece = |text: &str, score| Piece {
            text: text.into(),
            score,
            kind: PieceKind::Normal,
        };
        let pieces = [
            piece("a", -5.0),
            piece("b", -6.0),
            piece("ab", -2.0),
            piece("aba", -1.0),
            piece("ba", -3.0),
        ];
        let expected = [("ab", "a"), ("a", "ba"), ("a", "b"), ("b", "a")];
        let got = merges(&pieces);
        let got: Vec<(&str, &str)> = got.iter().map(|(l, r)| (l.as_str(), r.as_str())).collect();
        assert_eq!(got, expected);
    }
}

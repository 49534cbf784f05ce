//! From text to token ids and back, whatever file the vocabulary came in.
//!
//! Every source (a `tokenizer.json`, a SentencePiece model, the vocabulary inside a GGUF file, the
//! plain files of older checkpoints) becomes a pipeline of the `tokenizers` crate, so that there
//! is one way of encoding and one place where special tokens are decided.

pub(crate) mod files;
pub(crate) mod ggml;
mod limits;
pub(crate) mod pipeline;
pub(crate) mod sentencepiece;
mod tiktoken;

use serde_json::Value;
use tokenizers::PostProcessorWrapper;

use crate::fault::{Result, bad_model};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    pub ids: Vec<u32>,
    /// Where each token lies in the text, in bytes; `(0, 0)` for tokens that were added. A space
    /// before a word belongs to the token that holds it.
    pub offsets: Vec<(usize, usize)>,
    /// Whether each token was added around the text (BOS, `[CLS]`, …) rather than read from it.
    pub special: Vec<bool>,
    /// The word of each token, as the tokenizer divides a text before it looks for tokens.
    pub words: Vec<Option<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// GPT-2's letters for bytes.
    ByteLevel,
    /// `▁` for a space, `<0xAB>` for a byte.
    SentencePiece,
    Plain,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Specials {
    pub bos: Option<u32>,
    /// Every token that ends a generation, the tokenizer's own first.
    pub eos: Vec<u32>,
    /// `add_bos_token` and `add_eos_token`, where somebody wrote them down.
    pub add_bos: Option<bool>,
    pub add_eos: Option<bool>,
}

pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    spelling: Spelling,
    bos: Option<u32>,
    eos: Vec<u32>,
    adds_bos: bool,
    size: usize,
    /// How many times longer its pipeline makes a text, at most.
    growth: u64,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("size", &self.size)
            .field("bos", &self.bos)
            .field("eos", &self.eos)
            .field("adds_bos", &self.adds_bos)
            .finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Finishes a pipeline: no truncation, no padding, honest offsets, special tokens as told.
    pub(crate) fn new(
        mut inner: tokenizers::Tokenizer,
        specials: Specials,
    ) -> Result<Self, String> {
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| e.to_string())?;
        keep_spaces_in_offsets(&mut inner)?;
        if specials.add_bos.is_some() || specials.add_eos.is_some() {
            surround(&mut inner, &specials)?;
        }
        let spelling = spelling(&inner);
        let size = limits::check_vocabulary(&inner)?;
        let growth = growth(&inner)?;
        let first = inner.encode("a", true).map_err(|e| e.to_string())?;
        let adds_bos = specials.bos.is_some()
            && first.get_special_tokens_mask().first() == Some(&1)
            && first.get_ids().first().copied() == specials.bos;
        Ok(Self {
            inner,
            spelling,
            bos: specials.bos,
            eos: specials.eos,
            adds_bos,
            size,
            growth,
        })
    }

    /// Token ids of a text. With `add_special`, the tokens the model expects around a text (BOS,
    /// `[CLS]` … `[SEP]`) are added. Special tokens written in the text itself (as a rendered chat
    /// template does) are read as such either way.
    pub fn encode(&self, text: &str, add_special: bool) -> Result<Encoding> {
        // A regular expression of the tokenizer's may give up, which the crate takes for a panic.
        let encoded = guarded(|| {
            limits::check_text(text, self.growth)?;
            self.inner
                .encode(text, add_special)
                .map_err(|e| e.to_string())
        });
        let encoding =
            encoded.map_err(|e| bad_model(format!("the tokenizer could not read a text: {e}")))?;
        Ok(Encoding {
            ids: encoding.get_ids().to_vec(),
            offsets: encoding.get_offsets().to_vec(),
            words: encoding.get_word_ids().to_vec(),
            special: encoding
                .get_special_tokens_mask()
                .iter()
                .map(|&m| m == 1)
                .collect(),
        })
    }

    /// The text of token ids; special tokens are left out.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        guarded(|| self.inner.decode(ids, true).map_err(|e| e.to_string()))
            .map_err(|e| bad_model(format!("the tokenizer could not spell out token ids: {e}")))
    }

    /// One token as people would read it; bytes that are no text on their own are shown as `�`,
    /// and an id outside the vocabulary as `<id>`.
    pub fn piece(&self, id: u32) -> String {
        let Some(token) = self.inner.id_to_token(id) else {
            return format!("<{id}>");
        };
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder();
        if added.contains_key(&id) {
            return token;
        }
        match self.spelling {
            Spelling::ByteLevel => pipeline::from_byte_letters(&token),
            Spelling::SentencePiece => pipeline::byte_piece(&token).map_or_else(
                || token.replace('▁', " "),
                |b| String::from_utf8_lossy(&[b]).into_owned(),
            ),
            Spelling::Plain => token,
        }
    }

    /// For each token, whether it begins with the space before a word. `None` where tokens do not hold
    /// that space, as WordPiece's do not.
    pub fn word_starts(&self) -> Option<Vec<bool>> {
        let starts: Vec<bool> = match self.spelling {
            Spelling::Plain => return None,
            _ => (0..self.size as u32)
                .map(|id| self.piece(id).starts_with(' '))
                .collect(),
        };
        starts.contains(&true).then_some(starts)
    }

    pub(crate) fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    pub fn mask(&self) -> Option<u32> {
        let known = ["[MASK]", "<mask>"].iter();
        known.into_iter().find_map(|t| self.inner.token_to_id(t))
    }

    pub fn eos(&self) -> Option<u32> {
        self.eos.first().copied()
    }

    /// All tokens that end a generation (the tokenizer's own, and `eos_token_id` of configuration
    /// and generation configuration).
    pub fn eos_ids(&self) -> &[u32] {
        &self.eos
    }

    /// Whether [`Self::encode`] with `add_special` puts BOS in front.
    pub fn adds_bos(&self) -> bool {
        self.adds_bos
    }

    pub fn vocab_size(&self) -> usize {
        self.size
    }

    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    pub(crate) fn knows(&self, token: &str) -> bool {
        self.id(token).is_some()
    }

    /// The token that stands where a picture is shown, as a special token; added behind all others where the
    /// vocabulary has none of this name.
    pub(crate) fn placeholder(&mut self, name: &str) -> Result<u32, String> {
        let token = tokenizers::AddedToken::from(name, true);
        let added = self.inner.add_special_tokens([token]);
        added.map_err(|e| format!("its tokenizer takes no token `{name}`: {e}"))?;
        self.size = self.inner.get_vocab_size(true).max(self.size);
        let found = self.inner.token_to_id(name);
        found.ok_or_else(|| format!("its tokenizer has no token `{name}`"))
    }

    /// Refuses a tokenizer whose ids reach beyond the rows of the embedding. Special tokens that
    /// nothing in a text would produce (a picture's placeholder in a text-only model) may.
    pub(crate) fn check_rows(&self, rows: usize, template: Option<&str>) -> Result<(), String> {
        if self.size <= rows {
            return Ok(());
        }
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder();
        let mut beyond: Vec<(u32, String)> = self
            .inner
            .get_vocab(true)
            .into_iter()
            .map(|(token, id)| (id, token))
            .filter(|(id, _)| *id as usize >= rows)
            .collect();
        beyond.sort();
        let needed = beyond.into_iter().find(|(id, token)| {
            !added.get(id).is_some_and(|t| t.special)
                || self.bos == Some(*id)
                || self.eos.contains(id)
                || template.is_some_and(|t| t.contains(token))
        });
        match needed {
            None => Ok(()),
            Some((id, token)) => Err(format!("its token `{token}` has the id {id}")),
        }
    }
}

/// Reads a `tokenizer.json` as the `tokenizers` crate does, unless its pipeline asks for more than can be
/// borne.
pub fn read_tokenizer(bytes: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    guarded(|| {
        limits::check_file(bytes)?;
        // As text: that reader is compiled already, the one of bytes would be compiled here.
        let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
        let read: tokenizers::Tokenizer =
            text.parse().map_err(|e: tokenizers::Error| e.to_string())?;
        limits::check_vocabulary(&read)?;
        Ok(read)
    })
}

/// The `tokenizers` crate trusts its parts in places; damaged ones must not take us down, and what they
/// panic with is no message for a person.
pub(crate) fn guarded<T>(build: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    mary_platform::caught(build).unwrap_or_else(|_| Err("its parts contradict each other".into()))
}

/// Byte-level post-processors may cut the space off a token's offsets; then a token of spaces lies
/// nowhere, and where a continuation begins cannot be told.
fn keep_spaces_in_offsets(inner: &mut tokenizers::Tokenizer) -> Result<(), String> {
    fn untrim(value: &mut Value) {
        match value {
            Value::Object(map) => {
                if let Some(trim) = map.get_mut("trim_offsets") {
                    *trim = Value::Bool(false);
                }
                map.values_mut().for_each(untrim);
            }
            Value::Array(items) => items.iter_mut().for_each(untrim),
            _ => {}
        }
    }
    if let Some(post) = inner.get_post_processor() {
        let mut value = serde_json::to_value(post).map_err(|e| e.to_string())?;
        untrim(&mut value);
        let post: PostProcessorWrapper =
            serde_json::from_value(value).map_err(|e| e.to_string())?;
        inner.with_post_processor(Some(post));
    }
    Ok(())
}

fn surround(inner: &mut tokenizers::Tokenizer, specials: &Specials) -> Result<(), String> {
    let token = |wanted: Option<bool>, id: Option<u32>| {
        let id = id.filter(|_| wanted == Some(true))?;
        Some((inner.id_to_token(id)?, id))
    };
    let bos = token(specials.add_bos, specials.bos);
    let eos = token(specials.add_eos, specials.eos.first().copied());
    let post = pipeline::template(bos.as_ref(), eos.as_ref());
    let post: PostProcessorWrapper = serde_json::from_value(post).map_err(|e| e.to_string())?;
    inner.with_post_processor(Some(post));
    Ok(())
}

fn spelling(inner: &tokenizers::Tokenizer) -> Spelling {
    let decoder = serde_json::to_string(&inner.get_decoder()).unwrap_or_default();
    if decoder.contains("ByteLevel") {
        Spelling::ByteLevel
    } else if decoder.contains('▁') {
        Spelling::SentencePiece
    } else {
        Spelling::Plain
    }
}

fn growth(inner: &tokenizers::Tokenizer) -> Result<u64, String> {
    let value = |part: Result<Value, serde_json::Error>| part.map_err(|e| e.to_string());
    let normalizer = value(serde_json::to_value(inner.get_normalizer()))?;
    let pre = value(serde_json::to_value(inner.get_pre_tokenizer()))?;
    let decoder = value(serde_json::to_value(inner.get_decoder()))?;
    limits::check(&normalizer, &pre, &decoder)
}

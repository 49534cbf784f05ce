//! The wide lexicon, everyday words with the features that the paradigms ask for, and the paradigms: how a pair of
//! each is written. Plurals, pasts and participles are written out, so that no rule can misspell one.

use std::sync::LazyLock;

use mary_generators::Writer;

pub(crate) static LEXICON: LazyLock<Writer> =
    LazyLock::new(|| Writer::read(include_str!("lexicon.json"), include_str!("paradigms.json")));

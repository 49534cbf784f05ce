//! The functions that entries of `families.json` name.

use serde_json::Value;

use super::fields::refused;
use super::{Architecture, Fields, classic, llama, paired, recurrent, relative, sparse};
use crate::fault::Result;
use crate::gguf::source::GgufSource;

/// Changes what an entry makes of a configuration.
pub(super) type Own = fn(&mut Architecture, &Fields<'_>) -> Result<()>;

/// Keys of `config.json` that are computed from a GGUF file.
pub(super) type OwnGguf = fn(&GgufSource<'_>) -> Result<Value, String>;

const OWN: &[(&str, Own)] = &[
    ("bloom", classic::bloom),
    ("cohere", llama::cohere),
    ("correcting", recurrent::correcting),
    ("deberta", relative::deberta),
    ("deepseek", sparse::deepseek),
    ("falcon", classic::falcon),
    ("gemma", llama::gemma),
    ("gpt2", classic::gpt2),
    ("gpt_neo", classic::gpt_neo),
    ("gpt_oss", sparse::gpt_oss),
    ("gptj", classic::gptj),
    ("granite", llama::granite),
    ("granite_moe", sparse::granite),
    ("hybrid", recurrent::hybrid),
    ("lfm2", recurrent::lfm2),
    ("ltg", relative::ltg),
    ("mamba", recurrent::mamba),
    ("minimax", sparse::minimax),
    ("ministral3", llama::end_of_training),
    ("mixtral", sparse::mixtral),
    ("modernbert", classic::modernbert),
    ("mpt", classic::mpt),
    ("olmo", llama::olmo),
    ("olmoe", sparse::olmoe),
    ("opt", classic::opt),
    ("phi3", llama::phi3),
    ("qwen", classic::qwen),
    ("qwen_moe", sparse::qwen_moe),
    ("qwen_windows", llama::qwen_windows),
    ("roberta", classic::roberta),
    ("smollm3", llama::some_still),
    ("t5", paired::t5),
];

const OWN_GGUF: &[(&str, OwnGguf)] = &[
    ("bert", classic::bert_gguf),
    ("falcon", classic::falcon_gguf),
    ("gemma", llama::gemma_gguf),
    ("gpt2", classic::gpt2_gguf),
    ("olmo", llama::olmo_gguf),
    ("olmo2", llama::olmo2_gguf),
    ("qwen", classic::qwen_gguf),
    ("sparse", sparse::sparse_gguf),
];

fn named<F: Copy>(all: &[(&str, F)], name: &str) -> Option<F> {
    let found = all.iter().find(|(own, _)| *own == name);
    found.map(|(_, function)| *function)
}

/// A test looks for all of them, so that no entry can be shipped that names another.
pub(super) fn own(name: &str) -> Result<Own> {
    named(OWN, name).ok_or_else(|| refused(format!("nothing computes `{name}`")))
}

pub(super) fn own_gguf(name: &str) -> Result<OwnGguf, String> {
    named(OWN_GGUF, name).ok_or_else(|| format!("nothing computes `{name}`"))
}

//! Which models are one: checkpoints, sizes, quantisations and tunings of one model were made by the same hands from
//! the same data, and count as one subject.

/// Words in a model's name that say how large it is, how it was tuned or packed, and not who it is.
const NOT_WHO: [&str; 34] = [
    "mini", "nano", "tiny", "small", "base", "medium", "large", "xl", "xxl", "turbo", "instruct",
    "chat", "it", "hf", "sft", "dpo", "gguf", "awq", "gptq", "int4", "int8", "fp8", "fp16", "bf16",
    "f16", "f32", "4bit", "8bit", "preview", "latest", "k", "m", "s", "deduped",
];

/// The lineage of a model by its full name: provider and owner, revision, sizes, quantisations, tunings and dates
/// left out. Only a guess from the name; tables of answers and `--lineage` say better.
///
/// ```
/// use mary_lab::scale::lineage;
///
/// assert_eq!(lineage("hf/EleutherAI/pythia-70m-deduped@step512"), lineage("gguf/models/pythia-1.4b.Q4_K_M.gguf"));
/// assert_ne!(lineage("published/Llama-2-7b-chat"), lineage("published/Llama-3-8b"));
/// ```
pub fn lineage(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split('@').next().unwrap_or(name).to_lowercase();
    let mut words: Vec<&str> = Vec::new();
    let mut last = 0;
    let marks = name.char_indices().filter(|(at, c)| {
        let inside = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        // The point of `1.4b` or `v0.2` parts no words.
        matches!(c, '-' | '_' | ' ' | ':')
            || *c == '.' && !(inside(at + 1) && *at > 0 && inside(at - 1))
    });
    for (at, c) in marks {
        words.extend(name.get(last..at));
        last = at + c.len_utf8();
    }
    words.extend(name.get(last..));
    let mut dated = false;
    words.retain(|word| {
        let number = word.bytes().all(|b| b.is_ascii_digit());
        // Month and day follow a year.
        dated = number && (word.len() >= 4 || dated && word.len() == 2);
        !word.is_empty() && !dated && !NOT_WHO.contains(word) && !is_size(word)
    });
    match words.is_empty() {
        true => name,
        false => words.join("-"),
    }
}

/// `70m`, `1.4b`, `8x7b`, `q4`, `20241022`.
fn is_size(word: &str) -> bool {
    let digits =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let amount = |text: &str| digits(text.strip_suffix(['m', 'b', 'k']).unwrap_or(""));
    amount(word)
        || word
            .split_once('x')
            .is_some_and(|(n, rest)| digits(n) && amount(rest))
        || word
            .strip_prefix('q')
            .is_some_and(|rest| rest.len() <= 2 && digits(rest))
        || word.len() >= 4 && digits(word) && !word.contains('.')
}

//! Options that take one of a few words, each with what it means to the library and what help says of it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Word, meaning, what help says.
pub type Choices<T> = &'static [(&'static str, T, &'static str)];

pub fn one_of<T: Copy + Send + Sync + 'static>(
    choices: Choices<T>,
) -> impl TypedValueParser<Value = T> {
    let words = choices
        .iter()
        .map(|(word, _, about)| PossibleValue::new(*word).help(*about));
    PossibleValuesParser::new(words.collect::<Vec<_>>()).try_map(|word| {
        let meant = choices.iter().find(|(known, ..)| *known == word);
        meant.map(|(_, meaning, _)| *meaning).ok_or("no such word")
    })
}

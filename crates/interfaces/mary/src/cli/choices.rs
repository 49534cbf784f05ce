//! Options that take one of a few words, each with what it means to the library; what help says of them stands in
//! `choices.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Word and meaning.
pub type Choices<T> = &'static [(&'static str, T)];

static ABOUT: LazyLock<BTreeMap<String, BTreeMap<String, String>>> =
    LazyLock::new(|| toml::from_str(include_str!("choices.toml")).unwrap_or_default());

pub fn one_of<T: Copy + Send + Sync + 'static>(
    about: &str,
    choices: Choices<T>,
) -> impl TypedValueParser<Value = T> + use<T> {
    let about = ABOUT.get(about);
    let words = choices.iter().map(|(word, _)| {
        let help = about.and_then(|about| about.get(*word)).cloned();
        PossibleValue::new(*word).help(help.unwrap_or_default())
    });
    PossibleValuesParser::new(words.collect::<Vec<_>>()).try_map(|word| {
        let meant = choices.iter().find(|(known, _)| *known == word);
        meant.map(|(_, meaning)| *meaning).ok_or("no such word")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn every_choice_is_explained_and_every_explanation_has_its_choice() {
        fn explained(command: &clap::Command, found: &mut Vec<String>) {
            for value in command
                .get_arguments()
                .flat_map(clap::Arg::get_possible_values)
            {
                found.extend(value.get_help().map(ToString::to_string));
            }
            command
                .get_subcommands()
                .for_each(|below| explained(below, found));
        }
        let mut found = Vec::new();
        explained(&crate::command::command_line(COMMANDS), &mut found);
        assert!(found.iter().all(|help| !help.is_empty()), "{found:?}");
        let unused = ABOUT
            .values()
            .flat_map(BTreeMap::values)
            .find(|help| !found.contains(help));
        assert_eq!(unused, None);
    }
}

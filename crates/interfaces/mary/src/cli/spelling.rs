//! Spellings of other tools (`--num_fewshot` is `--num-fewshot`), and numbers below zero.

use std::ffi::OsString;

/// Underscores in the names of long options become hyphens; values and everything after `--` stay.
pub fn normalise(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut only_values = false;
    arguments
        .into_iter()
        .map(|argument| {
            only_values |= argument == "--";
            match argument.to_str() {
                Some(text) if !only_values && text.starts_with("--") => hyphenated(text).into(),
                _ => argument,
            }
        })
        .collect()
}

fn hyphenated(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
        None => text.replace('_', "-"),
    }
}

/// Reads `-3` as a number wherever an option takes a value, so that the message is about the number and
/// not about an option called `-3`.
pub fn negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_and_hyphens_are_the_same_in_names_only() {
        let given = [
            "mary",
            "--num_fewshot",
            "4",
            "--output_path=my_runs",
            "a_b",
            "--",
            "--c_d",
        ];
        let got = normalise(given.map(OsString::from));
        let want = [
            "mary",
            "--num-fewshot",
            "4",
            "--output-path=my_runs",
            "a_b",
            "--",
            "--c_d",
        ];
        assert_eq!(got, want.map(OsString::from));
    }
}

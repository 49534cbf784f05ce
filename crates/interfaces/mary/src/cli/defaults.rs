//! Options from `mary.toml`: a table named after a command holds what is meant when nothing is typed
//! (`[run]`), a profile what is meant by `--profile NAME` (`[profile.paper.run]`). They are put in as if
//! they had been typed, before what was typed; what was typed counts.

use std::ffi::OsString;

use clap::{Arg, Command};
use toml::{Table, Value};

use crate::exit::UsageError;
use crate::matching;

/// Keys of the file that are no commands.
const PLACES: [&str; 3] = ["output_path", "data_dir", "cache_dir"];

/// The words with the options that the file holds for their command. `--profile NAME` is taken out.
pub fn expand(
    mut words: Vec<OsString>,
    command: &Command,
    file: &Table,
) -> Result<Vec<OsString>, UsageError> {
    check(command, file)?;
    let profile = take_profile(&mut words)?;
    let at = words
        .iter()
        .skip(1)
        .position(|w| named(command, w).is_some());
    let Some((at, sub)) = at.and_then(|at| Some((at + 1, named(command, &words[at + 1])?))) else {
        return Ok(words);
    };
    let mut given: Vec<(String, Value)> = Vec::new();
    if let Some(name) = profile {
        let profiles = file.get("profile").and_then(Value::as_table);
        let found = profiles
            .and_then(|p| p.get(&name))
            .and_then(Value::as_table);
        let Some(found) = found else {
            let known = profiles.into_iter().flat_map(|p| p.keys());
            let known: Vec<&str> = known.map(String::as_str).collect();
            let hint = match known.is_empty() {
                true => "hint: `mary init` writes a mary.toml with one".to_owned(),
                false => format!("hint: mary.toml has {}", known.join(", ")),
            };
            return Err(UsageError::new(format!(
                "no profile is called `{name}`\n{hint}"
            )));
        };
        given.extend(options(found.get(sub.get_name())));
    }
    for (key, value) in options(file.get(sub.get_name())) {
        if !given.iter().any(|(name, _)| *name == key) {
            given.push((key, value));
        }
    }
    let mut put_in = Vec::new();
    for (key, value) in given {
        let arg = option(sub, &key)?;
        if !typed(arg, &words[at + 1..]) {
            spell(&key, &value, sub, &mut put_in)?;
        }
    }
    words.splice(at + 1..at + 1, put_in);
    Ok(words)
}

fn options(table: Option<&Value>) -> Vec<(String, Value)> {
    let table = table.and_then(Value::as_table).into_iter().flatten();
    table
        .map(|(key, value)| (key.replace('_', "-"), value.clone()))
        .collect()
}

/// Refuses keys that mean nothing, wherever they stand.
fn check(command: &Command, file: &Table) -> Result<(), UsageError> {
    for (key, value) in file {
        if PLACES.contains(&key.as_str()) {
            continue;
        }
        let Some(table) = value.as_table() else {
            return Err(unknown(command, key));
        };
        let commands: Vec<(&String, &Value)> = match key.as_str() {
            "profile" => table
                .values()
                .filter_map(Value::as_table)
                .flatten()
                .collect(),
            _ => vec![(key, value)],
        };
        for (name, options) in commands {
            let Some(sub) = named(command, name.as_ref()) else {
                return Err(unknown(command, name));
            };
            for option_name in options.as_table().into_iter().flat_map(Table::keys) {
                option(sub, &option_name.replace('_', "-"))?;
            }
        }
    }
    Ok(())
}

fn unknown(command: &Command, key: &str) -> UsageError {
    let names = command.get_subcommands().map(Command::get_name);
    let hint = matching::suggestion(
        key,
        PLACES.into_iter().chain(["profile"]).chain(names),
        "mary --help",
    );
    UsageError::new(format!(
        "mary.toml: `{key}` is neither a place nor a command\n{hint}"
    ))
}

fn named<'a>(command: &'a Command, word: &std::ffi::OsStr) -> Option<&'a Command> {
    command.find_subcommand(word)
}

fn take_profile(words: &mut Vec<OsString>) -> Result<Option<String>, UsageError> {
    let Some(at) = words.iter().position(|w| {
        w.to_str()
            .is_some_and(|w| w == "--profile" || w.starts_with("--profile="))
    }) else {
        return Ok(None);
    };
    let word = words.remove(at).to_string_lossy().into_owned();
    if let Some((_, name)) = word.split_once('=') {
        return Ok(Some(name.to_owned()));
    }
    match at < words.len() {
        true => Ok(Some(words.remove(at).to_string_lossy().into_owned())),
        false => Err(UsageError::new(
            "--profile needs the name of a profile in mary.toml",
        )),
    }
}

fn option<'a>(command: &'a Command, name: &str) -> Result<&'a Arg, UsageError> {
    let long = |arg: &Arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
    };
    command
        .get_arguments()
        .find(|arg| long(arg))
        .ok_or_else(|| {
            let names = command.get_arguments().filter_map(Arg::get_long);
            let list = format!("mary {} --help", command.get_name());
            let hint = matching::suggestion(name, names, &list);
            UsageError::new(format!(
                "mary.toml: `mary {}` has no option `{name}`\n{hint}",
                command.get_name()
            ))
        })
}

/// Whether an option is among the words, in any of its spellings.
fn typed(arg: &Arg, words: &[OsString]) -> bool {
    let mut long: Vec<&str> = arg.get_all_aliases().unwrap_or_default();
    long.extend(arg.get_long());
    words
        .iter()
        .take_while(|w| *w != "--")
        .filter_map(|w| w.to_str())
        .any(|word| match word.strip_prefix("--") {
            Some(name) => long.contains(&name.split('=').next().unwrap_or(name)),
            None => {
                let short = word.strip_prefix('-').and_then(|rest| rest.chars().next());
                short.is_some() && short == arg.get_short()
            }
        })
}

/// A value as it would be typed.
fn spell(
    key: &str,
    value: &Value,
    command: &Command,
    out: &mut Vec<OsString>,
) -> Result<(), UsageError> {
    let takes_value = option(command, key)?.get_action().takes_values();
    match (value, takes_value) {
        (Value::Boolean(true), false) => out.push(format!("--{key}").into()),
        (Value::Boolean(false), false) => {}
        (Value::Array(values), true) => {
            for value in values {
                spell(key, value, command, out)?;
            }
        }
        (Value::Table(pairs), true) => {
            for (name, value) in pairs {
                let text = plain(value).ok_or_else(|| wrong(key, value))?;
                out.push(format!("--{key}={name}={text}").into());
            }
        }
        (value, true) => {
            let text = plain(value).ok_or_else(|| wrong(key, value))?;
            out.push(format!("--{key}={text}").into());
        }
        (value, false) => return Err(wrong(key, value)),
    }
    Ok(())
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(yes) => Some(yes.to_string()),
        _ => None,
    }
}

fn wrong(key: &str, value: &Value) -> UsageError {
    UsageError::new(format!(
        "mary.toml: `{key} = {value}` cannot be typed as an option\nhint: options without a value take true or false, others text, numbers or a list of them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::command_line;
    use crate::commands::COMMANDS;

    fn expanded(typed: &str, file: &str) -> Result<String, String> {
        let words = typed.split(' ').map(OsString::from).collect();
        let file = file.parse::<Table>().unwrap();
        let words = expand(words, &command_line(COMMANDS), &file).map_err(|e| e.to_string())?;
        let words: Vec<String> = words
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect();
        Ok(words.join(" "))
    }

    const FILE: &str = "output_path = \"out\"\n[run]\nshots = 4\nset = { mode = \"generate\" }\nno_report = true\n\
                        [profile.paper.run]\nshots = 50\ntasks = [\"words\", \"grids\"]\n";

    #[test]
    fn what_is_typed_counts_before_profiles_and_profiles_before_defaults() {
        assert_eq!(
            expanded("mary run -m a/b", FILE).unwrap(),
            "mary run --no-report --set=mode=generate --shots=4 -m a/b"
        );
        assert_eq!(
            expanded("mary run --profile paper --limit 3", FILE).unwrap(),
            "mary run --shots=50 --tasks=words --tasks=grids --no-report --set=mode=generate --limit 3"
        );
        assert_eq!(
            expanded("mary run -k 2 --profile=paper -t x/y", FILE).unwrap(),
            "mary run --no-report --set=mode=generate -k 2 -t x/y"
        );
        assert_eq!(expanded("mary tasks", FILE).unwrap(), "mary tasks");
    }

    #[test]
    fn keys_that_mean_nothing_are_refused_with_the_nearest() {
        let said = expanded("mary tasks", "[run]\nshotz = 4\n").unwrap_err();
        assert!(
            said.contains("`mary run` has no option `shotz`") && said.contains("shots"),
            "{said}"
        );
        let said = expanded("mary tasks", "[rum]\nshots = 4\n").unwrap_err();
        assert!(
            said.contains("`rum` is neither a place nor a command") && said.contains("run"),
            "{said}"
        );
        let said = expanded("mary run --profile nosuch", FILE).unwrap_err();
        assert!(said.contains("mary.toml has paper"), "{said}");
        let said = expanded("mary run", "[run]\nquiet = 3\n").unwrap_err();
        assert!(said.contains("quiet = 3"), "{said}");
    }
}

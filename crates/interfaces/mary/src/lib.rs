//! The command line of the laboratory: arguments in, exit code out. Standard output carries what can be piped
//! (tables, JSON); everything else goes to standard error. It is a library so that the Python package carries
//! the same command (and the same laboratory, [`library`]) without a second program.

mod cli;
mod command;
mod commands;
mod exit;
mod fetching;
mod interrupt;
pub mod library;
use mary_lab::names as matching;
mod own;
mod progress;
mod rundir;
mod settings;
mod specification;
mod terminal;
mod version;
mod words;

use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches as _};
use mary_contract::Registry;

use cli::PlaceArgs;
use commands::COMMANDS;

/// Carries out what these words ask for (the first is the program's own name) and returns the exit code.
pub fn run_command_line(words: impl IntoIterator<Item = OsString>) -> u8 {
    mary_contract::start_moments();
    let words: Vec<OsString> = words.into_iter().collect();
    let arguments = cli::spelling::normalise(words.clone());
    terminal::listen();
    if arguments.len() < 2 {
        return match commands::print(cli::help::FIRST) {
            Ok(done) => done.code(),
            Err(error) => exit::report(&error).code(),
        };
    }
    let registry = mary_lab::families::registry();
    let command = cli::family::with_family_commands(command::command_line(COMMANDS), &registry);
    let command = cli::help::grouped(cli::spelling::negative_numbers(command));
    let names: Vec<String> = command
        .get_subcommands()
        .map(|c| c.get_name().to_owned())
        .collect();
    let arguments = match settings::read_file()
        .and_then(|file| Ok(cli::defaults::expand(arguments, &command, &file)?))
    {
        Ok(arguments) => arguments,
        Err(error) => return exit::report(&error).code(),
    };
    let matches = match command.try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(said) => return exit::usage(said, &names).code(),
    };
    let entry = COMMANDS
        .iter()
        .find(|entry| Some(entry.name) == matches.subcommand_name());
    words::remember_words(match entry {
        Some(entry) if entry.words_with_defaults => &arguments,
        _ => &words,
    });
    match dispatch(registry, &matches, entry) {
        Ok(status) => status.code(),
        Err(error) => exit::report(&error).code(),
    }
}

fn dispatch(
    registry: Registry,
    matches: &ArgMatches,
    entry: Option<&command::Entry>,
) -> anyhow::Result<exit::Status> {
    let args = PlaceArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    let place = settings::Place::resolve(&args, registry)?;
    let Some((name, own)) = matches.subcommand() else {
        return Err(exit::UsageError::new("no command is named").into());
    };
    match (entry, place.registry.family(name).cloned()) {
        (Some(entry), _) => {
            mary_weights::remember_hashes_in(place.cache.join("hashes"));
            entry.run(own, place)
        }
        (None, Some(family)) => commands::family::family(&place, family.as_ref(), own),
        (None, None) => Err(exit::UsageError::new(format!("there is no command `{name}`")).into()),
    }
}

//! What a command is: arguments, what it needs and what it does, in one file under `commands/` with one
//! line in the list there. Help, completions, defaults of `mary.toml` and dispatch follow from the list.

use std::ffi::OsString;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _};

use crate::cli::{Cli, PlaceArgs, spelling};
use crate::exit::Status;
use crate::settings::Place;

/// A command; the type is its arguments.
pub trait Command: Args {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const ALIAS: Option<&'static str> = None;
    /// Whether a manifest keeps the options of `mary.toml` among the words of this command: what an
    /// instrument does with a file is said nowhere else.
    const WORDS_WITH_DEFAULTS: bool = false;

    /// Reads the task files that the arguments or the stored runs they name are about, so that the command
    /// finds them like built-in ones. In the arguments, files become ids.
    fn gather(&mut self, _place: &mut Place) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status>;
}

#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub words_with_defaults: bool,
    command: fn() -> clap::Command,
    run: fn(&ArgMatches, Place) -> anyhow::Result<Status>,
}

impl Entry {
    pub const fn new<C: Command>() -> Self {
        Self {
            name: C::NAME,
            words_with_defaults: C::WORDS_WITH_DEFAULTS,
            command: described::<C>,
            run: carried_out::<C>,
        }
    }

    pub fn run(&self, matches: &ArgMatches, place: Place) -> anyhow::Result<Status> {
        (self.run)(matches, place)
    }
}

fn described<C: Command>() -> clap::Command {
    let command = C::augment_args(clap::Command::new(C::NAME));
    let command = command.about(C::ABOUT).long_about(None);
    command.visible_aliases(C::ALIAS)
}

fn carried_out<C: Command>(matches: &ArgMatches, mut place: Place) -> anyhow::Result<Status> {
    let mut args = C::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    args.gather(&mut place)?;
    crate::fetching::watch();
    args.run(&place)
}

pub fn command_line(commands: &[Entry]) -> clap::Command {
    Cli::command()
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands.iter().map(|entry| (entry.command)()))
}

/// Reads words (without the program's name) that are to be this command: its places and its arguments.
pub fn typed<C: Command>(words: &[String]) -> Result<(PlaceArgs, C), clap::Error> {
    let words = std::iter::once("mary").chain(words.iter().map(String::as_str));
    let words = spelling::normalise(words.map(OsString::from));
    let matches = command_line(&[Entry::new::<C>()]).try_get_matches_from(words)?;
    let own = matches.subcommand_matches(C::NAME).unwrap_or(&matches);
    Ok((
        PlaceArgs::from_arg_matches(&matches)?,
        C::from_arg_matches(own)?,
    ))
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;

//! The command line of the laboratory: arguments in, exit code out.
//!
//! [`run_command_line`] only reads arguments and dispatches; each command is one file under `commands/`.
//! Standard output carries what can be piped (tables, JSON); everything else goes to standard error. It is
//! a library so that the Python package carries the same command (and the same laboratory, [`library`])
//! without a second program.

mod cli;
mod commands;
mod exit;
mod fetching;
mod interrupt;
mod laboratory;
pub mod library;
mod matching;
mod own;
mod progress;
mod rundir;
mod runnable;
mod settings;
mod specification;
mod stored;
mod suite;
mod terminal;

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use mary_contract::Registry;

use cli::{Cli, Command, PlaceArgs};

/// Carries out what these words ask for (the first is the program's own name) and returns the exit code.
pub fn run_command_line(words: impl IntoIterator<Item = OsString>) -> u8 {
    mary_contract::start_moments();
    let words: Vec<OsString> = words.into_iter().collect();
    let arguments = cli::spelling::normalise(words.clone());
    terminal::listen();
    let registry = mary_lab::families::registry();
    let command = cli::family::with_family_commands(Cli::command(), &registry);
    let command = cli::spelling::negative_numbers(command);
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
    // What an instrument does with a file is said nowhere but in its words, those of mary.toml included.
    own::remember_words(match matches.subcommand_name() {
        Some("score" | "observe") => &arguments,
        _ => &words,
    });
    match dispatch(registry, &matches) {
        Ok(status) => status.code(),
        Err(error) => exit::report(&error).code(),
    }
}

fn dispatch(registry: Registry, matches: &ArgMatches) -> anyhow::Result<exit::Status> {
    let family = matches.subcommand_name().and_then(|n| registry.family(n));
    if let (Some(family), Some((_, own))) = (family.cloned(), matches.subcommand()) {
        let args = PlaceArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
        let place = settings::Place::resolve(&args, registry)?;
        return commands::family::family(&place, family.as_ref(), own);
    }
    let mut cli = Cli::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    let mut place = settings::Place::resolve(&cli.place, registry)?;
    mary_weights::remember_hashes_in(place.cache.join("hashes"));
    own::gather(&mut place, &mut cli.command)?;
    fetching::watch();
    match cli.command {
        Command::Run(args) => commands::run::run(&place, &args),
        Command::Resume(args) => commands::resume::resume(&place, &args),
        Command::Sweep(args) => commands::sweep::sweep(&place, &args),
        Command::Score(args) => commands::score::score(&place, &args),
        Command::Observe(args) => commands::observe::observe(&place, &args),
        Command::Ask(args) => commands::ask::ask(&place, &args),
        Command::Rescore(args) => commands::rescore::rescore(&place, &args),
        Command::Report(args) => commands::report::report(&place, &args),
        Command::View(args) => commands::view::view(&place, &args),
        Command::Runs(args) => commands::runs::runs(&place, &args),
        Command::Compare(args) => commands::compare::compare(&place, &args),
        Command::Confounds(args) => commands::confounds::confounds(&place, &args),
        Command::Matrix(args) => commands::matrix::matrix(&place, &args),
        Command::Export(args) => commands::export::export(&place, &args),
        Command::Import(args) => commands::export::import(&place, &args),
        Command::Merge(args) => commands::merge::merge(&place, &args),
        Command::Submit(args) => commands::submit::submit(&place, &args),
        Command::Jobs(args) => commands::jobs::jobs(&place, &args),
        Command::Tasks(args) => commands::tasks::tasks(&place, &args),
        Command::Items(args) => commands::items::items(&place, &args),
        Command::Models(args) => commands::models::models(&place, &args),
        Command::Data(args) => commands::data::data(&place, &args),
        Command::Cache(args) => commands::cache::cache(&place, &args),
        Command::Grow(args) => commands::grow::grow(&place, &args),
        Command::Tune(args) => commands::tune::tune(&place, &args),
        Command::Init => commands::init::init(&place),
        Command::Study(args) => commands::study::study(&place, &args),
        Command::Completions(args) => commands::completions::completions(&place, &args),
    }
}

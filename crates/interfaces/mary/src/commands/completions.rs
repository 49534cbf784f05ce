//! `mary completions SHELL`.

use clap::CommandFactory;

use crate::cli::family::with_family_commands;
use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Status;
use crate::settings::Place;

/// Prints a completion script.
pub fn completions(place: &Place, args: &CompletionsArgs) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    let mut command = with_family_commands(Cli::command(), &place.registry);
    clap_complete::generate(args.shell, &mut command, "mary", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Done)
}

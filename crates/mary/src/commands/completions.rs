//! `mary completions SHELL`.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Status;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mary", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Done)
}

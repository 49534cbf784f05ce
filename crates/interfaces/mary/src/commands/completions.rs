//! `mary completions SHELL`, and manual pages for a package.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::cli::family::with_family_commands;
use crate::command::{Command, command_line};
use crate::commands::print;
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(required_unless_present = "man")]
    pub shell: Option<clap_complete::Shell>,
    /// Write a manual page for every command into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "shell")]
    pub man: Option<PathBuf>,
}

impl Command for CompletionsArgs {
    const NAME: &str = "completions";
    const ABOUT: &str = "Print completions for a shell";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let own = command_line(super::COMMANDS);
        let mut command = with_family_commands(own, &place.registry);
        match (self.shell, &self.man) {
            (_, Some(folder)) => pages(command, folder)?,
            (Some(shell), None) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, "mary", &mut script);
                print(&String::from_utf8_lossy(&script))?;
            }
            (None, None) => return usage_error("which shell?"),
        }
        Ok(Status::Done)
    }
}

fn pages(command: clap::Command, folder: &Path) -> anyhow::Result<()> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.with_context(|| folder.display().to_string())
}

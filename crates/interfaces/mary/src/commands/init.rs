//! `mary init`: a `mary.toml` to begin with.

use std::path::Path;

use anyhow::Context;
use clap::Args;

use crate::command::Command;
use crate::commands::print;
use crate::exit::{Status, usage_error};
use crate::settings::Place;

/// What is written: everything commented out but one profile.
const FILE: &str = include_str!("init.toml");

#[derive(Debug, Args)]
pub struct InitArgs {}

impl Command for InitArgs {
    const NAME: &str = "init";
    const ABOUT: &str = "Write a mary.toml with places, defaults and a profile";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let path = Path::new("mary.toml");
        if path.exists() {
            return usage_error("mary.toml is there already and stays as it is");
        }
        let family = place.registry.families().first().map_or("all", |f| f.id());
        std::fs::write(path, FILE.replace("FAMILY", family))
            .with_context(|| path.display().to_string())?;
        print("mary.toml\n")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_written_can_be_read_with_every_comment_taken_off() {
        let all = super::FILE.replace("# [run]", "[run]");
        let lines = all.lines().map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") => rest,
            _ => line,
        });
        let text: String = lines.map(|l| format!("{l}\n")).collect();
        let table: toml::Table = text.parse().unwrap();
        for file in [super::FILE.parse().unwrap(), table] {
            let command = crate::command::command_line(crate::commands::COMMANDS);
            let words = ["mary", "run", "--profile", "paper"]
                .map(Into::into)
                .to_vec();
            crate::cli::defaults::expand(words, &command, &file).unwrap();
        }
    }
}

//! A command that Mary does not have, as a contributor would add it: the first part is what its one file
//! under `commands/` would hold, and the line in the list is `Entry::new::<EchoArgs>()`. Help, completions,
//! defaults and dispatch follow.

use std::ffi::OsString;

use clap::Args;

use super::{Command, Entry, command_line, typed};
use crate::cli::defaults;
use crate::commands::COMMANDS;
use crate::exit::{Status, usage_error};
use crate::settings::Place;

/// Says something again.
#[derive(Debug, Args)]
struct EchoArgs {
    /// What is said again
    words: Vec<String>,
    /// In capitals
    #[arg(long)]
    loud: bool,
}

impl Command for EchoArgs {
    const NAME: &str = "echo";
    const ABOUT: &str = "Say something again";
    const ALIAS: Option<&str> = Some("again");

    fn gather(&mut self, _: &mut Place) -> anyhow::Result<()> {
        self.words.retain(|word| !word.is_empty());
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        match self.words.is_empty() {
            true => usage_error("nothing is to be said"),
            false => Ok(Status::done_if(self.loud && place.data.is_none())),
        }
    }
}

fn with_one_more() -> Vec<Entry> {
    let mut commands = COMMANDS.to_vec();
    commands.push(Entry::new::<EchoArgs>());
    commands
}

fn carried_out(words: &[&str]) -> anyhow::Result<Status> {
    let commands = with_one_more();
    let matches = command_line(&commands).try_get_matches_from(words)?;
    let (name, own) = matches.subcommand().unwrap();
    let entry = commands.iter().find(|entry| entry.name == name).unwrap();
    let place = Place {
        registry: mary_lab::families::registry(),
        runs: "runs".into(),
        data: None,
        cache: "cache".into(),
    };
    entry.run(own, place)
}

#[test]
fn a_command_is_one_file_and_one_line() {
    let mut line = command_line(&with_one_more());
    let help = line.render_help().to_string();
    let listed = "echo         Say something again [alias: again]";
    assert!(help.contains(listed), "{help}");
    let mut script = Vec::new();
    clap_complete::generate(clap_complete::Shell::Bash, &mut line, "mary", &mut script);
    assert!(
        String::from_utf8(script)
            .unwrap()
            .contains("mary__subcmd__echo")
    );
    assert_eq!(
        carried_out(&["mary", "again", "yes", "--loud"]).unwrap(),
        Status::Done
    );
    assert_eq!(
        carried_out(&["mary", "echo", "yes"]).unwrap(),
        Status::Incomplete
    );
    let nothing = carried_out(&["mary", "echo", ""]).unwrap_err();
    assert_eq!(crate::exit::error_report(&nothing).status, Status::Usage);
    let file = "[echo]\nloud = true\n".parse().unwrap();
    let words = ["mary", "echo", "yes"].map(OsString::from).to_vec();
    let expanded = defaults::expand(words, &line, &file).unwrap();
    assert_eq!(expanded, ["mary", "echo", "--loud", "yes"]);
}

#[test]
fn words_are_read_back_as_the_command_they_were() {
    let words = ["--output_path", "elsewhere", "echo", "a", "--loud"].map(String::from);
    let (place, echo) = typed::<EchoArgs>(&words).unwrap();
    assert_eq!(place.output_path, Some("elsewhere".into()));
    assert!(echo.loud && echo.words == ["a"]);
    assert!(typed::<EchoArgs>(&["run".to_owned()]).is_err());
}

#[test]
fn every_command_has_its_own_name_and_help() {
    command_line(COMMANDS).debug_assert();
    let mut names: Vec<&str> = COMMANDS.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

//! Commands that families bring along: described by them, added to the command line here.

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use mary_contract::{Action, Argument, ArgumentKind, Arguments, Registry, Text};

const RUN: &str = "run";

pub fn with_family_commands(mut command: Command, registry: &Registry) -> Command {
    for family in registry.families() {
        if let Some(own) = family.command() {
            let actions = own.actions.iter().map(action);
            command = command.subcommand(
                Command::new(family.id().to_owned())
                    .about(words(&own.about))
                    .subcommand_required(true)
                    .arg_required_else_help(true)
                    .subcommands(actions.collect::<Vec<_>>()),
            );
        }
    }
    command
}

fn words(text: &Text) -> String {
    text.clone().into_owned()
}

fn action(action: &Action) -> Command {
    let mut command = Command::new(words(&action.name)).about(words(&action.about));
    if action.samples_of.is_some() {
        command = command.arg(
            Arg::new(RUN)
                .help("Run folder, or the beginning of a run's name [default: the newest]"),
        );
    }
    command.args(action.arguments.iter().map(argument))
}

fn argument(argument: &Argument) -> Arg {
    let name = words(&argument.name);
    let arg = Arg::new(name.clone()).help(words(&argument.about));
    let mut arg = match argument.kind {
        ArgumentKind::Positional => arg.required(true),
        ArgumentKind::Value => arg.long(name),
        ArgumentKind::Repeated => arg.long(name).action(ArgAction::Append),
        ArgumentKind::Flag => arg.long(name).action(ArgAction::SetTrue),
    };
    if let Some(short) = argument.short {
        arg = arg.short(short);
    }
    if let Some(default) = &argument.default {
        arg = arg.default_value(words(default));
    }
    if argument.file {
        arg = arg.value_name("FILE").value_hint(ValueHint::FilePath);
    }
    arg
}

pub fn run_named(action: &Action, matches: &ArgMatches) -> Option<String> {
    action.samples_of.as_ref()?;
    matches.get_one::<String>(RUN).cloned()
}

pub fn typed(action: &Action, matches: &ArgMatches) -> Arguments {
    let mut typed = Arguments::default();
    for argument in &action.arguments {
        let name = words(&argument.name);
        if argument.kind == ArgumentKind::Flag {
            if matches.get_flag(&name) {
                typed.0.insert(name, vec![]);
            }
        } else if let Some(values) = matches.get_many::<String>(&name) {
            typed.0.insert(name, values.cloned().collect());
        }
    }
    typed
}

//! What people see first: the lines of `mary` alone, and help with the commands grouped by what people want
//! to do.

/// What `mary` says when nothing else is typed.
pub const FIRST: &str = include_str!("first.txt");

/// What people want to do, and the commands for it. A command that stands nowhere here is listed last.
const GROUPS: &str = include_str!("groups.txt");

fn groups() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let group = |line: &'static str| line.split_once(": ").unwrap_or((line, ""));
    let lines = GROUPS.lines().map(group);
    lines.map(|(title, names)| (title, names.split(' ').collect()))
}

/// The same command line, whose help lists the commands in groups. The reader of arguments knows no groups, so
/// its own list is hidden behind a template.
pub fn grouped(command: clap::Command) -> clap::Command {
    let styles = command.get_styles();
    let (head, name) = (*styles.get_header(), *styles.get_literal());
    let line = |found: &clap::Command| {
        let alias = found.get_visible_aliases().next();
        let alias = alias.map_or_else(String::new, |alias| format!(" [alias: {alias}]"));
        let about = found
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!("  {name}{:<12}{name:#} {about}{alias}\n", found.get_name())
    };
    let mut text = String::new();
    for (title, names) in groups() {
        let own = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        let own: String = own.map(line).collect();
        text += &format!("{head}{title}:{head:#}\n{own}\n");
    }
    let placed = |c: &&clap::Command| groups().any(|(_, names)| names.contains(&c.get_name()));
    let rest: String = command
        .get_subcommands()
        .filter(|c| !placed(c))
        .map(line)
        .collect();
    if !rest.is_empty() {
        text += &format!("{head}More:{head:#}\n{rest}\n");
    }
    command
        .override_usage("mary [OPTIONS] <COMMAND>")
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{{all-args}}"
        ))
        .mut_subcommands(|found| found.hide(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::family::with_family_commands;
    use crate::command::command_line;
    use crate::commands::COMMANDS;

    #[test]
    fn help_lists_every_command_once_in_a_line_of_eighty_columns() {
        let registry = mary_lab::families::registry();
        let command = with_family_commands(command_line(COMMANDS), &registry);
        let names: Vec<String> = command
            .get_subcommands()
            .map(|c| c.get_name().to_owned())
            .collect();
        let help = grouped(command).render_help().to_string();
        for name in &names {
            let begins = format!("\n  {name} ");
            assert_eq!(help.matches(&begins).count(), 1, "{name}:\n{help}");
        }
        let (commands, options) = help.split_once("Options:").unwrap();
        let wide = commands.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        assert!(options.contains("Places:"), "{help}");
        for (title, group) in groups() {
            assert!(help.contains(&format!("\n{title}:\n")), "{help}");
            for name in group {
                assert!(names.iter().any(|n| n == name), "{name} is no command");
            }
        }
        // What only families bring, and nothing else, has no group.
        let rest = commands.split_once("More:\n").unwrap().1;
        let placeless = rest
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        for name in placeless {
            assert!(registry.family(name).is_some(), "{name} has no group");
        }
    }

    #[test]
    fn the_first_lines_are_few_and_name_commands_that_exist() {
        assert!(FIRST.lines().count() <= 12);
        assert!(FIRST.lines().all(|line| line.chars().count() <= 88));
        let command = command_line(COMMANDS);
        for line in FIRST.lines().filter_map(|l| l.trim().strip_prefix("mary ")) {
            let name = line.split_whitespace().next().unwrap();
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}

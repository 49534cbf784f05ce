//! `mary guide`: commands for what somebody wants to do. What can be wanted stands in `guide.toml`.

use std::collections::BTreeSet;

use clap::Args;
use serde::Deserialize;

use crate::command::Command;
use crate::commands::print;
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct GuideArgs {
    /// What you want to do, in your own words [default: list what can be asked for]
    pub words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guide {
    heading: Vec<Heading>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Heading {
    title: String,
    want: Vec<Want>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Want {
    /// Follows “I want to”.
    to: String,
    keys: String,
    commands: Vec<String>,
    /// Of the book.
    page: String,
}

impl Command for GuideArgs {
    const NAME: &str = "guide";
    const ABOUT: &str = "Find the commands for what you want to do";

    fn run(&self, _: &Place) -> anyhow::Result<Status> {
        let guide = read()?;
        if self.words.is_empty() {
            return print(&listed(&guide));
        }
        let asked = self.words.join(" ");
        let best = matches(&guide, &asked);
        if best.is_empty() {
            return usage_error(format!(
                "nothing in the guide fits `{asked}`\nhint: `mary guide` lists what it knows; `mary --help` lists all commands"
            ));
        }
        let shown: Vec<String> = best.into_iter().map(shown).collect();
        print(&shown.join("\n"))
    }
}

fn read() -> Result<Guide, toml::de::Error> {
    toml::from_str(include_str!("guide.toml"))
}

fn listed(guide: &Guide) -> String {
    let mut out = String::from("I want to …\n");
    for heading in &guide.heading {
        out += &format!("\n{}\n", heading.title);
        out.extend(heading.want.iter().map(|w| format!("  {}\n", w.to)));
    }
    out + "\n`mary guide WORDS` prints the commands, for example: mary guide surprisal of my sentences\n"
}

fn shown(want: &Want) -> String {
    let commands: String = want.commands.iter().map(|c| format!("    {c}\n")).collect();
    format!("To {}:\n{commands}  read: docs/{}\n", want.to, want.page)
}

/// Words that say nothing about what is wanted.
const EMPTY: &str = "a an and are at be but by can do does for from get has have how i in is it its me my of on or our so some \
    that the their them there they this to use using want was what when where which who will with would you your";

/// Lower-case words without their commonest endings.
fn stems(text: &str) -> BTreeSet<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase);
    let telling = words.filter(|w| !w.is_empty() && !EMPTY.split(' ').any(|e| e == w));
    let stem = |word: String| {
        let long = |end: &&&str| word.len() > end.len() + 2 && word.ends_with(**end);
        let end = ["ies", "ing", "ed", "es", "s"].iter().find(long);
        let stem = end.and_then(|end| word.strip_suffix(end)).unwrap_or(&word);
        stem.trim_end_matches(['e', 'y']).to_owned()
    };
    telling.map(stem).collect()
}

/// What fits best, the best first: a rare word counts more than one that stands everywhere, and a word of the
/// intention itself more than a keyword.
fn matches<'g>(guide: &'g Guide, asked: &str) -> Vec<&'g Want> {
    let wants: Vec<&Want> = guide.heading.iter().flat_map(|h| &h.want).collect();
    let parts = |want: &Want| (stems(&want.to), stems(&want.keys));
    let known: Vec<(BTreeSet<String>, BTreeSet<String>)> = wants.iter().map(|w| parts(w)).collect();
    let alike = |own: &BTreeSet<String>, word: &str| {
        own.contains(word)
            || word.len() > 4 && own.iter().any(|o| strsim::jaro_winkler(o, word) > 0.93)
    };
    let mut scores = vec![0.0; wants.len()];
    for word in stems(asked) {
        let weights: Vec<f64> = known
            .iter()
            .map(|(to, keys)| match (alike(to, &word), alike(keys, &word)) {
                (true, _) => 1.5,
                (false, true) => 1.0,
                (false, false) => 0.0,
            })
            .collect();
        let holding = weights.iter().filter(|w| **w > 0.0).count().max(1);
        let rare = (1.0 + wants.len() as f64 / holding as f64).ln();
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += rare * weight;
        }
    }
    let mut ranked: Vec<(f64, &Want)> = scores.into_iter().zip(wants).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = ranked.first().map_or(0.0, |(score, _)| *score);
    ranked
        .into_iter()
        .take_while(|(score, _)| *score > 0.0 && *score >= 0.6 * best)
        .take(3)
        .map(|(_, want)| want)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::family::with_family_commands;
    use crate::command::command_line;
    use crate::commands::COMMANDS;

    /// The words of a command as a shell would take them; of quotes only single ones are in use.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (n, part) in line.split('\'').enumerate() {
            match n % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    #[test]
    fn every_command_of_the_guide_is_one_of_the_program_and_every_page_exists() {
        let registry = mary_lab::families::registry();
        let guide = read().unwrap();
        let wants: Vec<&Want> = guide.heading.iter().flat_map(|h| &h.want).collect();
        assert!(wants.len() >= 38, "{}", wants.len());
        let mut used = BTreeSet::new();
        for want in &wants {
            assert!((1..=3).contains(&want.commands.len()), "{}", want.to);
            let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
            assert!(book.join(&want.page).is_file(), "{}", want.page);
            for command in &want.commands {
                assert!(command.chars().count() <= 100, "{command}");
                let line = with_family_commands(command_line(COMMANDS), &registry);
                let words = shell_words(command);
                used.insert(words[1].clone());
                let read = line.try_get_matches_from(&words);
                assert!(read.is_ok(), "{command}: {}", read.unwrap_err());
                // Tasks and families that are named exist.
                for pair in words.windows(2).filter(|pair| pair[0] == "-t") {
                    for task in pair[1].split(',').filter(|t| !t.contains(['.', '*'])) {
                        let there =
                            registry.family(task).is_some() || registry.task(task).is_some();
                        assert!(there, "{command}: {task}");
                    }
                }
            }
        }
        let missing: Vec<&str> = COMMANDS
            .iter()
            .map(|entry| entry.name)
            .filter(|name| *name != GuideArgs::NAME && !used.contains(*name))
            .collect();
        assert_eq!(missing, Vec::<&str>::new(), "no intention leads there");
    }

    #[test]
    fn words_find_what_is_wanted() {
        let guide = read().unwrap();
        let first = |asked: &str| matches(&guide, asked)[0].commands[0].clone();
        for (asked, command) in [
            ("surprisal of my sentences", "mary score "),
            ("surprisals for my stimuli in a csv", "mary score "),
            ("which layer carries the difference", "mary patch "),
            ("compare two models", "mary compare "),
            ("ask people the same questions", "mary study "),
            ("is my model better than chance on grammar", "mary run "),
            ("when does grammar emerge during training", "mary sweep "),
            ("export to R", "mary export "),
            ("run on slurm cluster", "mary submit "),
            ("reading times", "mary reading "),
            ("hidden states", "mary observe "),
            ("publish results as a website", "mary atlas "),
            ("lm-evaluation-harness tasks", "mary tasks import "),
            ("continue an interupted run", "mary resume"),
        ] {
            assert!(
                first(asked).starts_with(command),
                "{asked}: {}",
                first(asked)
            );
        }
        assert!(matches(&guide, "zzz qqqq").is_empty());
        assert!(matches(&guide, "the of my").is_empty());
    }
}

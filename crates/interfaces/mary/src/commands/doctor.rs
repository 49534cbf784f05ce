//! `mary doctor`: what this machine has, what would not work on it, and why.

use std::path::Path;
use std::process::Stdio;

use clap::Args;
use mary_local::machine;
use serde::Serialize;

use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Good,
    /// Something optional is missing.
    Absent,
    /// Runs will fail.
    Bad,
}

#[derive(Debug, Serialize)]
struct Check {
    part: &'static str,
    health: Health,
    found: String,
    /// What does not work without it, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Command for DoctorArgs {
    const NAME: &str = "doctor";
    const ABOUT: &str = "Check processor, GPU, memory, folders, datasets, keys, Python";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let checks = [
            processor(),
            memory(),
            gpu(),
            folder("runs", &place.runs, "--output-path"),
            folder("cache", &place.cache, "--cache-dir"),
            datasets(place),
            keys(),
            python(),
        ];
        if self.json {
            super::print_json(&serde_json::json!({
                "version": crate::version::long(), "checks": checks,
            }))?;
        } else {
            super::print(&page(&checks))?;
        }
        let bad = checks.iter().any(|c| c.health == Health::Bad);
        Ok(if bad { Status::Missing } else { Status::Done })
    }
}

fn page(checks: &[Check]) -> String {
    let mut text = format!("mary {}\n\n", crate::version::long());
    for check in checks {
        let mark = match check.health {
            Health::Good => "ok",
            Health::Absent => "--",
            Health::Bad => "NO",
        };
        text.push_str(&format!("{mark}  {:<10} {}\n", check.part, check.found));
        for line in check.advice.iter().flat_map(|a| a.lines()) {
            text.push_str(&format!("{:15}{line}\n", ""));
        }
    }
    let bad = checks.iter().any(|c| c.health == Health::Bad);
    text.push_str(match bad {
        true => "\nRuns will fail until what is marked NO is put right.\n",
        false => "\nRuns will work. What is marked -- is optional.\n",
    });
    text
}

fn absent(part: &'static str, found: String, advice: impl Into<String>) -> Check {
    Check {
        part,
        health: Health::Absent,
        found,
        advice: Some(advice.into()),
    }
}

fn good(part: &'static str, found: String) -> Check {
    Check {
        health: Health::Good,
        advice: None,
        ..absent(part, found, "")
    }
}

fn bad(part: &'static str, found: String, advice: impl Into<String>) -> Check {
    Check {
        health: Health::Bad,
        ..absent(part, found, advice)
    }
}

fn processor() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = mary_platform::counted(cores, "core");
    let found = format!("{cores}, {}", machine::instructions());
    match machine::misspelt_cpu() {
        Some(said) => {
            let choices: Vec<&str> = machine::cpu_choices().collect();
            let advice = format!("Set MARY_CPU to one of {}.", choices.join(", "));
            let found = format!("{found}; MARY_CPU={said} is ignored");
            bad("processor", found, advice)
        }
        None => good("processor", found),
    }
}

/// Below this, models of a few hundred million parameters do not fit.
const LITTLE: u64 = 2 << 30;

fn memory() -> Check {
    let Some(free) = mary_platform::available_memory() else {
        let advice = "The system does not say how much is free.";
        return absent("memory", "unknown".into(), advice);
    };
    let found = format!("{} free", size(free));
    let advice = "Enough for small models only; --model-arg memory=MEGABYTES sets a limit.";
    match free < LITTLE {
        true => absent("memory", found, advice),
        false => good("memory", found),
    }
}

fn size(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

fn gpu() -> Check {
    match machine::gpus() {
        Ok(found) => {
            let named = found.iter().enumerate().map(|(number, (name, free))| {
                let free = free.map_or(String::new(), |bytes| format!(", {} free", size(bytes)));
                format!("cuda:{number} {name}{free}")
            });
            let mut named: Vec<String> = named.collect();
            if found.len() > 1 {
                let all: Vec<String> = (0..found.len()).map(|n| format!("cuda:{n}")).collect();
                named.push(format!("one model on all: --device {}", all.join("+")));
            }
            good("GPU", named.join("; "))
        }
        Err(why) => {
            let why = match cfg!(feature = "cuda") {
                true => why,
                false => "This program has no GPU support. The tarball whose name ends in -cuda has it;\n\
                          from source: cargo build --release --features cuda."
                    .into(),
            };
            let advice = format!("{why}\nLocal models run on the processor.");
            absent("GPU", "not used".into(), advice)
        }
    }
}

/// Whether a file can be written there, without leaving anything behind that was not there before.
fn folder(part: &'static str, path: &Path, option: &str) -> Check {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let shown = whole.display().to_string();
    let there = whole.ancestors().find(|p| p.exists()).unwrap_or(&whole);
    let probe = there.join(format!(".mary-doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"mary").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => good(part, shown),
        Err(error) => bad(
            part,
            format!("{shown}: {error}"),
            format!("Name a folder that you may write to with {option}."),
        ),
    }
}

fn datasets(place: &Place) -> Check {
    let known = place.local_data().list();
    let here = known.iter().filter(|(_, folder)| folder.is_some()).count();
    let found = format!("{here} of {} on this machine", known.len());
    match here {
        0 => absent(
            "datasets",
            found,
            "Fresh items need none. For published items: mary data list, then mary data pull NAME.",
        ),
        _ => good("datasets", found),
    }
}

/// Names of variables only: what they hold is not looked at beyond whether there is anything.
fn keys() -> Check {
    let names = mary_remote::services()
        .iter()
        .flat_map(|s| s.keys.iter().copied());
    let mut set: Vec<&str> = names
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect();
    set.sort_unstable();
    set.dedup();
    match set.is_empty() {
        true => absent(
            "keys",
            "none set".into(),
            "Local models need none. Models behind an API need a key, for example in OPENAI_API_KEY.",
        ),
        false => good("keys", set.join(", ")),
    }
}

fn python() -> Check {
    let program = mary_pymodel::default_interpreter();
    let asked = std::process::Command::new(&program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            let version = [output.stdout, output.stderr].concat();
            let version =
                mary_platform::visible_line(String::from_utf8_lossy(&version).trim()).into_owned();
            good("Python", format!("{version} ({program})"))
        }
        _ => absent(
            "Python",
            format!("{program} does not run"),
            "Only python/… models need it. MARY_PYTHON names another interpreter.",
        ),
    }
}

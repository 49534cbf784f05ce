//! `mary tasks import`: a task of lm-evaluation-harness as one of Mary's own. The harness itself builds it, under the
//! user's Python (`harness.py`); nothing else in this program runs that script.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use clap::Args;
use mary_contract::{DataSource, Task, TaskSettings};
use mary_taskfile::OwnTask;
use serde::Deserialize;
use serde_json::json;

use crate::commands::{print, tell};
use crate::exit::{Status, missing_error, usage_error};

const SCRIPT: &str = include_str!("harness.py");

const SERVE: &str = "hint: `mary serve` lets lm_eval itself ask it on this engine (docs/serve.md)";

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Name of a task, group or tag that lm_eval knows, or a task file (.yaml)
    #[arg(value_name = "TASK")]
    task: String,
    /// Folder for the task file (.toml) and its rows (.jsonl)
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Python that has lm_eval [default: MARY_PYTHON, the active environment's, python3]
    #[arg(long)]
    python: Option<String>,
    /// Number of shots, unless the task fixes it at 0
    #[arg(long, alias = "num_fewshot", alias = "shots")]
    num_fewshot: Option<usize>,
    /// Only the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Folder with more task files, which groups name
    #[arg(long, alias = "include_path", value_name = "DIR")]
    include_path: Option<PathBuf>,
}

/// What the script says that it did.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Report {
    missing: Option<String>,
    error: Option<String>,
    tasks: Vec<Built>,
}

#[derive(Deserialize)]
struct Built {
    task: String,
    refused: Option<String>,
    /// Task files, without their ending.
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    data: String,
    #[serde(default)]
    about: String,
}

/// Has a task or a group built and written; leaves with 1 where something was refused.
pub fn import(args: &ImportArgs, data: &dyn DataSource) -> anyhow::Result<Status> {
    let place = |path: &Path| path.display().to_string();
    let folders = args.to.ancestors();
    let made: Vec<&Path> = folders.take_while(|path| !path.exists()).collect();
    std::fs::create_dir_all(&args.to).with_context(|| place(&args.to))?;
    let staged = args.to.join(format!(".import-{}", std::process::id()));
    std::fs::create_dir(&staged).with_context(|| place(&staged))?;
    let imported = build(args, &staged).and_then(|report| {
        let mut complete = true;
        for task in &report.tasks {
            complete &= take(task, &staged, &args.to, data)?;
        }
        if !complete {
            tell!("{}", SERVE);
        }
        Ok(Status::done_if(complete))
    });
    std::fs::remove_dir_all(&staged).with_context(|| place(&staged))?;
    // Folders made for nothing, and only those: one that holds something stays.
    for folder in made {
        std::fs::remove_dir(folder).ok();
    }
    imported
}

/// Runs the script; the harness' own warnings go to the terminal.
fn build(args: &ImportArgs, staged: &Path) -> anyhow::Result<Report> {
    let python = args.python.clone();
    let python = python.unwrap_or_else(mary_pymodel::default_interpreter);
    let wanted = json!({
        "task": args.task, "to": staged, "shots": args.num_fewshot, "limit": args.limit,
        "include": args.include_path,
    });
    let other = "hint: name a Python that has it: --python PYTHON, or MARY_PYTHON";
    let mut command = Command::new(&python);
    if !std::io::stderr().is_terminal() {
        command.env("TQDM_DISABLE", "1");
        command.env("HF_DATASETS_DISABLE_PROGRESS_BARS", "1");
    }
    let ended = command
        .args(["-c", SCRIPT, &wanted.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let ended = match ended {
        Err(error) => {
            return missing_error(format!("{python} cannot be started: {error}\n{other}"));
        }
        Ok(ended) => ended,
    };
    let Ok(bytes) = mary_platform::read_plain(&staged.join("report.json"), 64 << 20) else {
        return missing_error(format!("{python} ended without a report ({ended})"));
    };
    let report: Report = serde_json::from_slice(&bytes)?;
    if let Some(why) = &report.missing {
        return missing_error(format!(
            "{python} has no lm_eval that can be used: {why}\nhint: `{python} -m pip install lm_eval`, or --python PYTHON"
        ));
    }
    match &report.error {
        Some(why) => missing_error(format!("{}: lm_eval says: {why}", args.task)),
        None => Ok(report),
    }
}

/// Reads what was written as a run will read it, and puts it where it belongs; says whether it could.
fn take(built: &Built, staged: &Path, to: &Path, data: &dyn DataSource) -> anyhow::Result<bool> {
    let mut refused = built.refused.clone();
    let mut rows = 0;
    for name in &built.files {
        let items = OwnTask::read(&staged.join(format!("{name}.toml")))
            .map_err(|error| error.to_string())
            .and_then(|task| {
                let items = task.items(&TaskSettings::default(), data);
                let items = items.and_then(|items| items.collect::<Result<Vec<_>, _>>());
                items.map_err(|error| error.to_string())
            });
        match items {
            Ok(items) => rows = items.len(),
            Err(error) => refused = Some(error),
        }
    }
    if let Some(why) = refused {
        print(&format!("refused: {}: {why}\n", built.task))?;
        return Ok(false);
    }
    let mut names = vec![format!("{}.jsonl", built.data)];
    names.extend(built.files.iter().map(|name| format!("{name}.toml")));
    if let Some(there) = names.iter().map(|n| to.join(n)).find(|p| p.exists()) {
        return usage_error(format!(
            "{} is there already and is not written over\nhint: give another folder with --to",
            there.display()
        ));
    }
    for name in names {
        std::fs::rename(staged.join(&name), to.join(&name)).with_context(|| name.clone())?;
        if name.ends_with(".toml") {
            print(&format!("{}  {rows} rows\n", to.join(name).display()))?;
        }
    }
    tell!("{}", built.about);
    Ok(true)
}

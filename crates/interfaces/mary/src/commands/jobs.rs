//! `mary jobs`: what the shards of a run or sweep do, from its folder alone.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_lab::cluster::progress::{self, ShardProgress, Standing};
use mary_platform::counted;
use serde_json::json;

use crate::command::Command;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, missing_error, usage_error};
use crate::rundir;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct JobsArgs {
    /// Run or sweep folder, or the beginning of its name [default: the newest with shards]
    pub run: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for JobsArgs {
    const NAME: &str = "jobs";
    const ABOUT: &str = "Show the shards of a run: progress, rates, failures";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let folder = find(place, self.run.as_deref())?;
        let mut all = Vec::new();
        for of in progress::divisions(&folder)? {
            all.extend(progress::shards(&folder, of)?);
        }
        if self.json {
            return print_json(&json!({"folder": folder, "shards": all}));
        }
        print(&format!("{}\n{}", folder.display(), table(&all)))
    }
}

pub fn table(all: &[ShardProgress]) -> String {
    let mut text = format!(
        "{:>9}  {:>9}  {:>9}  {:>6}  {:>9}  state\n",
        "shard", "done", "of", "failed", "per s"
    );
    for shard in all {
        text.push_str(&format!(
            "{:>9}  {:>9}  {:>9}  {:>6}  {:>9}  {}\n",
            format!("{}/{}", shard.index, shard.of),
            shard.done,
            planned(shard),
            shard.failed,
            shard
                .rate
                .map_or_else(String::new, |rate| format!("{rate:.2}")),
            state(&shard.standing)
        ));
    }
    text
}

fn planned(shard: &ShardProgress) -> String {
    shard.planned.map_or_else(|| "?".into(), |n| n.to_string())
}

fn state(standing: &Standing) -> String {
    match standing {
        Standing::Complete => "complete".into(),
        Standing::Running(who) => format!("running: {who}"),
        Standing::Queued(job) => format!("waits for the engine to start it: {job}"),
        Standing::Stopped => {
            "stopped by a signal; submit again unless the engine requeues it".into()
        }
        Standing::Died(who) => format!("killed: {who} is gone; submit again"),
        Standing::Failed(why) => format!("failed: {why}; submit again"),
        Standing::New => "not submitted".into(),
    }
}

pub fn say_missing(folder: &Path) -> anyhow::Result<bool> {
    // Where work was divided anew, the last division counts.
    let submitted = mary_lab::cluster::Submissions::of(folder)?.all;
    let of = match submitted.last().map(|s| s.of) {
        Some(of) => Some(of),
        None => progress::divisions(folder)?.pop(),
    };
    let Some(of) = of else { return Ok(true) };
    let open: Vec<ShardProgress> = progress::shards(folder, of)?
        .into_iter()
        .filter(|s| s.standing != Standing::Complete)
        .collect();
    for shard in open.iter().take(20) {
        let (index, planned, state) = (shard.index, planned(shard), state(&shard.standing));
        tell!(
            "missing: shard {index}/{of}: {} of {planned}, {state}",
            shard.done
        );
    }
    if open.len() > 20 {
        let more = counted(open.len() - 20, "shard");
        tell!("missing: {more} more");
    }
    Ok(open.is_empty())
}

/// A run or sweep folder: a path, the beginning of a name, or the newest that has shards.
pub fn find(place: &Place, wanted: Option<&str>) -> anyhow::Result<PathBuf> {
    let is_one = |p: &Path| p.join("manifest.json").is_file() || p.join("sweep.json").is_file();
    if let Some(path) = wanted.map(Path::new).filter(|p| is_one(p)) {
        return Ok(path.to_owned());
    }
    let mut found = rundir::within(&place.runs, is_one);
    match wanted {
        Some(name) => found = rundir::named(found, name),
        None => {
            found.retain(|p| p.join("shards").is_dir() || p.join("submit").is_dir());
            found.sort_by_key(|p| std::fs::metadata(p).and_then(|m| m.modified()).ok());
            found = found.pop().into_iter().collect();
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let what = match wanted {
                Some(name) => format!("no run with shards is called `{name}`"),
                None => "there is no run with shards".to_owned(),
            };
            missing_error(format!(
                "{what} below {}\nhint: `mary run --shard I/N` and `mary submit` make shards; --output-path names \
                 another place",
                place.runs.display()
            ))
        }
        many => usage_error(format!(
            "`{}` fits {} folders; give more of the name",
            wanted.unwrap_or_default(),
            many.len()
        )),
    }
}

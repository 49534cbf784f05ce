//! `mary merge`: the shards of a run or sweep into its own folder, or run folders into a new one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::RunSummary;
use mary_platform::counted;
use mary_report::html::ReportOptions;
use mary_store::{MergeReport, ResponseCache, RunFolder, ShardPlace, network_file_system};

use super::{chapters, jobs, summary, sweep};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, missing_error, usage_error};
use crate::own;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// A run or sweep folder whose shards are joined, or run folders to join into a new one
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Folder in which run folders are joined to a new one
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for MergeArgs {
    const NAME: &str = "merge";
    const ABOUT: &str = "Join shards, or run folders made on several machines";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        let runs = self.runs.iter().map(|p| p.to_string_lossy().into_owned());
        own::stored(place, &runs.collect::<Vec<_>>(), false);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        match (&self.into, self.runs.as_slice()) {
            (Some(into), runs) => {
                let sources: Vec<&Path> = runs.iter().map(|p| p.as_path()).collect();
                let merged = mary_store::merge(into, &sources)?;
                let whole = planned(&sources)?.max(merged.samples);
                say(&merged);
                join_caches(place, &sources)?;
                let added = show(place, &merged.path, whole, self.json)?;
                if merged.samples < whole {
                    missing(whole - merged.samples, whole);
                }
                Ok(Status::done_if(added.complete))
            }
            (None, [run]) => {
                let folder = jobs::find(place, Some(&run.to_string_lossy()))?;
                if folder.join("sweep.json").exists() {
                    sweep::merge(place, &folder, self.json)
                } else {
                    shards(place, &folder, self.json)
                }
            }
            (None, _) => usage_error(
                "several run folders are joined into a new one\nhint: --into names the folder in which it is made; \
             with one folder alone, its own shards are joined",
            ),
        }
    }
}

/// How many samples the runs in these folders have in all, as far as their shards say.
fn planned(folders: &[&Path]) -> anyhow::Result<usize> {
    let mut wholes: BTreeMap<String, usize> = BTreeMap::new();
    for folder in folders {
        let run = RunFolder::open(folder)?.manifest().id.clone();
        for shard in ShardPlace::all(folder) {
            let whole = shard.status()?.map_or(0, |status| status.whole);
            let most = wholes.entry(run.clone()).or_default();
            *most = whole.max(*most);
        }
    }
    Ok(wholes.values().sum())
}

fn missing(lacking: usize, whole: usize) {
    let verb = if lacking == 1 { "is" } else { "are" };
    tell!("{lacking} of {} {verb} missing", counted(whole, "sample"));
}

fn say(merged: &MergeReport) {
    tell!(
        "{} ({} in several shards, {} replaced by answers)",
        counted(merged.samples, "sample"),
        merged.duplicates,
        counted(merged.replaced, "failure"),
    );
    let notes = [
        (
            merged.differing,
            "sample",
            "answered twice and differently; the first answer was kept",
        ),
        (
            merged.torn,
            "log",
            "ending in the middle of a line, which was left out",
        ),
        (
            merged.unchecked,
            "log",
            "with lines from before lines had checksums; they were read but could not be verified",
        ),
        (
            merged.damaged,
            "damaged line",
            "in the joined log from before; kept in samples.jsonl.torn",
        ),
    ];
    for (count, noun, what) in notes {
        if count > 0 {
            tell!("note: {} {what}", counted(count, noun));
        }
    }
}

fn shards(place: &Place, folder: &Path, json: bool) -> anyhow::Result<Status> {
    let places = ShardPlace::all(folder);
    let mut whole = None;
    for shard in &places {
        whole = whole.or(shard.status()?.map(|status| status.whole));
    }
    let Some(whole) = whole else {
        return missing_error(format!(
            "{}: no shard has begun here\nhint: `mary submit` starts shards; to join several run folders, \
             name them all and --into",
            folder.display()
        ));
    };
    let merged = mary_store::join_shards(folder)?;
    say(&merged);
    join_caches(place, &[folder])?;
    let added = show(place, folder, whole, json)?;
    if merged.samples < whole {
        missing(whole - merged.samples, whole);
        jobs::say_missing(folder)?;
    }
    Ok(Status::done_if(added.complete))
}

fn show(place: &Place, folder: &Path, whole: usize, json: bool) -> anyhow::Result<RunSummary> {
    let mut joined = RunFolder::hold(folder)?;
    let added = mary_lab::summarise(&place.registry, &joined, whole)?;
    joined.write_summary(&added)?;
    drop(joined);
    summary::show(&added, json)?;
    let path = summary::report_path(folder);
    let runs = [folder.to_owned()];
    let options = ReportOptions::default();
    chapters::write_with(&place.registry, &runs, &[], &path, &options)?;
    tell!("report: {}", path.display());
    tell!("run:    {}", folder.display());
    Ok(added)
}

/// Takes the shards' answers into the user's cache, where that is on a disk of this machine.
fn join_caches(place: &Place, folders: &[&Path]) -> anyhow::Result<()> {
    let answers = place.answers();
    let kept = |folder: &&&Path| {
        let mut shards = ShardPlace::all(folder).into_iter();
        shards.any(|p| p.path.join(mary_store::SHARD_CACHE).exists())
    };
    let with: Vec<&&Path> = folders.iter().filter(kept).collect();
    if with.is_empty() {
        return Ok(());
    }
    if let Some(kind) = network_file_system(&answers) {
        let places: Vec<String> = with
            .iter()
            .map(|folder| folder.join(mary_store::SHARDS).display().to_string())
            .collect();
        tell!(
            "note: the shards' caches stay in {}: {} lies on a network file system ({kind})",
            places.join(", "),
            answers.display()
        );
        return Ok(());
    }
    let mut cache = ResponseCache::open(&answers)?;
    let mut new = 0;
    for folder in with {
        new += mary_store::join_caches(&mut cache, folder)?;
    }
    tell!("cache:  {new} new answers from the shards");
    Ok(())
}

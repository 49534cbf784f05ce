//! `mary merge`: the shards of a run or sweep into its own folder, or run folders into a new one.

use std::path::Path;

use mary_report::html::ReportOptions;
use mary_store::{MergeReport, ResponseCache, RunFolder, ShardPlace, network_file_system};

use super::{export, jobs, report, summary, sweep};
use crate::cli::cluster::MergeArgs;
use crate::exit::{Status, UsageError};
use crate::settings::Place;

/// Joins what was made apart.
pub fn merge(place: &Place, args: &MergeArgs) -> anyhow::Result<Status> {
    match (&args.into, args.runs.as_slice()) {
        (Some(into), runs) => {
            let sources: Vec<&Path> = runs.iter().map(|p| p.as_path()).collect();
            let merged = mary_store::merge(into, &sources)?;
            export::add_up(place, &merged.path, merged.samples)?;
            say(&merged);
            super::print(&format!("{}\n", merged.path.display()))?;
            Ok(Status::Done)
        }
        (None, [run]) => {
            let folder = jobs::find(place, Some(&run.to_string_lossy()))?;
            if folder.join("sweep.json").exists() {
                sweep::merge(place, &folder, args.json)
            } else {
                shards(place, &folder, args.json)
            }
        }
        (None, _) => Err(UsageError::new(
            "several run folders are joined into a new one\nhint: --into names the folder in which it is made; \
             with one folder alone, its own shards are joined",
        )
        .into()),
    }
}

fn say(merged: &MergeReport) {
    super::tell(&format!(
        "{} samples ({} were in several shards, {} failures were replaced by answers)",
        merged.samples, merged.duplicates, merged.replaced
    ));
    if merged.differing > 0 {
        super::tell(&format!(
            "note: {} samples were answered twice, and not alike; the first answers stayed",
            merged.differing
        ));
    }
    if merged.torn > 0 {
        super::tell(&format!(
            "note: {} logs end in the middle of a line, which was left out",
            merged.torn
        ));
    }
}

/// Joins the shards of one run, adds them up, and says what is missing.
fn shards(place: &Place, folder: &Path, json: bool) -> anyhow::Result<Status> {
    let places = ShardPlace::all(folder);
    let mut whole = None;
    for shard in &places {
        whole = whole.or(shard.status()?.map(|status| status.whole));
    }
    let Some(whole) = whole else {
        return Err(crate::exit::MissingError(format!(
            "{}: no shard has begun here\nhint: `mary submit` starts shards; to join several run folders, \
             name them all and --into",
            folder.display()
        ))
        .into());
    };
    let merged = mary_store::join_shards(folder)?;
    say(&merged);
    join_caches(place, folder)?;
    let mut joined = RunFolder::hold(folder)?;
    let added = mary_run::summarise(&place.registry, &joined, whole)?;
    joined.write_summary(&added)?;
    drop(joined);
    summary::show(&added, json)?;
    let path = summary::report_path(folder);
    let runs = [folder.to_owned()];
    report::write_with(
        &place.registry,
        &runs,
        Vec::new(),
        &path,
        &ReportOptions::default(),
    )?;
    super::tell(&format!("report: {}", path.display()));
    super::tell(&format!("run:    {}", folder.display()));
    if merged.samples < whole {
        super::tell(&format!(
            "{} of {whole} samples are missing",
            whole - merged.samples
        ));
        jobs::say_missing(folder)?;
    }
    Ok(if added.complete {
        Status::Done
    } else {
        Status::Incomplete
    })
}

/// Takes the shards' answers into the user's cache, where that is on a disk of this machine.
fn join_caches(place: &Place, folder: &Path) -> anyhow::Result<()> {
    let answers = place.answers();
    if let Some(kind) = network_file_system(&answers) {
        super::tell(&format!(
            "note: the shards' caches stay in {}: {} lies on a network file system ({kind})",
            folder.join(mary_store::SHARDS).display(),
            answers.display()
        ));
        return Ok(());
    }
    let kept = ShardPlace::all(folder);
    if !kept
        .iter()
        .any(|p| p.path.join(mary_store::SHARD_CACHE).exists())
    {
        return Ok(());
    }
    let mut cache = ResponseCache::open(&answers)?;
    let new = mary_store::join_caches(&mut cache, folder)?;
    super::tell(&format!("cache:  {new} answers of the shards were new"));
    Ok(())
}

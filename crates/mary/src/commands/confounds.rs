//! `mary confounds`: whether length, frequency or age of words explains the errors of stored runs.

use mary_data::LocalData;
use mary_report::terminal;
use mary_store::RunFolder;
use mary_suites::embodied::{Confounds, Norms};

use super::{report, summary};
use crate::cli::ConfoundsArgs;
use crate::exit::{Status, UsageError};
use crate::settings::Place;

/// Prints the tables.
pub fn confounds(place: &Place, args: &ConfoundsArgs) -> anyhow::Result<Status> {
    let data = LocalData::new(place.data.clone(), place.datasets());
    let norms = Norms::load(&data)?;
    let mut gathered = Confounds::default();
    for path in report::find_all(place, &args.runs)? {
        let folder = RunFolder::open(&path)?;
        let manifest = mary_run::completed(&place.registry, folder.manifest());
        for sample in folder.samples()? {
            let sample = sample?;
            if let Some(run) = manifest.task(&sample.id.task) {
                gathered.add(run, &sample, &norms);
            }
        }
    }
    let tables = gathered.tables();
    if tables.is_empty() {
        return Err(UsageError::new(
            "these runs hold no question with options and no triple\nhint: run embodied/perceptualqa or embodied/sensoryvec",
        )
        .into());
    }
    if args.json {
        super::print_json(&tables)?;
        return Ok(Status::Done);
    }
    for table in &tables {
        super::print(&format!("{}\n", terminal::plain(table, summary::style())))?;
    }
    Ok(Status::Done)
}

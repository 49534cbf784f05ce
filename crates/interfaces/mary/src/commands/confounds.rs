//! `mary confounds`: whether length, frequency or age of words explains the errors of stored runs.

use mary_fetch::datasets::LocalData;
use mary_report::terminal;
use mary_store::RunFolder;

use super::{report, summary};
use crate::cli::ConfoundsArgs;
use crate::exit::{Status, UsageError};
use crate::settings::Place;

pub fn confounds(place: &Place, args: &ConfoundsArgs) -> anyhow::Result<Status> {
    let paths = report::find_all(place, &args.runs)?;
    let data = LocalData::new(place.data.clone(), place.datasets());
    let mut gathered = Vec::new();
    for family in place.registry.families() {
        gathered.extend(family.confounds(&data)?);
    }
    for path in paths {
        let folder = RunFolder::open(&path)?;
        let manifest = mary_lab::completed(&place.registry, folder.manifest());
        for sample in folder.samples()? {
            let sample = sample?;
            if let Some(run) = manifest.task(&sample.id.task) {
                for analysis in &mut gathered {
                    analysis.add(run, &sample);
                }
            }
        }
    }
    let tables: Vec<_> = gathered.iter().flat_map(|a| a.tables()).collect();
    if tables.is_empty() {
        return Err(UsageError::new(
            "these runs hold nothing that a family can explain by words (questions with options, triples)\nhint: `mary tasks` lists the families",
        )
        .into());
    }
    if args.json {
        super::print_json(&tables)?;
        return Ok(Status::Done);
    }
    for table in &tables {
        super::print_table(&format!("{}\n", terminal::plain(table, summary::style())))?;
    }
    Ok(Status::Done)
}

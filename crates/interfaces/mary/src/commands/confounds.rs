//! `mary confounds`: whether length, frequency or age of words explains the errors of stored runs.

use clap::Args;
use mary_store::RunFolder;

use super::summary;
use crate::command::Command;
use crate::commands::print_json;
use crate::exit::{Status, usage_error};
use crate::rundir;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ConfoundsArgs {
    /// Run folders or names [default: the newest]
    pub runs: Vec<String>,
    /// Print the tables as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for ConfoundsArgs {
    const NAME: &str = "confounds";
    const ABOUT: &str = "Test whether length, frequency or age of words explains errors";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let paths = rundir::find_all(place, &self.runs)?;
        let data = place.local_data();
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
            return usage_error(
                "these runs hold nothing that a family can explain by words (questions with options, triples)\nhint: `mary tasks` lists the families",
            );
        }
        if self.json {
            return print_json(&tables);
        }
        summary::show_tables(&tables)
    }
}

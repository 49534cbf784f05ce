//! `mary patch`: which value in which place makes the difference between the two sides of a pair.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::of_patches;
use mary_lab::inside::pairs::Pairs;
use mary_lab::inside::patch::{PatchOptions, PatchSite, Patched, patch};

use super::inside::InsideArgs;
use super::instruments;
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::Status;
use crate::settings::Place;

const SITES: Choices<PatchSite> = &[
    ("stream", PatchSite::Stream),
    ("attention", PatchSite::Attention),
    ("feed-forward", PatchSite::FeedForward),
    ("heads", PatchSite::Heads),
];

const SIDES: Choices<bool> = &[("corrupted", false), ("clean", true)];

#[derive(Debug, Args)]
pub struct PatchArgs {
    /// Pairs (.csv, .tsv, .jsonl or .parquet) with the columns clean and corrupted (two prefixes), good (the
    /// continuation that is right after clean) and bad
    pub file: PathBuf,
    #[command(flatten)]
    pub common: InsideArgs,
    /// Which values are patched
    #[arg(long, value_parser = one_of("patch.sites", SITES), default_value = "stream")]
    pub site: PatchSite,
    /// Which run is changed
    #[arg(long, value_parser = one_of("patch.sides", SIDES), default_value = "corrupted")]
    pub into: bool,
    /// Columns with words of the prefix that are patched together; NAME_corrupted holds those of the other prefix where they
    /// differ (comma-separated) [default: token by token]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub regions: Vec<String>,
    /// Where heads are patched: a region, or a token counted from the end [default: the last token]
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub at: Option<String>,
}

impl Command for PatchArgs {
    const NAME: &str = "patch";
    const ABOUT: &str = "Find the layer and place that carry a difference of two texts";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let common = &self.common;
        let file = instruments::input(place, &self.file)?;
        let pairs = Pairs::open(&file, &self.regions, &common.joint)?;
        let options = PatchOptions {
            site: self.site,
            into_clean: self.into,
            at: self.at.clone(),
            controls: !common.no_controls,
            seed: common.seed,
        };
        let mut found: Vec<Patched> = Vec::new();
        common.each(place, &mut |name, subject, twin| {
            let mut tell = |done: usize| {
                if !common.models.quiet {
                    tell!("{name}: {done} of {} pairs …", pairs.pairs.len());
                }
            };
            found.push(patch(name, (subject, twin), &pairs, &options, &mut tell)?);
            Ok(())
        })?;
        common.show(place, ("patch", "Patching"), &found, of_patches(&found))
    }
}

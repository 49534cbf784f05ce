//! `mary patch`: which value in which place makes the difference between the two sides of a pair.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::pairs::Pairs;
use mary_lab::inside::patch::{PatchOptions, PatchSite, Patched, patch};
use mary_lab::inside::{of_patches, patch_head};

use super::inside::{Found, each};
use super::{instruments, summary};
use crate::cli::ModelArgs;
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

const SITES: Choices<PatchSite> = &[
    (
        "stream",
        PatchSite::Stream,
        "The residual stream after so many blocks",
    ),
    (
        "attention",
        PatchSite::Attention,
        "What the attention of a block adds to it",
    ),
    (
        "feed-forward",
        PatchSite::FeedForward,
        "What the feed-forward layers of a block add to it",
    ),
    (
        "heads",
        PatchSite::Heads,
        "What single heads gather, in one place (--at)",
    ),
];

const SIDES: Choices<bool> = &[
    (
        "corrupted",
        false,
        "Values of the clean text go into the corrupted run: what is restored",
    ),
    (
        "clean",
        true,
        "Values of the corrupted text go into the clean run: what is destroyed",
    ),
];

#[derive(Debug, Args)]
pub struct PatchArgs {
    /// Pairs (.csv, .tsv, .jsonl or .parquet) with the columns clean and corrupted (two prefixes), good (the
    /// continuation that is right after clean) and bad
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Which values are patched
    #[arg(long, value_parser = one_of(SITES), default_value = "stream")]
    pub site: PatchSite,
    /// Which run is changed
    #[arg(long, value_parser = one_of(SIDES), default_value = "corrupted")]
    pub into: bool,
    /// Columns with words of the prefix that are patched together; NAME_corrupted holds those of the other prefix where they
    /// differ (comma-separated) [default: token by token]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub regions: Vec<String>,
    /// Where heads are patched: a region, or a token counted from the end [default: the last token]
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub at: Option<String>,
    /// What stands between prefix and continuation [default: a blank; '' for Chinese and Japanese]
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub joint: String,
    /// Run no controls; nothing is marked then
    #[arg(long)]
    pub no_controls: bool,
    /// Seed of what is drawn by lot for controls
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Folder to write [default: patch-N below the output path]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Command for PatchArgs {
    const NAME: &str = "patch";
    const ABOUT: &str = "Put values of one text into another: which layer and place carry a difference, beside controls";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let file = instruments::input(place, &self.file)?;
        let pairs = Pairs::open(&file, &self.regions, &self.joint)?;
        let options = PatchOptions {
            site: self.site,
            into_clean: self.into,
            at: self.at.clone(),
            controls: !self.no_controls,
            seed: self.seed,
        };
        let mut found: Vec<Patched> = Vec::new();
        each(
            place,
            &self.models,
            options.controls,
            &mut |name, subject, twin| {
                let mut tell = |done: usize| {
                    if !self.models.quiet {
                        super::tell(&format!("{name}: {done} of {} pairs …", pairs.pairs.len()));
                    }
                };
                found.push(patch(name, (subject, twin), &pairs, &options, &mut tell)?);
                Ok(())
            },
        )?;
        if self.json {
            super::print_json(&found)?;
        } else {
            for (number, one) in found.iter().enumerate() {
                for line in one.findings() {
                    super::print(&format!("{line}\n"))?;
                }
                summary::show_table(&one.table(number + 1))?;
            }
        }
        Found {
            name: "patch",
            title: "Patching",
            exhibits: of_patches(&found),
            json: &found,
            head: patch_head(),
            rows: found.iter().flat_map(Patched::rows).collect(),
        }
        .write(place, self.out.as_deref())?;
        Ok(Status::Done)
    }
}

//! `mary probe`: what can be read from a model's states, and whether its behaviour rests on it.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::of_probes;
use mary_lab::inside::probe::{ProbeColumns, ProbeTexts, Probed, probe};

use super::inside::InsideArgs;
use super::instruments;
use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Texts (.csv, .tsv, .jsonl or .parquet) with a column of two labels; with the columns good and bad, what is
    /// chosen after them is looked at too
    pub file: PathBuf,
    #[command(flatten)]
    pub common: InsideArgs,
    /// Column of the texts
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub text: String,
    /// Column of the labels
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub label: String,
    /// Column of families that are held out whole [default: texts are dealt by lot]
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Column of what control tasks give labels to [default: the region, or the last word]
    #[arg(long, value_name = "COLUMN")]
    pub kind: Option<String>,
    /// Column with words of the text whose last token is probed [default: the last token of the text]
    #[arg(long, value_name = "COLUMN")]
    pub region: Option<String>,
    /// Random directions beside each that is removed, at least 20
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub random: usize,
}

impl Command for ProbeArgs {
    const NAME: &str = "probe";
    const ABOUT: &str = "Train linear probes of every layer, with control tasks";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let columns = ProbeColumns {
            text: self.text.clone(),
            label: self.label.clone(),
            group: self.group.clone(),
            kind: self.kind.clone(),
            region: self.region.clone(),
        };
        let file = instruments::input(place, &self.file)?;
        let texts = ProbeTexts::open(&file, &columns, &self.common.joint)?;
        let mut found: Vec<Probed> = Vec::new();
        self.common.each(place, &mut |name, subject, twin| {
            let lots = (self.random, self.common.seed);
            found.push(probe(name, (subject, twin), &texts, lots)?);
            Ok(())
        })?;
        self.common
            .show(place, ("probe", "Probes"), &found, of_probes(&found))
    }
}

//! `mary lens`: what a model would predict after each layer.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::lens::{LensTexts, LensView, TunedLens, look};
use mary_lab::inside::of_lenses;

use super::inside::InsideArgs;
use super::instruments;
use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct LensArgs {
    /// Texts: lines (.txt), or rows of .csv, .tsv, .jsonl or .parquet
    pub file: PathBuf,
    #[command(flatten)]
    pub common: InsideArgs,
    /// Column of the texts
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub text: String,
    /// Words that are looked for after every text (comma-separated or repeated)
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub words: Vec<String>,
    /// Columns with words of each text, for example good,bad
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Tuned lens: a folder of the package tuned-lens, or its params.pt, or the same as .safetensors [default: the
    /// logit lens]
    #[arg(long, value_name = "PATH")]
    pub tuned: Option<PathBuf>,
}

impl Command for LensArgs {
    const NAME: &str = "lens";
    const ABOUT: &str = "Probability and rank of given words after every layer of a model";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let file = instruments::input(place, &self.file)?;
        let words = (self.words.as_slice(), self.columns.as_slice());
        let texts = LensTexts::open(&file, &self.text, words, &self.common.joint)?;
        let mut found: Vec<LensView> = Vec::new();
        self.common.each(place, &mut |name, subject, twin| {
            let open = |path: &PathBuf| TunedLens::open(path, subject.layers);
            let lens = self.tuned.as_ref().map(open).transpose()?;
            found.push(look(name, subject, &texts, lens.as_ref())?);
            let beside = twin.map(|twin| look(&format!("{name}, untrained"), twin, &texts, None));
            found.extend(beside.transpose()?);
            Ok(())
        })?;
        self.common
            .show(place, ("lens", "Lens"), &found, of_lenses(&found))
    }
}

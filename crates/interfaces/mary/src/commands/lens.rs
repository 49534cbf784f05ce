//! `mary lens`: what a model would predict after each layer.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::lens::{LensTexts, Seen, TunedLens, look};
use mary_lab::inside::of_lenses;
use mary_lab::texts::table::{Head, Type};
use serde_json::Value;

use super::inside::{Found, each};
use super::instruments;
use crate::cli::ModelArgs;
use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct LensArgs {
    /// Texts: lines (.txt), or rows of .csv, .tsv, .jsonl or .parquet
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Column of the texts
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub text: String,
    /// Words that are looked for after every text (comma-separated or repeated)
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub words: Vec<String>,
    /// Columns with words of each text, for example good,bad
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Maps of a tuned lens (.safetensors with N.weight and N.bias for every layer) [default: the logit lens]
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// What stands between text and word [default: a blank; '' for Chinese and Japanese]
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub joint: String,
    /// No untrained model beside it
    #[arg(long)]
    pub no_controls: bool,
    /// Folder to write [default: lens-N below the output path]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Command for LensArgs {
    const NAME: &str = "lens";
    const ABOUT: &str = "Probability and rank of given words after every layer of a model";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let file = instruments::input(place, &self.file)?;
        let words = (self.words.as_slice(), self.columns.as_slice());
        let texts = LensTexts::open(&file, &self.text, words, &self.joint)?;
        let mut found: Vec<(Seen, Option<Seen>)> = Vec::new();
        each(
            place,
            &self.models,
            !self.no_controls,
            &mut |name, subject, twin| {
                let open = |path: &PathBuf| TunedLens::open(path, subject.layers);
                let lens = self.tuned.as_ref().map(open).transpose()?;
                let seen = look(name, subject, &texts, lens.as_ref())?;
                let beside =
                    twin.map(|twin| look(&format!("{name}, untrained"), twin, &texts, None));
                found.push((seen, beside.transpose()?));
                Ok(())
            },
        )?;
        let all: Vec<&Seen> = found
            .iter()
            .flat_map(|(seen, twin)| [Some(seen), twin.as_ref()])
            .flatten()
            .collect();
        if self.json {
            super::print_json(&all)?;
        } else {
            for (seen, _) in &found {
                let word = |word: &String| {
                    let layers = seen.layers.iter().filter(|l| l.word == *word);
                    let ranks: Vec<String> = layers.map(|l| l.rank.to_string()).collect();
                    format!(
                        "{}: median rank of {word} by layer: {}\n",
                        seen.model,
                        ranks.join(" ")
                    )
                };
                let notes = seen
                    .notes
                    .iter()
                    .map(|note| format!("{}: {note}\n", seen.model));
                let lines: String = texts.names.iter().map(word).chain(notes).collect();
                super::print(&lines)?;
            }
        }
        let text = |name: &str| (name.to_owned(), Type::Text);
        let head: Head = vec![
            text("model"),
            text("id"),
            text("word"),
            ("layer".into(), Type::Count),
            ("logprob".into(), Type::Number),
            ("rank".into(), Type::Count),
        ];
        let rows = all.iter().flat_map(|seen| {
            let row = |g: &mary_lab::inside::lens::Glimpse| -> Vec<Value> {
                let (model, id, word) = (seen.model.clone(), g.id.clone(), g.word.clone());
                vec![
                    model.into(),
                    id.into(),
                    word.into(),
                    g.layer.into(),
                    g.logprob.into(),
                    g.rank.into(),
                ]
            };
            seen.glimpses.iter().map(row)
        });
        Found {
            name: "lens",
            title: "Lens",
            exhibits: of_lenses(&found),
            json: &all,
            head,
            rows: rows.collect(),
        }
        .write(place, self.out.as_deref())?;
        Ok(Status::Done)
    }
}

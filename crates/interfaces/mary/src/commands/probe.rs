//! `mary probe`: what can be read from a model's states, and whether its behaviour rests on it.

use std::path::PathBuf;

use clap::Args;
use mary_lab::inside::of_probes;
use mary_lab::inside::probe::{ProbeColumns, ProbeTexts, Probed, probe};
use mary_lab::texts::table::{Head, Type};
use serde_json::Value;

use super::inside::{Found, each};
use super::{instruments, summary};
use crate::cli::ModelArgs;
use crate::command::Command;
use crate::exit::Status;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Texts (.csv, .tsv, .jsonl or .parquet) with a column of two labels; with the columns good and bad, what is
    /// chosen after them is looked at too
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
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
    /// What stands between text and continuation [default: a blank; '' for Chinese and Japanese]
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub joint: String,
    /// No untrained model beside it
    #[arg(long)]
    pub no_controls: bool,
    /// Seed of folds, control tasks and random directions
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Folder to write [default: probe-N below the output path]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Command for ProbeArgs {
    const NAME: &str = "probe";
    const ABOUT: &str =
        "Linear probes of every layer with control tasks, and what behaviour loses without them";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let columns = ProbeColumns {
            text: self.text.clone(),
            label: self.label.clone(),
            group: self.group.clone(),
            kind: self.kind.clone(),
            region: self.region.clone(),
        };
        let file = instruments::input(place, &self.file)?;
        let texts = ProbeTexts::open(&file, &columns, &self.joint)?;
        let mut found: Vec<Probed> = Vec::new();
        each(
            place,
            &self.models,
            !self.no_controls,
            &mut |name, subject, twin| {
                found.push(probe(
                    name,
                    (subject, twin),
                    &texts,
                    (self.random, self.seed),
                )?);
                Ok(())
            },
        )?;
        if self.json {
            super::print_json(&found)?;
        } else {
            for (number, one) in (1..).zip(&found) {
                summary::show_table(&one.table(number))?;
            }
        }
        let number = |name: &str| (name.to_owned(), Type::Number);
        let mut head: Head = vec![("model".into(), Type::Text), ("layer".into(), Type::Count)];
        for name in ["accuracy", "control", "selectivity", "untrained", "amnesic"] {
            head.extend(
                [
                    name.to_owned(),
                    format!("{name}_low"),
                    format!("{name}_high"),
                ]
                .map(|n| number(&n)),
            );
        }
        head.extend(["amnesic_random_low", "amnesic_random_high", "p_holm"].map(number));
        head.extend(["marked", "amnesic_marked"].map(|n| (n.to_owned(), Type::Flag)));
        let rows = found.iter().flat_map(|one| {
            one.layers.iter().map(|l| -> Vec<Value> {
                let mut row: Vec<Value> = vec![one.model.clone().into(), l.layer.into()];
                let amnesic = one.amnesic.iter().find(|e| e.layer == l.layer);
                let removed = amnesic.map(|e| e.effect);
                for i in [
                    Some(l.accuracy),
                    Some(l.control),
                    Some(l.selectivity),
                    l.untrained,
                    removed,
                ] {
                    row.extend(
                        i.map(|i| [i.value.into(), i.low.into(), i.high.into()])
                            .unwrap_or_default(),
                    );
                }
                let range = amnesic.map(|e| [e.range().0.into(), e.range().1.into()]);
                row.extend(range.unwrap_or_default());
                row.extend([l.p_holm.into(), l.marked.into()]);
                row.push(amnesic.map_or(Value::Null, |e| e.marked.into()));
                row
            })
        });
        Found {
            name: "probe",
            title: "Probes",
            exhibits: of_probes(&found),
            json: &found,
            head,
            rows: rows.collect(),
        }
        .write(place, self.out.as_deref())?;
        Ok(Status::Done)
    }
}

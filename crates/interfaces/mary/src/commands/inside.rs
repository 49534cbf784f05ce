//! What the instruments that change values inside models share: options, opening models with their untrained twins, and
//! what is printed and written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use mary_contract::{Exhibits, Model};
use mary_lab::inside::{Subject, check};
use mary_lab::texts::table::{Form, Type};
use mary_platform::distinct;
use serde::Serialize;
use serde_json::Value;

use super::{instruments, summary};
use crate::cli::ModelArgs;
use crate::commands::chapters::write_page;
use crate::commands::{print_json, tell};
use crate::exit::Status;
use crate::rundir;
use crate::settings::Place;
use crate::specification::{self, laboratory};

/// The seed of the untrained twin.
const TWIN: &str = "1";

#[derive(Debug, Args)]
pub struct InsideArgs {
    #[command(flatten)]
    pub models: ModelArgs,
    /// What stands between a text and its continuation [default: a blank; '' for Chinese and Japanese]
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub joint: String,
    /// Run no untrained model, and for patches no control at all: nothing is marked then
    #[arg(long)]
    pub no_controls: bool,
    /// Seed of what is drawn by lot
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Folder to write [default: one with the command's name below the output path]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Gets a model's name, the model, and its untrained twin.
pub type Visit<'a> =
    &'a mut dyn FnMut(&str, &Subject<'_>, Option<&Subject<'_>>) -> anyhow::Result<()>;

impl InsideArgs {
    /// Opens one model after the other, with its twin where one can be made. All are looked at before the
    /// first is opened.
    pub fn each(&self, place: &Place, visit: Visit<'_>) -> anyhow::Result<()> {
        let lab = laboratory(place);
        let spec = specification::of_models(&lab, &self.models, vec![])?;
        let settings = spec.model_settings();
        for subject in &spec.subjects {
            check(&lab.provider(subject)?.card(subject, &settings)?)?;
        }
        for subject in &spec.subjects {
            let full = subject.to_string();
            let name = spec.execution.labels.get(&full).unwrap_or(&full);
            let provider = lab.provider(subject)?;
            let model = provider.open(subject, &settings)?;
            let mut untrained = settings.clone();
            untrained.args.insert("untrained".into(), TWIN.into());
            let mut twin: Option<Box<dyn Model>> = None;
            if !self.no_controls {
                match provider.open(subject, &untrained) {
                    Ok(opened) => twin = Some(opened),
                    Err(error) => tell!("note: {name} has no untrained twin: {error}"),
                }
            }
            let twin = twin.as_deref().map(Subject::new).transpose()?;
            visit(name, &Subject::new(model.as_ref())?, twin.as_ref())?;
        }
        Ok(())
    }

    /// Prints tables or JSON, and writes a page, the JSON and a table for each list in it.
    pub fn show<T: Serialize>(
        &self,
        place: &Place,
        (name, title): (&'static str, &'static str),
        found: &[T],
        exhibits: Exhibits,
    ) -> anyhow::Result<Status> {
        match self.json {
            true => print_json(&found).map(drop)?,
            false => exhibits.tables.iter().try_for_each(summary::show_table)?,
        }
        let folder = self.out.clone();
        let folder = folder.unwrap_or_else(|| rundir::next(&place.runs, name));
        std::fs::create_dir_all(&folder)?;
        let json = serde_json::to_vec_pretty(&found)?;
        mary_platform::replace_file(&folder.join(format!("{name}.json")), &json)?;
        for (list, rows) in lists(found)? {
            let path = folder.join(format!("{list}.csv"));
            // Columns in the order in which rows name them.
            let head = distinct(rows.iter().flatten().map(|(column, _)| column));
            let types = head.iter().map(|h| ((*h).clone(), Type::Text));
            let mut writer = instruments::table(Form::Csv, types.collect(), Some(&path))?;
            let cannot = |e| instruments::cannot_write(Some(&path), e);
            for row in &rows {
                let cell = |h: &&String| row.iter().find(|(c, _)| c == *h).map(|(_, v)| v.clone());
                let cells = head.iter().map(|h| cell(h).unwrap_or_default());
                writer.row(cells.collect()).map_err(cannot)?;
            }
            writer.finish().map_err(cannot)?;
        }
        let report = summary::report_path(&folder);
        write_page(&place.registry, (name, title), exhibits, &[], &report)?;
        tell!("report: {}", report.display());
        Ok(Status::Done)
    }
}

type Row = Vec<(String, Value)>;

/// The lists of objects in what was found of each model, as rows of plain values.
fn lists<T: Serialize>(found: &[T]) -> anyhow::Result<BTreeMap<String, Vec<Row>>> {
    let mut all: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for one in found {
        let Value::Object(fields) = serde_json::to_value(one)? else {
            continue;
        };
        for (name, value) in &fields {
            let objects = value
                .as_array()
                .into_iter()
                .flatten()
                .filter(|v| v.is_object());
            for object in objects {
                let mut row = vec![("model".to_owned(), fields["model"].clone())];
                flatten("", object, &mut row);
                all.entry(name.clone()).or_default().push(row);
            }
        }
    }
    Ok(all)
}

/// Objects in objects become columns `effect`, `effect_low` and so on; lists stay in the JSON.
fn flatten(before: &str, value: &Value, row: &mut Row) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "method") {
                let name = name.replace(' ', "_");
                let column = match (before, name.as_str()) {
                    ("", _) => name,
                    (_, "value") => before.to_owned(),
                    ("controls", _) => name,
                    _ => format!("{before}_{name}"),
                };
                flatten(&column, value, row);
            }
        }
        Value::Array(_) => {}
        plain => row.push((before.to_owned(), plain.clone())),
    }
}

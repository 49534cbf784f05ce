//! What the instruments that change values inside models share: opening models with their untrained twins, and what is
//! written.

use std::path::{Path, PathBuf};

use mary_contract::{Exhibits, Model};
use mary_lab::inside::{Subject, check};
use mary_lab::texts::table::{Form, Head};
use mary_report::html::ReportOptions;
use serde::Serialize;
use serde_json::Value;

use super::chapters::{AnyChapter, MadeChapter, write_with};
use super::{instruments, summary};
use crate::cli::ModelArgs;
use crate::laboratory::laboratory;
use crate::settings::Place;
use crate::specification;

/// The seed of the untrained twin.
const TWIN: &str = "1";

/// Gets a model's name, the model, and its untrained twin.
pub type Visit<'a> =
    &'a mut dyn FnMut(&str, &Subject<'_>, Option<&Subject<'_>>) -> anyhow::Result<()>;

/// Opens one model after the other, with its twin where one is wanted and can be made. All are looked at
/// before the first is opened.
pub fn each(place: &Place, args: &ModelArgs, twins: bool, visit: Visit<'_>) -> anyhow::Result<()> {
    let lab = laboratory(place);
    let spec = specification::of_models(&lab, args, vec![])?;
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
        let twin: Option<Box<dyn Model>> = match twins.then(|| provider.open(subject, &untrained)) {
            Some(Ok(twin)) => Some(twin),
            Some(Err(error)) => {
                super::tell(&format!(
                    "note: {name}: no untrained twin can be made: {error}"
                ));
                None
            }
            None => None,
        };
        let twin = twin.as_deref().map(Subject::new).transpose()?;
        visit(name, &Subject::new(model.as_ref())?, twin.as_ref())?;
    }
    Ok(())
}

/// What an instrument writes: its name and title, tables and figures, everything as JSON, every number as a row.
pub struct Found<'a, T: Serialize> {
    pub name: &'static str,
    pub title: &'static str,
    pub exhibits: Exhibits,
    pub json: &'a T,
    pub head: Head,
    pub rows: Vec<Vec<Value>>,
}

impl<T: Serialize> Found<'_, T> {
    /// Writes a page, a table and a file of JSON into a folder, which it makes.
    pub fn write(self, place: &Place, out: Option<&Path>) -> anyhow::Result<PathBuf> {
        let free = |n: &usize| !place.runs.join(format!("{}-{n}", self.name)).exists();
        let folder = out.map_or_else(
            || {
                let number = (1..).find(free).unwrap_or(1);
                place.runs.join(format!("{}-{number}", self.name))
            },
            Path::to_owned,
        );
        std::fs::create_dir_all(&folder)?;
        let table = folder.join(format!("{}.csv", self.name));
        let mut writer = instruments::table(Form::Csv, self.head, Some(&table))?;
        let cannot = |e| instruments::cannot_write(Some(&table), e);
        for row in self.rows {
            writer.row(row).map_err(cannot)?;
        }
        writer.finish().map_err(cannot)?;
        let json = serde_json::to_vec_pretty(self.json)?;
        mary_platform::replace_file(&folder.join(format!("{}.json", self.name)), &json)?;
        let report = summary::report_path(&folder);
        let chapter = MadeChapter(self.name, self.title, self.exhibits);
        let options = ReportOptions {
            title: Some(self.title.into()),
            lead: Some(self.name.into()),
            max_samples: 0,
            ..ReportOptions::default()
        };
        let first: Vec<AnyChapter<'_>> = vec![Box::new(chapter)];
        write_with(&place.registry, &[], first, &report, &options)?;
        super::tell(&format!("report: {}", report.display()));
        super::tell(&format!("folder: {}", folder.display()));
        Ok(folder)
    }
}

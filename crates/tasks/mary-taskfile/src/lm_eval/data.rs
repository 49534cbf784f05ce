//! Where the rows of a dataset lie: files that the task file names, a folder that it names, or the
//! user's own folder of datasets, laid out as the hub lays them out. Nothing is fetched here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::folder;
use crate::rows::{Format, Row, Rows, Table, format_of};
use mary_contract::TaskError;
use serde_json::Value as Json;

use crate::lm_eval::HarnessError;
use crate::lm_eval::config::Config;
use crate::lm_eval::render::Doc;

const ENDINGS: [&str; 6] = ["parquet", "jsonl", "json", "csv", "tsv", "ndjson"];

/// Words that stand for nothing in a CSV, as pandas reads them.
const NOTHING: [&str; 18] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan",
];

#[derive(Debug, Clone, Default)]
pub struct Places(pub Vec<PathBuf>);

#[derive(Debug, Clone)]
pub struct SplitRows {
    pub table: Table,
    /// Types of the columns of a CSV, which are texts otherwise.
    kinds: Option<BTreeMap<String, ColumnType>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ColumnType {
    Bool,
    Int,
    Float,
    Text,
}

impl SplitRows {
    fn with_types(table: Table) -> Result<Self, TaskError> {
        let kinds = match table.format {
            Format::Csv | Format::Tsv => Some(kinds(&table)?),
            _ => None,
        };
        Ok(Self { table, kinds })
    }

    pub fn docs(&self) -> Result<Docs, TaskError> {
        Ok(Docs {
            rows: self.table.rows()?,
            kinds: self.kinds.clone(),
        })
    }
}

pub struct Docs {
    rows: Rows,
    kinds: Option<BTreeMap<String, ColumnType>>,
}

impl Iterator for Docs {
    type Item = Result<(Row, Doc), TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.rows.next()?.map(|mut row| {
            let mut doc = std::mem::take(&mut row.columns);
            if let Some(kinds) = &self.kinds {
                for (name, value) in &mut doc {
                    *value = typed(kinds.get(name).copied(), value);
                }
            }
            (row, doc)
        }))
    }
}

fn is_nothing(text: &str) -> bool {
    NOTHING.contains(&text) || text == "null"
}

/// The type of every column: whole numbers only where every field is one.
fn kinds(table: &Table) -> Result<BTreeMap<String, ColumnType>, TaskError> {
    let mut kinds: BTreeMap<String, (Option<ColumnType>, bool)> = BTreeMap::new();
    for row in table.rows()? {
        for (name, value) in row?.columns {
            let (kind, gaps) = kinds.entry(name).or_default();
            let text = value.as_str().unwrap_or_default();
            if is_nothing(text) {
                *gaps = true;
                continue;
            }
            let bare = text.trim();
            let found = if matches!(bare, "True" | "False" | "true" | "false" | "TRUE" | "FALSE") {
                ColumnType::Bool
            } else if bare.parse::<i64>().is_ok() {
                ColumnType::Int
            } else if bare.parse::<f64>().is_ok_and(f64::is_finite) {
                ColumnType::Float
            } else {
                ColumnType::Text
            };
            *kind = Some(match *kind {
                None => found,
                Some(before) if before == found => found,
                Some(ColumnType::Bool) => ColumnType::Text,
                Some(before) if found == ColumnType::Bool => before.max(ColumnType::Text),
                Some(before) => before.max(found),
            });
        }
    }
    let settled = |(kind, gaps)| match kind {
        Some(ColumnType::Int) if gaps => ColumnType::Float,
        Some(ColumnType::Bool) if gaps => ColumnType::Text,
        kind => kind.unwrap_or(ColumnType::Text),
    };
    let kinds = kinds.into_iter().map(|(name, seen)| (name, settled(seen)));
    Ok(kinds.collect())
}

fn typed(kind: Option<ColumnType>, value: &Json) -> Json {
    let Some(text) = value.as_str() else {
        return value.clone();
    };
    if is_nothing(text) {
        return Json::Null;
    }
    let bare = text.trim();
    let typed = match kind {
        Some(ColumnType::Bool) => Some(Json::Bool(bare.eq_ignore_ascii_case("true"))),
        Some(ColumnType::Int) => bare.parse::<i64>().ok().map(Json::from),
        Some(ColumnType::Float) => bare
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Json::Number),
        _ => None,
    };
    typed.unwrap_or_else(|| value.clone())
}

pub fn find(config: &Config, split: &str, places: &Places) -> Result<SplitRows, HarnessError> {
    let unreadable = |path: &Path, source: std::io::Error| HarnessError::Unreadable {
        path: path.to_owned(),
        what: "the data",
        source,
        hint: format!("\nhint: {} names it", config.path.display()),
    };
    let table = if config.data_files.is_empty() {
        in_folders(config, split, places)?
    } else {
        named(config, split, places)?
    };
    let Some((path, files, format)) = table else {
        return Err(missing(config, split));
    };
    let table =
        Table::of_files(path.clone(), files, format, None).map_err(|e| unreadable(&path, e))?;
    SplitRows::with_types(table).map_err(|error| HarnessError::Unreadable {
        path,
        what: "the data",
        source: std::io::Error::other(error.to_string()),
        hint: String::new(),
    })
}

/// A path, its files and their format.
type SplitFiles = (PathBuf, Vec<PathBuf>, Format);

fn missing(config: &Config, split: &str) -> HarnessError {
    let dataset = config.dataset.clone().unwrap_or_default();
    let (within, named) = match &config.dataset_name {
        Some(name) => (format!("{dataset}/{name}"), format!("{dataset} ({name})")),
        None => (dataset.clone(), dataset),
    };
    HarnessError::NoData {
        path: config.path.clone(),
        dataset: format!("{named}, split {split}"),
        hint: format!(
            "put its rows into DIR/{within}/{split}.jsonl (or .json, .csv, .parquet, or Parquet files as the \
             hub has them) and give `--data-dir DIR`, or name files in the task file: \
             `dataset_path: json` with `dataset_kwargs: {{data_files: {{{split}: FILE}}}}`"
        ),
    }
}

fn named(
    config: &Config,
    split: &str,
    places: &Places,
) -> Result<Option<SplitFiles>, HarnessError> {
    let of = |split: Option<&str>| {
        let mut all = config.data_files.iter();
        all.find(|(name, _)| name.as_deref() == split)
    };
    let names = of(Some(split)).or_else(|| of(None)).map(|(_, names)| names);
    let found = names
        .into_iter()
        .flatten()
        .map(|name| local(config, name, places));
    let files: Option<Vec<PathBuf>> = found.collect();
    let Some((first, files)) = files.and_then(|f| Some((f.first()?.clone(), f))) else {
        return Ok(None);
    };
    let format = match config.dataset.as_deref() {
        Some("json") => Format::Json,
        Some("csv") => Format::Csv,
        Some("parquet") => Format::Parquet,
        _ => format_of(&first).map_err(|why| {
            HarnessError::wrong(&config.path, 1, format!("{}: {why}", first.display()))
        })?,
    };
    Ok(Some((first, files, format)))
}

/// A file as seen from here, from the task file's folder, or from the user's folders of datasets.
fn local(config: &Config, name: &str, places: &Places) -> Option<PathBuf> {
    if name.contains("://") {
        return None;
    }
    let beside = config.path.parent().unwrap_or(Path::new(""));
    let mut candidates = vec![PathBuf::from(name), beside.join(name)];
    for place in &places.0 {
        candidates.push(place.join(name));
        if let Some(dataset) = &config.dataset {
            candidates.push(place.join(dataset).join(name));
        }
    }
    candidates.into_iter().find(|p| p.is_file())
}

/// A split in a folder: the dataset's own, or one of the user's.
fn in_folders(
    config: &Config,
    split: &str,
    places: &Places,
) -> Result<Option<SplitFiles>, HarnessError> {
    let Some(dataset) = config.dataset.as_deref().filter(|d| !d.is_empty()) else {
        return Ok(None);
    };
    let beside = config.path.parent().unwrap_or(Path::new(""));
    let mut roots = vec![PathBuf::from(dataset), beside.join(dataset)];
    let short = dataset.rsplit('/').next().unwrap_or(dataset);
    for place in &places.0 {
        roots.push(place.join(dataset));
        roots.push(place.join(dataset.replace('/', "__")));
        roots.push(place.join(short));
    }
    for root in roots.iter().filter(|r| r.is_dir()) {
        let mut folders = Vec::new();
        if let Some(name) = &config.dataset_name {
            folders.extend([root.join(name), root.join("data").join(name)]);
        }
        folders.extend([root.clone(), root.join("data")]);
        for folder in folders.iter().filter(|f| f.is_dir()) {
            if let Some(found) = in_folder(folder, split) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

fn in_folder(folder: &Path, split: &str) -> Option<SplitFiles> {
    for ending in ENDINGS {
        let file = folder.join(format!("{split}.{ending}"));
        if file.is_file() {
            let format = format_of(&file).ok()?;
            return Some((file.clone(), vec![file], format));
        }
    }
    let files = folder::files(folder, Some(split)).ok()?;
    // Other configurations lie in folders below.
    let near = files.iter().filter(|f| {
        let parent = f.parent();
        parent == Some(folder) || parent.and_then(Path::file_name).is_some_and(|n| n == split)
    });
    let near: Vec<PathBuf> = near.cloned().collect();
    (!near.is_empty()).then(|| (folder.to_owned(), near, Format::Parquet))
}

//! A task of the harness as its file describes it, checked: what is not done here is refused by name,
//! with file and line, before any data is looked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::lm_eval::filters::{self, Pipeline};
use crate::lm_eval::include::{Entry, Merged};
use crate::lm_eval::metrics::{self, Metric};
use crate::lm_eval::yaml::{Data, Node};
use crate::lm_eval::{HarnessError, Refusal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputType {
    MultipleChoice,
    /// The probability of one continuation.
    Loglikelihood,
    Rolling,
    GenerateUntil,
}

impl OutputType {
    pub fn name(self) -> &'static str {
        match self {
            Self::MultipleChoice => "multiple_choice",
            Self::Loglikelihood => "loglikelihood",
            Self::Rolling => "loglikelihood_rolling",
            Self::GenerateUntil => "generate_until",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// A column's name, or a template.
    Text(String),
    Int(i64),
    List(Vec<Json>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    pub until: Vec<String>,
    pub max_tokens: u32,
    /// 0 takes the most probable token.
    pub temperature: f64,
    pub top_p: Option<f64>,
    /// The `k` most probable tokens that are drawn from.
    pub top_k: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// At random, by Python's generator.
    Random,
    FirstN,
}

#[derive(Debug, Clone)]
pub struct Shots {
    /// How many, unless the user says so.
    pub count: usize,
    pub sampler: Sampler,
    pub samples: Option<Vec<BTreeMap<String, Json>>>,
    pub split: Option<String>,
    pub shown: RowTemplate,
}

#[derive(Debug, Clone)]
pub struct RowTemplate {
    pub text: Field,
    pub target: Field,
    pub choice: Option<Field>,
    /// What stands before the answer.
    pub gen_prefix: Option<String>,
    /// Between question and answer.
    pub target_delimiter: String,
    pub fewshot_delimiter: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Splits {
    pub training: Option<String>,
    pub validation: Option<String>,
    pub test: Option<String>,
}

impl Splits {
    pub fn evaluated(&self) -> Option<&str> {
        self.test.as_deref().or(self.validation.as_deref())
    }

    /// The split that shots are from where none is named.
    pub fn shots(&self) -> Option<&str> {
        let named = self.training.as_deref().or(self.validation.as_deref());
        named.or(self.test.as_deref())
    }
}

#[derive(Debug)]
pub struct Config {
    pub task: String,
    pub alias: Option<String>,
    pub path: PathBuf,
    /// The dataset: a name on the hub, a folder, or `json`, `csv`, `parquet` with files.
    pub dataset: Option<String>,
    pub dataset_name: Option<String>,
    /// Files by split; all rows where there is one name only.
    pub data_files: Vec<(Option<String>, Vec<String>)>,
    pub splits: Splits,
    pub output: OutputType,
    pub description: String,
    pub shown: RowTemplate,
    pub shots: Shots,
    pub generation: Generation,
    /// What is read from an answer; several readings are judged side by side.
    pub filters: Vec<Pipeline>,
    pub metrics: Vec<Metric>,
    /// Metrics that the file names and that are not computed here.
    pub left_out: Vec<String>,
    /// Everything the file and its includes say, in one.
    pub whole: Json,
}

/// Whether a file with these keys is a task, a group or something made by Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Task,
    Group,
    Class,
    /// None of them: a part that others include.
    Part,
}

impl Shape {
    /// By the keys, as the harness tells them apart.
    pub fn from_keys(merged: &Merged) -> Self {
        let has = |name: &str| merged.entries().iter().any(|e| e.name == name);
        if has("class") {
            Self::Class
        } else if has("group") {
            Self::Group
        } else if has("task") {
            Self::Task
        } else {
            Self::Part
        }
    }
}

impl Config {
    pub fn from_merged(merged: &Merged) -> Result<Self, HarnessError> {
        Reading { merged }.config()
    }
}

/// Keys that ask for what is not done here, what to say of them, and perhaps a hint behind a tab.
const NOT_DONE: &str = include_str!("not_done.tsv");

struct Reading<'a> {
    merged: &'a Merged,
}

impl Reading<'_> {
    fn refuse(&self, entry: &Entry, line: usize, refusal: Refusal) -> HarnessError {
        HarnessError::refused(&entry.file, line, refusal)
    }

    fn refuse_key(&self, entry: &Entry, line: usize, key: &str, why: &str) -> HarnessError {
        let (key, why) = (key.to_owned(), why.to_owned());
        self.refuse(entry, line, Refusal::Key { key, why })
    }

    /// Python code anywhere is refused, the first by its place in the file.
    fn no_python(&self) -> Result<(), HarnessError> {
        for entry in self.merged.entries() {
            // What is only measured against training data, or only written down, is not looked at.
            if ["metadata", "doc_to_decontamination_query"].contains(&&*entry.name) {
                continue;
            }
            if entry.name == "class" {
                let name = match &entry.node.data {
                    Data::Function(name) | Data::Text(name) => name.clone(),
                    _ => "?".into(),
                };
                let key = "class".to_owned();
                return Err(self.refuse(entry, entry.node.line, Refusal::Python { key, name }));
            }
            if let Some((name, line)) = entry.node.function() {
                let refusal = Refusal::Python {
                    key: entry.name.clone(),
                    name: name.to_owned(),
                };
                return Err(self.refuse(entry, line, refusal));
            }
        }
        Ok(())
    }

    fn config(&self) -> Result<Config, HarnessError> {
        self.no_python()?;
        for (key, why) in NOT_DONE.lines().filter_map(|line| line.split_once('\t')) {
            if let Some(entry) = self.merged.get(key)
                && !(key == "unsafe_code" && entry.node.data == Data::Bool(false))
            {
                let why = why.replace('\t', "\n");
                return Err(self.refuse_key(entry, entry.node.line, key, &why));
            }
        }
        if let Some(entry) = self.merged.get("repeats")
            && let Data::Int(n) = entry.node.data
            && n != 1
        {
            return Err(self.refuse(entry, entry.node.line, Refusal::Repeats(n)));
        }
        let task = self.text("task")?.ok_or_else(|| {
            HarnessError::wrong(&self.merged.path, 1, "the task has no name: `task`")
        })?;
        let output = self.output()?;
        let shown = self.shown(output)?;
        let (metrics, left_out) = self.metrics(output)?;
        let (dataset, data_files) = self.dataset()?;
        Ok(Config {
            alias: self.text("task_alias")?,
            path: self.merged.path.clone(),
            dataset,
            dataset_name: self.text("dataset_name")?,
            data_files,
            splits: Splits {
                training: self.text("training_split")?,
                validation: self.text("validation_split")?,
                test: self.text("test_split")?,
            },
            output,
            description: self.text("description")?.unwrap_or_default(),
            shots: self.shots(&shown)?,
            generation: self.generation(&shown)?,
            filters: self.filters()?,
            metrics,
            left_out,
            whole: self.merged.json(),
            shown,
            task,
        })
    }

    /// A key that holds text; a number is taken for its text, as names of configurations are written.
    fn text(&self, name: &str) -> Result<Option<String>, HarnessError> {
        let Some(entry) = self.merged.get(name) else {
            return Ok(None);
        };
        match &entry.node.data {
            Data::Text(text) => Ok(Some(text.clone())),
            Data::Int(n) => Ok(Some(n.to_string())),
            _ => {
                let message = format!("`{name}` is text, and this is {}", entry.node.kind());
                Err(self.merged.wrong(name, message))
            }
        }
    }

    fn output(&self) -> Result<OutputType, HarnessError> {
        match self.text("output_type")?.as_deref() {
            None | Some("generate_until") => Ok(OutputType::GenerateUntil),
            Some("multiple_choice") => Ok(OutputType::MultipleChoice),
            Some("loglikelihood") => Ok(OutputType::Loglikelihood),
            Some("loglikelihood_rolling") => Ok(OutputType::Rolling),
            Some(other) => {
                let message = format!(
                    "`{other}` is no output type; expected multiple_choice, loglikelihood, \
                     loglikelihood_rolling or generate_until"
                );
                Err(self.merged.wrong("output_type", message))
            }
        }
    }

    fn field(&self, name: &str, node: &Node, file: &Path) -> Result<Field, HarnessError> {
        Ok(match &node.data {
            Data::Text(text) => Field::Text(text.clone()),
            Data::Int(n) => Field::Int(*n),
            Data::Bool(b) => Field::Int(i64::from(*b)),
            Data::List(members) => Field::List(members.iter().map(Node::json).collect()),
            Data::Map(entries) => Field::List(entries.iter().map(|(_, v)| v.json()).collect()),
            _ => {
                let kind = node.kind();
                let message = format!(
                    "`{name}` is a column, a template, a number or a list, and this is {kind}"
                );
                return Err(HarnessError::wrong(file, node.line, message));
            }
        })
    }

    fn named_field(&self, name: &str) -> Result<Option<Field>, HarnessError> {
        let field = |e: &Entry| self.field(name, &e.node, &e.file);
        self.merged.get(name).map(field).transpose()
    }

    fn shown(&self, output: OutputType) -> Result<RowTemplate, HarnessError> {
        let missing = |name: &str| {
            let message = format!("the task has no `{name}`");
            HarnessError::wrong(&self.merged.path, 1, message)
        };
        let text = self.named_field("doc_to_text")?;
        let text = match (text, output) {
            (Some(text), _) => text,
            (None, OutputType::Rolling) => Field::Text(String::new()),
            (None, _) => return Err(missing("doc_to_text")),
        };
        let choice = self.named_field("doc_to_choice")?;
        if choice.is_none() && output == OutputType::MultipleChoice {
            return Err(missing("doc_to_choice"));
        }
        let target = self.named_field("doc_to_target")?;
        let fewshot_delimiter = self.text("fewshot_delimiter")?;
        Ok(RowTemplate {
            text,
            target: target.ok_or_else(|| missing("doc_to_target"))?,
            choice,
            gen_prefix: self.text("gen_prefix")?,
            target_delimiter: self.text("target_delimiter")?.unwrap_or_else(|| " ".into()),
            fewshot_delimiter: fewshot_delimiter.unwrap_or_else(|| "\n\n".into()),
        })
    }

    fn shots(&self, shown: &RowTemplate) -> Result<Shots, HarnessError> {
        let count = match self.merged.get("num_fewshot").map(|e| &e.node.data) {
            None => 0,
            Some(Data::Int(n)) if (0..=1000).contains(n) => *n as usize,
            Some(_) => {
                let message = "`num_fewshot` is a number from 0 to 1000";
                return Err(self.merged.wrong("num_fewshot", message));
            }
        };
        let mut shots = Shots {
            count,
            sampler: Sampler::Random,
            samples: None,
            split: self.text("fewshot_split")?,
            shown: shown.clone(),
        };
        let Some(entry) = self.merged.get("fewshot_config") else {
            return Ok(shots);
        };
        let Data::Map(keys) = &entry.node.data else {
            let message = "`fewshot_config` is a map";
            return Err(self.merged.wrong("fewshot_config", message));
        };
        for (key, node) in keys {
            let wrong = |line, message| HarnessError::wrong(&entry.file, line, message);
            let text = || match &node.data {
                Data::Text(text) => Ok(text.clone()),
                _ => {
                    let message = format!("`{}` is text, and this is {}", key.name, node.kind());
                    Err(wrong(node.line, message))
                }
            };
            if node.data == Data::Null {
                continue;
            }
            match key.name.as_str() {
                "sampler" => {
                    shots.sampler = match text()?.as_str() {
                        "default" => Sampler::Random,
                        "first_n" => Sampler::FirstN,
                        other => {
                            let why = format!(
                                "`{other}` is not known here; there are `default` and `first_n`"
                            );
                            let key = "fewshot_config.sampler";
                            return Err(self.refuse_key(entry, node.line, key, &why));
                        }
                    }
                }
                "split" => shots.split = Some(text()?),
                "samples" => {
                    let Data::List(rows) = &node.data else {
                        return Err(wrong(node.line, "`samples` is a list of rows".into()));
                    };
                    let rows = rows.iter().map(|row| match row.json() {
                        Json::Object(columns) => Ok(columns.into_iter().collect()),
                        _ => {
                            let kind = row.kind();
                            let message =
                                format!("a row of `samples` is a map, and this is {kind}");
                            Err(wrong(row.line, message))
                        }
                    });
                    shots.samples = Some(rows.collect::<Result<_, _>>()?);
                }
                "doc_to_text" => shots.shown.text = self.field(&key.name, node, &entry.file)?,
                "doc_to_target" => shots.shown.target = self.field(&key.name, node, &entry.file)?,
                "doc_to_choice" => {
                    shots.shown.choice = Some(self.field(&key.name, node, &entry.file)?);
                }
                "gen_prefix" => shots.shown.gen_prefix = Some(text()?),
                "target_delimiter" => shots.shown.target_delimiter = text()?,
                "fewshot_delimiter" => shots.shown.fewshot_delimiter = text()?,
                // Read and never used by the harness itself.
                "fewshot_indices" => {}
                _ => {
                    let key = format!("fewshot_config.{}", key.name);
                    return Err(self.refuse_key(entry, node.line, &key, "is not known here"));
                }
            }
        }
        Ok(shots)
    }

    fn generation(&self, shown: &RowTemplate) -> Result<Generation, HarnessError> {
        let mut made = Generation {
            until: vec![shown.fewshot_delimiter.clone()],
            max_tokens: 256,
            temperature: 0.0,
            top_p: None,
            top_k: None,
        };
        let Some(entry) = self.merged.get("generation_kwargs") else {
            return Ok(made);
        };
        let wrong = |node: &Node, expected: &str| {
            let message = format!("expected {expected}, found {}", node.kind());
            HarnessError::wrong(&entry.file, node.line, message)
        };
        let number = |node: &Node| match &node.data {
            Data::Int(n) => Ok(*n as f64),
            Data::Float(x) => Ok(*x),
            Data::Text(text) => text.trim().parse().map_err(|_| wrong(node, "a number")),
            _ => Err(wrong(node, "a number")),
        };
        if let Some(node) = entry.node.get("until") {
            let members = match &node.data {
                Data::Null => &[],
                _ => node.members(),
            };
            let text = |m: &Node| m.text().map(str::to_owned).ok_or_else(|| wrong(m, "text"));
            made.until = members.iter().map(text).collect::<Result<_, _>>()?;
            // A stop that is empty would stop before the first word.
            made.until.retain(|stop| !stop.is_empty());
        }
        for name in [
            "max_completion_tokens",
            "max_tokens",
            "max_new_tokens",
            "max_gen_toks",
        ] {
            if let Some(node) = entry.node.get(name).filter(|n| n.data != Data::Null) {
                made.max_tokens = match node.data {
                    Data::Int(n) if n > 0 => u32::try_from(n).unwrap_or(u32::MAX),
                    _ => return Err(wrong(node, "a number of tokens from 1")),
                };
            }
        }
        let temperature = entry.node.get("temperature").map(number).transpose()?;
        let sampled = entry.node.get("do_sample");
        let sampled = sampled.map(|n| n.data == Data::Bool(true));
        // Without `do_sample` a temperature above 0 draws; `do_sample: false` takes the most probable.
        made.temperature = match sampled {
            Some(false) => 0.0,
            _ => temperature.unwrap_or(0.0),
        };
        if made.temperature > 0.0 {
            made.top_p = entry.node.get("top_p").map(number).transpose()?;
            made.top_k = match entry.node.get("top_k").map(number).transpose()? {
                Some(k) if k >= 1.0 => Some(k as u32),
                _ => None,
            };
        }
        if let Some(node) = entry.node.get("num_beams")
            && node.data != Data::Int(1)
        {
            let why = "searches with beams, which is not done here";
            return Err(self.refuse_key(entry, node.line, "generation_kwargs.num_beams", why));
        }
        Ok(made)
    }

    fn filters(&self) -> Result<Vec<Pipeline>, HarnessError> {
        let Some(entry) = self.merged.get("filter_list") else {
            return Ok(vec![Pipeline::first()]);
        };
        let Data::List(members) = &entry.node.data else {
            return Err(self.merged.wrong("filter_list", "`filter_list` is a list"));
        };
        if members.is_empty() {
            return Ok(vec![Pipeline::first()]);
        }
        let read = members.iter().map(|member| {
            filters::read(member).map_err(|(line, refusal)| match refusal {
                Ok(refusal) => self.refuse(entry, line, refusal),
                Err(message) => HarnessError::wrong(&entry.file, line, message),
            })
        });
        read.collect()
    }

    fn metrics(&self, output: OutputType) -> Result<(Vec<Metric>, Vec<String>), HarnessError> {
        let Some(entry) = self.merged.get("metric_list") else {
            return Ok((metrics::default_of(output), Vec::new()));
        };
        let Data::List(members) = &entry.node.data else {
            return Err(self.merged.wrong("metric_list", "`metric_list` is a list"));
        };
        let (mut known, mut left_out) = (Vec::new(), Vec::new());
        for member in members {
            let name = member.get("metric").and_then(Node::text);
            let Some(name) = name else {
                let message = "an entry of `metric_list` has no `metric`";
                return Err(HarnessError::wrong(&entry.file, member.line, message));
            };
            match metrics::read(name, member, output) {
                Ok(Some(metric)) => known.push(metric),
                Ok(None) => left_out.push(name.to_owned()),
                Err((line, refusal)) => return Err(self.refuse(entry, line, refusal)),
            }
        }
        if known.is_empty() {
            return Err(self.refuse(entry, entry.node.line, Refusal::Metrics(left_out)));
        }
        Ok((known, left_out))
    }

    #[allow(clippy::type_complexity)]
    fn dataset(
        &self,
    ) -> Result<(Option<String>, Vec<(Option<String>, Vec<String>)>), HarnessError> {
        let dataset = self.text("dataset_path")?;
        let Some(entry) = self.merged.get("dataset_kwargs") else {
            return Ok((dataset, Vec::new()));
        };
        let Some(files) = entry.node.get("data_files") else {
            return Ok((dataset, Vec::new()));
        };
        let names = |node: &Node| -> Result<Vec<String>, HarnessError> {
            let texts = node.members().iter().map(|m| {
                let message = "`data_files` names files";
                let wrong = || HarnessError::wrong(&entry.file, m.line, message);
                m.text().map(str::to_owned).ok_or_else(wrong)
            });
            texts.collect()
        };
        let found = match &files.data {
            Data::Map(splits) => splits
                .iter()
                .map(|(split, node)| Ok((Some(split.name.clone()), names(node)?)))
                .collect::<Result<_, HarnessError>>()?,
            _ => vec![(None, names(files)?)],
        };
        Ok((dataset, found))
    }
}

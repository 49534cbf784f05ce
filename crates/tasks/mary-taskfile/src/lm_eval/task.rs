//! A task file of the harness as a task.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    DataSource, InForce, Item, Items, Judgement, Measure, Metric as Scale, Needs, Param, Reply,
    Sample, Scoring, Task, TaskCard, TaskError, TaskSettings, Ties,
};
use serde_json::{Value as Json, json};

use crate::lm_eval::asking::Asking;
use crate::lm_eval::config::{Config, Field, OutputType};
use crate::lm_eval::context::{Made, Maker};
use crate::lm_eval::data::{self, Docs, Places, SplitRows};
use crate::lm_eval::metrics::Metric;
use crate::lm_eval::render::{Doc, no_templates};
use crate::lm_eval::shots::Pool;
use crate::lm_eval::{HarnessError, judge, overall};
use crate::plan::{content_hash, file_safe};
use crate::template::Templates;

/// The seed that the harness draws shots with, unless its user says otherwise.
const SEED: &str = "1234";

/// Rows that a pool of shots may have: they are kept in memory, as the harness keeps them.
const LARGEST_POOL: usize = 5_000_000;

pub struct HarnessTask {
    inner: Arc<Inner>,
    card: TaskCard,
}

struct Inner {
    config: Arc<Config>,
    templates: Arc<Templates>,
    rows: SplitRows,
    /// Where shots are from; an error says what to give.
    shots: Result<Option<SplitRows>, String>,
}

pub fn templates(config: &Config) -> Result<Templates, HarnessError> {
    let broken = |message: String| HarnessError::wrong(&config.path, 1, message);
    let mut templates = no_templates().map_err(broken)?;
    let shots = &config.shots.shown;
    let fields = [
        ("doc_to_text", Some(&config.shown.text)),
        ("doc_to_target", Some(&config.shown.target)),
        ("doc_to_choice", config.shown.choice.as_ref()),
        ("fewshot_config.doc_to_text", Some(&shots.text)),
        ("fewshot_config.doc_to_target", Some(&shots.target)),
        ("fewshot_config.doc_to_choice", shots.choice.as_ref()),
    ];
    let texts = fields.into_iter().filter_map(|(key, field)| match field {
        Some(Field::Text(text)) => Some((key, text)),
        _ => None,
    });
    let prefixes = [
        ("description", Some(&config.description)),
        ("gen_prefix", config.shown.gen_prefix.as_ref()),
        ("fewshot_config.gen_prefix", shots.gen_prefix.as_ref()),
    ];
    let prefixes = prefixes.into_iter().filter_map(|(key, t)| Some((key, t?)));
    for (key, text) in texts.chain(prefixes) {
        templates.add(text, text, 1).map_err(|(why, line)| {
            broken(format!(
                "the template `{key}` is broken in its line {line}: {why}"
            ))
        })?;
    }
    Ok(templates)
}

impl HarnessTask {
    /// Finds the data of a task and compiles its templates; rows are not asked yet.
    pub fn new(config: Config, places: &Places) -> Result<Self, HarnessError> {
        let templates = templates(&config)?;
        let split = config.splits.evaluated().ok_or_else(|| {
            let message = "the task has neither `test_split` nor `validation_split`";
            HarnessError::wrong(&config.path, 1, message)
        })?;
        let rows = data::find(&config, split, places)?;
        let named = config.shots.split.as_deref();
        let shots = match named.or_else(|| config.splits.shots()) {
            _ if named.is_none() && config.shots.samples.is_some() => Ok(None),
            Some(other) if other != split => match data::find(&config, other, places) {
                Ok(source) => Ok(Some(source)),
                Err(error) => Err(error.to_string()),
            },
            _ => Ok(Some(rows.clone())),
        };
        let content = content(&config, &rows, shots.as_ref().ok().and_then(Option::as_ref));
        let inner = Inner {
            templates: Arc::new(templates),
            config: Arc::new(config),
            rows,
            shots,
        };
        Ok(Self {
            card: card(&inner.config, content),
            inner: Arc::new(inner),
        })
    }

    pub fn path(&self) -> &Path {
        &self.inner.config.path
    }

    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Every row as the harness understands it, with its shots.
    pub fn made(&self, settings: &TaskSettings) -> Result<MadeRows, TaskError> {
        MadeRows::new(Arc::clone(&self.inner), settings)
    }
}

fn content(config: &Config, rows: &SplitRows, shots: Option<&SplitRows>) -> String {
    let shots = shots.map_or("", |s| s.table.hash.as_str());
    let whole = config.whole.to_string();
    content_hash(&["mary-harness 1", &whole, &rows.table.hash, shots])
}

fn card(config: &Config, content: String) -> TaskCard {
    let safe = file_safe(&config.task);
    let title = config.alias.clone().unwrap_or_else(|| config.task.clone());
    let (task, output) = (&config.task, config.output.name());
    let about = format!("{task} of lm-evaluation-harness ({output})");
    let mut card = TaskCard::new(format!("lm-eval/{safe}"), title, about);
    card.chance = match (config.output, &config.shown.choice) {
        (OutputType::MultipleChoice, Some(Field::List(options))) if !options.is_empty() => {
            Some(1.0 / options.len() as f64)
        }
        _ => None,
    };
    card.params = Cow::Owned(params(config));
    card.content = Some(content.into());
    card
}

fn params(config: &Config) -> Vec<Param> {
    let about = "Seed that shots are drawn by, as in the harness.";
    let mut params = vec![Param::new("fewshot_seed", SEED, "a number", about)];
    if config.output == OutputType::GenerateUntil {
        params.push(Param {
            default: config.generation.max_tokens.to_string().into(),
            ..Param::new("max_tokens", "", "a number", "Longest answer.")
        });
    }
    params
}

fn shots_wanted(config: &Config, settings: &TaskSettings) -> Result<usize, TaskError> {
    match settings.shots {
        None => Ok(config.shots.count),
        Some(n) if config.whole.get("num_fewshot") == Some(&json!(0)) && n > 0 => {
            Err(TaskError::Setting(format!(
                "{}: the task file says `num_fewshot: 0`, which the harness keeps whatever is asked for\n\
                 hint: leave `--shots` out",
                config.task
            )))
        }
        Some(n) => Ok(n),
    }
}

/// Rows with their shots, one after the other.
pub struct MadeRows {
    inner: Arc<Inner>,
    docs: Docs,
    maker: Option<Maker>,
    pool: Option<Pool>,
    number: usize,
    ended: bool,
}

impl MadeRows {
    fn new(inner: Arc<Inner>, settings: &TaskSettings) -> Result<Self, TaskError> {
        let config = &inner.config;
        let count = shots_wanted(config, settings)?;
        let seed = settings.params.get("fewshot_seed");
        let seed = seed.map_or(SEED, String::as_str);
        let seed: u64 = seed.trim().parse().map_err(|_| {
            let message = format!("`fewshot_seed` cannot be `{seed}`; expected a number");
            TaskError::Setting(message)
        })?;
        let docs = match (&inner.shots, &config.shots.samples) {
            _ if count == 0 => Vec::new(),
            (Err(why), _) => {
                return Err(TaskError::Setting(format!(
                    "{count} shots are wanted, and where they are from is not there: {why}"
                )));
            }
            (Ok(None), samples) => {
                let rows = samples.iter().flatten().cloned();
                rows.map(|row| row.into_iter().collect()).collect()
            }
            (Ok(Some(source)), _) => pool(source)?,
        };
        let pool = (count > 0).then(|| Pool::new(config, docs, count, seed));
        Ok(Self {
            docs: inner.rows.docs()?,
            inner,
            maker: None,
            pool,
            number: 0,
            ended: false,
        })
    }

    fn step(&mut self) -> Result<Option<(usize, Made, Doc)>, TaskError> {
        let (row, mut doc) = match self.docs.next() {
            None if self.number > 0 => return Ok(None),
            None => {
                let why = "there are no rows; expected at least one";
                return Err(self.inner.rows.table.wrong(1, why));
            }
            Some(found) => found?,
        };
        let maker = match &self.maker {
            Some(maker) => maker,
            None => {
                let (config, templates) = (&self.inner.config, &self.inner.templates);
                let maker = Maker::new(Arc::clone(config), Arc::clone(templates), &doc);
                self.maker.insert(maker.map_err(|e| row.wrong(e.0))?)
            }
        };
        for name in &maker.features {
            if !doc.contains_key(name) {
                doc.insert(name.clone(), Json::Null);
            }
        }
        let shots = match &mut self.pool {
            None => Vec::new(),
            Some(pool) => pool.draw(&doc).map_err(|why| row.wrong(why))?,
        };
        let made = maker.make(&doc, &shots).map_err(|e| row.wrong(e.0))?;
        let number = self.number;
        self.number += 1;
        Ok(Some((number, made, doc)))
    }
}

impl Iterator for MadeRows {
    type Item = Result<(usize, Made, Doc), TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.step().transpose();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}

fn pool(source: &SplitRows) -> Result<Vec<Doc>, TaskError> {
    let mut docs = Vec::new();
    for found in source.docs()? {
        let (row, doc) = found?;
        if docs.len() >= LARGEST_POOL {
            return Err(row.wrong(format!("shots are taken from at most {LARGEST_POOL} rows")));
        }
        docs.push(doc);
    }
    Ok(docs)
}

impl Task for HarnessTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        let generate = self.inner.config.output == OutputType::GenerateUntil;
        Needs {
            generate,
            score: !generate,
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let mut rows = self.made(settings)?;
        let settings = settings.clone();
        let inner = Arc::clone(&self.inner);
        let items = std::iter::from_fn(move || {
            let found = rows.next()?;
            Some(found.and_then(|(number, made, doc)| {
                let maker = rows.maker.as_ref();
                let asking = Asking {
                    config: &inner.config,
                    settings: &settings,
                    several_targets: maker.is_some_and(|m| m.several_targets),
                    several_inputs: maker.is_some_and(|m| m.several_inputs),
                };
                let item = asking.item(number, &made, &doc);
                item.map_err(|message| TaskError::Record {
                    file: inner.rows.table.name(),
                    line: number + 1,
                    message,
                })
            }))
        });
        Ok(Box::new(items))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge::judge(&self.inner.config, item, answers)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        overall::overall(&self.inner.config, samples)
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&self.card);
        asked.remove("seed");
        let shots = settings.shots.unwrap_or(self.inner.config.shots.count);
        if shots > 0 {
            asked.insert("shots".to_owned(), shots.to_string());
        } else {
            asked.remove("fewshot_seed");
        }
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        let config = &self.inner.config;
        let share = config.metrics.iter().any(Metric::is_share);
        match config.output {
            OutputType::MultipleChoice => Scoring::share(Ties::First),
            OutputType::GenerateUntil | OutputType::Loglikelihood if share => Scoring::WRITTEN,
            _ => Scoring::number(Scale::Number),
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let config = &self.inner.config;
        let mut said = BTreeMap::new();
        let mut say = |name: &str, text: String| said.insert(name.to_owned(), text);
        let table = &self.inner.rows.table;
        let file = table.path.file_name().unwrap_or_default().to_string_lossy();
        say("data", format!("{file}, blake3 {}", table.hash));
        say("rules", "lm-evaluation-harness'".into());
        let shares = config.metrics.iter().find(|m| m.is_share());
        let score = match (config.output, shares) {
            (OutputType::MultipleChoice, None) => "acc",
            (_, Some(metric)) => metric.name(),
            (OutputType::Rolling, None) => "bits per byte of the item",
            (OutputType::GenerateUntil, None) => "chrF of the item",
            (OutputType::Loglikelihood, None) => "log-probability of the item",
        };
        say("score", score.into());
        if !config.left_out.is_empty() {
            say("not computed", config.left_out.join(", "));
        }
        match config.output {
            OutputType::MultipleChoice => {
                say("ties", "the first of those that tie is taken".into());
            }
            OutputType::GenerateUntil => {
                let (temperature, most) =
                    (config.generation.temperature, config.generation.max_tokens);
                let how = format!("generated, temperature {temperature}, at most {most} tokens");
                say("answer", how);
                let each = config
                    .filters
                    .iter()
                    .map(|f| format!("{} ({})", f.name, f.words()));
                say("filters", each.collect::<Vec<_>>().join("; "));
                say("unread answers", "wrong, as in the harness".into());
            }
            OutputType::Rolling => {
                say("scale", "bits per byte".into());
            }
            OutputType::Loglikelihood => {}
        }
        let shots = settings.shots.unwrap_or(config.shots.count);
        if shots > 0 {
            let seed = settings.param(&self.card, "fewshot_seed");
            let how = format!("{shots}, as the harness draws them with seed {seed}");
            say("shots", how);
        }
        said
    }
}

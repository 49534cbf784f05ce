//! A task file of the harness as a task.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    Ask, DataSource, Details, Generate, InForce, Item, Items, Judgement, Measure, Metric as Scale,
    Needs, Param, Part, Prompt, PromptForm, Reply, Request, Sample, Sampling, Score, Scoring,
    Speaker, Start, Target, Task, TaskCard, TaskError, TaskSettings, Ties, Turn,
};
use serde_json::{Value as Json, json};

use crate::config::{Config, Field, OutputType};
use crate::context::{Asked, Made, Maker, Message, Role};
use crate::data::{self, Docs, Places, Source};
use crate::metrics::Metric;
use crate::python::{is_space, str_of_json};
use crate::render::{Doc, Templates};
use crate::shots::Pool;
use crate::{HarnessError, judge, overall};

/// The seed that the harness draws shots with, unless its user says otherwise.
const SEED: &str = "1234";

/// Rows that a pool of shots may have: they are kept in memory, as the harness keeps them.
const LARGEST_POOL: usize = 5_000_000;

/// A task of the harness with its data.
pub struct HarnessTask {
    inner: Arc<Inner>,
    card: TaskCard,
}

struct Inner {
    config: Arc<Config>,
    templates: Arc<Templates>,
    rows: Source,
    /// Where shots are from; an error says what to give.
    shots: Result<Option<Source>, String>,
}

/// The templates of a task, compiled.
pub fn templates(config: &Config) -> Result<Templates, HarnessError> {
    let broken = |message: String| HarnessError::wrong(&config.path, 1, message);
    let mut templates = Templates::new().map_err(broken)?;
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
        templates.add(text).map_err(|(message, line)| {
            broken(format!(
                "the template `{key}` is broken in its line {line}: {message}"
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

    /// The task file.
    pub fn path(&self) -> &Path {
        &self.inner.config.path
    }

    /// The task as its file describes it.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Every row as the harness understands it, with its shots.
    pub fn made(&self, settings: &TaskSettings) -> Result<MadeRows, TaskError> {
        MadeRows::new(Arc::clone(&self.inner), settings)
    }
}

fn content(config: &Config, rows: &Source, shots: Option<&Source>) -> String {
    let mut hasher = blake3::Hasher::new();
    let none = String::new();
    let shots = shots.map_or(&none, |s| &s.table.hash);
    let whole = config.whole.to_string();
    for part in ["mary-harness 1", &whole, &rows.table.hash, shots] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn card(config: &Config, content: String) -> TaskCard {
    let safe = config.task.to_lowercase();
    let safe: String = safe
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect();
    let title = config.alias.clone().unwrap_or_else(|| config.task.clone());
    let about = format!(
        "{} of lm-evaluation-harness ({})",
        config.task,
        config.output.name()
    );
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
    let mut params = vec![Param::new(
        "fewshot_seed",
        SEED,
        "a number",
        "Seed that shots are drawn by, as in the harness.",
    )];
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
        let seed = settings
            .params
            .get("fewshot_seed")
            .map_or(SEED, String::as_str);
        let seed: u64 = seed.trim().parse().map_err(|_| {
            TaskError::Setting(format!(
                "`fewshot_seed` cannot be `{seed}`; expected a number"
            ))
        })?;
        let pool = if count == 0 {
            None
        } else {
            let docs = match (&inner.shots, &config.shots.samples) {
                (Err(why), _) => {
                    return Err(TaskError::Setting(format!(
                        "{count} shots are wanted, and where they are from is not there: {why}"
                    )));
                }
                (Ok(None), samples) => samples
                    .iter()
                    .flatten()
                    .map(|row| row.clone().into_iter().collect())
                    .collect(),
                (Ok(Some(source)), _) => pool(source)?,
            };
            Some(Pool::new(config, docs, count, seed))
        };
        Ok(Self {
            docs: inner.rows.docs()?,
            inner,
            maker: None,
            pool,
            number: 0,
            ended: false,
        })
    }

    fn step(&mut self) -> Option<Result<(usize, Made, Doc), TaskError>> {
        let (row, mut doc) = match self.docs.next() {
            None if self.number > 0 => return None,
            None => {
                let why = "there are no rows; expected at least one";
                return Some(Err(self.inner.rows.table.wrong(1, why)));
            }
            Some(Err(error)) => return Some(Err(error)),
            Some(Ok(found)) => found,
        };
        let maker = match &self.maker {
            Some(maker) => maker,
            None => {
                let (config, templates) = (&self.inner.config, &self.inner.templates);
                match Maker::new(Arc::clone(config), Arc::clone(templates), &doc) {
                    Ok(maker) => self.maker.insert(maker),
                    Err(trouble) => return Some(Err(row.wrong(trouble.0))),
                }
            }
        };
        for name in &maker.features {
            if !doc.contains_key(name) {
                doc.insert(name.clone(), Json::Null);
            }
        }
        let shots = match &mut self.pool {
            None => Vec::new(),
            Some(pool) => match pool.draw(&doc) {
                Ok(shots) => shots,
                Err(why) => return Some(Err(row.wrong(why))),
            },
        };
        let made = match maker.make(&doc, &shots) {
            Ok(made) => made,
            Err(trouble) => return Some(Err(row.wrong(trouble.0))),
        };
        let number = self.number;
        self.number += 1;
        Some(Ok((number, made, doc)))
    }
}

impl Iterator for MadeRows {
    type Item = Result<(usize, Made, Doc), TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.step();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}

fn pool(source: &Source) -> Result<Vec<Doc>, TaskError> {
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

/// A row as an item.
struct Asking<'a> {
    config: &'a Config,
    settings: &'a TaskSettings,
    several_targets: bool,
    several_inputs: bool,
}

impl Asking<'_> {
    fn item(&self, number: usize, made: &Made, doc: &Doc) -> Result<Item, String> {
        let target = self.target(made, doc)?;
        let asks = self.asks(made)?;
        Ok(Item::new(number.to_string(), target, asks))
    }

    fn asks(&self, made: &Made) -> Result<Vec<Ask>, String> {
        match &made.asked {
            Asked::Answer(context) => {
                let generation = &self.config.generation;
                let max_tokens = match self.settings.params.get("max_tokens") {
                    None => generation.max_tokens,
                    Some(text) => text
                        .trim()
                        .parse()
                        .ok()
                        .filter(|n| *n > 0)
                        .ok_or("`max_tokens` is a number from 1")?,
                };
                Ok(vec![Ask::subject(Request::Generate(Generate {
                    prompt: self.prompt(made, context)?,
                    sampling: Sampling {
                        temperature: generation.temperature,
                        top_p: generation.top_p,
                        top_k: generation.top_k,
                        max_tokens,
                        stop: generation.until.clone(),
                        seed: None,
                    },
                }))])
            }
            Asked::Text(text) => {
                if text.is_empty() {
                    return Err("the text is empty, so that it has no probability".into());
                }
                Ok(vec![score(Prompt::plain(""), vec![text.clone()], false)])
            }
            Asked::Pairs {
                pairs,
                unconditional,
            } => {
                let mut asks = Vec::new();
                for group in [pairs, unconditional] {
                    // Options after one context are asked together.
                    let shared = group.windows(2).all(|w| matches!(w, [a, b] if a.0 == b.0));
                    let parts: Vec<&[(String, String)]> = match shared {
                        true if group.is_empty() => Vec::new(),
                        true => vec![group.as_slice()],
                        false => group.chunks(1).collect(),
                    };
                    for part in parts {
                        asks.push(self.scored(made, part)?);
                    }
                }
                Ok(asks)
            }
        }
    }

    /// Spaces at the end of a context belong to what follows, as the harness has it.
    fn scored(&self, made: &Made, pairs: &[(String, String)]) -> Result<Ask, String> {
        let context = pairs.first().map_or("", |(context, _)| context.as_str());
        let bare = context.trim_end_matches(is_space);
        let spaces = context.get(bare.len()..).unwrap_or_default();
        let continuations: Vec<String> =
            pairs.iter().map(|(_, c)| format!("{spaces}{c}")).collect();
        if let Some(empty) = continuations.iter().position(String::is_empty) {
            return Err(format!(
                "the scored text {} is empty, so that it has no probability",
                empty + 1
            ));
        }
        // Whether greedy decoding would say it is asked of one continuation only.
        let rank = self.config.output == OutputType::Loglikelihood
            && self.config.metrics.iter().any(Metric::is_share);
        if self.settings.form == PromptForm::Chat {
            let prompt = self.prompt(made, context)?;
            let bare = pairs.iter().map(|(_, c)| {
                let delimiter = &self.config.shown.target_delimiter;
                c.strip_prefix(delimiter.as_str()).unwrap_or(c).to_owned()
            });
            return Ok(score(prompt, bare.collect(), rank));
        }
        Ok(score(Prompt::plain(bare), continuations, rank))
    }

    fn prompt(&self, made: &Made, context: &str) -> Result<Prompt, String> {
        if self.settings.form == PromptForm::Plain {
            return Ok(Prompt::plain(context));
        }
        if self.several_inputs {
            return Err("a task whose options stand in the question is not asked as a chat".into());
        }
        if made
            .messages
            .last()
            .is_some_and(|m| m.role == Role::Assistant)
        {
            return Err(
                "`gen_prefix` begins the model's answer, which is not done in a chat".into(),
            );
        }
        let mut prompt = Prompt {
            form: PromptForm::Chat,
            system: None,
            turns: Vec::new(),
        };
        for Message { role, content, .. } in &made.messages {
            let speaker = match role {
                Role::System => {
                    prompt.system = Some(content.clone());
                    continue;
                }
                Role::User => Speaker::User,
                Role::Assistant => Speaker::Assistant,
            };
            prompt.turns.push(Turn {
                speaker,
                parts: vec![Part::Text(content.clone())],
            });
        }
        Ok(prompt)
    }

    fn target(&self, made: &Made, doc: &Doc) -> Result<Target, String> {
        Ok(match self.config.output {
            OutputType::MultipleChoice => {
                let options = made.choices.clone().unwrap_or_default();
                let gold = self.gold(made, &options);
                match gold.as_slice() {
                    [one] if !self.several_targets => Target::Choice {
                        question: str_of_json(&made.question),
                        options,
                        correct: *one,
                    },
                    _ => Target::Data(json!({ "options": options, "gold": gold })),
                }
            }
            OutputType::Loglikelihood => Target::Text(str_of_json(&made.target)),
            OutputType::Rolling => {
                let text = str_of_json(&made.target);
                Target::Data(json!({ "words": words(&text), "bytes": text.len() }))
            }
            OutputType::GenerateUntil => self.accepted(made, doc)?,
        })
    }

    /// The right options; none where the target names none of them.
    fn gold(&self, made: &Made, options: &[String]) -> Vec<usize> {
        let named = if self.several_inputs {
            &made.question
        } else {
            &made.target
        };
        let one = |value: &Json| -> Option<usize> {
            match value {
                Json::Number(n) => usize::try_from(n.as_i64()?)
                    .ok()
                    .filter(|n| *n < options.len()),
                Json::Bool(b) => Some(usize::from(*b)).filter(|n| *n < options.len()),
                Json::String(text) => options.iter().position(|o| o == text),
                _ => None,
            }
        };
        match named {
            Json::Array(several) => several.iter().filter_map(one).collect(),
            other => one(other).into_iter().collect(),
        }
    }

    fn accepted(&self, made: &Made, doc: &Doc) -> Result<Target, String> {
        let accepted: Vec<String> = match (&made.choices, &made.target) {
            (Some(choices), Json::Number(n)) => {
                let at = n.as_i64().and_then(|n| usize::try_from(n).ok());
                let gold = at.and_then(|n| choices.get(n)).cloned();
                vec![gold.ok_or("`doc_to_target` names none of the options of `doc_to_choice`")?]
            }
            (Some(_), other) => {
                return Err(format!(
                    "`doc_to_target` gives `{other}`; with `doc_to_choice` it is the place of an option"
                ));
            }
            (None, Json::Array(several)) => several.iter().map(str_of_json).collect(),
            (None, other) => vec![str_of_json(other)],
        };
        let sees = self.config.filters.iter().any(|f| f.sees_options());
        let options: Vec<String> = match doc.get("choices") {
            Some(Json::Array(members)) if sees => members.iter().map(str_of_json).collect(),
            _ if sees => {
                return Err("the filter `multi_choice_regex` needs a column `choices`".into());
            }
            _ => Vec::new(),
        };
        Ok(match accepted.as_slice() {
            [one] if !sees => Target::Text(one.clone()),
            _ => Target::Data(json!({ "accepted": accepted, "options": options })),
        })
    }
}

/// Words as the harness counts them: pieces between white space, empty ones at the ends too.
fn words(text: &str) -> usize {
    let mut count = 1;
    let mut within = false;
    for c in text.chars() {
        if is_space(c) {
            within = true;
        } else if within {
            within = false;
            count += 1;
        }
    }
    // White space at the very end is followed by an empty piece.
    count + usize::from(within)
}

/// As the harness does: before a context stands what the tokenizer puts there, before a text without one a
/// begin-of-sequence token, or end-of-sequence where there is no other.
fn score(prefix: Prompt, continuations: Vec<String>, rank: bool) -> Ask {
    let said = prefix.turns.iter().flat_map(|turn| &turn.parts);
    let nothing = prefix.system.is_none()
        && said
            .into_iter()
            .all(|part| matches!(part, Part::Text(text) if text.is_empty()));
    Ask::subject(Request::Score(Score {
        prefix,
        continuations,
        start: if nothing { Start::Always } else { Start::Model },
        details: Details {
            rank,
            ..Details::default()
        },
    }))
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
        let rows = self.made(settings)?;
        let settings = settings.clone();
        let inner = Arc::clone(&self.inner);
        let mut rows = rows;
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
                asking
                    .item(number, &made, &doc)
                    .map_err(|why| TaskError::Record {
                        file: inner.rows.table.name(),
                        line: number + 1,
                        message: why,
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
        say(
            "score",
            match (config.output, shares) {
                (OutputType::MultipleChoice, None) => "acc".into(),
                (_, Some(metric)) => metric.name().into(),
                (OutputType::Rolling, None) => "bits per byte of the item".into(),
                (OutputType::GenerateUntil, None) => "chrF of the item".into(),
                (OutputType::Loglikelihood, None) => "log-probability of the item".into(),
            },
        );
        if !config.left_out.is_empty() {
            say("not computed", config.left_out.join(", "));
        }
        match config.output {
            OutputType::MultipleChoice => {
                say("ties", "the first of those that tie is taken".into());
            }
            OutputType::GenerateUntil => {
                let generation = &config.generation;
                say(
                    "answer",
                    format!(
                        "generated, temperature {}, at most {} tokens",
                        generation.temperature, generation.max_tokens
                    ),
                );
                let each = config.filters.iter();
                let each: Vec<String> = each
                    .map(|f| format!("{} ({})", f.name, f.words()))
                    .collect();
                say("filters", each.join("; "));
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
            say(
                "shots",
                format!("{shots}, as the harness draws them with seed {seed}"),
            );
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python: `len(re.split(r"\s+", text))`.
    #[test]
    fn words_are_counted_as_the_harness_counts_them() {
        for (text, n) in [
            ("a b", 2),
            (" a", 2),
            ("a ", 2),
            ("", 1),
            (" ", 2),
            ("a \n\t b c", 3),
        ] {
            assert_eq!(words(text), n, "{text:?}");
        }
    }
}

//! Tuning by a service: what is learned from is uploaded, a job is created once, waited for, and come back to.
//!
//! As with batches ([`crate::batch`]) the state file is written *before* the job is created. It holds no key and
//! nothing of what is learned from. Uploading costs nothing and is repeated until it works; the name that the service
//! gives the file tells our job from all others, so that one whose creation was answered with silence is found again.

use std::path::Path;
use std::time::{Duration, Instant};

use mary_contract::{ErrorKind, ModelError, ModelRef, ModelSettings, text_tokens};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::batch_api::{self, Creation, Listed, checked, read_id};
use crate::batch_state::{self, file_error};
use crate::catalogue::services;
use crate::connection::{Body, Connection, Question};
use crate::money::Ledger;
use crate::options::{Options, bad};
use crate::prices::Prices;
use crate::provider::RemoteProvider;
use crate::queue::wait;
use crate::wire::{ReadError, list_at, text};

const JOBS: &str = "fine_tuning/jobs";
const FILES: &str = "files";
/// The service takes no fewer examples.
const FEWEST: usize = 10;
const LARGEST_STATE: u64 = 1 << 20;

/// How a service is to tune.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceTuning {
    /// How often every example is learned from.
    pub epochs: u32,
    /// Examples in one step; the service's choice where there is none.
    pub batch: Option<u32>,
    /// Times the service's usual learning rate.
    pub rate_multiplier: Option<f64>,
    pub seed: Option<u64>,
    /// Create the job again though an earlier creation was answered with silence.
    #[serde(skip)]
    pub again: bool,
}

/// A model that a service tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceTuned {
    pub model: ModelRef,
    /// Tokens that the service counted, where it tells.
    pub tokens: Option<u64>,
    /// Dollars: what the service counted at our price, or else the estimate.
    pub cost: f64,
}

/// What is known of a job between two visits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningState {
    pub schema: u32,
    /// Of the model, the settings and what is learned from.
    pub fingerprint: String,
    /// The service's name for what was uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A job was about to be created.
    #[serde(default)]
    pub creating: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Dollars it may cost.
    pub estimate: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl TuningState {
    fn load(path: &Path, fingerprint: &str) -> Result<Self, ModelError> {
        let state = batch_state::load(path, LARGEST_STATE)?.unwrap_or_else(|| Self {
            schema: 1,
            fingerprint: fingerprint.to_owned(),
            ..Self::default()
        });
        if state.fingerprint != fingerprint {
            let what = "it belongs to another model, other settings or other examples";
            return Err(file_error(path, what));
        }
        Ok(state)
    }

    fn save(&self, path: &Path) -> Result<(), ModelError> {
        batch_state::save(self, path)
    }
}

/// Whether its service tunes this model, as far as the catalogue knows.
pub fn tunes(model: &ModelRef) -> bool {
    let entry = services().iter().find(|e| e.name == model.provider);
    entry.is_some_and(|entry| entry.tuned.iter().any(|name| model.name.starts_with(name)))
}

/// What is learned from, checked before anything is sent: the number of examples and about how many tokens one
/// pass over them has.
fn examples(data: &[u8]) -> Result<(usize, f64), ModelError> {
    let lines = data.split(|b| *b == b'\n').enumerate();
    let (mut count, mut tokens) = (0, 0.0);
    for (index, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let wrong = |what: &str| {
            bad(format!("line {} of what is learned from {what}", index + 1))
                .hint("`mary data tuning SET --form chat` writes the form that services take")
        };
        let value: Value = serde_json::from_slice(line).map_err(|_| wrong("is not JSON"))?;
        let turns = list_at(&value, "/messages").ok_or_else(|| wrong("has no `messages`"))?;
        let role = |turn: &Value| text(turn, "/role");
        if turns.last().and_then(role).as_deref() != Some("assistant") {
            return Err(wrong("does not end in an answer of the assistant"));
        }
        let words = turns.iter().filter_map(|turn| text(turn, "/content"));
        tokens += words.map(|words| text_tokens(&words)).sum::<f64>();
        count += 1;
    }
    match count < FEWEST {
        true => Err(bad(format!(
            "there are {count} examples; a service takes {FEWEST} or more"
        ))),
        false => Ok((count, tokens)),
    }
}

struct Tuner<'a> {
    connection: Connection,
    model: &'a ModelRef,
    wanted: &'a ServiceTuning,
    path: &'a Path,
}

/// Where a job stands.
enum Standing {
    UnderWay(String),
    Done(String, Option<u64>),
    Failed(String),
}

/// Tunes a model by its service, or comes back to a job that was left. Waits for as long as told; a job that is
/// not finished then is an error of the kind [`ErrorKind::Interrupted`], and the same call goes on with it.
pub fn tune(
    model: &ModelRef,
    settings: &ModelSettings,
    wanted: &ServiceTuning,
    (data, state): (&Path, &Path),
    patience: (Duration, Duration),
    told: &mut dyn FnMut(&str) -> bool,
) -> Result<ServiceTuned, ModelError> {
    let entry = services().iter().find(|e| e.name == model.provider);
    let entry = entry.filter(|_| tunes(model)).ok_or_else(|| {
        bad(format!("no service is known to tune {model}"))
            .hint("`mary models papers` says of the papers' models which are; models with open weights are tuned here")
    })?;
    let read = mary_platform::read_plain(data, mary_platform::LARGEST_DATA);
    let read = read.map_err(|e| bad(format!("{}: {e}", data.display())))?;
    let (count, tokens) = examples(&read)?;
    let options = Options::read(settings)?;
    let prices = Prices::load(&options)?;
    let price = prices.for_model(model).and_then(|price| price.training);
    let price = price.ok_or_else(|| {
        over_budget(format!("no price is known for tuning {model}"))
            .hint("add `training` to its price in a file and name it with MARY_PRICES (docs/remote.md shows the form)")
    })?;
    let dollars = |tokens: f64| price * tokens / 1e6;
    let estimate = dollars(tokens * f64::from(wanted.epochs));
    match settings.budget {
        Some(budget) if estimate <= budget => {}
        Some(budget) => {
            return Err(over_budget(format!(
                "tuning would cost about ${estimate:.2}, the budget is ${budget:.2}; nothing was sent"
            )));
        }
        None => {
            return Err(over_budget(format!(
                "tuning {model} costs money, about ${estimate:.2}; nothing was sent"
            ))
            .hint("say how much it may cost: --budget DOLLARS"));
        }
    }
    let described = json!([model.to_string(), settings.base_url, wanted]).to_string();
    let mut hasher = blake3::Hasher::new();
    hasher.update(described.as_bytes()).update(&read);
    let fingerprint = hasher.finalize().to_hex().to_string();
    let provider = RemoteProvider::new(entry, &Ledger::new());
    let tuner = Tuner {
        connection: provider.tuning_connection(model, settings)?,
        model,
        wanted,
        path: state,
    };
    let mut known = TuningState::load(state, &fingerprint)?;
    known.estimate = estimate;
    if known.tuned.is_none() {
        tuner.begin(&mut known, &read, count, told)?;
        tuner.wait_for(&mut known, patience, told)?;
    }
    let tuned = known.tuned.clone().unwrap_or_default();
    Ok(ServiceTuned {
        model: format!("{}/{tuned}", model.provider)
            .parse()
            .map_err(|_| bad("the service's name for the tuned model cannot be read"))?,
        tokens: known.tokens,
        cost: known
            .tokens
            .map_or(estimate, |tokens| dollars(tokens as f64)),
    })
}

fn over_budget(message: String) -> ModelError {
    ModelError::new(ErrorKind::Budget, message)
}

impl Tuner<'_> {
    fn ask<T: Send>(&self, question: Question<'_, T>) -> Result<T, ModelError> {
        wait(self.connection.ask(question)).map(|received| received.answer)
    }

    /// Up to a job that surely exists.
    fn begin(
        &self,
        known: &mut TuningState,
        data: &[u8],
        count: usize,
        told: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ModelError> {
        if known.job.is_some() {
            return Ok(());
        }
        if known.creating && !self.wanted.again {
            return self.find_again(known);
        }
        if known.creating {
            // Under a name of its own, the new job cannot be taken for the one that was lost.
            known.file = None;
        }
        let file = match &known.file {
            Some(file) => file.clone(),
            None => {
                told(&format!("{count} examples are uploaded"));
                self.upload(data)?
            }
        };
        known.file = Some(file.clone());
        // From here on a process that dies leaves a job that it is unsure of.
        known.creating = true;
        known.save(self.path)?;
        match self.create(&file) {
            Creation::Done(job) => {
                told(&format!("the job {job} was created"));
                known.job = Some(job);
                known.save(self.path)
            }
            Creation::Failed(error) => {
                known.creating = false;
                known.save(self.path)?;
                Err(error)
            }
            Creation::Unsure(_) => self.find_again(known),
        }
    }

    fn find_again(&self, known: &mut TuningState) -> Result<(), ModelError> {
        let file = known.file.clone().unwrap_or_default();
        match self.find(&file)? {
            Listed::Once(job) => {
                known.job = Some(job);
                known.save(self.path)
            }
            found => {
                let listed = match found {
                    Listed::Often(n) => format!("{n} jobs in its list learn from it"),
                    _ => "its list does not show it".to_owned(),
                };
                Err(ModelError::new(
                    ErrorKind::Interrupted,
                    format!("the service's answer to the creation of a job on {file} was lost, and {listed}"),
                )
                .hint("look at its console, and give the same command again: the job is found when it appears. If it is surely not there, create it again with --again"))
            }
        }
    }

    fn upload(&self, data: &[u8]) -> Result<String, ModelError> {
        // Of what is sent, so that it cannot stand in it.
        let boundary = format!("mary-tuning-{}", blake3::hash(data).to_hex());
        let mut form = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nfine-tune\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"examples.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
        )
        .into_bytes();
        form.extend_from_slice(data);
        form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.ask(Question::new(FILES, Body::Raw(&kind, &form), &read_id))
    }

    /// Creates a job; this is sent once.
    fn create(&self, file: &str) -> Creation {
        let mut parameters = json!({ "n_epochs": self.wanted.epochs });
        if let Some(batch) = self.wanted.batch {
            parameters["batch_size"] = json!(batch);
        }
        if let Some(rate) = self.wanted.rate_multiplier {
            parameters["learning_rate_multiplier"] = json!(rate);
        }
        let mut body = json!({
            "model": self.model.name,
            "training_file": file,
            "suffix": "mary",
            "method": {"type": "supervised", "supervised": {"hyperparameters": parameters}},
        });
        if let Some(seed) = self.wanted.seed {
            body["seed"] = json!(seed);
        }
        batch_api::create(&self.connection, JOBS, &body)
    }

    /// The job that learns from this file.
    fn find(&self, file: &str) -> Result<Listed, ModelError> {
        let listed = batch_api::list(&self.connection, JOBS, "after", "list of jobs")?;
        let ours = |job: &&Value| text(job, "/training_file").as_deref() == Some(file);
        Ok(Listed::of(listed.iter().filter(ours)))
    }

    fn look(&self, job: &str) -> Result<Standing, ModelError> {
        let path = format!("{JOBS}/{}", checked(job)?);
        self.ask(Question::get(&path, &|raw| {
            let status = text(raw, "/status").ok_or_else(|| ReadError::missing("status"))?;
            let tokens = raw.get("trained_tokens").and_then(Value::as_u64);
            Ok(match (status.as_str(), text(raw, "/fine_tuned_model")) {
                ("succeeded", Some(model)) => Standing::Done(model, tokens),
                ("failed" | "cancelled", _) => {
                    let why = text(raw, "/error/message").unwrap_or_default();
                    Standing::Failed(format!("{status}: {why}"))
                }
                _ => Standing::UnderWay(status),
            })
        }))
    }

    fn wait_for(
        &self,
        known: &mut TuningState,
        (patience, poll): (Duration, Duration),
        told: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ModelError> {
        let job = known.job.clone().unwrap_or_default();
        let until = Instant::now() + patience;
        let mut last = String::new();
        loop {
            let status = match self.look(&job)? {
                Standing::Done(model, tokens) => {
                    known.tuned = Some(model);
                    known.tokens = tokens;
                    return known.save(self.path);
                }
                Standing::Failed(why) => {
                    // The same command then begins anew, with the file that is there.
                    known.job = None;
                    known.creating = false;
                    known.save(self.path)?;
                    let message = format!("the job {job} {why}");
                    return Err(ModelError::new(ErrorKind::BadRequest, message));
                }
                Standing::UnderWay(status) => status,
            };
            if status != last {
                told(&format!("the job {job}: {status}"));
            }
            last = status;
            let next = Instant::now() + poll;
            // In small steps, so that a stop is heard.
            while Instant::now() < next && told("") && Instant::now() < until {
                let left = next.saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(Duration::from_millis(200)));
            }
            if Instant::now() >= until || !told("") {
                let message = format!("the job {job} is not finished yet ({last})");
                let error = ModelError::new(ErrorKind::Interrupted, message);
                return Err(error.hint(
                    "give the same command again: it is come back to, and nothing is paid twice",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_learned_from_is_refused_with_its_line() {
        let good =
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
        let many = [good; FEWEST].join("\n");
        assert_eq!(examples(many.as_bytes()).unwrap(), (FEWEST, 20.0));
        let few = examples(good.as_bytes()).unwrap_err().message;
        assert!(few.contains("there are 1 examples"), "{few}");
        for bad in [
            r#"{"instruction":"x"}"#,
            "no",
            r#"{"messages":[{"role":"user","content":"a"}]}"#,
        ] {
            let text = format!("{good}\n{bad}\n");
            let error = examples(text.as_bytes()).unwrap_err().message;
            assert!(error.starts_with("line 2"), "{error}");
        }
    }
}

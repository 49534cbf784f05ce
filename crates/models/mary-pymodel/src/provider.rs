//! The provider of `python/./model.py:name`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mary_contract::{
    Capabilities, ErrorKind, Model, ModelCard, ModelError, ModelRef, ModelSettings, OpenedModel,
    Provider, Reply, Request, RequestKind,
};
use mary_platform::notice;
use serde_json::Value;

use crate::model::{Answering, Answers, Together};
use crate::process::{NoAnswer, Process, Served};
use crate::reading::{read_answer, read_answers};

/// Seconds an answer may take, where the user does not say.
const TIMEOUT: u64 = 600;
/// Seconds the object may take to be made.
const LOADING: u64 = 3600;
/// Deaths in a row, without an answer between them, after which the run is stopped.
const PATIENCE: u32 = 3;
/// Settings that are ours and not the object's.
const OURS: [&str; 3] = ["python", "timeout", "loading"];

/// Opens Python objects in files, each in a child process. A process that was started to ask what its
/// object can do is kept for the run.
#[derive(Default)]
pub struct PythonFiles {
    started: Mutex<Vec<(String, Answering<ChildObject>)>>,
}

impl PythonFiles {
    pub fn new() -> Self {
        Self::default()
    }
}

fn start(model: &ModelRef, settings: &ModelSettings) -> Result<Answering<ChildObject>, ModelError> {
    let served = served(model, settings)?;
    let (process, said) = Process::start(&served)?;
    let mut card = card_of(model, &said);
    card.fingerprint = fingerprint(&served, &card.fingerprint)?;
    let how = "answered by a Python object in a child process";
    card.conventions.insert("python".into(), how.into());
    let object = ChildObject {
        served,
        together: most_together(&said),
        state: Mutex::new(State {
            process: Some(process),
            deaths: 0,
        }),
    };
    Ok(Answering::new(card, object))
}

impl Provider for PythonFiles {
    fn name(&self) -> &'static str {
        "python"
    }

    fn about(&self) -> &'static str {
        "an object in a Python file, in a process of its own: python/./model.py:name"
    }

    fn starts_programs(&self) -> bool {
        true
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard, ModelError> {
        let object = start(model, settings)?;
        let card = object.card().clone();
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.push((key(model, settings), object));
        Ok(card)
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        let wanted = key(model, settings);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = started.iter().position(|(key, _)| *key == wanted) {
            return Ok(Box::new(started.swap_remove(at).1));
        }
        drop(started);
        Ok(Box::new(start(model, settings)?))
    }
}

fn key(model: &ModelRef, settings: &ModelSettings) -> String {
    format!(
        "{model} {:?} {:?} {:?}",
        settings.args, settings.device, settings.dtype
    )
}

pub fn card_of(model: &ModelRef, said: &Value) -> ModelCard {
    let able = |name: &str| said["capabilities"][name].as_bool().unwrap_or(false);
    let capabilities = Capabilities {
        generate: able("generate"),
        score: able("score"),
        score_single_token_only: false,
        observe: able("observe"),
        intervene: false,
        images: able("images"),
        chat: able("chat"),
        plain: able("plain"),
    };
    let mut card = ModelCard::new(model.clone(), capabilities);
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let size = |name: &str| said[name].as_u64();
    card.architecture = text("architecture");
    card.parameters = size("parameters");
    card.layers = size("layers").and_then(|n| usize::try_from(n).ok());
    card.context_length = size("context_length").and_then(|n| usize::try_from(n).ok());
    card.fingerprint = text("fingerprint").unwrap_or_default();
    let conventions = said["conventions"].as_object().into_iter().flatten();
    card.conventions = conventions
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    card
}

/// How many requests of each kind an object takes in one call, from what it says about itself.
pub fn most_together(said: &Value) -> BTreeMap<RequestKind, usize> {
    let told = said["together"].as_object().into_iter().flatten();
    told.filter_map(|(kind, most)| {
        let kind = serde_json::from_value(kind.as_str().into()).ok()?;
        Some((kind, usize::try_from(most.as_u64()?).ok()?))
    })
    .collect()
}

fn served(model: &ModelRef, settings: &ModelSettings) -> Result<Served, ModelError> {
    // A file's name may hold the sign behind which other models have their revision.
    let whole = match &model.revision {
        Some(revision) => format!("{}@{revision}", model.name),
        None => model.name.clone(),
    };
    let Some((file, name)) = whole
        .rsplit_once(':')
        .filter(|(f, n)| !f.is_empty() && !n.is_empty())
    else {
        let message = format!("`{model}` names no object: expected python/FILE:NAME");
        return Err(ModelError::new(ErrorKind::BadRequest, message)
            .hint("for example python/./model.py:answer"));
    };
    if !Path::new(file).is_file() {
        let message = format!("{file}: there is no such file");
        return Err(ModelError::new(ErrorKind::NotFound, message));
    }
    let seconds = |name: &str, usual: u64| match settings.args.get(name) {
        None => Ok(Duration::from_secs(usual)),
        Some(text) => match text.parse::<f64>() {
            Ok(s) if s > 0.0 && s < 1e9 => Ok(Duration::from_secs_f64(s)),
            _ => Err(ModelError::new(
                ErrorKind::BadRequest,
                format!("{name}={text} is not a number of seconds"),
            )),
        },
    };
    let mut own: BTreeMap<&str, &str> = settings
        .args
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !OURS.contains(name))
        .collect();
    own.extend(settings.device.as_deref().map(|d| ("device", d)));
    own.extend(settings.dtype.as_deref().map(|d| ("dtype", d)));
    Ok(Served {
        python: interpreter(settings),
        file: file.to_owned(),
        name: name.to_owned(),
        settings: serde_json::json!(own).to_string(),
        timeout: seconds("timeout", TIMEOUT)?,
        loading: seconds("loading", LOADING)?,
    })
}

fn interpreter(settings: &ModelSettings) -> String {
    let named = settings.args.get("python").cloned();
    named.unwrap_or_else(default_interpreter)
}

/// The interpreter where the user names none: the environment's, that of an active virtual environment, or the usual.
pub fn default_interpreter() -> String {
    let named = std::env::var("MARY_PYTHON").ok().filter(|p| !p.is_empty());
    named.unwrap_or_else(|| {
        let active = std::env::var_os("VIRTUAL_ENV").map(|folder| {
            let bin = if cfg!(windows) {
                "Scripts/python.exe"
            } else {
                "bin/python"
            };
            Path::new(&folder).join(bin)
        });
        match active.filter(|path| path.exists()) {
            Some(path) => path.display().to_string(),
            None if cfg!(windows) => "python".into(),
            None => "python3".into(),
        }
    })
}

/// Of the file, the name in it, the settings, and what the object says of itself.
fn fingerprint(served: &Served, own: &str) -> Result<String, ModelError> {
    let bytes = mary_platform::read_plain(Path::new(&served.file), mary_platform::LARGEST_SETTINGS)
        .map_err(|error| {
            ModelError::new(ErrorKind::NotFound, format!("{}: {error}", served.file))
        })?;
    let mut hasher = blake3::Hasher::new();
    // Where it is computed changes no answer of its own.
    let mut settings: Value = serde_json::from_str(&served.settings).unwrap_or_default();
    if let Some(settings) = settings.as_object_mut() {
        settings.remove("device");
    }
    for part in [
        &bytes[..],
        served.name.as_bytes(),
        settings.to_string().as_bytes(),
        own.as_bytes(),
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Ok(format!("python:{}", hasher.finalize().to_hex()))
}

struct ChildObject {
    served: Served,
    together: BTreeMap<RequestKind, usize>,
    state: Mutex<State>,
}

struct State {
    process: Option<Process>,
    /// Deaths and time-outs since the last answer.
    deaths: u32,
}

impl ChildObject {
    /// Asks the process, which is started again where it is gone.
    fn exchange(
        &self,
        asked: serde_json::Result<String>,
        stopping: &mut dyn FnMut() -> bool,
    ) -> (MutexGuard<'_, State>, Result<String, NoAnswer>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = state.exchange(&self.served, asked, stopping);
        match answer {
            Ok(_) => state.deaths = 0,
            Err(_) => state.process = None,
        }
        (state, answer)
    }
}

impl State {
    fn exchange(
        &mut self,
        served: &Served,
        asked: serde_json::Result<String>,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Result<String, NoAnswer> {
        let line = asked.map_err(|error| {
            NoAnswer::Refused(ModelError::new(ErrorKind::Internal, error.to_string()))
        })?;
        let process = match &mut self.process {
            Some(process) => process,
            gone => {
                // It was there once: the same command goes on when it can be had again.
                let started = Process::start(served).map_err(|error| {
                    let message = format!("it could not be started again: {}", error.message);
                    NoAnswer::Refused(overloaded(message, error.hint))
                });
                gone.insert(started?.0)
            }
        };
        process.ask(&line, served.timeout, stopping)
    }
}

fn overloaded(message: String, hint: Option<String>) -> ModelError {
    let kind = ErrorKind::Overloaded;
    ModelError {
        kind,
        message,
        hint,
    }
}

impl Answers for ChildObject {
    fn ask(
        &self,
        request: &Request,
        stopping: &mut dyn FnMut() -> bool,
    ) -> Option<Result<Reply, ModelError>> {
        let (mut state, answer) = self.exchange(serde_json::to_string(request), stopping);
        let error = match answer {
            Ok(text) => return Some(read_answer(request, &text)),
            Err(NoAnswer::Stopping) => return None,
            Err(NoAnswer::Refused(error)) => return Some(Err(error)),
            Err(NoAnswer::Died(how)) => ModelError::new(
                ErrorKind::Transport,
                format!("the Python process died while it answered: {how}"),
            ),
            Err(NoAnswer::Late(limit)) => ModelError::new(
                ErrorKind::Timeout,
                format!(
                    "no answer within {} s; the Python process was ended",
                    limit.as_secs_f64()
                ),
            )
            .hint("give it longer: --model-arg timeout=SECONDS"),
        };
        state.deaths += 1;
        if state.deaths < PATIENCE {
            return Some(Err(error));
        }
        state.deaths = 0;
        let message = format!("{PATIENCE} times in a row: {}", error.message);
        Some(Err(overloaded(message, error.hint)))
    }

    fn most_together(&self, kind: RequestKind) -> usize {
        self.together.get(&kind).copied().unwrap_or(1)
    }

    fn ask_together(&self, requests: &[Request], stopping: &mut dyn FnMut() -> bool) -> Together {
        let (_state, answer) = self.exchange(serde_json::to_string(requests), stopping);
        let how = match answer {
            Ok(text) => {
                return read_answers(requests, &text).map_or(Together::Apart, Together::Answers);
            }
            Err(NoAnswer::Stopping) => return Together::Stopping,
            // Asked alone, each says what is wrong.
            Err(NoAnswer::Refused(_)) => return Together::Apart,
            Err(NoAnswer::Died(how)) => format!("died ({how})"),
            Err(NoAnswer::Late(limit)) => {
                format!("gave no answer within {} s", limit.as_secs_f64())
            }
        };
        notice(&format!(
            "{}: the Python process {how} when asked {} things at once; they are asked one by one",
            self.served.file,
            requests.len()
        ));
        Together::Apart
    }
}

//! Models opened from Python: what they are, what they think while they read, and what they answer.

use std::ffi::CStr;
use std::sync::Arc;

use mary::library::open as open_as_named;
use mary_contract::{
    Details, ErrorKind, Finish, Generate, Intervene, Layers, Model, ModelError, ModelSettings,
    Observe, Pool, Prompt, PromptForm, Sampling, Score,
};
use pyo3::prelude::*;

use crate::objects::{self, Object};

use crate::watch::{ListQueue, watched};
use crate::{Args, Given, Handle, came, give, told};

const NAME: &CStr = c"mary.model";
const VECTORS: &CStr = c"mary.vectors";

#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) settings: ModelSettings,
}

pub(crate) fn opened<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Opened> {
    Handle::get(object, NAME)
}

/// Opens a model: places, options, and Python objects that may be meant.
pub(crate) fn open(args: Args<'_, '_>) -> Given {
    type Objects = Vec<(String, Py<PyAny>, String)>;
    let (places, options, objects): (String, String, Objects) = args.extract()?;
    let py = args.py();
    let given: Vec<Object> = objects::read(py, objects)?;
    let opened = watched(py, move |_| {
        let arrange = objects::arrange(given, Vec::new());
        let (model, settings) = open_as_named(&told(&places)?, told(&options)?, arrange)?;
        Ok(Opened {
            model: Arc::from(model),
            settings,
        })
    })?;
    Handle::put(py, opened, NAME)
}

pub(crate) fn card(args: Args<'_, '_>) -> Given {
    let first = args.get_item(0)?;
    let card = serde_json::to_string(opened(&first)?.model.card());
    give(args.py(), came(args.py(), card.map_err(Into::into))?)
}

pub(crate) fn cannot(model: &dyn Model, what: &str) -> anyhow::Error {
    let message = format!("{} {what}", model.card().model);
    ModelError::new(ErrorKind::BadRequest, message)
        .hint("Model.card says what a model can do")
        .into()
}

/// Pooled vectors of texts: address, shape, layers, and what keeps the memory.
pub(crate) fn observe(args: Args<'_, '_>) -> Given {
    let (handle, texts, pools, layers): (Bound<'_, PyAny>, Vec<String>, Vec<String>, String) =
        args.extract()?;
    let py = args.py();
    let model = Arc::clone(&opened(&handle)?.model);
    let seen = watched(py, move |stop| {
        let layers: Layers = serde_json::from_str(&layers)?;
        let mut requests = Vec::new();
        for (text, pool) in texts.into_iter().zip(&pools) {
            let pool: Pool = serde_json::from_str(pool)?;
            requests.push(Observe {
                picture: None,
                text,
                pools: vec![pool],
                layers: layers.clone(),
                with_scores: false,
            });
        }
        let observer = model
            .observer()
            .ok_or_else(|| cannot(model.as_ref(), "shows no hidden states"))?;
        let mut queue = ListQueue::new(requests, stop);
        observer.observe(&mut queue);
        let observed = queue.finish()?;
        let pooled = || observed.iter().flat_map(|o| &o.pools);
        let full = pooled().find(|p| !p.layers.is_empty());
        let numbers: Vec<usize> =
            full.map_or_else(Vec::new, |p| p.layers.iter().map(|l| l.layer).collect());
        let width = full
            .and_then(|p| p.layers.first())
            .map_or(0, |l| l.vector.0.len());
        let mut all: Vec<f32> = Vec::with_capacity(observed.len() * numbers.len() * width);
        for pool in pooled() {
            // A word that has no vector at all: not a number, and not zero.
            if pool.layers.is_empty() {
                all.extend(std::iter::repeat_n(f32::NAN, numbers.len() * width));
            }
            for layer in &pool.layers {
                all.extend(&layer.vector.0);
            }
        }
        Ok((all, (observed.len(), numbers.len(), width), numbers))
    })?;
    let (all, shape, layers) = seen;
    // The numbers stay where they are when the vector moves into the capsule.
    let address = all.as_ptr() as usize;
    let keeper = Handle::put(py, all, VECTORS)?;
    give(py, (address, shape, layers, keeper))
}

/// What a model predicts with values changed inside it: lists of changes and answers as the contract writes them.
pub(crate) fn intervene(args: Args<'_, '_>) -> Given {
    type Asked<'py> = (
        Bound<'py, PyAny>,
        (String, Vec<String>, String),
        Vec<String>,
        String,
    );
    let (handle, (text, continuations, start), changes, states): Asked<'_> = args.extract()?;
    let py = args.py();
    let model = Arc::clone(&opened(&handle)?.model);
    let answers = watched(py, move |stop| {
        let score = Score {
            prefix: Prompt::plain(text),
            continuations,
            start: start.parse().map_err(|e| anyhow::anyhow!("{e}"))?,
            details: Details::default(),
        };
        let request = |changes: &String| -> anyhow::Result<Intervene> {
            Ok(Intervene {
                score: score.clone(),
                changes: serde_json::from_str(changes)?,
                states: serde_json::from_str(&states)?,
            })
        };
        let requests = changes.iter().map(request).collect::<Result<_, _>>()?;
        let intervener = model
            .intervener()
            .ok_or_else(|| cannot(model.as_ref(), "lets nothing be changed inside"))?;
        let mut queue = ListQueue::new(requests, stop);
        intervener.intervene(&mut queue);
        let answers = queue.finish()?;
        let told = answers.iter().map(serde_json::to_string);
        Ok(told.collect::<Result<Vec<String>, _>>()?)
    })?;
    give(py, answers)
}

/// Answers to prompts: text and why it ended.
pub(crate) fn generate(args: Args<'_, '_>) -> Given {
    let (handle, prompts, samplings, chat): (Bound<'_, PyAny>, Vec<String>, Vec<String>, bool) =
        args.extract()?;
    let py = args.py();
    let model = Arc::clone(&opened(&handle)?.model);
    let said = watched(py, move |stop| {
        let form = if chat {
            PromptForm::Chat
        } else {
            PromptForm::Plain
        };
        let mut requests = Vec::new();
        for (prompt, sampling) in prompts.into_iter().zip(&samplings) {
            let sampling: Sampling = serde_json::from_str(sampling)?;
            requests.push(Generate {
                prompt: Prompt::single(form, prompt),
                sampling,
            });
        }
        let generator = model
            .generator()
            .ok_or_else(|| cannot(model.as_ref(), "does not answer in words"))?;
        let mut queue = ListQueue::new(requests, stop);
        generator.generate(&mut queue);
        let answers = queue.finish()?.into_iter();
        let told = answers.map(|a| {
            let why = match a.finish {
                Finish::Stop => "stop".to_owned(),
                Finish::Length => "length".to_owned(),
                Finish::Refusal => "refusal".to_owned(),
                Finish::ContentFilter => "content_filter".to_owned(),
                Finish::Other(word) => word,
            };
            (a.text, why)
        });
        Ok(told.collect::<Vec<_>>())
    })?;
    give(py, said)
}

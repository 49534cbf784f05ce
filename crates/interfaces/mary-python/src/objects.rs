//! Python objects of this process as models, and models that are open already.

use std::collections::BTreeMap;
use std::sync::Arc;

use mary::library::Arrange;
use mary_contract::{
    ErrorKind, Model, ModelCard, ModelError, ModelRef, ModelSettings, OpenedModel, Provider, Reply,
    Request, RequestKind, Service, Start,
};
use mary_pymodel::{
    Answering, Answers, Together, card_of, most_together, read_answer, read_answers,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::models::Opened;

const PYTHON: &str = "python";

/// What a provider or a model gives, or why not.
type Result<T, E = ModelError> = std::result::Result<T, E>;

/// A Python object under a name of its own.
pub(crate) struct Object {
    card: ModelCard,
    together: BTreeMap<RequestKind, usize>,
    adapter: Py<PyAny>,
}

/// Reads objects as Python hands them over: a name, the adapter around the object, its card as JSON.
pub(crate) fn read(
    py: Python<'_>,
    given: Vec<(String, Py<PyAny>, String)>,
) -> PyResult<Vec<Object>> {
    let wrong = |error: String| PyValueError::new_err(error);
    let mut objects = Vec::new();
    for (name, adapter, said) in given {
        let model: ModelRef = name
            .parse()
            .map_err(|e: mary_contract::ModelRefError| wrong(e.to_string()))?;
        let said = serde_json::from_str(&said).map_err(|e| wrong(e.to_string()))?;
        let mut card = card_of(&model, &said);
        card.fingerprint = format!("python-object:{}", card.fingerprint);
        let note = "answered by a Python object in this process";
        card.conventions.insert("python".into(), note.into());
        objects.push(Object {
            card,
            together: most_together(&said),
            adapter: adapter.clone_ref(py),
        });
    }
    Ok(objects)
}

/// Puts objects and open models before the usual providers.
pub(crate) fn arrange(objects: Vec<Object>, open: Vec<Opened>) -> Arrange {
    Box::new(move |usual| {
        let of = |name: &str| -> Vec<Opened> {
            let own = |o: &&Opened| o.model.card().model.provider == name;
            open.iter().filter(own).cloned().collect()
        };
        let mut files = None;
        let mut providers: Vec<Box<dyn Provider>> = Vec::new();
        for provider in usual {
            if provider.name() == PYTHON {
                files = Some(provider);
                continue;
            }
            let (own, usual) = (of(provider.name()), provider);
            providers.push(match own.is_empty() {
                true => usual,
                false => Box::new(AlreadyOpen { usual, own }),
            });
        }
        let open = of(PYTHON);
        providers.push(Box::new(Objects {
            objects,
            open,
            files,
        }));
        providers
    })
}

/// Objects of this process; what is not one of them is a file.
struct Objects {
    objects: Vec<Object>,
    open: Vec<Opened>,
    files: Option<Box<dyn Provider>>,
}

impl Objects {
    fn find(&self, model: &ModelRef) -> Option<&Object> {
        self.objects.iter().find(|o| o.card.model == *model)
    }

    fn files(&self, model: &ModelRef) -> Result<&dyn Provider> {
        self.files.as_deref().ok_or_else(|| {
            ModelError::new(ErrorKind::NotFound, format!("no object is called {model}"))
        })
    }
}

impl Provider for Objects {
    fn name(&self) -> &'static str {
        PYTHON
    }

    fn about(&self) -> &'static str {
        "an object of this process, or one in a file: python/./model.py:name"
    }

    fn starts_programs(&self) -> bool {
        true
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard> {
        if let Some(object) = self.find(model) {
            return Ok(object.card.clone());
        }
        match self.open.iter().find(|o| o.model.card().model == *model) {
            Some(open) => Ok(open.model.card().clone()),
            None => self.files(model)?.card(model, settings),
        }
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        if let Some(object) = self.find(model) {
            let adapter = Python::attach(|py| object.adapter.clone_ref(py));
            let together = object.together.clone();
            let own = InProcess { adapter, together };
            return Ok(Box::new(Answering::new(object.card.clone(), own)));
        }
        match self.open.iter().find(|o| o.model.card().model == *model) {
            Some(open) => Ok(Box::new(Shared(Arc::clone(&open.model)))),
            None => self.files(model)?.open(model, settings),
        }
    }
}

/// An adapter (`mary._serve.Adapted`) in this process.
struct InProcess {
    adapter: Py<PyAny>,
    together: BTreeMap<RequestKind, usize>,
}

impl InProcess {
    fn said(&self, asked: serde_json::Result<String>) -> Result<String> {
        let broken = |message: String| ModelError::new(ErrorKind::Internal, message);
        let line = asked.map_err(|error| broken(error.to_string()))?;
        let said = Python::attach(|py| -> PyResult<String> {
            let adapter = self.adapter.bind(py);
            adapter.call_method1("ask_text", (line,))?.extract()
        });
        said.map_err(|error| broken(error.to_string()))
    }
}

impl Answers for InProcess {
    fn ask(&self, request: &Request, _stopping: &mut dyn FnMut() -> bool) -> Option<Result<Reply>> {
        let said = self.said(serde_json::to_string(request));
        Some(said.and_then(|text| read_answer(request, &text)))
    }

    fn most_together(&self, kind: RequestKind) -> usize {
        self.together.get(&kind).copied().unwrap_or(1)
    }

    fn ask_together(&self, requests: &[Request], stopping: &mut dyn FnMut() -> bool) -> Together {
        if stopping() {
            return Together::Stopping;
        }
        let said = self.said(serde_json::to_string(requests)).ok();
        let answers = said.and_then(|text| read_answers(requests, &text));
        answers.map_or(Together::Apart, Together::Answers)
    }
}

/// A provider some of whose models are open already.
struct AlreadyOpen {
    usual: Box<dyn Provider>,
    own: Vec<Opened>,
}

impl AlreadyOpen {
    fn find(&self, model: &ModelRef, settings: &ModelSettings) -> Option<&Opened> {
        let same = |o: &&Opened| {
            o.model.card().model == *model
                && o.settings.device == settings.device
                && o.settings.dtype == settings.dtype
                && o.settings.base_url == settings.base_url
                && o.settings.args == settings.args
                && settings.batches.is_none()
        };
        self.own.iter().find(same)
    }
}

impl Provider for AlreadyOpen {
    fn name(&self) -> &'static str {
        self.usual.name()
    }

    fn about(&self) -> &'static str {
        self.usual.about()
    }

    fn known(&self) -> Vec<String> {
        self.usual.known()
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard> {
        self.usual.card(model, settings)
    }

    fn fingerprint(&self, model: &ModelRef, settings: &ModelSettings) -> Result<String> {
        match self.find(model, settings) {
            Some(open) => Ok(open.model.card().fingerprint.clone()),
            None => self.usual.fingerprint(model, settings),
        }
    }

    fn check_start(&self, model: &ModelRef, settings: &ModelSettings, start: &Start) -> Result<()> {
        self.usual.check_start(model, settings, start)
    }

    fn fits_beside(&self, model: &ModelRef, settings: &ModelSettings) -> bool {
        self.usual.fits_beside(model, settings)
    }

    fn outlook(&self, model: &ModelRef, settings: &ModelSettings) -> Option<String> {
        self.usual.outlook(model, settings)
    }

    fn starts_programs(&self) -> bool {
        self.usual.starts_programs()
    }

    fn service(&self) -> Option<&dyn Service> {
        self.usual.service()
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        match self.find(model, settings) {
            Some(open) => Ok(Box::new(Shared(Arc::clone(&open.model)))),
            None => self.usual.open(model, settings),
        }
    }
}

/// A model that others hold too.
struct Shared(Arc<dyn Model>);

impl Model for Shared {
    fn card(&self) -> &ModelCard {
        self.0.card()
    }

    fn inner(&self) -> Option<&dyn Model> {
        Some(self.0.as_ref())
    }
}

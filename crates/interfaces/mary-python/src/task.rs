//! A task whose judge is a Python function. Its items were made before the run and are part of what it is.

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, ErrorKind, InForce, Item, Items, Judgement, Metric, Needs, Reply, RequestKind,
    Scoring, Task, TaskCard, TaskError, TaskSettings, Ties,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

/// What Python says about a task.
#[derive(Deserialize)]
struct Said {
    id: String,
    title: String,
    about: String,
    content: String,
    #[serde(default)]
    chance: Option<f64>,
    #[serde(default)]
    number: bool,
    #[serde(default)]
    conventions: BTreeMap<String, String>,
    items: Vec<Item>,
}

pub(crate) struct PythonTask {
    card: TaskCard,
    needs: Needs,
    items: Vec<Item>,
    number: bool,
    conventions: BTreeMap<String, String>,
    judge: Py<PyAny>,
}

impl PythonTask {
    /// From what Python says about it, and a function from item and answers to a judgement, all as JSON.
    pub(crate) fn read(said: &str, judge: Py<PyAny>) -> PyResult<Self> {
        let said: Said =
            serde_json::from_str(said).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let mut card = TaskCard::new(said.id, said.title, said.about);
        card.chance = said.chance;
        card.content = Some(said.content.into());
        let asked = |kind: RequestKind| {
            let mut asks = said.items.iter().flat_map(|i| &i.asks);
            asks.any(|a| a.request.kind() == kind)
        };
        let needs = Needs {
            generate: asked(RequestKind::Generate),
            score: asked(RequestKind::Score),
            observe: asked(RequestKind::Observe),
            ..Needs::default()
        };
        Ok(Self {
            card,
            needs,
            items: said.items,
            number: said.number,
            conventions: said.conventions,
            judge,
        })
    }
}

impl Task for PythonTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        self.needs
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        Ok(Box::new(self.items.clone().into_iter().map(Ok)))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let answers: Vec<_> = answers.iter().map(|r| &r.answer).collect();
        let told = match (serde_json::to_string(item), serde_json::to_string(&answers)) {
            (Ok(item), Ok(answers)) => (item, answers),
            _ => return Judgement::failed(ErrorKind::Internal, "the item cannot be written"),
        };
        let said =
            Python::attach(|py| -> PyResult<String> { self.judge.bind(py).call1(told)?.extract() });
        // What the judge itself raises comes back as a failed judgement, in words.
        let judged = said
            .map_err(|e| e.to_string())
            .and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()));
        judged.unwrap_or_else(|message| Judgement::failed(ErrorKind::Internal, message))
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&self.card);
        // Nothing here is drawn.
        asked.remove("seed");
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        if self.number {
            Scoring::number(Metric::Number)
        } else {
            Scoring::share(Ties::Half)
        }
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        self.conventions.clone()
    }
}

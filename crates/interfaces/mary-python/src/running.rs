//! Runs and sweeps from Python: what they are given, and what is shown while they go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mary::library::{self, Brought, Places, Progress};
use mary_contract::{Event, EventObserver, Outcome, StoreError, Task};
use mary_lab::RunOptions;
use mary_lab::checkpoints::SweepOptions;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::columns::Cells::{Count, Text};
use crate::columns::Table;
use crate::models::opened;
use crate::objects;
use crate::task::PythonTask;
use crate::watch::watched;
use crate::{Args, Given, came, give, told};

/// How often Python is told how far a run is.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// What Python hands over: places, options and their command, objects, open models, tasks, progress.
type Handed<'py> = (
    (String, String, Vec<String>),
    Vec<(String, Py<PyAny>, String)>,
    Vec<Bound<'py, PyAny>>,
    Vec<(String, Py<PyAny>)>,
    Py<PyAny>,
);

/// What a run or a sweep is made of, ready for another thread.
type Made<O> = (Places, O, Brought, Shown);

fn made<O: DeserializeOwned>(args: Args<'_, '_>) -> PyResult<Made<O>> {
    let ((places, options, command), objects, open, tasks, progress): Handed<'_> =
        args.extract()?;
    let py = args.py();
    let objects = objects::read(py, objects)?;
    let open = open.iter().map(|o| Ok(opened(o)?.clone()));
    let open = open.collect::<PyResult<Vec<_>>>()?;
    let tasks = tasks
        .into_iter()
        .map(|(said, judge)| Ok(Arc::new(PythonTask::read(&said, judge)?) as Arc<dyn Task>))
        .collect::<PyResult<Vec<_>>>()?;
    let shown = match progress.bind(py).is_callable() {
        true => Shown::Called(Called::new(progress)),
        false => Shown::Terminal(Box::new(Progress::new(progress.is_none(py)))),
    };
    let (places, options) = (came(py, told(&places))?, came(py, told(&options))?);
    let brought = Brought {
        tasks,
        arrange: objects::arrange(objects, open),
        command,
    };
    Ok((places, options, brought, shown))
}

pub(crate) fn run(args: Args<'_, '_>) -> Given {
    let (places, options, brought, mut shown) = made::<RunOptions>(args)?;
    library::listen();
    let folder = watched(args.py(), move |stop| {
        library::run(&places, options, brought, &mut shown, stop)
    })?;
    give(args.py(), folder)
}

/// Sweeps, and returns the folder, a row for each checkpoint, and the folders of their runs.
pub(crate) fn sweep(args: Args<'_, '_>) -> Given {
    let (places, options, brought, mut shown) = made::<SweepOptions>(args)?;
    library::listen();
    let (folder, swept) = watched(args.py(), move |stop| {
        library::sweep(&places, options, brought, &mut shown, stop)
    })?;
    let runs = swept.iter().filter_map(|(_, run)| run.clone());
    let runs: Vec<String> = runs.map(|run| run.display().to_string()).collect();
    let table = Table::of(
        swept,
        &[
            ("model", Text(|(record, _)| Some((&*record.model).into()))),
            ("size", Text(|(record, _)| Some((&*record.size).into()))),
            (
                "revision",
                Text(|(record, _)| Some((&*record.revision).into())),
            ),
            (
                "tokens",
                Count(|(record, _)| record.tokens?.try_into().ok()),
            ),
            (
                "run",
                Text(|(_, run)| Some(run.as_ref()?.display().to_string().into())),
            ),
        ],
    );
    give(args.py(), (folder, table.given(args.py())?, runs))
}

/// Who shows how far it is.
enum Shown {
    Terminal(Box<Progress>),
    Called(Called),
}

impl EventObserver for Shown {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        match self {
            Self::Terminal(progress) => progress.observe(event),
            Self::Called(called) => {
                called.observe(event);
                Ok(())
            }
        }
    }
}

/// A Python function that is told how far it is, a few times a second.
struct Called {
    function: Py<PyAny>,
    title: String,
    planned: usize,
    done: usize,
    failed: usize,
    told: Instant,
}

impl Called {
    fn new(function: Py<PyAny>) -> Self {
        Self {
            function,
            title: String::new(),
            planned: 0,
            done: 0,
            failed: 0,
            told: Instant::now(),
        }
    }

    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted {
                model,
                task,
                planned,
                already,
            } => {
                self.title = format!("{model}  {task}");
                (self.planned, self.done, self.failed) = (*planned, *already, 0);
                self.tell("started", "");
            }
            Event::SampleFinished(sample) => {
                self.done += 1;
                let failed = matches!(sample.judgement.outcome, Outcome::Failed(_));
                self.failed += usize::from(failed);
                if self.told.elapsed() >= TELL_EVERY {
                    self.tell("going", "");
                }
            }
            Event::TaskFinished { .. } => self.tell("finished", ""),
            Event::Note(text) => self.tell("note", text),
            Event::Warning(text) => self.tell("warning", text),
            Event::Answered { .. } | Event::Writing(_) => {}
        }
    }

    fn tell(&mut self, what: &str, text: &str) {
        self.told = Instant::now();
        let (title, done, planned) = (&self.title, self.done, self.planned);
        // A display that fails must not cost the run.
        let _ = Python::attach(|py| {
            let told = (what, title, done, planned, self.failed, text);
            self.function.call1(py, told)
        });
    }
}

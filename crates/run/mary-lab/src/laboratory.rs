//! What runs need, as values: no globals stand behind a laboratory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::{Account, DataSource, ModelRef, NoData, Provider, Registry, Service, Task};

use crate::RunError;

/// Tasks, providers, data, cache and places. Built by a binary, a notebook or a test.
pub struct Laboratory {
    tasks: Registry,
    providers: Vec<Box<dyn Provider>>,
    data: Box<dyn DataSource + Send>,
    runs: PathBuf,
    pub(crate) answers: Option<PathBuf>,
    pub(crate) surveys: Option<PathBuf>,
    pub(crate) command: Vec<String>,
}

impl Laboratory {
    /// A laboratory whose run folders lie below `runs`; it has no tasks, models, datasets or cache yet.
    pub fn new(runs: impl Into<PathBuf>) -> Self {
        Self {
            tasks: Registry::new(),
            providers: Vec::new(),
            data: Box::new(NoData),
            runs: runs.into(),
            answers: None,
            surveys: None,
            command: Vec::new(),
        }
    }

    /// With these tasks, in place of those it had.
    #[must_use]
    pub fn tasks(mut self, tasks: Registry) -> Self {
        self.tasks = tasks;
        self
    }

    /// With these providers of models, beside those it has.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Box<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// With datasets from here.
    #[must_use]
    pub fn data(mut self, data: impl DataSource + Send + 'static) -> Self {
        self.data = Box::new(data);
        self
    }

    /// With a cache of answers in this file.
    #[must_use]
    pub fn answers(mut self, path: impl Into<PathBuf>) -> Self {
        self.answers = Some(path.into());
        self
    }

    /// With a folder that keeps how many items tasks have. It knows a change of the program by its file, so that it is
    /// for programs, not for libraries that one of them loads.
    #[must_use]
    pub fn surveys(mut self, folder: impl Into<PathBuf>) -> Self {
        self.surveys = Some(folder.into());
        self
    }

    /// What manifests say about how the run was started, for people.
    #[must_use]
    pub fn command(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.command = words.into_iter().collect();
        self
    }

    /// Where run folders lie.
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// The datasets.
    pub fn source(&self) -> &dyn DataSource {
        self.data.as_ref()
    }

    /// A task by id.
    pub fn task(&self, id: &str) -> Option<&Arc<dyn Task>> {
        self.tasks.task(id)
    }

    /// The tasks and families.
    pub fn registry(&self) -> &Registry {
        &self.tasks
    }

    /// Every provider.
    pub fn all_providers(&self) -> impl Iterator<Item = &dyn Provider> {
        self.providers.iter().map(AsRef::as_ref)
    }

    /// The provider of a model.
    pub fn provider(&self, model: &ModelRef) -> Result<&dyn Provider, RunError> {
        let found = self.all_providers().find(|p| p.name() == model.provider);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.all_providers().map(|p| p.name()).collect();
            RunError::Specification(format!(
                "{model}: no provider is called `{}`\nhint: there are {}",
                model.provider,
                names.join(", ")
            ))
        })
    }

    /// The service that a model is asked through, where it is asked over a network.
    pub(crate) fn service(&self, model: &ModelRef) -> Option<&dyn Service> {
        self.provider(model).ok()?.service()
    }

    /// The account of money that all services share, where there are any.
    pub(crate) fn account(&self) -> Option<&dyn Account> {
        let mut services = self.all_providers().filter_map(Provider::service);
        services.next().map(Service::account)
    }
}

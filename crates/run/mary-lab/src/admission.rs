//! From a specification to an admitted run; nothing is loaded, asked or written.

use std::path::Path;
use std::sync::Arc;

use crate::engine::admit::{self, Judge};
use crate::engine::select::Survey;
use mary_contract::{
    JudgeChoice, Limit, ModelCard, ModelRef, RegistryError, RunManifest, Start, Task, TaskSettings,
    moment,
};
use mary_store::RunFolder;

use crate::foreign::{self, UsersWord};
use crate::part::Part;
use crate::scale::{self, Bank};
use crate::{Laboratory, Run, RunError, RunSpec, batch, manifest};

/// A task that was found and whose items were read once.
#[derive(Clone)]
pub(crate) struct Assignment<'lab> {
    pub(crate) task: &'lab dyn Task,
    pub(crate) settings: TaskSettings,
    pub(crate) limit: Option<Limit>,
    pub(crate) survey: Arc<Survey>,
}

impl Assignment<'_> {
    pub(crate) fn id(&self) -> &str {
        &self.task.card().id
    }
}

/// A run that was admitted. Pure: no folder is made until [`PreparedRun::open`].
#[derive(Clone)]
pub struct PreparedRun<'lab> {
    pub(crate) lab: &'lab Laboratory,
    pub(crate) spec: RunSpec,
    pub(crate) assignments: Vec<Assignment<'lab>>,
    pub(crate) cards: Vec<ModelCard>,
    /// The judge's card, where another model judges.
    pub(crate) judge: Option<ModelCard>,
    /// The part that this process does, where several share the run.
    pub(crate) part: Option<Arc<Part>>,
    /// The items to choose from, where the answers decide which are asked.
    pub(crate) adaptive: Option<Arc<Bank>>,
}

impl Laboratory {
    /// Compares models with tasks, reads every item once, and computes fingerprints.
    pub fn prepare(&self, spec: &RunSpec) -> Result<PreparedRun<'_>, RunError> {
        self.prepare_as_stored(&self.started(spec))
    }

    /// The specification with its start token; without one it is an earlier program's and goes on as begun.
    fn started(&self, spec: &RunSpec) -> RunSpec {
        let mut spec = spec.clone();
        for choice in &mut spec.tasks {
            let task = self.task(&choice.id);
            if let Some(("start", value)) =
                task.and_then(|t| t.default_for(&choice.settings, false))
            {
                let params = &mut choice.settings.params;
                params.insert("start".to_owned(), value.to_owned());
            }
        }
        spec
    }

    fn prepare_as_stored(&self, spec: &RunSpec) -> Result<PreparedRun<'_>, RunError> {
        let mut prepared = self.described(spec)?;
        prepared.fingerprint()?;
        moment("models fingerprinted");
        Ok(prepared)
    }

    /// As [`Laboratory::prepare`], without fingerprints: an estimate needs neither a key nor a server.
    pub fn prepare_estimate(&self, spec: &RunSpec) -> Result<PreparedRun<'_>, RunError> {
        self.described(&self.started(spec))
    }

    fn described(&self, spec: &RunSpec) -> Result<PreparedRun<'_>, RunError> {
        let settings = spec.model_settings();
        let cards = spec
            .subjects
            .iter()
            .map(|model| Ok(self.provider(model)?.card(model, &settings)?))
            .collect::<Result<Vec<_>, RunError>>()?;
        moment("models described");
        self.admitted(spec, cards)
    }

    /// As [`Laboratory::prepare`], for subjects whose cards are known already.
    pub fn prepare_known(
        &self,
        spec: &RunSpec,
        cards: Vec<ModelCard>,
    ) -> Result<PreparedRun<'_>, RunError> {
        let mut prepared = self.admitted(&self.started(spec), cards)?;
        prepared.fingerprint()?;
        Ok(prepared)
    }

    fn admitted(
        &self,
        spec: &RunSpec,
        mut cards: Vec<ModelCard>,
    ) -> Result<PreparedRun<'_>, RunError> {
        for card in &mut cards {
            spec.execution.label(card);
        }
        if cards.is_empty() || spec.tasks.is_empty() {
            return Err(RunError::Specification(
                "a run needs at least one model and one task".into(),
            ));
        }
        let mut found = Vec::new();
        for choice in &spec.tasks {
            let task = self.task(&choice.id).ok_or_else(|| {
                RunError::Specification(format!("no task is called `{}`", choice.id))
            })?;
            found.push((task.as_ref(), choice.settings.clone()));
        }
        batch::check(self, spec, &found)?;
        let judge = match &spec.judge {
            JudgeChoice::Model(model) => {
                Some(self.provider(model)?.card(model, &spec.model_settings())?)
            }
            JudgeChoice::None | JudgeChoice::Subject => None,
        };
        self.admit(spec, &cards, judge.as_ref(), &found)?;
        self.check_starts(spec, &cards, &found)?;
        let mut assignments = Vec::new();
        for (choice, (task, settings)) in spec.tasks.iter().zip(found) {
            let survey = self.survey(task, &settings, choice.limit)?;
            let short = |card| admit::too_short_a_context(card, survey.shortest_prompt);
            if let Some((why, _)) = cards.iter().filter_map(short).find(|(_, sure)| *sure) {
                return Err(RunError::Specification(format!(
                    "{}: {why}, so nothing was loaded or asked\nhint: take a model with a longer context, or leave \
                     this task out",
                    choice.id
                )));
            }
            assignments.push(Assignment {
                task,
                settings,
                limit: choice.limit,
                survey: Arc::new(survey),
            });
        }
        let adaptive = match &spec.execution.adaptive {
            Some(choice) => Some(Arc::new(Bank::open(self, choice, &assignments)?)),
            None => None,
        };
        moment("items read");
        Ok(PreparedRun {
            lab: self,
            adaptive,
            spec: spec.clone(),
            assignments,
            cards,
            judge,
            part: None,
        })
    }

    /// Refuses start tokens by name that a model does not have: every text would fail.
    fn check_starts(
        &self,
        spec: &RunSpec,
        cards: &[ModelCard],
        tasks: &[(&dyn Task, TaskSettings)],
    ) -> Result<(), RunError> {
        let settings = spec.model_settings();
        let asked = tasks.iter().filter_map(|(task, settings)| {
            let start = task.asked(settings).get("start")?.parse().ok()?;
            matches!(start, Start::Token(_)).then_some(start)
        });
        for start in asked {
            for card in cards {
                let provider = self.provider(&card.model)?;
                provider
                    .check_start(&card.model, &settings, &start)
                    .map_err(|mut error| {
                        error.message = format!("{}: {}", card.model, error.message);
                        error
                    })?;
            }
        }
        Ok(())
    }

    fn admit(
        &self,
        spec: &RunSpec,
        cards: &[ModelCard],
        judge: Option<&ModelCard>,
        tasks: &[(&dyn Task, TaskSettings)],
    ) -> Result<(), RunError> {
        let judge = match (&spec.judge, judge) {
            (JudgeChoice::Subject, _) => Judge::Subject,
            (JudgeChoice::Model(_), Some(card)) => Judge::Model(card),
            _ => Judge::Nobody,
        };
        admit::admit(cards, judge, tasks)?;
        Ok(())
    }
}

impl<'lab> PreparedRun<'lab> {
    fn fingerprint(&mut self) -> Result<(), RunError> {
        let settings = self.spec.model_settings();
        for card in self.cards.iter_mut().chain(self.judge.as_mut()) {
            if card.fingerprint.is_empty() {
                let provider = self.lab.provider(&card.model)?;
                card.fingerprint = provider.fingerprint(&card.model, &settings)?;
            }
        }
        Ok(())
    }

    /// What is said before anything is asked: tasks whose prompts will hardly fit into a model's context.
    pub(crate) fn short_contexts(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for assignment in &self.assignments {
            for card in &self.cards {
                let size = assignment.survey.shortest_prompt;
                if let Some((why, _)) = admit::too_short_a_context(card, size) {
                    notes.push(format!(
                        "{}: {why}; what does not fit fails",
                        assignment.id()
                    ));
                }
            }
        }
        notes
    }

    /// The same questions to another model whose card is known, without reading the items again (for sweeps).
    pub fn of_subject(&self, card: ModelCard) -> Result<Self, RunError> {
        let tasks: Vec<(&dyn Task, TaskSettings)> = self
            .assignments
            .iter()
            .map(|a| (a.task, a.settings.clone()))
            .collect();
        let cards = vec![card];
        self.lab
            .admit(&self.spec, &cards, self.judge.as_ref(), &tasks)?;
        let mut other = self.clone();
        other.spec.subjects = cards.iter().map(|c| c.model.clone()).collect();
        other.cards = cards;
        other.fingerprint()?;
        Ok(other)
    }

    /// What is run, as it was specified.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Cards of the models under study, fingerprints included.
    pub fn cards(&self) -> &[ModelCard] {
        &self.cards
    }

    /// The items asked of a model in a task, by their places in the specification.
    pub(crate) fn survey(&self, model: usize, task: usize) -> &Survey {
        match &self.part {
            Some(part) => part.survey(model, task),
            None => &self.assignments[task].survey,
        }
    }

    /// Samples of the whole run, or of the part that is done here.
    pub fn planned(&self) -> usize {
        if let Some(part) = &self.part {
            return part.planned;
        }
        let items: usize = match &self.adaptive {
            Some(bank) => bank.most(),
            None => self.assignments.iter().map(|a| a.survey.count).sum(),
        };
        items * self.spec.trials as usize * self.spec.subjects.len()
    }

    /// Whether some task asks a judge.
    pub fn asks_a_judge(&self) -> bool {
        !self.spec.judge.is_none()
            && self
                .assignments
                .iter()
                .any(|a| a.task.needs(&a.settings).judge)
    }

    /// The manifest its folder has or will have.
    pub fn manifest(&self) -> Result<RunManifest, RunError> {
        manifest::of(self)
    }

    /// Makes or finds the run's folder in the laboratory's place.
    pub fn open(self) -> Result<Run<'lab>, RunError> {
        let runs = self.lab.runs().to_owned();
        self.open_below(&runs)
    }

    /// Makes or finds the run's folder below another folder.
    pub fn open_below(self, runs: &Path) -> Result<Run<'lab>, RunError> {
        let manifest = self.manifest()?;
        let new = !runs.join(&manifest.id).join("manifest.json").exists();
        let folder = RunFolder::create_or_open(runs, &manifest)?;
        if let Some(bank) = &self.adaptive {
            bank.keep(folder.path())?;
        }
        let mut run = Run::new(self, folder);
        run.new = new;
        Ok(run)
    }
}

impl Laboratory {
    /// Continues the run in this folder. A budget replaces that of the manifest; `word` is where the user
    /// allows questions and keys to go, since a folder alone must not send a key anywhere.
    pub fn continue_run(
        &self,
        folder: &Path,
        budget: Option<f64>,
        word: UsersWord,
    ) -> Result<Run<'_>, RunError> {
        let stored = RunFolder::open(folder)?;
        foreign::belongs_together(&stored)?;
        self.check_versions(stored.manifest())?;
        let mut spec = RunSpec::of(stored.manifest());
        foreign::disarm(self, &mut spec, word)?;
        foreign::starts_nothing(self, &spec)?;
        spec.execution.budget = budget.or(spec.execution.budget);
        if let Some(choice) = &mut spec.execution.adaptive {
            choice.scale = folder.join(scale::FILE);
        }
        // Batches that were submitted are paid for: they are fetched, whatever the manifest says.
        spec.execution.batch |= batch::folder(folder, false).is_some();
        let prepared = self.prepare_as_stored(&spec)?;
        let made = prepared.manifest()?;
        let folder = RunFolder::continue_at(folder, &made)?;
        foreign::names_itself(folder.manifest(), &made)?;
        Ok(Run::new(prepared, folder))
    }

    /// Refuses a stored run whose tasks are not here, or not as they were.
    fn check_versions(&self, manifest: &RunManifest) -> Result<(), RunError> {
        for run in &manifest.tasks {
            self.registry().recall(run).map_err(|error| {
                let mut text = error.to_string();
                if let RegistryError::Version { .. } = error {
                    text.push_str("\nhint: start a new run, or use Mary ");
                    text.push_str(&manifest.version);
                }
                RunError::Specification(text)
            })?;
        }
        Ok(())
    }
}

pub(crate) fn open_model(
    lab: &Laboratory,
    model: &ModelRef,
    settings: &mary_contract::ModelSettings,
) -> Result<Box<dyn mary_contract::Model>, RunError> {
    Ok(lab.provider(model)?.open(model, settings)?)
}

//! The family: its tasks, its exhibits, few shots in the starter selection, fine-tuning sets, which baselines of
//! an audit are the rule of a task, and forms on which people mark rules, letters and chains of thought.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use mary_contract::{
    Arguments, AuditExpectations, DataSource, Exhibits, Family, FamilyCommand, FamilyError, Made,
    RunSummary, Sample, Table, Task, TaskCard, TaskSettings, Text, TuningForm, TuningRequest,
    TuningSet, built_in, source_word, text,
};

use super::direct::letters_form;
use super::reasoning::reasoning_form;
use super::rule_naming::rules_form;
use super::tasks::{self, AB_TASKS, ab_task, rule_baselines};
use super::tuning::{self, released_tuning_set, tuning_matrix, tuning_set};
use super::{HTest, exhibits};

/// Shots in the starter selection: few, because the built-in model reads short texts only.
const STARTER_SHOTS: usize = 4;

impl Family for HTest {
    fn id(&self) -> &str {
        "htest"
    }

    fn title(&self) -> &str {
        "H-TEST: how language looks and sounds"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(tasks::TASKS)
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits::exhibits(runs)
    }

    fn starter_settings(&self, _task: &TaskCard, settings: &mut TaskSettings) {
        settings.shots.get_or_insert(STARTER_SHOTS);
    }

    /// Whoever learned from items what A stands for is asked with A standing for that.
    fn learned_settings(&self, task: &TaskCard, settings: &mut TaskSettings) {
        if task.param("labels").is_some() {
            let labels = settings.params.entry("labels".to_owned());
            labels.or_insert_with(|| "fixed".to_owned());
        }
    }

    fn tuning_sets(&self) -> Vec<Text> {
        AB_TASKS.iter().map(|t| t.card.id.clone()).collect()
    }

    fn tuning_set(
        &self,
        name: &str,
        wanted: &TuningRequest,
        data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        let task = ab_task(name)
            .ok_or_else(|| FamilyError::Usage(format!("{name} has no fine-tuning set")))?;
        if wanted.form != TuningForm::Chat {
            let why = "H-TEST's fine-tuning sets are chat JSON lines";
            return Err(FamilyError::Usage(why.into()));
        }
        if wanted.n.is_some() {
            let message = "H-TEST's fine-tuning sets have 1,000 items, the released ones as many as they have; -n cannot change \
                 that\nhint: leave -n out; `mary tune --examples N` learns from a part";
            return Err(FamilyError::Usage(message.into()));
        }
        let other = wanted.params.iter().find(|(name, _)| *name != "source");
        if let Some((setting, value)) = other {
            return Err(FamilyError::Usage(format!(
                "H-TEST's fine-tuning sets take the setting source alone; found {setting}={value}\nhint: leave it out"
            )));
        }
        let (lines, hint) = match wanted.params.get("source").map(|word| source_word(word)) {
            None | Some("fresh") => (tuning_set(task, wanted.seed)?, None),
            Some("published") => (
                released_tuning_set(task, data)?,
                Some(format!(
                    "`--test {} --set source=published` asks the released test items, which these leave out",
                    task.card.id
                )),
            ),
            Some(other) => {
                return Err(FamilyError::Usage(format!(
                    "expected source=fresh or source=published, found source={other}"
                )));
            }
        };
        Ok(TuningSet {
            items: lines.lines().count(),
            text: lines,
            hint,
        })
    }

    fn tuning_tasks(&self) -> Vec<Text> {
        self.tuning_sets()
    }

    fn tuning_tables(
        &self,
        runs: &[RunSummary],
        untuned: &str,
        tuned: &BTreeMap<String, String>,
    ) -> Vec<Table> {
        let mut tables = tuning_matrix(runs, untuned, tuned);
        tables.extend(tuning::published_beside(&tables));
        tables
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        exhibits::pair_tables(runs, pairs)
    }

    fn command(&self) -> Option<FamilyCommand> {
        FamilyCommand::read(include_str!("command.json"))
    }

    fn act(
        &self,
        action: &str,
        arguments: &Arguments,
        samples: Vec<Sample>,
    ) -> Result<Made, FamilyError> {
        let form = match action {
            "rules" => rules_form(&samples),
            "letters" => letters_form(&samples),
            "reasoning" => {
                let wanted = arguments.one("task");
                let mut form = reasoning_form(&samples);
                form.lines
                    .retain(|l| wanted.is_empty() || l.of.task == wanted);
                let tasks: BTreeSet<&str> = form.lines.iter().map(|l| l.of.task.as_str()).collect();
                if tasks.len() != 1 {
                    return Err(FamilyError::Usage(format!(
                        "expected chains of thought of one task, found {}\nhint: --task names it; a run has some with \
                         `--set mode=cot`",
                        match tasks.len() {
                            0 => "none".to_owned(),
                            _ => tasks.into_iter().collect::<Vec<_>>().join(", "),
                        }
                    )));
                }
                form
            }
            other => return Err(FamilyError::Usage(format!("there is no action `{other}`"))),
        };
        Ok(Made {
            form: Some((PathBuf::from(arguments.one("out")), form)),
            ..Made::default()
        })
    }

    fn audit_expectations(&self, task: &TaskCard) -> AuditExpectations {
        AuditExpectations {
            rule_baselines: rule_baselines(&task.id).iter().map(|b| text(b)).collect(),
            ungrouped: false,
        }
    }
}

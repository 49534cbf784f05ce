//! What H-TEST offers beyond its tasks: few shots in the starter selection, fine-tuning sets, which baselines of
//! an audit are the rule of a task, and forms on which people mark rules, letters and chains of thought.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mary_contract::{
    Action, Argument, ArgumentKind, Arguments, AuditExpectations, DataSource, FamilyCommand,
    FamilyError, Made, Sample, TaskCard, TaskSettings, Text, TuningForm, TuningRequest, TuningSet,
    source_word, text,
};

use super::direct::letters_form;
use super::reasoning::reasoning_form;
use super::rule_naming::{RULES, rules_form};
use super::tasks::{AB_TASKS, ab_task, rule_baselines};
use super::tuning::{released_tuning_set, tuning_set};

/// Shots in the starter selection: few, because the built-in model reads short texts only.
const STARTER_SHOTS: usize = 4;

pub(super) fn starter_settings(settings: &mut TaskSettings) {
    settings.shots.get_or_insert(STARTER_SHOTS);
}

/// Whoever learned from items what A stands for is asked with A standing for that.
pub(super) fn learned_settings(task: &TaskCard, settings: &mut TaskSettings) {
    if task.param("labels").is_some() {
        let labels = settings.params.entry("labels".to_owned());
        labels.or_insert_with(|| "fixed".to_owned());
    }
}

pub(super) fn tuning_sets() -> Vec<Text> {
    AB_TASKS.iter().map(|t| t.card.id.clone()).collect()
}

pub(super) fn write_tuning_set(
    name: &str,
    wanted: &TuningRequest,
    data: &dyn DataSource,
) -> Result<TuningSet, FamilyError> {
    let task = ab_task(name)
        .ok_or_else(|| FamilyError::Usage(format!("{name} has no fine-tuning set")))?;
    if wanted.form != TuningForm::Chat {
        return Err(FamilyError::Usage(
            "H-TEST's fine-tuning sets are chat JSON lines".into(),
        ));
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

pub(super) fn audit_expectations(task: &TaskCard) -> AuditExpectations {
    AuditExpectations {
        rule_baselines: rule_baselines(&task.id).iter().map(|b| text(b)).collect(),
        ungrouped: false,
    }
}

pub(super) fn command() -> FamilyCommand {
    let action = |name: &'static str, of: &'static str, about: &'static str| Action {
        name: text(name),
        about: text(about),
        arguments: vec![Argument::out(
            format!("htest-{name}.csv"),
            "File to write; no line names a model or a person",
        )],
        samples_of: Some(text(of)),
    };
    let mut reasoning = action(
        "reasoning",
        "htest/*",
        "Write the chains of thought of a run as a form for human judgement (CSV): what do they go by?",
    );
    reasoning.arguments.push(Argument::new(
        "task",
        ArgumentKind::Value,
        "Whose, where the run has several tasks",
    ));
    FamilyCommand {
        about: text("H-TEST's forms in which people mark written answers"),
        actions: vec![
            action(
                "rules",
                RULES,
                "Write the rules that people or models named as a form for human judgement (CSV)",
            ),
            action(
                "letters",
                "htest/describe-letter",
                "Write the letters that models described as a form for human judgement (CSV)",
            ),
            reasoning,
        ],
    }
}

pub(super) fn act(
    action: &str,
    arguments: &Arguments,
    samples: &[Sample],
) -> Result<Made, FamilyError> {
    let form = match action {
        "rules" => rules_form(samples),
        "letters" => letters_form(samples),
        "reasoning" => {
            let wanted = arguments.one("task");
            let mut form = reasoning_form(samples);
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

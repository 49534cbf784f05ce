//! What H-TEST offers beyond its tasks: few shots in the starter selection, fine-tuning sets, and which
//! baselines of an audit are the rule of a task.

use mary_contract::{
    AuditExpectations, FamilyError, TaskCard, TaskSettings, Text, TuningForm, TuningRequest,
    TuningSet, text,
};

use super::{AB_TASKS, ab_task, rule_baselines, tuning_set};

/// Shots in the starter selection: few, because the built-in model reads short texts only.
const STARTER_SHOTS: usize = 4;

pub(super) fn starter_settings(settings: &mut TaskSettings) {
    settings.shots.get_or_insert(STARTER_SHOTS);
}

pub(super) fn tuning_sets() -> Vec<Text> {
    AB_TASKS.iter().map(|t| t.card.id.clone()).collect()
}

pub(super) fn write_tuning_set(
    name: &str,
    wanted: &TuningRequest,
) -> Result<TuningSet, FamilyError> {
    let task = ab_task(name)
        .ok_or_else(|| FamilyError::Usage(format!("{name} has no fine-tuning set")))?;
    if wanted.form != TuningForm::Chat {
        return Err(FamilyError::Usage(
            "H-TEST's fine-tuning sets are chat JSON lines".into(),
        ));
    }
    if wanted.n.is_some() {
        return Err(FamilyError::Usage(
            "H-TEST's fine-tuning sets have 1,000 items; -n cannot change that\nhint: leave -n out"
                .into(),
        ));
    }
    if let Some((setting, value)) = wanted.params.iter().next() {
        return Err(FamilyError::Usage(format!(
            "H-TEST's fine-tuning sets are made from the seed and take no settings; found {setting}={value}\nhint: leave --set out"
        )));
    }
    let lines = tuning_set(task, wanted.seed)?;
    Ok(TuningSet {
        items: lines.lines().count(),
        text: lines,
        hint: None,
    })
}

pub(super) fn audit_expectations(task: &TaskCard) -> AuditExpectations {
    AuditExpectations {
        rule_baselines: rule_baselines(&task.id).iter().map(|b| text(b)).collect(),
        ungrouped: false,
    }
}

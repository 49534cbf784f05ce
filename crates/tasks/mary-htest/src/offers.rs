//! What H-TEST offers beyond its tasks: few shots in the starter selection, fine-tuning sets, and which
//! baselines of an audit are the rule of a task.

use mary_contract::{
    AuditExpectations, DataSource, FamilyError, TaskCard, TaskSettings, Text, TuningForm,
    TuningRequest, TuningSet, source_word, text,
};

use super::tasks::{AB_TASKS, ab_task, rule_baselines};
use super::tuning::{released_tuning_set, tuning_set};

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
        return Err(FamilyError::Usage(
            "H-TEST's fine-tuning sets have 1,000 items, the released ones as many as they have; -n cannot change \
             that\nhint: leave -n out; `mary tune --examples N` learns from a part"
                .into(),
        ));
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

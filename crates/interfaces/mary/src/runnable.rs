//! Tasks that were named as a group (a family, a wildcard, `all`) and cannot run here: they are left out
//! and listed, so that `-t FAMILY` runs what it can. A task named by its own id is never left out, and
//! `--strict` leaves none out: then what does not fit is refused.

use mary_contract::{DataError, JudgeChoice, ModelCard, TaskError};
use mary_lab::{Laboratory, RunSpec};

/// A task that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub task: String,
    pub why: String,
    /// What would make it run.
    pub remedy: Option<String>,
}

/// Takes out of `spec` the tasks that came in through a group and cannot run. `named` are the ids that
/// the user wrote out.
pub fn leave_out(
    lab: &Laboratory,
    spec: &mut RunSpec,
    named: &[String],
) -> anyhow::Result<Vec<LeftOut>> {
    let settings = spec.model_settings();
    let mut cards = Vec::new();
    for model in &spec.subjects {
        let mut card = lab.provider(model)?.card(model, &settings)?;
        spec.execution.label(&mut card);
        cards.push(card);
    }
    let mut left = Vec::new();
    let judged = !matches!(spec.judge, JudgeChoice::None);
    let written_out = |id: &str| named.iter().any(|n| n.trim().replace('_', "-") == id);
    let mut kept = Vec::new();
    for choice in &spec.tasks {
        let why = match written_out(&choice.id) {
            true => None,
            false => obstacle(lab, choice, &cards, judged),
        };
        match why {
            Some(why) => left.push(why),
            None => kept.push(choice.clone()),
        }
    }
    if kept.is_empty() {
        // Then the run is refused with the reason and the exit code of what is missing.
        return Ok(Vec::new());
    }
    spec.tasks = kept;
    Ok(left)
}

/// Why a task cannot run, if so.
fn obstacle(
    lab: &Laboratory,
    choice: &mary_lab::TaskChoice,
    cards: &[ModelCard],
    judged: bool,
) -> Option<LeftOut> {
    let task = lab.task(&choice.id)?;
    let left = |why: String, remedy: Option<String>| {
        Some(LeftOut {
            task: choice.id.clone(),
            why,
            remedy,
        })
    };
    let needs = task.needs(&choice.settings);
    for card in cards {
        let missing = needs.missing(&card.capabilities, choice.settings.form);
        if !missing.is_empty() {
            return left(
                format!(
                    "{} lacks {}",
                    mary_contract::model_label(card),
                    missing.join(" and ")
                ),
                None,
            );
        }
    }
    if needs.judge && !judged {
        return left(
            "needs a judge".into(),
            Some("--judge MODEL or --judge self".into()),
        );
    }
    // A task that cannot find its data says so with its first item.
    let items = task.items(&choice.settings, lab.source());
    let first = items.and_then(|mut items| items.next().transpose());
    match first {
        Err(TaskError::Data(DataError::Missing { id, .. })) => left(
            format!("the dataset `{id}` is not on this machine"),
            Some(format!("mary data pull {id}")),
        ),
        _ => None,
    }
}

/// One line for people.
pub fn line(left: &LeftOut) -> String {
    match &left.remedy {
        Some(remedy) => format!("{}: {} ({remedy})", left.task, left.why),
        None => format!("{}: {}", left.task, left.why),
    }
}

//! Whether a model can do what a task needs, found out before weights are loaded or money is spent.

use std::sync::Arc;

use mary_contract::{ModelCard, Task, TaskSettings};

use crate::EngineError;

/// One model and one task that do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The model.
    pub model: String,
    /// The task.
    pub task: String,
    /// What is missing, in words.
    pub missing: Vec<&'static str>,
}

/// Every pair of model and task that cannot work.
pub fn misfits(
    models: &[ModelCard],
    judge: Option<&ModelCard>,
    tasks: &[(Arc<dyn Task>, TaskSettings)],
) -> Vec<Misfit> {
    let mut out = Vec::new();
    for (task, settings) in tasks {
        let needs = task.needs(settings);
        for card in models {
            let mut missing = needs.missing(&card.capabilities, settings.form);
            if needs.judge && judge.is_none() {
                missing.push("a judge model (--judge provider/name, or `--judge self`)");
            }
            if !missing.is_empty() {
                let model = card.model.to_string();
                out.push(Misfit {
                    model,
                    task: task.card().id.to_string(),
                    missing,
                });
            }
        }
    }
    out
}

/// Refuses if anything cannot work, saying what is missing and what would fit.
pub fn admit(
    models: &[ModelCard],
    judge: Option<&ModelCard>,
    tasks: &[(Arc<dyn Task>, TaskSettings)],
    fitting_models: impl Fn(&dyn Task, &TaskSettings) -> Vec<String>,
) -> Result<(), EngineError> {
    let misfits = misfits(models, judge, tasks);
    let Some(first) = misfits.first() else {
        return Ok(());
    };
    let mut text = String::from("these do not fit together, so nothing was loaded or asked:\n");
    for misfit in misfits.iter().take(12) {
        text.push_str(&format!(
            "  {} on {}: the model lacks {}\n",
            misfit.model,
            misfit.task,
            misfit.missing.join(" and ")
        ));
    }
    if misfits.len() > 12 {
        text.push_str(&format!("  … and {} more\n", misfits.len() - 12));
    }
    text.push_str(&hint(first, &misfits, tasks, fitting_models));
    Err(EngineError::Refused(text))
}

/// Tasks the first refused model could run, and models that could run the first refused task.
fn hint(
    first: &Misfit,
    misfits: &[Misfit],
    tasks: &[(Arc<dyn Task>, TaskSettings)],
    fitting_models: impl Fn(&dyn Task, &TaskSettings) -> Vec<String>,
) -> String {
    let fits: Vec<&str> = tasks
        .iter()
        .map(|(task, _)| &*task.card().id)
        .filter(|id| {
            !misfits
                .iter()
                .any(|m| m.model == first.model && m.task == *id)
        })
        .collect();
    let mut hints = Vec::new();
    if !fits.is_empty() {
        let more = if fits.len() > 4 { ", …" } else { "" };
        let shown = fits.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        hints.push(format!("{} can run {shown}{more}", first.model));
    }
    if let Some((task, settings)) = tasks.iter().find(|(t, _)| t.card().id == first.task) {
        let models = fitting_models(task.as_ref(), settings);
        if !models.is_empty() {
            hints.push(format!("{} works with {}", first.task, models.join(", ")));
        }
    }
    match hints.is_empty() {
        true => {
            String::from("hint: `mary models` and `mary tasks` list what each can do and needs")
        }
        false => format!("hint: {}", hints.join("; ")),
    }
}

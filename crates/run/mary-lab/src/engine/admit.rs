//! Whether a model can do what a task needs, found out before weights are loaded or money is spent.

use std::collections::BTreeMap;

use mary_contract::{ModelCard, Needs, NoData, Task, TaskError, TaskSettings, with_labels};

use crate::engine::EngineError;
use crate::engine::select::PromptSize;

/// Who reads answers, where a task wants a second model for that.
#[derive(Debug, Clone, Copy)]
pub enum Judge<'a> {
    /// There is no judge.
    Nobody,
    /// Every model under study reads its own answers.
    Subject,
    /// Another model reads the answers of all.
    Model(&'a ModelCard),
}

/// What a judge is asked for: answers in words.
const JUDGING: Needs = Needs {
    generate: true,
    score: false,
    score_single_token: false,
    observe: false,
    images: false,
    judge: false,
};

/// One model and one task that do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The full name of the model.
    pub model: String,
    /// The id of the task.
    pub task: String,
    /// What is missing, in words.
    pub missing: Vec<&'static str>,
    /// The model was to judge, not to answer.
    pub as_judge: bool,
}

/// Every pair of model and task that cannot work, the judge among the models.
pub fn misfits(
    models: &[ModelCard],
    judge: Judge<'_>,
    tasks: &[(&dyn Task, TaskSettings)],
) -> Vec<Misfit> {
    let mut out = Vec::new();
    for (task, settings) in tasks {
        let needs = task.needs(settings);
        let mut note = |card: &ModelCard, missing: Vec<&'static str>, as_judge: bool| {
            if !missing.is_empty() {
                out.push(Misfit {
                    model: card.model.to_string(),
                    task: task.card().id.to_string(),
                    missing,
                    as_judge,
                });
            }
        };
        for card in models {
            let mut missing = needs.missing(&card.capabilities, settings.form);
            if needs.judge && matches!(judge, Judge::Nobody) {
                missing.push("a judge model (--judge provider/name, or `--judge self`)");
            }
            let fits = missing.is_empty();
            note(card, missing, false);
            if fits && needs.judge && matches!(judge, Judge::Subject) {
                note(
                    card,
                    JUDGING.missing(&card.capabilities, settings.form),
                    true,
                );
            }
        }
        if let (true, Judge::Model(card)) = (needs.judge, judge) {
            note(
                card,
                JUDGING.missing(&card.capabilities, settings.form),
                true,
            );
        }
    }
    out
}

/// Refuses if anything cannot work, saying what is missing and what would fit.
pub fn admit(
    models: &[ModelCard],
    judge: Judge<'_>,
    tasks: &[(&dyn Task, TaskSettings)],
) -> Result<(), EngineError> {
    let misfits = misfits(models, judge, tasks);
    let Some(first) = misfits.first() else {
        return Ok(());
    };
    let mut text = String::from("these do not fit together, so nothing was loaded or asked:\n");
    for misfit in misfits.iter().take(12) {
        text.push_str(&format!(
            "  {} on {}: the {} lacks {}\n",
            misfit.model,
            misfit.task,
            if misfit.as_judge { "judge" } else { "model" },
            misfit.missing.join(" and ")
        ));
    }
    if misfits.len() > 12 {
        text.push_str(&format!("  … and {} more\n", misfits.len() - 12));
    }
    text.push_str(&hint(first, &misfits, models, tasks));
    let labels: BTreeMap<String, String> = models
        .iter()
        .filter_map(|card| Some((card.model.to_string(), card.label.clone()?)))
        .collect();
    Err(EngineError::Refused(with_labels(&text, &labels)))
}

/// Why no prompt of a task fits into a model's context, and whether that is sure: without the tokenizer it is so
/// only where there are more words than the context has places.
pub fn too_short_a_context(
    card: &ModelCard,
    shortest: Option<PromptSize>,
) -> Option<(String, bool)> {
    let (size, context) = (shortest?, card.context_length?);
    let sure = size.least >= context;
    let count = match sure {
        true => format!("{} tokens or more", size.least),
        false => format!("about {} tokens", size.about),
    };
    (size.about.max(size.least) >= context).then(|| {
        let label = mary_contract::model_label(card);
        (
            format!("its shortest prompt has {count}, and {label} sees {context}"),
            sure,
        )
    })
}

/// What the first refused model could run, a setting that would do, and what kind of model has what it lacks.
fn hint(
    first: &Misfit,
    misfits: &[Misfit],
    models: &[ModelCard],
    tasks: &[(&dyn Task, TaskSettings)],
) -> String {
    if first.as_judge {
        return String::from(
            "hint: a judge answers in words: name another with --judge, or leave out what asks one",
        );
    }
    let fits: Vec<String> = tasks
        .iter()
        .map(|(task, _)| task.card().id.to_string())
        .filter(|id| {
            !misfits
                .iter()
                .any(|m| m.model == first.model && m.task == *id)
        })
        .collect();
    let mut hints = Vec::new();
    if !fits.is_empty() {
        let more = if fits.len() > 4 { ", …" } else { "" };
        let shown = fits.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        hints.push(format!("{} can run {shown}{more}", first.model));
    }
    if let Some((task, settings)) = tasks.iter().find(|(t, _)| *t.card().id == *first.task)
        && let Some(card) = models.iter().find(|c| c.model.to_string() == first.model)
        && let Some((name, value)) = fitting_setting(*task, settings, card)
    {
        hints.push(format!(
            "`--set {name}={value}` asks in a way that {} can answer",
            first.model
        ));
    }
    hints.extend(first.missing.iter().filter_map(|lacking| remedy(lacking)));
    match hints.is_empty() {
        true => {
            String::from("hint: `mary models` and `mary tasks` list what each can do and needs")
        }
        false => format!("hint: {}", hints.join("; ")),
    }
}

/// What kind of model has what one lacks, or how to do without.
fn remedy(lacking: &str) -> Option<String> {
    let open = |what: &str| {
        Some(format!(
            "models with open weights (hf/OWNER/NAME, gguf/FILE) have {what}"
        ))
    };
    match lacking {
        "hidden states" => open(lacking),
        "a chat template" => Some("without --apply-chat-template it is asked in plain text".into()),
        "pictures in the prompt" => {
            Some("`mary models show MODEL` says which take pictures".into())
        }
        _ if lacking.starts_with("log-probabilities") => open("log-probabilities"),
        _ => None,
    }
}

/// A setting of the task under which the model has all that is needed: `mode=generate`, for example.
fn fitting_setting(
    task: &dyn Task,
    settings: &TaskSettings,
    card: &ModelCard,
) -> Option<(String, String)> {
    for param in task.card().params.iter() {
        let words = param
            .values
            .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
        for value in words.filter(|w| !w.is_empty()) {
            let mut other = settings.clone();
            other
                .params
                .insert(param.name.to_string(), value.to_owned());
            let needs = task.needs(&other);
            if !needs.judge
                && needs.missing(&card.capabilities, other.form).is_empty()
                && is_a_value(task, &other)
            {
                return Some((param.name.to_string(), value.to_owned()));
            }
        }
    }
    None
}

/// Whether the task takes these settings. A card lists values in prose (`a number`), so a word may be none.
fn is_a_value(task: &dyn Task, settings: &TaskSettings) -> bool {
    let items = task.items(settings, &NoData);
    let first = items.and_then(|mut items| items.next().transpose());
    !matches!(first, Err(TaskError::Setting(_)))
}

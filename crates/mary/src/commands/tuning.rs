//! `mary data tuning`: fine-tuning sets as chat JSON lines or as a list of instructions.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use mary_contract::{Registry, Task, TaskSettings};
use mary_data::LocalData;
use mary_suites::physico::tuning::{
    Kind, MATRIX_PAIRS, chat_jsonl, instruction_json, tuning_examples,
};
use mary_suites::{embodied, htest};

use crate::cli::TuningForm;
use crate::exit::{Status, UsageError};
use crate::suite::{self, Wishes};

/// Writes items that share nothing with a task's test items or shots.
pub fn tuning(
    registry: &Registry,
    data: &LocalData,
    task: &str,
    (form, n): (TuningForm, Option<usize>),
    seed: u64,
    out: &Path,
) -> anyhow::Result<Status> {
    let name = task.replace('_', "-");
    let (id, text, count) = match Kind::named(&name).filter(|_| name.starts_with("physico/")) {
        Some(kind) => {
            let n = n.unwrap_or(if kind == Kind::Matrix {
                MATRIX_PAIRS
            } else {
                4
            });
            let examples = tuning_examples(kind, seed, n, data)?;
            let text = match form {
                TuningForm::Chat => chat_jsonl(&examples),
                TuningForm::Instruction => instruction_json(&examples),
            };
            (name, text, examples.len())
        }
        None => htest_set(registry, &name, form, seed)?,
    };
    std::fs::write(out, &text).with_context(|| out.display().to_string())?;
    super::tell(&format!(
        "{count} items of {id} (seed {seed}) are in {}",
        out.display()
    ));
    Ok(Status::Done)
}

/// PerceptualQA's training part, or the part that `--set split=` names, in one of the paper's two shapes.
pub fn perceptual(
    data: &LocalData,
    form: TuningForm,
    set: &[String],
    seed: u64,
    out: &Path,
) -> anyhow::Result<Status> {
    let task: Arc<dyn Task> = Arc::new(&embodied::perceptualqa::PERCEPTUAL_QA);
    let mut pairs = Wishes::pairs(set)?;
    let template = match form {
        TuningForm::Chat => "tuning-chat",
        TuningForm::Instruction => "tuning-letter",
    };
    pairs.push(("template".to_owned(), template.to_owned()));
    let wishes = Wishes {
        seed,
        set: pairs,
        ..Wishes::default()
    };
    let settings: Vec<TaskSettings> = wishes
        .settings(std::slice::from_ref(&task))?
        .into_iter()
        .map(|(_, s)| s)
        .collect();
    let items = embodied::tuning_set(settings.first().unwrap_or(&TaskSettings::default()), data)?;
    let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
    let text = match form {
        TuningForm::Chat => lines.join("\n") + "\n",
        TuningForm::Instruction => format!("[\n{}\n]\n", lines.join(",\n")),
    };
    std::fs::write(out, &text).with_context(|| out.display().to_string())?;
    super::tell(&format!(
        "{} items of {} (seed {seed}) are in {}\nhint: `mary run --tasks embodied/perceptualqa --set split=test --seed {seed}` asks the rest",
        items.len(),
        task.card().id,
        out.display()
    ));
    Ok(Status::Done)
}

fn htest_set(
    registry: &Registry,
    name: &str,
    form: TuningForm,
    seed: u64,
) -> anyhow::Result<(String, String, usize)> {
    let tasks = suite::select(registry, &[name.to_owned()])?;
    let [task] = tasks.as_slice() else {
        return Err(UsageError::new("one task at a time").into());
    };
    let id = &*task.card().id;
    let known = htest::ab_task(id).ok_or_else(|| {
        UsageError::new(format!(
            "{id} has no fine-tuning set\nhint: the ten A/B tasks of H-TEST have, and there are \
             physico/matrix, physico/arc and physico/core"
        ))
    })?;
    if form != TuningForm::Chat {
        return Err(UsageError::new("H-TEST's fine-tuning sets are chat JSON lines").into());
    }
    let lines = htest::tuning_set(known, seed)?;
    let count = lines.lines().count();
    Ok((id.to_owned(), lines, count))
}

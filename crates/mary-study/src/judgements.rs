//! What people judged of models' answers: shares with intervals over judges and texts, agreement between
//! judges, and the run itself again with people's verdicts beside its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mary_contract::{Measure, Outcome, Registry, RunSummary, Sample};
use mary_engine::summarise::{Summariser, Verdict};
use mary_stats::crossed::mean_crossed;
use mary_stats::raters::{Level, krippendorff_interval};
use mary_stats::{Interval, LEVEL, agreement, intervals};
use mary_store::RunFolder;
use serde::Serialize;
use serde_json::{Value, json};

use crate::StudyError;
use crate::analysis::estimate;
use crate::error::io_at;
use crate::forms::{Form, Judged, Judging};

/// The measure under which people's verdicts stand beside a run's own.
pub const MEASURE: &str = "judged_by_people";

/// One verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Whose.
    pub judge: String,
    /// Which text: answers that share one were judged at once.
    pub text: String,
    /// Of which answer.
    pub of: Judged,
    /// 1 is good.
    pub value: f64,
}

/// What judges say of one model.
#[derive(Debug, Clone, Serialize)]
pub struct OfModel {
    /// The model.
    pub model: String,
    /// Share of verdicts 1.
    pub correct: Interval,
    /// Texts that were judged.
    pub descriptions: usize,
    /// Judges.
    pub judges: usize,
    /// Cohen's kappa, with two judges.
    pub kappa: Option<Interval>,
    /// Krippendorff's alpha, with two judges or more.
    pub alpha: Option<Interval>,
}

/// The verdicts in filled-in forms, one for each judge.
pub fn of_forms(forms: &[(String, Form)]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (judge, form) in forms {
        for line in &form.lines {
            marks.extend(line.mark.map(|value| Mark {
                judge: judge.clone(),
                text: format!("{}/{}/{}", line.of.model, line.of.item, line.of.trial),
                of: line.of.clone(),
                value,
            }));
        }
    }
    marks
}

/// The verdicts of a study's people.
pub fn of_samples(judging: &Judging, texts: &[String], samples: &[Sample]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for sample in samples {
        let Outcome::Scored(value) = sample.judgement.outcome else {
            continue;
        };
        let place = texts.iter().position(|id| *id == sample.id.item);
        let of = place.and_then(|at| judging.of.get(at));
        let judge = sample.judgement.notes["study"]["person"].as_str();
        marks.extend(of.into_iter().flatten().map(|of| Mark {
            judge: judge.unwrap_or_default().to_owned(),
            text: sample.id.item.clone(),
            of: of.clone(),
            value,
        }));
    }
    marks
}

/// What the judges say, model by model.
pub fn by_model(marks: &[Mark]) -> Result<Vec<OfModel>, StudyError> {
    // A text that stands for several answers of a model counts once.
    let mut models: BTreeMap<&str, BTreeMap<(&str, &str), f64>> = BTreeMap::new();
    for mark in marks {
        let of_model = models.entry(&mark.of.model).or_default();
        of_model.insert((&mark.text, &mark.judge), mark.value);
    }
    models
        .into_iter()
        .map(|(model, marks)| of_model(model, &marks))
        .collect()
}

fn of_model(model: &str, marks: &BTreeMap<(&str, &str), f64>) -> Result<OfModel, StudyError> {
    let numbered = |of: fn(&(&str, &str)) -> String| -> Vec<usize> {
        let names: BTreeSet<String> = marks.keys().map(of).collect();
        let names: Vec<String> = names.into_iter().collect();
        marks
            .keys()
            .map(|key| names.partition_point(|n| *n < of(key)))
            .collect()
    };
    let judges = numbered(|key| key.1.to_owned());
    let texts = numbered(|key| key.0.to_owned());
    let values: Vec<f64> = marks.values().copied().collect();
    let count = |ids: &[usize]| ids.iter().max().map_or(0, |last| last + 1);
    let (judge_count, text_count) = (count(&judges), count(&texts));
    let right = values.iter().filter(|v| **v == 1.0).count() as u64;
    // Judges and texts are both samples; with one judge, or one text, only the other varies.
    let correct = match mean_crossed(&values, &judges, &texts) {
        Ok(found) => found.interval,
        Err(_) => intervals::wilson(right, values.len() as u64, LEVEL)?,
    };
    let mut each: Vec<Vec<f64>> = vec![Vec::new(); text_count];
    for (text, value) in texts.iter().zip(&values) {
        if let Some(said) = each.get_mut(*text) {
            said.push(*value);
        }
    }
    let (first, second): (Vec<u8>, Vec<u8>) = each
        .iter()
        .filter_map(|said| match said.as_slice() {
            [a, b] => Some((u8::from(*a == 1.0), u8::from(*b == 1.0))),
            _ => None,
        })
        .unzip();
    let kappa = (judge_count == 2).then(|| agreement::cohen_kappa(&first, &second).ok());
    Ok(OfModel {
        model: model.to_owned(),
        correct,
        descriptions: text_count,
        judges: judge_count,
        kappa: kappa.flatten().map(|k| k.kappa),
        alpha: krippendorff_interval(&each, Level::Nominal, 0).ok(),
    })
}

/// As lines to print.
pub fn table(judged: &[OfModel]) -> String {
    let mut text = String::new();
    for one in judged {
        let Interval {
            value, low, high, ..
        } = one.correct;
        text.push_str(&format!(
            "{}: {:.2} % of {} descriptions without factual error [{:.2}, {:.2}], {} judges",
            one.model,
            100.0 * value,
            one.descriptions,
            100.0 * low,
            100.0 * high,
            one.judges
        ));
        if let Some(kappa) = &one.kappa {
            text.push_str(&format!(", kappa {:.2}", kappa.value));
        }
        if let Some(alpha) = &one.alpha {
            text.push_str(&format!(", alpha {:.2}", alpha.value));
        }
        text.push('\n');
    }
    text
}

/// Writes the judged run again below `root`, every answer that people judged with their verdicts beside
/// its own: the measure [`MEASURE`] (the mean of the judges, its interval over judges and texts), agreement
/// in the summary, single verdicts in the notes. The run itself is left as it is. `task` names whose
/// answers they are; without it, answers are found by model, item and trial alone.
pub fn write_run(
    root: &Path,
    run: &RunFolder,
    registry: &Registry,
    (name, task): (&str, Option<&str>),
    marks: &[Mark],
) -> Result<(PathBuf, RunSummary), StudyError> {
    let mut manifest = run.manifest().clone();
    // Not the run's own name first: a run is found by the beginning of its name.
    manifest.id = format!("judged-{name}-{}", manifest.id);
    let judged = by_model(marks)?;
    for card in &mut manifest.models {
        let own = judged.iter().find(|j| j.model == card.model.to_string());
        card.remarks.extend(own.map(|own| {
            let (judges, texts) = (own.judges, own.descriptions);
            format!("`{MEASURE}`: {texts} texts judged by {judges} people ({name})")
        }));
    }
    let place = root.join(&manifest.id);
    if place.exists() {
        // Opened first: what is not this run is left alone.
        drop(RunFolder::continue_at(&place, &manifest)?);
        std::fs::remove_dir_all(&place).map_err(io_at(&place))?;
    }
    let mut by_answer: BTreeMap<&Judged, Vec<&Mark>> = BTreeMap::new();
    for mark in marks {
        by_answer.entry(&mark.of).or_default().push(mark);
    }
    let mut folder = RunFolder::create_or_open(root, &manifest)?;
    let mut summariser = Summariser::default();
    let mut tasks_judged: BTreeSet<String> = BTreeSet::new();
    let (mut seen, mut joined) = (0, 0);
    for sample in run.samples()? {
        let mut sample = sample?;
        let of = Judged {
            model: sample.id.model.clone(),
            item: sample.id.item.clone(),
            trial: sample.id.trial,
        };
        let meant = task.is_none_or(|task| sample.id.task == task);
        if let Some(marks) = by_answer.get(&of).filter(|_| meant) {
            put(&mut sample, marks);
            tasks_judged.insert(sample.id.task.clone());
            joined += 1;
        }
        summariser.add(Verdict::from(&sample));
        folder.append(&sample)?;
        seen += 1;
    }
    if joined == 0 {
        drop(folder);
        std::fs::remove_dir_all(&place).map_err(io_at(&place))?;
        return Err(StudyError::refused(format!(
            "{}: none of its answers was judged\nhint: is it the run that the form was written from?",
            run.path().display()
        )));
    }
    folder.flush()?;
    let tasks: Vec<_> = manifest
        .tasks
        .iter()
        .filter_map(|run| registry.judge_of(run).ok().cloned())
        .collect();
    let runs = manifest.tasks.clone();
    let written = RunFolder::open(&place)?;
    let mut summary = summariser.finish(manifest, seen, &tasks, |model, task| {
        let id = &task.card().id;
        let settings = runs
            .iter()
            .find(|r| *r.id == **id)
            .map(|r| r.settings.clone());
        let all = written
            .samples()
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let mut own = all.filter(|s| s.id.model == model && *s.id.task == **id);
        task.overall(&settings.unwrap_or_default(), &mut own)
    });
    for row in &mut summary.rows {
        let own = judged.iter().find(|j| j.model == row.model);
        let Some(own) = own.filter(|_| tasks_judged.contains(&row.task)) else {
            continue;
        };
        let mut add = |name: &str, interval: Option<Interval>| {
            row.measures.retain(|m| m.name != name);
            row.measures.extend(interval.map(|interval| Measure {
                name: name.to_owned(),
                estimate: estimate(&interval),
            }));
        };
        add(MEASURE, Some(own.correct));
        add("judges_kappa", own.kappa);
        add("judges_alpha", own.alpha);
    }
    folder.write_summary(&summary)?;
    Ok((place, summary))
}

/// Verdicts beside the judgement of the run.
fn put(sample: &mut Sample, marks: &[&Mark]) {
    let mean = marks.iter().map(|m| m.value).sum::<f64>() / marks.len() as f64;
    sample.judgement.measures.insert(MEASURE.to_owned(), mean);
    let said: Vec<Value> = marks
        .iter()
        .map(|m| json!({"judge": m.judge, "verdict": m.value}))
        .collect();
    match &mut sample.judgement.notes {
        Value::Object(notes) => {
            notes.insert("people".into(), Value::from(said));
        }
        notes => *notes = json!({ "people": said }),
    }
}

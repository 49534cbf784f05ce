//! What people judged of models' answers: shares with intervals over judges and texts, agreement between
//! judges, and the run itself again with people's verdicts beside its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mary_contract::{Outcome, Registry, RunSummary, Sample};
use mary_lab::engine::summarise::{Summariser, Verdict};
use mary_platform::{counted, grouped, means};
use mary_stats::agreement::cohen_kappa;
use mary_stats::crossed::mean_crossed;
use mary_stats::raters::{Level, RaterAgreement};
use mary_stats::{Interval, LEVEL, intervals};
use mary_store::RunFolder;
use serde::Serialize;
use serde_json::{Value, json};

use crate::analysis::{alpha, alpha_in_words, put_measure};
use crate::error::io_at;
use crate::forms::Form;
pub use crate::keys::MEASURE;
use crate::keys::{Judged, Judging};
use crate::results::{finished, made_anew, put_note};
use crate::{Result, StudyError};

#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub judge: String,
    /// Which text: answers that share one were judged at once.
    pub text: String,
    pub of: Judged,
    /// Of which part of it; empty where it is the whole.
    pub part: String,
    /// 1 is good.
    pub value: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct OfModel {
    pub model: String,
    /// Share of verdicts 1.
    pub correct: Interval,
    pub descriptions: usize,
    pub judges: usize,
    /// Cohen's kappa, with two judges.
    pub kappa: Option<Interval>,
    /// Krippendorff's alpha, with two judges or more, where it has an interval.
    pub alpha: Option<Interval>,
    /// The share of pairs of verdicts on one text that are the same, and alpha: undefined where all are.
    pub agreement: Option<RaterAgreement>,
}

/// The verdicts in filled-in forms, one for each judge.
pub fn of_forms(forms: &[(String, Form)]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (judge, form) in forms {
        for line in &form.lines {
            marks.extend(line.mark.map(|value| Mark {
                judge: judge.clone(),
                text: format!(
                    "{}/{}/{}/{}",
                    line.of.model, line.of.item, line.of.trial, line.part
                ),
                of: line.of.clone(),
                part: line.part.clone(),
                value,
            }));
        }
    }
    marks
}

pub fn of_samples(judging: &Judging, texts: &[String], samples: &[Sample]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for sample in samples {
        let Outcome::Scored(value) = sample.judgement.outcome else {
            continue;
        };
        let place = texts.iter().position(|id| *id == sample.id.item);
        let of = place.and_then(|at| judging.of.get(at));
        let part = place.and_then(|at| judging.parts.get(at));
        let judge = sample.judgement.notes["study"]["person"].as_str();
        marks.extend(of.into_iter().flatten().map(|of| Mark {
            judge: judge.unwrap_or_default().to_owned(),
            text: sample.id.item.clone(),
            of: of.clone(),
            part: part.cloned().unwrap_or_default(),
            value,
        }));
    }
    marks
}

pub fn by_model(marks: &[Mark]) -> Result<Vec<OfModel>> {
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

fn of_model(model: &str, marks: &BTreeMap<(&str, &str), f64>) -> Result<OfModel> {
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
    let agreement = RaterAgreement::of(&each, Level::Nominal, 0);
    let kappa = (judge_count == 2).then(|| cohen_kappa(&first, &second).ok());
    Ok(OfModel {
        model: model.to_owned(),
        correct,
        descriptions: text_count,
        judges: judge_count,
        kappa: kappa.flatten().map(|k| k.kappa),
        alpha: agreement.as_ref().and_then(alpha),
        agreement,
    })
}

/// As lines to print; `measure` is what the verdicts become in the run.
pub fn table(judged: &[OfModel], measure: &str) -> String {
    let mut text = String::new();
    for one in judged {
        let Interval {
            value, low, high, ..
        } = one.correct;
        let what = if measure == MEASURE {
            format!("{} descriptions without factual error", one.descriptions)
        } else {
            format!("{} texts ({measure})", one.descriptions)
        };
        text.push_str(&format!(
            "{}: {:.2} % of {what} [{:.2}, {:.2}], {} judges",
            one.model,
            100.0 * value,
            100.0 * low,
            100.0 * high,
            one.judges
        ));
        if let Some(kappa) = &one.kappa {
            text.push_str(&format!(", kappa {:.2}", kappa.value));
        }
        if let Some(found) = &one.agreement {
            text.push_str(&format!(", alpha {}", alpha_in_words(found)));
            if found.undefined() {
                text.push_str(" (every verdict is the same)");
            }
            if let Some(share) = &found.observed {
                text.push_str(&format!(
                    ", {:.1} % of pairs of verdicts agree",
                    100.0 * share.value
                ));
            }
        }
        text.push('\n');
    }
    text
}

#[derive(Debug, Clone, Copy)]
pub struct Joining<'a> {
    /// Name of the judged run: `judged-NAME-RUN`.
    pub name: &'a str,
    /// Whose answers they are; without it, answers are found by model, item and trial alone.
    pub task: Option<&'a str>,
    pub measure: &'a str,
}

impl Joining<'_> {
    fn of_judges(&self, what: &str) -> String {
        if self.measure == MEASURE {
            format!("judges_{what}")
        } else {
            format!("{}_{what}", self.measure)
        }
    }

    /// Where single verdicts stand in a sample's notes.
    fn note(&self) -> &str {
        if self.measure == MEASURE {
            "people"
        } else {
            self.measure
        }
    }
}

pub(crate) fn run_id(name: &str, run: &str) -> String {
    format!("judged-{name}-{run}")
}

/// Writes the judged run again below `root`, every answer that people judged with their verdicts beside
/// its own: a measure (the mean over the parts of an answer of the mean of its judges; its interval over judges
/// and texts), agreement in the summary, single verdicts in the notes. The run itself is left as it is.
pub fn write_run(
    root: &Path,
    run: &RunFolder,
    registry: &Registry,
    joining: Joining<'_>,
    marks: &[Mark],
) -> Result<(PathBuf, RunSummary)> {
    let Joining {
        name,
        task,
        measure,
    } = joining;
    let mut manifest = run.manifest().clone();
    // Not the run's own name first: a run is found by the beginning of its name.
    manifest.id = run_id(name, &manifest.id);
    let judged = by_model(marks)?;
    for card in &mut manifest.models {
        let own = judged.iter().find(|j| j.model == card.model.to_string());
        card.remarks.extend(own.map(|own| {
            let (judges, texts) = (own.judges, own.descriptions);
            let (texts, judges) = (counted(texts, "text"), counted(judges, "person"));
            format!("`{measure}`: {texts} judged by {judges} ({name})")
        }));
    }
    let (place, mut folder) = made_anew(root, &manifest)?;
    let by_answer = grouped(marks.iter().map(|mark| (&mark.of, mark)));
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
            put(&mut sample, marks, &joining);
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
    let written = RunFolder::open(&place)?;
    let mut summary = finished(summariser, manifest, seen, registry, |model, task| {
        let (model, task) = (model.to_owned(), task.to_owned());
        let all = written.samples().into_iter().flatten();
        let all = all.filter_map(Result::ok);
        all.filter(move |s| s.id.model == model && *s.id.task == *task)
    });
    for row in &mut summary.rows {
        let own = judged.iter().find(|j| j.model == row.model);
        let Some(own) = own.filter(|_| tasks_judged.contains(&row.task)) else {
            continue;
        };
        let mut add = |name: &str, interval| put_measure(row, name, interval);
        add(measure, Some(own.correct));
        add(&joining.of_judges("kappa"), own.kappa);
        add(&joining.of_judges("alpha"), own.alpha);
        let share = own.agreement.and_then(|found| found.observed);
        add(&joining.of_judges("agreement"), share);
    }
    folder.write_summary(&summary)?;
    Ok((place, summary))
}

fn put(sample: &mut Sample, marks: &[&Mark], joining: &Joining<'_>) {
    // Every part counts alike, however many judged it.
    let parts = means(marks.iter().map(|mark| (&mark.part, mark.value)));
    let mean = parts.values().sum::<f64>() / parts.len().max(1) as f64;
    let measures = &mut sample.judgement.measures;
    measures.insert(joining.measure.to_owned(), mean);
    let verdict = |m: &&Mark| {
        let mut said = json!({"judge": m.judge, "verdict": m.value});
        if let Some(said) = said.as_object_mut().filter(|_| !m.part.is_empty()) {
            said.insert("part".into(), Value::from(m.part.clone()));
        }
        said
    };
    let said: Vec<Value> = marks.iter().map(verdict).collect();
    put_note(&mut sample.judgement, joining.note(), Value::from(said));
}

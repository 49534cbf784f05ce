//! Checkpoints that are not what their name says, found by comparing them with each other: public ones are
//! known to be faulty (late weights in early revisions), and a curve through them looks like a discovery.

use mary_platform::{counts, given};

use crate::checkpoints::inspect::{Inspection, shared, similarity};
use crate::checkpoints::state::{Ending, Record};

/// What is wrong with a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The model as it is run.
    pub model: String,
    /// One or two words.
    pub kind: &'static str,
    /// In words.
    pub message: String,
}

/// Sketches of one training run are more alike than this, wherever in training they were taken.
const STRANGER: f64 = 0.15;
/// Two checkpoints next to each other in training are more alike than this.
const NEIGHBOUR: f64 = 0.3;
/// How much more alike a distant checkpoint must be than the neighbours to say that it is the same.
const CLOSER: f64 = 0.1;
/// Share of the weights in common from which two checkpoints are not two.
const COMMON: f64 = 0.02;

/// Every fault of these checkpoints, in their order.
pub fn faults(records: &[Record]) -> Vec<Fault> {
    let mut found = Vec::new();
    for record in records {
        if let Ending::Unreadable { message } = &record.ending {
            found.push(fault(record, "unreadable", message.clone()));
        }
        if let Some(own) = &record.inspection {
            let family: Vec<(&Record, &Inspection)> = records
                .iter()
                .filter(|r| r.size == record.size && r.model != record.model)
                .filter_map(|r| Some((r, r.inspection.as_ref()?)))
                .collect();
            found.extend(of_one(record, own, &family));
        }
    }
    found
}

fn fault(record: &Record, kind: &'static str, message: String) -> Fault {
    Fault {
        model: record.model.clone(),
        kind,
        message,
    }
}

fn of_one(record: &Record, own: &Inspection, family: &[(&Record, &Inspection)]) -> Vec<Fault> {
    let twins: Vec<&str> = family
        .iter()
        .filter(|(_, other)| other.weights == own.weights)
        .map(|(r, _)| r.revision.as_str())
        .collect();
    if !twins.is_empty() {
        let message = format!("its weights are those of {}, bit for bit", twins.join(", "));
        return vec![fault(record, "identical", message)];
    }
    let mut found = Vec::new();
    let mut odd = |kind, what: &str, of: &dyn Fn(&Inspection) -> String| {
        if let Some(usual) = usual(family, of).filter(|usual| *usual != of(own)) {
            let message = format!("{what} differs: {} here, {usual} in most others", of(own));
            found.push(fault(record, kind, message));
        }
    };
    let (other, probe) = ("other shape", "how the tokenizer cuts a probe text");
    let architecture = &|i: &Inspection| i.architecture.clone();
    odd("other architecture", "the architecture", architecture);
    odd(other, "the number of weights", &|i| {
        i.parameters.to_string()
    });
    odd(other, "the shapes of its tensors", &|i| i.shapes.clone());
    odd("other tokenizer", probe, &|i| i.tokenizer.clone());
    if !found.is_empty() {
        found.truncate(1);
        return found;
    }
    let common = family
        .iter()
        .map(|(r, other)| (shared(own, other), *r))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((share, other)) = common.filter(|(share, _)| *share >= COMMON) {
        let message = format!(
            "{:.0} % of its weights are those of {} (a shard of another revision?)",
            100.0 * share,
            other.revision
        );
        return vec![fault(record, "shared weights", message)];
    }
    relation(record, own, family).into_iter().collect()
}

/// What most others say, when there are at least two and more than half agree.
fn usual(family: &[(&Record, &Inspection)], of: &dyn Fn(&Inspection) -> String) -> Option<String> {
    let votes = counts(family.iter().map(|(_, other)| of(other)));
    let (value, count) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    (family.len() >= 2 && 2 * count > family.len()).then_some(value)
}

/// Weights drift in training, but slowly: neighbours are alike, and everything is a little alike.
fn relation(record: &Record, own: &Inspection, family: &[(&Record, &Inspection)]) -> Option<Fault> {
    let mut alike: Vec<(f64, &Record)> = family
        .iter()
        .filter_map(|(r, other)| Some((similarity(&own.sketch, &other.sketch)?, *r)))
        .collect();
    given(alike.len() >= 2)?;
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (closest, other) = *alike.first()?;
    // The others must know each other, or nothing can be said of this one.
    let others_know_each_other = family.iter().enumerate().any(|(i, (_, a))| {
        family
            .iter()
            .skip(i + 1)
            .any(|(_, b)| similarity(&a.sketch, &b.sketch).is_some_and(|s| s > NEIGHBOUR))
    });
    if closest < STRANGER && others_know_each_other {
        let message = format!(
            "its weights resemble no other checkpoint (closest {}, cosine {closest:.2}): those of \
             another model?",
            other.revision
        );
        return Some(fault(record, "another model", message));
    }
    let step = record.step?;
    let before = alike.iter().filter(|(_, r)| r.step < Some(step));
    let after = alike.iter().filter(|(_, r)| r.step > Some(step));
    let before = before.max_by_key(|(_, r)| r.step)?;
    let after = after.min_by_key(|(_, r)| r.step)?;
    let near = before.0.max(after.0);
    let distant = other.step != before.1.step && other.step != after.1.step;
    (distant && closest > near + CLOSER).then(|| {
        let message = format!(
            "its weights are closer to {} (cosine {closest:.2}) than to its neighbours {} and {} \
             ({near:.2}): those of another step?",
            other.revision, before.1.revision, after.1.revision
        );
        fault(record, "out of place", message)
    })
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;

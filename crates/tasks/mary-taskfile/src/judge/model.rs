//! Answers read by another model, by a rubric of the task file.

use std::sync::LazyLock;

use mary_contract::{Generated, Item, Judgement, Reply, Target, TaskError, UnscoredReason};
use regex::Regex;
use serde_json::json;

use super::{Verdict, fault, generated, number};
use crate::plan::Plan;
use crate::rows::Columns;

static VERDICT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\b(yes|no)\b").ok());

/// What the judge is asked; nothing when there is no answer to read.
pub(crate) fn question(
    plan: &Plan,
    item: &Item,
    answers: &[Reply],
) -> Result<Option<String>, TaskError> {
    let Ok(said) = generated(answers) else {
        return Ok(None);
    };
    let Target::Data(data) = &item.target else {
        return Ok(None);
    };
    let stored = data.get("columns").and_then(|c| c.as_object());
    let mut columns: Columns = stored.cloned().unwrap_or_default();
    columns.insert("response".into(), json!(said.text));
    let reference = data.get("reference").cloned().unwrap_or_default();
    columns.insert("reference".into(), reference);
    let rendered = plan.templates.text("rubric", &columns);
    rendered.map(Some).map_err(|e| {
        let (path, line, item, message) = (plan.path.display(), e.line, &item.id, e.message);
        let missing = match e.missing.as_slice() {
            [] => String::new(),
            names => format!(" (there is no column `{}`)", names.join("`, `")),
        };
        TaskError::Generator(format!(
            "{path}:{line}: `rubric` cannot be rendered for item {item}: {message}{missing}"
        ))
    })
}

/// The verdict of the judge: the last yes or no, or the last mark on the scale, as a share of it.
pub(super) fn judge(plan: &Plan, answers: &[Reply]) -> Verdict {
    generated(answers)?;
    let Some(second) = answers.get(1..).filter(|rest| !rest.is_empty()) else {
        return Err(fault("the judge was not asked"));
    };
    let said = match generated(second) {
        Ok(said) => said,
        // A judge that declines has not judged; the model under study answered.
        Err(_) => return Ok(Judgement::unscored(UnscoredReason::Unparsed)),
    };
    let scale = plan.form.judge.scale.as_ref();
    Ok(read(scale.map(|s| *s.get_ref()), said))
}

fn read(scale: Option<[f64; 2]>, said: &Generated) -> Judgement {
    let text = &said.text;
    let read = match scale {
        None => {
            let last = VERDICT.as_ref().and_then(|p| p.find_iter(text).last());
            let word = last.map(|word| word.as_str().to_lowercase());
            word.map(|word| (f64::from(word == "yes"), word))
        }
        Some([low, high]) => {
            let within = |x: &&f64| (low..=high).contains(*x);
            let marks = number::all(text);
            let mark = marks.iter().rfind(within);
            mark.map(|mark| ((mark - low) / (high - low), mark.to_string()))
        }
    };
    match read {
        Some((score, said)) => Judgement::scored(score).read_as(said),
        None => Judgement::unscored(said.unread()),
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::Outcome;

    use super::*;

    #[test]
    fn the_last_verdict_counts() {
        let outcome = |scale, text: &str| {
            let said = Generated::whole(text.into());
            read(scale, &said).outcome
        };
        assert_eq!(
            outcome(None, "No doubt about it: YES"),
            Outcome::Scored(1.0)
        );
        assert_eq!(outcome(None, "no."), Outcome::Scored(0.0));
        assert_eq!(
            outcome(None, "nobody knows"),
            Outcome::Unscored(UnscoredReason::Unparsed)
        );
        assert_eq!(
            outcome(Some([1.0, 5.0]), "On a scale to 100, I give it 4"),
            Outcome::Scored(0.75)
        );
        assert_eq!(
            outcome(Some([1.0, 5.0]), "9"),
            Outcome::Unscored(UnscoredReason::Unparsed)
        );
    }
}

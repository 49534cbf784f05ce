//! Fine-tuning: training sets in the chat form that providers and trainers read, and the matrix of
//! what training on one task does to the others (the paper's Table 8).

use std::collections::BTreeMap;

use mary_contract::{InForce, NumberColumns, RunSummary, Table, TaskError, variants_of};
use serde_json::json;

use super::AB_TASKS;
use super::ab_task::AbTask;
use super::published::published;
use super::results::{GEOMETRY, Outcome, percent, results};

/// The task of an id (`htest/rhyme` or `rhyme`).
pub fn ab_task(id: &str) -> Option<&'static AbTask> {
    let name = id.strip_prefix("htest/").unwrap_or(id);
    AB_TASKS
        .iter()
        .copied()
        .find(|t| t.card.id.strip_prefix("htest/") == Some(name))
}

/// 1,000 items of a task as chat JSONL, one conversation a line, in the form of the released files:
/// the text alone, then its label. They never meet the shots or the test items of the same seed.
pub fn tuning_set(task: &AbTask, seed: u64) -> Result<String, TaskError> {
    let mut lines = String::new();
    for example in task.rule.sets(seed, 0)?.train {
        let line = json!({ "messages": [
            { "role": "user", "content": example.text },
            { "role": "assistant", "content": example.label.letter() },
        ]});
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    Ok(lines)
}

/// Table 8 from runs: rows are the tasks tested, columns the untuned model and the models tuned on
/// each task. `tuned` names, for each task trained on (`htest/rhyme`), the model as it was run. One
/// table for each way of asking (shots, mode, source, seed …): cells of one table are comparable.
pub fn tuning_matrix(
    runs: &[RunSummary],
    original: &str,
    tuned: &BTreeMap<String, String>,
) -> Vec<Table> {
    let wanted = |o: &Outcome| {
        o.task != GEOMETRY && (o.model == original || tuned.values().any(|m| *m == o.model))
    };
    let results: Vec<Outcome> = results(runs).into_iter().filter(wanted).collect();
    let mut manners: Vec<InForce> = Vec::new();
    for manner in results.iter().map(|r| r.conditions.manner()) {
        if !manners.contains(&manner) {
            manners.push(manner);
        }
    }
    if manners.is_empty() {
        manners.push(InForce::new());
    }
    let names = variants_of(&manners.iter().collect::<Vec<_>>());
    let tables = manners.iter().zip(names).enumerate();
    tables
        .map(|(place, (manner, name))| {
            let of: Vec<&Outcome> = results
                .iter()
                .filter(|r| r.conditions.manner() == *manner)
                .collect();
            let table = matrix_of(&of, original, tuned);
            match name.as_str() {
                "" => table,
                name => Table {
                    id: format!("{}-{}", table.id, place + 1),
                    title: format!("{} ({name})", table.title),
                    ..table
                },
            }
        })
        .collect()
}

/// The matrix of results that were all asked in the same manner.
fn matrix_of(results: &[&Outcome], original: &str, tuned: &BTreeMap<String, String>) -> Table {
    let columns: Vec<(String, &str)> = std::iter::once(("original".to_owned(), original))
        .chain(AB_TASKS.iter().filter_map(|task| {
            let model = tuned.get(&*task.card.id)?;
            Some((task.card.title.to_string(), model.as_str()))
        }))
        .collect();
    let accuracy = |model: &str, task: &str| {
        // Asked the same twice: the later run counts.
        results
            .iter()
            .rfind(|r| r.model == model && r.task == task)
            .map(|r| r.accuracy.value)
    };
    let mut rows = Vec::new();
    for task in AB_TASKS {
        let mut row = vec![task.card.title.to_string()];
        row.extend(columns.iter().map(|(trained, model)| {
            let own = *trained == task.card.title;
            match accuracy(model, &task.card.id) {
                Some(value) if own => format!("[{}]", percent(value)),
                Some(value) => percent(value),
                None => "–".into(),
            }
        }));
        rows.push(row);
    }
    let mut average = vec!["Average".to_owned()];
    average.extend(columns.iter().map(|(_, model)| {
        let values: Vec<f64> = AB_TASKS
            .iter()
            .filter_map(|t| accuracy(model, &t.card.id))
            .collect();
        if values.len() == AB_TASKS.len() {
            percent(values.iter().sum::<f64>() / values.len() as f64)
        } else {
            "–".into()
        }
    }));
    rows.push(average);
    let mut head = vec!["tested on".to_owned()];
    head.extend(columns.into_iter().map(|(trained, _)| trained));
    Table {
        id: "htest-table-8".into(),
        title: "What training on one task does to the others".into(),
        caption:
            "Columns: the task trained on; rows: the task tested, accuracy in %. In brackets: \
                  trained and tested on the same task. The form of Lee & Lim 2024, Table 8."
                .into(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::From(1),
    }
}

/// The paper's Table 8 itself.
pub fn published_matrix() -> Table {
    let matrix = &published().table_8;
    let title = |name: &String| {
        ab_task(name).map_or_else(|| name.clone(), |task| task.card.title.to_string())
    };
    let mut head = vec!["tested on".to_owned()];
    head.extend(matrix.trained.iter().map(title));
    let rows: Vec<Vec<String>> = matrix
        .tested
        .iter()
        .zip(&matrix.accuracy)
        .map(|(tested, row)| {
            std::iter::once(title(tested))
                .chain(row.iter().map(|v| percent(*v)))
                .collect()
        })
        .collect();
    Table {
        id: "htest-table-8-published".into(),
        title: format!("Published: {} trained on one task", matrix.model),
        caption: format!("{}, Table 8, k = 50.", published().citation),
        head,
        published: (0..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_tuning_set_is_a_thousand_balanced_conversations() {
        let set = tuning_set(ab_task("rhyme").unwrap(), 4).unwrap();
        let lines: Vec<serde_json::Value> = set
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(lines.len(), 1000);
        let labels = lines
            .iter()
            .filter(|l| l["messages"][1]["content"] == "A")
            .count();
        assert_eq!(labels, 500);
        let texts: HashSet<String> = lines
            .iter()
            .map(|l| l["messages"][0]["content"].to_string())
            .collect();
        assert_eq!(texts.len(), 1000);
    }

    #[test]
    fn the_published_matrix_reads_as_printed() {
        let table = published_matrix();
        assert_eq!(table.head.len(), 12);
        assert_eq!(table.rows[0][..3], ["Uppercase", "49.5", "50.0"]);
    }
}

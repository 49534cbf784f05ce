//! Fine-tuning: training sets in the chat form that providers and trainers read, and the matrix of
//! what training on one task does to the others (the paper's Table 8).

use std::collections::BTreeMap;

use mary_contract::{
    Cell, DataSource, Estimate, Figure, InForce, Point, RunSummary, Series, Table, TaskError,
    variants_of,
};
use serde_json::json;

use super::ab_task::AbTask;
use super::dataset::Example;
use super::published::{DECLARED, percent, published};
use super::results::{
    GEOMETRY, Outcome, average_cell, mean, other_tasks, paper_tasks, results, task_title,
};
use super::tasks::ab_task;
use super::upstream;

/// 1,000 items of a task as chat JSONL, one conversation a line, in the form of the released files:
/// the text alone, then its label. They never meet the shots or the test items of the same seed.
pub fn tuning_set(task: &AbTask, seed: u64) -> Result<String, TaskError> {
    Ok(chat_lines(&task.rule.sets(seed, 0)?.train))
}

/// The authors' own fine-tuning items of a task, in the same form, order and number as released: sorted
/// by label, with the repeats that palindrome and rhyme have.
pub fn released_tuning_set(task: &AbTask, data: &dyn DataSource) -> Result<String, TaskError> {
    let name = task.upstream.ok_or_else(|| {
        TaskError::Setting(format!(
            "{}: the paper has no such task, so that no fine-tuning set was released",
            task.card.id
        ))
    })?;
    Ok(chat_lines(&upstream::train_items(data, name)?))
}

fn chat_lines(examples: &[Example]) -> String {
    let mut lines = String::new();
    for example in examples {
        let line = json!({ "messages": [
            { "role": "user", "content": example.text },
            { "role": "assistant", "content": example.label.letter() },
        ]});
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    lines
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
    let paper = paper_tasks();
    let others = other_tasks(results.iter().copied());
    let tasks: Vec<String> = paper.iter().cloned().chain(others).collect();
    let columns: Vec<(Option<&String>, &str)> = std::iter::once((None, original))
        .chain(tasks.iter().filter_map(|task| {
            let model = tuned.get(task)?;
            Some((Some(task), model.as_str()))
        }))
        .collect();
    let accuracy = |model: &str, task: &str| {
        // Asked the same twice: the later run counts.
        results
            .iter()
            .rfind(|r| r.model == model && r.task == task)
            .map(|r| &r.accuracy)
    };
    let mut rows = Vec::new();
    // Of a part of the tasks there is a part of the table, without empty rows.
    let tested = |task: &&String| columns.iter().any(|(_, m)| accuracy(m, task).is_some());
    for task in tasks.iter().filter(tested) {
        let mut row = vec![Cell::from(task_title(task))];
        row.extend(columns.iter().map(|(trained, model)| {
            let own = *trained == Some(task);
            match accuracy(model, task) {
                Some(e) if own => Cell::percent(e, 1).worded(format!("[{}]", percent(e.value))),
                Some(e) => Cell::percent(e, 1),
                None => Cell::none(),
            }
        }));
        rows.push(row);
    }
    let averages = columns.iter().map(|(_, model)| {
        let values: Option<Vec<&Estimate>> = paper.iter().map(|t| accuracy(model, t)).collect();
        values.and_then(|v| mean(v.into_iter()))
    });
    let averages: Vec<Option<Estimate>> = averages.collect();
    if averages.iter().any(Option::is_some) {
        let mut average = vec![Cell::from("Average")];
        average.extend(averages.iter().map(|a| average_cell(a.as_ref())));
        rows.push(average);
    }
    let trained = columns.iter().map(|(trained, _)| *trained);
    let heads = trained.map(|t| t.map_or_else(|| "original".to_owned(), |t| task_title(t)));
    let table = DECLARED.table("htest-table-8");
    table.with_heads("trained", heads).with_rows(rows)
}

/// Models of the results that were tuned on a task, by the task: `mary matrix --tune` puts each into a
/// folder of the task's name (`…/htest-rhyme/merged`).
pub fn tuned_models(results: &[Outcome]) -> BTreeMap<String, String> {
    let trained_on = |model: &str| {
        let mut parts = model.split(['/', '\\']);
        parts.find_map(|part| {
            let task = ab_task(part.strip_prefix("htest-")?)?;
            Some(task.card.id.to_string())
        })
    };
    results
        .iter()
        .filter_map(|r| Some((trained_on(&r.model)?, r.model.clone())))
        .collect()
}

/// Table 8 and Figure 6 of runs that hold tuned models and the one they were made of, with the paper's
/// Table 8 below; nothing of other runs.
pub fn tuned_exhibits(runs: &[RunSummary]) -> Option<(Vec<Table>, Figure)> {
    let results = results(runs);
    let tuned = tuned_models(&results);
    let mut untuned: Vec<&str> = results
        .iter()
        .map(|r| r.model.as_str())
        .filter(|m| tuned.values().all(|t| t != m))
        .collect();
    untuned.dedup();
    let [original] = untuned.as_slice() else {
        return None;
    };
    if tuned.is_empty() {
        return None;
    }
    let mut tables = tuning_matrix(runs, original, &tuned);
    tables.extend(published_beside(&tables));
    Some((tables, before_and_after(&results, original, &tuned)))
}

/// Figure 6: each task before and after training on it.
fn before_and_after(
    results: &[Outcome],
    original: &str,
    tuned: &BTreeMap<String, String>,
) -> Figure {
    let of = |model: &str, task: &str| {
        let found = results.iter().find(|r| r.model == model && r.task == task);
        found.map(|r| &r.accuracy)
    };
    let bar = |task: &str, e: &Estimate| Point::percent(task_title(task), e);
    let before = tuned.keys().filter_map(|t| Some(bar(t, of(original, t)?)));
    let after = tuned.iter().filter_map(|(t, m)| Some(bar(t, of(m, t)?)));
    let matrix = &published().table_8;
    let printed = |column: fn(&str) -> String| {
        let tested = matrix.tested.iter().zip(&matrix.accuracy);
        tested.filter_map(move |(task, row)| {
            let place = matrix.trained.iter().position(|t| *t == column(task))?;
            Some(Point::new(task_title(task), 100.0 * row.get(place)?))
        })
    };
    let figure = DECLARED.figure("htest-figure-6");
    figure.saying("model", &matrix.model).with_series([
        Series::measured("original", before),
        Series::measured("tuned on the task", after),
        Series::published(
            format!("{}, original", matrix.model),
            printed(|_| "original".to_owned()),
        ),
        Series::published(
            format!("{}, tuned on the task", matrix.model),
            printed(str::to_owned),
        ),
    ])
}

/// What the paper prints for the rows and columns of our tables; nothing where it prints none of them.
pub(super) fn published_beside(tables: &[Table]) -> Option<Table> {
    let mut whole = published_matrix();
    let shown = |head: &str| tables.iter().any(|t| t.head.iter().any(|h| h == head));
    let kept: Vec<usize> = (0..whole.head.len())
        .filter(|place| shown(&whole.head[*place]))
        .collect();
    let tested = |row: &Vec<Cell>| {
        let own = |r: &Vec<Cell>| r.first().map(ToString::to_string);
        let mut rows = tables.iter().flat_map(|t| &t.rows);
        rows.any(|ours| own(ours) == own(row))
    };
    whole.rows.retain(tested);
    for row in &mut whole.rows {
        *row = kept.iter().filter_map(|p| row.get(*p).cloned()).collect();
    }
    whole.head = kept.iter().map(|p| whole.head[*p].clone()).collect();
    whole.published = (0..whole.rows.len()).collect();
    (kept.len() > 1 && !whole.rows.is_empty()).then_some(whole)
}

pub fn published_matrix() -> Table {
    let matrix = &published().table_8;
    let tested = matrix.tested.iter().zip(&matrix.accuracy);
    let rows = tested.map(|(tested, row)| {
        let values = row.iter().map(|v| percent(*v));
        std::iter::once(task_title(tested)).chain(values).collect()
    });
    DECLARED
        .table("htest-table-8-published")
        .saying("model", &matrix.model)
        .saying("citation", &published().citation)
        .with_heads("trained", matrix.trained.iter().map(|t| task_title(t)))
        .with_published(Cell::printed_rows(rows))
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

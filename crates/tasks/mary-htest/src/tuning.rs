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
    let results = results(runs);
    let mut matrices = by_manner(&results, original, tuned);
    if matrices.is_empty() {
        matrices.push(Matrix::new(original, tuned, InForce::new()));
    }
    let names = names(&matrices);
    let tables = matrices.iter().map(Matrix::table).zip(names);
    tables.map(|(table, name)| name.of_table(table)).collect()
}

/// An untuned model, those that were made of it, and what they scored when asked in one manner.
struct Matrix<'r> {
    original: &'r str,
    tuned: BTreeMap<String, String>,
    /// The folder with the tuned models.
    folder: String,
    manner: InForce,
    results: Vec<&'r Outcome>,
}

impl<'r> Matrix<'r> {
    fn new(original: &'r str, tuned: &BTreeMap<String, String>, manner: InForce) -> Self {
        Self {
            original,
            tuned: tuned.clone(),
            folder: String::new(),
            manner,
            results: vec![],
        }
    }

    fn table(&self) -> Table {
        matrix_of(&self.results, self.original, &self.tuned)
    }

    fn holds_tuned(&self) -> bool {
        let tuned = |r: &&Outcome| self.tuned.values().any(|m| *m == r.model);
        self.results.iter().any(tuned)
    }
}

/// The results of these models, one matrix for each way of asking.
fn by_manner<'r>(
    results: &'r [Outcome],
    original: &'r str,
    tuned: &BTreeMap<String, String>,
) -> Vec<Matrix<'r>> {
    let wanted = |o: &&Outcome| {
        o.task != GEOMETRY && (o.model == original || tuned.values().any(|m| *m == o.model))
    };
    let mut found: Vec<Matrix<'r>> = Vec::new();
    for outcome in results.iter().filter(wanted) {
        let manner = outcome.conditions.manner();
        let place = found.iter().position(|m| m.manner == manner);
        let place = place.unwrap_or_else(|| {
            found.push(Matrix::new(original, tuned, manner));
            found.len() - 1
        });
        found[place].results.push(outcome);
    }
    found
}

/// What tells one of several matrices from the others, and its place among them; nothing of a single one.
struct Name {
    place: usize,
    words: String,
}

fn names(matrices: &[Matrix<'_>]) -> Vec<Name> {
    let manners: Vec<InForce> = matrices
        .iter()
        .map(|matrix| {
            let mut all = matrix.manner.clone();
            all.insert("tuned models".to_owned(), matrix.folder.clone());
            all
        })
        .collect();
    let words = variants_of(&manners.iter().collect::<Vec<_>>()).into_iter();
    let named = words.enumerate();
    named.map(|(place, words)| Name { place, words }).collect()
}

impl Name {
    fn id_and_title(&self, id: String, title: String) -> (String, String) {
        match self.words.as_str() {
            "" => (id, title),
            words => (
                format!("{id}-{}", self.place + 1),
                format!("{title} ({words})"),
            ),
        }
    }

    fn of_table(&self, table: Table) -> Table {
        let (id, title) = self.id_and_title(table.id, table.title);
        Table { id, title, ..table }
    }

    fn of_figure(&self, figure: Figure) -> Figure {
        let (id, title) = self.id_and_title(figure.id, figure.title);
        Figure {
            id,
            title,
            ..figure
        }
    }
}

/// The matrix of results that were all asked in the same manner.
fn matrix_of(results: &[&Outcome], original: &str, tuned: &BTreeMap<String, String>) -> Table {
    let paper = paper_tasks();
    let others = other_tasks(results.iter().copied());
    let tasks: Vec<String> = paper.iter().cloned().chain(others).collect();
    let mut columns: Vec<(Option<&String>, &str)> = vec![(None, original)];
    let tuned_on = |task| Some((Some(task), tuned.get(task)?.as_str()));
    columns.extend(tasks.iter().filter_map(tuned_on));
    let accuracy = |model: &str, task: &str| {
        // Asked the same twice: the later run counts.
        let mut all = results.iter();
        let result = all.rfind(|r| r.model == model && r.task == task)?;
        Some(&result.accuracy)
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

/// The folder of tuned models that a model lies in, and the task it was tuned on: `mary matrix --tune` puts
/// each into a folder of the task's name (`…/htest-rhyme/merged`).
fn trained_on(model: &str) -> Option<(String, String)> {
    let (place, part) = model.match_indices("htest-").find_map(|(at, _)| {
        let own = model.get(at..)?.split(['/', '\\']).next()?;
        Some((at, ab_task(own.strip_prefix("htest-")?)?))
    })?;
    let folder = model.get(..place)?.trim_end_matches(['/', '\\']);
    Some((folder.to_owned(), part.card.id.to_string()))
}

/// Every matrix that the results hold: by folder of tuned models and by way of asking. The untuned model is
/// the one that ran beside the tuned ones, or the only one there is.
fn matrices(results: &[Outcome]) -> Vec<Matrix<'_>> {
    let mut folders: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for outcome in results {
        if let Some((folder, task)) = trained_on(&outcome.model) {
            let tuned = folders.entry(folder).or_default();
            tuned.insert(task, outcome.model.clone());
        }
    }
    let untuned = |beside: Option<&BTreeMap<String, String>>| {
        let with = |run: usize| {
            beside.is_none_or(|tuned| {
                let mut same = results.iter().filter(|r| r.run == run);
                same.any(|r| tuned.values().any(|m| *m == r.model))
            })
        };
        let untuned = results.iter();
        let untuned = untuned.filter(|r| trained_on(&r.model).is_none() && with(r.run));
        let mut all: Vec<&str> = untuned.map(|r| r.model.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let mut found = Vec::new();
    for (folder, tuned) in &folders {
        let mut originals = untuned(Some(tuned));
        if originals.is_empty() {
            originals = untuned(None);
        }
        let [original] = originals.as_slice() else {
            continue;
        };
        let of = by_manner(results, original, tuned).into_iter();
        let last = |folder: &str| folder.rsplit(['/', '\\']).next().map(str::to_owned);
        let alike = folders.keys().filter(|f| last(f) == last(folder)).count();
        let name = last(folder).filter(|_| alike == 1);
        let name = name.unwrap_or(folder.clone());
        found.extend(of.filter(Matrix::holds_tuned).map(|matrix| Matrix {
            folder: name.clone(),
            ..matrix
        }));
    }
    found
}

/// Table 8 and Figure 6 of results that hold tuned models and the one they were made of, one of each for
/// each folder of tuned models and way of asking, with the paper's Table 8 below; nothing of others.
pub fn tuned_exhibits(results: &[Outcome]) -> (Vec<Table>, Vec<Figure>) {
    let matrices = matrices(results);
    let (mut tables, mut figures) = (Vec::new(), Vec::new());
    for (matrix, name) in matrices.iter().zip(names(&matrices)) {
        tables.push(name.of_table(matrix.table()));
        figures.push(name.of_figure(before_and_after(matrix)));
    }
    tables.extend(published_beside(&tables));
    (tables, figures)
}

/// Figure 6: each task before and after training on it.
fn before_and_after(matrix: &Matrix<'_>) -> Figure {
    let (original, tuned) = (matrix.original, &matrix.tuned);
    let of = |model: &str, task: &str| {
        // Asked the same twice: the later run counts, as in the table.
        let mut all = matrix.results.iter();
        let found = all.rfind(|r| r.model == model && r.task == task);
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
        Series::published("original (published)", printed(|_| "original".to_owned())),
        Series::published("tuned on the task (published)", printed(str::to_owned)),
    ])
}

/// What the paper prints for the rows and columns of our tables; nothing where it prints none of them.
pub(super) fn published_beside(tables: &[Table]) -> Option<Table> {
    let mut whole = published_matrix();
    let shown = |head: &str| tables.iter().any(|t| t.head.iter().any(|h| h == head));
    let wanted = |place: &usize| shown(&whole.head[*place]);
    let kept: Vec<usize> = (0..whole.head.len()).filter(wanted).collect();
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
    let averages = matrix.average.iter().map(|v| percent(*v));
    let average = std::iter::once("Average".to_owned()).chain(averages);
    DECLARED
        .table("htest-table-8-published")
        .saying("model", &matrix.model)
        .saying("citation", &published().citation)
        .with_heads("trained", matrix.trained.iter().map(|t| task_title(t)))
        .with_published(Cell::printed_rows(rows.chain([average.collect()])))
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
        assert_eq!(
            table.rows[0][..3],
            ["One capital letter in a sentence", "49.5", "50.0"]
        );
    }
}

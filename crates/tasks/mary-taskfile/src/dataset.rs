//! Datasets as Inspect has them, which are tasks by themselves: `input` is asked, `choices` are shown with
//! letters, `target` is right, `id` names the sample. `metadata` is left as it is.

use std::path::Path;

use serde_json::Value;

use crate::TaskFileError;
use crate::plan::Plan;
use crate::rows::{Columns, Format, Table, format_of};

/// The plan of a dataset, by what its first row has.
pub(crate) fn plan(path: &Path) -> Result<Plan, TaskFileError> {
    let wrong = |line: usize, message: String| TaskFileError::Wrong {
        path: path.to_owned(),
        line,
        message,
    };
    let format = format_of(path).map_err(|why| wrong(1, why))?;
    let table = Table::open(path.to_owned(), format, None, None).map_err(|source| {
        TaskFileError::Unreadable {
            path: path.to_owned(),
            what: "the dataset",
            source,
            hint: String::new(),
        }
    })?;
    let first = table.rows().and_then(|mut rows| rows.next().transpose());
    let first = first.map_err(|error| {
        // The reader of rows names the place itself.
        let said = error.to_string();
        let place = format!("{}:1: ", path.display());
        wrong(1, said.strip_prefix(&place).unwrap_or(&said).to_owned())
    })?;
    let row = first.ok_or_else(|| wrong(1, "there are no rows; expected at least one".into()))?;
    for column in ["input", "target"] {
        if !row.columns.contains_key(column) {
            let have: Vec<&str> = row.columns.keys().map(String::as_str).collect();
            let message = format!(
                "a dataset has `input` and `target`, and there is no `{column}`; there are: {}\n\
                     hint: other columns are asked with a task file (`mary tasks new`)",
                have.join(", ")
            );
            return Err(wrong(row.line, message));
        }
    }
    Plan::of_source(path, &source(path, &row.columns, format))
}

/// The task file that says the same.
fn source(path: &Path, row: &Columns, format: Format) -> String {
    let given = |v: &Value| !v.is_null() && v.as_str() != Some("");
    let there = |name: &str| row.get(name).is_some_and(given);
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = format!("[data]\npath = {}\n", quoted(&file));
    if there("id") {
        text.push_str("id = \"id\"\n");
    }
    text.push_str("[request]\nkind = \"generate\"\n");
    let list = matches!(row.get("input"), Some(Value::Array(_)));
    match (there("choices"), list) {
        (false, true) => text.push_str("turns = \"{{ input }}\"\n"),
        (false, false) => text.push_str("prompt = \"{{ input }}\"\n"),
        (true, true) => text.push_str(
            "turns = \"\"\"{{ input + [{'role': 'user', 'content': lettered ~ '\\nAnswer with the letter of the \
             right option.'}] }}\"\"\"\n",
        ),
        (true, false) => text.push_str(
            "prompt = \"{{ input }}\\n\\n{{ lettered }}\\n\\nAnswer with the letter of the right option.\\nAnswer:\"\n",
        ),
    }
    if there("choices") {
        // In a file of fields they are one text.
        let choices = match format {
            Format::Csv | Format::Tsv => "{{ choices.split(',') }}",
            _ => "{{ choices }}",
        };
        text.push_str(&format!("choices = \"{choices}\"\n"));
        text.push_str("[judge]\nkind = \"choice\"\nanswer_is = \"letter\"\n");
    } else {
        text.push_str("[judge]\nkind = \"contains\"\n");
    }
    text.push_str("answer = \"{{ target }}\"\n");
    text
}

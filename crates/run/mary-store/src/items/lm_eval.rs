//! Items as a task of lm-evaluation-harness: a YAML file and its rows, which it loads as they are.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ItemsError, ItemsOf, Lines, Plain, Sink};
use crate::fault::{Result, io_at};

/// A task file that is written once the kind of its rows is known.
pub(super) struct Task {
    file: PathBuf,
    pub data: PathBuf,
    of: ItemsOf,
    rows: Box<Lines>,
    output: Option<&'static str>,
}

impl Task {
    pub fn create(file: &Path, of: &ItemsOf) -> Result<Self> {
        let data = file.with_extension("jsonl");
        Ok(Self {
            file: file.to_owned(),
            rows: Box::new(Lines::create(&data)?),
            data,
            of: of.clone(),
            output: None,
        })
    }

    fn text(&self) -> Result<String> {
        let data = std::fs::canonicalize(&self.data).map_err(io_at(&self.data))?;
        let name = self.of.task.replace(|c: char| !c.is_alphanumeric(), "_");
        let output = self.output.unwrap_or("generate_until");
        // Rows hold prompts and options as they are asked, spaces included, so nothing is put between.
        let asked = match output {
            "multiple_choice" => include_str!("lm_eval/multiple_choice.yaml"),
            "loglikelihood" => include_str!("lm_eval/loglikelihood.yaml"),
            _ => include_str!("lm_eval/generate_until.yaml"),
        };
        Ok(format!(
            include_str!("lm_eval/task.yaml"),
            name = format_args!("mary_{name}_seed{}", self.of.seed),
            data = json!(data.display().to_string()),
            output = output,
            asked = asked,
            task = json!(self.of.task),
            version = json!(self.of.version),
            seed = self.of.seed
        ))
    }
}

impl Sink for Task {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        let output = match row.get("output").and_then(Value::as_str) {
            Some("multiple_choice") => "multiple_choice",
            Some("loglikelihood") => "loglikelihood",
            _ => "generate_until",
        };
        if *self.output.get_or_insert(output) != output {
            return Err(ItemsError::Unfit(
                "the task asks some items in words and others by probabilities, which one task file of \
                 lm-evaluation-harness cannot say"
                    .into(),
            ));
        }
        let mut row = row.clone();
        if let Value::Object(row) = &mut row {
            row.remove("output");
        }
        self.rows.put(&row)
    }

    fn end(self: Box<Self>) -> Result<(), ItemsError> {
        let text = self.text()?;
        self.rows.end()?;
        Ok(std::fs::write(&self.file, text).map_err(io_at(&self.file))?)
    }
}

pub(super) fn row(plain: &Plain<'_>) -> Result<Value, ItemsError> {
    let unfit = |why: &str| ItemsError::Unfit(format!("item {}: {why}", plain.item.id));
    if !plain.images().is_empty() {
        return Err(unfit(
            "it shows pictures, which a task file of lm-evaluation-harness cannot hold\nhint: --to inspect can",
        ));
    }
    let mut row = json!({ "id": plain.item.id, "prompt": plain.text() });
    match (plain.kind, plain.continuations.as_slice()) {
        ("generate", _) => {
            row["target"] = json!(plain.target());
            row["output"] = json!("generate_until");
        }
        ("score", [one]) => {
            row["target"] = json!(one);
            row["output"] = json!("loglikelihood");
        }
        ("score", several) => {
            let gold = plain.options().filter(|(o, _)| o.len() == several.len());
            let (_, gold) =
                gold.ok_or_else(|| unfit("it has several texts and none is the right one"))?;
            row["continuations"] = json!(several);
            row["gold"] = json!(gold);
            row["output"] = json!("multiple_choice");
        }
        _ => {
            return Err(unfit(
                "it reads vectors, for which lm-evaluation-harness has no form\nhint: --to jsonl has",
            ));
        }
    }
    Ok(row)
}

//! Items as a task of lm-evaluation-harness: a YAML file and its rows, which it loads as they are.

use std::path::{Path, PathBuf};

use mary_contract::StoreError;
use serde_json::{Value, json};

use super::{ItemsError, ItemsOf, Lines, Plain, Sink};
use crate::fault::io_at;

/// A task file that is written once the kind of its rows is known.
pub(super) struct Task {
    file: PathBuf,
    pub data: PathBuf,
    of: ItemsOf,
    rows: Box<Lines>,
    output: Option<&'static str>,
}

impl Task {
    pub fn create(file: &Path, of: &ItemsOf) -> Result<Self, StoreError> {
        let data = file.with_extension("jsonl");
        Ok(Self {
            file: file.to_owned(),
            rows: Box::new(Lines::create(&data)?),
            data,
            of: of.clone(),
            output: None,
        })
    }

    fn text(&self) -> Result<String, StoreError> {
        let data = std::fs::canonicalize(&self.data).map_err(io_at(&self.data))?;
        let name: String = self
            .of
            .task
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let name = format!("mary_{name}_seed{}", self.of.seed);
        let output = self.output.unwrap_or("generate_until");
        // Rows hold prompts and options as they are asked, spaces included, so nothing is put between.
        let asked = match output {
            "multiple_choice" => {
                "doc_to_text: prompt\ndoc_to_choice: continuations\ndoc_to_target: gold\n\
                 metric_list:\n- {metric: acc, aggregation: mean, higher_is_better: true}\n\
                 - {metric: acc_norm, aggregation: mean, higher_is_better: true}\n"
            }
            "loglikelihood" => {
                "doc_to_text: prompt\ndoc_to_target: target\n\
                 metric_list:\n- {metric: perplexity, aggregation: perplexity, higher_is_better: false}\n\
                 - {metric: acc, aggregation: mean, higher_is_better: true}\n"
            }
            _ => {
                "doc_to_text: prompt\ndoc_to_target: target\n\
                 generation_kwargs: {until: [\"\\n\"], do_sample: false, temperature: 0.0}\n\
                 filter_list:\n- name: bare\n  filter: [{function: remove_whitespace}, {function: take_first}]\n\
                 metric_list:\n- {metric: exact_match, aggregation: mean, higher_is_better: true, \
                 ignore_case: true, ignore_punctuation: true}\n"
            }
        };
        Ok(format!(
            "task: {name}\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {}\n\
             test_split: test\nnum_fewshot: 0\noutput_type: {output}\ntarget_delimiter: \"\"\n{asked}\
             metadata:\n  version: 1.0\n  mary_task: {}\n  mary_version: {}\n  mary_seed: {}\n",
            json!(data.display().to_string()),
            json!(self.of.task),
            json!(self.of.version),
            self.of.seed
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

//! What a sweep shows at its end: its checkpoints, what is wrong with some, when each ability grows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mary_contract::{
    Cell, Estimate, Exhibits, NumberColumns, Registry, RunSummary, SummaryRow, Table,
};
use mary_lab::RunSpec;
use mary_lab::checkpoints::{Fault, Record, State, faults};
use mary_lab::families::amount;
use mary_report::ScoreScale;
use mary_report::html::ReportOptions;
use mary_store::RunFolder;

use crate::commands::carry_out::ShowOptions;
use crate::commands::development::exhibits;
use crate::commands::{chapters, print, print_json, summary, tell};

/// A score far from those before and after it: seen in the results, not in the weights.
const OFF_TREND: &str = "off the trend";

struct Ran {
    path: PathBuf,
    model: String,
    summary: RunSummary,
}

/// Shows everything; true when some checkpoint is not what its name says.
pub fn show(
    registry: &Registry,
    state: &State,
    spec: &RunSpec,
    records: &[Record],
    shown: &ShowOptions,
) -> anyhow::Result<bool> {
    let mut runs: Vec<Ran> = Vec::new();
    for record in records {
        if let Some(folder) = record.run() {
            let path = state.runs().join(folder);
            let summary = mary_lab::load_summary(registry, &RunFolder::open(&path)?)?;
            runs.push(Ran {
                path,
                model: record.model.clone(),
                summary,
            });
        }
    }
    let mut wrong = faults(records);
    // What the weights already tell is left out of the curves; what only the scores tell is drawn in
    // them, apart.
    let strange: BTreeSet<String> = wrong.iter().map(|f| f.model.clone()).collect();
    let sound: Vec<&Ran> = runs
        .iter()
        .filter(|r| !strange.contains(&r.model))
        .collect();
    let summaries: Vec<RunSummary> = sound.iter().map(|r| r.summary.clone()).collect();
    wrong.extend(off_trend(registry, &summaries));
    let table = checkpoints(spec, records, &runs, &wrong, &|run, row, score| {
        ScoreScale::in_run(run, row).cell(score)
    });
    let development = exhibits(registry, &summaries);
    if shown.json {
        let exact = checkpoints(spec, records, &runs, &wrong, &|_, _, score| {
            Cell::figure(format!("{:.3}", score.value))
        });
        print_json(&as_json(state, &exact, &wrong, &development))?;
    } else {
        summary::show_table(&table)?;
        for shown in &development.tables {
            print("\n")?;
            summary::show_table(shown)?;
        }
    }
    for fault in &wrong {
        tell(&format!(
            "{}: {}: {}",
            fault.model, fault.kind, fault.message
        ));
    }
    if shown.report && !sound.is_empty() {
        let out = state.path().join("report.html");
        let paths: Vec<PathBuf> = sound.iter().map(|r| r.path.clone()).collect();
        // What a sweep is made for comes first: the curves, then the checkpoints and windows as tables.
        let mut shown = development.clone();
        shown.tables.insert(0, table);
        let chapter = chapters::MadeChapter("sweep", "The sweep", shown);
        let options = ReportOptions {
            lead: Some(chapter.0.to_owned()),
            ..ReportOptions::default()
        };
        chapters::write_with(registry, &paths, vec![Box::new(chapter)], &out, &options)?;
        tell(&format!("report: {}", out.display()));
    }
    tell(&format!("sweep:  {}", state.path().display()));
    Ok(!wrong.is_empty())
}

/// Checkpoints whose score left the trend of their size.
fn off_trend(registry: &Registry, summaries: &[RunSummary]) -> Vec<Fault> {
    let families = registry.families().iter();
    families
        .filter_map(|family| family.development())
        .flat_map(|development| development.off_trend(summaries))
        .map(|(model, message)| Fault {
            model,
            kind: OFF_TREND,
            message,
        })
        .collect()
}

/// One row for each checkpoint: scores by task, written as `written` does, and what is wrong with it.
fn checkpoints(
    spec: &RunSpec,
    records: &[Record],
    runs: &[Ran],
    wrong: &[Fault],
    written: &dyn Fn(&RunSummary, &SummaryRow, &Estimate) -> Cell,
) -> Table {
    let tasks: Vec<&str> = spec.tasks.iter().map(|choice| choice.id.as_str()).collect();
    let short = |task: &str| task.rsplit('/').next().unwrap_or(task).to_owned();
    let mut head = vec!["model".to_owned(), "checkpoint".into(), "tokens".into()];
    head.extend(tasks.iter().map(|task| short(task)));
    // Tokens and scores; the remark behind them is text.
    let numbers_end = head.len();
    head.push("remark".into());
    let rows = records
        .iter()
        .map(|record| {
            let mut row = vec![
                record.size.clone().into(),
                record.revision.clone().into(),
                Cell::figure(record.tokens.map_or_else(String::new, |t| amount(t as f64))),
            ];
            let ran = runs.iter().find(|r| r.model == record.model);
            row.extend(tasks.iter().map(|task| {
                let of = |ran: &&Ran| {
                    let row = ran.summary.rows.iter().find(|r| r.task == *task)?;
                    Some(written(&ran.summary, row, row.score.as_ref()?))
                };
                ran.as_ref().and_then(of).unwrap_or_default()
            }));
            let said = wrong.iter().filter(|f| f.model == record.model);
            row.push(
                said.map(|f| format!("{}: {}", f.kind, f.message))
                    .collect::<Vec<_>>()
                    .join("; ")
                    .into(),
            );
            row
        })
        .collect();
    Table {
        id: "sweep-checkpoints".into(),
        title: "Checkpoints".into(),
        caption: "Scores of every checkpoint with samples and 95 % interval, and what speaks against it. The weights of a revision are \
                  compared with those of all others of its size; those that are not what their name \
                  says are in no figure."
            .into(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::At((2..numbers_end).collect()),
    }
}

fn as_json(
    state: &State,
    table: &Table,
    wrong: &[Fault],
    development: &Exhibits,
) -> serde_json::Value {
    let row = |cells: &Vec<Cell>| -> serde_json::Value {
        table
            .head
            .iter()
            .cloned()
            .zip(cells.iter().map(|c| c.as_ref().into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    serde_json::json!({
        "folder": state.path(),
        "checkpoints": table.rows.iter().map(row).collect::<Vec<_>>(),
        "faults": wrong.iter().map(|f| serde_json::json!({
            "model": f.model, "kind": f.kind, "message": f.message,
        })).collect::<Vec<_>>(),
        "windows": development.tables,
    })
}

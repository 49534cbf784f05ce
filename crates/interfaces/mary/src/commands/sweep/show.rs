//! What a sweep shows at its end: its checkpoints, what is wrong with some, when each ability grows.

use std::path::PathBuf;

use mary_contract::{
    Cell, Estimate, Exhibits, NumberColumns, Registry, RunSummary, SummaryRow, Table,
};
use mary_lab::checkpoints::{Fault, Record, State, faults};
use mary_lab::families::amount;
use mary_platform::distinct;
use mary_report::ScoreScale;
use mary_report::html::ReportOptions;

use crate::commands::carry_out::ShowOptions;
use crate::commands::development::exhibits;
use crate::commands::{DECLARED, chapters, print, print_json, summary, tell};
use crate::library;

/// A score far from those before and after it: seen in the results, not in the weights.
const OFF_TREND: &str = "off the trend";

struct Ran {
    path: PathBuf,
    model: String,
    summary: RunSummary,
}

/// What came of the checkpoints of a sweep.
struct Swept {
    folder: PathBuf,
    tasks: Vec<String>,
    records: Vec<Record>,
    runs: Vec<Ran>,
    wrong: Vec<Fault>,
}

impl Swept {
    fn read(registry: &Registry, state: &State, records: Vec<Record>) -> anyhow::Result<Self> {
        let mut runs: Vec<Ran> = Vec::new();
        for record in &records {
            if let Some(folder) = record.run() {
                let path = state.runs().join(folder);
                let summary = library::summary(registry, &path)?;
                runs.push(Ran {
                    path,
                    model: record.model.clone(),
                    summary,
                });
            }
        }
        let tasks = runs.iter().flat_map(|r| &r.summary.manifest.tasks);
        let tasks = distinct(tasks.map(|task| task.id.clone()));
        Ok(Self {
            folder: state.path().to_owned(),
            tasks,
            wrong: faults(&records),
            records,
            runs,
        })
    }

    /// What the weights already tell is left out of the curves; what only the scores tell is drawn in them,
    /// apart.
    fn sound(&self) -> impl Iterator<Item = &Ran> {
        let faulty = |ran: &&Ran| {
            let strange = |f: &Fault| f.kind != OFF_TREND && f.model == ran.model;
            self.wrong.iter().any(strange)
        };
        self.runs.iter().filter(move |ran| !faulty(ran))
    }

    fn table(&self) -> Table {
        checkpoints(self, &|run, row, score| {
            ScoreScale::in_run(run, row).cell(score)
        })
    }
}

/// What is to be seen of some sweeps, whose models are drawn together, and the folders of their sound runs.
/// What their scores tell against checkpoints is added to what is wrong with them.
fn exhibit(registry: &Registry, sweeps: &mut [Swept]) -> (Exhibits, Vec<PathBuf>) {
    let sound = || sweeps.iter().flat_map(Swept::sound);
    let summaries: Vec<RunSummary> = sound().map(|r| r.summary.clone()).collect();
    let paths = sound().map(|r| r.path.clone()).collect();
    let off = off_trend(registry, &summaries);
    for swept in sweeps {
        let own = |fault: &&Fault| swept.records.iter().any(|r| r.model == fault.model);
        swept.wrong.extend(off.iter().filter(own).cloned());
    }
    (exhibits(registry, &summaries), paths)
}

/// The chapter that a report of a sweep begins with: the curves, then the checkpoints and windows as tables.
fn made(sweeps: &[Swept], development: Exhibits) -> chapters::AnyChapter<'static> {
    let mut shown = development;
    for (place, swept) in sweeps.iter().enumerate() {
        let mut table = swept.table();
        if sweeps.len() > 1 {
            let name = swept
                .folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            table.id = format!("{}-{}", table.id, place + 1);
            table.title = format!("{} of {name}", table.title);
        }
        shown.tables.insert(place, table);
    }
    chapters::made(CHAPTER, "The sweep", shown)
}

const CHAPTER: &str = "sweep";

/// The first chapter of a report that has sweeps, from what lies in their folders.
pub fn chapter(
    registry: &Registry,
    states: &[&State],
) -> anyhow::Result<chapters::AnyChapter<'static>> {
    let read = states
        .iter()
        .map(|state| Swept::read(registry, state, state.all()));
    let mut sweeps = read.collect::<anyhow::Result<Vec<_>>>()?;
    let (development, _) = exhibit(registry, &mut sweeps);
    Ok(made(&sweeps, development))
}

/// Which chapter comes first.
pub fn leading() -> ReportOptions {
    ReportOptions {
        lead: Some(CHAPTER.to_owned()),
        ..ReportOptions::default()
    }
}

/// Shows everything; true when some checkpoint is not what its name says.
pub fn show(
    registry: &Registry,
    state: &State,
    records: Vec<Record>,
    shown: &ShowOptions,
) -> anyhow::Result<bool> {
    let mut sweeps = [Swept::read(registry, state, records)?];
    let (development, paths) = exhibit(registry, &mut sweeps);
    let [swept] = &sweeps;
    let wrong = &swept.wrong;
    if shown.json {
        let exact = checkpoints(swept, &|_, _, score| {
            Cell::figure(format!("{:.3}", score.value))
        });
        print_json(&as_json(state, &exact, wrong, &development))?;
    } else {
        summary::show_table(&swept.table())?;
        for shown in &development.tables {
            print("\n")?;
            summary::show_table(shown)?;
        }
    }
    for fault in wrong {
        tell!("{}: {}: {}", fault.model, fault.kind, fault.message);
    }
    if shown.report && !paths.is_empty() {
        let out = summary::report_path(state.path());
        let chapter = made(&sweeps, development);
        chapters::write_with(registry, &paths, &[chapter], &out, &leading())?;
        tell!("report: {}", out.display());
    }
    tell!("sweep:  {}", state.path().display());
    Ok(!swept.wrong.is_empty())
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
    swept: &Swept,
    written: &dyn Fn(&RunSummary, &SummaryRow, &Estimate) -> Cell,
) -> Table {
    let Swept {
        tasks,
        records,
        runs,
        wrong,
        ..
    } = swept;
    let short = |task: &str| task.rsplit('/').next().unwrap_or(task).to_owned();
    let rows = records.iter().map(|record| {
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
    });
    let mut table = DECLARED
        .table("sweep-checkpoints")
        .with_heads("tasks", tasks.iter().map(|task| short(task)))
        .with_rows(rows);
    // Tokens and scores; the remark behind them is text.
    table.numbers = NumberColumns::At((2..3 + tasks.len()).collect());
    table
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

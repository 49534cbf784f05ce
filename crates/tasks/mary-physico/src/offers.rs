//! The family: its tasks, its exhibits, fine-tuning sets, what an audit must know of its grids, and
//! `mary physico` with pictures of the worlds and the form on which people judge descriptions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::{
    Arguments, AuditExpectations, Cell, DataSource, Exhibits, Family, FamilyCommand, FamilyError,
    Made, MarkingForm, RunSummary, Sample, ShownAs, SurfaceFinding, Table, Task, TaskCard,
    TaskError, TaskRun, TaskSettings, Text, TuningForm, TuningRequest, TuningSet, Twin, built_in,
    source_word, text,
};

use crate::forms::{judgement_form, labels_file, recall_form, seen_form, validation_form};
use crate::instances::sample_pairs;
use crate::surface::surface;
use crate::tuning::{
    ARC_SIDE, LEAST_SIDE, MATRIX_PAIRS, MATRIX_SIDE, TuningKind, chat_jsonl, instruction_json,
    released_core, tuning_examples,
};
use crate::worlds::{self, Concept};
use crate::{Physico, TASKS, exhibits, picture, tuned};

const PER_PAGE: usize = 10;
/// Instances of each concept in a fine-tuning set.
const PER_CONCEPT: usize = 4;

fn png(picture: &mary_generators::Picture) -> Result<Vec<u8>, TaskError> {
    picture::png(picture).map_err(|error| TaskError::Generator(error.to_string()))
}

fn form(path: PathBuf, form: MarkingForm) -> Result<Made, FamilyError> {
    Ok(Made {
        form: Some((path, form)),
        ..Made::default()
    })
}

fn written(path: PathBuf, bytes: Vec<u8>) -> Result<Made, FamilyError> {
    Ok(Made {
        files: vec![(path, bytes)],
        ..Made::default()
    })
}

fn concepts() -> Table {
    let rows = worlds::concepts().iter().flat_map(|c| {
        c.aspects.iter().map(move |a| {
            [c.name, c.set.name(), a.id, a.rule]
                .map(str::to_owned)
                .to_vec()
        })
    });
    Table {
        head: ["concept", "set", "aspect", "rule"]
            .map(String::from)
            .to_vec(),
        rows: Cell::rows(rows.collect()),
        ..Table::default()
    }
}

fn named(name: &str) -> Result<&'static Concept, FamilyError> {
    worlds::concept(name).ok_or_else(|| FamilyError::Unknown {
        what: "concept",
        name: name.to_owned(),
        known: worlds::concepts().iter().map(|c| c.id.to_owned()).collect(),
        list: "mary physico concepts",
    })
}

fn sheet(names: &[String], seed: u64, titled: bool, out: &Path) -> Result<Made, FamilyError> {
    let chosen: Vec<&'static Concept> = if names.is_empty() {
        worlds::concepts().to_vec()
    } else {
        names.iter().map(|n| named(n)).collect::<Result<_, _>>()?
    };
    let pages: Vec<&[&'static Concept]> = chosen.chunks(PER_PAGE).collect();
    let mut made = Made::default();
    for (number, page) in pages.iter().enumerate() {
        let path = match (out.extension(), pages.len()) {
            (None, _) => numbered(&out.join("sheet.png"), number + 1),
            (Some(_), 1) => out.to_owned(),
            (Some(_), _) => numbered(out, number + 1),
        };
        made.files
            .push((path, png(&picture::sheet(page, seed, titled))?));
    }
    Ok(made)
}

/// `sheet.png` becomes `sheet-03.png`.
fn numbered(path: &Path, page: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{page:02}.{ending}"))
}

impl Family for Physico {
    fn id(&self) -> &str {
        "physico"
    }

    fn title(&self) -> &str {
        "PHYSICO: physical concepts as grids"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(&TASKS)
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits::exhibits(runs)
    }

    fn tuning_sets(&self) -> Vec<Text> {
        vec![
            text("physico/matrix"),
            text("physico/arc"),
            text("physico/core"),
            text("physico/core-text"),
        ]
    }

    fn tuning_set(
        &self,
        name: &str,
        wanted: &TuningRequest,
        data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        let kind = TuningKind::named(name)
            .ok_or_else(|| FamilyError::Usage(format!("{name} has no fine-tuning set")))?;
        let known = |name: &str| name == "source" || name == "largest" && kind != TuningKind::Core;
        if let Some((setting, value)) = wanted.params.iter().find(|(name, _)| !known(name)) {
            return Err(FamilyError::Usage(format!(
                "PHYSICO's fine-tuning sets take the setting source, and matrix and arc largest; found \
                 {setting}={value}\nhint: leave it out; -n says how many"
            )));
        }
        let largest = match wanted.params.get("largest").map(|side| side.parse()) {
            None if kind == TuningKind::Arc => ARC_SIDE,
            None => MATRIX_SIDE,
            Some(Ok(side)) if (LEAST_SIDE..=ARC_SIDE).contains(&side) => side,
            Some(_) => {
                return Err(FamilyError::Usage(format!(
                    "largest is the most rows and columns of a grid: a number from {LEAST_SIDE} to {ARC_SIDE}"
                )));
            }
        };
        let source = wanted.params.get("source").map(|word| source_word(word));
        let released = match (kind, source) {
            (_, None | Some("fresh")) => false,
            // ARC is somebody's release whatever is said.
            (TuningKind::Core | TuningKind::Arc, Some("published")) => true,
            (TuningKind::Matrix, Some("published")) => {
                let message = "the authors released no synthetic matrices\nhint: leave --set source=published out: \
                     fresh ones follow Appendix E";
                return Err(FamilyError::Usage(message.into()));
            }
            (_, Some(other)) => {
                return Err(FamilyError::Usage(format!(
                    "expected source=fresh or source=published, found source={other}"
                )));
            }
        };
        if released && wanted.n.is_some() {
            let message = "a released set has as many items as it has\nhint: leave -n out; `mary tune --examples N` learns \
                 from a part";
            return Err(FamilyError::Usage(message.into()));
        }
        let n = wanted.n.unwrap_or(match kind {
            TuningKind::Matrix => MATRIX_PAIRS,
            TuningKind::Arc | TuningKind::Core => PER_CONCEPT,
        });
        let examples = match (kind, released) {
            (TuningKind::Core, true) => released_core(data)?,
            _ => tuning_examples(kind, wanted.seed, (n, largest), data)?,
        };
        Ok(TuningSet {
            items: examples.len(),
            text: match wanted.form {
                TuningForm::Chat => chat_jsonl(&examples),
                TuningForm::Instruction => instruction_json(&examples),
            },
            hint: None,
        })
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        tuned::tuned_rows(runs, pairs).into_iter().collect()
    }

    fn audit_expectations(&self, task: &TaskCard) -> AuditExpectations {
        AuditExpectations {
            // The same definition stands in many blocks: chained together, all would be one group.
            ungrouped: task.id == "physico/definition",
            ..AuditExpectations::default()
        }
    }

    fn surface_findings(
        &self,
        task: &TaskCard,
        settings: &TaskSettings,
        data: &dyn DataSource,
    ) -> Result<Vec<SurfaceFinding>, TaskError> {
        surface(&task.id, settings, data)
    }

    fn twin(&self, run: &TaskRun) -> Option<Twin> {
        let (name, shown) = match run.id.strip_suffix("-visual") {
            Some(name) => (name, ShownAs::Picture),
            None => (run.id.strip_suffix("-text")?, ShownAs::Words),
        };
        run.id.starts_with("physico/").then(|| Twin {
            name: name.to_owned(),
            shown,
            apart: Vec::new(),
        })
    }

    fn command(&self) -> Option<FamilyCommand> {
        FamilyCommand::read(include_str!("command.json"))
    }

    fn act(
        &self,
        action: &str,
        arguments: &Arguments,
        samples: Vec<Sample>,
    ) -> Result<Made, FamilyError> {
        let out = PathBuf::from(arguments.one("out"));
        match action {
            "concepts" => Ok(Made {
                tables: vec![concepts()],
                ..Made::default()
            }),
            "sheet" => {
                let titled = !arguments.flag("untitled");
                let seed = arguments.number("seed")?;
                sheet(arguments.all("concept"), seed, titled, &out)
            }
            "prompt" => {
                let concept = named(arguments.one("concept"))?;
                let associative = arguments.flag("associative");
                let pairs = sample_pairs(concept, arguments.number("seed")?, associative);
                let fault = || format!("no instance of {} could be drawn", concept.name);
                let pairs = pairs.ok_or_else(|| TaskError::Generator(fault()))?;
                written(out, png(&picture::prompt(&pairs))?)
            }
            "form" => form(out, judgement_form(&samples)),
            "recall" => form(out, recall_form(&samples)),
            "seen" => form(out, seen_form(&samples)),
            "validate" => form(out, validation_form(&samples)),
            "labels" => {
                let (file, table) = labels_file(&samples, arguments.number("validators")?);
                Ok(Made {
                    tables: vec![table],
                    files: vec![(out, file.into_bytes())],
                    ..Made::default()
                })
            }
            other => Err(FamilyError::Usage(format!("there is no action `{other}`"))),
        }
    }
}

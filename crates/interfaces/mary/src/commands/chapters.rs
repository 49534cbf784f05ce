//! What reports are made of: the chapters that the program has, and the page and tables written from them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::{Exhibits, Registry, RunSummary};
use mary_platform::Replacement;
use mary_report::html::{self, BuiltChapter, Chapter, Contents, ReportOptions};
use mary_report::text;
use mary_store::RunFolder;
use mary_study::results::{PEOPLE, is_people};

use super::{designs, twins};

pub type AnyChapter<'a> = Chapter<'a, anyhow::Error>;

/// What a report shows of these runs, chapter by chapter: a new one is one function and one line here.
fn chapters<'a>(
    registry: &'a Registry,
    folders: &'a [RunFolder],
    grown: bool,
) -> Vec<AnyChapter<'a>> {
    let mut all: Vec<AnyChapter<'a>> = vec![
        learning(),
        designs::chapter(),
        people(folders),
        adaptive_tests(folders),
        twins::chapter(registry, folders),
    ];
    all.extend(families(registry, grown));
    all
}

/// What each family has to show, where one of its tasks was run; with models that grow, whose windows take long,
/// where no chapter before shows them.
fn families(registry: &Registry, grown: bool) -> impl Iterator<Item = AnyChapter<'_>> {
    registry.families().iter().map(move |family| {
        Chapter::new(family.id(), family.title(), move |runs| {
            let mut tasks = runs.iter().flat_map(|run| &run.rows).map(|row| &row.task);
            if !tasks.any(|task| task.split('/').next() == Some(family.id())) {
                return Ok(None);
            }
            // Families show shares of all items; an adaptive run asked each model other ones.
            let runs: Vec<RunSummary> = runs.iter().filter(|r| !is_adaptive(r)).cloned().collect();
            if runs.is_empty() {
                return Ok(Some(Exhibits::default().into()));
            }
            let mut shown = family.exhibits(&runs);
            if let Some(development) = family.development().filter(|_| grown) {
                shown.append(development.exhibits(&runs));
            }
            Ok(Some(shown.into()))
        })
    })
}

/// What the families of these runs have to show, each in a chapter of its own.
pub fn family_chapters(
    registry: &Registry,
    summaries: &[RunSummary],
) -> anyhow::Result<Vec<BuiltChapter>> {
    html::build(&families(registry, true).collect::<Vec<_>>(), summaries)
}

/// Chapters that show models that grow: of a sweep, and of `mary grow`.
pub const GROWN: [&str; 2] = ["sweep", "development"];

/// Learning curves, where some of the runs asked a model that still has its own beside it.
fn learning<'a>() -> AnyChapter<'a> {
    Chapter::new("learning", "Learning", |runs| {
        let models = runs.iter().flat_map(|run| &run.manifest.models);
        Ok(mary_lab::learning::exhibits(models)?.map(Contents::from))
    })
}

fn people(folders: &[RunFolder]) -> AnyChapter<'_> {
    Chapter::new(PEOPLE, "People", |_| {
        let theirs = |folder: &&RunFolder| {
            let models = &folder.manifest().models;
            models.iter().any(|m| is_people(&m.model.to_string()))
        };
        let mut samples = Vec::new();
        for folder in folders.iter().filter(theirs) {
            for sample in folder.samples()? {
                samples.push(sample?);
            }
        }
        samples.retain(|sample| is_people(&sample.id.model));
        Ok((!samples.is_empty()).then(|| mary_study::exhibits::of_people(&samples).into()))
    })
}

fn is_adaptive(run: &RunSummary) -> bool {
    run.manifest.execution.adaptive.is_some()
}

/// Runs that stopped when they knew enough, on the map of their scale.
fn adaptive_tests(folders: &[RunFolder]) -> AnyChapter<'_> {
    Chapter::new("adaptive", "Adaptive tests", |runs| {
        let mut all = Exhibits::default();
        for (folder, summary) in folders.iter().zip(runs) {
            if is_adaptive(summary) {
                let shown = mary_lab::scale::of_adaptive(folder, summary)?;
                all.append(shown);
            }
        }
        Ok((!all.tables.is_empty()).then(|| all.into()))
    })
}

/// A chapter whose contents are there already.
pub fn made<'a>(id: &'a str, title: &'a str, exhibits: Exhibits) -> AnyChapter<'a> {
    Chapter::new(id, title, move |_| Ok(Some(exhibits.clone().into())))
}

struct Reported {
    folders: Vec<RunFolder>,
    summaries: Vec<RunSummary>,
}

impl Reported {
    fn open(registry: &Registry, runs: &[PathBuf]) -> anyhow::Result<Self> {
        let folders = runs.iter().map(|path| RunFolder::open(path));
        let folders: Vec<RunFolder> = folders.collect::<Result<_, _>>()?;
        let summaries = folders.iter().map(|f| mary_lab::load_summary(registry, f));
        Ok(Self {
            summaries: summaries.collect::<Result<_, _>>()?,
            folders,
        })
    }

    fn chapters(
        &self,
        registry: &Registry,
        first: &[AnyChapter<'_>],
    ) -> anyhow::Result<Vec<BuiltChapter>> {
        let grown = first.iter().all(|c| !GROWN.contains(&c.id));
        let others = chapters(registry, &self.folders, grown);
        html::build(first.iter().chain(&others), &self.summaries)
    }
}

/// Writes a report of these run folders, with chapters of its own before those of the families.
pub fn write_with(
    registry: &Registry,
    runs: &[PathBuf],
    first: &[AnyChapter<'_>],
    out: &Path,
    options: &ReportOptions,
) -> anyhow::Result<()> {
    let reported = Reported::open(registry, runs)?;
    let chapters = reported.chapters(registry, first)?;
    let mut problem = None;
    let mut samples = reported.folders.iter().flat_map(|folder| {
        let id = folder.manifest().id.clone();
        let stream: Box<dyn Iterator<Item = _>> = match folder.samples() {
            Ok(samples) => Box::new(samples),
            Err(error) => Box::new(std::iter::once(Err(error))),
        };
        stream.map(move |sample| sample.map(|s| (id.clone(), s)))
    });
    let mut sound = std::iter::from_fn(|| match samples.next()? {
        Ok(sample) => Some(sample),
        Err(error) => {
            problem = Some(error);
            None
        }
    });
    // Written beside and renamed, so that a report is whole or not there.
    let cannot = || format!("{}: the report cannot be written", out.display());
    let mut file = Replacement::begin(out).with_context(cannot)?;
    html::report(
        &reported.summaries,
        &chapters,
        &mut sound,
        options,
        &mut file,
    )?;
    if let Some(error) = problem {
        return Err(error.into());
    }
    file.commit().with_context(cannot)
}

/// Writes a page that begins with these exhibits and shows no samples.
pub fn write_page(
    registry: &Registry,
    (id, title): (&str, &str),
    exhibits: Exhibits,
    runs: &[PathBuf],
    out: &Path,
) -> anyhow::Result<()> {
    let options = ReportOptions {
        title: Some(title.into()),
        lead: Some(id.into()),
        max_samples: 0,
        ..ReportOptions::default()
    };
    write_with(registry, runs, &[made(id, title, exhibits)], out, &options)
}

/// Every table and every figure's data as files, for papers.
pub fn write_tables(
    registry: &Registry,
    runs: &[PathBuf],
    first: &[AnyChapter<'_>],
    folder: &Path,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let reported = Reported::open(registry, runs)?;
    let mut tables = vec![mary_report::summary_table(&reported.summaries)];
    for chapter in reported.chapters(registry, first)? {
        let Exhibits {
            tables: own,
            figures,
            pictures,
        } = chapter.contents.exhibits;
        tables.extend(own);
        tables.extend(figures.iter().map(text::figure_table));
        for picture in pictures {
            std::fs::write(folder.join(format!("{}.svg", picture.id)), picture.svg)?;
        }
    }
    for table in &tables {
        let path = |extension: &str| folder.join(format!("{}.{extension}", table.id));
        std::fs::write(path("csv"), text::csv(table))?;
        std::fs::write(path("md"), text::markdown(table))?;
        std::fs::write(path("tex"), text::latex(table))?;
    }
    Ok(())
}

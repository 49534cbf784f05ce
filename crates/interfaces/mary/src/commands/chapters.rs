//! What reports are made of: the chapters that the program has, and the page and tables written from them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::{Exhibits, Family, Registry, RunSummary};
use mary_platform::Replacement;
use mary_report::html::{self, BuiltChapter, Chapter, Contents, ReportOptions};
use mary_report::text;
use mary_store::RunFolder;
use mary_study::results::{PEOPLE, is_people};

use super::designs::Designs;
use super::learning::Learning;
use super::twins::TwinsChapter;

pub type AnyChapter<'a> = Box<dyn Chapter<Error = anyhow::Error> + 'a>;

/// What a report shows of these runs, chapter by chapter: a new one is one type and one line here.
fn chapters<'a>(
    registry: &'a Registry,
    folders: &'a [RunFolder],
    grown: bool,
) -> Vec<AnyChapter<'a>> {
    let mut all: Vec<AnyChapter<'a>> = vec![
        Box::new(Learning),
        Box::new(Designs),
        Box::new(People { folders }),
        Box::new(AdaptiveTests { folders }),
        Box::new(TwinsChapter { registry, folders }),
    ];
    all.extend(families(registry, grown));
    all
}

fn families(registry: &Registry, grown: bool) -> impl Iterator<Item = AnyChapter<'_>> {
    registry
        .families()
        .iter()
        .map(move |family| -> AnyChapter<'_> {
            Box::new(FamilyChapter {
                family: family.as_ref(),
                grown,
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

/// What a family has to show, where one of its tasks was run.
struct FamilyChapter<'a> {
    family: &'a dyn Family,
    /// With models that grow, whose windows take long: where no chapter before shows them.
    grown: bool,
}

impl Chapter for FamilyChapter<'_> {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        self.family.id()
    }

    fn title(&self) -> &str {
        self.family.title()
    }

    fn build(&self, runs: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
        let mut tasks = runs.iter().flat_map(|run| &run.rows).map(|row| &row.task);
        let involved = tasks.any(|task| task.split('/').next() == Some(self.family.id()));
        if !involved {
            return Ok(None);
        }
        let mut shown = self.family.exhibits(runs);
        if let Some(development) = self.family.development().filter(|_| self.grown) {
            let development = development.exhibits(runs);
            shown.tables.extend(development.tables);
            shown.figures.extend(development.figures);
            shown.pictures.extend(development.pictures);
        }
        Ok(Some(shown.into()))
    }
}

struct People<'a> {
    folders: &'a [RunFolder],
}

impl Chapter for People<'_> {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        PEOPLE
    }

    fn title(&self) -> &str {
        "People"
    }

    fn build(&self, _: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
        let theirs = |folder: &&RunFolder| {
            let models = &folder.manifest().models;
            models.iter().any(|m| is_people(&m.model.to_string()))
        };
        let mut samples = Vec::new();
        for folder in self.folders.iter().filter(theirs) {
            for sample in folder.samples()? {
                samples.push(sample?);
            }
        }
        samples.retain(|sample| is_people(&sample.id.model));
        Ok((!samples.is_empty()).then(|| mary_study::exhibits::of_people(&samples).into()))
    }
}

/// Runs that stopped when they knew enough, on the map of their scale.
struct AdaptiveTests<'a> {
    folders: &'a [RunFolder],
}

impl Chapter for AdaptiveTests<'_> {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        "adaptive"
    }

    fn title(&self) -> &str {
        "Adaptive tests"
    }

    fn build(&self, runs: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
        let mut all = Exhibits::default();
        for (folder, summary) in self.folders.iter().zip(runs) {
            if summary.manifest.execution.adaptive.is_some() {
                let shown = mary_lab::scale::of_adaptive(folder, summary)?;
                all.tables.extend(shown.tables);
                all.figures.extend(shown.figures);
                all.pictures.extend(shown.pictures);
            }
        }
        Ok((!all.tables.is_empty()).then(|| all.into()))
    }
}

/// A chapter whose contents are there already: id, title, and what it shows.
#[derive(Clone)]
pub struct MadeChapter(pub &'static str, pub &'static str, pub Exhibits);

impl Chapter for MadeChapter {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        self.0
    }

    fn title(&self) -> &str {
        self.1
    }

    fn build(&self, _: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
        Ok(Some(self.2.clone().into()))
    }
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

    fn chapters<'a>(
        &'a self,
        registry: &'a Registry,
        mut first: Vec<AnyChapter<'a>>,
    ) -> anyhow::Result<Vec<BuiltChapter>> {
        let grown = first.iter().all(|c| !GROWN.contains(&c.id()));
        first.extend(chapters(registry, &self.folders, grown));
        html::build(&first, &self.summaries)
    }
}

/// Writes a report of these run folders, with chapters of its own before those of the families.
pub fn write_with(
    registry: &Registry,
    runs: &[PathBuf],
    first: Vec<AnyChapter<'_>>,
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

/// Every table and every figure's data as files, for papers.
pub fn write_tables(
    registry: &Registry,
    runs: &[PathBuf],
    first: Vec<AnyChapter<'_>>,
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

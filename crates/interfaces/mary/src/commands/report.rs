//! `mary report`: one self-contained page of one or more runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::{Exhibits, Registry, RunSummary, model_labels};
use mary_platform::Replacement;
use mary_report::html::{self, Chapter, ReportOptions};
use mary_report::text;
use mary_store::RunFolder;
use mary_study::results::{PEOPLE, is_people};

use super::{learning, summary};
use crate::cli::ReportArgs;
use crate::exit::{Status, UsageError};
use crate::rundir;
use crate::settings::Place;

pub fn report(place: &Place, args: &ReportArgs) -> anyhow::Result<Status> {
    let runs = find_all(place, &args.runs)?;
    let out = match (&args.out, runs.first()) {
        (Some(out), _) => out.clone(),
        (None, Some(first)) => summary::report_path(first),
        (None, None) => PathBuf::from("report.html"),
    };
    let options = ReportOptions {
        max_samples: args.samples,
        ..ReportOptions::default()
    };
    write_with(&place.registry, &runs, Vec::new(), &out, &options)?;
    if let Some(folder) = &args.tables {
        write_tables(&place.registry, &runs, folder)?;
        super::tell(&format!("tables: {}", folder.display()));
    }
    super::print(&format!("{}\n", out.display()))?;
    if args.open {
        let whole = std::path::absolute(&out).unwrap_or(out);
        super::open_in_browser(&whole.to_string_lossy());
    }
    Ok(Status::Done)
}

/// The folders meant, each once; the newest when none is named.
pub fn find_all(place: &Place, wanted: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    if wanted.is_empty() {
        return Ok(vec![rundir::find(place, None)?]);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut real: Vec<PathBuf> = Vec::new();
    for name in wanted {
        let path = rundir::find(place, Some(name))?;
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let before = real.iter().position(|other| *other == whole);
        if let Some(before) = before.and_then(|at| wanted.get(at)) {
            let words = match before == name {
                true => String::new(),
                false => format!(", by `{before}` and by `{name}`"),
            };
            return Err(UsageError::new(format!(
                "{} is named twice{words}; a run is the same as itself\nhint: `mary runs` lists them",
                path.display()
            ))
            .into());
        }
        found.push(path);
        real.push(whole);
    }
    Ok(found)
}

/// The summary of a run: as stored, or added up from the log when there is none.
pub fn load_summary(registry: &Registry, folder: &RunFolder) -> anyhow::Result<RunSummary> {
    Ok(mary_lab::load_summary(registry, folder)?)
}

/// Writes a report of these run folders, with chapters of its own before those of the families.
pub fn write_with(
    registry: &Registry,
    runs: &[PathBuf],
    mut first: Vec<Chapter>,
    out: &Path,
    options: &ReportOptions,
) -> anyhow::Result<()> {
    let folders = runs
        .iter()
        .map(|path| Ok(RunFolder::open(path)?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let summaries = folders
        .iter()
        .map(|folder| load_summary(registry, folder))
        .collect::<anyhow::Result<Vec<_>>>()?;
    first.extend(learning::chapter(&folders)?);
    first.extend(people(&folders)?);
    let names = model_labels(summaries.iter().flat_map(|s| &s.manifest.models));
    let mut options = options.clone();
    if let Some((chapter, sheet)) = super::twins::twins(registry, &folders)? {
        first.push(chapter);
        options.twins = sheet.renamed(&names);
    }
    for chapter in &mut first {
        chapter.exhibits = std::mem::take(&mut chapter.exhibits).renamed(&names);
    }
    let mut families = chapters(registry, &summaries);
    for family in &mut families {
        family.exhibits = without(std::mem::take(&mut family.exhibits), &first);
    }
    first.extend(families);
    let chapters = first;
    let mut problem = None;
    let mut samples = folders.iter().flat_map(|folder| {
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
    html::report(&summaries, &chapters, &mut sound, &options, &mut file)?;
    if let Some(error) = problem {
        return Err(error.into());
    }
    file.commit().with_context(cannot)
}

/// Exhibits less those that earlier chapters show already.
fn without(mut exhibits: Exhibits, earlier: &[Chapter]) -> Exhibits {
    let shown = |id: &str| {
        earlier.iter().any(|chapter| {
            let e = &chapter.exhibits;
            e.figures.iter().any(|f| f.id == id) || e.tables.iter().any(|t| t.id == id)
        })
    };
    exhibits.figures.retain(|figure| !shown(&figure.id));
    exhibits.tables.retain(|table| !shown(&table.id));
    exhibits
}

/// What each family has to show for these runs.
pub fn chapters(registry: &Registry, summaries: &[RunSummary]) -> Vec<Chapter> {
    let involved = |id: &str| {
        let prefix = format!("{id}/");
        summaries
            .iter()
            .flat_map(|s| &s.rows)
            .any(|row| row.task.starts_with(&prefix))
    };
    let names = model_labels(summaries.iter().flat_map(|s| &s.manifest.models));
    registry
        .families()
        .iter()
        .filter(|family| involved(family.id()))
        .map(|family| Chapter {
            id: family.id().to_owned(),
            title: family.title().to_owned(),
            exhibits: family.exhibits(summaries).renamed(&names),
        })
        .collect()
}

/// What is to be seen of people, where some of these runs are theirs.
fn people(folders: &[RunFolder]) -> anyhow::Result<Option<Chapter>> {
    let mut samples = Vec::new();
    for folder in folders {
        let models = &folder.manifest().models;
        if !models.iter().any(|m| is_people(&m.model.to_string())) {
            continue;
        }
        for sample in folder.samples()? {
            let sample = sample?;
            if is_people(&sample.id.model) {
                samples.push(sample);
            }
        }
    }
    Ok((!samples.is_empty()).then(|| Chapter {
        id: PEOPLE.to_owned(),
        title: "People".to_owned(),
        exhibits: mary_study::exhibits::of(&samples),
    }))
}

/// Every table and every figure's data as files, for papers.
fn write_tables(registry: &Registry, runs: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut folders = Vec::new();
    for path in runs {
        folders.push(RunFolder::open(path)?);
    }
    let mut summaries = Vec::new();
    for run in &folders {
        summaries.push(load_summary(registry, run)?);
    }
    let mut tables = vec![mary_report::summary_table(&summaries)];
    let names = model_labels(summaries.iter().flat_map(|s| &s.manifest.models));
    let twins = super::twins::twins(registry, &folders)?.map(|(mut chapter, _)| {
        chapter.exhibits = chapter.exhibits.renamed(&names);
        chapter
    });
    let all = learning::chapter(&folders)?
        .into_iter()
        .chain(people(&folders)?)
        .chain(twins);
    for chapter in all.chain(chapters(registry, &summaries)) {
        let Exhibits {
            tables: own,
            figures,
            pictures,
        } = chapter.exhibits;
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

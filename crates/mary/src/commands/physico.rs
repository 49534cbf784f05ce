//! `mary physico`: the grid worlds to look at, and the form on which people judge descriptions.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::Table;
use mary_report::terminal;
use mary_store::RunFolder;
use mary_suites::physico::worlds::{self, Concept};
use mary_suites::physico::{instances::sample_pairs, judgement_form, picture};

use super::summary::style;
use crate::cli::{PhysicoAction, PhysicoArgs};
use crate::exit::{Status, UsageError};
use crate::settings::Place;
use crate::{matching, rundir};

/// Concepts on one page of a contact sheet.
const PER_PAGE: usize = 10;

/// Shows what there is, draws it, or writes the form.
pub fn physico(place: &Place, args: &PhysicoArgs) -> anyhow::Result<Status> {
    match &args.action {
        PhysicoAction::Concepts => concepts(),
        PhysicoAction::Sheet {
            concept,
            seed,
            untitled,
            out,
        } => sheet(concept, *seed, !untitled, out),
        PhysicoAction::Prompt {
            concept,
            seed,
            associative,
            out,
        } => prompt(concept, *seed, *associative, out),
        PhysicoAction::Form { run, out } => form(place, run.as_deref(), out),
    }
}

fn concepts() -> anyhow::Result<Status> {
    let rows = worlds::concepts().iter().flat_map(|c| {
        let set = match c.set {
            worlds::Set::CoreDev => "core-dev",
            worlds::Set::CoreTest => "core-test",
            worlds::Set::Associative => "associative",
        };
        c.aspects
            .iter()
            .map(move |a| [c.name, set, a.id, a.rule].map(str::to_owned).to_vec())
    });
    let table = Table {
        head: ["concept", "set", "aspect", "rule"]
            .map(String::from)
            .to_vec(),
        rows: rows.collect(),
        ..Table::default()
    };
    super::print(&terminal::plain(&table, style()))?;
    Ok(Status::Done)
}

fn named(name: &str) -> Result<&'static Concept, UsageError> {
    worlds::concept(name).ok_or_else(|| {
        let known = worlds::concepts().iter().map(|c| c.id);
        let hint = matching::suggestion(name, known, "mary physico concepts");
        UsageError::new(format!("no concept is called `{name}`\n{hint}"))
    })
}

fn sheet(names: &[String], seed: u64, titled: bool, out: &Path) -> anyhow::Result<Status> {
    let chosen: Vec<&'static Concept> = if names.is_empty() {
        worlds::concepts().to_vec()
    } else {
        names.iter().map(|n| named(n)).collect::<Result<_, _>>()?
    };
    let pages: Vec<&[&'static Concept]> = chosen.chunks(PER_PAGE).collect();
    for (number, page) in pages.iter().enumerate() {
        let path = if pages.len() == 1 {
            out.to_owned()
        } else {
            numbered(out, number + 1)
        };
        write(&path, &picture::png(&picture::sheet(page, seed, titled))?)?;
    }
    Ok(Status::Done)
}

/// `sheet.png` becomes `sheet-03.png`.
fn numbered(path: &Path, page: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{page:02}.{ending}"))
}

fn prompt(name: &str, seed: u64, associative: bool, out: &Path) -> anyhow::Result<Status> {
    let concept = named(name)?;
    let pairs = sample_pairs(concept, seed, associative)
        .with_context(|| format!("no instance of {} could be drawn", concept.name))?;
    write(out, &picture::png(&picture::prompt(&pairs))?)?;
    Ok(Status::Done)
}

fn form(place: &Place, run: Option<&str>, out: &Path) -> anyhow::Result<Status> {
    let folder = RunFolder::open(&rundir::find(place, run)?)?;
    let mut samples = Vec::new();
    for sample in folder.samples()? {
        let sample = sample?;
        if sample.id.task == "physico/describe" {
            samples.push(sample);
        }
    }
    if samples.is_empty() {
        return Err(UsageError::new(format!(
            "{} holds no descriptions\nhint: run `mary run --tasks physico/describe` first",
            folder.path().display()
        ))
        .into());
    }
    write(out, judgement_form(samples.into_iter()).as_bytes())?;
    Ok(Status::Done)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| path.display().to_string())?;
    super::print(&format!("{}\n", path.display()))
}

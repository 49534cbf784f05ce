//! Carrying out a run with a progress display and Ctrl-C, and showing what came of it.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use mary_contract::RunSummary;
use mary_lab::Run;
use mary_platform::{append_plain, open_plain};
use mary_report::html::ReportOptions;

use super::chapters::{self, AnyChapter};
use super::summary;
use crate::commands::tell;
use crate::exit::Status;
use crate::interrupt;
use crate::progress::Progress;
use crate::settings::Place;

pub struct ShowOptions {
    pub quiet: bool,
    pub json: bool,
    pub report: bool,
}

/// Asks, judges and adds up, with a progress display and Ctrl-C.
pub fn go(run: &mut Run<'_>, quiet: bool) -> anyhow::Result<RunSummary> {
    let stop = interrupt::flag()?;
    let labels = mary_contract::model_labels(run.cards());
    let mut progress = Progress::new(quiet).of_run(run.parts(), labels);
    Ok(run.go(&mut progress, &stop)?)
}

pub fn show(
    place: &Place,
    run: &Run<'_>,
    summary: &RunSummary,
    first: Option<AnyChapter<'_>>,
    shown: &ShowOptions,
) -> anyhow::Result<Status> {
    summary::show(summary, shown.json)?;
    if !shown.json {
        summary::show_standing(run.path(), summary)?;
    }
    if shown.report {
        let path = summary::report_path(run.path());
        make_report(place, run.path(), first, &path, shown.quiet)?;
        mary_contract::moment("report written");
        tell!("report: {}", path.display());
    }
    tell!("run:    {}", run.path().display());
    Ok(Status::done_if(summary.complete))
}

/// Makes the report of a run, unless the one that is there was made from the same.
fn make_report(
    place: &Place,
    run: &Path,
    first: Option<AnyChapter<'_>>,
    path: &Path,
    quiet: bool,
) -> anyhow::Result<()> {
    let made_from = MadeFrom::from_run(run, first.as_ref().map_or("", |chapter| chapter.id));
    if made_from.as_ref().is_some_and(|from| from.is_at(path)) {
        return Ok(());
    }
    let tell = |what: &str| {
        if !quiet {
            tell!("{what}");
        }
    };
    if let Some(chapter) = &first {
        tell(&format!(
            "making the report: the chapter `{}` …",
            chapter.id
        ));
    }
    tell("making the report: reading the samples, drawing the figures …");
    let runs = [run.to_owned()];
    let options = ReportOptions::default();
    chapters::write_with(&place.registry, &runs, first.as_slice(), path, &options)?;
    if let Some(MadeFrom(from)) = made_from {
        // Where that fails, the report is made again next time.
        let _ = append_plain(path).and_then(|mut file| file.write_all(from.as_bytes()));
    }
    Ok(())
}

const LONGEST: u64 = 128;

/// Names what a report is made from: program, log, manifest, summary, and chapters of its own.
pub struct MadeFrom(String);

impl MadeFrom {
    /// Of a run's folder; `None` where something cannot be read, so that the report is made.
    pub fn from_run(run: &Path, chapter: &str) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(&changed(&std::env::current_exe().ok()?)?);
        add(chapter.as_bytes());
        // A log is only appended to, or replaced whole: no byte of it need be read.
        add(&changed(&run.join("samples.jsonl"))?);
        for name in ["manifest.json", "summary.json"] {
            add(&mary_platform::read_plain(&run.join(name), 1 << 30).ok()?);
        }
        let digest = hasher.finalize().to_hex();
        Some(Self(format!("<!-- made from {} -->\n", digest.as_str())))
    }

    /// Whether the report at this place was made from it.
    pub fn is_at(&self, report: &Path) -> bool {
        end(report).is_some_and(|end| end.ends_with(&self.0))
    }
}

fn end(report: &Path) -> Option<String> {
    let mut file = open_plain(report).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Length and time of the last change of a file.
fn changed(path: &Path) -> Option<Vec<u8>> {
    let found = std::fs::metadata(path).ok()?;
    let at = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", found.len(), at.as_nanos()).into_bytes())
}

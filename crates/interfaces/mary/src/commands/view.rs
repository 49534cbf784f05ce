//! `mary view`: the viewer over run folders, live while a run goes on.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use clap::Args;
use mary_contract::Sample;
use mary_lab::checkpoints::State;
use mary_report::viewer::{
    self, IndexedSource, RunEntry, RunList, SampleLog, SourceError, UnreadableRun,
};
use mary_store::RunFolder;

use super::summary::report_path;
use crate::command::Command;
use crate::commands::tell;
use crate::exit::Status;
use crate::rundir;
use crate::settings::Place;

/// Bytes of a report that are served; ours stay below a tenth of it.
const LARGEST_REPORT: u64 = 256 << 20;

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Folders or names of runs and sweeps [default: all runs below the output path]
    pub runs: Vec<String>,
    /// Port on this machine
    #[arg(long, default_value_t = 7575)]
    pub port: u16,
    /// Open it in a browser
    #[arg(long)]
    pub open: bool,
}

impl Command for ViewArgs {
    const NAME: &str = "view";
    const ABOUT: &str = "Browse samples in a local web page";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let chosen = match self.runs.as_slice() {
            [] => Vec::new(),
            named => rundir::find_all(place, named)?,
        };
        if chosen.is_empty() && rundir::all(&place.runs).is_empty() {
            rundir::find(place, None)?; // says that there is no run yet, and what to do
        }
        let folders = Folders {
            chosen,
            root: place.runs.clone(),
            opened: Mutex::default(),
        };
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port);
        viewer::serve(
            Arc::new(IndexedSource::new(folders)),
            address,
            &mut |bound| {
                tell!("viewing at http://{bound} (Ctrl-C ends it)");
                if self.open {
                    super::open_in_browser(&format!("http://{bound}"));
                }
            },
        )
        .with_context(|| {
            format!(
                "port {} cannot be used; --port names another, --port 0 takes any",
                self.port
            )
        })?;
        Ok(Status::Done)
    }
}

struct Folders {
    /// Named by the user; empty means all below the root.
    chosen: Vec<PathBuf>,
    root: PathBuf,
    /// Kept open: a folder's index then grows with its log and is not made anew at every click.
    opened: Mutex<HashMap<PathBuf, Arc<RunFolder>>>,
}

impl Folders {
    fn paths(&self) -> Vec<PathBuf> {
        if self.chosen.is_empty() {
            rundir::all(&self.root)
        } else {
            self.chosen.clone()
        }
    }

    fn at(&self, path: &Path) -> Result<Arc<RunFolder>, SourceError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = opened.get(path) {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(RunFolder::open(path).map_err(broken)?);
        opened.insert(path.to_owned(), Arc::clone(&folder));
        Ok(folder)
    }

    fn open(&self, run: &str) -> Result<Arc<RunFolder>, SourceError> {
        // Asked for several times at every click: what is open already is not looked for again.
        let known = {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let found = opened.values().find(|f| f.manifest().id == run);
            found.cloned()
        };
        if let Some(folder) = known.filter(|folder| folder.path().exists()) {
            return Ok(folder);
        }
        let mut folders = self.paths().into_iter().filter_map(|p| self.at(&p).ok());
        folders
            .find(|folder| folder.manifest().id == run)
            .ok_or_else(|| SourceError::NotFound(format!("there is no run `{run}`")))
    }
}

fn entry(folder: &RunFolder) -> Result<RunEntry, SourceError> {
    let mut summary = folder.summary().map_err(broken)?;
    if let Some(summary) = &mut summary {
        mary_lab::engine::summarise::test_against_chance(&mut summary.rows);
    }
    let counted: usize = summary
        .iter()
        .flat_map(|s| &s.rows)
        .map(|r| r.samples)
        .sum();
    // A log that has not changed since its summary holds what the summary counts: a list of many large
    // runs reads none of their logs.
    let samples = match &summary {
        Some(_) if !changed_since_summary(folder.path()) => counted,
        _ => folder.count().map_err(broken)?,
    };
    let name = folder.path().file_name().unwrap_or_default();
    Ok(RunEntry {
        manifest: folder.manifest().clone(),
        samples,
        complete: summary.as_ref().is_some_and(|s| s.complete) && counted == samples,
        name: name.to_string_lossy().into_owned(),
        bytes: size(folder.path()),
        report: report_of(folder.path()).is_some(),
        summary,
    })
}

/// The report of a run; a checkpoint of a sweep without its own has the sweep's.
fn report_of(run: &Path) -> Option<PathBuf> {
    let sweep = run
        .parent()
        .and_then(Path::parent)
        .filter(|p| State::is_at(p));
    let places = [Some(run), sweep].into_iter().flatten().map(report_path);
    places.into_iter().find(|path| path.is_file())
}

fn changed_since_summary(run: &Path) -> bool {
    let changed = |name: &str| {
        std::fs::metadata(run.join(name))
            .and_then(|m| m.modified())
            .ok()
    };
    match (changed("samples.jsonl"), changed("summary.json")) {
        (Some(log), Some(summary)) => log > summary,
        (log, _) => log.is_some(),
    }
}

/// What the files of a run take, those of its parts left out.
fn size(run: &Path) -> u64 {
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files
        .filter(|data| data.is_file())
        .map(|data| data.len())
        .sum()
}

fn broken(error: impl std::fmt::Display) -> SourceError {
    SourceError::Broken(error.to_string())
}

impl SampleLog for Folders {
    fn runs(&self) -> Result<RunList, SourceError> {
        let mut list = RunList::default();
        for path in self.paths().into_iter().rev() {
            match self.at(&path).and_then(|folder| entry(&folder)) {
                Ok(run) => list.runs.push(run),
                Err(why) => list.unreadable.push(UnreadableRun {
                    name: path.display().to_string(),
                    why: why.to_string(),
                }),
            }
        }
        Ok(list)
    }

    fn run(&self, run: &str) -> Result<RunEntry, SourceError> {
        entry(&*self.open(run)?)
    }

    fn report(&self, run: &str) -> Result<Option<Vec<u8>>, SourceError> {
        let Some(path) = report_of(self.open(run)?.path()) else {
            return Ok(None);
        };
        let page = mary_platform::read_plain(&path, LARGEST_REPORT).map_err(broken)?;
        Ok(Some(page))
    }

    fn scan(
        &self,
        run: &str,
        from: u64,
        each: &mut dyn FnMut(u64, &Sample),
    ) -> Result<u64, SourceError> {
        let folder = self.open(run)?;
        scan_log(&folder.path().join("samples.jsonl"), from, each)
    }

    fn read(&self, run: &str, place: u64) -> Result<Sample, SourceError> {
        self.open(run)?.sample_at(place).map_err(broken)
    }
}

/// Reads whole lines from a place on; a line that is still being written is left for next time.
fn scan_log(
    path: &Path,
    from: u64,
    each: &mut dyn FnMut(u64, &Sample),
) -> Result<u64, SourceError> {
    let mut file = match mary_platform::open_plain(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(from),
        other => other.map_err(broken)?,
    };
    file.seek(SeekFrom::Start(from)).map_err(broken)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut place = from;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(broken)?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(place);
        }
        let sample = mary_contract::line::read(&line)
            .map_err(|e| broken(format!("{} at byte {place}: {e}", path.display())))?;
        each(place, &sample);
        place += read as u64;
    }
}

//! Finding a run or a sweep by its folder, the beginning of its name, or as the newest.

use std::path::{Path, PathBuf};

use mary_lab::checkpoints::{Record, State};
use mary_platform::{counted, distinct};

use crate::exit::{MissingError, missing_error, usage_error};
use crate::settings::Place;

/// What a name stands for.
pub enum Found {
    Run(PathBuf),
    Sweep(State),
    /// One checkpoint of a sweep, in every size that has it (`sweep-nano@step512`).
    Checkpoint(Vec<PathBuf>),
}

impl Found {
    /// The runs it stands for: of a sweep those of all checkpoints that are what their names say.
    pub fn runs(&self) -> Vec<PathBuf> {
        match self {
            Self::Run(path) => vec![path.clone()],
            Self::Sweep(state) => state.sound().into_iter().map(|(_, run)| run).collect(),
            Self::Checkpoint(runs) => runs.clone(),
        }
    }

    pub fn sweep(&self) -> Option<&State> {
        match self {
            Self::Sweep(state) => Some(state),
            _ => None,
        }
    }

    /// Where training ended: of a sweep the last checkpoint of each size, and the first of a single one if
    /// `begin` says so.
    fn ends(&self, begin: bool) -> Vec<PathBuf> {
        let Self::Sweep(state) = self else {
            return self.runs();
        };
        let mut sizes: Vec<(String, Vec<PathBuf>)> = Vec::new();
        for (record, run) in state.sound() {
            match sizes.last_mut() {
                Some((size, runs)) if *size == record.size => runs.push(run),
                _ => sizes.push((record.size, vec![run])),
            }
        }
        match sizes.as_mut_slice() {
            [(_, only)] if begin && only.len() > 1 => {
                let last = only.pop();
                only.drain(..).take(1).chain(last).collect()
            }
            sizes => sizes
                .iter_mut()
                .filter_map(|(_, runs)| runs.pop())
                .collect(),
        }
    }
}

/// What is meant: a path, the beginning of a name below the output path, a sweep's checkpoint, or (with
/// nothing) the newest run there.
pub fn look_up(place: &Place, wanted: Option<&str>) -> anyhow::Result<Found> {
    let Some(wanted) = wanted else {
        return Ok(Found::Run(newest(&place.runs)?));
    };
    let path = Path::new(wanted);
    if is_run(path) {
        return Ok(Found::Run(path.to_owned()));
    }
    if State::is_at(path) {
        return Ok(Found::Sweep(State::look(path)?));
    }
    let mut fitting = named(
        within(&place.runs, |p| is_run(p) || State::is_at(p)),
        wanted,
    );
    match fitting.len() {
        1 => {
            let path = fitting.remove(0);
            match State::is_at(&path) {
                true => Ok(Found::Sweep(State::look(&path)?)),
                false => Ok(Found::Run(path)),
            }
        }
        0 if wanted.contains('@') => checkpoint(place, wanted),
        0 => missing_error(format!(
            "no run is called `{wanted}`, neither as a folder nor below {}\nhint: `mary runs` shows what is there; --output-path names another place",
            place.runs.display()
        )),
        n => {
            let mut text = format!("`{wanted}` fits {n} runs; give more of the name");
            for path in fitting.iter().rev().take(8) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                text.push_str(&format!("\n  {name}"));
            }
            if n > 8 {
                text.push_str("\n  …");
            }
            usage_error(format!(
                "{text}\nhint: `mary runs` shows what each of them is"
            ))
        }
    }
}

fn checkpoint(place: &Place, wanted: &str) -> anyhow::Result<Found> {
    let (sweep, revision) = wanted.rsplit_once('@').unwrap_or((wanted, ""));
    let Found::Sweep(state) = look_up(place, Some(sweep))? else {
        return usage_error(format!(
            "`{sweep}` is a run and has no checkpoints\nhint: `@` chooses a checkpoint of a sweep"
        ));
    };
    let sound = state.sound();
    let step = revision.parse::<u64>().ok();
    let of = |record: &Record| record.revision == revision || step.is_some() && record.step == step;
    let runs: Vec<PathBuf> = sound
        .iter()
        .filter(|(r, _)| of(r))
        .map(|(_, run)| run.clone())
        .collect();
    if runs.is_empty() {
        let mut names = distinct(sound.iter().map(|(record, _)| record.revision.as_str()));
        let more = if names.len() > 12 { ", …" } else { "" };
        names.truncate(12);
        return missing_error(format!(
            "{} has no sound checkpoint `{revision}`\nhint: it has {}{more}",
            state.path().display(),
            names.join(", ")
        ));
    }
    Ok(Found::Checkpoint(runs))
}

pub fn find(place: &Place, wanted: Option<&str>) -> anyhow::Result<PathBuf> {
    let found = look_up(place, wanted)?;
    match (found.runs().as_slice(), &found) {
        ([one], Found::Run(_) | Found::Checkpoint(_)) => Ok(one.clone()),
        (several, _) => {
            let name = wanted.unwrap_or_default();
            usage_error(format!(
                "`{name}` is a sweep with {}, and one run is needed\nhint: `{name}@step512` names one checkpoint, \
                 where there is one size; `mary report`, `compare`, `export` and `view` take a whole sweep",
                counted(several.len(), "sound checkpoint")
            ))
        }
    }
}

/// What is meant, each once; the newest run when nothing is named.
pub fn look_up_all(place: &Place, wanted: &[String]) -> anyhow::Result<Vec<Found>> {
    if wanted.is_empty() {
        return Ok(vec![look_up(place, None)?]);
    }
    let mut found: Vec<Found> = Vec::new();
    let mut real: Vec<(PathBuf, &String)> = Vec::new();
    for name in wanted {
        let one = look_up(place, Some(name))?;
        for path in one.runs() {
            let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
            if let Some((_, before)) = real.iter().find(|(other, _)| *other == whole) {
                let words = match *before == name {
                    true => String::new(),
                    false => format!(", by `{before}` and by `{name}`"),
                };
                return usage_error(format!(
                    "{} is named twice{words}; a run is the same as itself\nhint: `mary runs` lists them",
                    path.display()
                ));
            }
            real.push((whole, name));
        }
        found.push(one);
    }
    Ok(found)
}

/// The folders meant: of a sweep those of all its checkpoints.
pub fn find_all(place: &Place, wanted: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    runs_of(wanted, &look_up_all(place, wanted)?)
}

/// All runs of what was found under these names.
pub fn runs_of(wanted: &[String], found: &[Found]) -> anyhow::Result<Vec<PathBuf>> {
    some(wanted, found.iter().flat_map(Found::runs).collect())
}

/// The folders meant: of a sweep those where training ended. One size alone is held against its beginning.
pub fn find_ends(place: &Place, wanted: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let found = look_up_all(place, wanted)?;
    let alone = found.len() == 1;
    some(wanted, found.iter().flat_map(|f| f.ends(alone)).collect())
}

fn some(wanted: &[String], runs: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    if runs.is_empty() {
        return missing_error(format!(
            "{}: no checkpoint has been run, or none is what its name says\nhint: the command of the sweep goes on \
             with it, and tells what is wrong",
            wanted.join(", ")
        ));
    }
    Ok(runs)
}

/// Of these folders the one with this very name, or else all whose names begin with it.
pub fn named(mut folders: Vec<PathBuf>, wanted: &str) -> Vec<PathBuf> {
    let name = |p: &Path| {
        p.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    match folders.iter().position(|p| name(p) == wanted) {
        Some(at) => vec![folders.swap_remove(at)],
        None => {
            folders.retain(|p| name(p).starts_with(wanted));
            folders
        }
    }
}

/// The first of `NAME-1`, `NAME-2` and so on that is not there yet.
pub fn next(root: &Path, name: &str) -> PathBuf {
    let mut numbered = (1..).map(|n: usize| root.join(format!("{name}-{n}")));
    numbered
        .find(|p| !p.exists())
        .unwrap_or_else(|| root.join(name))
}

pub fn all(root: &Path) -> Vec<PathBuf> {
    within(root, is_run)
}

/// The folders of sweeps, the latest last.
pub fn sweeps(root: &Path) -> Vec<PathBuf> {
    within(root, State::is_at)
}

pub fn within(root: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| wanted(p)).collect();
    runs.sort_by_key(|p| changed(p));
    runs
}

fn newest(root: &Path) -> anyhow::Result<PathBuf> {
    all(root).pop().ok_or_else(|| {
        let hint = match sweeps(root).pop() {
            Some(sweep) => format!("name the sweep: {}", sweep.display()),
            None => "`mary run` makes one".to_owned(),
        };
        MissingError(format!(
            "there is no run below {} yet\nhint: {hint}",
            root.display()
        ))
        .into()
    })
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

fn changed(run: &Path) -> Option<std::time::SystemTime> {
    let log = std::fs::metadata(run.join("samples.jsonl"));
    log.or_else(|_| std::fs::metadata(run))
        .and_then(|m| m.modified())
        .ok()
}

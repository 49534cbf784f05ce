//! Finding a run by its folder, the beginning of its name, or as the newest.

use std::path::{Path, PathBuf};

use crate::exit::{MissingError, missing_error, usage_error};
use crate::settings::Place;

/// The folder of a run: a path, the beginning of a name below the output path, or (with nothing) the
/// newest run there.
pub fn find(place: &Place, wanted: Option<&str>) -> anyhow::Result<PathBuf> {
    let Some(wanted) = wanted else {
        return newest(&place.runs);
    };
    let path = Path::new(wanted);
    if is_run(path) {
        return Ok(path.to_owned());
    }
    let mut fitting = named(all(&place.runs), wanted);
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
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

/// The folders meant, each once; the newest when none is named.
pub fn find_all(place: &Place, wanted: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    if wanted.is_empty() {
        return Ok(vec![find(place, None)?]);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut real: Vec<PathBuf> = Vec::new();
    for name in wanted {
        let path = find(place, Some(name))?;
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let before = real.iter().position(|other| *other == whole);
        if let Some(before) = before.and_then(|at| wanted.get(at)) {
            let words = match before == name {
                true => String::new(),
                false => format!(", by `{before}` and by `{name}`"),
            };
            return usage_error(format!(
                "{} is named twice{words}; a run is the same as itself\nhint: `mary runs` lists them",
                path.display()
            ));
        }
        found.push(path);
        real.push(whole);
    }
    Ok(found)
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

pub fn all(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_run(p)).collect();
    runs.sort_by_key(|p| changed(p));
    runs
}

fn newest(root: &Path) -> anyhow::Result<PathBuf> {
    all(root).pop().ok_or_else(|| {
        MissingError(format!(
            "there is no run below {} yet\nhint: `mary run` makes one",
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

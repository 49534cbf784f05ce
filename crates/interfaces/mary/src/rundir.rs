//! Finding a run by its folder, the beginning of its name, or as the newest.

use std::path::{Path, PathBuf};

use crate::exit::{MissingError, UsageError};
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
    let mut fitting: Vec<PathBuf> = all(&place.runs)
        .into_iter()
        .filter(|p| {
            p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(wanted))
        })
        .collect();
    // A whole name is meant before the beginning of a longer one.
    let exact = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy() == wanted);
    if let Some(at) = fitting.iter().position(exact) {
        return Ok(fitting.swap_remove(at));
    }
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => Err(MissingError(format!(
            "no run is called `{wanted}`, neither as a folder nor below {}\nhint: `mary runs` shows what is there; --output-path names another place",
            place.runs.display()
        ))
        .into()),
        n => {
            let mut text = format!("`{wanted}` fits {n} runs; give more of the name");
            for path in fitting.iter().rev().take(8) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                text.push_str(&format!("\n  {name}"));
            }
            if n > 8 {
                text.push_str("\n  …");
            }
            Err(UsageError::new(format!("{text}\nhint: `mary runs` shows what each of them is")).into())
        }
    }
}

/// Every run below a folder, oldest first.
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

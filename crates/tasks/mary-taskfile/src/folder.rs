//! A folder of Parquet as datasets are published: `test-00000-of-00002.parquet` and the like, in the
//! folder itself or one below it (`data/`, or one folder per split).

use std::path::{Path, PathBuf};

/// Folders below the named one that are looked into.
const DEEPEST: usize = 3;

/// Files of one table.
const MOST: usize = 100_000;

/// The Parquet files of a folder in the order of their names; of one split, where it is named.
pub fn files(folder: &Path, split: Option<&str>) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut arrow = false;
    collect(folder, 0, &mut found, &mut arrow)?;
    found.sort();
    let all = found.len();
    if let Some(split) = split {
        found.retain(|path| split_of(folder, path).as_deref() == Some(split));
    } else if all > 1 {
        let mut splits: Vec<String> = found.iter().filter_map(|p| split_of(folder, p)).collect();
        splits.sort();
        splits.dedup();
        if splits.len() > 1 {
            return Err(std::io::Error::other(format!(
                "the folder holds several splits: {}\nhint: name one with `split` in a task file, or one of the files",
                splits.join(", ")
            )));
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let why = match (all, split) {
        (0, _) if arrow => "it holds Arrow files, which `save_to_disk` makes, and no Parquet\n\
             hint: in Python, `load_from_disk(FOLDER).to_parquet(\"test.parquet\")`"
            .to_owned(),
        (0, _) => "there is no .parquet file in it".to_owned(),
        (_, split) => format!(
            "none of its {all} Parquet files is of the split `{}` (a file's name, or its folder's, begins \
             with the split's)",
            split.unwrap_or_default()
        ),
    };
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, why))
}

fn collect(
    folder: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    arrow: &mut bool,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if depth < DEEPEST {
                collect(&path, depth + 1, found, arrow)?;
            }
        } else if ends(&path, "parquet") {
            if found.len() >= MOST {
                let why = format!("it holds more than {MOST} files");
                return Err(std::io::Error::other(why));
            }
            found.push(path);
        } else if ends(&path, "arrow") {
            *arrow = true;
        }
    }
    Ok(())
}

fn ends(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(ending))
}

/// The split that a file belongs to: `test` of `test-00000-of-00001.parquet`, of `test.parquet`, and of
/// `test/0000.parquet`.
fn split_of(root: &Path, path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_string_lossy();
    let numbered = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if numbered(&stem) {
        let folder = path.parent().filter(|f| *f != root)?;
        return Some(folder.file_name()?.to_string_lossy().into_owned());
    }
    let parts: Vec<&str> = stem.split('-').collect();
    // `-00000-of-00001`, with or without the letters that some writers put after it.
    let end = (1..parts.len()).find(|n| {
        let at = |k: usize| parts.get(n + k).copied().unwrap_or_default();
        numbered(at(0)) && at(1) == "of" && numbered(at(2))
    });
    Some(match end {
        Some(n) => parts.get(..n).unwrap_or_default().join("-"),
        None => stem.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_read_from_names() {
        let of = |name: &str| split_of(Path::new("d"), &Path::new("d").join(name));
        assert_eq!(of("test-00000-of-00002.parquet").as_deref(), Some("test"));
        assert_eq!(
            of("data/train-00001-of-00002-ab12.parquet").as_deref(),
            Some("train")
        );
        assert_eq!(of("dev.parquet").as_deref(), Some("dev"));
        assert_eq!(of("main/test/0000.parquet").as_deref(), Some("test"));
        assert_eq!(of("0000.parquet"), None);
    }
}

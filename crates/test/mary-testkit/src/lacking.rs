//! Tests that need more than the checkout: the papers' datasets, real weights, other people's tools, a
//! browser, a GPU. Where such a thing is missing the test says so and ends; it must not pass in
//! silence. Every skip is written to the file that `MARY_SKIPS` names, so that `./test` can count them,
//! and what `MARY_EXPECT` lists may not be missing at all: there a skip is a failure.

use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    /// The files that the papers' authors released.
    Datasets,
    /// Real weights that come in packages of the registries (`tools/make_test_models.py`).
    Models,
    /// Real weights that need more than that: other downloads, or a framework to convert them.
    Extras,
    /// Tools of others that read our files or serve models (`tools/make_peers.sh`).
    Peers,
    /// Engines that run jobs: Slurm, HyperQueue, the validator of Kubernetes' manifests.
    Engines,
    Browser,
    Gpu,
    /// A part of the processor: tiles, wide vectors.
    Processor,
    Compiler,
    Network,
    /// The program `script`, which runs another on a terminal.
    Terminal,
}

impl Lacking {
    /// The word for it in `MARY_EXPECT` and in the count at the end of `./test`.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Says that the calling test ends here for want of something. Fails the test where that was expected to
/// be there.
///
/// # Panics
/// If `MARY_EXPECT`, a list of words separated by spaces or commas, holds the word of `what`.
pub fn skip(what: Lacking, why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    let expected = std::env::var("MARY_EXPECT").unwrap_or_default();
    let mut expected = expected.split([' ', ',']);
    assert!(
        !expected.any(|word| word == what.word()),
        "{test} would be skipped ({why}), but MARY_EXPECT says that {} are here",
        what.word()
    );
    eprintln!("skipped: {why}");
    let Some(list) = std::env::var_os("MARY_SKIPS") else {
        return;
    };
    let line = format!("{}\t{test}\t{}\n", what.word(), why.replace('\n', " "));
    // One write of one line to a file opened for appending: programs may do this at the same time.
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(list);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("the list of skipped tests could not be written: {error}");
    }
}

/// The folder of upstream datasets that has this one: `MARY_DATA_DIR`, else `shared/datasets` beside the
/// checkout. Skips where there is none.
pub fn datasets(dataset: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/datasets");
    let root = std::env::var_os("MARY_DATA_DIR").map_or(beside, PathBuf::from);
    if root.join(dataset).is_dir() {
        return Some(root.canonicalize().unwrap_or(root));
    }
    skip(
        Lacking::Datasets,
        &format!(
            "no dataset `{dataset}` under MARY_DATA_DIR or shared/datasets beside the checkout"
        ),
    );
    None
}

/// A file or folder of this name somewhere under `MARY_TEST_MODELS`. Skips where there is none.
pub fn test_model(name: &str, what: Lacking) -> Option<PathBuf> {
    fn search(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|e| Some(e.ok()?.path()))
            .collect();
        entries.sort();
        let here = entries
            .iter()
            .find(|p| p.file_name().is_some_and(|n| n == name));
        here.cloned().or_else(|| {
            let folders = entries.iter().filter(|p| p.is_dir() && depth > 0);
            folders.into_iter().find_map(|p| search(p, name, depth - 1))
        })
    }
    let root = std::env::var_os("MARY_TEST_MODELS").map(PathBuf::from);
    let found = root.and_then(|root| search(&root, name, 4));
    if found.is_none() {
        skip(what, &format!("no {name} under MARY_TEST_MODELS"));
    }
    found
}

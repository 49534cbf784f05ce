//! The installed package of lm-evaluation-harness, and task files in folders of their own.

use std::path::{Path, PathBuf};

use mary_contract::{Item, NoData, Task, TaskError, TaskSettings};
use mary_taskfile::lm_eval::{HarnessError, HarnessTask, Places};
use mary_testkit::{Lacking, skip};

/// The folder `lm_eval/tasks` of the tools that tests are held against; without it the test says so and
/// ends.
pub fn package() -> Option<PathBuf> {
    // The Python that other tests of our files use too; its folder holds its packages.
    let python = std::env::var_os("MARY_PEER_PYTHON").map(PathBuf::from);
    let python = python.and_then(|p| Some(p.parent()?.parent()?.to_owned()));
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers");
    let folders = python.into_iter().chain([target]);
    let found = folders.flat_map(|f| std::fs::read_dir(f.join("lib")).into_iter().flatten());
    let found = found
        .filter_map(Result::ok)
        .map(|python| python.path().join("site-packages/lm_eval/tasks"))
        .find(|tasks| tasks.is_dir());
    if found.is_none() {
        skip(
            Lacking::Peers,
            "the package lm_eval is not installed (tools/make_peers.sh)",
        );
    }
    found
}

/// A folder with task files and data.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// These files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    /// One more file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The one task of a file.
    pub fn task(&self, name: &str) -> Result<HarnessTask, HarnessError> {
        let mut all = mary_taskfile::lm_eval::read(&self.path(name))?;
        assert_eq!(all.len(), 1);
        HarnessTask::new(all.remove(0)?, &Places(vec![self.0.path().to_owned()]))
    }

    /// Its items.
    pub fn items(&self, name: &str, settings: &TaskSettings) -> Result<Vec<Item>, TaskError> {
        self.task(name).unwrap().items(settings, &NoData)?.collect()
    }
}

//! The catalogue against the real files, where a mirror of them is at hand.

use mary_testkit::{Lacking, skip};
use std::path::{Path, PathBuf};

use mary_contract::DataSource as _;
use mary_fetch::datasets::{FileState, LocalData, catalogue};

fn mirror() -> Option<PathBuf> {
    let sibling = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/datasets");
    let named = std::env::var_os("MARY_DATA_DIR").map(PathBuf::from);
    named.into_iter().chain([sibling]).find(|p| p.is_dir())
}

#[test]
fn every_catalogued_file_is_what_the_catalogue_says() {
    let Some(root) = mirror() else {
        skip(
            Lacking::Datasets,
            "no datasets here; set MARY_DATA_DIR to a mirror",
        );
        return;
    };
    let data = LocalData::new(Some(root), PathBuf::from("/nowhere"));
    let mut checked = 0;
    for card in catalogue() {
        if let Ok(report) = data.verify(&card.id) {
            for file in &report.files {
                assert_eq!(file.state, FileState::Good, "{}/{}", card.id, file.path);
                checked += 1;
            }
            assert!(data.hash(&card.id).unwrap().starts_with("sha256:"));
        }
    }
    assert!(checked > 0, "the mirror holds none of our datasets");
}

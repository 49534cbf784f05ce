//! The upstream datasets, of which nothing is part of this repository: [`catalogue()`] lists each
//! with its licence, its pinned commit and the SHA-256 of every file; [`LocalData`] finds, fetches
//! and checks them.

mod catalogue;
mod digest;
mod download;
mod fault;
mod local;
mod pull;
mod unpack;
mod verify;

pub use catalogue::{
    Citation, DatasetCard, FileCard, FileOrigin, FolderCard, Upstream, card, catalogue,
};
pub use download::Hosts;
pub use fault::PullError;
pub use local::LocalData;
pub use pull::{Progress, Pulled};
pub use unpack::{Limits, UnpackError, unpack_tar_gz, unpack_zip};
pub use verify::{FileReport, FileState, Report};

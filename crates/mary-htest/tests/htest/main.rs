//! H-TEST as a user meets it: fresh sets under many seeds, and the authors' released files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod fresh_sets;
mod judges;
mod released;

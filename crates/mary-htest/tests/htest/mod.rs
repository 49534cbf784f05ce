//! H-TEST as a user meets it: fresh sets under many seeds, and the authors' released files.

mod fresh_sets;
mod judges;
mod released;

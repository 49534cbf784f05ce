//! H-TEST as a user meets it: fresh sets under many seeds, the authors' released files, and a task
//! that a contributor adds.

mod eleventh;
mod fresh_sets;
mod judges;
mod released;

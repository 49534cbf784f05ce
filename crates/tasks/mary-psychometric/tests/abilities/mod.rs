//! The abilities as a user meets them: statistics against other implementations, fresh matrices under
//! many seeds, and upstream's files.

mod analogies;
mod golden;
mod matrices;
mod solver;
mod upstream;

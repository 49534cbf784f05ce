//! Instruments on files, from the file to the tables, on real models.

mod common;
mod masked;
mod minicons;
mod observe;
mod score;

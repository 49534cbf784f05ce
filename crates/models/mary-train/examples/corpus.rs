//! Prints documents of the generated corpus, separated by empty lines.
//!
//! `cargo run -p mary-train --example corpus -- SEED COUNT > small-world.txt`

use mary_train::corpus::Corpus;
use std::io::{BufWriter, Write as _};

fn main() -> std::io::Result<()> {
    let number = |at: usize| std::env::args().nth(at).and_then(|a| a.parse().ok());
    let corpus = Corpus::new(number(1).unwrap_or(1));
    let mut out = BufWriter::new(std::io::stdout().lock());
    for i in 0..number(2).unwrap_or(20) {
        writeln!(out, "{}\n", corpus.document(i))?;
    }
    out.flush()
}

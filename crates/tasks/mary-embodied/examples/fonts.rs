//! Makes the list of what holds of symbols in every font: our own first, then the fonts named on the command
//! line (files of plain sans-serif fonts; none of them need be shipped).
//!
//! ```text
//! cargo run -p mary-embodied --example fonts -- LiberationSans-Regular.ttf NotoSans-Regular.ttf \\
//!     > crates/tasks/mary-embodied/src/fresh/symbols/fonts.txt
//! ```
//!
//! Says on the error stream how many facts each font takes away.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints"
)]

use std::path::Path;

use mary_embodied::fresh::symbols::fonts::Looks;
use mary_generators::glyphs::{Typeface, glyphs, pen};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut fonts = Vec::new();
    for path in std::env::args().skip(1) {
        let face = Typeface::read(std::fs::read(&path)?)
            .ok_or_else(|| format!("{path}: not a font with capital letters"))?;
        let name = Path::new(&path)
            .file_stem()
            .map(|n| n.to_string_lossy().into_owned());
        fonts.push((name.unwrap_or(path), face));
    }
    println!(
        "# What holds of a symbol in every font that has it, made by the example `fonts` of this crate."
    );
    let names: Vec<&str> = fonts.iter().map(|(name, _)| name.as_str()).collect();
    println!(
        "# Fonts: DejaVuSans (shipped, the pictures), {}.",
        names.join(", ")
    );
    println!(
        "# symbol, one piece, regions, opening (eighths clockwise from up), symmetry (left-right, top-bottom,"
    );
    println!(
        "# half turn), regions left when the top, bottom, left, right quarter, third, half is covered, pieces"
    );
    println!(
        "# and then strokes at a quarter, third, half, two thirds, three quarters down and from the left, and"
    );
    println!(
        "# width x height in dots in each font. A dash: not clear, not alike, or not in the font."
    );
    let mut different = vec![0; fonts.len()];
    for glyph in glyphs() {
        let ours = Looks::from_ink(&glyph.ink, pen());
        let mut all = vec![Some(ours.clone())];
        for ((_, face), different) in fonts.iter().zip(&mut different) {
            let theirs = face
                .ink(glyph.symbol)
                .map(|ink| Looks::from_ink(&ink, face.pen()));
            if let Some(theirs) = &theirs {
                *different += ours.differences(theirs);
            }
            all.push(theirs);
        }
        if let Some(alike) = Looks::alike(&all) {
            println!("{}", alike.line(glyph.symbol));
        }
    }
    for ((name, _), different) in fonts.iter().zip(different) {
        eprintln!("{name}: {different} facts of our font are others, or not clear, in this one");
    }
    Ok(())
}

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

#[path = "../tests/looks/mod.rs"]
mod looks;

use std::path::Path;

use ab_glyph::FontVec;
use mary_embodied::fresh::symbols::fonts::Looks;
use mary_generators::glyphs::ink::Ink;
use mary_generators::glyphs::{SIZE, draw, glyphs, pen, picture};

/// A font other than the one that is compiled in: its symbols as ink, at the size at which its capitals are
/// as high as ours. For asking whether what holds of a symbol in our font holds in others.
struct Typeface {
    font: FontVec,
    /// Dots per line at which its capitals are as high as ours.
    size: f32,
    pen: usize,
}

impl Typeface {
    /// Reads a TrueType or OpenType font; nothing when it cannot be read or has no capital letters.
    fn read(bytes: Vec<u8>) -> Option<Self> {
        let font = FontVec::try_from_vec(bytes).ok()?;
        let (ours, theirs) = (picture('H')?, draw(&font, 'H', SIZE)?);
        let size = SIZE * ours.height() as f32 / theirs.height() as f32;
        let pen = draw(&font, 'I', size)?.width();
        Some(Self { font, size, pen })
    }

    /// The picture of a symbol, if the font has it.
    fn ink(&self, symbol: char) -> Option<Ink> {
        draw(&self.font, symbol, self.size)
    }
}

/// How many of the facts that are clear in our font are others, or not clear, in another.
fn differences(ours: &Looks, theirs: &Looks) -> usize {
    fn lost<T: PartialEq>(own: &Option<T>, other: &Option<T>) -> usize {
        usize::from(own.is_some() && own != other)
    }
    let rows = [
        (&ours.covered, &theirs.covered),
        (&ours.cut, &theirs.cut),
        (&ours.crossed, &theirs.crossed),
    ];
    let rows = rows.into_iter();
    let pairs = rows.flat_map(|(own, other)| own.iter().zip(other));
    let in_rows: usize = pairs.map(|(own, other)| lost(own, other)).sum();
    in_rows
        + lost(&ours.regions, &theirs.regions)
        + lost(&ours.opening, &theirs.opening)
        + lost(&ours.symmetry, &theirs.symmetry)
}

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
        let ours = looks::from_ink(&glyph.ink, pen());
        let mut all = vec![Some(ours.clone())];
        for ((_, face), different) in fonts.iter().zip(&mut different) {
            let theirs = face
                .ink(glyph.symbol)
                .map(|ink| looks::from_ink(&ink, face.pen));
            if let Some(theirs) = &theirs {
                *different += differences(&ours, theirs);
            }
            all.push(theirs);
        }
        if let Some(alike) = looks::alike(&all) {
            println!("{}", looks::line(&alike, glyph.symbol));
        }
    }
    for ((name, _), different) in fonts.iter().zip(different) {
        eprintln!("{name}: {different} facts of our font are others, or not clear, in this one");
    }
    Ok(())
}

//! Renders the pictures of the page as PNG: `sheet <folder> [seed] [concept …]`, each sheet with titles
//! and, as `…-untitled-NN.png`, without. Without concepts all 67 and the picture of a prompt.

use std::error::Error;
use std::path::{Path, PathBuf};

use mary_physico::worlds::{self, Concept};
use mary_physico::{instances, picture};

/// Rows of aspects on one sheet.
const ROWS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("expected a folder for the sheets")?);
    let seed: u64 = arguments.next().map_or(Ok(1), |s| s.parse())?;
    let names: Vec<String> = arguments.collect();
    std::fs::create_dir_all(&folder)?;
    if names.is_empty() {
        let gravity = worlds::concept("gravity").ok_or("no gravity")?;
        let pairs = instances::sample_pairs(gravity, 2, false).ok_or("nothing drawn")?;
        let bytes = picture::png(&picture::prompt(&pairs))?;
        std::fs::write(folder.join("physico-prompt.png"), bytes)?;
    }
    let wanted: Vec<_> = worlds::concepts()
        .iter()
        .copied()
        .filter(|c| names.is_empty() || names.iter().any(|n| n == c.id))
        .collect();
    let mut page = Vec::new();
    let mut number = 1;
    for (i, concept) in wanted.iter().enumerate() {
        page.push(*concept);
        let rows: usize = page.iter().map(|c| c.aspects.len()).sum();
        let next = wanted.get(i + 1).map_or(ROWS, |c| c.aspects.len());
        if rows + next > ROWS {
            write(&folder, number, &page, seed)?;
            page.clear();
            number += 1;
        }
    }
    if !page.is_empty() {
        write(&folder, number, &page, seed)?;
    }
    Ok(())
}

/// One sheet, with titles and without.
fn write(
    folder: &Path,
    number: usize,
    page: &[&'static Concept],
    seed: u64,
) -> Result<(), Box<dyn Error>> {
    for (titled, name) in [(true, "sheet"), (false, "untitled")] {
        let bytes = picture::png(&picture::sheet(page, seed, titled))?;
        std::fs::write(
            folder.join(format!("physico-{name}-{number:02}.png")),
            bytes,
        )?;
    }
    Ok(())
}

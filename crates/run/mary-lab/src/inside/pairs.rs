//! Pairs of prefixes that differ in one respect, with the continuation that is right after each; and where the two
//! correspond.

use std::path::Path;

use mary_contract::{Intervened, Place, Site};
use mary_taskfile::Material;
use serde_json::Value;

use super::Subject;
use super::ask::watching;
use crate::texts::score::regions;
use crate::texts::{InstrumentError, material};

/// A pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Column `id`, or the line.
    pub id: String,
    /// After this one `good` is right.
    pub clean: String,
    /// After this one `bad` is.
    pub corrupted: String,
    /// The continuations `good` and `bad`, with the blank before them.
    pub words: [String; 2],
    /// Bytes of each region in both prefixes.
    regions: Vec<[(usize, usize); 2]>,
    line: usize,
}

/// A table of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// In the order of the table.
    pub pairs: Vec<Pair>,
    regions: Vec<String>,
    file: String,
}

/// A place that both texts of a pair have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    /// Spots of several pairs with the same key are one column.
    pub key: String,
    pub places: [Place; 2],
    /// The last token of the place, in both texts.
    pub ends: [Place; 2],
}

/// A continuation with what stands between it and the prefix.
pub(crate) fn joined(prefix: &str, word: &str, joint: &str) -> String {
    let apart = prefix.is_empty()
        || prefix.ends_with(char::is_whitespace)
        || word.starts_with(char::is_whitespace);
    match apart {
        true => word.to_owned(),
        false => format!("{joint}{word}"),
    }
}

fn span((start, end): (usize, usize)) -> Place {
    Place::Span { start, end }
}

impl Pairs {
    /// Reads the columns `clean`, `corrupted`, `good`, `bad` and those of the regions: the words of a region in the clean
    /// prefix, and in a column `…_corrupted` those in the other where they differ.
    pub fn open(path: &Path, regions: &[String], joint: &str) -> Result<Self, InstrumentError> {
        let material = Material::open(path)?;
        let mut pairs = Vec::new();
        for row in material.rows()? {
            let row = row?;
            let text = |name: &str| material::words(&material, &row, name);
            let (clean, corrupted) = (text("clean")?, text("corrupted")?);
            let mut found = Vec::new();
            for name in regions {
                let other = format!("{name}_corrupted");
                let other = match row.columns.contains_key(&other) {
                    true => other,
                    false => name.clone(),
                };
                let place = |prefix: &str, column: &str| {
                    let words = Value::String(text(column)?);
                    match regions::named(prefix, &words).as_deref() {
                        Ok([one]) => Ok((one.start, one.end)),
                        Ok(_) => Err(material.wrong(row.line, format!("`{column}` is empty"))),
                        Err(why) => Err(material.wrong(row.line, why.clone())),
                    }
                };
                found.push([place(&clean, name)?, place(&corrupted, &other)?]);
            }
            let (good, bad) = (text("good")?, text("bad")?);
            pairs.push(Pair {
                id: material::id(&material, &row)?,
                words: [good, bad].map(|word| joined(&clean, &word, joint)),
                clean,
                corrupted,
                regions: found,
                line: row.line,
            });
        }
        if pairs.len() < 2 {
            return Err(material.wrong(1, "expected at least two pairs").into());
        }
        let file = path.file_name().unwrap_or_default();
        Ok(Self {
            pairs,
            regions: regions.to_vec(),
            file: file.to_string_lossy().into_owned(),
        })
    }

    /// Where the two texts of each pair correspond: regions and, where none ends the text, the last token; or token by
    /// token from the end.
    pub(crate) fn spots(&self, subject: &Subject<'_>) -> Result<Vec<Vec<Spot>>, InstrumentError> {
        if self.regions.is_empty() {
            let pair = |pair: &Pair| {
                let pieces = [
                    subject.pieces(&pair.clean)?,
                    subject.pieces(&pair.corrupted)?,
                ];
                self.by_token(pair, &pieces)
            };
            return self.pairs.iter().map(pair).collect();
        }
        let sides = self
            .pairs
            .iter()
            .flat_map(|p| [(p, &p.clean, 0), (p, &p.corrupted, 1)]);
        let counting = sides.map(|(pair, text, side)| {
            let regions = pair.regions.iter();
            watching(text, regions.map(|r| (Site::Stream(0), span(r[side]))))
        });
        let counted = subject.ask(counting.collect())?;
        let each = self.pairs.iter().zip(counted.chunks_exact(2));
        Ok(each
            .map(|(pair, sides)| self.by_region(pair, sides))
            .collect())
    }

    fn by_token(
        &self,
        pair: &Pair,
        [clean, corrupted]: &[Vec<String>; 2],
    ) -> Result<Vec<Spot>, InstrumentError> {
        if clean.len() != corrupted.len() {
            return Err(InstrumentError::Usage(format!(
                "{}, line {}: the clean prefix has {} tokens ({}) and the corrupted one {} ({}): they cannot be aligned \
                 token by token\nhint: --regions names columns with words that correspond",
                self.file,
                pair.line,
                clean.len(),
                clean.join("|"),
                corrupted.len(),
                corrupted.join("|"),
            )));
        }
        let spot = |token: usize| Spot {
            key: format!("-{}", clean.len() - token),
            places: [Place::Token(token); 2],
            ends: [Place::Token(token); 2],
        };
        Ok((0..clean.len()).map(spot).collect())
    }

    fn by_region(&self, pair: &Pair, counted: &[Intervened]) -> Vec<Spot> {
        let mut spots = Vec::new();
        for (at, (name, places)) in self.regions.iter().zip(&pair.regions).enumerate() {
            let last = |text: &str, (start, end): (usize, usize)| {
                let character = text[start..end].chars().next_back();
                span((end - character.map_or(1, char::len_utf8), end))
            };
            let ends = [
                last(&pair.clean, places[0]),
                last(&pair.corrupted, places[1]),
            ];
            let mut counts = counted.iter().map(|side| side.states[at].len());
            spots.push(Spot {
                key: name.clone(),
                // Regions of different lengths correspond in their last tokens.
                places: match counts.next() == counts.next() {
                    true => places.map(span),
                    false => ends,
                },
                ends,
            });
        }
        let ends = [pair.clean.len(), pair.corrupted.len()];
        if pair.regions.iter().all(|r| [r[0].1, r[1].1] != ends) {
            spots.push(Spot {
                key: "last".into(),
                places: [Place::Last; 2],
                ends: [Place::Last; 2],
            });
        }
        spots
    }

    /// What a column of token positions is called: its token, where all pairs have the same, else that of the first.
    pub(crate) fn label(
        &self,
        key: &str,
        subject: &Subject<'_>,
    ) -> Result<String, InstrumentError> {
        let Some(back) = key.strip_prefix('-').and_then(|k| k.parse::<usize>().ok()) else {
            return Ok(key.to_owned());
        };
        let mut found: Vec<String> = Vec::new();
        for text in self.pairs.iter().flat_map(|p| [&p.clean, &p.corrupted]) {
            let pieces = subject.pieces(text)?;
            let at = pieces.len().checked_sub(back).and_then(|at| pieces.get(at));
            found.extend(at.map(|piece| piece.trim_start_matches(['Ġ', '▁', ' ']).to_owned()));
        }
        let first = found.first().cloned().unwrap_or_default();
        let more = if found.iter().all(|f| *f == first) {
            ""
        } else {
            " …"
        };
        Ok(format!("{key} {first}{more}"))
    }
}

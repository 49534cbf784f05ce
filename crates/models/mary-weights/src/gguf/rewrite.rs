//! A GGUF file written anew with some matrices changed. These are unpacked to 32 bits, since quantising
//! them again would round away what was added; every other tensor and all metadata, the tokenizer among
//! them, stay byte for byte.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use mary_contract::{ErrorKind, ModelError};
use mary_kernels::dequant;
use mary_platform::Replacement;

use super::header::{Described, Reader};
use crate::fault;
use crate::mapped::Mapped;
use crate::stored::Stored;

/// The number of 32-bit floats among ggml's types.
const F32: u32 = 0;

pub trait Additions {
    /// Whether a tensor is changed, by Hugging Face's name.
    fn change(&self, name: &str) -> bool;

    /// The numbers to add to it, in Hugging Face's order. Asked once for each tensor that is changed, so
    /// that no more than one of them is in memory.
    fn numbers(&self, name: &str) -> Vec<f32>;
}

/// A tensor of the file with the parts of it that are changed. Several of Hugging Face's tensors may lie
/// in one (experts, Phi's queries, keys and values).
struct Piece<'a> {
    described: Described,
    whole: Stored,
    changed: Vec<(&'a str, &'a Stored)>,
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self.changed.as_slice() {
            [] => self.whole.len,
            _ => 4 * self.whole.info.shape.iter().product::<usize>(),
        }
    }

    fn bytes<'a>(&self, file: &'a Mapped) -> &'a [u8] {
        let end = self.whole.start + self.whole.len;
        file.get(self.whole.start..end).unwrap_or_default()
    }

    fn numbers(&self, file: &Mapped, additions: &dyn Additions) -> Result<Vec<f32>, String> {
        let dtype = self.whole.info.dtype;
        let mut all = vec![0.0; self.whole.info.shape.iter().product()];
        dequant::to_f32(dtype, self.bytes(file), &mut all);
        for (name, part) in &self.changed {
            let added = additions.numbers(name);
            // Blocks lie within parts, so that a part begins with a whole block.
            let first = (part.start - self.whole.start) / dtype.block_bytes() * dtype.block_len();
            let fits = added.len() == part.info.shape.iter().product::<usize>();
            let place = all.get_mut(first..first + added.len());
            match place.filter(|_| fits) {
                Some(place) => part.add_to(&added, place),
                None => {
                    return Err(format!(
                        "tensor `{name}` does not take {} numbers",
                        added.len()
                    ));
                }
            }
        }
        Ok(all)
    }
}

/// Writes `file` to `out`. `tensors` are those of the file by Hugging Face's names.
pub(crate) fn rewrite(
    file: &Mapped,
    tensors: &BTreeMap<String, Stored>,
    out: &Path,
    additions: &dyn Additions,
) -> Result<(), ModelError> {
    let bad = |why: String| fault::bad(&file.path, why);
    let mut reader = Reader::new(file);
    let (metadata, count) = reader.metadata().map_err(bad)?;
    let before = reader.at;
    let directory = reader.directory(count).map_err(bad)?;
    let alignment = metadata.alignment().map_err(bad)?;
    let data = reader.at.next_multiple_of(alignment);
    let mut pieces = Vec::with_capacity(directory.len());
    for described in directory {
        let whole = described.place(data, file.len()).map_err(bad)?;
        let within = whole.start..whole.start + whole.len;
        let inside =
            |part: &Stored| within.start <= part.start && part.start + part.len <= within.end;
        let changed = tensors
            .iter()
            .filter(|(name, part)| inside(part) && additions.change(name));
        pieces.push(Piece {
            changed: changed.map(|(name, part)| (name.as_str(), part)).collect(),
            described,
            whole,
        });
    }
    let cannot =
        |e: io::Error| ModelError::new(ErrorKind::BadRequest, format!("{}: {e}", out.display()));
    let mut to = Replacement::begin(out).map_err(cannot)?;
    to.write_all(&head(
        file.get(..before).unwrap_or_default(),
        &pieces,
        alignment,
    ))
    .map_err(cannot)?;
    for piece in &pieces {
        if piece.changed.is_empty() {
            to.write_all(piece.bytes(file)).map_err(cannot)?;
        } else {
            for block in piece.numbers(file, additions).map_err(bad)?.chunks(1 << 16) {
                let bytes: Vec<u8> = block.iter().flat_map(|x| x.to_le_bytes()).collect();
                to.write_all(&bytes).map_err(cannot)?;
            }
        }
        let gap = piece.len().next_multiple_of(alignment) - piece.len();
        to.write_all(&vec![0; gap]).map_err(cannot)?;
    }
    to.commit().map_err(cannot)
}

/// The beginning of the file: metadata as they were, and the directory with new types and places.
fn head(before: &[u8], pieces: &[Piece<'_>], alignment: usize) -> Vec<u8> {
    let mut head = before.to_vec();
    let mut offset = 0usize;
    for piece in pieces {
        let Described {
            name,
            dimensions,
            ggml_type,
            ..
        } = &piece.described;
        head.extend((name.len() as u64).to_le_bytes());
        head.extend(name.as_bytes());
        head.extend((dimensions.len() as u32).to_le_bytes());
        head.extend(dimensions.iter().flat_map(|n| (*n as u64).to_le_bytes()));
        let ggml_type = if piece.changed.is_empty() {
            *ggml_type
        } else {
            F32
        };
        head.extend(ggml_type.to_le_bytes());
        head.extend((offset as u64).to_le_bytes());
        offset += piece.len().next_multiple_of(alignment);
    }
    head.resize(head.len().next_multiple_of(alignment), 0);
    head
}

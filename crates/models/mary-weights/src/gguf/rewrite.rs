//! A GGUF file written anew with some matrices changed. These are unpacked to 32 bits, since quantising
//! them again would round away what was added; every other tensor and all metadata, the tokenizer among
//! them, stay byte for byte.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use mary_kernels::dequant;
use mary_platform::Replacement;

use super::header::{Described, Reader};
use crate::fault::{self, Result, bad_request};
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
) -> Result<()> {
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
    let cannot = |e: io::Error| bad_request(format!("{}: {e}", out.display()));
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

const ARCHITECTURE: &str = "controlvector";
/// Every tensor begins at a multiple of this.
const ALIGNMENT: usize = 32;

/// A direction for each block after which it is added, counted from 0: `direction.3` is added to what block 3 leaves.
pub type ControlVector = BTreeMap<usize, Vec<f32>>;

/// Reads a control vector; all directions are as long as the first.
pub fn read_control_vector(path: &Path) -> Result<ControlVector> {
    let file = Mapped::open(path)?;
    let bad = |why: String| fault::bad(path, why);
    let mut reader = Reader::new(&file);
    let (metadata, directory) = reader.header().map_err(bad)?;
    let found = metadata.text("general.architecture").unwrap_or("nothing");
    if found != ARCHITECTURE {
        let why = format!("holds a {found}, not a control vector");
        return Err(bad(why).hint("`mary steer` writes one; so does llama.cpp's cvector-generator"));
    }
    let alignment = metadata.alignment().map_err(bad)?;
    let data = reader.at.next_multiple_of(alignment);
    let mut all = ControlVector::new();
    for tensor in directory {
        let number = tensor.name.strip_prefix("direction.");
        let Some(layer) = number.and_then(|n| n.parse::<usize>().ok()) else {
            return Err(bad(format!("has a tensor `{}`", tensor.name)));
        };
        let place = tensor.place(data, file.len()).map_err(bad)?;
        let bytes = &file[place.start..place.start + place.len];
        let vector = mary_kernels::dequant::numbers(place.info.dtype, bytes);
        let width = all.values().next().map_or(vector.len(), Vec::len);
        if vector.len() != width || vector.iter().any(|x| !x.is_finite()) {
            let why = format!("`{}` is not {width} numbers", tensor.name);
            return Err(bad(why));
        }
        all.insert(layer, vector);
    }
    match all.is_empty() {
        true => Err(bad("holds no direction".into())),
        false => Ok(all),
    }
}

/// The bytes of a control vector; `model` names the architecture that it was made for.
pub fn control_vector_file(directions: &ControlVector, model: &str) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    file.extend(3u32.to_le_bytes());
    file.extend((directions.len() as u64).to_le_bytes());
    file.extend(3u64.to_le_bytes());
    for (key, value) in [
        ("general.architecture", ARCHITECTURE),
        ("controlvector.model_hint", model),
    ] {
        text(&mut file, key);
        file.extend(8u32.to_le_bytes()); // a string
        text(&mut file, value);
    }
    text(&mut file, "controlvector.layer_count");
    file.extend(4u32.to_le_bytes()); // a 32-bit count
    file.extend((directions.len() as u32).to_le_bytes());
    let mut offset = 0;
    for (layer, vector) in directions {
        text(&mut file, &format!("direction.{layer}"));
        file.extend(1u32.to_le_bytes()); // one dimension
        file.extend((vector.len() as u64).to_le_bytes());
        file.extend(0u32.to_le_bytes()); // float32
        file.extend((offset as u64).to_le_bytes());
        offset = (offset + vector.len() * 4).next_multiple_of(ALIGNMENT);
    }
    for vector in directions.values() {
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_vector_is_read_as_it_was_written_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.gguf");
        let directions: ControlVector =
            [(1, vec![0.5, -1.0, 2.0]), (4, vec![1.0, 0.0, 3.5])].into();
        let bytes = control_vector_file(&directions, "llama");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read_control_vector(&path).unwrap(), directions);
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(read_control_vector(&path).is_err(), "{cut} bytes");
        }
        let other = bytes.iter().map(|&b| if b == b'v' { b'w' } else { b });
        std::fs::write(&path, other.collect::<Vec<u8>>()).unwrap();
        let error = read_control_vector(&path).unwrap_err();
        assert!(error.message.contains("not a control vector"), "{error}");
    }
}

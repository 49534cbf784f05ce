//! Control vectors: GGUF files with one direction for each layer, as llama.cpp reads and writes them.

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::ModelError;

use super::header::Reader;
use crate::fault;
use crate::mapped::Mapped;

const ARCHITECTURE: &str = "controlvector";
/// Every tensor begins at a multiple of this.
const ALIGNMENT: usize = 32;

/// A direction for each block after which it is added, counted from 0: `direction.3` is added to what block 3 leaves.
pub type ControlVector = BTreeMap<usize, Vec<f32>>;

/// Reads a control vector; all directions are as long as the first.
pub fn read_control_vector(path: &Path) -> Result<ControlVector, ModelError> {
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

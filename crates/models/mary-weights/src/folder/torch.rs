//! `pytorch_model.bin`: the zip container that `torch.save` writes, read in place.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use zip::{CompressionMethod, ZipArchive};

use super::pickle::{self, Tensor};
use crate::TensorInfo;
use crate::fault;
use crate::fault::Result;
use crate::mapped::Mapped;
use crate::stored::{Layout, Stored};

/// Largest description of tensors that is read: a model of a hundred thousand tensors takes less.
const MAX_PICKLE: u64 = 64 << 20;

pub(crate) fn tensors(file: &Mapped, index: usize) -> Result<Vec<(String, Stored)>> {
    let bad = |message: String| fault::bad(&file.path, message);
    if !file.starts_with(b"PK") {
        return Err(bad("is not a torch checkpoint in zip form".into()).hint(
            "files written before torch 1.6 must be saved again with torch.save, or converted to \
             safetensors",
        ));
    }
    let mut archive = ZipArchive::new(Cursor::new(&file[..])).map_err(|e| {
        bad(format!("is a damaged or truncated torch checkpoint: {e}")).hint("fetch the file again")
    })?;
    let pickle_name = archive
        .file_names()
        .filter_map(Result::ok)
        .find(|n| n.ends_with("/data.pkl") && n.matches('/').count() == 1)
        .map(|n| n.into_owned())
        .ok_or_else(|| bad("holds no data.pkl, so it was not written by torch.save".into()))?;
    let root = pickle_name.trim_end_matches("data.pkl").to_owned();
    if let Ok(order) = read_small(&mut archive, &format!("{root}byteorder"), 64)
        && order != b"little"
    {
        return Err(bad("was written on a big-endian machine".into()));
    }
    let program = read_small(&mut archive, &pickle_name, MAX_PICKLE).map_err(bad)?;
    let described = pickle::state_dict(&program).map_err(|why| {
        bad(format!("{pickle_name} {why}")).hint(
            "only plain state dicts are read; save the model's state_dict() with torch.save, or \
             use safetensors",
        )
    })?;
    let mut storages = HashMap::new();
    let mut found = Vec::with_capacity(described.len());
    for (name, tensor) in described {
        let key = &tensor.storage.key;
        let (start, len) = match storages.get(key) {
            Some(&place) => place,
            None => {
                let place = storage(&mut archive, &format!("{root}data/{key}"))
                    .map_err(|why| bad(format!("tensor `{name}`: {why}")))?;
                storages.insert(key.clone(), place);
                place
            }
        };
        if file.len() < start || file.len() - start < len {
            return Err(
                bad(format!("tensor `{name}`: its numbers lie outside the file"))
                    .hint("fetch the file again"),
            );
        }
        let stored = place(&tensor, index, start, len).ok_or_else(|| {
            bad(format!(
                "tensor `{name}` of shape {:?} reaches beyond its storage of {len} bytes",
                tensor.shape
            ))
        })?;
        found.push((name, stored));
    }
    Ok(found)
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

fn read_small(archive: &mut Archive<'_>, name: &str, limit: u64) -> Result<Vec<u8>, String> {
    let entry = archive.by_name(name).map_err(|e| format!("{name}: {e}"))?;
    let mut bytes = Vec::new();
    // The limit holds for what comes out, whatever the entry says about its size.
    entry
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("{name}: {e}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("{name} is larger than {limit} bytes"));
    }
    Ok(bytes)
}

/// Where the numbers of a storage lie in the file: first byte and length.
fn storage(archive: &mut Archive<'_>, name: &str) -> Result<(usize, usize), String> {
    let entry = archive
        .by_name(name)
        .map_err(|_| format!("the container has no entry `{name}`"))?;
    if entry.compression() != CompressionMethod::Stored || entry.encrypted() {
        return Err(format!("entry `{name}` is compressed or encrypted"));
    }
    let start = entry
        .data_start()
        .ok_or_else(|| format!("entry `{name}` has no place in the file"))?;
    match (usize::try_from(start), usize::try_from(entry.size())) {
        (Ok(start), Ok(len)) => Ok((start, len)),
        _ => Err(format!("entry `{name}` is too large")),
    }
}

/// The tensor as a place in the file, if all of it lies within its storage.
fn place(tensor: &Tensor, file: usize, start: usize, len: usize) -> Option<Stored> {
    let dtype = tensor.storage.dtype;
    let size = dtype.block_bytes();
    let shape = tensor.shape.clone();
    let info = TensorInfo { shape, dtype };
    let numbers = info.numbers()?;
    let span = if numbers == 0 {
        0
    } else {
        let mut last = 0usize;
        for (&n, &stride) in tensor.shape.iter().zip(&tensor.strides) {
            last = last.checked_add((n - 1).checked_mul(stride)?)?;
        }
        last.checked_add(1)?
    };
    let room = (len / size).min(tensor.storage.numbers);
    if tensor.offset.checked_add(span)? > room {
        return None;
    }
    // A stride of zero repeats one number without end: a tiny file could ask for any amount.
    if numbers > room.max(1) {
        return None;
    }
    let layout = if is_row_major(&tensor.shape, &tensor.strides) {
        Layout::Plain
    } else {
        Layout::Strided(tensor.strides.clone())
    };
    Some(Stored {
        info,
        file,
        start: start + tensor.offset * size,
        len: span * size,
        layout,
    })
}

fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1usize;
    shape.iter().zip(strides).rev().all(|(&n, &stride)| {
        let fits = n <= 1 || stride == expected;
        expected = expected.saturating_mul(n.max(1));
        fits
    })
}

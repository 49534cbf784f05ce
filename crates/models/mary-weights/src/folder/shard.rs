//! One safetensors file: its header read and checked, its tensors listed.

use mary_contract::ModelError;
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use crate::fault;
use crate::fault::Result;
use crate::mapped::Mapped;
use crate::stored::{Layout, Stored};
use crate::{TensorInfo, TensorType};

pub(crate) fn tensors(file: &Mapped, index: usize) -> Result<Vec<(String, Stored)>> {
    // Before the crate adds offsets up: they must lie inside the file, or the sum could overflow.
    check_size(file)?;
    let (header, metadata) = SafeTensors::read_metadata(file).map_err(|e| damaged(file, &e))?;
    // The crate has checked that the tensors fill the rest of the file without holes or overlaps.
    let data = header + 8;
    let mut found = Vec::new();
    for (name, info) in metadata.tensors() {
        let dtype = tensor_type(info.dtype).ok_or_else(|| {
            fault::bad(
                &file.path,
                format!(
                    "tensor `{name}` is stored as {:?}, which is not supported",
                    info.dtype
                ),
            )
            .hint("use a checkpoint in f32, f16, bf16 or a quantised format that docs/local-models.md names, or a GGUF file")
        })?;
        let (from, to) = info.data_offsets;
        found.push((
            name,
            Stored {
                info: TensorInfo {
                    shape: info.shape.clone(),
                    dtype,
                },
                file: index,
                start: data + from,
                len: to - from,
                layout: Layout::Plain,
            },
        ));
    }
    Ok(found)
}

fn tensor_type(dtype: Dtype) -> Option<TensorType> {
    Some(match dtype {
        Dtype::F32 => TensorType::F32,
        Dtype::F16 => TensorType::F16,
        Dtype::BF16 => TensorType::BF16,
        Dtype::F64 => TensorType::F64,
        Dtype::I8 => TensorType::I8,
        Dtype::U8 | Dtype::BOOL => TensorType::U8,
        Dtype::I16 => TensorType::I16,
        Dtype::I32 => TensorType::I32,
        Dtype::I64 => TensorType::I64,
        Dtype::F8_E4M3 => TensorType::F8E4m3,
        _ => return None,
    })
}

fn damaged(file: &Mapped, error: &SafeTensorError) -> ModelError {
    let size = file.len();
    let bad = |message: String| fault::bad(&file.path, message);
    match error {
        SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength => bad(format!(
            "is not a complete safetensors file: {size} bytes do not hold its header"
        ))
        .hint("fetch the file again"),
        SafeTensorError::MetadataIncompleteBuffer => bad(format!(
            "its {size} bytes are more than its header describes"
        ))
        .hint("fetch the file again"),
        SafeTensorError::InvalidOffset(tensor) => bad(format!(
            "tensor `{tensor}` has offsets that do not follow the tensor before it"
        )),
        SafeTensorError::TensorInvalidInfo => {
            let named = misshapen(file).map_or("a tensor".into(), |t| format!("tensor `{t}`"));
            bad(format!("{named} has a shape that does not match its bytes"))
        }
        other => bad(format!("is not a safetensors file: {other}")),
    }
}

/// The header as plain JSON, for error messages only.
fn header(file: &Mapped) -> Option<serde_json::Map<String, serde_json::Value>> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    serde_json::from_slice(rest.get(..length)?).ok()
}

fn span(tensor: &serde_json::Value) -> Option<(u64, u64)> {
    let offsets = tensor.get("data_offsets")?.as_array()?;
    Some((offsets.first()?.as_u64()?, offsets.get(1)?.as_u64()?))
}

/// Refuses a file that is shorter than its header promises, naming the first tensor cut off.
fn check_size(file: &Mapped) -> Result<()> {
    let (Some(length), Some(header)) = (file.first_chunk::<8>(), header(file)) else {
        return Ok(()); // no header to speak of: the crate says what is wrong
    };
    let data = u64::from_le_bytes(*length) + 8; // the header was read, so this is in the file
    let have = (file.len() as u64).saturating_sub(data);
    let spans: Vec<(String, (u64, u64))> = header
        .into_iter()
        .filter_map(|(name, t)| Some((name, span(&t)?)))
        .collect();
    let Some((cut, _)) = spans
        .iter()
        .filter(|(_, (_, to))| *to > have)
        .min_by_key(|(_, (from, _))| *from)
    else {
        return Ok(());
    };
    let end = spans.iter().map(|(_, (_, to))| *to).max().unwrap_or(0);
    Err(fault::bad(
        &file.path,
        format!(
            "is truncated: its header promises {} bytes, the file has {}; first tensor cut off: \
             `{cut}`",
            data.saturating_add(end),
            file.len()
        ),
    )
    .hint("fetch the file again"))
}

fn misshapen(file: &Mapped) -> Option<String> {
    header(file)?.into_iter().find_map(|(name, tensor)| {
        let (from, to) = span(&tensor)?;
        let numbers = tensor
            .get("shape")?
            .as_array()?
            .iter()
            .try_fold(1u64, |n, d| n.checked_mul(d.as_u64()?))?;
        let bits: u64 = match tensor.get("dtype")?.as_str()? {
            "F64" | "I64" | "U64" => 64,
            "F32" | "I32" | "U32" => 32,
            "F16" | "BF16" | "I16" | "U16" => 16,
            _ => 8,
        };
        (numbers.checked_mul(bits / 8) != Some(to.checked_sub(from)?)).then_some(name)
    })
}

//! Which tensors make a matrix in each format, and whether their shapes belong together.

use mary_kernels::dequant;
use serde_json::Value;

use super::recipe::{Coding, Order, Place, Recipe, Scales, Zeros};
use super::{Method, Parts};
use crate::stored::Stored;
use crate::{TensorInfo, TensorType};

const WORDS: &[TensorType] = &[TensorType::I32];
const BYTES: &[TensorType] = &[TensorType::U8];
const SIGNED: &[TensorType] = &[TensorType::I8];
const SINGLE: &[TensorType] = &[TensorType::F32];
const FLOATS: &[TensorType] = &[TensorType::F32, TensorType::F16, TensorType::BF16];

type Made = Result<Recipe, String>;

/// The name and the recipe of a matrix, where this tensor is the one that tells of it.
pub(super) fn find(method: &Method, name: &str, parts: &mut Parts<'_>) -> Option<(String, Made)> {
    let stem = |ending: &str| name.strip_suffix(ending);
    let weight = |stem: &str| format!("{stem}.weight");
    match *method {
        Method::Gptq { .. } | Method::Awq => {
            let stem = stem(".qweight")?;
            Some((weight(stem), columns(method, stem, parts)))
        }
        Method::Bytes { block } => match stem(".weight_packed") {
            Some(stem) => Some((weight(stem), packed(stem, parts))),
            None => {
                let own = [TensorType::F8E4m3, TensorType::I8, TensorType::U8];
                let stem = stem(".weight")?;
                let stored = parts.look(name).filter(|t| own.contains(&t.info.dtype))?;
                let made = match stored.info.dtype {
                    TensorType::U8 => nvfp4(
                        [".weight", ".weight_scale", ".weight_scale_2"]
                            .map(|e| stem.to_owned() + e),
                        parts,
                    ),
                    _ => bytes(stem, stored.clone(), block, parts),
                };
                Some((name.to_owned(), made))
            }
        },
        Method::BitsAndBytes => {
            if let Some(stem) = stem(".SCB") {
                return Some((weight(stem), rows_of_bytes(stem, parts)));
            }
            let kinds = ["nf4", "fp4"].map(|kind| format!(".quant_state.bitsandbytes__{kind}"));
            let own = kinds.iter().find_map(|kind| stem(kind))?;
            Some((own.to_owned(), four_bits(own, name, parts)))
        }
        Method::Mxfp4 => {
            let own = stem("_blocks")?;
            Some((own.to_owned(), mxfp4(own, parts)))
        }
    }
}

/// Rows and columns of a matrix that has some.
fn matrix(stored: &Stored) -> Result<(usize, usize), String> {
    match stored.info.shape.as_slice() {
        [rows, columns] if *rows > 0 && *columns > 0 => Ok((*rows, *columns)),
        other => Err(format!("its shape is {other:?}")),
    }
}

/// The kind of the blocks that hold digits of so many bits: ggml's where all zero points are in the middle and
/// scales are short.
fn blocks_of(bits: usize, symmetric: bool, scales: &Stored) -> TensorType {
    match (bits, symmetric && scales.info.dtype == TensorType::F16) {
        (4, true) => TensorType::Q4_0,
        (8, true) => TensorType::Q8_0,
        (8, false) => TensorType::Int8,
        _ => TensorType::Int4,
    }
}

/// Whole numbers with a scale for each rectangle; what is otherwise is changed after.
fn recipe(
    rows: (usize, usize),
    dtype: TensorType,
    digits: (Order, Stored),
    (scales, place): (Stored, Place),
    zeros: Zeros,
) -> Recipe {
    Recipe {
        info: TensorInfo {
            shape: vec![rows.0, rows.1],
            dtype,
        },
        rows,
        digits,
        coding: Coding::Whole,
        place,
        scales: Scales::Plain(scales, 1.0),
        zeros,
        groups: None,
    }
}

/// Inputs in a group, where so many groups take `given` each, or all the same.
fn group_size(inputs: usize, groups: usize, given: Option<usize>) -> Result<usize, String> {
    match given.filter(|size| *size > 0 && inputs.div_ceil(*size) == groups) {
        Some(size) => Ok(size),
        None if groups > 0 && inputs.is_multiple_of(groups) => Ok(inputs / groups),
        None => Err(format!("its {inputs} inputs do not fill {groups} groups")),
    }
}

/// GPTQ and AWQ: a column for each output, and scales `[groups, outputs]`.
fn columns(method: &Method, stem: &str, parts: &mut Parts<'_>) -> Made {
    let part = |ending: &str| format!("{stem}.{ending}");
    let digits = parts.need(&part("qweight"), WORDS)?;
    let zeros = parts.need(&part("qzeros"), WORDS)?;
    let scales = parts.need(&part("scales"), FLOATS)?;
    let ((rows, columns), (groups, outputs)) = (matrix(&digits)?, matrix(&scales)?);
    // Of AWQ outputs are packed, of GPTQ inputs.
    let (bits, symmetric, size, packed, inputs) = match *method {
        Method::Gptq {
            bits,
            symmetric,
            size,
            ..
        } => (bits, symmetric, size, columns, rows * 32 / bits),
        _ => (4, false, None, columns * 8, rows),
    };
    parts.same(&part("scales"), &[groups, packed])?;
    if !(outputs * bits).is_multiple_of(32) || !(rows * 32).is_multiple_of(bits) {
        return Err(format!(
            "{bits} bits do not fill the words of {outputs} outputs"
        ));
    }
    parts.same(&part("qzeros"), &[groups, outputs * bits / 32])?;
    let place = Place {
        rows: 1,
        columns: group_size(inputs, groups, size)?,
        down: 1,
        across: outputs,
    };
    let kind = blocks_of(bits, symmetric, &scales);
    let (order, zeros) = match *method {
        Method::Gptq { add, .. } => {
            let from = zeros;
            (Order::Columns { bits }, Zeros::Columns { from, bits, add })
        }
        _ => (Order::Awq, Zeros::Awq(zeros)),
    };
    let (rows, digits, scaled) = ((outputs, inputs), (order, digits), (scales, place));
    let mut made = recipe(rows, kind, digits, scaled, zeros);
    made.groups = parts.order(&part("g_idx"), inputs)?;
    Ok(made)
}

/// Where the scales of a matrix lie, from their shape: one for all, for each output, for groups of inputs or for
/// rectangles.
fn place_of(
    scales: &[usize],
    (outputs, inputs): (usize, usize),
    block: Option<(usize, usize)>,
) -> Result<Place, String> {
    let grid = |rows: usize, columns: usize, down: usize| Place {
        rows,
        columns,
        down,
        across: 1,
    };
    match (scales, block) {
        ([] | [1] | [1, 1], _) => Ok(grid(outputs, inputs, 1)),
        ([n] | [n, 1], _) if *n == outputs => Ok(grid(1, inputs, 1)),
        (&[rows, columns], Some((r, c)))
            if rows == outputs.div_ceil(r) && columns == inputs.div_ceil(c) =>
        {
            Ok(grid(r, c, columns))
        }
        (&[rows, columns], _) if rows == outputs => {
            Ok(grid(1, group_size(inputs, columns, None)?, columns))
        }
        _ => Err(format!(
            "scales of shape {scales:?} do not fit {outputs} outputs of {inputs} inputs"
        )),
    }
}

/// Packed by compressed-tensors: whole numbers in words, or MXFP4 in bytes.
fn packed(stem: &str, parts: &mut Parts<'_>) -> Made {
    let part = |ending: &str| format!("{stem}.weight_{ending}");
    if parts.look(&part("global_scale")).is_some() {
        return nvfp4(["packed", "scale", "global_scale"].map(part), parts);
    }
    let digits = parts.need(&part("packed"), &[TensorType::I32, TensorType::U8])?;
    let (outputs, columns) = matrix(&digits)?;
    if digits.info.dtype == TensorType::U8 {
        let scales = parts.need(&part("scale"), BYTES)?;
        parts.same(&part("scale"), &[outputs, columns / 16])?;
        return stretches(vec![outputs, columns * 2], 32, digits, scales);
    }
    let scales = parts.need(&part("scale"), FLOATS)?;
    let shape = parts.need(&part("shape"), &[TensorType::I64, TensorType::I32])?;
    let shape = parts.numbers(&shape)?;
    let [rows, inputs] = *shape else {
        return Err(format!("weight_shape says {shape:?}"));
    };
    let fits =
        |bits: &usize| rows == outputs && inputs > 0 && inputs.div_ceil(32 / bits) == columns;
    let Some(bits) = [4, 8, 2].into_iter().find(fits) else {
        return Err(format!(
            "weight_shape says {shape:?}; {outputs} rows of {columns} words are not as many numbers of 2, 4 or 8 bits"
        ));
    };
    let place = place_of(&scales.info.shape, (outputs, inputs), None)?;
    let zeros = match parts.look(&part("zero_point")) {
        None => Zeros::All(1 << (bits - 1)),
        Some(_) => {
            let from = parts.need(&part("zero_point"), WORDS)?;
            let groups = scales.info.shape.get(1).copied().unwrap_or(1);
            parts.same(
                &part("zero_point"),
                &[(outputs * bits).div_ceil(32), groups],
            )?;
            Zeros::Rows { from, bits }
        }
    };
    let kind = blocks_of(bits, matches!(zeros, Zeros::All(_)), &scales);
    let order = rows_of(bits, 4 * columns, false);
    let (rows, digits, scaled) = ((outputs, inputs), (order, digits), (scales, place));
    let mut made = recipe(rows, kind, digits, scaled, zeros);
    made.groups = parts.order(&part("g_idx"), inputs)?;
    Ok(made)
}

/// Floats of four bits in sixteens, whose scales in FP8 have a scale in their turn: a factor with NVIDIA's names, a divisor
/// with those of compressed-tensors.
fn nvfp4([digits, scales, global]: [String; 3], parts: &mut Parts<'_>) -> Made {
    let divides = global.ends_with("global_scale");
    let digits = parts.need(&digits, BYTES)?;
    let (outputs, columns) = matrix(&digits)?;
    parts.same(&scales, &[outputs, columns / 8])?;
    let scales = parts.need(&scales, &[TensorType::F8E4m3])?;
    let global = parts.need(&global, SINGLE)?;
    let global = dequant::numbers(TensorType::F32, &parts.bytes(&global)?);
    let (&[global], true) = (global.as_slice(), columns.is_multiple_of(8)) else {
        return Err(format!(
            "{} global scales, and {columns} bytes in a row",
            global.len()
        ));
    };
    let place = place_of(&scales.info.shape, (outputs, 2 * columns), None)?;
    let digits = (rows_of(4, columns, false), digits);
    let scaled = (scales.clone(), place);
    let mut made = recipe(
        (outputs, 2 * columns),
        TensorType::Nvfp4,
        digits,
        scaled,
        Zeros::All(0),
    );
    made.scales = Scales::Plain(scales, if divides { global.recip() } else { global });
    let sizes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    made.coding = Coding::Table(sizes.into_iter().chain(sizes.map(|x: f32| -x)).collect());
    Ok(made)
}

fn rows_of(bits: usize, row_bytes: usize, turned: bool) -> Order {
    Order::Rows {
        bits,
        row_bytes,
        turned,
    }
}

/// A matrix of bytes, FP8 or whole numbers, that has its scales beside it.
fn bytes(stem: &str, digits: Stored, block: Option<(usize, usize)>, parts: &mut Parts<'_>) -> Made {
    let part = |ending: &str| format!("{stem}.weight{ending}");
    parts.take(&part(""));
    let (outputs, inputs) = matrix(&digits)?;
    let named = match parts.look(&part("_scale_inv")) {
        Some(_) => part("_scale_inv"),
        None => part("_scale"),
    };
    let scales = parts.need(&named, FLOATS)?;
    let rows = (outputs, inputs);
    let place = place_of(&scales.info.shape, rows, block)?;
    if digits.info.dtype == TensorType::F8E4m3 {
        let digits = (rows_of(8, inputs, false), digits);
        let mut made = recipe(
            rows,
            TensorType::Fp8,
            digits,
            (scales, place),
            Zeros::All(0),
        );
        made.coding = Coding::E4m3;
        return Ok(made);
    }
    let symmetric = parts.look(&part("_zero_point")).is_none();
    let zeros = match symmetric {
        true => Zeros::All(128),
        false => {
            let from = parts.need(&part("_zero_point"), SIGNED)?;
            parts.same(&part("_zero_point"), &scales.info.shape)?;
            Zeros::Bytes(from)
        }
    };
    let kind = blocks_of(8, symmetric, &scales);
    let digits = (rows_of(8, inputs, true), digits);
    Ok(recipe(rows, kind, digits, (scales, place), zeros))
}

/// bitsandbytes' INT8: the largest number of each row stands for 127.
fn rows_of_bytes(stem: &str, parts: &mut Parts<'_>) -> Made {
    let part = |ending: &str| format!("{stem}.{ending}");
    let digits = parts.need(&part("weight"), SIGNED)?;
    let scales = parts.need(&part("SCB"), SINGLE)?;
    let (outputs, inputs) = matrix(&digits)?;
    parts.same(&part("SCB"), &[outputs])?;
    if let Some(format) = parts.take(&part("weight_format")) {
        let format = parts.numbers(&format)?;
        if format.iter().any(|n| *n != 0) {
            return Err(format!(
                "it is in layout {format:?} of a GPU; only rows are read"
            ));
        }
    }
    let place = place_of(&[outputs], (outputs, inputs), None)?;
    let scaled = (scales.clone(), place);
    let digits = (rows_of(8, inputs, true), digits);
    let zeros = Zeros::All(128);
    let mut made = recipe((outputs, inputs), TensorType::Int8, digits, scaled, zeros);
    made.scales = Scales::Plain(scales, 1.0 / 127.0);
    Ok(made)
}

/// Digits of four bits without gaps, of which so many share a scale, over the ends of rows too.
fn stretches(shape: Vec<usize>, size: usize, digits: Stored, scales: Stored) -> Made {
    let numbers = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let numbers = numbers.filter(|n| *n > 0 && *n == 2 * digits.len);
    let Some(numbers) =
        numbers.filter(|n| size > 0 && size.is_multiple_of(2) && n.is_multiple_of(size))
    else {
        return Err(format!(
            "{} bytes are not {shape:?} numbers of four bits in blocks of {size}",
            digits.len
        ));
    };
    let rows = (numbers / size, size);
    let place = place_of(&[rows.0], rows, None)?;
    let digits = (rows_of(4, size / 2, false), digits);
    let (kind, scaled) = (TensorType::Mxfp4, (scales, place));
    let mut made = recipe(rows, kind, digits, scaled, Zeros::All(0));
    made.info.shape = shape;
    Ok(made)
}

/// bitsandbytes' NF4 and FP4, with what it says of them in a tensor of JSON.
fn four_bits(own: &str, state: &str, parts: &mut Parts<'_>) -> Made {
    let part = |ending: &str| format!("{own}.{ending}");
    let state = parts.need(state, BYTES)?;
    let state: Value = serde_json::from_slice(&parts.bytes(&state)?)
        .map_err(|e| format!("its quant_state is not JSON: {e}"))?;
    let whole = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let size = |key: &str| {
        let size = whole(&state[key]).filter(|size| *size > 0);
        size.ok_or_else(|| format!("its quant_state has {key} = {}", state[key]))
    };
    let shape: Option<Vec<usize>> = state["shape"]
        .as_array()
        .map_or(&[][..], |s| s)
        .iter()
        .map(whole)
        .collect();
    let shape = shape.filter(|shape| shape.len() == 2);
    let shape = shape.ok_or_else(|| format!("its quant_state has shape = {}", state["shape"]))?;
    let digits = parts.take(own).ok_or("its digits are not there")?;
    let scales = parts.need(&part("absmax"), &[TensorType::F32, TensorType::U8])?;
    let nested = scales.info.dtype == TensorType::U8;
    let mut made = stretches(shape, size("blocksize")?, digits, scales.clone())?;
    let blocks = made.rows.0;
    parts.same(&part("absmax"), &[blocks])?;
    if nested {
        let outer = size("nested_blocksize")?;
        let of_scales = parts.need(&part("nested_absmax"), SINGLE)?;
        parts.same(&part("nested_absmax"), &[blocks.div_ceil(outer)])?;
        let table = parts.need(&part("nested_quant_map"), SINGLE)?;
        let offset = state["nested_offset"].as_f64();
        made.scales = Scales::Nested {
            parts: Box::new([scales, table, of_scales]),
            size: outer,
            offset: offset.ok_or("its quant_state has no nested_offset")? as f32,
        };
    }
    let map = parts.need(&part("quant_map"), SINGLE)?;
    parts.same(&part("quant_map"), &[16])?;
    let table = dequant::numbers(TensorType::F32, &parts.bytes(&map)?);
    // Blocks know one table; a matrix with another one is kept as numbers.
    made.info.dtype = match table == nf4() {
        true => TensorType::Nf4,
        false => TensorType::F32,
    };
    made.digits.0 = rows_of(4, made.rows.1 / 2, true);
    made.coding = Coding::Table(table);
    Ok(made)
}

/// The table of NF4, as its blocks know it.
fn nf4() -> Vec<f32> {
    let scale = 1f32.to_le_bytes().into_iter();
    let block: Vec<u8> = scale.chain(0..16).collect();
    let mut known = dequant::numbers(TensorType::Nf4, &block);
    known.truncate(16);
    known
}

/// gpt-oss: blocks of sixteen bytes, and a scale for each.
fn mxfp4(own: &str, parts: &mut Parts<'_>) -> Made {
    let digits = parts.need(&format!("{own}_blocks"), BYTES)?;
    let scales = parts.need(&format!("{own}_scales"), BYTES)?;
    let [outer @ .., last, 16] = digits.info.shape.as_slice() else {
        return Err(format!("its blocks have shape {:?}", digits.info.shape));
    };
    parts.same(&format!("{own}_scales"), &digits.info.shape[..=outer.len()])?;
    let mut shape = outer.to_vec();
    shape.push(last.saturating_mul(32));
    stretches(shape, 32, digits, scales)
}

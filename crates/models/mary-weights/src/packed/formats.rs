//! Which tensors make a matrix in each format, and whether their shapes belong together.

use serde_json::Value;

use super::recipe::{Coding, Order, Place, Recipe, Scales, Zeros};
use super::{Method, Parts};
use crate::stored::Stored;
use crate::{TensorInfo, TensorType};

/// What is read of a name that ends in `ending`: the matrix's own name, and its recipe.
pub(super) type Found = Result<(String, Recipe), String>;

/// A recipe where this tensor is the first of a matrix.
pub(super) fn find(method: &Method, name: &str, parts: &mut Parts<'_>) -> Option<Found> {
    let weight = |stem: &str| format!("{stem}.weight");
    let stem = |ending: &str| name.strip_suffix(ending).map(str::to_owned);
    let named = |name: String, recipe: Result<Recipe, String>| recipe.map(|r| (name, r));
    match *method {
        Method::Gptq { .. } | Method::Awq => {
            let stem = stem(".qweight")?;
            let recipe = match *method {
                Method::Awq => awq(&stem, parts),
                _ => gptq(method, &stem, parts),
            };
            Some(named(weight(&stem), recipe))
        }
        Method::Compressed { block } => match stem(".weight_packed") {
            Some(stem) => Some(named(weight(&stem), packed(&stem, parts))),
            None => bytes(name, block, parts).map(|recipe| named(name.to_owned(), recipe)),
        },
        Method::Fp8 { block } => {
            bytes(name, block, parts).map(|recipe| named(name.to_owned(), recipe))
        }
        Method::BitsAndBytes => {
            if let Some(stem) = stem(".SCB") {
                let own = weight(&stem);
                let recipe = rows_of_bytes(&own, parts);
                return Some(named(own, recipe));
            }
            let kind = ["nf4", "fp4"].into_iter();
            let mut found = kind.filter_map(|kind| {
                let own = stem(&format!(".quant_state.bitsandbytes__{kind}"))?;
                Some((own, kind))
            });
            let (own, kind) = found.next()?;
            let recipe = four_bits(&own, kind, parts);
            Some(named(own, recipe))
        }
        Method::Mxfp4 => {
            let own = stem("_blocks")?;
            let recipe = mxfp4(&own, parts);
            Some(named(own, recipe))
        }
    }
}

/// Rows and columns of a matrix that has some.
fn matrix(stored: &Stored, what: &str) -> Result<(usize, usize), String> {
    match stored.info.shape.as_slice() {
        [rows, columns] if *rows > 0 && *columns > 0 => Ok((*rows, *columns)),
        other => Err(format!("its {what} should be a matrix, and is {other:?}")),
    }
}

fn of_type(stored: &Stored, wanted: &[TensorType], what: &str) -> Result<(), String> {
    let found = stored.info.dtype;
    match wanted.contains(&found) {
        true => Ok(()),
        false => {
            let wanted: Vec<&str> = wanted.iter().map(|t| t.name()).collect();
            Err(format!(
                "its {what} is {found} and should be {}",
                wanted.join(" or ")
            ))
        }
    }
}

const FLOATS: [TensorType; 3] = [TensorType::F32, TensorType::F16, TensorType::BF16];

fn same(what: &str, found: &[usize], wanted: &[usize]) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!(
            "its {what} has shape {found:?} and should have {wanted:?}"
        )),
    }
}

/// The kind of the blocks that hold digits of so many bits: ggml's where all zero points are in the middle and
/// scales are short.
fn blocks_of(bits: usize, symmetric: bool, scales: TensorType) -> TensorType {
    match (bits, symmetric && scales == TensorType::F16) {
        (4, true) => TensorType::Q4_0,
        (8, true) => TensorType::Q8_0,
        (8, false) => TensorType::Int8,
        _ => TensorType::Int4,
    }
}

fn info(outputs: usize, inputs: usize, dtype: TensorType) -> TensorInfo {
    let shape = vec![outputs, inputs];
    TensorInfo { shape, dtype }
}

/// Inputs in a group, where so many groups take `given` each, or all the same.
fn group_size(inputs: usize, groups: usize, given: Option<usize>) -> Result<usize, String> {
    match given.filter(|size| *size > 0 && inputs.div_ceil(*size) == groups) {
        Some(size) => Ok(size),
        None if groups > 0 && inputs.is_multiple_of(groups) => Ok(inputs / groups),
        None => Err(format!("its {inputs} inputs do not fill {groups} groups")),
    }
}

fn gptq(method: &Method, stem: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let &Method::Gptq {
        bits,
        symmetric,
        add,
        size,
    } = method
    else {
        return Err("is not GPTQ".into());
    };
    let mut take = |ending: &str| parts.need(&format!("{stem}.{ending}"));
    let (digits, zeros, scales) = (take("qweight")?, take("qzeros")?, take("scales")?);
    of_type(&digits, &[TensorType::I32], "qweight")?;
    of_type(&zeros, &[TensorType::I32], "qzeros")?;
    of_type(&scales, &FLOATS, "scales")?;
    let (rows, outputs) = matrix(&digits, "qweight")?;
    let (groups, columns) = matrix(&scales, "scales")?;
    same("scales", &[groups, columns], &[groups, outputs])?;
    if !(outputs * bits).is_multiple_of(32) || !(rows * 32).is_multiple_of(bits) {
        return Err(format!(
            "{bits} bits do not fill whole words of its {outputs} outputs"
        ));
    }
    same("qzeros", &zeros.info.shape, &[groups, outputs * bits / 32])?;
    let inputs = rows * 32 / bits;
    let place = Place::Columns {
        size: group_size(inputs, groups, size)?,
    };
    let order = parts.take(&format!("{stem}.g_idx"));
    if let Some(order) = &order {
        of_type(order, &[TensorType::I32], "g_idx")?;
        same("g_idx", &order.info.shape, &[inputs])?;
    }
    Ok(Recipe {
        info: info(
            outputs,
            inputs,
            blocks_of(bits, symmetric, scales.info.dtype),
        ),
        digits: (Order::Columns { bits }, digits),
        coding: Coding::Whole,
        place,
        scales: Scales::Plain(scales, 1.0),
        zeros: Zeros::Columns {
            from: zeros,
            bits,
            add,
        },
        groups: order,
    })
}

fn awq(stem: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let mut take = |ending: &str| parts.need(&format!("{stem}.{ending}"));
    let (digits, zeros, scales) = (take("qweight")?, take("qzeros")?, take("scales")?);
    of_type(&digits, &[TensorType::I32], "qweight")?;
    of_type(&zeros, &[TensorType::I32], "qzeros")?;
    of_type(&scales, &FLOATS, "scales")?;
    let (inputs, columns) = matrix(&digits, "qweight")?;
    let outputs = columns * 8;
    let (groups, _) = matrix(&scales, "scales")?;
    same("scales", &scales.info.shape, &[groups, outputs])?;
    same("qzeros", &zeros.info.shape, &[groups, columns])?;
    Ok(Recipe {
        info: info(outputs, inputs, TensorType::Int4),
        digits: (Order::Awq, digits),
        coding: Coding::Whole,
        place: Place::Columns {
            size: group_size(inputs, groups, None)?,
        },
        scales: Scales::Plain(scales, 1.0),
        zeros: Zeros::Awq(zeros),
        groups: None,
    })
}

/// Where the scales of a matrix lie, from their shape: one for all, for each output, for groups of inputs or for
/// rectangles.
fn place_of(
    scales: &[usize],
    (outputs, inputs): (usize, usize),
    block: Option<(usize, usize)>,
) -> Result<Place, String> {
    let grid = |rows: usize, columns: usize, stride: usize| Place::Grid {
        rows,
        columns,
        stride,
    };
    match *scales {
        [] | [1] | [1, 1] => Ok(grid(outputs, inputs, 1)),
        [n] | [n, 1] if n == outputs => Ok(grid(1, inputs, 1)),
        [rows, columns] => match block {
            Some((r, c)) if rows == outputs.div_ceil(r) && columns == inputs.div_ceil(c) => {
                Ok(grid(r, c, columns))
            }
            _ if rows == outputs => Ok(grid(1, group_size(inputs, columns, None)?, columns)),
            _ => Err(wrong_scales(scales, outputs, inputs)),
        },
        _ => Err(wrong_scales(scales, outputs, inputs)),
    }
}

fn wrong_scales(scales: &[usize], outputs: usize, inputs: usize) -> String {
    format!("scales of shape {scales:?} do not fit {outputs} outputs of {inputs} inputs")
}

/// Packed by compressed-tensors: whole numbers in words, or MXFP4 in bytes.
fn packed(stem: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let part = |ending: &str| format!("{stem}.weight_{ending}");
    if parts.take(&part("global_scale")).is_some() {
        return Err("is NVFP4, which is not supported".into());
    }
    let (digits, scales) = (parts.need(&part("packed"))?, parts.need(&part("scale"))?);
    let (outputs, columns) = matrix(&digits, "weight_packed")?;
    if digits.info.dtype == TensorType::U8 {
        of_type(&scales, &[TensorType::U8], "weight_scale")?;
        same("weight_scale", &scales.info.shape, &[outputs, columns / 16])?;
        return rows_of_mxfp4(vec![outputs, columns * 2], digits, scales);
    }
    of_type(&digits, &[TensorType::I32], "weight_packed")?;
    of_type(&scales, &FLOATS, "weight_scale")?;
    let shape = parts.need(&part("shape"))?;
    let shape = parts.numbers(&shape)?;
    let inputs = match shape.as_slice() {
        [rows, inputs] if *rows == outputs && *inputs > 0 => *inputs,
        _ => {
            return Err(format!(
                "weight_shape says {shape:?}; there are {outputs} outputs"
            ));
        }
    };
    let fits = |bits: &usize| inputs.div_ceil(32 / bits) == columns;
    let Some(bits) = [4, 8, 2].into_iter().find(fits) else {
        return Err(format!(
            "{inputs} inputs in {columns} words are not 2, 4 or 8 bits each, which is what is supported"
        ));
    };
    let place = place_of(&scales.info.shape, (outputs, inputs), None)?;
    let zeros = match parts.take(&part("zero_point")) {
        None => Zeros::All(1 << (bits - 1)),
        Some(zeros) => {
            of_type(&zeros, &[TensorType::I32], "weight_zero_point")?;
            let groups = scales.info.shape.get(1).copied().unwrap_or(1);
            let rows = (outputs * bits).div_ceil(32);
            same("weight_zero_point", &zeros.info.shape, &[rows, groups])?;
            Zeros::Rows { from: zeros, bits }
        }
    };
    let groups = parts.take(&part("g_idx"));
    if let Some(groups) = &groups {
        of_type(groups, &[TensorType::I32], "weight_g_idx")?;
        same("weight_g_idx", &groups.info.shape, &[inputs])?;
    }
    let symmetric = matches!(zeros, Zeros::All(_));
    let order = Order::Rows {
        bits,
        high_first: false,
        row_bytes: 4 * columns,
        flip: 0,
    };
    Ok(Recipe {
        info: info(
            outputs,
            inputs,
            blocks_of(bits, symmetric, scales.info.dtype),
        ),
        digits: (order, digits),
        coding: Coding::Whole,
        place,
        scales: Scales::Plain(scales, 1.0),
        zeros,
        groups,
    })
}

fn order_of_bytes(inputs: usize, dtype: TensorType) -> Order {
    Order::Rows {
        bits: 8,
        high_first: false,
        row_bytes: inputs,
        flip: if dtype == TensorType::I8 { 0x80 } else { 0 },
    }
}

/// A matrix of bytes, FP8 or whole numbers, that has its scales beside it; `None` where this is none.
fn bytes(
    name: &str,
    block: Option<(usize, usize)>,
    parts: &mut Parts<'_>,
) -> Option<Result<Recipe, String>> {
    let own = |stored: &Stored| matches!(stored.info.dtype, TensorType::F8E4m3 | TensorType::I8);
    let stem = name.strip_suffix(".weight")?;
    parts.look(name).filter(|stored| own(stored))?;
    let mut make = || {
        let digits = parts.need(name)?;
        let (outputs, inputs) = matrix(&digits, "weight")?;
        let inverse = parts.take(&format!("{stem}.weight_scale_inv"));
        let scales = match inverse {
            Some(scales) => scales,
            None => parts.need(&format!("{stem}.weight_scale"))?,
        };
        of_type(&scales, &FLOATS, "scale")?;
        let place = place_of(&scales.info.shape, (outputs, inputs), block)?;
        let (kind, coding) = match digits.info.dtype {
            TensorType::I8 => (blocks_of(8, true, scales.info.dtype), Coding::Whole),
            _ => (TensorType::Fp8, Coding::E4m3),
        };
        let zeros = parts.take(&format!("{stem}.weight_zero_point"));
        let zeros = match zeros.filter(|_| coding == Coding::Whole) {
            None => Zeros::All(128),
            Some(zeros) => {
                of_type(&zeros, &[TensorType::I8], "weight_zero_point")?;
                same("weight_zero_point", &zeros.info.shape, &scales.info.shape)?;
                Zeros::Bytes(zeros)
            }
        };
        let kind = match (kind, &zeros) {
            (TensorType::Q8_0, Zeros::Bytes(_)) => TensorType::Int8,
            _ => kind,
        };
        Ok(Recipe {
            info: info(outputs, inputs, kind),
            digits: (order_of_bytes(inputs, digits.info.dtype), digits),
            coding,
            place,
            scales: Scales::Plain(scales, 1.0),
            zeros,
            groups: None,
        })
    };
    Some(make())
}

/// bitsandbytes' INT8: the largest number of each row stands for 127.
fn rows_of_bytes(own: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let stem = own.trim_end_matches(".weight");
    let (digits, scales) = (parts.need(own)?, parts.need(&format!("{stem}.SCB"))?);
    of_type(&digits, &[TensorType::I8], "weight")?;
    of_type(&scales, &[TensorType::F32], "SCB")?;
    let (outputs, inputs) = matrix(&digits, "weight")?;
    same("SCB", &scales.info.shape, &[outputs])?;
    if let Some(format) = parts.take(&format!("{stem}.weight_format")) {
        let format = parts.numbers(&format)?;
        if format.iter().any(|n| *n != 0) {
            return Err(format!(
                "its weights are in layout {format:?} of a GPU; only rows are read"
            ));
        }
    }
    Ok(Recipe {
        info: info(outputs, inputs, TensorType::Int8),
        digits: (order_of_bytes(inputs, TensorType::I8), digits),
        coding: Coding::Whole,
        place: place_of(&[outputs], (outputs, inputs), None)?,
        scales: Scales::Plain(scales, 1.0 / 127.0),
        zeros: Zeros::All(128),
        groups: None,
    })
}

/// bitsandbytes' NF4 and FP4, with what it says of them in a tensor of JSON.
fn four_bits(own: &str, kind: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let part = |ending: &str| format!("{own}.{ending}");
    let state = parts.need(&part(&format!("quant_state.bitsandbytes__{kind}")))?;
    let state: Value = serde_json::from_slice(&parts.bytes(&state)?)
        .map_err(|e| format!("its quant_state is not JSON: {e}"))?;
    let whole = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let size = |key: &str| {
        let size = whole(&state[key]).filter(|size| *size > 0);
        size.ok_or_else(|| format!("its quant_state has {key} = {}", state[key]))
    };
    let shape = state["shape"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shape: Option<Vec<usize>> = shape.iter().map(whole).collect();
    let Some([outputs, inputs]) = shape
        .as_deref()
        .and_then(|s| <[usize; 2]>::try_from(s).ok())
    else {
        return Err(format!("its quant_state has shape = {}", state["shape"]));
    };
    let (digits, scales) = (parts.need(own)?, parts.need(&part("absmax"))?);
    let numbers = outputs
        .checked_mul(inputs)
        .filter(|n| *n > 0 && inputs.is_multiple_of(2));
    if numbers != Some(2 * digits.len) {
        return Err(format!(
            "its {} bytes are not {outputs} outputs of {inputs} inputs of four bits",
            digits.len
        ));
    }
    let size_of_blocks = size("blocksize")?;
    let blocks = (2 * digits.len).div_ceil(size_of_blocks);
    same("absmax", &scales.info.shape, &[blocks])?;
    let map = parts.take(&part("quant_map"));
    let scales = match scales.info.dtype {
        TensorType::U8 => {
            let outer = size("nested_blocksize")?;
            let of_scales = parts.need(&part("nested_absmax"))?;
            same(
                "nested_absmax",
                &of_scales.info.shape,
                &[blocks.div_ceil(outer)],
            )?;
            let table = parts.need(&part("nested_quant_map"))?;
            same("nested_quant_map", &table.info.shape, &[256])?;
            let offset = state["nested_offset"].as_f64().filter(|n| n.is_finite());
            Scales::Nested {
                digits: scales,
                table,
                scales: of_scales,
                size: outer,
                offset: offset.ok_or("its quant_state has no nested_offset")? as f32,
            }
        }
        _ => {
            of_type(&scales, &[TensorType::F32], "absmax")?;
            Scales::Plain(scales, 1.0)
        }
    };
    let map = map.ok_or("its quant_map is not there")?;
    of_type(&map, &[TensorType::F32], "quant_map")?;
    same("quant_map", &map.info.shape, &[16])?;
    let table = mary_kernels::dequant::numbers(TensorType::F32, &parts.bytes(&map)?);
    let order = Order::Rows {
        bits: 4,
        high_first: true,
        row_bytes: inputs / 2,
        flip: 0,
    };
    // Blocks know one table; whoever has another one keeps its numbers.
    let kind = match is_nf4(&table) {
        true => TensorType::Nf4,
        false => TensorType::F32,
    };
    Ok(Recipe {
        info: info(outputs, inputs, kind),
        digits: (order, digits),
        coding: Coding::Table(table),
        place: Place::Flat {
            size: size_of_blocks,
        },
        scales,
        zeros: Zeros::All(0),
        groups: None,
    })
}

fn is_nf4(table: &[f32]) -> bool {
    let mut block = [0u8; 20];
    block[..4].copy_from_slice(&1f32.to_le_bytes());
    for (i, byte) in (0..).zip(&mut block[4..]) {
        *byte = i;
    }
    let known = mary_kernels::dequant::numbers(TensorType::Nf4, &block);
    known[..16] == *table
}

fn rows_of_mxfp4(shape: Vec<usize>, digits: Stored, scales: Stored) -> Result<Recipe, String> {
    let inputs = shape.last().copied().unwrap_or(0);
    if inputs == 0 || !inputs.is_multiple_of(32) || shape.contains(&0) {
        return Err(format!(
            "rows of {inputs} numbers are no whole blocks of MXFP4"
        ));
    }
    let order = Order::Rows {
        bits: 4,
        high_first: false,
        row_bytes: inputs / 2,
        flip: 0,
    };
    Ok(Recipe {
        info: TensorInfo {
            shape,
            dtype: TensorType::Mxfp4,
        },
        digits: (order, digits),
        coding: Coding::E2m1,
        place: Place::Flat { size: 32 },
        scales: Scales::Plain(scales, 1.0),
        zeros: Zeros::All(0),
        groups: None,
    })
}

/// gpt-oss: blocks of sixteen bytes, and a scale for each.
fn mxfp4(own: &str, parts: &mut Parts<'_>) -> Result<Recipe, String> {
    let digits = parts.need(&format!("{own}_blocks"))?;
    let scales = parts.need(&format!("{own}_scales"))?;
    of_type(&digits, &[TensorType::U8], "blocks")?;
    of_type(&scales, &[TensorType::U8], "scales")?;
    let Some((16, outer)) = digits
        .info
        .shape
        .split_last()
        .map(|(last, rest)| (*last, rest))
    else {
        return Err(format!("its blocks have shape {:?}", digits.info.shape));
    };
    same("scales", &scales.info.shape, outer)?;
    let mut shape = outer.to_vec();
    if let Some(last) = shape.last_mut() {
        *last *= 32;
    }
    if shape.len() < 2 {
        return Err(format!("its blocks have shape {:?}", digits.info.shape));
    }
    rows_of_mxfp4(shape, digits, scales)
}

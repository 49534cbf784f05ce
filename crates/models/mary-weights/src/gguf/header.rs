//! The header of a GGUF file: metadata and the directory of tensors, read within its bounds.

use std::collections::HashMap;

use crate::stored::{Layout, Stored};
use crate::{TensorInfo, TensorType};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meta {
    Integer(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
    /// Arrays of arrays and of truth values, which nothing here asks for.
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct Metadata(pub(super) HashMap<String, Meta>);

/// Readers of values of one kind.
macro_rules! kinds {
    ($($name:ident: $kind:ident($found:ident) -> $told:ty = $value:expr;)*) => {
        $(pub fn $name(&self, key: &str) -> Option<$told> {
            match self.0.get(key)? {
                Meta::$kind($found) => Some($value),
                _ => None,
            }
        })*
    };
}

impl Metadata {
    kinds! {
        text: Text(text) -> &str = text;
        flag: Flag(flag) -> bool = *flag;
        texts: Texts(texts) -> &[String] = texts;
        integers: Integers(n) -> Vec<i64> = n.clone();
        floats: Floats(x) -> Vec<f32> = x.clone();
    }

    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.0.get(key)? {
            Meta::Integer(n) => Some(*n),
            // Per-layer values: usable where all layers agree.
            Meta::Integers(n) => match n.as_slice() {
                [first, rest @ ..] if rest.iter().all(|x| x == first) => Some(*first),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn float(&self, key: &str) -> Option<f64> {
        match self.0.get(key)? {
            Meta::Float(x) => Some(*x),
            Meta::Integer(n) => Some(*n as f64),
            _ => None,
        }
    }

    /// Where tensors may begin: at multiples of this many bytes.
    pub(super) fn alignment(&self) -> Result<usize, String> {
        let said = self.integer("general.alignment").unwrap_or(32);
        usize::try_from(said)
            .ok()
            .filter(|a| a.is_power_of_two() && *a <= 1 << 20)
            .ok_or_else(|| format!("has an alignment of {said}"))
    }
}

pub(super) struct Described {
    pub name: String,
    /// Innermost first, as ggml counts.
    pub dimensions: Vec<usize>,
    /// The number of its type among ggml's.
    pub ggml_type: u32,
    offset: u64,
}

impl Described {
    pub fn place(&self, data: usize, file_len: usize) -> Result<Stored, String> {
        let dtype = TensorType::from_ggml(self.ggml_type).ok_or_else(|| {
            format!(
                "is stored as {}; supported are F32, F16, BF16, F64, I8, I16, I32, I64, Q4_0, \
                 Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, the K, IQ and TQ kinds and MXFP4",
                type_name(self.ggml_type)
            )
        })?;
        let row = self.dimensions.first().copied().unwrap_or(1);
        if !row.is_multiple_of(dtype.block_len()) {
            return Err(format!(
                "has rows of {row} numbers, which {dtype} cannot hold in whole blocks"
            ));
        }
        let info = TensorInfo {
            shape: self.dimensions.iter().rev().copied().collect(),
            dtype,
        };
        let len = info.numbers().and_then(|n| dtype.bytes_for(n));
        let len = len.ok_or_else(|| format!("has impossible dimensions {:?}", self.dimensions))?;
        let start = usize::try_from(self.offset)
            .ok()
            .and_then(|o| o.checked_add(data));
        match start.and_then(|s| s.checked_add(len).map(|end| (s, end))) {
            Some((start, end)) if end <= file_len => Ok(Stored {
                info,
                file: 0,
                start,
                len,
                layout: Layout::Plain,
            }),
            Some((start, end)) => Err(format!(
                "should lie at bytes {start} to {end}, but the file has {file_len}"
            )),
            None => Err("lies outside any file".into()),
        }
    }
}

/// Names of ggml types that are not supported, so that the refusal says what it met.
fn type_name(kind: u32) -> String {
    let name = match kind {
        4 | 5 => "Q4_2 or Q4_3, which ggml has given up",
        31..=33 => "a repacked Q4_0, which ggml has given up",
        36..=38 => "a repacked IQ4_NL, which ggml has given up",
        40 => "NVFP4",
        other => return format!("ggml type {other}"),
    };
    name.into()
}

/// Reads from the front of a file, never past its end.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// List entries that may still come: a byte in the file can be many in memory.
    entries: usize,
}

/// Most entries of all lists together; the largest vocabularies have less than a million.
const MOST_ENTRIES: usize = 1 << 24;
/// Most tensors, and most metadata entries.
const MOST_NAMES: usize = 1 << 20;

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            entries: MOST_ENTRIES,
        }
    }

    pub fn header(&mut self) -> Result<(Metadata, Vec<Described>), String> {
        let (metadata, tensors) = self.metadata()?;
        Ok((metadata, self.directory(tensors)?))
    }

    /// What stands before the directory of tensors, and how many tensors that lists.
    pub fn metadata(&mut self) -> Result<(Metadata, usize), String> {
        if self.take(4)? != b"GGUF" {
            return Err("is not a GGUF file: it does not begin with `GGUF`".into());
        }
        let version = self.u32()?;
        match version {
            2 | 3 => {}
            1 => return Err("is a GGUF file of version 1; convert it again".into()),
            v if v.swap_bytes() <= 3 => return Err("is a big-endian GGUF file".into()),
            v => return Err(format!("is a GGUF file of version {v}; 2 and 3 are known")),
        }
        // A tensor takes at least 24 bytes of directory, a metadata entry at least 13.
        let tensors = self.count(24, "tensors")?;
        let entries = self.count(13, "metadata entries")?;
        if tensors > MOST_NAMES || entries > MOST_NAMES {
            return Err(format!(
                "says that it holds {tensors} tensors and {entries} metadata entries; {MOST_NAMES} are allowed"
            ));
        }
        let mut metadata = HashMap::with_capacity(entries.min(1_024));
        for _ in 0..entries {
            let key = self.name()?;
            let kind = self.u32()?;
            let value = self.value(kind).map_err(|why| match why {
                why if why.starts_with("ends") => why,
                why => format!("metadata `{key}` {why}"),
            })?;
            metadata.insert(key, value);
        }
        Ok((Metadata(metadata), tensors))
    }

    pub fn directory(&mut self, tensors: usize) -> Result<Vec<Described>, String> {
        let mut directory = Vec::with_capacity(tensors.min(1_024));
        for _ in 0..tensors {
            directory.push(self.described()?);
        }
        if directory.is_empty() {
            return Err("holds no tensors".into());
        }
        Ok(directory)
    }

    fn described(&mut self) -> Result<Described, String> {
        let name = self.name()?;
        let rank = self.u32()?;
        if rank > 4 {
            return Err(format!("tensor `{name}` has {rank} dimensions"));
        }
        let dimensions = (0..rank)
            .map(|_| {
                let n = self.u64()?;
                usize::try_from(n).map_err(|_| format!("tensor `{name}` has a dimension of {n}"))
            })
            .collect::<Result<_, String>>()?;
        Ok(Described {
            name,
            dimensions,
            ggml_type: self.u32()?,
            offset: self.u64()?,
        })
    }

    fn value(&mut self, kind: u32) -> Result<Meta, String> {
        Ok(match kind {
            0..=5 | 10 | 11 => Meta::Integer(self.integer(kind)?),
            6 => Meta::Float(decimal(f32::from_le_bytes(self.array()?))),
            12 => Meta::Float(f64::from_le_bytes(self.array()?)),
            7 => Meta::Flag(self.take(1)? != [0]),
            8 => Meta::Text(self.text()?),
            9 => {
                let kind = self.u32()?;
                self.list(kind, 0)?
            }
            other => return Err(format!("is of the unknown type {other}")),
        })
    }

    fn integer(&mut self, kind: u32) -> Result<i64, String> {
        Ok(match kind {
            0 => i64::from(self.array::<1>()?[0]),
            1 => i64::from(i8::from_le_bytes(self.array()?)),
            2 => i64::from(u16::from_le_bytes(self.array()?)),
            3 => i64::from(i16::from_le_bytes(self.array()?)),
            4 => i64::from(self.u32()?),
            5 => i64::from(i32::from_le_bytes(self.array()?)),
            10 => i64::try_from(self.u64()?).unwrap_or(i64::MAX),
            _ => i64::from_le_bytes(self.array()?),
        })
    }

    fn list(&mut self, kind: u32, depth: usize) -> Result<Meta, String> {
        let size = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 | 8 => 8,
            9 => 12,
            other => return Err(format!("is a list of the unknown type {other}")),
        };
        let n = self.count(size, "list entries")?;
        self.entries = self
            .entries
            .checked_sub(n)
            .ok_or_else(|| format!("has lists of more than {MOST_ENTRIES} entries together"))?;
        Ok(match kind {
            0..=5 | 10 | 11 => Meta::Integers(
                (0..n)
                    .map(|_| self.integer(kind))
                    .collect::<Result<_, _>>()?,
            ),
            6 => Meta::Floats(
                (0..n)
                    .map(|_| Ok(f32::from_le_bytes(self.array()?)))
                    .collect::<Result<_, String>>()?,
            ),
            8 => Meta::Texts((0..n).map(|_| self.text()).collect::<Result<_, _>>()?),
            9 if depth >= 3 => return Err("is nested too deeply".into()),
            9 => {
                for _ in 0..n {
                    let kind = self.u32()?;
                    self.list(kind, depth + 1)?;
                }
                Meta::Other
            }
            _ => {
                self.take(n * size)?;
                Meta::Other
            }
        })
    }

    /// A count of things of at least `size` bytes each, which must fit into the rest of the file.
    fn count(&mut self, size: usize, what: &str) -> Result<usize, String> {
        let n = self.u64()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(n) {
            Ok(count) if count <= left / size => Ok(count),
            _ => Err(format!(
                "ends too early: {n} {what} do not fit into the remaining {left} bytes"
            )),
        }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n).filter(|&e| e <= self.bytes.len());
        let end = end.ok_or_else(|| format!("ends too early, at byte {}", self.bytes.len()))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, String> {
        let n = self.count(1, "bytes of text")?;
        Ok(String::from_utf8_lossy(self.take(n)?).into_owned())
    }

    fn name(&mut self) -> Result<String, String> {
        let name = self.text()?;
        if name.is_empty() || name.len() > 65_535 || name.contains(char::is_control) {
            return Err("holds a name that is empty, endless or not printable".into());
        }
        Ok(name)
    }
}

/// The decimal number a person wrote before it was rounded to 32 bits: 1e-5, not 9.99999974e-6.
pub(super) fn decimal(x: f32) -> f64 {
    x.to_string().parse().unwrap_or_else(|_| f64::from(x))
}

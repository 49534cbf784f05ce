//! Foreign JSON in bounded memory.
//!
//! A file of a few megabytes can ask for gigabytes: an empty list takes three bytes on the disk and some
//! eighty in memory, and a text without end is kept until its last quote. Records are read one by one
//! from a stream, and each may take so much memory and no more.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Memory that one record may take, and the longest line or text in one.
pub(super) const LARGEST_RECORD: u64 = 128 << 20;
/// What a value takes beside its text; lists and objects grow by doubling.
const VALUE: usize = 160;

/// Reads a value and says how much memory it takes, about.
pub(super) fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<(Value, u64), D::Error> {
    let left = Cell::new(LARGEST_RECORD);
    let value = Bounded(&left).deserialize(from)?;
    Ok((value, LARGEST_RECORD - left.get()))
}

/// A value that takes no more than is left.
#[derive(Clone, Copy)]
pub(super) struct Bounded<'a>(pub(super) &'a Cell<u64>);

impl Bounded<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes as u64).ok_or_else(|| {
            let most = LARGEST_RECORD >> 20;
            E::custom(format!("one record takes more than {most} MiB of memory"))
        })?;
        self.0.set(left);
        Ok(())
    }

    fn one<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.take(VALUE)?;
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! one {
    ($($visit:ident: $kind:ty),*) => {
        $(fn $visit<E: Error>(self, value: $kind) -> Result<Value, E> {
            self.one(value)
        })*
    };
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.one(Value::Null)
    }

    one!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        self.one(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(self)? {
            list.push(value);
        }
        self.one(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            self.take(key.len() + VALUE)?;
            map.insert(key, from.next_value_seed(self)?);
        }
        self.one(map)
    }
}

/// Words that Python writes outside of strings and JSON does not know.
const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// JSON as Python writes it, with `NaN`, `Infinity` and `-Infinity` read as null, from a stream that must
/// end after so many bytes and hold no endless text or number.
pub(super) struct Lenient<R> {
    inner: R,
    /// Bytes that may still come.
    pub(super) left: u64,
    in_string: bool,
    escaped: bool,
    /// Bytes of the text or number that is being read.
    run: u64,
    /// The beginning of what may be one of the words.
    held: Vec<u8>,
    /// Read and not yet handed on, from `sent` on.
    ready: Vec<u8>,
    sent: usize,
    /// Whether one of the words was met.
    pub(super) found: bool,
}

impl<R: BufRead> Lenient<R> {
    pub(super) fn new(inner: R, most: u64) -> Self {
        Self {
            inner,
            left: most,
            in_string: false,
            escaped: false,
            run: 0,
            held: Vec::new(),
            ready: Vec::new(),
            sent: 0,
            found: false,
        }
    }

    /// Cleans the next piece of the stream; an empty `ready` afterwards is its end.
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.sent = 0;
        while self.ready.is_empty() {
            let piece = self.inner.fill_buf()?;
            let length = piece.len();
            if length == 0 {
                self.ready.append(&mut self.held);
                return Ok(());
            }
            let over = || {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it unpacks to more than is taken",
                )
            };
            self.left = self.left.checked_sub(length as u64).ok_or_else(over)?;
            let piece = piece.to_vec();
            self.inner.consume(length);
            for byte in piece {
                self.byte(byte)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        if !self.in_string && (!self.held.is_empty() || b"-IN".contains(&byte)) {
            self.held.push(byte);
            if WORDS.contains(&self.held.as_slice()) {
                self.found = true;
                self.held.clear();
                self.ready.extend_from_slice(b"null");
                return Ok(());
            }
            if WORDS.iter().any(|w| w.starts_with(&self.held)) {
                return Ok(());
            }
            // No such word: all but this byte, which may begin one itself.
            self.held.pop();
            self.ready.append(&mut self.held);
            if b"-IN".contains(&byte) {
                self.held.push(byte);
                return Ok(());
            }
        }
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            self.run += 1;
        } else {
            self.in_string = byte == b'"';
            let ends = byte.is_ascii_whitespace() || b",:[]{}\"".contains(&byte);
            self.run = if ends { 0 } else { self.run + 1 };
        }
        if self.run > LARGEST_RECORD {
            let most = LARGEST_RECORD >> 20;
            let what = format!("a text or number is longer than {most} MiB");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.ready.push(byte);
        Ok(())
    }
}

impl<R: BufRead> Read for Lenient<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.sent >= self.ready.len() {
            self.refill()?;
        }
        let waiting = self.ready.get(self.sent..).unwrap_or_default();
        let n = waiting.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), waiting.get(..n)) {
            to.copy_from_slice(from);
        }
        self.sent += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<(Value, u64), serde_json::Error> {
        let mut from = serde_json::Deserializer::from_slice(text);
        bounded(&mut from)
    }

    #[test]
    fn values_are_those_of_serde_and_their_memory_is_counted() {
        let text = r#"{"a": [1, -2, 0.5, null, true, "x\ny"], "b": {"c": {}}}"#;
        let (value, cost) = read(text.as_bytes()).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        assert!((10 * 160..20 * 160).contains(&cost), "{cost}");
        // Three megabytes that would take some eighty.
        let lists = format!("[{}[]]", "[],".repeat(1_000_000));
        let error = read(lists.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("more than 128 MiB"), "{error}");
    }

    #[test]
    fn a_stream_is_cleaned_wherever_it_is_cut() {
        let text = br#"{"a": NaN, "b": [-Infinity, -1, Infinity], "c": "NaN \" -Infinity"}"#;
        let expected = r#"{"a": null, "b": [null, -1, null], "c": "NaN \" -Infinity"}"#;
        for size in [1, 2, 3, 7, 100] {
            let mut clean = String::new();
            let cut = io::BufReader::with_capacity(size, &text[..]);
            let mut from = Lenient::new(cut, 1000);
            from.read_to_string(&mut clean).unwrap();
            assert_eq!(clean, expected, "{size}");
            assert!(from.found);
        }
        for (text, expected) in [
            ("[Na, I, -]", "[Na, I, -]"),
            ("-", "-"),
            ("[--Infinity]", "[-null]"),
            ("NNaN", "Nnull"),
        ] {
            let mut clean = String::new();
            let mut from = Lenient::new(text.as_bytes(), 1000);
            from.read_to_string(&mut clean).unwrap();
            assert_eq!(clean, expected);
        }
        let mut long = Lenient::new(&text[..], 10);
        let error = long.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("unpacks to more"), "{error}");
    }

    #[test]
    fn a_text_without_end_is_not_kept() {
        let endless = io::BufReader::new(io::repeat(b'x').take(1 << 40));
        let quoted = io::BufReader::new(b"\"".chain(endless));
        let mut from = serde_json::Deserializer::from_reader(Lenient::new(quoted, u64::MAX));
        let error = bounded(&mut from).unwrap_err().to_string();
        assert!(error.contains("longer than 128 MiB"), "{error}");
    }
}

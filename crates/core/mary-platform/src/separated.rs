//! Text as people save it, on its way into a reader of lines or of comma-separated values.
//!
//! Excel writes semicolons in half of Europe, `sep=;` in the first line, UTF-16 with a byte order mark; and
//! an unclosed quote makes one field of the rest of a file. [`Separated`] hands on UTF-8 in bounded memory,
//! knows the separator, and names the line of a fault. Latin-1 and Windows-1252 are refused: nothing tells
//! them from other encodings, and a wrong guess would change the words that a model is asked.

use std::error::Error;
use std::io::{self, Read};

use thiserror::Error as Fault;

/// How a spreadsheet becomes a table that can be read.
pub const SPREADSHEET_HINT: &str = "hint: save it as “CSV UTF-8” in the spreadsheet program, or \
    `libreoffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76' FILE`";

/// Bytes that are looked at before the first row: enough for names of columns and a row.
const LOOKED_AT: usize = 64 << 10;

/// What is wrong with a text, and in which line (from 1). Errors of [`Separated`] carry one.
#[derive(Debug, Clone, PartialEq, Eq, Fault)]
#[error("line {line}: {message}")]
pub struct TextFault {
    /// The line, from 1.
    pub line: usize,
    /// What was expected, what was found, and what to do.
    pub message: String,
}

impl TextFault {
    /// The fault behind an error of reading, or of a parser of what was read.
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref()?.downcast_ref(),
            None => Self::of(error.source()?),
        }
    }

    fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}

impl From<TextFault> for io::Error {
    fn from(fault: TextFault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    FieldStart,
    Plain,
    /// Within quotes; the line of the opening one.
    Quoted(usize),
    /// Behind a quote within quotes: the end of the field, or the first of a pair.
    Closing(usize),
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    delimiter: u8,
    quotes: bool,
}

impl Fields {
    fn step(self, place: Place, byte: u8, line: usize) -> Place {
        let ends = byte == self.delimiter || byte == b'\n' || byte == b'\r';
        match place {
            Place::Quoted(opened) if byte == b'"' => Place::Closing(opened),
            Place::Quoted(opened) => Place::Quoted(opened),
            Place::Closing(opened) if byte == b'"' => Place::Quoted(opened),
            _ if ends => Place::FieldStart,
            Place::FieldStart if byte == b'"' && self.quotes => Place::Quoted(line),
            _ => Place::Plain,
        }
    }

    /// The number of fields in the first two rows that are not empty; one that is cut off does not count.
    fn of_first_rows(self, text: &[u8], whole: bool) -> Vec<usize> {
        let (mut rows, mut fields, mut empty) = (Vec::new(), 1, true);
        let mut place = Place::FieldStart;
        for &byte in text {
            place = self.step(place, byte, 1);
            if place == Place::FieldStart && byte != self.delimiter {
                if !empty {
                    rows.push(fields);
                }
                if rows.len() == 2 {
                    return rows;
                }
                (fields, empty) = (1, true);
            } else {
                fields += usize::from(place == Place::FieldStart);
                empty = false;
            }
        }
        if whole && !empty && !matches!(place, Place::Quoted(_)) {
            rows.push(fields);
        }
        rows
    }
}

/// A reader of text in UTF-8 or UTF-16 that gives UTF-8, and of tables knows the separator.
#[derive(Debug)]
pub struct Separated<R> {
    inner: R,
    encoding: Encoding,
    fields: Option<Fields>,
    /// Read, not yet decoded.
    raw: Vec<u8>,
    /// Decoded, handed on up to `at`.
    ready: Vec<u8>,
    at: usize,
    place: Place,
    line: usize,
    /// Bytes of the line so far.
    column: usize,
    ended: bool,
    fault: Option<TextFault>,
}

impl<R: Read> Separated<R> {
    pub fn lines(inner: R) -> io::Result<Self> {
        Self::open(inner, |_, _| None)
    }

    /// A table; without a delimiter it is comma, semicolon or tab, as the first rows have it.
    pub fn fields(inner: R, delimiter: Option<u8>, quotes: bool) -> io::Result<Self> {
        Self::open(inner, |text, whole| {
            let said = announced(text);
            if let Some((_, line)) = said {
                // An empty line keeps the numbers of the lines behind it.
                text.drain(..line);
            }
            let delimiter = delimiter.or(said.map(|(delimiter, _)| delimiter));
            let delimiter = delimiter.unwrap_or_else(|| delimiter_of(text, whole, quotes));
            Some(Fields { delimiter, quotes })
        })
    }

    fn open(
        mut inner: R,
        fields: impl FnOnce(&mut Vec<u8>, bool) -> Option<Fields>,
    ) -> io::Result<Self> {
        let mut raw = Vec::new();
        inner
            .by_ref()
            .take(LOOKED_AT as u64)
            .read_to_end(&mut raw)?;
        let ended = raw.len() < LOOKED_AT;
        if let Some(message) = no_text(&raw) {
            return Err(TextFault::new(1, message).into());
        }
        let (encoding, mark) = match raw.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0xff, 0xfe, ..] => (Encoding::Utf16Le, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16Be, 2),
            _ => (Encoding::Utf8, 0),
        };
        raw.drain(..mark);
        let mut text = Self {
            inner,
            encoding,
            fields: None,
            raw,
            ready: Vec::new(),
            at: 0,
            place: Place::FieldStart,
            line: 1,
            column: 0,
            ended,
            fault: None,
        };
        let wrong = text.decode();
        text.fields = fields(&mut text.ready, ended);
        text.follow(wrong);
        Ok(text)
    }

    /// What stands between the fields of a table.
    pub fn delimiter(&self) -> u8 {
        self.fields.map_or(b',', |fields| fields.delimiter)
    }

    /// Decodes what was read; gives what cannot be decoded, which stands behind all of `ready`.
    fn decode(&mut self) -> Option<String> {
        let raw = std::mem::take(&mut self.raw);
        if self.encoding == Encoding::Utf8 {
            let error = match std::str::from_utf8(&raw) {
                Ok(_) => {
                    self.ready.extend_from_slice(&raw);
                    return None;
                }
                Err(error) => error,
            };
            let (good, rest) = raw.split_at(error.valid_up_to());
            self.ready.extend_from_slice(good);
            if error.error_len().is_none() && !self.ended {
                self.raw = rest.to_vec();
                return None;
            }
            return Some(not_utf8(rest.first().copied().unwrap_or_default()));
        }
        let big = self.encoding == Encoding::Utf16Be;
        let units = raw.chunks_exact(2).map(|pair| match *pair {
            [a, b] if big => u16::from_be_bytes([a, b]),
            [a, b] => u16::from_le_bytes([a, b]),
            _ => 0,
        });
        let mut units: Vec<u16> = units.collect();
        let mut rest = raw.len() % 2;
        if !self.ended && matches!(units.last(), Some(0xd800..=0xdbff)) {
            units.pop();
            rest += 2;
        }
        let mut letter = [0; 4];
        for found in char::decode_utf16(units) {
            match found {
                Ok(c) => self
                    .ready
                    .extend_from_slice(c.encode_utf8(&mut letter).as_bytes()),
                Err(_) => return Some("half a character of UTF-16; the file is damaged".into()),
            }
        }
        if self.ended && rest > 0 {
            return Some("half a character of UTF-16; the file is cut off".into());
        }
        self.raw = raw.get(raw.len() - rest..).unwrap_or_default().to_vec();
        None
    }

    /// Follows lines and quotes through `ready`, and notes the first fault.
    fn follow(&mut self, undecodable: Option<String>) {
        for at in 0..self.ready.len() {
            let byte = self.ready.get(at).copied().unwrap_or_default();
            if let Some(fields) = self.fields {
                let next = fields.step(self.place, byte, self.line);
                // A field of several lines that goes on behind its closing quote was never closed: this
                // is the opening quote of another.
                if let (Place::Closing(opened), Place::Plain) = (self.place, next)
                    && opened < self.line
                    && byte != b' '
                {
                    let message = format!(
                        "a quote opens a field here, and the next one stands within line {}: the field \
                         was not closed\n{QUOTES}",
                        self.line
                    );
                    self.fault = Some(TextFault::new(opened, message));
                    self.ready.truncate(at);
                    return;
                }
                self.place = next;
            }
            self.column += 1;
            if byte == b'\n' {
                self.line += 1;
                self.column = 0;
            }
        }
        if let Some(what) = undecodable {
            let message = format!("byte {} {what}", self.column + 1);
            self.fault = Some(TextFault::new(self.line, message));
        } else if self.ended
            && let Place::Quoted(opened) = self.place
        {
            let message = format!(
                "a quote opens a field here and is never closed: all that follows would be one field\n{QUOTES}"
            );
            self.fault = Some(TextFault::new(opened, message));
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        let from = self.raw.len();
        self.raw.resize(from + LOOKED_AT, 0);
        let into = self.raw.get_mut(from..).unwrap_or_default();
        let read = self.inner.read(into);
        self.raw.truncate(from + *read.as_ref().unwrap_or(&0));
        match (read, self.place) {
            (Ok(n), _) => self.ended = n == 0,
            (Err(e), Place::Quoted(opened)) if e.kind() == io::ErrorKind::Other => {
                return Err(
                    TextFault::new(opened, format!("a quote opens a field here, and {e}")).into(),
                );
            }
            (Err(e), _) => return Err(e),
        }
        let wrong = self.decode();
        self.follow(wrong);
        Ok(())
    }
}

impl<R: Read> Read for Separated<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.ready.get(self.at..).unwrap_or_default();
            if !left.is_empty() {
                let n = left.len().min(into.len());
                if let (Some(to), Some(from)) = (into.get_mut(..n), left.get(..n)) {
                    to.copy_from_slice(from);
                }
                self.at += n;
                return Ok(n);
            }
            if let Some(fault) = &self.fault {
                return Err(fault.clone().into());
            }
            if self.ended {
                return Ok(0);
            }
            self.refill()?;
        }
    }
}

const QUOTES: &str =
    "hint: close it behind the field; a quote that belongs to the text is written twice (\"\")";

/// A first line `sep=;`, as Excel takes it: the separator, and the length of the line without its end.
fn announced(text: &[u8]) -> Option<(u8, usize)> {
    let line = text.split(|b| *b == b'\n').next()?;
    let bare = line.strip_suffix(b"\r").unwrap_or(line);
    let quoted = bare.strip_prefix(b"\"");
    let bare = quoted.and_then(|b| b.strip_suffix(b"\"")).unwrap_or(bare);
    match *bare {
        [s, e, p, b'=', delimiter] if [s, e, p].eq_ignore_ascii_case(b"sep") => {
            Some((delimiter, line.len()))
        }
        _ => None,
    }
}

/// The separator that cuts names and first row into equally many fields, two or more; the most, else the
/// comma.
fn delimiter_of(text: &[u8], whole: bool, quotes: bool) -> u8 {
    let of = |delimiter: u8| {
        let rows = Fields { delimiter, quotes }.of_first_rows(text, whole);
        let fields = rows.first().copied().unwrap_or(0);
        let fits = fields > 1 && rows.get(1).is_none_or(|n| *n == fields);
        (fits, fields)
    };
    // The last of equals is taken.
    let all = [b'\t', b';', b','].into_iter();
    all.max_by_key(|delimiter| of(*delimiter)).unwrap_or(b',')
}

/// What a file is, where its first bytes say that it is no text.
fn no_text(bytes: &[u8]) -> Option<String> {
    let sheet = |what: &str| Some(format!("expected text, found {what}\n{SPREADSHEET_HINT}"));
    match bytes {
        [b'P', b'K', 3, 4, ..] => {
            return sheet("a ZIP archive, as spreadsheets are saved (.xlsx, .ods)");
        }
        [0xd0, 0xcf, 0x11, 0xe0, ..] => {
            return sheet("an old spreadsheet or document (.xls, .doc)");
        }
        [0x1f, 0x8b, ..] => {
            return Some(
                "expected text, found a file packed with gzip\nhint: `gunzip FILE` unpacks it"
                    .into(),
            );
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return None,
        _ => {}
    }
    // Every other byte of English in UTF-16 is zero.
    let zeros = |from: usize| {
        let every_second = bytes.iter().take(512).skip(from).step_by(2);
        every_second.filter(|b| **b == 0).count()
    };
    let (first, second) = (zeros(0), zeros(1));
    let half = bytes.len().min(512) / 2;
    let order = match (first, second) {
        (0, n) if n > 3 && 3 * n > 2 * half => "LE",
        (n, 0) if n > 3 && 3 * n > 2 * half => "BE",
        _ => return None,
    };
    Some(format!(
        "expected UTF-8, found what looks like UTF-16 without a byte order mark\n\
         hint: `iconv -f UTF-16{order} -t UTF-8 FILE > NEW` converts it"
    ))
}

/// What is said of a byte that is no UTF-8, with the letter it may have been.
fn not_utf8(byte: u8) -> String {
    const HIGH: &str = "€?‚ƒ„…†‡ˆ‰Š‹Œ?Ž??‘’“”•–—˜™š›œ?žŸ";
    let letter = match byte {
        0x80..=0x9f => HIGH.chars().nth(usize::from(byte - 0x80)).unwrap_or('?'),
        other => char::from(other),
    };
    format!(
        "is not valid UTF-8: 0x{byte:02X}, which would be `{letter}` in Windows-1252\n\
         hint: if that is the letter meant, `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` converts the file"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, so that letters and quotes are cut.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(into.len()).min(self.0.len());
            let (now, rest) = self.0.split_at(n);
            into[..n].copy_from_slice(now);
            self.0 = rest;
            Ok(n)
        }
    }

    fn table(bytes: &[u8]) -> (u8, String, Option<TextFault>) {
        let mut reader = match Separated::fields(Slow(bytes, 7), None, true) {
            Ok(reader) => reader,
            Err(e) => return (0, String::new(), TextFault::of(&e).cloned()),
        };
        let (delimiter, mut out) = (reader.delimiter(), Vec::new());
        let read = reader.read_to_end(&mut out);
        let fault = read.err().and_then(|e| TextFault::of(&e).cloned());
        (delimiter, String::from_utf8(out).unwrap(), fault)
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units
            .flat_map(|u| {
                if big {
                    u.to_be_bytes()
                } else {
                    u.to_le_bytes()
                }
            })
            .collect()
    }

    #[test]
    fn the_separator_is_the_one_that_the_first_rows_have() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1;2\n", b';'),
            ("a\tb\n1\t2\n", b'\t'),
            ("text\nOne, two\n", b','),
            ("text\n", b','),
            ("", b','),
            ("a;b", b';'),
            // Decimal commas, and a comma in the name of a column.
            ("word;share, in %;n\r\nDog;3,5;7\r\n", b';'),
            ("\"a;b\",c\n1,2\n", b','),
            ("a,b;c\n1,2;3\n4,5\n", b','),
            ("\n\na;b\n1;2\n", b';'),
        ] {
            let (found, read, fault) = table(text.as_bytes());
            assert_eq!((found, fault), (delimiter, None), "{text:?}");
            assert_eq!(read, text);
        }
    }

    #[test]
    fn the_line_of_excel_names_the_separator_and_lines_keep_their_numbers() {
        let (delimiter, text, fault) = table(b"sep=;\r\na;b,c,d\r\n1;2,3,4\r\n");
        assert_eq!((delimiter, fault), (b';', None));
        assert_eq!(text, "\na;b,c,d\r\n1;2,3,4\r\n");
    }

    #[test]
    fn utf_16_becomes_utf_8_and_latin_1_is_refused_with_the_letter() {
        let text = "wörd;b\n😀;2\n";
        for big in [false, true] {
            let (delimiter, read, fault) = table(&utf16(text, big));
            assert_eq!((delimiter, read.as_str(), fault), (b';', text, None));
        }
        let (_, read, fault) = table(&[b"\xef\xbb\xbf", text.as_bytes()].concat());
        assert_eq!((read.as_str(), fault), (text, None));
        let (_, read, fault) = table(b"a,b\n1,caf\xe9\n2,x\n");
        let fault = fault.unwrap();
        assert_eq!((read.as_str(), fault.line), ("a,b\n1,caf", 2));
        assert!(
            fault.message.contains("byte 6 ") && fault.message.contains("`é`"),
            "{fault}"
        );
        assert!(fault.message.contains("iconv -f WINDOWS-1252"));
        let bare = "wörd;b\n1;2\n".encode_utf16();
        let bare: Vec<u8> = bare.flat_map(u16::to_le_bytes).collect();
        let fault = table(&bare).2.unwrap();
        assert!(fault.message.contains("iconv -f UTF-16LE"), "{fault}");
        let mut cut = utf16("a,b\n", false);
        cut.pop();
        assert!(table(&cut).2.unwrap().message.contains("cut off"));
    }

    #[test]
    fn a_quote_that_nobody_closed_is_named_by_its_line() {
        let (_, read, fault) = table(b"a,b\n1,x\n2,\"y\n3,z\n4,w\n");
        let fault = fault.unwrap();
        assert_eq!(fault.line, 3);
        assert!(fault.message.contains("never closed"), "{fault}");
        assert!(read.starts_with("a,b\n1,x\n"));
        // The next field in quotes closes it, and what follows gives it away.
        let fault = table(b"a,b\n1,\"x\n2,y\n3,\"z\"\n").2.unwrap();
        assert_eq!(fault.line, 2);
        assert!(fault.message.contains("within line 4"), "{fault}");
        // Fields of several lines, pairs of quotes and quotes within plain fields are no fault.
        for text in [
            "a,b\n1,\"x\ny\"\n2,\"say \"\"hi\"\"\"\n",
            "a,b\n1,5\" nail\n\"x\"y,2\n",
            "a,b\n1,\"x\ny\" \n",
        ] {
            assert_eq!(table(text.as_bytes()).2, None, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_called_by_its_name() {
        for (bytes, said) in [
            (&b"PK\x03\x04rest"[..], "convert-to"),
            (b"\xd0\xcf\x11\xe0rest", ".xls"),
            (b"\x1f\x8brest", "gunzip"),
        ] {
            let fault = table(bytes).2.unwrap();
            assert!(fault.message.contains(said), "{fault}");
        }
    }

    #[test]
    fn a_long_text_is_the_same_whatever_pieces_it_comes_in() {
        let row = "1,\"ein Wörtchen, \"\"zwei\"\"\n und 😀\"\n";
        let text = format!("a,b\n{}", row.repeat(9000));
        for (bytes, piece) in [
            (text.clone().into_bytes(), 8191),
            (utf16(&text, true), 4093),
            (utf16(&text, false), 1),
        ] {
            let mut out = String::new();
            let mut reader = Separated::fields(Slow(&bytes, piece), None, true).unwrap();
            reader.read_to_string(&mut out).unwrap();
            assert!(out == text);
            assert_eq!(reader.line, 1 + 2 * 9000 + 1);
        }
    }
}

//! Static word vectors: word2vec's binary form, GloVe's and fastText's text, gzipped or not.
//!
//! The kind is found from the content. Counts in a header are promises: they are compared with
//! the file before memory is set aside, and with what was read afterwards.

use std::io::Read;
use std::path::Path;

use ahash::AHashMap;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;

use crate::fault;
use crate::fault::Result;
use crate::mapped::Mapped;

/// No word is longer; word2vec's own limit is 100 bytes.
const MAX_WORD: usize = 4096;
/// No vector is longer.
const MAX_DIM: usize = 65_536;
/// Vectors as text compress to a third or so; a file that grows more than this is no such file.
const MAX_GROWTH: u64 = 100;

pub struct StaticVectors {
    index: AHashMap<Box<str>, u32>,
    numbers: Vec<f32>,
    dim: usize,
    fingerprint: String,
}

impl std::fmt::Debug for StaticVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticVectors")
            .field("words", &self.len())
            .field("dim", &self.dim)
            .finish_non_exhaustive()
    }
}

impl StaticVectors {
    pub fn open(path: &Path) -> Result<Self> {
        let file = Mapped::open(path)?;
        let result = if file.starts_with(&[0x1f, 0x8b]) {
            inflate(&file).and_then(|bytes| Self::parse(&bytes))
        } else {
            Self::parse(&file)
        };
        result.map_err(|why| {
            fault::bad(path, why)
                .hint("word2vec (binary), GloVe (text) and fastText (.vec) files are read")
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let rows = match FileForm::find(bytes)? {
            FileForm::Binary(header) => binary(bytes, &header)?,
            FileForm::Headed(header) => {
                let rows = text(&bytes[header.end..], header.dim, 2)?;
                if rows.words.len() != header.words {
                    return Err(format!(
                        "promises {} words but holds {}; it is incomplete",
                        header.words,
                        rows.words.len()
                    ));
                }
                rows
            }
            FileForm::Bare { dim } => text(bytes, dim, 1)?,
        };
        Self::index(rows)
    }

    fn index(rows: Rows) -> Result<Self, String> {
        let Rows {
            words,
            numbers,
            dim,
        } = rows;
        if words.is_empty() {
            return Err("holds no words".into());
        }
        if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
            return Err(format!(
                "the vector of `{}` holds {}, which is not a number",
                words[at / dim],
                numbers[at]
            ));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(dim as u64).to_le_bytes());
        for word in &words {
            hasher.update(&(word.len() as u64).to_le_bytes());
            hasher.update(word.as_bytes());
        }
        let mut buffer = Vec::with_capacity(numbers.len().min(1 << 18) * 4);
        for piece in numbers.chunks(1 << 18) {
            buffer.clear();
            buffer.extend(piece.iter().flat_map(|x| x.to_le_bytes()));
            hasher.update_rayon(&buffer);
        }
        let mut index = AHashMap::with_capacity(words.len());
        for (at, word) in (0u32..).zip(words) {
            // Where a word is there twice, the first is the more frequent one.
            index.entry(word).or_insert(at);
        }
        Ok(Self {
            index,
            numbers,
            dim,
            fingerprint: hasher.finalize().to_hex().to_string(),
        })
    }

    pub fn get(&self, word: &str) -> Option<&[f32]> {
        let at = *self.index.get(word)? as usize * self.dim;
        self.numbers.get(at..at + self.dim)
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Content hash of words and vectors, in their order; the same for a gzipped file.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

struct Rows {
    words: Vec<Box<str>>,
    numbers: Vec<f32>,
    dim: usize,
}

impl Rows {
    fn empty(dim: usize) -> Self {
        Self {
            words: Vec::new(),
            numbers: Vec::new(),
            dim,
        }
    }
}

/// `count dim` on a line of its own.
struct Header {
    words: usize,
    dim: usize,
    end: usize,
}

enum FileForm {
    Binary(Header),
    Headed(Header),
    Bare { dim: usize },
}

impl FileForm {
    fn find(bytes: &[u8]) -> Result<Self, String> {
        let first = line(bytes).ok_or("does not begin with a line of text")?;
        let fields: Vec<&str> = first.split_ascii_whitespace().collect();
        if let [words, dim] = fields[..]
            && let (Ok(words), Ok(dim)) = (words.parse(), dim.parse())
        {
            let end = bytes
                .iter()
                .position(|&b| b == b'\n')
                .map_or(bytes.len(), |n| n + 1);
            let header = Header { words, dim, end };
            if dim == 0 || dim > MAX_DIM {
                return Err(format!("its header says that a vector has {dim} numbers"));
            }
            let second = line(&bytes[end..]);
            let is_text = second.is_some_and(|l| row(l, dim, &mut Vec::new()).is_some());
            return Ok(if is_text {
                Self::Headed(header)
            } else {
                Self::Binary(header)
            });
        }
        // A word may hold spaces: the numbers are what the line ends with.
        let numbers = fields.iter().rev().take_while(|f| f.parse::<f32>().is_ok());
        let dim = numbers.count().min(fields.len().saturating_sub(1));
        if dim == 0 || dim > MAX_DIM || row(first, dim, &mut Vec::new()).is_none() {
            return Err(
                "its first line is neither `words numbers` nor a word with its vector".into(),
            );
        }
        Ok(Self::Bare { dim })
    }
}

fn line(bytes: &[u8]) -> Option<&str> {
    let window = &bytes[..bytes.len().min(MAX_WORD + 32 * MAX_DIM)];
    let end = window
        .iter()
        .position(|&b| b == b'\n')
        .or_else(|| (window.len() == bytes.len()).then_some(window.len()))?;
    std::str::from_utf8(&window[..end]).ok()
}

/// The word of a line; its numbers, the last `dim` fields, are appended in order.
fn row<'a>(line: &'a str, dim: usize, numbers: &mut Vec<f32>) -> Option<&'a str> {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let first = numbers.len();
    numbers.resize(first + dim, 0.0);
    let mut rest = line.trim_end();
    for slot in numbers[first..].iter_mut().rev() {
        let at = rest.as_bytes().iter().rposition(blank)?;
        *slot = rest[at + 1..].parse().ok()?;
        rest = rest[..at].trim_end_matches([' ', '\t']);
    }
    (!rest.is_empty()).then_some(rest)
}

/// All lines of a text, in parallel pieces; `first` is the number of the first line.
fn text(bytes: &[u8], dim: usize, first: usize) -> Result<Rows, String> {
    const PIECE: usize = 2048;
    let lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
    let pieces: Vec<Rows> = lines
        .par_chunks(PIECE)
        .enumerate()
        .map(|(piece, lines)| some_lines(lines, dim, first + piece * PIECE))
        .collect::<Result<_, _>>()?;
    let mut all = Rows::empty(dim);
    all.numbers
        .reserve_exact(pieces.iter().map(|p| p.numbers.len()).sum());
    for piece in pieces {
        all.words.extend(piece.words);
        all.numbers.extend(piece.numbers);
    }
    Ok(all)
}

fn some_lines(lines: &[&[u8]], dim: usize, first: usize) -> Result<Rows, String> {
    let mut rows = Rows::empty(dim);
    for (number, line) in (first..).zip(lines) {
        // Words come from the wild; a broken letter in one of them is not worth the file.
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() {
            continue;
        }
        let word = row(&line, dim, &mut rows.numbers)
            .ok_or_else(|| format!("line {number} is not a word with {dim} numbers"))?;
        if word.len() > MAX_WORD {
            return Err(format!("line {number} holds an endless word"));
        }
        rows.words.push(word.into());
    }
    Ok(rows)
}

/// word2vec's binary form: word, space, numbers; a newline after each vector or not.
fn binary(bytes: &[u8], header: &Header) -> Result<Rows, String> {
    let Header { words, dim, end } = *header;
    let size = dim * 4;
    let mut rest = &bytes[end..];
    let least = words.checked_mul(size + 2);
    if least.is_none_or(|least| least > rest.len()) {
        return Err(format!(
            "promises {words} words of {dim} numbers, which do not fit into its {} bytes; it is \
             incomplete",
            bytes.len()
        ));
    }
    let mut rows = Rows {
        words: Vec::with_capacity(words),
        numbers: Vec::with_capacity(words * dim),
        dim,
    };
    for at in 0..words {
        while let [b'\n', after @ ..] = rest {
            rest = after;
        }
        let cut = || format!("ends within word {} of {words}", at + 1);
        let space = rest.iter().take(MAX_WORD).position(|&b| b == b' ');
        let space = space.filter(|&n| n > 0).ok_or_else(cut)?;
        let vector = rest.get(space + 1..space + 1 + size).ok_or_else(cut)?;
        rows.words
            .push(String::from_utf8_lossy(&rest[..space]).into());
        let (numbers, _) = vector.as_chunks::<4>();
        rows.numbers
            .extend(numbers.iter().map(|b| f32::from_le_bytes(*b)));
        rest = &rest[space + 1 + size..];
    }
    Ok(rows)
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let limit = (bytes.len() as u64).saturating_mul(MAX_GROWTH) + (1 << 16);
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(limit + 1)
        .read_to_end(&mut out)
        .map_err(|e| format!("is a damaged or incomplete gzip file: {e}"))?;
    if out.len() as u64 > limit {
        return Err(format!(
            "grows more than {MAX_GROWTH}-fold when unpacked, as no vectors do"
        ));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn word2vec(words: &[(&str, [f32; 2])], newline: bool) -> Vec<u8> {
        let mut bytes = format!("{} 2\n", words.len()).into_bytes();
        for (word, vector) in words {
            bytes.extend(word.as_bytes());
            bytes.push(b' ');
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
            if newline {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    const WORDS: [(&str, [f32; 2]); 3] = [
        ("the", [0.5, -1.0]),
        ("naïve", [0.25, 2.0]),
        ("of", [3.0, 0.125]),
    ];

    #[test]
    fn the_same_words_in_every_form_have_the_same_fingerprint() {
        let glove = "the 0.5 -1.0\nnaïve 0.25 2.0\nof 3.0 0.125\n";
        let fasttext = format!("3 2\n{glove}");
        let mut forms = [
            word2vec(&WORDS, true),
            word2vec(&WORDS, false),
            glove.as_bytes().to_vec(),
            fasttext.into_bytes(),
        ];
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&forms[3]).unwrap();
        forms[3] = inflate(&gz.finish().unwrap()).unwrap();
        let read: Vec<_> = forms
            .iter()
            .map(|f| StaticVectors::parse(f).unwrap())
            .collect();
        for vectors in &read {
            assert_eq!((vectors.len(), vectors.dim()), (3, 2));
            assert_eq!(vectors.get("naïve"), Some(&[0.25, 2.0][..]));
            assert_eq!(vectors.get("naive"), None);
            assert_eq!(vectors.fingerprint(), read[0].fingerprint());
        }
    }

    #[test]
    fn words_may_hold_spaces_and_the_first_of_two_equal_ones_counts() {
        let text = "x 1 2\n. . . 3 4\nx 5 6\n";
        let vectors = StaticVectors::parse(text.as_bytes()).unwrap();
        assert_eq!(vectors.get(". . ."), Some(&[3.0, 4.0][..]));
        assert_eq!(vectors.get("x"), Some(&[1.0, 2.0][..]));
    }

    #[test]
    fn what_is_missing_is_said() {
        let cases: [(&[u8], &str); 6] = [
            (b"3 2\nthe 0.5 1\n", "promises 3 words but holds 1"),
            (b"the 1 2\nof 1\n", "line 2 is not a word"),
            (b"the 1 2\nof x y\n", "line 2 is not a word"),
            (b"the 1 nan\n", "not a number"),
            (b"9999999999 300\n\x01\x02", "do not fit"),
            (b"", "first line"),
        ];
        for (bytes, expected) in cases {
            let why = StaticVectors::parse(bytes).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
        let mut torn = word2vec(&WORDS, false);
        torn.truncate(torn.len() - 3);
        assert!(StaticVectors::parse(&torn).is_err());
    }

    #[test]
    fn a_gzip_bomb_is_refused() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(&vec![b' '; 64 << 20]).unwrap();
        assert!(
            inflate(&gz.finish().unwrap())
                .unwrap_err()
                .contains("grows")
        );
    }
}

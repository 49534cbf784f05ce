//! Mutations that know what they mutate: JSON stays JSON, a GGUF or safetensors header stays a
//! header, a line stays a line, and one value in it becomes one that nobody expects. One in four
//! mutations is blind (bits, cuts, doubled pieces), so that broken structure is tried too.

use serde_json::{Map, Value, json};

/// A small deterministic generator: a case is named by seed, target and number.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, target: &str, case: usize) -> Self {
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        for byte in target.bytes().chain(case.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut dice = Self(state);
        dice.roll(2);
        dice
    }

    /// A number below `below`; 0 when there is none.
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 >> 33) ^ (self.0 >> 17);
        usize::try_from(mixed).unwrap_or(0) % below.max(1)
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.roll(from.len()))
    }
}

pub const EXTREMES: [u64; 14] = [
    0,
    1,
    3,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Bytes with damage done without knowing what they are.
pub fn blinded(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    blind(&mut bytes, dice);
    bytes
}

/// Damages bytes without knowing what they are.
pub fn blind(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.roll(3) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.roll(bytes.len());
        let rest = bytes.len() - at;
        match dice.roll(7) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.roll(8);
                }
            }
            1 => any_byte(bytes, at, dice),
            2 | 3 => extreme(bytes, at, dice),
            4 => drop(bytes.drain(at..at + dice.roll(64).min(rest))),
            5 => {
                let piece = bytes
                    .get(at..at + dice.roll(64).min(rest))
                    .map(<[u8]>::to_vec);
                bytes.splice(at..at, piece.unwrap_or_default());
            }
            _ => bytes.truncate(at),
        }
    }
}

pub fn any_byte(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    overwrite(bytes, at, &[u8::try_from(dice.roll(256)).unwrap_or(0)]);
}

/// Writes an extreme number of 1, 2, 4 or 8 bytes.
pub fn extreme(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    let width = [1, 2, 4, 8].get(dice.roll(4)).copied().unwrap_or(1);
    let number = dice.pick(&EXTREMES).copied().unwrap_or(0).to_le_bytes();
    overwrite(bytes, at, number.get(..width).unwrap_or_default());
}

/// Writes bytes over others, as far as they reach.
pub fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (old, new) in bytes.iter_mut().skip(at).zip(with) {
        *old = *new;
    }
}

/// Changes one to three values somewhere in a JSON value; it stays JSON.
fn value(value: &mut Value, dice: &mut Dice) {
    for _ in 0..=dice.roll(3) {
        let nodes = count(value);
        let mut at = dice.roll(nodes);
        change(value, &mut at, dice);
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the node number `at`, counted from the root.
fn change(value: &mut Value, at: &mut usize, dice: &mut Dice) -> bool {
    if *at == 0 {
        *value = stranger(value, dice);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, at, dice)),
        Value::Object(fields) => fields.values_mut().any(|field| change(field, at, dice)),
        _ => false,
    }
}

/// What stands in the place of a value: of the same kind more often than not.
fn stranger(old: &Value, dice: &mut Dice) -> Value {
    if dice.roll(4) == 0 {
        return match dice.roll(9) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!([]),
            3 => json!({}),
            4 => json!(""),
            5 => json!(-1),
            6 => json!([[[[[[[[1]]]]]]]]),
            7 => json!("\u{1b}]0;x\u{7}\u{202e}\0"),
            _ => nest(dice.roll(400)),
        };
    }
    match old {
        Value::Number(_) | Value::Null => number(dice),
        Value::String(text) => Value::String(words(text, dice)),
        Value::Bool(flag) => json!(!flag),
        Value::Array(items) => list(items, dice),
        Value::Object(fields) => object(fields, dice),
    }
}

fn number(dice: &mut Dice) -> Value {
    match dice.roll(6) {
        0 => json!(dice.pick(&EXTREMES)),
        1 => json!(-1),
        2 => json!(1e300),
        3 => json!(-1e-300),
        4 => json!(0.5),
        _ => json!(dice.roll(70_000)),
    }
}

fn words(text: &str, dice: &mut Dice) -> String {
    match dice.roll(8) {
        0 => String::new(),
        1 => text.repeat(dice.roll(200)),
        2 => text.chars().rev().collect(),
        3 => format!("{text}\0\u{1b}[2J"),
        4 => "../../../etc/passwd".into(),
        5 => "(a+)+$".into(),
        6 => "é\u{fffd}😀".repeat(dice.roll(50)),
        _ => {
            let keep = dice.roll(text.chars().count() + 1);
            text.chars().take(keep).collect()
        }
    }
}

fn list(items: &[Value], dice: &mut Dice) -> Value {
    let mut items = items.to_vec();
    match dice.roll(4) {
        0 => items.clear(),
        1 => drop(items.pop()),
        2 => items.extend(items.clone()),
        _ => {
            let at = dice.roll(items.len());
            if at < items.len() {
                items.swap_remove(at);
            }
        }
    }
    Value::Array(items)
}

fn object(fields: &Map<String, Value>, dice: &mut Dice) -> Value {
    let mut fields = fields.clone();
    let names: Vec<String> = fields.keys().cloned().collect();
    if let Some(name) = dice.pick(&names).cloned() {
        let gone = fields.remove(&name);
        match dice.roll(3) {
            0 => {}
            1 => drop(fields.insert(format!("{name}\u{7}"), gone.unwrap_or_default())),
            _ => drop(fields.insert(name.to_uppercase(), gone.unwrap_or_default())),
        }
    }
    Value::Object(fields)
}

fn nest(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

pub fn json_text(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    match serde_json::from_slice::<Value>(text) {
        Ok(mut parsed) if dice.roll(4) > 0 => {
            value(&mut parsed, dice);
            parsed.to_string().into_bytes()
        }
        _ => blinded(text, dice),
    }
}

/// JSON lines with a value of one line changed, or lines swapped, doubled, dropped.
pub fn json_lines(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let at = dice.roll(lines.len());
    match dice.roll(6) {
        0 => lines.reverse(),
        1 => lines.extend(lines.clone()),
        2 if at < lines.len() => drop(lines.remove(at)),
        _ => {
            if let Some(line) = lines.get_mut(at) {
                let mut changed = json_text(line.trim_ascii_end(), dice);
                if dice.roll(8) > 0 {
                    changed.push(b'\n');
                }
                *line = changed;
            }
        }
    }
    lines.concat()
}

/// A file with a header of known numbers: one of them becomes extreme.
pub fn numbers_at(bytes: &[u8], places: &[usize], dice: &mut Dice) -> Vec<u8> {
    if dice.roll(4) == 0 || places.is_empty() {
        return blinded(bytes, dice);
    }
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(2) {
        if let Some(at) = dice.pick(places).copied() {
            extreme(&mut bytes, at, dice);
        }
    }
    bytes
}

/// A safetensors file with its JSON header changed and its length kept right.
pub fn safetensors(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let length = bytes.first_chunk::<8>().map(|n| u64::from_le_bytes(*n));
    let length = length.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (Some(header), Some(data)) = (bytes.get(8..8 + length), bytes.get(8 + length..)) else {
        return bytes.to_vec();
    };
    if dice.roll(4) == 0 {
        return blinded(bytes, dice);
    }
    let header = json_text(header, dice);
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(&header);
    out.extend_from_slice(data);
    out
}

/// Places of the numbers of a GGUF header: counts, kinds, lengths and values, found by walking it.
pub fn gguf_places(bytes: &[u8]) -> Vec<usize> {
    let mut walk = Walk {
        bytes,
        at: 0,
        places: Vec::new(),
    };
    // A file that cannot be walked has the places found so far.
    let _ = walk.header();
    walk.places
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    places: Vec<usize>,
}

impl Walk<'_> {
    fn number(&mut self, width: usize) -> Option<u64> {
        self.places.push(self.at);
        let taken = self.bytes.get(self.at..self.at + width)?;
        self.at += width;
        let mut eight = [0; 8];
        overwrite(&mut eight, 0, taken);
        Some(u64::from_le_bytes(eight))
    }

    fn text(&mut self) -> Option<()> {
        let length = usize::try_from(self.number(8)?).ok()?;
        self.at = self
            .at
            .checked_add(length)
            .filter(|a| *a <= self.bytes.len())?;
        Some(())
    }

    fn value(&mut self, kind: u64) -> Option<()> {
        match kind {
            0 | 1 | 7 => self.number(1).map(drop),
            2 | 3 => self.number(2).map(drop),
            4..=6 => self.number(4).map(drop),
            8 => self.text(),
            9 => {
                let kind = self.number(4)?;
                let n = self.number(8)?;
                let known = self.places.len();
                for _ in 0..n {
                    self.value(kind)?;
                    // The first few of a long list stand for all.
                    self.places.truncate(known + 8);
                }
                Some(())
            }
            10..=12 => self.number(8).map(drop),
            _ => None,
        }
    }

    fn header(&mut self) -> Option<()> {
        self.at = 4;
        self.number(4)?;
        let tensors = self.number(8)?;
        let entries = self.number(8)?;
        for _ in 0..entries {
            self.text()?;
            let kind = self.number(4)?;
            self.value(kind)?;
        }
        for _ in 0..tensors {
            self.text()?;
            let rank = self.number(4)?;
            for _ in 0..rank.min(8) {
                self.number(8)?;
            }
            self.number(4)?;
            self.number(8)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_same_whenever_it_is_made() {
        let text = br#"{"a":[1,2,{"b":"c"}],"d":null}"#;
        let make = |case| json_text(text, &mut Dice::new(7, "x", case));
        let first: Vec<_> = (0..200).map(make).collect();
        assert_eq!(first, (0..200).map(make).collect::<Vec<_>>());
        let different = first.iter().filter(|b| b.as_slice() != text).count();
        assert!(different > 150, "{different}");
        let parse = first
            .iter()
            .filter(|b| serde_json::from_slice::<Value>(b).is_ok());
        assert!(parse.count() > 120, "most stay JSON");
    }
}

//! What Python writes: `str` and `repr` of values, and the literals that `ast.literal_eval` reads. The
//! harness turns lists into text by the one and back by the other, so both are needed exactly.

use minijinja::Value;
use minijinja::value::{Serde, ValueKind};
use serde_json::Value as Json;

/// How deep literals may lie in each other.
const DEEPEST: usize = 64;

/// `str(value)`.
pub fn str_of(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => repr(value),
    }
}

/// `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

/// `str` of a JSON value.
pub fn str_of_json(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => repr(&Value::from(Serde(other))),
    }
}

fn write(out: &mut String, value: &Value, depth: usize) {
    if depth > DEEPEST {
        out.push_str("...");
        return;
    }
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => out.push_str(&quoted(value.as_str().unwrap_or_default())),
        kind @ (ValueKind::Map | ValueKind::Seq | ValueKind::Iterable) => {
            let map = kind == ValueKind::Map;
            out.push(if map { '{' } else { '[' });
            for (at, member) in value.try_iter().into_iter().flatten().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write(out, &member, depth + 1);
                if map {
                    let held = value.get_item(&member).unwrap_or(Value::UNDEFINED);
                    out.push_str(": ");
                    write(out, &held, depth + 1);
                }
            }
            out.push(if map { '}' } else { ']' });
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float)
}

/// `repr` of a float: the shortest digits that give it back, in Python's choice of notation.
pub fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.into();
    }
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{x:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = match exponent.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{power:0>2}");
    }
    let text = format!("{x}");
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

/// `repr` of a string.
pub fn quoted(text: &str) -> String {
    let single = !text.contains('\'') || text.contains('"');
    let quote = if single { '\'' } else { '"' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if printable(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push(quote);
    out
}

/// `str.isprintable` for one character: everything but controls, formats, private and unassigned ones
/// and separators other than the space. Unassigned ones are taken for printable here.
fn printable(c: char) -> bool {
    let n = c as u32;
    if c == ' ' {
        return true;
    }
    !(c.is_control()
        || matches!(n,
            0xa0 | 0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x8e2 | 0x1680 | 0x180e
            | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000 | 0xfeff
            | 0xfff9..=0xfffb | 0xe000..=0xf8ff | 0xe0001 | 0xe0020..=0xe007f | 0xf0000..))
}

/// Whether Python's `str.isdigit` holds.
pub fn is_digits(text: &str) -> bool {
    let superscript = |c: char| matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}');
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || superscript(c))
}

/// Python's white space, for `strip` and `isspace`.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `ast.literal_eval`: strings, numbers, lists, tuples, sets (as lists), dictionaries, `True`, `False`
/// and `None`.
pub fn literal(text: &str) -> Result<Json, String> {
    let mut reader = Literal {
        rest: text.trim_start_matches([' ', '\t']),
        depth: 0,
    };
    let value = reader.value()?;
    reader.space();
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("`{}` follows the value", start_of(reader.rest)))
    }
}

struct Literal<'a> {
    rest: &'a str,
    depth: usize,
}

fn start_of(text: &str) -> String {
    text.chars().take(20).collect()
}

impl Literal<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, c: char) -> bool {
        self.space();
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("values lie too deep in each other".into());
        }
        let value = match self.rest.chars().next() {
            None => Err("nothing stands where a value is expected".into()),
            Some('[') => {
                self.take('[');
                Ok(Json::Array(self.members(']')?.0))
            }
            Some('(') => {
                self.take('(');
                let (mut members, comma) = self.members(')')?;
                match (members.len(), comma) {
                    (1, false) => Ok(members.pop().unwrap_or(Json::Null)),
                    _ => Ok(Json::Array(members)),
                }
            }
            Some('{') => self.braces(),
            Some('\'' | '"') => self.strings(),
            Some('u' | 'U') if self.prefixed() => {
                self.rest = self.rest.get(1..).unwrap_or_default();
                self.strings()
            }
            Some('r' | 'R' | 'b' | 'B' | 'f' | 'F') if self.prefixed() => {
                Err(format!("`{}` is no plain string", start_of(self.rest)))
            }
            Some(_) => self.word(),
        };
        self.depth -= 1;
        value
    }

    /// Whether a quotation mark follows the first letter.
    fn prefixed(&self) -> bool {
        self.rest
            .get(1..)
            .is_some_and(|rest| rest.starts_with(['\'', '"']))
    }

    fn expected(&self, close: char) -> String {
        format!("expected `,` or `{close}`, found `{}`", start_of(self.rest))
    }

    /// Members up to a closing bracket, and whether there was a comma.
    fn members(&mut self, close: char) -> Result<(Vec<Json>, bool), String> {
        let mut members = Vec::new();
        let mut comma = false;
        loop {
            if self.take(close) {
                return Ok((members, comma));
            }
            members.push(self.value()?);
            if self.take(',') {
                comma = true;
            } else if self.take(close) {
                return Ok((members, comma));
            } else {
                return Err(self.expected(close));
            }
        }
    }

    fn braces(&mut self) -> Result<Json, String> {
        self.take('{');
        let mut object = serde_json::Map::new();
        let mut set = Vec::new();
        loop {
            if self.take('}') {
                break;
            }
            let key = self.value()?;
            if self.take(':') {
                let value = self.value()?;
                object.insert(str_of_json(&key), value);
            } else {
                set.push(key);
            }
            if !self.take(',') {
                if self.take('}') {
                    break;
                }
                return Err(self.expected('}'));
            }
        }
        let plain = set.is_empty();
        Ok(if plain {
            Json::Object(object)
        } else {
            Json::Array(set)
        })
    }

    /// One string, or several that stand side by side and are one.
    fn strings(&mut self) -> Result<Json, String> {
        let mut text = String::new();
        loop {
            self.string(&mut text)?;
            self.space();
            if !self.rest.starts_with(['\'', '"']) {
                return Ok(Json::String(text));
            }
        }
    }

    fn string(&mut self, out: &mut String) -> Result<(), String> {
        let triple = ["'''", "\"\"\""]
            .into_iter()
            .find(|q| self.rest.starts_with(q));
        let quote = match triple {
            Some(quote) => quote,
            None if self.rest.starts_with('\'') => "'",
            None => "\"",
        };
        let mut rest = self.rest.get(quote.len()..).unwrap_or_default();
        loop {
            if let Some(after) = rest.strip_prefix(quote) {
                self.rest = after;
                return Ok(());
            }
            let mut chars = rest.chars();
            match chars.next() {
                None => return Err("a string does not end".into()),
                Some('\n') if triple.is_none() => {
                    return Err("a string does not end in its line".into());
                }
                Some('\\') => rest = escaped(chars.as_str(), out)?,
                Some(c) => {
                    out.push(c);
                    rest = chars.as_str();
                }
            }
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        let other = |c: char| !(c.is_alphanumeric() || "+-._".contains(c));
        let end = self.rest.find(other).unwrap_or(self.rest.len());
        let word = self.rest.get(..end).unwrap_or_default();
        let value = match word {
            "None" => Json::Null,
            "True" => Json::Bool(true),
            "False" => Json::Bool(false),
            _ => numeral(word).ok_or_else(|| format!("`{}` is no literal", start_of(self.rest)))?,
        };
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(value)
    }
}

fn numeral(word: &str) -> Option<Json> {
    let digits = word.trim_start_matches(['+', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || word.len() - digits.len() > 1
    {
        return None;
    }
    let plain: String = word.chars().filter(|c| *c != '_').collect();
    let whole = digits.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if whole {
        // 007 is no number in Python, 000 is.
        let zeros = digits.len() > 1
            && digits.starts_with('0')
            && !digits.trim_matches(['0', '_']).is_empty();
        return (!zeros).then(|| plain.parse::<i64>().ok().map(Json::from))?;
    }
    let x: f64 = plain.parse().ok()?;
    serde_json::Number::from_f64(x).map(Json::Number)
}

/// What follows a backslash; gives the rest.
fn escaped<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let mut chars = text.chars();
    let hex = |n: usize, out: &mut String| -> Result<&'a str, String> {
        let digits = text.get(1..=n).unwrap_or_default();
        let code = u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32);
        out.push(code.ok_or_else(|| format!("`\\{}` is no character", start_of(text)))?);
        Ok(text.get(n + 1..).unwrap_or_default())
    };
    match chars.next() {
        None => return Err("a string ends in a backslash".into()),
        Some('\n') => {}
        Some('n') => out.push('\n'),
        Some('t') => out.push('\t'),
        Some('r') => out.push('\r'),
        Some('a') => out.push('\u{7}'),
        Some('b') => out.push('\u{8}'),
        Some('f') => out.push('\u{c}'),
        Some('v') => out.push('\u{b}'),
        Some(c @ ('\\' | '\'' | '"')) => out.push(c),
        Some('x') => return hex(2, out),
        Some('u') => return hex(4, out),
        Some('U') => return hex(8, out),
        Some('0'..='7') => {
            let octal = |b: &u8| (b'0'..=b'7').contains(b);
            let n = text.bytes().take(3).take_while(octal).count();
            let code = text.get(..n).and_then(|d| u32::from_str_radix(d, 8).ok());
            out.push(code.and_then(char::from_u32).ok_or("no such character")?);
            return Ok(text.get(n..).unwrap_or_default());
        }
        Some(c) => {
            out.push('\\');
            out.push(c);
        }
    }
    Ok(chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_in_python() {
        let of = |v: Json| repr(&Value::from(Serde(v)));
        assert_eq!(
            of(json!([
                "a", "it's", "\"", "a'\"b", "x\ny\\", 1, 2.0, true, null
            ])),
            r#"['a', "it's", '"', 'a\'"b', 'x\ny\\', 1, 2.0, True, None]"#
        );
        assert_eq!(of(json!({"a": [1], "b": {}})), "{'a': [1], 'b': {}}");
        assert_eq!(of(json!("é\u{a0}\u{200b}\u{7f}")), r"'é\xa0\u200b\x7f'");
        for (x, text) in [
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-2.5e-7, "-2.5e-07"),
            (0.0, "0.0"),
        ] {
            assert_eq!(float(x), text);
        }
    }

    #[test]
    fn literals_are_read_as_in_python() {
        let sound = [
            (r#"['a', "b's", 'c\n']"#, json!(["a", "b's", "c\n"])),
            (
                "[1, -2, 3.5, 1e3, True, None,]",
                json!([1, -2, 3.5, 1000.0, true, null]),
            ),
            ("('a',)", json!(["a"])),
            ("('a')", json!("a")),
            ("{'a': 1, 2: 'b'}", json!({"a": 1, "2": "b"})),
            ("'a' 'b'", json!("ab")),
            (r"'\u00e9\x41\101\q'", json!("éAA\\q")),
            ("'''x\ny'''", json!("x\ny")),
            ("3", json!(3)),
            ("[]", json!([])),
        ];
        for (text, value) in sound {
            assert_eq!(literal(text), Ok(value), "{text}");
        }
        for text in [
            "[a]",
            "['a'",
            "['a' 'b', ,]",
            "007",
            "f('x')",
            "'a",
            "[1 2]",
            "",
        ] {
            assert!(literal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "plain",
            "it's \"both\"",
            "\\ \n \t \r",
            "ünï \u{a0} 𝄞 \u{200b}\u{e000}",
        ] {
            assert_eq!(literal(&quoted(text)), Ok(json!(text)));
        }
    }
}

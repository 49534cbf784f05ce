//! YAML as the harness reads it: every value with its line, the tag `!function` kept, and plain words
//! read by the rules of YAML 1.1, which PyYAML follows (`yes` is true, `010` is eight, `1e5` is text).

use std::collections::HashMap;

use libyaml_safer::{EventData, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// How deep values may lie in each other.
const DEEPEST: usize = 64;

/// Values of one file, aliases written out.
const MOST: usize = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// From 1.
    pub line: usize,
    pub data: Data,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// `!function module.name`: Python code.
    Function(String),
    List(Vec<Node>),
    /// Keys in the order of the file; a later one of the same name has replaced the earlier.
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub name: String,
    /// Whether it is text and not a number, a truth value or nothing.
    pub is_text: bool,
}

#[derive(Debug)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl Node {
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|(k, _)| k.name == name).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members of a list; anything else is its own only one.
    pub fn members(&self) -> &[Node] {
        match &self.data {
            Data::List(members) => members,
            _ => std::slice::from_ref(self),
        }
    }

    /// Whether a key is set to true.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|n| n.data == Data::Bool(true))
    }

    pub fn function(&self) -> Option<(&str, usize)> {
        match &self.data {
            Data::Function(name) => Some((name, self.line)),
            Data::List(members) => members.iter().find_map(Node::function),
            Data::Map(entries) => entries.iter().find_map(|(_, v)| v.function()),
            _ => None,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Int(_) | Data::Float(_) => "a number",
            Data::Text(_) => "text",
            Data::Function(_) => "Python code",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    /// The same as JSON; a function as its name.
    pub fn json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(b) => Value::Bool(*b),
            Data::Int(n) => Value::from(*n),
            Data::Float(x) => Number::from_f64(*x).map_or(Value::Null, Value::Number),
            Data::Text(text) => Value::String(text.clone()),
            Data::Function(name) => Value::String(format!("!function {name}")),
            Data::List(members) => Value::Array(members.iter().map(Node::json).collect()),
            Data::Map(entries) => {
                let pairs = entries.iter().map(|(k, v)| (k.name.clone(), v.json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads the one document of a file. The parser is libyaml's, which PyYAML uses too.
pub fn read(text: &str) -> Result<Node, Fault> {
    let mut bytes = text.as_bytes();
    let mut events = Parser::new();
    events.set_input_string(&mut bytes);
    let mut reader = Reader {
        events,
        anchors: HashMap::new(),
        made: 0,
    };
    loop {
        let (event, line) = reader.next()?;
        match event {
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
            EventData::StreamEnd | EventData::DocumentEnd { .. } => {
                return Ok(Node {
                    line: 1,
                    data: Data::Null,
                });
            }
            other => return reader.value(other, line, 0),
        }
    }
}

struct Reader<'a, 'b> {
    events: Parser<&'a mut &'b [u8]>,
    anchors: HashMap<String, Node>,
    made: usize,
}

impl Reader<'_, '_> {
    fn next(&mut self) -> Result<(EventData, usize), Fault> {
        match self.events.parse() {
            Ok(event) => Ok((event.data, event.start_mark.line as usize + 1)),
            Err(error) => Err(Fault {
                line: error.problem_mark().map_or(1, |m| m.line as usize + 1),
                message: format!("this is no YAML: {error}"),
            }),
        }
    }

    fn value(&mut self, event: EventData, line: usize, depth: usize) -> Result<Node, Fault> {
        let fault = |message: &str| Fault {
            line,
            message: message.to_owned(),
        };
        self.made += 1;
        if depth > DEEPEST || self.made > MOST {
            return Err(fault(
                "values lie too deep in each other, or there are too many",
            ));
        }
        let (data, anchor) = match event {
            EventData::Scalar {
                anchor,
                tag,
                value,
                style,
                ..
            } => {
                let data = scalar(&value, style, tag.as_deref()).map_err(|m| fault(&m))?;
                (data, anchor)
            }
            EventData::SequenceStart { anchor, tag, .. } => {
                known(tag.as_deref()).map_err(|m| fault(&m))?;
                let mut members = Vec::new();
                loop {
                    let (event, line) = self.next()?;
                    match event {
                        EventData::SequenceEnd => break,
                        EventData::StreamEnd => return Err(fault("the list does not end")),
                        other => members.push(self.value(other, line, depth + 1)?),
                    }
                }
                (Data::List(members), anchor)
            }
            EventData::MappingStart { anchor, tag, .. } => {
                known(tag.as_deref()).map_err(|m| fault(&m))?;
                (self.map(line, depth)?, anchor)
            }
            EventData::Alias { anchor } => {
                let node = self.anchors.get(&anchor).cloned();
                let mut node = node.ok_or_else(|| fault("an alias of nothing"))?;
                self.made += size(&node);
                node.line = line;
                return Ok(node);
            }
            _ => return Err(fault("expected a value")),
        };
        let node = Node { line, data };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn map(&mut self, line: usize, depth: usize) -> Result<Data, Fault> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let mut merged: Vec<(Key, Node)> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, EventData::MappingEnd) {
                break;
            }
            if matches!(event, EventData::StreamEnd) {
                return Err(Fault {
                    line,
                    message: "the map does not end".into(),
                });
            }
            let plain_merge = matches!(&event, EventData::Scalar { value, style: ScalarStyle::Plain, .. } if value == "<<");
            let key = self.value(event, at, depth + 1)?;
            let (event, at) = self.next()?;
            let value = self.value(event, at, depth + 1)?;
            if plain_merge {
                let maps = match value.data {
                    Data::List(members) => members,
                    _ => vec![value],
                };
                for map in maps {
                    let Data::Map(theirs) = map.data else {
                        return Err(Fault {
                            line: at,
                            message: "`<<` merges maps, and this is none".into(),
                        });
                    };
                    for (key, value) in theirs {
                        if !merged.iter().any(|(k, _)| k.name == key.name) {
                            merged.push((key, value));
                        }
                    }
                }
                continue;
            }
            let name = match &key.data {
                Data::Text(text) => text.clone(),
                Data::List(_) | Data::Map(_) | Data::Function(_) => {
                    return Err(Fault {
                        line: key.line,
                        message: "a key is one word".into(),
                    });
                }
                _ => crate::lm_eval::python::str_of(&minijinja::Value::from(
                    minijinja::value::Serde(key.json()),
                )),
            };
            let key = Key {
                is_text: key.text().is_some(),
                name,
            };
            match entries.iter_mut().find(|(k, _)| k.name == key.name) {
                Some(there) => there.1 = value,
                None => entries.push((key, value)),
            }
        }
        merged.retain(|(key, _)| !entries.iter().any(|(k, _)| k.name == key.name));
        merged.extend(entries);
        Ok(Data::Map(merged))
    }
}

fn size(node: &Node) -> usize {
    match &node.data {
        Data::List(members) => 1 + members.iter().map(size).sum::<usize>(),
        Data::Map(entries) => 1 + entries.iter().map(|(_, v)| size(v)).sum::<usize>(),
        _ => 1,
    }
}

/// The beginning of the names of YAML's own tags.
const OWN: &str = "tag:yaml.org,2002:";

/// Tags of YAML itself are known; others name objects of a program.
fn known(tag: Option<&str>) -> Result<(), String> {
    match tag {
        Some(tag) if tag != "!" && !tag.starts_with(OWN) => {
            Err(format!("the tag `{tag}` is not known"))
        }
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<Data, String> {
    if tag == Some("!function") {
        return Ok(Data::Function(text.trim().to_owned()));
    }
    known(tag)?;
    if tag.is_some_and(|t| t == "!" || t.strip_prefix(OWN) == Some("str")) {
        return Ok(Data::Text(text.to_owned()));
    }
    Ok(match style {
        ScalarStyle::Plain => plain(text),
        _ => Data::Text(text.to_owned()),
    })
}

/// A word without quotes, by the rules of YAML 1.1.
fn plain(text: &str) -> Data {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Data::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Data::Bool(true);
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Data::Bool(false);
        }
        _ => {}
    }
    if let Some(n) = whole(text) {
        return Data::Int(n);
    }
    match fraction(text) {
        Some(x) => Data::Float(x),
        None => Data::Text(text.to_owned()),
    }
}

fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = signed(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let value = if let Some(hex) = plain.strip_prefix("0x") {
        i64::from_str_radix(hex, 16).ok()?
    } else if let Some(binary) = plain.strip_prefix("0b") {
        i64::from_str_radix(binary, 2).ok()?
    } else if plain.len() > 1 && plain.starts_with('0') {
        i64::from_str_radix(&plain, 8).ok()?
    } else if plain.contains(':') {
        let mut total: i64 = 0;
        for (at, part) in plain.split(':').enumerate() {
            let n: i64 = part.parse().ok()?;
            if at > 0 && (n > 59 || part.len() > 2) {
                return None;
            }
            total = total.checked_mul(60)?.checked_add(n)?;
        }
        total
    } else {
        plain.parse().ok()?
    };
    Some(sign * value)
}

fn fraction(text: &str) -> Option<f64> {
    let (sign, digits) = signed(text);
    let sign = sign as f64;
    match digits {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let (mantissa, exponent) = match plain.find(['e', 'E']) {
        Some(at) => (plain.get(..at)?, plain.get(at + 1..)),
        None => (plain.as_str(), None),
    };
    // A point is needed, and a sign in the exponent: `1e5` and `1.0e5` are texts.
    let (before, after) = mantissa.split_once('.')?;
    let digits_only = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let sound = digits_only(before)
        && digits_only(after)
        && !(before.is_empty() && after.is_empty())
        && (before.is_empty()
            || text
                .trim_start_matches(['-', '+'])
                .starts_with(|c: char| c.is_ascii_digit()))
        && exponent.is_none_or(|e| {
            e.strip_prefix(['-', '+'])
                .is_some_and(|d| !d.is_empty() && digits_only(d))
        });
    sound.then(|| plain.parse::<f64>().ok().map(|x| sign * x))?
}

fn signed(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        read(text).unwrap().json().to_string()
    }

    #[test]
    fn words_are_read_as_in_python() {
        assert_eq!(
            json(
                "a: yes\nb: 'yes'\nc: 010\nd: 1e5\ne: 1.5\nf: ~\ng: 0x1f\nh: -3\ni: 1_000\nj: 1:30\nk: .5"
            ),
            r#"{"a":true,"b":"yes","c":8,"d":"1e5","e":1.5,"f":null,"g":31,"h":-3,"i":1000,"j":90,"k":0.5}"#
        );
        assert_eq!(
            json("a: 1.0e5\nb: 1.0e+5\nc: 1.\nd: ."),
            r#"{"a":"1.0e5","b":100000.0,"c":1.0,"d":"."}"#
        );
    }

    #[test]
    fn aliases_and_merges_are_written_out() {
        assert_eq!(
            json("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\nz: *x"),
            r#"{"x":{"a":1,"b":2},"y":{"a":1,"b":3},"z":{"a":1,"b":2}}"#
        );
    }

    #[test]
    fn functions_are_found_with_their_line() {
        let node =
            read("task: t\nmetric_list:\n  - metric: acc\n    aggregation: !function utils.mine\n")
                .unwrap();
        assert_eq!(node.function(), Some(("utils.mine", 4)));
        assert!(read("a: !python/object x").is_err());
    }

    #[test]
    fn aliases_cannot_grow_without_end() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let refs = vec![format!("*a{}", n - 1); 10].join(", ");
            text.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
        }
        assert!(read(&text).is_err());
    }
}

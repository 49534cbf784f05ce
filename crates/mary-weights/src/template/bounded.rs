//! Templates whose values cannot grow without end.
//!
//! The machine that runs templates counts steps and output, not the size of values, and sixty steps
//! of `{% set x = x ~ x %}` are enough for any memory. So a check is written into the template where
//! values can grow: before every `~`, `+` and `*` (the operand on the left must be small), and around
//! every value that is stored by `set`. What a filter or method could make out of small values
//! (`replace`, `indent`, `format`) is computed before it is made. Templates that models come with
//! stay far below these limits and render as before.

use std::cell::Cell;
use std::time::{Duration, Instant};

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Largest operand of an operator that joins: a message, not a library.
const MOST_OPERAND: usize = 1 << 20;
/// Largest value that is stored or made by a filter.
const MOST_VALUE: usize = 16 << 20;
/// Operators that join, in one tag.
const MOST_JOINS: usize = 64;
/// Multiplications in a template; each may make a hundred megabytes.
const MOST_PRODUCTS: usize = 3;
/// Largest number in a multiplication: a list times a number is not made but remembered, and takes its
/// time, unwatched, when it is written out.
const MOST_TIMES: f64 = 262_144.0;
/// Largest text or list (at 64 bytes an element) in a multiplication.
const MOST_FACTOR: usize = 1 << 10;
/// Longest time for one conversation, looked at wherever values are joined or stored: two million steps
/// are quick, two million joins of long lists are not. Real templates take microseconds.
const MOST_TIME: Duration = Duration::from_secs(6);
/// Longest template.
const MOST_SOURCE: usize = 1 << 20;

const OPERAND: &str = "mary_operand";
const FACTOR: &str = "mary_factor";
const STORED: &str = "mary_stored";

thread_local! {
    /// When this thread began to render; a conversation is rendered on one thread.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// From now on the time of a conversation counts.
pub(super) fn begin() {
    BEGUN.set(Some(Instant::now()));
}

/// Adds what the checks need.
pub(super) fn install(environment: &mut Environment<'static>) {
    environment.add_filter(OPERAND, |value: Value| limited(value, MOST_OPERAND));
    environment.add_filter(FACTOR, factor);
    environment.add_function(STORED, |value: Value| limited(value, MOST_VALUE));
    environment.add_filter("replace", |value: String, from: String, to: String| {
        replaced(&value, &from, &to)
    });
    environment.add_filter(
        "indent",
        |value: String, width: Option<usize>, more: Rest<Value>, _: Kwargs| {
            indented(&value, width.unwrap_or(4), &more)
        },
    );
    environment.remove_filter("format");
    environment.set_unknown_method_callback(method);
    environment.set_recursion_limit(100);
}

fn too_large() -> Error {
    Error::new(
        ErrorKind::OutOfFuel,
        "a value in it grows larger than any conversation",
    )
}

/// The value, unless it is larger than `most` bytes (an element of a list counts as 64). What is not
/// computed yet is computed here: joined lists that wait inside each other would double unseen.
fn limited(value: Value, most: usize) -> Result<Value, Error> {
    if BEGUN.get().is_some_and(|begun| begun.elapsed() > MOST_TIME) {
        let why = "it takes longer than any conversation needs";
        return Err(Error::new(ErrorKind::OutOfFuel, why));
    }
    let elements = most / 64;
    let size = match value.kind() {
        ValueKind::String | ValueKind::Bytes => value.as_str().map_or(0, str::len),
        ValueKind::Seq | ValueKind::Iterable => {
            let all: Vec<Value> = value.try_iter()?.take(elements + 1).collect();
            if all.len() > elements {
                return Err(too_large());
            }
            return Ok(Value::from(all));
        }
        ValueKind::Map => value.len().unwrap_or(0).saturating_mul(64),
        _ => 0,
    };
    if size > most {
        return Err(too_large());
    }
    Ok(value)
}

/// One side of a multiplication.
fn factor(value: Value) -> Result<Value, Error> {
    if let ValueKind::Number = value.kind() {
        let small = f64::try_from(value.clone()).is_ok_and(|n| n.abs() <= MOST_TIMES);
        return if small { Ok(value) } else { Err(too_large()) };
    }
    limited(value, MOST_FACTOR)
}

fn replaced(value: &str, from: &str, to: &str) -> Result<String, Error> {
    let pieces = if from.is_empty() {
        value.chars().count() + 1
    } else {
        value.matches(from).count()
    };
    if pieces.saturating_mul(to.len()).saturating_add(value.len()) > MOST_VALUE {
        return Err(too_large());
    }
    Ok(value.replace(from, to))
}

/// Jinja's `indent`: the first line and blank lines only where asked for.
fn indented(value: &str, width: usize, more: &[Value]) -> Result<String, Error> {
    let flag = |at: usize| more.get(at).is_some_and(Value::is_true);
    let (first, blank) = (flag(0), flag(1));
    let lines = value.lines().count();
    if lines.saturating_mul(width).saturating_add(value.len()) > MOST_VALUE {
        return Err(too_large());
    }
    let space = " ".repeat(width);
    let lines = value.lines().enumerate().map(|(number, line)| {
        let inner = number > 0 && (blank || !line.is_empty());
        if inner || (number == 0 && first) {
            format!("{space}{line}")
        } else {
            line.to_owned()
        }
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Python's methods, those that make long strings out of short ones with a limit.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        let given = |at: usize| args.get(at).and_then(Value::as_str);
        match (name, given(0), given(1)) {
            ("replace", Some(from), Some(to)) if args.len() == 2 => {
                return replaced(text, from, to).map(Value::from);
            }
            // `'{:>999999999}'.format(1)`: no template of a model's formats by width.
            ("format", ..) if text.contains("{:") || text.contains('%') => return Err(too_large()),
            ("join", ..) => {
                let items = args.first().map(Value::try_iter).transpose()?;
                let mut size = 0usize;
                for item in items.into_iter().flatten() {
                    let length = item.as_str().map_or(32, str::len);
                    size = size.saturating_add(length).saturating_add(text.len());
                    if size > MOST_VALUE {
                        return Err(too_large());
                    }
                }
            }
            _ => {}
        }
    }
    unknown_method_callback(state, value, name, args)
}

/// The template with the checks written into it, or why it is refused.
pub(super) fn bounded(source: &str) -> Result<String, String> {
    if source.len() > MOST_SOURCE {
        return Err(format!(
            "it is {} bytes long; {MOST_SOURCE} are allowed",
            source.len()
        ));
    }
    let mut out = String::with_capacity(source.len() + 256);
    let mut rest = source;
    let mut products = 0;
    let mut raw = false;
    while let Some(at) = next_tag(rest, raw) {
        let (text, tag) = rest.split_at(at);
        out.push_str(text);
        let end = tag_end(tag);
        let (tag, after) = tag.split_at(end);
        rest = after;
        let word = tag
            .trim_start_matches(['{', '%', '-', '+'])
            .split_whitespace()
            .next()
            .unwrap_or_default();
        match word.trim_end_matches(['-', '+', '%', '}']) {
            "raw" if tag.starts_with("{%") => raw = true,
            "endraw" => raw = false,
            _ => {}
        }
        if tag.starts_with("{#") || raw {
            out.push_str(tag);
        } else {
            out.push_str(&checked(tag, &mut products)?);
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Where the next tag begins; inside of `raw`, only its end is one.
fn next_tag(text: &str, raw: bool) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from
            + text
                .get(from..)?
                .find("{%")
                .into_iter()
                .chain(text.get(from..)?.find("{{").filter(|_| !raw))
                .chain(text.get(from..)?.find("{#").filter(|_| !raw))
                .min()?;
        let word = text
            .get(at + 2..)?
            .trim_start_matches(['-', '+'])
            .trim_start();
        if !raw || word.starts_with("endraw") {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Where a tag ends, strings in it left alone. A tag without an end is the compiler's to refuse.
fn tag_end(tag: &str) -> usize {
    let close = match tag.get(..2) {
        Some("{%") => "%}",
        Some("{{") => "}}",
        _ => return tag.find("#}").map_or(tag.len(), |at| at + 2),
    };
    let mut braces = 0usize;
    for (at, c, in_string) in letters(tag).skip(2) {
        if in_string {
            continue;
        }
        match c {
            '{' => braces += 1,
            '}' if braces > 0 && close == "}}" => braces -= 1,
            _ if tag.get(at..).is_some_and(|t| t.starts_with(close)) => return at + 2,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    tag.len()
}

/// Every letter with its place and whether it is part of a string.
fn letters(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().map(move |(at, c)| match quote {
        Some(q) => {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == q {
                quote = None;
            }
            (at, c, true)
        }
        None => {
            if c == '"' || c == '\'' {
                quote = Some(c);
            }
            (at, c, quote.is_some())
        }
    })
}

/// A tag with checks before its operators and around what it stores.
fn checked(tag: &str, products: &mut usize) -> Result<String, String> {
    let inner = tag.len().saturating_sub(2);
    let mut out = String::with_capacity(tag.len() + 32);
    let mut joins = 0;
    // Where the right sides of multiplications end.
    let mut ends: Vec<usize> = Vec::new();
    for (at, c, in_string) in letters(tag) {
        if ends.contains(&at) {
            out.push('|');
            out.push_str(FACTOR);
        }
        let operator = !in_string && at >= 2 && at < inner && matches!(c, '~' | '+' | '*');
        if operator {
            joins += 1;
            let power = tag.get(at + 1..).is_some_and(|t| t.starts_with('*'))
                || tag.get(..at).is_some_and(|t| t.ends_with('*'));
            *products += usize::from(c == '*' && !power);
            let delimiter = at == 2 || (at + 1 == inner && c == '+');
            if !power && !delimiter && ends_operand(&out) {
                out.truncate(out.trim_end().len());
                out.push('|');
                out.push_str(if c == '*' { FACTOR } else { OPERAND });
                out.push(' ');
                if c == '*' {
                    ends.extend(operand_end(tag, at + 1));
                }
            }
        }
        out.push(c);
    }
    if joins > MOST_JOINS {
        return Err(format!(
            "a tag in it joins {joins} values; {MOST_JOINS} are allowed"
        ));
    }
    if *products > MOST_PRODUCTS {
        return Err(format!(
            "it multiplies {products} times; {MOST_PRODUCTS} are allowed"
        ));
    }
    Ok(stored(&out).unwrap_or(out))
}

/// Where the value that begins behind `from` ends: a sign, a name, number, text or bracket, and what follows
/// it without a space (`.name`, `[…]`, `(…)`) or as a filter.
fn operand_end(tag: &str, from: usize) -> Option<usize> {
    let all: Vec<(usize, char, bool)> = letters(tag).skip_while(|(at, ..)| *at < from).collect();
    let blank = |c: char| c.is_whitespace() || c == '-' || c == '+';
    let mut i = all
        .iter()
        .position(|(_, c, in_string)| *in_string || !blank(*c))?;
    let mut depth = 0usize;
    let first = i;
    while let Some((_, c, in_string)) = all.get(i).copied() {
        let word = c.is_alphanumeric() || c == '_' || c == '.';
        let opens = !in_string && matches!(c, '(' | '[' | '{');
        let closes = !in_string && matches!(c, ')' | ']' | '}');
        if opens {
            depth += 1;
        } else if closes {
            // The end of the tag, or of a bracket around the whole product.
            if depth == 0 {
                break;
            }
            depth -= 1;
        } else if depth == 0 && !in_string && !word && !matches!(c, '"' | '\'' | '|') {
            break;
        }
        i += 1;
    }
    (i > first).then(|| all.get(i).map_or(tag.len(), |(at, ..)| *at))
}

/// Whether what stands before an operator is a value, so that the operator has two sides.
fn ends_operand(before: &str) -> bool {
    let before = before.trim_end();
    let word = before
        .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .unwrap_or_default();
    let keyword = matches!(
        word,
        "in" | "and" | "or" | "not" | "if" | "elif" | "else" | "is" | "set" | "for" | "with"
    );
    !keyword
        && before.ends_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | ')' | ']' | '}')
        })
}

/// `{% set x = VALUE %}` with a check around the value; `None` for every other tag.
fn stored(tag: &str) -> Option<String> {
    let head_end = tag.strip_prefix("{%")?;
    let word = head_end.trim_start_matches(['-', '+']).trim_start();
    word.strip_prefix("set")?
        .strip_prefix(char::is_whitespace)?;
    let equals = letters(tag).find_map(|(at, c, in_string)| {
        let next = tag.get(at + 1..)?.chars().next();
        (c == '=' && !in_string && next != Some('=')).then_some(at)
    })?;
    let end = tag.strip_suffix("%}")?.trim_end_matches(['-', '+']).len();
    let (target, value, close) = (
        tag.get(..=equals)?,
        tag.get(equals + 1..end)?,
        tag.get(end..)?,
    );
    Some(format!("{target} {STORED}(({value})) {close}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_where_values_grow_and_nowhere_else() {
        for (plain, written) in [
            ("a {{ b }} c", "a {{ b }} c"),
            ("{{ a ~ b }}", "{{ a|mary_operand ~ b }}"),
            ("{{ a['x'] + 'y+z' }}", "{{ a['x']|mary_operand + 'y+z' }}"),
            (
                "{{- 'a' + (-1 + b) -}}",
                "{{- 'a'|mary_operand + (-1|mary_operand + b) -}}",
            ),
            ("{%+ if a == +1 +%}", "{%+ if a == +1 +%}"),
            (
                "{# a ~ b #}{% raw %}{{ a ~ b }}{% endraw %}",
                "{# a ~ b #}{% raw %}{{ a ~ b }}{% endraw %}",
            ),
            (
                "{%- set x = a if b == c else d -%}",
                "{%- set x = mary_stored(( a if b == c else d )) -%}",
            ),
            (
                "{% set n.x = 'a=b' %}",
                "{% set n.x = mary_stored(( 'a=b' )) %}",
            ),
            ("{% set x %}t{% endset %}", "{% set x %}t{% endset %}"),
            ("{{ {'a': {}} }}", "{{ {'a': {}} }}"),
            ("{{ '}}' ~ '%}' }}", "{{ '}}'|mary_operand ~ '%}' }}"),
            (
                "{{ '-' * 80 ~ x }}",
                "{{ '-'|mary_factor * 80|mary_factor|mary_operand ~ x }}",
            ),
            (
                "{{ (n * m.a[0](1)|f(2) + 1) }}",
                "{{ (n|mary_factor * m.a[0](1)|f(2)|mary_factor|mary_operand + 1) }}",
            ),
            (
                "{{ [0] * -(a + 'b)')}}",
                "{{ [0]|mary_factor * -(a|mary_operand + 'b)')|mary_factor}}",
            ),
            ("{{ 2 ** 3 }}", "{{ 2 ** 3 }}"),
        ] {
            assert_eq!(bounded(plain).unwrap(), written);
        }
        assert!(bounded(&"{{ a }}".repeat(1 << 18)).is_err());
        assert!(bounded(&"{{ 'a' * 9 }}".repeat(4)).is_err());
        assert!(bounded(&format!("{{{{ a{} }}}}", " ~ a".repeat(100))).is_err());
    }
}

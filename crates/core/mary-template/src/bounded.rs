//! Templates whose values cannot grow without end.
//!
//! The machine that runs templates counts steps and output, not the size of values, and sixty steps
//! of `{% set x = x ~ x %}` are enough for any memory. So a check is written into the template where
//! values can grow: at both sides of every `~`, `+` and `*` (an operand must be small), around every
//! value that is stored by `set`, and behind every list and map that is written down. Where something is
//! decided (`if`) the clock is looked at. What a filter or method could make out of small values
//! (`replace`, `indent`, `format`) is computed before it is made. A value counts with all that lies in
//! it: a list of two lists that are the same one is two lists when it is written out. What is written
//! counts too, whether it leaves the template or is kept in it (`{% set x %}…`, macros). Templates that
//! people write stay far below these limits and render as before.

use std::cell::Cell;
use std::time::{Duration, Instant};

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, functions};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Largest operand of an operator that joins: a message, not a library.
const MOST_OPERAND: usize = 1 << 20;
/// Largest value that is stored or made by a filter.
const MOST_VALUE: usize = 16 << 20;
/// Operators that join, in one tag.
const MOST_JOINS: usize = 64;
/// Bytes that a template may write of its values, wherever they go.
const MOST_WRITTEN: usize = 128 << 20;
/// Bytes that a template may write of its own text, wherever they go.
const MOST_TEXT: u64 = 256 << 20;
/// Lists in lists in lists, at most.
const DEEPEST: usize = 64;
/// Largest text or list (at 64 bytes an element) in a multiplication.
const MOST_FACTOR: usize = 1 << 10;
/// Longest time for one conversation, looked at wherever values are joined or stored: two million steps
/// are quick, two million joins of long lists are not. Real templates take microseconds.
const MOST_TIME: Duration = Duration::from_secs(6);
const MOST_SOURCE: usize = 1 << 20;

/// How much a kind of template may multiply. A text times a number is at most a kilobyte times that
/// number, so that both limits together bound what all multiplications make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub products: usize,
    /// Largest number in one: a list times a number is not made but remembered, and takes its time,
    /// unwatched, when it is written out.
    pub times: f64,
}

impl Bounds {
    pub const CHAT: Self = Self {
        products: 3,
        times: 262_144.0,
    };
    pub const PROMPT: Self = Self {
        products: 16,
        times: 49_152.0,
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub source: String,
    /// Steps that it may take: fewer where a long text of its own stands in a loop.
    pub steps: u64,
}

const OPERAND: &str = "mary_operand";
const FACTOR: &str = "mary_factor";
const STORED: &str = "mary_stored";
const STORED_INSIDE: &str = "mary_stored)";
const ASKED: &str = "mary_asked";

thread_local! {
    /// When this thread began to render; a conversation is rendered on one thread.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Bytes of values that were written since.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// From now on the time and the text of a template count.
pub(crate) fn begin() {
    BEGUN.set(Some(Instant::now()));
    WRITTEN.set(0);
}

/// Adds what the checks need, with Python's methods. Who has a formatter of their own, sets it after
/// this and calls [`written`] in it; methods of their own call [`limited_method`].
pub fn install(environment: &mut Environment<'static>, bounds: Bounds) {
    environment.add_filter(OPERAND, |value: Value| limited(value, MOST_OPERAND));
    environment.add_filter(FACTOR, move |value: Value| factor(value, bounds.times));
    environment.add_filter(STORED, |value: Value| limited(value, MOST_VALUE));
    environment.add_filter(ASKED, |value: Value| in_time().map(|()| value));
    // What makes values of values, as literals do.
    environment.add_function("dict", |value: Option<Value>, more: Kwargs| {
        limited(functions::dict(value, more)?, MOST_VALUE)
    });
    environment.add_function("namespace", |defaults: Option<ValueOrKwargs>| {
        let made = functions::namespace(defaults)?;
        weigh(&made, &mut { MOST_VALUE }, 0).map(|()| made)
    });
    for (name, inner) in [("slice", "mary_slice"), ("batch", "mary_batch")] {
        environment.add_filter(
            name,
            move |state: &mut State, value: Value, rest: Rest<Value>| {
                let count = rest.first().and_then(|n| usize::try_from(n.clone()).ok());
                if count.is_some_and(|n| n > MOST_VALUE / 64) {
                    return Err(too_large());
                }
                let mut words = vec![value];
                words.extend(rest.iter().cloned());
                state.apply_filter(inner, &words)
            },
        );
    }
    environment.add_filter("mary_slice", filters::slice);
    environment.add_filter("mary_batch", filters::batch);
    environment.set_formatter(|out, state, value| {
        written(value)?;
        minijinja::escape_formatter(out, state, value)
    });
    // None of these is in the Jinja that such templates are written for.
    for name in ["pprint", "zip", "chain"] {
        environment.remove_filter(name);
    }
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
    environment.set_unknown_method_callback(|state, value, name, args| {
        match limited_method(value, name, args)? {
            Some(made) => Ok(made),
            None => unknown_method_callback(state, value, name, args),
        }
    });
    environment.set_recursion_limit(100);
}

fn too_large() -> Error {
    Error::new(
        ErrorKind::OutOfFuel,
        "a value in it grows larger than any conversation",
    )
}

fn in_time() -> Result<(), Error> {
    if BEGUN.get().is_some_and(|begun| begun.elapsed() > MOST_TIME) {
        let why = "it takes longer than any conversation needs";
        return Err(Error::new(ErrorKind::OutOfFuel, why));
    }
    Ok(())
}

/// Counts a value that is written; an error once a template has written more than anybody reads.
pub fn written(value: &Value) -> Result<(), Error> {
    in_time()?;
    let so_far = WRITTEN.get();
    let mut left = MOST_WRITTEN.saturating_sub(so_far);
    weigh(value, &mut left, 0)?;
    WRITTEN.set(MOST_WRITTEN - left);
    Ok(())
}

/// Takes the size of a value and of all that lies in it off what is left; an error when that does not
/// suffice. What several places share is counted at each, as it would be written.
fn weigh(value: &Value, left: &mut usize, depth: usize) -> Result<(), Error> {
    let mut take = |bytes: usize| {
        *left = left.checked_sub(bytes).ok_or_else(too_large)?;
        Ok::<(), Error>(())
    };
    match value.kind() {
        ValueKind::String => take(value.as_str().map_or(0, str::len)),
        ValueKind::Bytes => take(value.as_bytes().map_or(0, <[u8]>::len)),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            if depth >= DEEPEST {
                return Err(too_large());
            }
            let map = value.kind() == ValueKind::Map;
            // A member of a member is rare where people write, and all there is where values double.
            let each = if depth == 0 { 64 } else { 512 };
            for member in value.try_iter()? {
                *left = left.checked_sub(each).ok_or_else(too_large)?;
                weigh(&member, left, depth + 1)?;
                if map {
                    weigh(&value.get_item(&member)?, left, depth + 1)?;
                }
            }
            Ok(())
        }
        _ => take(0),
    }
}

/// The value, unless it is larger than `most` bytes (an element of a list counts as 64), or too large
/// with all that lies in it. What is not computed yet is computed here: joined lists that wait inside
/// each other would double unseen.
fn limited(value: Value, most: usize) -> Result<Value, Error> {
    in_time()?;
    let elements = most / 64;
    let size = match value.kind() {
        ValueKind::String | ValueKind::Bytes => value.as_str().map_or(0, str::len),
        ValueKind::Seq | ValueKind::Iterable => {
            let all: Vec<Value> = value.try_iter()?.take(elements + 1).collect();
            if all.len() > elements {
                return Err(too_large());
            }
            let value = Value::from(all);
            weigh(&value, &mut { MOST_VALUE }, 0)?;
            return Ok(value);
        }
        ValueKind::Map => {
            weigh(&value, &mut { MOST_VALUE }, 0)?;
            value.len().unwrap_or(0).saturating_mul(64)
        }
        _ => 0,
    };
    if size > most {
        return Err(too_large());
    }
    Ok(value)
}

/// One side of a multiplication.
fn factor(value: Value, times: f64) -> Result<Value, Error> {
    if let ValueKind::Number = value.kind() {
        let small = f64::try_from(value.clone()).is_ok_and(|n| n.abs() <= times);
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

/// Python's methods that make long strings out of short ones, with a limit: what `replace` makes, an
/// error for what would be too long, nothing for all that may be called as it is.
pub fn limited_method(value: &Value, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    if let Some(text) = value.as_str() {
        let given = |at: usize| args.get(at).and_then(Value::as_str);
        match (name, given(0), given(1)) {
            ("replace", Some(from), Some(to)) if args.len() == 2 => {
                return replaced(text, from, to).map(|made| Some(Value::from(made)));
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
    Ok(None)
}

/// The template with the checks written into it, or why it is refused.
/// `steps` are those that it may take in any case.
pub fn bounded(source: &str, bounds: Bounds, steps: u64) -> Result<Checked, String> {
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
    // Inside of what may run more than once, and the longest text there.
    let mut repeated = 0usize;
    let mut longest = 0;
    while let Some(at) = next_tag(rest, raw) {
        let (text, tag) = rest.split_at(at);
        out.push_str(text);
        if repeated > 0 {
            longest = longest.max(text.len());
        }
        let end = tag_end(tag);
        let (tag, after) = tag.split_at(end);
        rest = after;
        let inside = tag.trim_start_matches(['{', '%', '-', '+']);
        let word = inside.split_whitespace().next().unwrap_or_default();
        match word.trim_end_matches(['-', '+', '%', '}']) {
            "raw" if tag.starts_with("{%") => raw = true,
            "endraw" => raw = false,
            "for" | "macro" | "call" | "block" if tag.starts_with("{%") && !raw => repeated += 1,
            "endfor" | "endmacro" | "endcall" | "endblock" if !raw => {
                repeated = repeated.saturating_sub(1);
            }
            _ => {}
        }
        if tag.starts_with("{#") || raw {
            out.push_str(tag);
        } else {
            out.push_str(&checked(tag, &mut products, bounds)?);
        }
    }
    out.push_str(rest);
    let by_text = MOST_TEXT / (longest as u64).max(1);
    Ok(Checked {
        source: out,
        steps: steps.min(by_text),
    })
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
fn checked(tag: &str, products: &mut usize, bounds: Bounds) -> Result<String, String> {
    let inner = tag.len().saturating_sub(2);
    let mut out = String::with_capacity(tag.len() + 32);
    let mut joins = 0;
    let values = values_begin(tag);
    // Where the right sides of operators end, and how they are checked.
    let mut ends: Vec<(usize, &str)> = Vec::new();
    for (at, c, in_string) in letters(tag) {
        for (_, check) in ends.iter().filter(|(end, _)| *end == at) {
            out.push('|');
            out.push_str(check);
        }
        let opens = !in_string && at >= values && at < inner && matches!(c, '(' | '[' | '{');
        if opens
            && !ends_operand(&out)
            && let Some(end) = bracket_end(tag, at)
        {
            // `[a, b][i]` looks into a value, and a filter before the second bracket would be none.
            let after = tag.get(end..inner).unwrap_or_default().trim_start();
            let looked_into = after.starts_with(['[', '.', '(']);
            if looked_into {
                out.push('(');
            }
            ends.push((end, if looked_into { STORED_INSIDE } else { STORED }));
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
                let check = if c == '*' { FACTOR } else { OPERAND };
                out.push_str(check);
                out.push(' ');
                ends.extend(operand_end(tag, at + 1).map(|end| (end, check)));
            }
        }
        out.push(c);
    }
    if joins > MOST_JOINS {
        return Err(format!(
            "a tag in it joins {joins} values; {MOST_JOINS} are allowed"
        ));
    }
    if *products > bounds.products {
        return Err(format!(
            "it multiplies {products} times; {} are allowed",
            bounds.products
        ));
    }
    Ok(stored(&out).or_else(|| asked(&out)).unwrap_or(out))
}

/// Where values may stand in a tag: behind what a loop or `set` gives names to.
fn values_begin(tag: &str) -> usize {
    let word = tag.trim_start_matches(['{', '%', '-', '+']).trim_start();
    let behind = |sign: &str| tag.find(sign).map_or(tag.len(), |at| at + sign.len());
    match word.split_whitespace().next() {
        Some("for") => behind(" in "),
        Some("set") => behind("="),
        _ => 2,
    }
}

/// Behind the bracket that closes the one at `from`.
fn bracket_end(tag: &str, from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let rest = letters(tag).skip_while(|(at, ..)| *at < from);
    for (at, c, _) in rest.filter(|(_, _, in_string)| !in_string) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
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
    let mut words = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_'));
    let word = words.next().unwrap_or_default();
    let keyword = matches!(
        word,
        "in" | "and" | "or" | "not" | "if" | "elif" | "else" | "is" | "set" | "for" | "with"
    );
    !keyword
        && before.ends_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | ')' | ']' | '}')
        })
}

/// `{% if VALUE %}` with a look at the clock; `None` for every other tag.
fn asked(tag: &str) -> Option<String> {
    let head = tag.strip_prefix("{%")?;
    let word = head.trim_start_matches(['-', '+']).trim_start();
    let rest = word.strip_prefix("elif").or(word.strip_prefix("if"))?;
    rest.strip_prefix(|c: char| c.is_whitespace() || c == '(' || c == '\'' || c == '"')?;
    let start = tag.len() - rest.len();
    let end = tag.strip_suffix("%}")?.trim_end_matches(['-', '+']).len();
    let (head, value, close) = (tag.get(..start)?, tag.get(start..end)?, tag.get(end..)?);
    Some(format!("{head} ({value})|{ASKED} {close}"))
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
    Some(format!("{target} ({value})|{STORED} {close}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_where_values_grow_and_nowhere_else() {
        for (plain, written) in [
            ("a {{ b }} c", "a {{ b }} c"),
            ("{{ a ~ b }}", "{{ a|mary_operand ~ b|mary_operand }}"),
            (
                "{{ a['x'] + 'y+z' }}",
                "{{ a['x']|mary_operand + 'y+z'|mary_operand }}",
            ),
            (
                "{{- 'a' + (-1 + b) -}}",
                "{{- 'a'|mary_operand + (-1|mary_operand + b|mary_operand)|mary_operand|mary_stored -}}",
            ),
            (
                "{%+ if a == +1 +%}{%- elif(b) -%}",
                "{%+ if ( a == +1 )|mary_asked +%}{%- elif ((b)|mary_stored )|mary_asked -%}",
            ),
            (
                "{% ifx %}{{ x if a else b }}",
                "{% ifx %}{{ x if a else b }}",
            ),
            (
                "{# a ~ b #}{% raw %}{{ a ~ b }}{% endraw %}",
                "{# a ~ b #}{% raw %}{{ a ~ b }}{% endraw %}",
            ),
            (
                "{%- set x = a if b == c else d -%}",
                "{%- set x = ( a if b == c else d )|mary_stored -%}",
            ),
            (
                "{% set n.x = 'a=b' %}",
                "{% set n.x = ( 'a=b' )|mary_stored %}",
            ),
            ("{% set x %}t{% endset %}", "{% set x %}t{% endset %}"),
            (
                "{{ {'a': {}} }}{% if a[b[0]] in ['[', c] %}",
                "{{ {'a': {}|mary_stored}|mary_stored }}{% if ( a[b[0]] in ['[', c]|mary_stored )|mary_asked %}",
            ),
            (
                "{{ '}}' ~ '%}' }}",
                "{{ '}}'|mary_operand ~ '%}'|mary_operand }}",
            ),
            (
                "{{ '-' * 80 ~ x }}",
                "{{ '-'|mary_factor * 80|mary_factor|mary_operand ~ x|mary_operand }}",
            ),
            (
                "{{ (n * m.a[0](1)|f(2) + 1) }}",
                "{{ (n|mary_factor * m.a[0](1)|f(2)|mary_factor|mary_operand + 1|mary_operand)|mary_stored }}",
            ),
            (
                "{{ [0] * -(a + 'b)')}}",
                "{{ [0]|mary_stored|mary_factor * -(a|mary_operand + 'b)'|mary_operand)|mary_factor|mary_stored}}",
            ),
            ("{{ 2 ** 3 }}", "{{ 2 ** 3 }}"),
            (
                "{{['a', 'b'][label]}}{{ (a).b }}{{ [f(x)[0]].index(y)|c }}",
                "{{(['a', 'b']|mary_stored)[label]}}{{ ((a)|mary_stored).b }}{{ ([f(x)[0]]|mary_stored).index(y)|c }}",
            ),
            (
                "{% for a, (b, c) in (d) %}{% set (a, b) = (1, 2) %}",
                "{% for a, (b, c) in (d)|mary_stored %}{% set (a, b) = ( (1, 2)|mary_stored )|mary_stored %}",
            ),
        ] {
            assert_eq!(chat(plain).unwrap().source, written);
        }
        assert!(chat(&"{{ a }}".repeat(1 << 18)).is_err());
        assert!(chat(&"{{ 'a' * 9 }}".repeat(4)).is_err());
        assert!(chat(&format!("{{{{ a{} }}}}", " ~ a".repeat(100))).is_err());
    }

    fn chat(source: &str) -> Result<Checked, String> {
        bounded(source, Bounds::CHAT, 2_000_000)
    }

    fn rendered(source: &str) -> Result<String, Error> {
        let mut environment = Environment::new();
        install(&mut environment, Bounds::CHAT);
        let checked = chat(source).unwrap();
        environment.set_fuel(Some(checked.steps));
        environment.add_template_owned("t", checked.source).unwrap();
        crate::render(&environment.get_template("t")?, Value::from(()), 1 << 20)
    }

    /// What doubles without an operator: lists of lists, written out or joined as text.
    #[test]
    fn a_value_counts_with_all_that_lies_in_it() {
        let twice = "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}";
        let maps = "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = {'a': n.x, 'b': n.x} %}{% endfor %}";
        for source in [twice, maps] {
            assert!(rendered(source).is_err(), "{source}");
        }
        let deep = |what: &str| {
            format!(
                "{{% macro d(s, n) %}}{{% if n %}}{{{{ d([s, s], n - 1) }}}}{{% else %}}{what}{{% endif %}}\
                 {{% endmacro %}}{{{{ d([1], 60) }}}}"
            )
        };
        for what in [
            "{{ s }}",
            "{{ ('' ~ s)|length }}",
            "{{ s|string|length }}",
            "{{ s == t }}",
        ] {
            assert!(rendered(&deep(what)).is_err(), "{what}");
        }
        for deep in [
            "dict(a=s, b=s)",
            "[s, s]",
            "{'a': s, 'b': s}",
            "(s, s)",
            "namespace({'a': s, 'b': s})",
        ] {
            let nest = format!("{{% with s={deep} %}}").repeat(40);
            let source = format!(
                "{{% set s = 1 %}}{nest}{{{{ s|tojson|length }}}}{}",
                "{% endwith %}".repeat(40)
            );
            assert!(rendered(&source).is_err(), "{deep}");
        }
        for count in ["slice(99999999999)", "batch(99999999999, 1)"] {
            assert!(
                rendered(&format!("{{{{ [1]|{count}|length }}}}")).is_err(),
                "{count}"
            );
        }
        assert_eq!(
            rendered("{{ [1, 2, 3]|batch(2, 0)|list }}{{ dict(a=1).a }}").unwrap(),
            "[[1, 2], [3, 0]]1"
        );
        assert_eq!(rendered("{{ [[1], ['a']] ~ '' }}").unwrap(), "[[1], ['a']]");
    }

    /// What is written and kept in the template itself never reaches the limit on its output.
    #[test]
    fn what_is_kept_counts_as_what_is_written() {
        let value = "{% set x = 'a' * 200000 %}{% set y %}{% for i in range(9999) %}{{ x }}{% endfor %}{% endset %}{{ y|length }}";
        assert!(rendered(value).is_err());
        let text = format!(
            "{{% set y %}}{{% for i in range(9999) %}}{{% for j in range(9999) %}}{}{{% endfor %}}{{% endfor %}}{{% endset %}}ok",
            "a".repeat(100_000)
        );
        assert!(rendered(&text).is_err());
        // The same text outside of loops costs nothing.
        let once = "b".repeat(100_000);
        assert_eq!(
            chat(&format!("{once}{{{{ 1 }}}}")).unwrap().steps,
            2_000_000
        );
        let looped = format!("{{% for i in range(3) %}}{once}{{% endfor %}}");
        assert_eq!(rendered(&looped).unwrap().len(), 300_000);
    }
}

//! The harness' templates: Jinja with Python's methods, Python's way of writing values as text, and an
//! error for a column that is not there.

use minijinja::value::{Rest, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, Value};

use crate::lm_eval::pattern::Pattern;
use crate::lm_eval::python::{is_space, str_of};
use crate::rows::Columns;
use crate::template::{RowLimits, Templates};

/// Longer prompts than those of a task file of ours are usual.
const LIMITS: RowLimits = RowLimits {
    fuel: 500_000,
    longest: 32 << 20,
};

pub type Doc = Columns;

/// None yet; each is added under its own text.
pub fn no_templates() -> Result<Templates, String> {
    Templates::new(LIMITS, |environment| {
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_formatter(|out, _, value| {
            mary_template::written(value)?;
            let text = str_of(value);
            Ok(out.write_str(&text)?)
        });
        environment.add_filter("string", |value: Value| str_of(&value));
        environment.add_filter("trim", |value: Value, signs: Option<String>| {
            let text = str_of(&value);
            match signs {
                Some(signs) => text.trim_matches(|c| signs.contains(c)).to_owned(),
                None => text.trim_matches(is_space).to_owned(),
            }
        });
        environment.add_filter("join", join);
        environment.add_filter("int", int);
        environment.add_filter("regex_replace", replace);
    })
}

/// `join`, whose members are written as Python writes them.
fn join(value: Value, between: Option<String>, rest: Rest<Value>) -> Result<String, Error> {
    let attribute = rest.first().and_then(|v| v.as_str().map(str::to_owned));
    let mut members = Vec::new();
    for member in value.try_iter()? {
        let member = match &attribute {
            Some(name) => member.get_attr(name)?,
            None => member,
        };
        members.push(str_of(&member));
    }
    Ok(members.join(&between.unwrap_or_default()))
}

/// `int`, which gives 0 (or what is said) for what is no number.
fn int(value: Value, default: Option<i64>) -> i64 {
    let default = default.unwrap_or(0);
    match value.kind() {
        ValueKind::Bool => i64::from(value.is_true()),
        ValueKind::Number => match i64::try_from(value.clone()) {
            Ok(n) => n,
            Err(_) => f64::try_from(value).map_or(default, |x| x.trunc() as i64),
        },
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            let text = text.trim_matches(is_space);
            let whole = text.replace('_', "").parse::<i64>();
            let real = || text.parse::<f64>().ok().filter(|x| x.is_finite());
            whole.unwrap_or_else(|_| real().map_or(default, |x| x.trunc() as i64))
        }
        _ => default,
    }
}

fn replace(text: String, pattern: &str, with: &str) -> Result<String, Error> {
    let refused = |why: String| Error::new(ErrorKind::InvalidOperation, why);
    let pattern = Pattern::new(pattern).map_err(|why| refused(format!("regex_replace: {why}")))?;
    let replaced = pattern.replace(&text, with);
    replaced.ok_or_else(|| refused("regex_replace makes too long a text".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value as Json;

    fn of(source: &str) -> String {
        let mut templates = no_templates().unwrap();
        templates.add(source, source, 1).unwrap();
        let doc = serde_json::json!({
            "a": "It's", "n": 3, "x": 0.5, "yes": true, "none": null, "list": ["a", "b's", 1],
            "choices": {"text": ["one", "two"], "label": ["A", "B"]}, "key": "B", "s": " pad "
        });
        let Json::Object(doc) = doc else {
            panic!("expected an object");
        };
        match templates.text(source, &doc) {
            Ok(text) => text,
            Err(error) => error.missing.join(", "),
        }
    }

    #[test]
    fn values_are_written_as_jinja_in_python_writes_them() {
        assert_eq!(
            of("{{ list }} {{ yes }} {{ none }} {{ x }} {{ n }}"),
            "['a', \"b's\", 1] True None 0.5 3"
        );
        assert_eq!(of("{{ choices.label.index(key) }}"), "1");
        assert_eq!(of("{{ choices['text'] }}"), "['one', 'two']");
        assert_eq!(of("{{[a, s.strip()]}}"), "[\"It's\", 'pad']");
        assert_eq!(
            of("{{ list | join('; ') }}|{{ s|trim }}|{{ 'x12'|int }}|{{ '12'|int + 1 }}"),
            "a; b's; 1|pad|0|13"
        );
        assert_eq!(
            of("x{{ 'a1b2' | regex_replace('[0-9]', '#') }}\n"),
            "xa#b#\n"
        );
        assert!(of("{{ absent }}").contains("absent"));
    }
}

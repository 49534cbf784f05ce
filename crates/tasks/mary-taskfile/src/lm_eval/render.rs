//! The harness' templates: Jinja with Python's methods, Python's way of writing values as text, and an
//! error for a column that is not there.

use minijinja::value::{Rest, Serde, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::Value as Json;

use mary_template::Bounds;

use crate::lm_eval::pattern::Pattern;
use crate::lm_eval::python::{is_space, str_of};

/// Instructions one template may take for one row.
const FUEL: u64 = 500_000;

/// Bytes one template may make of one row.
const LONGEST: usize = 32 << 20;

/// A row by the names of its columns.
pub type Doc = serde_json::Map<String, Json>;

/// Compiled templates, each under its own text.
pub struct Templates {
    environment: Environment<'static>,
    /// Steps that any of them may take.
    steps: u64,
}

/// Why a row could not be rendered.
#[derive(Debug)]
pub struct Unrendered {
    /// Columns that the template uses and the row does not have.
    pub missing: Vec<String>,
    /// In words.
    pub message: String,
}

impl Templates {
    /// None yet.
    pub fn new() -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = minijinja::syntax::SyntaxConfig::builder()
            .keep_trailing_newline(true)
            .build()
            .map_err(|e| e.to_string())?;
        environment.set_syntax(syntax);
        environment.set_debug(false);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        mary_template::install(&mut environment, Bounds::PROMPT);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(crate::template::python_method);
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
        Ok(Self {
            environment,
            steps: FUEL,
        })
    }

    /// Compiles a template; an error says what is wrong and in which line of it.
    pub fn add(&mut self, source: &str) -> Result<(), (String, usize)> {
        let checked =
            mary_template::bounded(source, Bounds::PROMPT, FUEL).map_err(|why| (why, 1))?;
        self.steps = self.steps.min(checked.steps);
        self.environment.set_fuel(Some(self.steps));
        self.environment
            .add_template_owned(source.to_owned(), checked.source)
            .map_err(|error| (describe(&error), error.line().unwrap_or(1)))
    }

    /// The text of a template for a row.
    pub fn text(&self, source: &str, doc: &Doc) -> Result<String, Unrendered> {
        self.environment
            .get_template(source)
            .and_then(|t| mary_template::render(&t, Value::from(Serde(doc)), LONGEST))
            .map_err(|error| self.unrendered(source, doc, &error))
    }

    fn unrendered(&self, source: &str, doc: &Doc, error: &Error) -> Unrendered {
        let mut missing: Vec<String> = Vec::new();
        if error.kind() == ErrorKind::UndefinedError
            && let Ok(template) = self.environment.get_template(source)
        {
            let used = template.undeclared_variables(false).into_iter();
            missing = used.filter(|c| !doc.contains_key(c)).collect();
            missing.sort_unstable();
        }
        Unrendered {
            missing,
            message: match error.kind() {
                ErrorKind::OutOfFuel if error.detail().is_none() => {
                    format!("it takes more than {} steps for one row", self.steps)
                }
                ErrorKind::WriteFailure => {
                    format!("it makes more than {} MiB of text", LONGEST >> 20)
                }
                _ => describe(error),
            },
        }
    }

    /// The columns that a template uses.
    pub fn uses(&self, source: &str) -> Vec<String> {
        let template = self.environment.get_template(source);
        let mut names: Vec<String> = template.map_or_else(
            |_| Vec::new(),
            |t| t.undeclared_variables(false).into_iter().collect(),
        );
        names.sort_unstable();
        names
    }
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
    let pattern = Pattern::new(pattern)
        .map_err(|why| Error::new(ErrorKind::InvalidOperation, format!("regex_replace: {why}")))?;
    let replaced = pattern.replace(&text, with);
    replaced.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidOperation,
            "regex_replace makes too long a text",
        )
    })
}

fn describe(error: &Error) -> String {
    let kind = error.kind().to_string();
    match error.detail() {
        Some(detail) => format!("{kind}: {detail}"),
        None => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> String {
        let mut templates = Templates::new().unwrap();
        templates.add(source).unwrap();
        let doc = serde_json::json!({
            "a": "It's", "n": 3, "x": 0.5, "yes": true, "none": null, "list": ["a", "b's", 1],
            "choices": {"text": ["one", "two"], "label": ["A", "B"]}, "key": "B", "s": " pad "
        });
        let Json::Object(doc) = doc else {
            panic!("expected an object");
        };
        match templates.text(source, &doc) {
            Ok(text) => text,
            Err(error) => format!("{error:?}"),
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

//! Jinja templates of a task file, compiled once. They have Python's string methods, refuse columns
//! that are not there, and run within the limits of every stranger's template ([`mary_template`]).

use std::collections::BTreeMap;

use mary_template::Bounds;
use minijinja::value::Serde;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::rows::Columns;

/// Instructions that one template may take for one row; a prompt needs some dozens.
const FUEL: u64 = 200_000;

/// Bytes of text that it may make.
const LONGEST: usize = 16 << 20;

/// The name under which the value of an expression is kept.
const VALUE: &str = "mary_value";

pub(crate) struct Templates {
    environment: Environment<'static>,
    /// Steps that any of them may take.
    steps: u64,
    lines: BTreeMap<String, usize>,
}

pub(crate) struct Unrendered {
    pub name: String,
    pub line: usize,
    /// Columns that it uses and the row does not have.
    pub missing: Vec<String>,
    pub message: String,
}

impl Unrendered {
    /// What is wrong with a row, in words; `place` says where the template stands.
    pub fn explain(&self, place: &str, columns: &Columns) -> String {
        if self.missing.is_empty() {
            return format!("{place} cannot be rendered for this row: {}", self.message);
        }
        let mut have: Vec<&str> = columns.keys().map(String::as_str).collect();
        have.sort_unstable();
        let several = if self.missing.len() == 1 { "" } else { "s" };
        let (missing, have) = (self.missing.join("`, `"), have.join(", "));
        format!("there is no column{several} `{missing}`, which {place} uses; there are: {have}")
    }
}

impl Templates {
    /// None yet.
    pub(crate) fn new() -> Result<Self, String> {
        let mut environment = Environment::new();
        let mut syntax = minijinja::syntax::SyntaxConfig::builder();
        let syntax = syntax.keep_trailing_newline(true).build();
        environment.set_syntax(syntax.map_err(|e| e.to_string())?);
        environment.set_debug(false);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        mary_template::install(&mut environment, Bounds::PROMPT);
        environment.set_unknown_method_callback(python_method);
        Ok(Self {
            environment,
            steps: FUEL,
            lines: BTreeMap::new(),
        })
    }

    /// Adds a template whose text is wanted; an error says what is wrong and in which line of it.
    pub(crate) fn add(
        &mut self,
        name: &str,
        source: &str,
        line: usize,
    ) -> Result<(), (String, usize)> {
        self.lines.insert(name.to_owned(), line);
        let checked =
            mary_template::bounded(source, Bounds::PROMPT, FUEL).map_err(|why| (why, 1))?;
        self.steps = self.steps.min(checked.steps);
        self.environment.set_fuel(Some(self.steps));
        self.environment
            .add_template_owned(name.to_owned(), checked.source)
            .map_err(|error| (describe(&error), error.line().unwrap_or(1)))
    }

    /// Adds a template whose value is wanted: `{{ expression }}` alone gives a list or a number as it
    /// is, which is kept under a name of ours; anything else gives its text.
    pub(crate) fn add_value(
        &mut self,
        name: &str,
        source: &str,
        line: usize,
    ) -> Result<(), (String, usize)> {
        match expression(source) {
            Some(inner) => self.add(name, &format!("{{% set {VALUE} = ({inner}) %}}"), line),
            None => self.add(name, source, line),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.lines.contains_key(name)
    }

    /// The names that a template uses and does not set itself.
    pub(crate) fn uses(&self, name: &str) -> Vec<String> {
        let template = self.environment.get_template(name);
        let names = template.map(|t| t.undeclared_variables(false));
        let mut names: Vec<String> = names.unwrap_or_default().into_iter().collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn text(&self, name: &str, columns: &Columns) -> Result<String, Unrendered> {
        self.environment
            .get_template(name)
            .and_then(|t| mary_template::render(&t, Value::from(Serde(columns)), LONGEST))
            .map_err(|e| self.unrendered(name, columns, &e))
    }

    /// The value of a template that is one expression; the text of any other.
    pub(crate) fn value(&self, name: &str, columns: &Columns) -> Result<Value, Unrendered> {
        let template = self.environment.get_template(name);
        let (text, captured) = template
            .and_then(|t| mary_template::render_captured(&t, Value::from(Serde(columns)), LONGEST))
            .map_err(|e| self.unrendered(name, columns, &e))?;
        let value = captured.state().lookup(VALUE);
        Ok(value.unwrap_or_else(|| Value::from(text)))
    }

    fn unrendered(&self, name: &str, columns: &Columns, error: &Error) -> Unrendered {
        let mut missing = self.uses(name);
        missing.retain(|c| error.kind() == ErrorKind::UndefinedError && !columns.contains_key(c));
        let message = match error.kind() {
            ErrorKind::OutOfFuel if error.detail().is_none() => {
                format!("it takes more than {} steps for one row", self.steps)
            }
            ErrorKind::WriteFailure => {
                format!("it makes more than {} MiB of text", LONGEST >> 20)
            }
            _ => describe(error),
        };
        Unrendered {
            name: name.to_owned(),
            line: self.lines.get(name).copied().unwrap_or(1),
            missing,
            message,
        }
    }
}

/// Python's methods of strings, lists and dictionaries, `.index()` and `.find()` included.
fn python_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let list = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    let missing = |why: String| Error::new(ErrorKind::InvalidOperation, why);
    match (method, args) {
        ("index", [wanted]) if list => {
            let at = value.try_iter()?.position(|member| member == *wanted);
            at.map(Value::from)
                .ok_or_else(|| missing(format!("{wanted:?} is not in the list")))
        }
        ("index", [wanted]) if value.as_str().is_some() => {
            let (text, wanted) = (value.as_str().unwrap_or_default(), wanted.as_str());
            let found = wanted.and_then(|w| text.split_once(w));
            let at = found.map(|(before, _)| Value::from(before.chars().count()));
            at.ok_or_else(|| missing("the text is not in the string".into()))
        }
        _ => match mary_template::limited_method(value, method, args)? {
            Some(made) => Ok(made),
            None => unknown_method_callback(state, value, method, args),
        },
    }
}

/// The expression of a template that is nothing else.
fn expression(source: &str) -> Option<&str> {
    let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    let inner = inner.strip_suffix('-').unwrap_or(inner).trim();
    let plain = !inner.contains("{{") && !inner.contains("}}") && !inner.contains("%}");
    (plain && !inner.is_empty()).then_some(inner)
}

fn describe(error: &Error) -> String {
    let kind = error.kind().to_string();
    match error.detail() {
        Some(detail) => format!("{kind}: {detail}"),
        None => kind,
    }
}

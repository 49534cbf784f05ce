//! Chat templates: a conversation rendered to the text a chat model was trained on.
//!
//! Templates are Jinja programs that come with the model, in the dialect of Hugging Face's
//! `apply_chat_template`: blocks are trimmed, Python's string methods work, and there are
//! `raise_exception`, `strftime_now` and a `tojson` that writes what Python's `json.dumps` writes.
//! They are foreign code: the number of steps, the length of the output and the size of values
//! ([`mary_template`]) are limited, and a template that goes beyond them is an error.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use mary_contract::{ErrorKind, ModelError, Part, Prompt, Speaker};
use mary_template::Bounds;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind as JinjaKind, Value};
use serde_json::json;

use crate::folder::Sidecars;
use crate::{Tokenizer, fault};

/// Steps of the template machine; a conversation of a thousand turns takes a fraction of it.
const FUEL: u64 = 2_000_000;
/// Bytes of rendered text.
const MAX_OUTPUT: usize = 64 << 20;

/// A chat template in Hugging Face's dialect of Jinja.
pub struct ChatTemplate {
    source: String,
    environment: Environment<'static>,
    /// `bos_token`, `eos_token` and their kin, as the template may write them.
    tokens: Vec<(String, String)>,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Compiles a template; begin and end token come from the tokenizer.
    pub(crate) fn new(source: &str, tokenizer: &Tokenizer) -> Result<Self, String> {
        let tokens = [
            ("bos_token", tokenizer.bos()),
            ("eos_token", tokenizer.eos()),
        ]
        .into_iter()
        .filter_map(|(name, id)| Some((name.to_owned(), tokenizer.token(id?)?)))
        .collect();
        Self::with_tokens(source, tokens)
    }

    fn with_tokens(source: &str, tokens: Vec<(String, String)>) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = minijinja::syntax::SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|e| e.to_string())?;
        environment.set_syntax(syntax);
        environment.set_debug(false);
        mary_template::install(&mut environment, Bounds::CHAT);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", |format: &str| {
            strftime(format, seconds_since_epoch())
        });
        environment.add_filter("tojson", tojson);
        let marked = without_generation_marks(source);
        let checked = mary_template::bounded(&marked, Bounds::CHAT, FUEL)?;
        environment.set_fuel(Some(checked.steps));
        environment
            .add_template_owned("chat", checked.source)
            .map_err(|e| describe(&e))?;
        Ok(Self {
            source: source.to_owned(),
            environment,
            tokens,
        })
    }

    /// The template of a folder: `chat_template.jinja`, `chat_template.json`, or the entry in
    /// `tokenizer_config.json` (where several are named, the one called `default`).
    pub(crate) fn of_folder(
        files: &Sidecars,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, ModelError> {
        let settings = files.json("tokenizer_config.json").unwrap_or_default();
        let (name, source) = if let Some(bytes) = files.get("chat_template.jinja") {
            let text = String::from_utf8_lossy(bytes).into_owned();
            ("chat_template.jinja", Some(text))
        } else if let Some(json) = files.json("chat_template.json") {
            ("chat_template.json", named(&json["chat_template"]))
        } else {
            ("tokenizer_config.json", named(&settings["chat_template"]))
        };
        let Some(source) = source else {
            return Ok(None);
        };
        let mut template = Self::new(&source, tokenizer).map_err(|why| {
            fault::bad(
                &files.folder.join(name),
                format!("the chat template is broken: {why}"),
            )
        })?;
        for role in [
            "unk_token",
            "pad_token",
            "sep_token",
            "cls_token",
            "mask_token",
        ] {
            let token = &settings[role];
            if let Some(text) = token.as_str().or_else(|| token["content"].as_str()) {
                template.tokens.push((role.to_owned(), text.to_owned()));
            }
        }
        Ok(Some(template))
    }

    /// The rendered text; tokenise it with `add_special = false`, the template writes its own
    /// special tokens.
    pub fn render(
        &self,
        prompt: &Prompt,
        add_generation_prompt: bool,
    ) -> Result<String, ModelError> {
        // As Hugging Face passes them: no tools and no documents is `none`, not undefined.
        let mut variables = json!({
            "messages": messages(prompt),
            "add_generation_prompt": add_generation_prompt,
            "tools": null,
            "documents": null,
        });
        for (name, text) in &self.tokens {
            variables[name] = json!(text);
        }
        let template = self
            .environment
            .get_template("chat")
            .map_err(|e| self.failed(&e))?;
        mary_template::render(&template, Value::from(Serde(variables)), MAX_OUTPUT)
            .map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &Error) -> ModelError {
        // What a template says through `raise_exception` is about the conversation, not about us.
        let kind = match error.kind() {
            JinjaKind::InvalidOperation => ErrorKind::BadRequest,
            _ => ErrorKind::BadModel,
        };
        ModelError::new(
            kind,
            format!(
                "the chat template refused the conversation: {}",
                describe(error)
            ),
        )
        .hint("use plain prompts, or a conversation of the form the model was trained on")
    }

    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The message of a Jinja error with its causes, on one line.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}

/// One template, or the `default` of several.
fn named(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Array(several) => several
            .iter()
            .find(|t| t["name"] == "default")
            .and_then(|t| t["template"].as_str())
            .map(str::to_owned),
        _ => None,
    }
}

/// The conversation as templates expect it: text as a string, text and pictures as a list.
fn messages(prompt: &Prompt) -> Vec<serde_json::Value> {
    let mut messages = Vec::new();
    if let Some(system) = &prompt.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for turn in &prompt.turns {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let text: Option<Vec<&str>> = turn
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Image(_) => None,
            })
            .collect();
        let content = match text {
            Some(texts) => json!(texts.concat()),
            None => turn
                .parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => json!({"type": "text", "text": text}),
                    Part::Image(_) => json!({"type": "image"}),
                })
                .collect(),
        };
        messages.push(json!({"role": role, "content": content}));
    }
    messages
}

/// `{% generation %}` marks which words are the assistant's, for training; here it does nothing.
fn without_generation_marks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            break;
        };
        let (tag, after) = tag.split_at(end + 2);
        let word = tag.trim_matches(['{', '%', '}', '-', '+']).trim();
        match word {
            "generation" => out.push_str(&tag.replace(word, "if true")),
            "endgeneration" => out.push_str(&tag.replace(word, "endif")),
            _ => out.push_str(tag),
        }
        rest = after;
        if word == "raw" {
            break; // what follows is text, not template
        }
    }
    out.push_str(rest);
    out
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(JinjaKind::InvalidOperation, message))
}

/// What Python's `json.dumps(value, ensure_ascii=False, indent=indent)` writes.
fn tojson(value: &Value, kwargs: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = kwargs.get("indent")?;
    mary_template::written(value)?;
    let parsed = serde_json::to_value(value).map_err(|e| {
        Error::new(
            JinjaKind::InvalidOperation,
            format!("cannot be written as JSON: {e}"),
        )
    })?;
    let mut out = String::new();
    python_json(&parsed, indent, 0, &mut out);
    Ok(Value::from_safe_string(out))
}

fn python_json(value: &serde_json::Value, indent: Option<usize>, depth: usize, out: &mut String) {
    let new_line = |out: &mut String, depth: usize| {
        if let Some(width) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', width.min(64) * depth));
        }
    };
    let comma = if indent.is_some() { "," } else { ", " };
    match value {
        serde_json::Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(comma);
                }
                new_line(out, depth + 1);
                python_json(item, indent, depth + 1, out);
            }
            new_line(out, depth);
            out.push(']');
        }
        serde_json::Value::Object(map) if !map.is_empty() => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(comma);
                }
                new_line(out, depth + 1);
                let _ = write!(out, "{}: ", json!(key));
                python_json(item, indent, depth + 1, out);
            }
            new_line(out, depth);
            out.push('}');
        }
        plain => {
            let _ = write!(out, "{plain}");
        }
    }
}

/// Now, or the date that `SOURCE_DATE_EPOCH` fixes: some templates write the day into the prompt.
fn seconds_since_epoch() -> i64 {
    if let Some(fixed) = std::env::var("SOURCE_DATE_EPOCH")
        .ok()
        .and_then(|text| text.parse().ok())
    {
        return fixed;
    }
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0))
}

/// The directives of `strftime` that templates use, in UTC and English.
fn strftime(format: &str, seconds: i64) -> Result<String, Error> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let month_name = MONTHS[(month - 1) as usize % 12];
    let day_name = DAYS[days.rem_euclid(7) as usize];
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut directive = letters.next();
        let padded = directive != Some('-');
        if !padded {
            directive = letters.next();
        }
        let mut number = |value: i64| {
            let _ = if padded {
                write!(out, "{value:02}")
            } else {
                write!(out, "{value}")
            };
        };
        match directive {
            Some('Y') => number(year),
            Some('y') => number(year.rem_euclid(100)),
            Some('m') => number(month),
            Some('d') => number(day),
            Some('H') => number(time / 3600),
            Some('M') => number(time / 60 % 60),
            Some('S') => number(time % 60),
            Some('B') => out.push_str(month_name),
            Some('b') => out.push_str(&month_name[..3]),
            Some('A') => out.push_str(day_name),
            Some('a') => out.push_str(&day_name[..3]),
            Some('%') => out.push('%'),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(Error::new(
                    JinjaKind::InvalidOperation,
                    format!("strftime_now does not know %{other}"),
                ));
            }
        }
    }
    Ok(out)
}

/// Year, month and day of a day counted from 1970-01-01 (proleptic Gregorian calendar; the
/// algorithm is Howard Hinnant's `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(source: &str) -> Result<ChatTemplate, String> {
        ChatTemplate::with_tokens(source, vec![("bos_token".into(), "<s>".into())])
    }

    fn render(source: &str) -> Result<String, ModelError> {
        let mut prompt = Prompt::chat(" hello ");
        prompt.system = Some("be \"kind\" & é".into());
        template(source).unwrap().render(&prompt, true)
    }

    #[test]
    fn blocks_are_trimmed_and_python_methods_work() {
        let source = "{{ bos_token }}\n{% for m in messages %}\n  {% if m['role'] == 'user' %}\n\
                      [{{ m.content.strip().upper() }}]\n  {% endif %}\n{% endfor %}\n";
        assert_eq!(render(source).unwrap(), "<s>\n[HELLO]\n");
    }

    #[test]
    fn json_is_written_as_python_does() {
        assert_eq!(
            render("{{ messages[0] | tojson }}").unwrap(),
            r#"{"role": "system", "content": "be \"kind\" & é"}"#
        );
        assert_eq!(
            render("{{ [1, 2] | tojson(indent=2) }}").unwrap(),
            "[\n  1,\n  2\n]"
        );
    }

    #[test]
    fn a_template_can_refuse_a_conversation() {
        let error = render("{{ raise_exception('no system message, please') }}").unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadRequest);
        assert!(
            error.message.contains("no system message, please"),
            "{error}"
        );
    }

    #[test]
    fn endless_templates_stop() {
        let nested = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) \
                      %}x{% endfor %}{% endfor %}{% endfor %}";
        assert!(render(nested).is_err());
        assert!(render("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").is_err());
        assert!(render("{{ 'x' * 99999999999 }}").is_err());
        // Lists times a number are remembered and written out without a step that could be counted.
        for endless in [
            "{{ [0] * 99999999 }}",
            "{{ 99999999 * [0] }}",
            "{{ 'a' ~ [0] * 99999999 }}",
            "{{ ([0] * 200000 * 200000)|length }}",
        ] {
            assert!(render(endless).is_err(), "{endless}");
        }
        assert_eq!(render("{{ '-' * 3 ~ 2 * 4 }}").unwrap(), "---8");
        let wide = "{% for a in range(9999) %}{{ 'x' * 100000 }}{% endfor %}";
        assert!(render(wide).is_err());
    }

    #[test]
    fn values_do_not_grow_without_end() {
        for source in [
            "{% set x = 'ab' %}{% for i in range(60) %}{% set x = x ~ x %}{{ x|length }}{% endfor %}",
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
            "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
            "{% set n = namespace(x='a') %}{% set b = 'b' * 1000000 %}{% for i in range(9999) %}{% set n.x = b ~ n.x %}{% endfor %}",
            "{% macro d(s, n) %}{% if n %}{{ d(s ~ s, n - 1) }}{% endif %}{% endmacro %}{{ d('ab', 60) }}",
            "{{ ('a' * 1000000)|replace('a', 'b' * 1000000) }}",
            "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
            "{{ ('a\n' * 1000000)|indent(99999999) }}",
            "{{ '{:>9999999999}'.format(1) }}",
        ] {
            // The first of these doubles only inside its loop and ends by itself.
            let scoped = source.contains("{% set x = x ~ x %}");
            assert_eq!(render(source).is_err(), !scoped, "{source}");
        }
    }

    #[test]
    fn broken_templates_are_refused_when_they_are_compiled() {
        for source in ["{% if %}", "{{ ", "{% for x in %}", "{% endfor %}"] {
            assert!(template(source).is_err(), "{source}");
        }
    }

    #[test]
    fn marks_for_training_are_passed_over() {
        let source =
            "{% generation %}a{% endgeneration %}{%- generation -%} b {%- endgeneration %}";
        assert_eq!(render(source).unwrap(), "ab");
    }

    #[test]
    fn loop_controls_and_namespaces_work() {
        let source = "{% set ns = namespace(n=0) %}{% for m in messages %}{% if loop.last %}\
                      {% break %}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}";
        assert_eq!(render(source).unwrap(), "1");
    }

    #[test]
    fn dates_are_written_as_python_writes_them() {
        // 2024-02-29 12:34:56 UTC, a Thursday.
        let at = 1_709_210_096;
        assert_eq!(strftime("%d %b %Y", at).unwrap(), "29 Feb 2024");
        assert_eq!(
            strftime("%A, %B %-d, %y %H:%M:%S%%", at).unwrap(),
            "Thursday, February 29, 24 12:34:56%"
        );
        assert!(strftime("%Q", at).is_err());
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
    }
}

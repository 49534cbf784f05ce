//! Chat templates: a conversation rendered to the text a chat model was trained on.
//!
//! Templates are Jinja programs that come with the model, in the dialect of Hugging Face's
//! `apply_chat_template`: blocks are trimmed, Python's string methods work, and there are
//! `raise_exception`, `strftime_now` and a `tojson` that writes what Python's `json.dumps` writes.
//! They are foreign code: the number of steps, the length of the output and the size of values
//! ([`mary_template`]) are limited, and a template that goes beyond them is an error.

use std::io::{self, Write};

use mary_contract::{ErrorKind, ModelError, Part, Prompt, Speaker};
use mary_template::Bounds;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind as JinjaKind, Value};
use serde::Serialize as _;
use serde_json::json;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::fault::Result;
use crate::folder::Sidecars;
use crate::{Tokenizer, fault};

/// Steps of the template machine; a conversation of a thousand turns takes a fraction of it.
const FUEL: u64 = 2_000_000;
const MAX_OUTPUT: usize = 64 << 20;

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
    pub(crate) fn of_folder(files: &Sidecars, tokenizer: &Tokenizer) -> Result<Option<Self>> {
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
    pub fn render(&self, prompt: &Prompt, add_generation_prompt: bool) -> Result<String> {
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
        let message = format!(
            "the chat template refused the conversation: {}",
            describe(error)
        );
        ModelError::new(kind, message)
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
        text += &format!(": {inner}");
        cause = inner.source();
    }
    text
}

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
    let mut out = Vec::new();
    let written = match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut out, OneLine)),
        Some(width) => {
            let indent = " ".repeat(width.min(64));
            let pretty = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut out, pretty))
        }
    };
    let wrong = |e: &dyn std::fmt::Display| {
        let message = format!("cannot be written as JSON: {e}");
        Error::new(JinjaKind::InvalidOperation, message)
    };
    written.map_err(|e| wrong(&e))?;
    let out = String::from_utf8(out).map_err(|e| wrong(&e))?;
    Ok(Value::from_safe_string(out))
}

/// Python puts a space after commas and colons.
struct OneLine;

impl Formatter for OneLine {
    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

/// Now, or the date that `SOURCE_DATE_EPOCH` fixes: some templates write the day into the prompt.
fn seconds_since_epoch() -> i64 {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok();
    let fixed = fixed.and_then(|text| text.parse().ok());
    fixed.unwrap_or_else(|| jiff::Timestamp::now().as_second())
}

/// As Python's `strftime`, in UTC and English.
fn strftime(format: &str, seconds: i64) -> Result<String, Error> {
    let moment = jiff::Timestamp::from_second(seconds)
        .map(|moment| jiff::tz::Offset::UTC.to_datetime(moment))
        .and_then(|moment| jiff::fmt::strtime::format(format, moment));
    moment.map_err(|e| Error::new(JinjaKind::InvalidOperation, format!("strftime_now: {e}")))
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
        assert_eq!(strftime("%F", -1).unwrap(), "1969-12-31");
    }
}

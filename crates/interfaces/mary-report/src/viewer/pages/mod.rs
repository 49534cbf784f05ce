//! The viewer's pages. Whatever a model, a dataset or an address brought is escaped here.

pub(super) mod run;
pub(super) mod runs;
pub(super) mod sample;
pub(super) mod samples;

use std::collections::BTreeMap;

use mary_contract::{RunManifest, model_labels};

use super::{RunEntry, query::encode};
use crate::escape::{foreign, html, prose, terminal};
use crate::subject;

pub(super) const CSS: &str = concat!(
    include_str!("../../style/base.css"),
    include_str!("../viewer.css")
);
pub(super) const SCRIPT: &str = include_str!("../viewer.js");

pub(super) const PER_PAGE: usize = 50;

const END: &str = "</main></body></html>";

fn shell(title: &str, trail: &[(String, String)], live: Option<&RunEntry>, main: &str) -> String {
    begin(title, trail, live) + main + END
}

fn begin(title: &str, trail: &[(String, String)], live: Option<&RunEntry>) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>{} – Mary</title><link rel=\"stylesheet\" href=\"/viewer.css\"><link rel=\"icon\" href=\"data:,\"><script src=\"/viewer.js\" defer></script></head><body",
        html(title)
    );
    if let Some(entry) = live.filter(|e| !e.complete) {
        out += &format!(
            " data-live=\"/run/{}/live\" data-samples=\"{}\"",
            encode(&entry.manifest.id),
            entry.samples
        );
    }
    out += "><a class=\"skip\" href=\"#main\">Skip to the content</a><header class=\"bar\"><nav aria-label=\"Where you are\"><ol class=\"trail\"><li><a href=\"/\">Runs</a></li>";
    for (text, link) in trail {
        out += &format!("<li><a href=\"{}\">{}</a></li>", html(link), foreign(text));
    }
    // The button is the script's: without one it could do nothing.
    out += &format!(
        "</ol></nav><p id=\"live\" role=\"status\"></p><button type=\"button\" id=\"theme\" hidden></button></header><main id=\"main\" tabindex=\"-1\"><h1>{}</h1>",
        foreign(title)
    );
    out
}

fn run_link(entry: &RunEntry) -> (String, String) {
    (
        subject::run_title(&entry.manifest),
        format!("/run/{}", encode(&entry.manifest.id)),
    )
}

pub(super) fn error(message: &str) -> String {
    let said = format!("<p>{}</p>", prose(message));
    shell("Not to be shown", &[], None, &said)
}

/// What models are called on these pages; addresses keep the full names.
struct Labels(BTreeMap<String, String>);

impl Labels {
    fn from_manifest(manifest: &RunManifest) -> Self {
        Self(model_labels(&manifest.models))
    }

    fn get<'a>(&'a self, model: &'a str) -> &'a str {
        self.0.get(model).map_or(model, String::as_str)
    }
}

/// One of a list of choices: its value, what it is called, what stands behind it in brackets.
struct Choice<'a> {
    value: &'a str,
    text: &'a str,
    more: String,
}

fn select(name: &str, label: &str, none: &str, choices: &[Choice], chosen: Option<&str>) -> String {
    let mut out = format!("<label>{label} <select name=\"{name}\">");
    if !none.is_empty() {
        out += &format!("<option value=\"\">{none}</option>");
    }
    for choice in choices {
        let is_chosen = chosen == Some(choice.value);
        let selected = if is_chosen { " selected" } else { "" };
        let (value, text) = (html(choice.value), html(&terminal(choice.text)));
        out += &format!("<option value=\"{value}\"{selected}>{text}");
        if !choice.more.is_empty() {
            out += &format!(" ({})", html(&choice.more));
        }
        out += "</option>";
    }
    out += "</select></label>";
    out
}

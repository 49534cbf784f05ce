//! "How this was made": everything a reader needs to make the same numbers again.

use std::collections::BTreeMap;

use mary_contract::{ModelCard, PromptForm, RunManifest, RunSummary, TaskRun};

use crate::{escape::html, number::count};

pub(crate) fn section(runs: &[RunSummary]) -> String {
    let runs = runs.iter();
    runs.map(|run| one(&run.manifest, run.complete)).collect()
}

fn one(m: &RunManifest, complete: bool) -> String {
    let mut out = format!(
        "<section class=\"made\" aria-label=\"Run {0}\"><h3>Run <code>{0}</code></h3>",
        html(&m.id)
    );
    let state = match complete {
        true => "complete",
        false => "<strong>incomplete</strong>: samples are missing",
    };
    let (version, command) = (html(&m.version), html(&m.command.join(" ")));
    let mut facts = vec![
        ("begun", html(&m.created)),
        ("state", state.to_owned()),
        (
            "Mary",
            format!("version {version}, log schema {}", m.schema),
        ),
        ("seed", m.seed.to_string()),
        ("trials", m.trials.to_string()),
        ("command", format!("<code>{command}</code>")),
    ];
    if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(&m.model_settings)
        && !settings.is_empty()
    {
        let text: Vec<_> = settings.iter().map(|(k, v)| format!("{k} {v}")).collect();
        facts.push(("opened with", html(&text.join(", "))));
    }
    out += &list(&facts);
    out += "<details class=\"more\"><summary>Models, tasks and their conventions</summary>";
    out += "<h4>Models</h4>";
    out.extend(m.models.iter().map(|card| model(card, "")));
    if let Some(judge) = &m.judge {
        out += &model(judge, " (judge)");
    }
    out += "<h4>Tasks</h4>";
    out += &tasks(&m.id, &m.tasks);
    out += "</details>";
    out += "</section>";
    out
}

fn list(facts: &[(&str, String)]) -> String {
    let mut out = String::from("<dl class=\"facts\">");
    for (name, value) in facts {
        out += &format!("<div><dt>{}</dt><dd>{value}</dd></div>", html(name));
    }
    out += "</dl>";
    out
}

fn model(card: &ModelCard, role: &str) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    if !card.fingerprint.is_empty() {
        facts.push((
            "fingerprint",
            format!("<code>{}</code>", html(&card.fingerprint)),
        ));
    }
    if let Some(a) = &card.architecture {
        facts.push(("architecture", html(a)));
    }
    if let Some(p) = card.parameters {
        facts.push((
            "parameters",
            count(usize::try_from(p).unwrap_or(usize::MAX)),
        ));
    }
    if let Some(l) = card.layers {
        facts.push(("layers", l.to_string()));
    }
    if let Some(c) = card.context_length {
        facts.push(("context", format!("{} tokens", count(c))));
    }
    if !card.conventions.is_empty() {
        facts.push(("conventions", conventions(&card.conventions)));
    }
    facts.extend(card.remarks.iter().map(|remark| ("remark", html(remark))));
    format!(
        "<details><summary>{}{role}</summary>{}</details>",
        html(&card.model.to_string()),
        list(&facts)
    )
}

fn tasks(run: &str, tasks: &[TaskRun]) -> String {
    // Regions of one page have names of their own, and a page may show several runs.
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tasks and their conventions, run {}\"><table class=\"plain\"><thead><tr>\
         <th scope=\"col\">Task</th><th scope=\"col\">Version</th><th scope=\"col\">Settings</th><th scope=\"col\">Conventions</th><th scope=\"col\">Dataset</th></tr></thead><tbody>",
        html(run)
    );
    for task in tasks {
        let s = &task.settings;
        let mut settings = vec![
            format!("seed {}", s.seed),
            match s.form {
                PromptForm::Plain => "plain text".into(),
                PromptForm::Chat => "chat template".to_owned(),
            },
        ];
        settings.extend(s.shots.map(|n| format!("{n} shots")));
        settings.extend(task.limit.map(|l| format!("limit {l}")));
        settings.extend(s.params.iter().map(|(k, v)| format!("{k} = {v}")));
        let hash = task
            .dataset_hash
            .as_deref()
            .map_or("made by the task itself".to_owned(), |h| {
                format!(
                    "<code title=\"{0}\">{1}</code>",
                    html(h),
                    html(crate::subject::short(h))
                )
            });
        out += &format!(
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td>{}</td><td>{}</td><td>{hash}</td></tr>",
            html(&task.id),
            task.version,
            html(&settings.join(", ")),
            conventions(&task.conventions),
        );
    }
    out += "</tbody></table></div>";
    out
}

fn conventions(all: &BTreeMap<String, String>) -> String {
    let text: Vec<_> = all
        .iter()
        .map(|(k, v)| {
            format!(
                "<span class=\"convention\"><i>{}</i> {}</span>",
                html(k),
                html(v)
            )
        })
        .collect();
    text.join(" ")
}

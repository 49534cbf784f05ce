//! The list of runs.

use super::super::runs::{RunColumn, RunLine, RunsQuery, lines, state};
use super::super::{RunList, UnreadableRun, query::encode};
use super::shell;
use crate::escape::{foreign, html};
use crate::number::count;

/// Names of models, tasks and settings that a line shows before it counts the rest.
const NAMED: usize = 3;

pub(in crate::viewer) fn page(list: &RunList, asked: &RunsQuery) -> String {
    let entries = &list.runs;
    let mut out = unreadable(&list.unreadable);
    if entries.is_empty() {
        if list.unreadable.is_empty() {
            out += "<p>There is no run here yet. <code>mary run</code> makes one.</p>";
        }
        return shell("Runs", &[], None, &out);
    }
    let found = lines(entries, asked);
    out += &format!(
        "<form class=\"filters\" method=\"get\" action=\"/\" role=\"search\" aria-label=\"Filter runs\"><label class=\"wide\">Search <input type=\"search\" name=\"q\" value=\"{}\" placeholder=\"a model, a task, a setting, a date\"></label><input type=\"hidden\" name=\"by\" value=\"{}\">{}<button type=\"submit\">Show</button></form>",
        html(&asked.words),
        asked.column.name(),
        if asked.turned {
            "<input type=\"hidden\" name=\"turned\" value=\"1\">"
        } else {
            ""
        }
    );
    out += &format!(
        "<p id=\"count\" role=\"status\">{} of {} {}.</p>",
        count(found.len()),
        count(entries.len()),
        mary_platform::plural(entries.len(), "run")
    );
    out += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table class=\"plain runs\"><thead><tr>";
    for column in RunColumn::ALL {
        out += &head(asked, column);
        if column == RunColumn::Tasks {
            out += "<th scope=\"col\">Settings</th>";
        }
    }
    out += "<th scope=\"col\">Report</th></tr></thead><tbody>";
    out.extend(found.iter().map(row));
    out += "</tbody></table></div>";
    shell("Runs", &[], None, &out)
}

fn unreadable(runs: &[UnreadableRun]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<div class=\"warning\" role=\"alert\"><p>{} cannot be read:</p><ul>",
        mary_platform::counted(runs.len(), "run")
    );
    for run in runs {
        out += &format!(
            "<li><code>{}</code>: {}</li>",
            foreign(&run.name),
            foreign(&run.why)
        );
    }
    out + "</ul></div>"
}

fn head(asked: &RunsQuery, column: RunColumn) -> String {
    let (sorted, arrow) = match (asked.column == column, asked.direction()) {
        (false, _) => (String::new(), ""),
        (true, "descending") => (" aria-sort=\"descending\"".into(), " ↓"),
        (true, _) => (" aria-sort=\"ascending\"".into(), " ↑"),
    };
    let class = match column {
        RunColumn::Samples | RunColumn::Size => " class=\"num\"",
        _ => "",
    };
    format!(
        "<th scope=\"col\"{class}{sorted}><a href=\"{}\">{}</a>{arrow}</th>",
        html(&asked.by(column)),
        column.words()
    )
}

fn row(line: &RunLine) -> String {
    let RunLine { entry, title, .. } = line;
    let manifest = &entry.manifest;
    let begun: String = manifest.created.chars().take(16).collect();
    let address = format!("/run/{}", encode(&manifest.id));
    let report = match entry.report {
        true => format!("<a href=\"{address}/report\">report</a>"),
        false => "<span class=\"none\">none</span>".into(),
    };
    let state = match entry.complete {
        true => state(entry).to_owned(),
        false => format!("<span class=\"badge failed\">{}</span>", state(entry)),
    };
    let score = line
        .score
        .as_ref()
        .map_or("–", |score| score.words.as_str());
    let mut out = format!(
        "<tr><th scope=\"row\"><a href=\"{address}\">{}</a><span class=\"small\">{}</span></th>",
        foreign(title),
        foreign(&entry.name)
    );
    for (name, class, cell) in [
        ("Begun", "when", html(&begun.replace('T', " "))),
        ("Models", "", few(&line.models)),
        ("Tasks", "", few(&line.tasks)),
        ("Settings", "", few(&line.settings)),
        ("Score", "when", html(score)),
        ("Samples", "num", count(entry.samples)),
        ("State", "when", state),
        ("Size", "num", size(entry.bytes)),
        ("Report", "", report),
    ] {
        out += &format!("<td class=\"{class}\" data-name=\"{name}\">{cell}</td>");
    }
    out += "</tr>";
    out
}

fn few(names: &[String]) -> String {
    if names.is_empty() {
        return "<span class=\"none\">–</span>".into();
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|n| foreign(n)).collect();
    let more = names.len().saturating_sub(NAMED);
    match more {
        0 => shown.join(", "),
        more => format!(
            "{} <span class=\"small\" title=\"{}\">and {more} more</span>",
            shown.join(", "),
            html(&crate::escape::terminal(&names.join(", ")))
        ),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

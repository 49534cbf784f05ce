//! One run: what it holds, its scores, the way to its samples and its report.

use mary_contract::RunSummary;

use super::super::{Facets, RunEntry, query::encode};
use super::{Labels, run_link, shell};
use crate::{
    escape::{foreign, html, prose},
    number::{ScoreScale, VersusChance, count},
    subject, summary,
};

pub(in crate::viewer) fn page(entry: &RunEntry, facets: &Facets) -> String {
    let m = &entry.manifest;
    let base = format!("/run/{}/samples", encode(&m.id));
    let settings = subject::chosen_settings(m);
    let mut out = format!(
        "<p class=\"small\">Begun {}, seed {}, Mary {}, folder <code>{}</code>{}</p><p class=\"small\"><code>{}</code></p>",
        html(&m.created),
        m.seed,
        html(&m.version),
        foreign(&entry.name),
        if settings.is_empty() {
            String::new()
        } else {
            format!("; {}", foreign(&settings.join(", ")))
        },
        foreign(&m.command.join(" ")),
    );
    if entry.report {
        out += &format!(
            "<p><a href=\"/run/{}/report\">The report of this run</a></p>",
            encode(&m.id)
        );
    }
    out += &format!(
        "<ul class=\"outcomes\"><li><a href=\"{base}\">all samples <span class=\"small\">{}</span></a></li>",
        count(entry.samples)
    );
    for (class, n) in &facets.outcomes {
        out += &format!(
            "<li><a href=\"{base}?outcome={0}\"><span class=\"badge {0}\">{1}</span> <span class=\"small\">{2}</span></a></li>",
            class.name(),
            class.words(),
            count(*n)
        );
    }
    if facets.models.len() > 1 {
        out += &format!(
            "<li><a href=\"{base}?disagreed=1&amp;order=margin-low\">models disagree</a></li>"
        );
    }
    out += "</ul>";
    match &entry.summary {
        Some(summary) => out += &scores(summary, &Labels::from_manifest(m), &base),
        None => out += &tasks(facets, &base),
    }
    let (title, link) = run_link(entry);
    shell(&title.clone(), &[(title, link)], Some(entry), &out)
}

fn scores(run: &RunSummary, labels: &Labels, base: &str) -> String {
    let mut out = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Scores\"><table class=\"plain\"><caption class=\"sr\">Scores with 95 % intervals</caption><thead><tr><th scope=\"col\">Task</th><th scope=\"col\">Model</th><th scope=\"col\" class=\"num\">Score</th><th scope=\"col\" class=\"num\">95 % interval</th><th scope=\"col\">To chance</th><th scope=\"col\" class=\"num\">Chance</th><th scope=\"col\" class=\"num\">People</th><th scope=\"col\" class=\"num\">n</th><th scope=\"col\">Remarks</th></tr></thead><tbody>",
    );
    for row in &run.rows {
        let scale = ScoreScale::in_run(run, row);
        let level = |v: Option<f64>| v.map_or("–".into(), |v| scale.value(v));
        let score = row.score.as_ref();
        out += &format!(
            "<tr><th scope=\"row\"><a href=\"{base}?task={}&amp;model={}\">{}</a></th><td>{}</td><td class=\"num\"><strong>{}</strong></td><td class=\"num\">{}</td><td>{} {}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>",
            encode(&row.task),
            encode(&row.model),
            html(&row.task),
            foreign(labels.get(&row.model)),
            score.map_or("–".into(), |s| scale.value(s.value)),
            score.map_or(String::new(), |s| scale.interval(s)),
            VersusChance::judge(row).mark(),
            html(&VersusChance::said(row)),
            level(row.chance),
            level(row.human),
            count(row.scored),
            prose(&summary::remarks(run, row).join(", "))
        );
    }
    out += "</tbody></table></div>";
    out
}

fn tasks(facets: &Facets, base: &str) -> String {
    let mut out =
        String::from("<p>There is no summary yet; it is written when the run ends.</p><ul>");
    for (task, n) in &facets.tasks {
        out += &format!(
            "<li><a href=\"{base}?task={}\">{}</a> <span class=\"small\">{}</span></li>",
            encode(task),
            foreign(task),
            count(*n)
        );
    }
    out += "</ul>";
    out
}

//! The viewer's pages, made on the server. Whatever a model, a dataset or an address brought is
//! escaped here.

use std::fmt::{self, Write};

use mary_contract::{RunSummary, Sample, SampleId};

use super::{
    Facets, Lines, RunEntry, SampleRow,
    query::{Asked, encode, plain_address, sample_address},
};
use crate::{
    escape::{foreign, html},
    number::{ScoreScale, VersusChance, count},
    sample::{self, Story},
    subject, summary,
};

pub(super) const CSS: &str = concat!(
    include_str!("../style/base.css"),
    include_str!("viewer.css")
);
pub(super) const SCRIPT: &str = include_str!("viewer.js");

/// Samples on one page.
pub(super) const PER_PAGE: usize = 50;

/// Characters of one text that a page shows; all of it is a click away, as plain text. A browser makes
/// an element of every invisible character.
const SHOWN: usize = 1 << 20;

const END: &str = "</main></body></html>";

/// A page with its trail of links back.
fn shell(title: &str, trail: &[(String, String)], live: Option<&RunEntry>, main: &str) -> String {
    begin(title, trail, live) + main + END
}

/// The page up to its content.
fn begin(title: &str, trail: &[(String, String)], live: Option<&RunEntry>) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>{} – Mary</title><link rel=\"stylesheet\" href=\"/viewer.css\"><link rel=\"icon\" href=\"data:,\"><script src=\"/viewer.js\" defer></script></head><body",
        html(title)
    );
    if let Some(entry) = live.filter(|e| !e.complete) {
        let _ = write!(
            out,
            " data-live=\"/run/{}/live\" data-samples=\"{}\"",
            encode(&entry.manifest.id),
            entry.samples
        );
    }
    out += "><a class=\"skip\" href=\"#main\">Skip to the content</a><header class=\"bar\"><nav aria-label=\"Where you are\"><ol class=\"trail\"><li><a href=\"/\">Mary</a></li>";
    for (text, link) in trail {
        let _ = write!(
            out,
            "<li><a href=\"{}\">{}</a></li>",
            html(link),
            html(text)
        );
    }
    let _ = write!(
        out,
        "</ol></nav><p id=\"live\" role=\"status\"></p><button type=\"button\" id=\"theme\" aria-pressed=\"false\">Dark</button></header><main id=\"main\" tabindex=\"-1\"><h1>{}</h1>",
        html(title)
    );
    out
}

fn run_link(entry: &RunEntry) -> (String, String) {
    let id = &entry.manifest.id;
    (
        format!("run {}", subject::short(id)),
        format!("/run/{}", encode(id)),
    )
}

/// What went wrong.
pub(super) fn error(message: &str) -> String {
    shell(
        "Not to be shown",
        &[],
        None,
        &format!("<p>{}</p>", html(message)),
    )
}

/// All runs.
pub(super) fn runs(entries: &[RunEntry]) -> String {
    if entries.is_empty() {
        return shell(
            "Runs",
            &[],
            None,
            "<p>There is no run here yet. <code>mary run</code> makes one.</p>",
        );
    }
    let mut out = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table class=\"plain\"><thead><tr><th scope=\"col\">Run</th><th scope=\"col\">Begun</th><th scope=\"col\">Models</th><th scope=\"col\">Tasks</th><th scope=\"col\" class=\"num\">Samples</th><th scope=\"col\">State</th></tr></thead><tbody>",
    );
    for entry in entries {
        let m = &entry.manifest;
        let models: Vec<_> = m
            .models
            .iter()
            .map(|c| html(&c.model.to_string()))
            .collect();
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><a href=\"/run/{}\">{}</a></th><td>{}</td><td>{}</td><td>{}</td><td class=\"num\">{}</td><td>{}</td></tr>",
            encode(&m.id),
            html(&m.id),
            html(&m.created),
            models.join("<br>"),
            m.tasks.len(),
            count(entry.samples),
            if entry.complete {
                "complete"
            } else {
                "<span class=\"badge failed\">going on or stopped</span>"
            }
        );
    }
    out += "</tbody></table></div>";
    shell("Runs", &[], None, &out)
}

/// One run: what it holds, its scores, the way to its samples.
pub(super) fn run(entry: &RunEntry, summary: Option<&RunSummary>, facets: &Facets) -> String {
    let m = &entry.manifest;
    let base = format!("/run/{}/samples", encode(&m.id));
    let mut out = format!(
        "<p class=\"small\">Begun {}, seed {}, Mary {}. <code>{}</code></p><ul class=\"outcomes\"><li><a href=\"{base}\">all samples <span class=\"small\">{}</span></a></li>",
        html(&m.created),
        m.seed,
        html(&m.version),
        html(&m.command.join(" ")),
        count(entry.samples)
    );
    for (class, n) in &facets.outcomes {
        let _ = write!(
            out,
            "<li><a href=\"{base}?outcome={0}\"><span class=\"badge {0}\">{1}</span> <span class=\"small\">{2}</span></a></li>",
            class.name(),
            class.words(),
            count(*n)
        );
    }
    out += "</ul>";
    match summary {
        Some(summary) => out += &scores(summary, &base),
        None => out += &tasks(facets, &base),
    }
    let title = format!("Run {}", m.id);
    shell(&title, &[run_link(entry)], Some(entry), &out)
}

fn scores(run: &RunSummary, base: &str) -> String {
    let mut out = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Scores\"><table class=\"plain\"><caption class=\"sr\">Scores with 95 % intervals</caption><thead><tr><th scope=\"col\">Task</th><th scope=\"col\">Model</th><th scope=\"col\" class=\"num\">Score</th><th scope=\"col\" class=\"num\">95 % interval</th><th scope=\"col\">To chance</th><th scope=\"col\" class=\"num\">Chance</th><th scope=\"col\" class=\"num\">People</th><th scope=\"col\" class=\"num\">n</th><th scope=\"col\">Not counted as wrong</th></tr></thead><tbody>",
    );
    for row in &run.rows {
        let scale = ScoreScale::in_run(run, row);
        let level = |v: Option<f64>| v.map_or("–".into(), |v| scale.value(v));
        let score = row.score.as_ref();
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><a href=\"{base}?task={}&amp;model={}\">{}</a></th><td>{}</td><td class=\"num\"><strong>{}</strong></td><td class=\"num\">{}</td><td>{} {}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>",
            encode(&row.task),
            encode(&row.model),
            html(&row.task),
            html(&row.model),
            score.map_or("–".into(), |s| scale.value(s.value)),
            score.map_or(String::new(), |s| scale.interval(s)),
            VersusChance::of(row).mark(),
            VersusChance::of(row).words(),
            level(row.chance),
            level(row.human),
            count(row.scored),
            html(&summary::remarks(row).join(", "))
        );
    }
    out += "</tbody></table></div>";
    out
}

fn tasks(facets: &Facets, base: &str) -> String {
    let mut out =
        String::from("<p>No summary is there yet; it is written when the run ends.</p><ul>");
    for (task, n) in &facets.tasks {
        let _ = write!(
            out,
            "<li><a href=\"{base}?task={}\">{}</a> <span class=\"small\">{}</span></li>",
            encode(task),
            html(task),
            count(*n)
        );
    }
    out += "</ul>";
    out
}

/// A page of samples with the filters above.
pub(super) fn samples(entry: &RunEntry, asked: &Asked, facets: &Facets, found: &Lines) -> String {
    let id = &entry.manifest.id;
    let mut out = filters(id, asked, facets);
    let pages = found.total.div_ceil(PER_PAGE).max(1);
    let _ = write!(
        out,
        "<p id=\"count\" role=\"status\">{} samples match{}.</p>",
        count(found.total),
        if asked.filter.text.is_some() {
            "; the search looks at items, tags and the beginnings of questions and answers"
        } else {
            ""
        }
    );
    out += "<ol class=\"lines\">";
    let other = asked.filter.flipped.as_ref().map(|(_, b)| b.as_str());
    for line in &found.lines {
        out += &list_line(id, line, other);
    }
    out += "</ol>";
    let link = |page: usize, text: &str, rel: &str| {
        format!(
            "<a rel=\"{rel}\" href=\"{}\">{text}</a>",
            html(&asked.address(id, page))
        )
    };
    out += "<nav class=\"pager\" aria-label=\"Pages\">";
    if asked.page > 0 {
        out += &link(asked.page - 1, "Previous", "prev");
    }
    let _ = write!(
        out,
        "<span>page {} of {}</span>",
        count(asked.page + 1),
        count(pages)
    );
    if asked.page + 1 < pages {
        out += &link(asked.page + 1, "Next", "next");
        out += &link(pages - 1, "Last", "last");
    }
    out += "</nav>";
    let here = (String::from("samples"), asked.address(id, 0));
    shell("Samples", &[run_link(entry), here], Some(entry), &out)
}

fn filters(id: &str, asked: &Asked, facets: &Facets) -> String {
    let f = &asked.filter;
    let mut out = format!(
        "<form class=\"filters\" method=\"get\" action=\"/run/{}/samples\" role=\"search\" aria-label=\"Filter samples\">",
        encode(id)
    );
    out += &select("model", "Model", "all", &facets.models, f.model.as_deref());
    out += &select("task", "Task", "all", &facets.tasks, f.task.as_deref());
    let _ = write!(
        out,
        "<label class=\"wide\">Search <input type=\"search\" name=\"q\" value=\"{}\" placeholder=\"words, an item, a tag\"></label>",
        html(f.text.as_deref().unwrap_or_default())
    );
    out += "<fieldset><legend>Outcome</legend><div class=\"chips\">";
    for (class, n) in &facets.outcomes {
        let _ = write!(
            out,
            "<label><input type=\"checkbox\" name=\"outcome\" value=\"{0}\"{3}><span class=\"badge {0}\">{1}</span> <span class=\"small\">{2}</span></label>",
            class.name(),
            class.words(),
            count(*n),
            if f.outcomes.contains(class) {
                " checked"
            } else {
                ""
            }
        );
    }
    out += "</div></fieldset>";
    if facets.models.len() > 1 {
        let (a, b) = f
            .flipped
            .as_ref()
            .map_or((None, None), |(a, b)| (Some(a.as_str()), Some(b.as_str())));
        out += "<fieldset class=\"flip\"><legend>Flipped between two models</legend>";
        out += &select("a", "one", "–", &facets.models, a);
        out += &select("b", "the other", "–", &facets.models, b);
        out += "</fieldset>";
    }
    if let Some(tag) = &f.tag {
        let _ = write!(
            out,
            "<label><input type=\"checkbox\" name=\"tag\" value=\"{0}\" checked> {0}</label>",
            html(tag)
        );
    }
    out += "<button type=\"submit\">Show</button></form>";
    out
}

fn select(
    name: &str,
    label: &str,
    none: &str,
    options: &[(String, usize)],
    chosen: Option<&str>,
) -> String {
    let mut out =
        format!("<label>{label} <select name=\"{name}\"><option value=\"\">{none}</option>");
    for (value, n) in options {
        let _ = write!(
            out,
            "<option value=\"{0}\"{2}>{0} ({1})</option>",
            html(value),
            count(*n),
            if chosen == Some(value.as_str()) {
                " selected"
            } else {
                ""
            }
        );
    }
    out += "</select></label>";
    out
}

fn list_line(run: &str, line: &SampleRow, other: Option<&str>) -> String {
    let trial = if line.id.trial > 0 {
        format!(", trial {}", line.id.trial + 1)
    } else {
        String::new()
    };
    format!(
        "<li><span class=\"cls\"><span class=\"badge {}\">{}</span></span><a class=\"line\" dir=\"auto\" href=\"{}\">{}</a><span class=\"ans\" dir=\"auto\">{}</span><span class=\"who\">{}, {}, {}{trial}</span></li>",
        line.class.name(),
        line.class.words(),
        html(&sample_address(run, &line.id, other)),
        if line.question.is_empty() {
            html(&line.id.item)
        } else {
            foreign(&line.question)
        },
        foreign(&line.answer),
        foreign(&line.id.model),
        foreign(&line.id.task),
        foreign(&line.id.item),
    )
}

/// One sample, alone or beside another model's.
#[derive(Debug)]
pub(super) struct SamplePage {
    pub entry: RunEntry,
    pub one: Sample,
    /// Another model, with its sample of the same item where it has one.
    pub beside: Option<(String, Option<Sample>)>,
    pub facets: Facets,
}

/// Writes the page of a sample piece by piece: an answer may have many megabytes.
pub(super) fn sample(out: &mut dyn Write, page: &SamplePage) -> fmt::Result {
    let SamplePage {
        entry,
        one,
        beside,
        facets,
    } = page;
    let run = &entry.manifest.id;
    let mut pictures =
        |image: &mary_contract::Image| format!("src=\"{}\"", crate::html::data_url(image));
    let id = &one.id;
    let list = Asked {
        filter: super::Filter {
            task: Some(id.task.clone()),
            model: Some(id.model.clone()),
            ..super::Filter::default()
        },
        page: 0,
    };
    let trail = [run_link(entry), ("samples".into(), list.address(run, 0))];
    out.write_str(&begin(&format!("Item {}", id.item), &trail, None))?;
    let other = beside.as_ref().map(|(m, _)| m.as_str());
    out.write_str(&comparer(run, id, other, facets))?;
    let tags: Vec<_> = one
        .item
        .tags
        .iter()
        .map(|(k, v)| tag_link(run, id, k, v))
        .collect();
    write!(
        out,
        "<p class=\"small\">{} {}</p><div class=\"story{}\"><section aria-labelledby=\"q\"><h2 id=\"q\">Question</h2>",
        html(&id.task),
        tags.join(" "),
        if beside.is_some() { " both" } else { "" },
    )?;
    let whole = plain_address(run, id);
    let story = Story {
        characters: SHOWN,
        tokens: SHOWN,
        whole: Some(&whole),
    };
    sample::question(out, one, story, &mut pictures)?;
    write!(
        out,
        "</section><section aria-labelledby=\"a1\"><h2 id=\"a1\">{}</h2>",
        foreign(&id.model)
    )?;
    sample::answer(out, one, story, &mut pictures)?;
    out.write_str("</section>")?;
    if let Some((model, twin)) = beside {
        write!(
            out,
            "<section aria-labelledby=\"a2\"><h2 id=\"a2\">{}</h2>",
            foreign(model)
        )?;
        match twin {
            Some(twin) => {
                let whole = plain_address(run, &twin.id);
                let story = Story {
                    whole: Some(&whole),
                    ..story
                };
                sample::answer(out, twin, story, &mut pictures)?;
            }
            None => {
                out.write_str("<p class=\"none\">This model has no sample of this item.</p>")?;
            }
        }
        out.write_str("</section>")?;
    }
    out.write_str("</div>")?;
    out.write_str(END)
}

fn tag_link(run: &str, id: &SampleId, name: &str, value: &str) -> String {
    let tag = format!("{name}={value}");
    format!(
        "<a class=\"tag\" href=\"/run/{}/samples?task={}&amp;tag={}\">{}</a>",
        encode(run),
        encode(&id.task),
        encode(&tag),
        foreign(&tag)
    )
}

fn comparer(run: &str, id: &SampleId, other: Option<&str>, facets: &Facets) -> String {
    let others: Vec<(String, usize)> = facets
        .models
        .iter()
        .filter(|(m, _)| *m != id.model)
        .cloned()
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<form class=\"filters\" method=\"get\" action=\"/run/{}/sample\">",
        encode(run)
    );
    for (name, value) in [
        ("model", &id.model),
        ("task", &id.task),
        ("item", &id.item),
        ("trial", &id.trial.to_string()),
    ] {
        let _ = write!(
            out,
            "<input type=\"hidden\" name=\"{name}\" value=\"{}\">",
            html(value)
        );
    }
    out += &select("other", "Beside", "nobody", &others, other);
    out += "<button type=\"submit\">Show</button></form>";
    out
}

//! The report: one HTML file that holds everything and opens offline from disk. A content security policy
//! names the hashes of its two scripts, so that nothing else in the file could ever run, whatever a model wrote.

mod blocks;
mod carried;
mod chapter;
mod first;
mod overview;
mod page;
mod palette;
mod plots;
mod provenance;
mod selection;

use std::io::{self, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mary_contract::{Cell, Exhibits, Figure, Picture, RunSummary, Sample, Table};
use serde_json::{Map, Value, json};

use crate::{
    ScoreScale, escape,
    escape::html,
    headline,
    number::count,
    subject::{self, Subject},
    summary_table, text,
};
pub(crate) use blocks::plain_table;
use blocks::{figure_block, table_block, table_tools};
pub(crate) use carried::data_url;
pub use chapter::{BuiltChapter, Chapter, Contents, build};
use first::First;
pub use page::shared_files;
use palette::Palette;
pub(crate) use selection::lot;
use selection::{Selected, Selection};

/// Figures and tables of a chapter that are open; the rest is folded, or a page of six tasks would be as
/// long as a paper.
const AT_ONCE: usize = 2;

/// More models than these are chosen from behind a fold.
const FEW_MODELS: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOptions {
    /// Heading; by default it names the runs.
    pub title: Option<String>,
    /// Samples carried, at most (about); the rest is counted.
    pub max_samples: usize,
    /// Bytes of sample text and pictures, at most.
    pub max_sample_bytes: usize,
    /// The chapter that stands before the overview, by its id: what the report is about.
    pub lead: Option<String>,
    /// Where [`shared_files`] lie, as the page sees it; a report without it holds everything itself.
    pub shared: Option<&'static str>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            title: None,
            max_samples: 3000,
            max_sample_bytes: 7 << 20,
            lead: None,
            shared: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportStats {
    pub samples_seen: usize,
    pub samples_kept: usize,
    pub bytes: usize,
}

/// `samples` gives every sample with the id of its run; they are read once, and a bounded selection
/// is kept. Errors are those of `out`.
pub fn report(
    runs: &[RunSummary],
    chapters: &[BuiltChapter],
    samples: &mut dyn Iterator<Item = (String, Sample)>,
    options: &ReportOptions,
    out: &mut dyn Write,
) -> io::Result<ReportStats> {
    let subjects = subject::subjects(runs);
    let mut selection = Selection::new(runs, &subjects, options.max_samples);
    for (run, sample) in samples {
        selection.offer(&run, sample);
    }
    let selected = selection.finish();
    let page = Page {
        runs,
        chapters,
        subjects: &subjects,
        palette: Palette::new(
            &subjects,
            chapters.iter().flat_map(|c| &c.contents.exhibits.figures),
        ),
        first: First::choose(runs, &subjects),
    };
    let (samples_json, kept) = carried::carried(&subjects, &selected, options.max_sample_bytes);
    let title = options.title.clone().unwrap_or_else(|| page.title());
    let body = page.body(&title, options.lead.as_deref(), &selected, kept);
    let data = page.data(samples_json);
    let bytes = page::write_page(out, &title, &body, &data, options.shared)?;
    Ok(ReportStats {
        samples_seen: selected.seen,
        samples_kept: kept,
        bytes,
    })
}

struct Page<'a> {
    runs: &'a [RunSummary],
    chapters: &'a [BuiltChapter],
    subjects: &'a [Subject],
    palette: Palette,
    first: First,
}

impl Page<'_> {
    fn title(&self) -> String {
        let families = subject::families(self.runs);
        // What stands behind a colon explains the family; a title only names it.
        let short = |family: &str| {
            let whole = self.family_title(family);
            whole.split(':').next().unwrap_or_default().to_owned()
        };
        let what = match families.as_slice() {
            [one] => match one.1.as_slice() {
                [task] => format!("{}: {}", short(&one.0), subject::task_name(task)),
                _ => short(&one.0),
            },
            [one, other] => format!("{} and {}", short(&one.0), short(&other.0)),
            many => format!(
                "{} tasks of {} families",
                many.iter().map(|f| f.1.len()).sum::<usize>(),
                many.len()
            ),
        };
        match self.subjects {
            [] => what,
            [one] => format!("{what} on {}", one.label),
            [one, other] => format!("{what} on {} and {}", one.label, other.label),
            many => format!(
                "{what} on {}",
                subject::counted_models(many.iter().map(|s| &s.model))
            ),
        }
    }

    fn family_title(&self, family: &str) -> String {
        self.chapters
            .iter()
            .find(|c| c.id == family)
            .map_or_else(|| family.to_owned(), |c| c.title.clone())
    }

    /// Chapters given, and families that have results but none.
    fn sections(&self) -> Vec<(String, String, Option<&Contents>)> {
        let mut out: Vec<_> = self
            .chapters
            .iter()
            .map(|c| (c.id.clone(), c.title.clone(), Some(&c.contents)))
            .collect();
        for (family, _) in subject::families(self.runs) {
            if !out.iter().any(|(id, ..)| *id == family) {
                out.push((family.clone(), family, None));
            }
        }
        out
    }

    fn body(&self, title: &str, lead: Option<&str>, selected: &Selected, kept: usize) -> String {
        let (first, sections): (Vec<_>, Vec<_>) = self
            .sections()
            .into_iter()
            .partition(|(id, ..)| Some(id.as_str()) == lead);
        let mut out = String::from("<a class=\"skip\" href=\"#main\">Skip to the results</a>");
        out += &self.header(title, selected);
        out += "<div class=\"frame\"><nav class=\"contents\" aria-label=\"Contents\"><ol>";
        let listed = |(id, title, contents): &(String, String, Option<&Contents>)| {
            let (id, title) = (html(id), html(title));
            let below = contents.map_or_else(String::new, |c| contents_of(&c.exhibits));
            format!("<li><a href=\"#family-{id}\">{title}</a>{below}</li>")
        };
        out.extend(first.iter().map(listed));
        // Without runs there is nothing to see in the parts that every report has; the script looks for them all the same.
        let bare = self.runs.is_empty();
        let (hide, shown) = if bare {
            ("<div hidden>", "</div>")
        } else {
            ("", "")
        };
        if !bare {
            out += "<li><a href=\"#overview\">Overview</a></li>";
        }
        out.extend(sections.iter().map(listed));
        if !bare {
            out += "<li><a href=\"#samples\">Samples</a></li><li><a href=\"#made\">How this was made</a></li>";
        }
        out += "</ol></nav><main id=\"main\" tabindex=\"-1\">";
        for (id, title, contents) in &first {
            out += &self.chapter(id, title, *contents);
        }
        out += &format!("{hide}{}{shown}", self.overview());
        for (id, title, contents) in &sections {
            out += &self.chapter(id, title, *contents);
        }
        out += &format!(
            "{hide}{}<section id=\"made\" aria-labelledby=\"made-h\"><h2 id=\"made-h\">How this was made</h2>{}</section>{shown}",
            self.browser(selected, kept),
            provenance::section(self.runs)
        );
        out += "</main></div><footer class=\"foot\"><p>Made by Mary. This file holds everything it shows and loads nothing from the network.</p></footer>";
        out
    }

    fn header(&self, title: &str, selected: &Selected) -> String {
        let families = subject::families(self.runs);
        let tasks: usize = families.iter().map(|(_, t)| t.len()).sum();
        let rows = self.runs.iter().flat_map(|r| &r.rows);
        let planned: usize = rows.map(|r| r.samples).sum();
        let lead = match self.runs {
            [] => String::new(),
            _ => format!(
                "<p class=\"lead\">{} on {}, {} samples.</p>",
                subject::counted_models(self.subjects.iter().map(|s| &s.model)),
                mary_platform::counted(tasks, "task"),
                count(planned.max(selected.seen)),
            ),
        };
        let mut out = format!(
            "<header class=\"head\"><p class=\"kicker\">Mary, a laboratory for understanding</p><h1>{}</h1>{lead}\
             <button type=\"button\" id=\"theme\" hidden></button>",
            html(title),
        );
        for text in headline::headline(self.runs, self.subjects) {
            out += &format!("<p class=\"headline\">{}</p>", html(&text));
        }
        for run in self.runs.iter().filter(|r| !r.complete) {
            out += &format!(
                "<p class=\"notice\" role=\"note\">Run <code>{}</code> is not complete; results are partial.</p>",
                html(&run.manifest.id)
            );
        }
        // What is said of twelve checkpoints is said once.
        let mut said: Vec<(&str, Vec<String>)> = Vec::new();
        let labels = mary_contract::model_labels(self.runs.iter().flat_map(|r| &r.manifest.models));
        for card in self.runs.iter().flat_map(|r| &r.manifest.models) {
            for remark in &card.remarks {
                let full = card.model.to_string();
                let name = labels.get(&full).cloned().unwrap_or(full);
                match said.iter_mut().find(|(text, _)| text == remark) {
                    Some((_, models)) if models.contains(&name) => {}
                    Some((_, models)) => models.push(name),
                    None => said.push((remark, vec![name])),
                }
            }
        }
        for (remark, models) in said {
            let who = match models.as_slice() {
                [first, second, third] => format!("{first}, {second} and {third}"),
                [first, second, rest @ ..] if !rest.is_empty() => {
                    format!("{first}, {second} and {} more", rest.len())
                }
                few => few.join(" and "),
            };
            out += &format!(
                "<p class=\"notice\" role=\"note\">{}: {}.</p>",
                html(&who),
                escape::prose(remark.trim_end_matches('.'))
            );
        }
        out += "</header>";
        out
    }

    fn overview(&self) -> String {
        let mut out = String::from(
            "<section id=\"overview\" aria-labelledby=\"overview-h\"><h2 id=\"overview-h\">Overview</h2>",
        );
        for (id, scale) in PROFILES {
            if overview::profile(self.runs, self.subjects, self.first.len(), scale).is_some() {
                out += &self.profile_figure(id, scale);
            }
        }
        let titles = |family: &str| self.family_title(family);
        let tables = self
            .chapters
            .iter()
            .flat_map(|c| &c.contents.exhibits.tables);
        let folded: usize = tables.clone().map(blocks::folded_rows).sum();
        if folded > 0 {
            out += &format!(
                "<p class=\"switch\"><label><input type=\"checkbox\" id=\"show-published\"> Show the {} in the tables</label></p>",
                match folded {
                    1 => "published row".to_owned(),
                    many => format!("{} published rows", count(many)),
                }
            );
        }
        let rest: usize = tables.map(|table| self.first.folded(table).len()).sum();
        if self.first.folds() {
            let all = self.subjects.len();
            out += &format!(
                "<p class=\"switch\"><label><input type=\"checkbox\" id=\"show-rest\"> Show all {all} models in the tables, not only {}</label></p>",
                self.first.words(all)
            );
        } else if rest > 0 {
            out += &format!(
                "<p class=\"switch\"><label><input type=\"checkbox\" id=\"show-rest\"> Show all rows of long tables ({} more)</label></p>",
                count(rest)
            );
        }
        out += "<h3>Scores</h3>";
        out += &overview::table(self.runs, self.subjects, &self.first, &titles);
        out += &table_tools("results");
        out += "</section>";
        out
    }

    fn profile_figure(&self, id: &str, scale: ScoreScale) -> String {
        let title = match scale {
            ScoreScale::Proportion => "Profile of every model",
            ScoreScale::Plain => "Scores on other scales",
        };
        let mut controls = String::new();
        if scale == ScoreScale::Proportion {
            controls += "<div class=\"filters\"><label>Family <select data-family><option value=\"\">all</option>";
            for (family, _) in subject::families(self.runs) {
                controls += &format!("<option value=\"{0}\">{0}</option>", html(&family));
            }
            controls += "</select></label>";
            if self.subjects.len() > 1 {
                let many = self.subjects.len() > FEW_MODELS;
                if many {
                    let drawn = match self.first.folds() {
                        true => format!(", {} of them drawn", self.first.len()),
                        false => String::new(),
                    };
                    controls += &format!(
                        "<details class=\"which\"><summary>Which of the {} models{drawn}</summary>",
                        self.subjects.len()
                    );
                }
                controls += "<fieldset class=\"models\"><legend>Models</legend>";
                for (index, who) in self.subjects.iter().enumerate() {
                    let (label, holds) = (html(&who.label), self.first.holds(index));
                    let checked = if holds { " checked" } else { "" };
                    controls += &format!(
                        "<label><input type=\"checkbox\" data-subject=\"{index}\"{checked}><span class=\"dot\" data-color=\"{index}\" aria-hidden=\"true\"></span>{label}</label>",
                    );
                }
                if self.subjects.len() > 5 {
                    controls += "<span class=\"tools\"><button type=\"button\" data-tick=\"all\">all</button><button type=\"button\" data-tick=\"none\">none</button></span>";
                }
                controls += "</fieldset>";
                controls += if many { "</details>" } else { "" };
            }
            controls += "</div>";
        }
        let mut caption = String::from(
            "Dots are mean scores, whiskers 95 % intervals; the dotted line of a row is chance, the solid one people, where known. A click on a dot leads to its samples.",
        );
        if self.first.folds() {
            let words = self.first.words(self.subjects.len());
            caption += &format!(" Drawn at first: {words}.");
        }
        figure_block(id, title, &caption, &controls)
    }

    fn chapter(&self, id: &str, title: &str, contents: Option<&Contents>) -> String {
        let mut out = format!(
            "<section id=\"family-{0}\" class=\"family\" aria-labelledby=\"family-{0}-h\"><h2 id=\"family-{0}-h\">{1}</h2>",
            html(id),
            html(title)
        );
        let Some(Contents { exhibits, items }) = contents else {
            out += "<p class=\"none\">This family has no tables or figures of its own; its scores are in the overview.</p></section>";
            return out;
        };
        let figure = |f: &Figure| figure_block(&f.id, &f.title, &plots::caption(f), "");
        let table = |t: &Table| table_block(t, &self.first.folded(t));
        // What is said in sentences comes before what is drawn; maps are read in their own size, samples leafed through.
        let (said, tables) = match exhibits.tables.split_first() {
            Some((first, rest)) if first.head.len() == 1 => (Some(first), rest),
            _ => (None, exhibits.tables.as_slice()),
        };
        out.extend(said.map(table));
        let maps = |picture: &Picture| picture.id.contains("-map");
        let few = exhibits.pictures.first().is_some_and(maps);
        if few {
            out += &pictures(&exhibits.pictures, " few");
        }
        // With many models every figure and table is longer: one figure of each chapter is enough at first.
        let at_once = match self.subjects.len() > FEW_MODELS {
            true => 1,
            false => AT_ONCE,
        };
        let (figures, more_figures) = exhibits
            .figures
            .split_at(exhibits.figures.len().min(at_once));
        let (tables, more_tables) = tables.split_at(tables.len().min(AT_ONCE));
        out.extend(figures.iter().map(figure));
        out.extend(tables.iter().map(table));
        let more = [(more_figures.len(), "figure"), (more_tables.len(), "table")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} more {what}{}", if n == 1 { "" } else { "s" }))
            .collect::<Vec<_>>()
            .join(" and ");
        if !more.is_empty() {
            out += &format!("<details class=\"more\"><summary>{more}</summary>");
            out.extend(more_figures.iter().map(figure));
            out.extend(more_tables.iter().map(table));
            out += "</details>";
        }
        if !few {
            out += &pictures(&exhibits.pictures, "");
        }
        out += &items.html();
        if exhibits.figures.is_empty() && exhibits.tables.is_empty() {
            out += "<p class=\"none\">Nothing to show beyond the scores in the overview.</p>";
        }
        out += "</section>";
        out
    }

    fn browser(&self, selected: &Selected, kept: usize) -> String {
        let mut out = format!(
            "<section id=\"samples\" aria-labelledby=\"samples-h\"><h2 id=\"samples-h\" tabindex=\"-1\">Samples</h2><p>{} of {} samples are included here: for every model and task the wrong, unparsed and refused first, sampled at random. <code>mary view</code> shows all of them.</p>",
            count(kept),
            count(selected.seen)
        );
        out += "<form class=\"filters\" id=\"sample-filters\" role=\"search\" aria-label=\"Filter samples\"><label>Model <select id=\"f-model\"><option value=\"\">all</option></select></label>\
                <label>Task <select id=\"f-task\"><option value=\"\">all</option></select></label>\
                <label class=\"wide\">Search <input id=\"f-text\" type=\"search\" placeholder=\"words of the question or the answer\" autocomplete=\"off\"></label>\
                <fieldset><legend>Outcome</legend><div id=\"f-outcome\" class=\"chips\"></div></fieldset><div id=\"f-tag\"></div></form>\
                <p id=\"sample-count\" role=\"status\"></p><div id=\"sample-list\"></div>\
                <nav class=\"pager\" aria-label=\"Pages of samples\"><button type=\"button\" id=\"prev\">Previous</button><span id=\"page\"></span><button type=\"button\" id=\"next\">Next</button></nav></section>";
        out
    }

    fn data(&self, samples: Value) -> Value {
        let mut figures = Map::new();
        let mut tables = Map::new();
        for (id, scale) in PROFILES {
            let shown = self.first.len();
            if let Some(spec) = overview::profile(self.runs, self.subjects, shown, scale) {
                figures.insert(id.into(), with_table(spec, &summary_table(self.runs)));
            }
        }
        tables.insert("results".into(), texts(&summary_table(self.runs)));
        for chapter in self.chapters {
            for figure in &chapter.contents.exhibits.figures {
                figures.insert(figure.id.clone(), self.drawn(figure));
            }
            for table in &chapter.contents.exhibits.tables {
                tables.insert(table.id.clone(), texts(table));
            }
        }
        let ordered = match subject::are_checkpoints(self.subjects) {
            true => self.subjects.len(),
            false => 0,
        };
        json!({"figures": figures, "tables": tables, "samples": samples, "ordered": ordered})
    }

    fn drawn(&self, figure: &Figure) -> Value {
        let mut spec = with_table(
            plots::spec(figure, &self.palette),
            &text::figure_table(figure),
        );
        let addresses: Vec<_> = figure
            .series
            .iter()
            .flat_map(|s| s.points.iter().map(|p| p.samples.clone()))
            .collect();
        if addresses.iter().any(Option::is_some) {
            spec["addresses"] = json!(addresses);
        }
        spec
    }
}

fn contents_of(exhibits: &Exhibits) -> String {
    let figures = exhibits.figures.iter().map(|f| ("fig", &f.id, &f.title));
    let tables = exhibits.tables.iter().map(|t| ("tab", &t.id, &t.title));
    let mut out = String::new();
    for (kind, id, title) in figures.chain(tables) {
        let (id, title) = (html(id), html(title));
        out += &format!("<li><a href=\"#{kind}-{id}\">{title}</a></li>");
    }
    match out.is_empty() {
        true => out,
        false => format!("<ol class=\"sub\">{out}</ol>"),
    }
}

const PROFILES: [(&str, ScoreScale); 2] = [
    ("profile", ScoreScale::Proportion),
    ("profile-plain", ScoreScale::Plain),
];

fn with_table(mut spec: Value, table: &Table) -> Value {
    let texts = |row: &Vec<Cell>| row.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(texts).collect();
    spec["table"] = json!({"head": table.head, "rows": rows, "published": table.published});
    spec["csv"] = json!(text::csv(table));
    spec
}

fn texts(table: &Table) -> Value {
    json!({"latex": text::latex(table), "markdown": text::markdown(table), "csv": text::csv(table)})
}

fn pictures(all: &[Picture], class: &str) -> String {
    let each = all.iter().map(|picture| {
        format!(
            "<figure><img src=\"data:image/svg+xml;base64,{}\" alt=\"{1}\"><figcaption>{1}</figcaption></figure>",
            STANDARD.encode(&picture.svg),
            html(&picture.caption)
        )
    });
    match all {
        [] => String::new(),
        _ => format!(
            "<div class=\"pictures{class}\">{}</div>",
            each.collect::<String>()
        ),
    }
}

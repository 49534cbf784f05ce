//! The pages of the site as HTML. What models and datasets wrote passes through [`escape`], and the policy of
//! every page allows no script.

use std::fmt::Write as _;

use mary_contract::{Metric, Table};
use mary_platform::counted;

use super::{Atlas, ITEMS, Question, Scored};
use crate::escape::{foreign, html, prose};
use crate::html::{BuiltChapter, plain_table};
use crate::number::{ScoreScale, VersusChance, count};
use crate::subject::run_title;
use crate::summary;

const POLICY: &str =
    "default-src 'none'; style-src 'self' file:; base-uri 'none'; form-action 'none'";

/// How tiers are made, as the pages say it.
const TIERS: &str = "Tiers: models are compared on the items that both answered, and every p-value is corrected by Holm \
    over all comparisons of this site. The first tier holds the best model and all that cannot be told apart from it; the \
    best of the others leads the second tier, and so on.";

const MARKS: &str = "Filled marks hold after Holm's correction over all tasks that a model has on this site; open ones go by \
    the 95 % interval of that score alone.";

impl Atlas<'_> {
    /// Every page with its place in the site. `chapters` hold the families' tables, `reports` the places of the
    /// runs' reports.
    pub fn pages(&self, chapters: &[BuiltChapter], reports: &[String]) -> Vec<(String, String)> {
        let published = |c: &&BuiltChapter| !published_tables(c).is_empty();
        let papers: Vec<&BuiltChapter> = chapters.iter().filter(published).collect();
        let mut all = vec![("index.html".to_owned(), self.index(&papers, reports))];
        for chapter in papers {
            all.push((paper_place(&chapter.id), paper_page(chapter)));
        }
        for question in &self.questions {
            all.push((self.place(question), self.task_page(question, reports)));
        }
        all
    }

    fn place(&self, question: &Question) -> String {
        let n = self
            .questions
            .iter()
            .position(|q| std::ptr::eq(q, question));
        format!(
            "tasks/{:03}-{}.html",
            n.unwrap_or_default() + 1,
            slug(&question.asked.id)
        )
    }

    pub(super) fn link(&self, question: &Question) -> String {
        format!(
            "<a href=\"{}\">{}</a>{}",
            self.place(question),
            html(&question.words.title),
            manner(question)
        )
    }

    pub(super) fn family_title(&self, family: &str) -> String {
        let known = self.families.iter().find(|(id, _)| id == family);
        known.map_or_else(|| family.to_owned(), |(_, title)| title.clone())
    }

    fn index(&self, papers: &[&BuiltChapter], reports: &[String]) -> String {
        let title = format!(
            "{} on {}",
            counted(self.models.len(), "model"),
            counted(self.questions.len(), "task")
        );
        let mut body = format!(
            "<section id=\"found\"><h2>What was found</h2>{}</section>\
             <section id=\"not-found\"><h2>What was not found</h2>{}</section>\
             <section id=\"meaning\"><h2>What the numbers cannot mean</h2>{}</section>",
            self.found(),
            self.not_found(),
            self.cannot_mean()
        );
        body += &format!(
            "<section id=\"scores\"><h2>All scores</h2>{}",
            self.table(papers)
        );
        body += &format!(
            "<p class=\"key\">{}</p><p class=\"caption\">{MARKS}</p><p class=\"caption\">{TIERS} Here these are {} \
             comparisons. Of two runs that asked a model the same, the one with more samples counts.</p></section>",
            VersusChance::MARKED
                .map(|v| format!("<span>{} {}</span>", v.mark(), v.words()))
                .join(" "),
            count(self.comparisons)
        );
        body += "<section id=\"runs\"><h2>Runs and data</h2><ul>";
        for (run, report) in self.runs.iter().zip(reports) {
            let _ = write!(
                body,
                "<li><a href=\"{}\">{}</a>, Mary {}, {}</li>",
                html(report),
                html(&run_title(&run.manifest)),
                html(&run.manifest.version),
                html(run.manifest.created.get(..10).unwrap_or_default())
            );
        }
        body += "</ul><p><a href=\"data.json\">data.json</a> holds all scores in the schema of \
             <a href=\"https://github.com/evaleval/every_eval_ever\">Every Eval Ever</a>.</p></section>";
        let lead = format!(
            "{}, {} samples.",
            counted(self.runs.len(), "run"),
            count(self.samples)
        );
        page("", &format!("Atlas: {title}"), &lead, &body)
    }

    /// Models by tasks, with intervals, marks and tiers.
    fn table(&self, papers: &[&BuiltChapter]) -> String {
        let mut out = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Scores of all models on all tasks\"><table class=\"scores{}\">\
             <caption class=\"sr\">Scores with 95 % intervals and tiers</caption><thead><tr><th scope=\"col\">Task</th>",
            if self.models.len() > 5 { " many" } else { "" }
        );
        for model in &self.models {
            out += &format!(
                "<th scope=\"col\" class=\"num\">{}</th>",
                html(model).replace('/', "/<wbr>")
            );
        }
        out += "<th scope=\"col\" class=\"num\">Chance</th><th scope=\"col\" class=\"num\">People</th></tr></thead>";
        for own in self.questions.chunk_by(|a, b| a.family() == b.family()) {
            let family = own.first().map_or("", Question::family);
            let paper = match papers.iter().any(|c| c.id == family) {
                true => format!(
                    " · <a href=\"{}\">beside the paper</a>",
                    html(&paper_place(family))
                ),
                false => String::new(),
            };
            out += &format!(
                "<tbody><tr class=\"family\"><th scope=\"rowgroup\" colspan=\"{}\">{}{paper}</th></tr>",
                self.models.len() + 3,
                html(&self.family_title(family))
            );
            for question in own {
                out += &format!("<tr><th scope=\"row\">{}</th>", self.link(question));
                for model in &self.models {
                    out += &match question.scores.get(model) {
                        Some(scored) => cell(question, model, scored),
                        None => "<td class=\"num none\">–</td>".to_owned(),
                    };
                }
                out += &levels(question);
                out += "</tr>";
            }
            out += "</tbody>";
        }
        out + "</table></div>"
    }

    fn task_page(&self, question: &Question, reports: &[String]) -> String {
        let words = &question.words;
        let mut body = format!(
            "<section><p>{}</p><p>{}</p>",
            prose(&words.about),
            cannot_mean(question)
        );
        body += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Scores\"><table class=\"plain\"><thead><tr><th scope=\"col\">Model</th>\
             <th scope=\"col\" class=\"num\">Score</th><th scope=\"col\">95 % interval</th><th scope=\"col\">Beside chance</th><th scope=\"col\" class=\"num\">Tier</th>\
             <th scope=\"col\">Best minus this</th><th scope=\"col\" class=\"num\">n</th><th scope=\"col\">Remarks</th></tr></thead><tbody>";
        let mut ranked: Vec<(&String, &Scored)> = question.scores.iter().collect();
        let value = |s: &Scored| s.row.score.as_ref().map_or(f64::NEG_INFINITY, |e| e.value);
        ranked.sort_by(|a, b| value(b.1).total_cmp(&value(a.1)));
        for (model, scored) in &ranked {
            body += &self.task_row(question, model, scored, reports);
        }
        body += "</tbody></table></div>";
        body += &intervals(&ranked);
        body += &format!("<p class=\"caption\">{MARKS} {TIERS}</p>");
        let stated: Vec<String> = question
            .asked
            .conventions
            .iter()
            .map(|(name, said)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>", html(name), prose(said))
            })
            .collect();
        body += &format!(
            "<details><summary>How it was asked and scored</summary><dl class=\"facts\">{}</dl></details></section>",
            stated.concat()
        );
        body += &self.items(question);
        let id = format!(
            "{}{}. {}",
            question.asked.id,
            match question.source() {
                "" => String::new(),
                source => format!(", {source} items"),
            },
            words.paper
        );
        page("../", &words.title, &id, &body)
    }

    fn task_row(
        &self,
        question: &Question,
        model: &str,
        scored: &Scored,
        reports: &[String],
    ) -> String {
        let (row, scale) = (&scored.row, scored.scale);
        let estimate = row.score.as_ref();
        let behind = question.behind.get(model);
        let signed = |v: f64| scale.bare(v);
        let difference = behind.map_or_else(String::new, |c| {
            let interval = c.low.zip(c.high);
            let interval =
                interval.map(|(low, high)| format!(" [{}, {}]", signed(low), signed(high)));
            format!("{}{}", signed(c.difference), interval.unwrap_or_default())
        });
        let report = reports.get(scored.run).map_or_else(
            || html(model),
            |place| format!("<a href=\"../{}\">{}</a>", html(place), html(model)),
        );
        let mut remarks: Vec<String> = Vec::new();
        if let Some(run) = self.runs.get(scored.run) {
            remarks = summary::remarks(run, row);
        }
        format!(
            "<tr><th scope=\"row\">{report}</th><td class=\"num\">{}</td><td>{}</td><td>{} {}</td><td class=\"num\">{}</td><td>{difference}</td>\
             <td class=\"num\">{}</td><td>{}</td></tr>",
            estimate.map_or("–".into(), |e| scale.value(e.value)),
            estimate.map_or_else(String::new, |e| scale.interval(e)),
            VersusChance::judge(row).mark(),
            html(&VersusChance::said(row)),
            question
                .tiers
                .get(model)
                .map_or("–".into(), ToString::to_string),
            count(row.scored),
            prose(&remarks.join("; "))
        )
    }

    /// Items with who got them right, those that fewest models solve first.
    fn items(&self, question: &Question) -> String {
        let models: Vec<&String> = self
            .models
            .iter()
            .filter(|m| question.scores.contains_key(*m))
            .collect();
        let mut lines: Vec<_> = question.items.values().collect();
        let right = |line: &super::ItemLine| {
            let all = line.outcomes.values();
            all.filter(|o| **o == crate::OutcomeClass::Right).count()
        };
        lines.sort_by_key(|line| (right(line), line.item.clone()));
        let most = question
            .scores
            .values()
            .map(|s| s.row.samples)
            .max()
            .unwrap_or_default();
        let mut out = format!(
            "<section id=\"items\"><h2>Items</h2><p class=\"caption\">{} of {}, the same for every model{}; those that \
             fewest models solve come first.</p>\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Items\"><table class=\"plain items\"><thead><tr><th scope=\"col\">Item</th>",
            lines.len(),
            counted(most, "sample"),
            if lines.len() >= ITEMS {
                ", chosen by a hash of their names"
            } else {
                ""
            }
        );
        for model in &models {
            out += &format!("<th scope=\"col\">{}</th>", html(model));
        }
        out += "</tr></thead><tbody>";
        for line in lines {
            out += &format!(
                "<tr><th scope=\"row\"><span class=\"text\">{}</span><span class=\"ci\">{}</span></th>",
                foreign(&line.text),
                foreign(&line.item)
            );
            for model in &models {
                let badge = line.outcomes.get(*model).map(|o| o.badge());
                out += &format!("<td>{}</td>", badge.unwrap_or_default());
            }
            out += "</tr>";
        }
        out + "</tbody></table></div></section>"
    }
}

/// What this task's number is, and what it is not.
fn cannot_mean(question: &Question) -> String {
    let what = match question.asked.metric() {
        Some(Metric::Share) | None => {
            "The score is a share of right answers. Above chance means that they are not guesses; it does not mean that the \
             model follows the rule a person would."
        }
        Some(Metric::RankCorrelation) => {
            "The score is a rank correlation: how far two orders agree. It says nothing about how often an answer is right, \
             and a third cause (word frequency, say) may make both orders."
        }
        Some(Metric::RSquared) => {
            "The score is explained variance. A good fit does not show that the model computes what the curve describes."
        }
        Some(Metric::Number) => {
            "The score is a number on its own scale; it is no percentage and has no chance level of 50 %."
        }
    };
    let source = match question.source() {
        "published" => {
            " The items are published: a model may have seen them, with their answers, in training."
        }
        "fresh" => " The items were made here from a seed, so that no model has seen them.",
        _ => "",
    };
    let people = match question.words.people.as_str() {
        "" => String::new(),
        people => format!(" People: {}.", html(people.trim_end_matches('.'))),
    };
    format!("{what}{source}{people}")
}

/// Scores with their intervals on a line, chance and people as strokes.
fn intervals(ranked: &[(&String, &Scored)]) -> String {
    let Some((_, first)) = ranked.first() else {
        return String::new();
    };
    let estimates = || {
        ranked
            .iter()
            .filter_map(|(m, s)| Some((m, s, s.row.score.as_ref()?)))
    };
    let levels = [("chance", first.row.chance), ("people", first.row.human)];
    let mut ends: Vec<f64> = estimates().flat_map(|(_, _, e)| [e.low, e.high]).collect();
    ends.extend(levels.iter().filter_map(|(_, level)| *level));
    ends.retain(|v| v.is_finite());
    let (low, high) = match first.scale {
        ScoreScale::Proportion => (0.0, 1.0),
        ScoreScale::Plain => ends.iter().fold((0.0, 0.0), |(low, high): (f64, f64), v| {
            (low.min(*v), high.max(*v))
        }),
    };
    if ends.is_empty() || high <= low {
        return String::new();
    }
    let x = |v: f64| 200.0 + 480.0 * ((v - low) / (high - low)).clamp(0.0, 1.0);
    let height = 22 * ranked.len() + 30;
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figure\"><svg class=\"line\" role=\"img\" aria-label=\"Scores with 95 % intervals; the numbers stand in the table above\" \
         width=\"700\" height=\"{height}\" viewBox=\"0 0 700 {height}\">"
    );
    for (name, level) in levels {
        if let Some(level) = level {
            let _ = write!(
                out,
                "<line class=\"{name}\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"4\" y2=\"{1}\"/><text x=\"{0:.1}\" y=\"{2}\" text-anchor=\"middle\">{name} {3}</text>",
                x(level),
                height - 22,
                height - 6,
                first.scale.value(level)
            );
        }
    }
    for (n, (model, scored)) in ranked.iter().enumerate() {
        let y = 22 * n + 16;
        let short: String = model.chars().take(26).collect();
        let _ = write!(
            out,
            "<text x=\"190\" y=\"{}\" text-anchor=\"end\">{}</text>",
            y + 4,
            html(&short)
        );
        if let Some(e) = scored.row.score.as_ref().filter(|e| e.value.is_finite()) {
            let class = match VersusChance::judge(&scored.row) {
                VersusChance::Above => "above",
                VersusChance::Below => "below",
                _ => "same",
            };
            let _ = write!(
                out,
                "<g class=\"{class}\"><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/><circle cx=\"{:.1}\" cy=\"{y}\" r=\"4\"/></g>",
                x(e.low),
                x(e.high),
                x(e.value)
            );
        }
    }
    out + "</svg></div>"
}

fn cell(question: &Question, model: &str, scored: &Scored) -> String {
    let (row, scale) = (&scored.row, scored.scale);
    let Some(score) = &row.score else {
        return "<td class=\"num none\">nothing scored</td>".to_owned();
    };
    let verdict = VersusChance::judge(row);
    let class = match verdict {
        VersusChance::Above => "above",
        VersusChance::Below => "below",
        _ => "same",
    };
    let said = html(&VersusChance::said(row));
    let mark = match verdict {
        VersusChance::Unknown => String::new(),
        _ => format!(
            " <span class=\"mark {class}\" role=\"img\" aria-label=\"{said}\" title=\"{said}\">{}</span>",
            verdict.mark()
        ),
    };
    let tier = question
        .tiers
        .get(model)
        .map(|tier| format!(", tier {tier}"));
    let constant = match row.constant_answer {
        Some(_) => "<span class=\"remark\">one answer always</span>",
        None => "",
    };
    format!(
        "<td class=\"num {class}\"><b>{}</b>{mark}<span class=\"ci\">{}{}</span>{constant}</td>",
        scale.value(score.value),
        scale.interval(score),
        tier.unwrap_or_default()
    )
}

fn levels(question: &Question) -> String {
    let scored = || question.scores.values();
    let scale = scored().next().map_or(ScoreScale::Proportion, |s| s.scale);
    let chance = scored().find_map(|s| s.row.chance);
    let human = scored().find_map(|s| s.row.human);
    [chance, human]
        .map(|level| {
            let level = level.map_or("–".into(), |v| scale.value(v));
            format!("<td class=\"num level\">{level}</td>")
        })
        .concat()
}

/// Where items come from and what was chosen, behind a title.
fn manner(question: &Question) -> String {
    let parts = [question.source().to_owned(), question.settings()];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            " <span class=\"manner\">({})</span>",
            html(&parts.join(", "))
        ),
    }
}

fn published_tables(chapter: &BuiltChapter) -> Vec<&Table> {
    let tables = chapter.contents.exhibits.tables.iter();
    tables.filter(|table| !table.published.is_empty()).collect()
}

fn paper_place(family: &str) -> String {
    format!("paper-{}.html", slug(family))
}

/// The tables of a family that hold numbers of its papers, with ours in the same table.
fn paper_page(chapter: &BuiltChapter) -> String {
    let mut body = String::from("<section>");
    for table in published_tables(chapter) {
        body += &plain_table(table);
    }
    body += "</section>";
    let lead = "Numbers that the papers print, hatched, beside those measured here. Settings and items may differ: each \
        caption says how.";
    page("", &chapter.title, lead, &body)
}

/// A name that fits files and addresses.
pub fn slug(name: &str) -> String {
    let safe = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    let text: String = name.chars().map(safe).take(80).collect();
    text.trim_matches('-').to_owned()
}

fn page(up: &str, title: &str, lead: &str, body: &str) -> String {
    let home = match up {
        "" => String::new(),
        _ => format!("<p class=\"kicker\"><a href=\"{up}index.html\">All models and tasks</a></p>"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n\
         <link rel=\"stylesheet\" href=\"{up}style.css\"></head>\n<body class=\"atlas\"><a class=\"skip\" href=\"#main\">Skip to the results</a>\
         <header class=\"head\">{home}<h1>{0}</h1><p class=\"lead\">{1}</p></header><div class=\"frame\"><main id=\"main\" tabindex=\"-1\">{body}</main></div>\
         <footer class=\"foot\"><p>Made by Mary from stored runs. The site asks nothing of the network.</p></footer></body></html>\n",
        html(title),
        html(lead)
    )
}

//! The pages of the site as HTML. What models and datasets wrote is escaped, and no page allows a script.

use mary_contract::{Cell, Metric, NumberColumns, Table};
use mary_platform::counted;

use super::{Atlas, Question, Scored, family};
use crate::escape::{html, prose};
use crate::html::{BuiltChapter, plain_table};
use crate::number::{VersusChance, count};
use crate::{OutcomeClass, subject, summary};

/// What marks and tiers mean, as the pages say it.
const RULES: &str = include_str!("rules.txt");

fn table(title: &str, caption: &str, head: Vec<String>, rows: Vec<Vec<Cell>>) -> Table {
    Table {
        id: slug(title),
        title: title.to_owned(),
        caption: caption.to_owned(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::At(vec![]),
    }
}

fn heads(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Atlas<'_> {
    /// Every page with its place in the site; `reports` are the places of the runs' reports.
    pub fn pages(&self, reports: &[String]) -> Vec<(String, String)> {
        let mut all = vec![("index.html".to_owned(), self.index(reports))];
        let papers = self.chapters.iter().filter(|c| !published(c).is_empty());
        all.extend(papers.map(|c| (paper_place(&c.id), paper_page(c))));
        let tasks = self.questions.iter();
        all.extend(tasks.map(|q| (self.place(q), self.task_page(q, reports))));
        all
    }

    fn place(&self, question: &Question) -> String {
        let same = |q: &Question| std::ptr::eq(q, question);
        let n = self.questions.iter().position(same).unwrap_or_default() + 1;
        format!("tasks/{n:03}-{}.html", slug(&question.asked.id))
    }

    pub(super) fn link(&self, question: &Question) -> String {
        let (place, title) = (self.place(question), html(&question.card.title));
        let manner = html(&question.manner());
        format!("<a href=\"{place}\">{title}</a> <span class=\"manner\">{manner}</span>")
    }

    pub(super) fn family_title(&self, family: &str) -> String {
        let chapter = self.chapters.iter().find(|c| c.id == family);
        chapter.map_or_else(|| family.to_owned(), |c| c.title.clone())
    }

    fn index(&self, reports: &[String]) -> String {
        let mut body = String::new();
        for (title, words) in [
            ("What was found", self.found()),
            ("What was not found", self.not_found()),
            ("What the numbers cannot mean", self.cannot_mean()),
            ("All scores", self.scores()),
            ("Runs and data", self.runs_and_data(reports)),
        ] {
            let id = slug(title);
            body += &format!("<section id=\"{id}\"><h2>{title}</h2>{words}</section>");
        }
        let title = format!(
            "Atlas: {} on {}",
            subject::counted_models(self.models.iter()),
            counted(self.questions.len(), "task")
        );
        let (runs, samples) = (counted(self.runs.len(), "run"), count(self.samples));
        page("", &title, &format!("{runs}, {samples} samples."), &body)
    }

    /// Models by tasks, a table for each family, with intervals, marks and tiers.
    fn scores(&self) -> String {
        let mut out = format!(
            "<p class=\"caption\">{RULES} Here these are {} comparisons. Of two runs that asked a model the same, the one with more samples counts.</p>",
            count(self.comparisons)
        );
        for own in self.questions.chunk_by(|a, b| family(a) == family(b)) {
            let id = own.first().map_or("", family);
            let row = |question: &Question| {
                let mut row = vec![Cell::figure(String::new())];
                row.extend(
                    self.models
                        .iter()
                        .map(|model| match question.scores.get(model) {
                            Some(scored) => cell(question, model, scored),
                            None => Cell::figure("–"),
                        }),
                );
                let levels = |level: fn(&Scored) -> Option<f64>| {
                    let found = question
                        .scores
                        .values()
                        .find_map(|s| Some(s.scale.value(level(s)?)));
                    Cell::figure(found.unwrap_or_else(|| "–".into()))
                };
                row.extend([levels(|s| s.row.chance), levels(|s| s.row.human)]);
                row
            };
            let mut head = vec!["Task".to_owned()];
            head.extend(
                self.models
                    .iter()
                    .cloned()
                    .chain(heads(&["Chance", "People"])),
            );
            let table = table(
                &self.family_title(id),
                "",
                head,
                own.iter().map(row).collect(),
            );
            let links: Vec<String> = own.iter().map(|q| self.link(q)).collect();
            out += &plain_table(&table, &links);
            if self
                .chapters
                .iter()
                .any(|c| c.id == id && !published(c).is_empty())
            {
                let place = html(&paper_place(id));
                out += &format!("<p><a href=\"{place}\">Beside the numbers of the papers</a></p>");
            }
        }
        out
    }

    fn runs_and_data(&self, reports: &[String]) -> String {
        let mut out = String::from("<ul>");
        for (n, run) in self.runs.iter().enumerate() {
            let title = html(&subject::run_title(&run.manifest));
            let title = match reports.get(n) {
                Some(place) => format!("<a href=\"{}\">{title}</a>", html(place)),
                None => title,
            };
            let (version, day) = (&run.manifest.version, run.manifest.created.get(..10));
            let day = html(day.unwrap_or_default());
            out += &format!("<li>{title}, Mary {}, {day}</li>", html(version));
        }
        out + "</ul><p><a href=\"data.json\">data.json</a> holds all scores as records of Every Eval Ever \
            (<code>mary export --to every-eval-ever</code>).</p>"
    }

    fn task_page(&self, question: &Question, reports: &[String]) -> String {
        let card = &question.card;
        let mut links = Vec::new();
        let mut rows = Vec::new();
        for (model, scored) in question.ranked() {
            links.push(match reports.get(scored.run) {
                Some(place) => format!("<a href=\"../{}\">{}</a>", html(place), html(model)),
                None => html(model),
            });
            // Without a chance level nobody says which way is better.
            let known = scored.row.chance.and(question.behind.get(model));
            let behind = known.map(|c| {
                let [difference, low, high] = [Some(c.difference), c.low, c.high]
                    .map(|v| v.map_or_else(|| "–".into(), |v| scored.scale.bare(v)));
                format!("{difference} [{low}, {high}]")
            });
            let run = self.runs.get(scored.run);
            let remarks = run.map(|run| summary::remarks(run, &scored.row).join("; "));
            let mut row = vec![Cell::figure(String::new()), cell(question, model, scored)];
            row.extend([
                Cell::figure(VersusChance::said(&scored.row)),
                Cell::figure(behind.unwrap_or_default()),
                Cell::figure(remarks.unwrap_or_default()),
            ]);
            rows.push(row);
        }
        let head = heads(&[
            "Model",
            "Score",
            "Beside chance",
            "Best minus this",
            "Remarks",
        ]);
        let scores = plain_table(&table("Scores", RULES, head, rows), &links);
        let stated = question.asked.conventions.iter();
        let stated = stated.map(|(name, said)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>", html(name), prose(said))
        });
        let body = format!(
            "<section><p>{}</p><p>{}</p>{scores}<details><summary>How it was asked and scored</summary><dl class=\"facts\">{}</dl></details></section><section>{}</section>",
            prose(&card.about),
            cannot_mean(question),
            stated.collect::<String>(),
            self.items(question)
        );
        let lead = format!(
            "{}, {}. {}",
            question.asked.id,
            question.manner(),
            card.citation.text
        );
        page("../", &card.title, &lead, &body)
    }

    /// Items with who got them right, those that fewest models solve first.
    fn items(&self, question: &Question) -> String {
        let asked = |model: &&String| question.scores.contains_key(*model);
        let models: Vec<&String> = self.models.iter().filter(asked).collect();
        let right = |of: &super::ItemLine| {
            of.1.values()
                .filter(|class| **class == OutcomeClass::Right)
                .count()
        };
        let mut lines: Vec<_> = question.items.iter().collect();
        lines.sort_by_key(|((_, item), line)| (right(line), item.clone()));
        let rows = lines.into_iter().map(|((_, item), line)| {
            let class = |model: &&String| match line.1.get(*model) {
                Some(OutcomeClass::Right) => "✓",
                Some(OutcomeClass::Wrong) => "✗",
                Some(OutcomeClass::Tie) => "½",
                Some(other) => other.words(),
                None => "–",
            };
            let texts = [line.0.clone(), item.clone()].into_iter();
            let classes = models.iter().map(|model| class(model).to_owned());
            texts.chain(classes).map(Cell::figure).collect()
        });
        let head = heads(&["Text", "Item"])
            .into_iter()
            .chain(models.iter().map(|m| (*m).clone()));
        let most = question.scores.values().map(|s| s.row.samples).max();
        let caption = format!(
            "{} of {}, the same for every model; those that fewest models solve come first. ✓ right, ✗ wrong, ½ tied.",
            question.items.len(),
            counted(most.unwrap_or_default(), "sample")
        );
        plain_table(
            &table("Items", &caption, head.collect(), rows.collect()),
            &[],
        )
    }
}

/// A score with its mark and tier; the interval stands below it.
fn cell(question: &Question, model: &str, scored: &Scored) -> Cell {
    let Some(score) = &scored.row.score else {
        return Cell::figure("nothing scored");
    };
    let mut words = format!(
        "{} {}",
        scored.scale.value(score.value),
        scored.verdict().mark()
    );
    // A tier beside a score that may be luck would look like an ability.
    let able = scored.verdict() == VersusChance::Above;
    if let Some(tier) = question.tiers.get(model).filter(|_| able) {
        words += &format!(" tier {tier}");
    }
    if scored.row.constant_answer.is_some() {
        words += " (one answer always)";
    }
    scored.scale.cell(score).worded(words)
}

/// What this task's number is, and what it is not: by its scale, and by where the items come from.
fn cannot_mean(question: &Question) -> String {
    let scale = match question.asked.metric() {
        Some(Metric::Share) | None => 0,
        Some(Metric::RankCorrelation) => 1,
        Some(Metric::RSquared) => 2,
        Some(Metric::Number) => 3,
    };
    let source = ["published", "fresh"]
        .iter()
        .position(|s| *s == question.source());
    let lines = [Some(scale), source.map(|n| n + 4)].into_iter().flatten();
    let said = lines.filter_map(|n| include_str!("numbers.txt").lines().nth(n));
    let mut said: Vec<String> = said.map(html).collect();
    let people = question
        .card
        .human
        .as_ref()
        .map(|human| html(&human.source));
    said.extend(people.map(|people| format!("People: {}.", people.trim_end_matches('.'))));
    said.join(" ")
}

fn published(chapter: &BuiltChapter) -> Vec<&Table> {
    let tables = chapter.contents.exhibits.tables.iter();
    tables.filter(|table| !table.published.is_empty()).collect()
}

fn paper_place(family: &str) -> String {
    format!("paper-{}.html", slug(family))
}

/// The tables of a family that hold numbers of its papers, with ours in the same table.
fn paper_page(chapter: &BuiltChapter) -> String {
    let tables = published(chapter)
        .into_iter()
        .map(|table| plain_table(table, &[]));
    let body = format!("<section>{}</section>", tables.collect::<String>());
    let lead = "Numbers that the papers print, hatched, beside those measured here. Settings and items may differ.";
    page("./", &chapter.title, lead, &body)
}

/// A name that fits files and addresses.
pub fn slug(name: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let text: String = name.chars().map(safe).take(80).collect();
    text.trim_matches('-').to_owned()
}

fn page(up: &str, title: &str, lead: &str, body: &str) -> String {
    let home = match up {
        "" => "Mary, a laboratory for understanding".to_owned(),
        _ => format!("<a href=\"{up}index.html\">All models and tasks</a>"),
    };
    include_str!("page.html")
        .replace("{up}", up)
        .replace("{home}", &home)
        .replace("{title}", &html(title).replace('{', "&#123;"))
        .replace("{lead}", &html(lead).replace('{', "&#123;"))
        .replace("{body}", body)
}

//! The paper's tables: 4, 5, 8, 11, 12 and 14.

use mary_contract::{Cell, Estimate, RunSummary, Table};
use mary_stats::{LEVEL, intervals};

use super::DECLARED;
use super::results::{Answers, Places, answers, cell, other_senses, share};
use crate::published::{PublishedRow, published};
use crate::sensoryvec::attributes::{ATTRIBUTES, LABELLED};
use crate::{Language, MaterialSource};

fn published_cells(row: &PublishedRow, table: u32, gaps: usize) -> Vec<Cell> {
    let source = format!("published, Table {table}");
    let mut cells: Vec<Cell> = vec![row.model.clone().into(), source.into()];
    let printed = row.accuracy.iter().map(|a| format!("{a:.2}"));
    cells.extend(printed.map(Cell::printed));
    cells.extend(vec![Cell::none(); gaps]);
    cells
}

fn unread_cell((unread, all): (usize, usize)) -> Cell {
    let found = intervals::wilson(unread as u64, all as u64, LEVEL).ok();
    let estimate = found.map(|i| Estimate::new(i.value, (i.low, i.high), i.n, i.method));
    share(estimate.as_ref())
}

/// Rows that the paper prints of the released questions; none where these were not asked.
fn beside<T>(
    sources: impl IntoIterator<Item = MaterialSource>,
    rows: &[T],
) -> impl Iterator<Item = &T> {
    let mut sources = sources.into_iter();
    let released = sources.any(|source| source == MaterialSource::Published);
    rows.iter().filter(move |_| released)
}

fn sources(answers: &[Answers]) -> impl Iterator<Item = MaterialSource> {
    answers.iter().map(|a| a.setup.source)
}

/// Table 4, with the senses one by one.
pub(super) fn table_4(places: &[Places]) -> Option<Table> {
    let rows = places.iter().map(|p| {
        let mut row = vec![p.model.clone().into(), p.how().into()];
        row.extend(["all", "visual", "non-visual"].map(|c| cell(&p.columns, c)));
        row.extend(other_senses().map(|s| cell(&p.columns, s.name())));
        row.push(Cell::count(p.left_out));
        row
    });
    let printed = beside(places.iter().map(|p| p.setup.source), &published().table_4);
    DECLARED
        .table("embodied-table-4")
        .with_heads("senses", other_senses().map(|s| s.name()))
        .with_rows(rows)
        .with_published(printed.map(|row| published_cells(row, 4, 6)))
        .if_measured()
}

/// Table 5: all, visual, non-visual, with what the reading of answers did.
pub(super) fn table_5(answers: &[Answers]) -> Option<Table> {
    let rows = answers.iter().map(|a| {
        let mut row = vec![a.model.clone().into(), a.how().into()];
        row.extend(["all", "visual", "non-visual"].map(|c| cell(&a.columns, c)));
        row.push(share(a.robust.as_ref()));
        row.push(unread_cell(a.unread));
        let measure = |name: &str| {
            let found = a.measures.get(name);
            found.map(|e| Cell::number(e, 3)).into()
        };
        let of = if a.is_people() { "answers" } else { "orders" };
        row.extend([measure("position_bias"), measure(&format!("{of}_kappa"))]);
        row
    });
    let printed = beside(sources(answers), &published().table_14).map(|row| {
        let three = [0, 1, 7].iter().filter_map(|i| row.accuracy.get(*i));
        let row = PublishedRow {
            accuracy: three.copied().collect(),
            ..row.clone()
        };
        let mut cells = published_cells(&row, 5, 4);
        if row.released == "people"
            && let Some(kappa) = cells.last_mut()
        {
            *kappa = Cell::printed(format!("{:.2}", published().human_kappa));
        }
        cells
    });
    let table = DECLARED.table("embodied-table-5");
    table.with_rows(rows).with_published(printed).if_measured()
}

fn by_column(a: &Answers) -> Vec<Cell> {
    let columns = published().columns.iter().map(|c| cell(&a.columns, c));
    let first = [a.model.clone(), a.how()].map(Cell::from);
    first.into_iter().chain(columns).collect()
}

pub(super) fn table_14(answers: &[Answers]) -> Option<Table> {
    let printed = beside(sources(answers), &published().table_14);
    DECLARED
        .table("embodied-table-14")
        .with_heads("columns", &published().columns)
        .with_rows(answers.iter().map(by_column))
        .with_published(printed.map(|row| published_cells(row, 14, 0)))
        .if_measured()
}

/// Table 12: models that were asked in Chinese, beside themselves in English.
pub(super) fn table_12(answers: &[Answers]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for zh in answers.iter().filter(|a| a.setup.language == Language::Zh) {
        let twin = answers.iter().filter(|en| {
            en.setup.language == Language::En
                && en.model == zh.model
                && en.conditions.agrees_but_for(&zh.conditions, &["language"])
        });
        for a in twin.chain([zh]) {
            let mut row = by_column(a);
            if let Some(how) = row.get_mut(1) {
                *how = a.setup.language.code().into();
            }
            rows.push(row);
        }
    }
    let printed = beside(sources(answers), &published().table_12_chinese).flat_map(|zh| {
        let mut table_14 = published().table_14.iter();
        let en = table_14.find(|row| row.model == zh.model);
        let both = en.map(|en| (en, "en")).into_iter().chain([(zh, "zh")]);
        both.map(|(row, language)| {
            let mut cells = published_cells(row, 12, 0);
            if let Some(how) = cells.get_mut(1) {
                *how = format!("{language}, published").into();
            }
            cells
        })
    });
    DECLARED
        .table("embodied-table-12")
        .with_heads("columns", &published().columns)
        .with_rows(rows)
        .with_published(printed)
        .if_measured()
}

/// SensoryVec's visual triples by attribute.
pub(super) fn attribute_table(places: &[Places]) -> Option<Table> {
    let labelled = places.iter().filter(|p| !p.attributes.is_empty());
    let rows = labelled.map(|p| {
        let mut row = vec![p.model.clone().into(), p.how().into()];
        row.push(cell(&p.columns, "visual"));
        row.extend(ATTRIBUTES.map(|name| share(p.attributes.get(name))));
        row
    });
    DECLARED
        .table("embodied-attributes")
        .saying("labelled", LABELLED)
        .with_heads("attributes", ATTRIBUTES)
        .with_rows(rows)
        .if_measured()
}

/// Where failures lie: SensoryVec by form.
pub(super) fn form_table(places: &[Places]) -> Option<Table> {
    let values = ["antonym", "synonym", "neither", "both"];
    let mut rows = Vec::new();
    for p in places {
        for (tag, like, like_both) in [
            ("looks_closer", "looks more like", "looks like both"),
            (
                "shares_stem",
                "shares its stem with",
                "shares its stem with both",
            ),
        ] {
            let by = p.forms.get(tag)?;
            for value in values {
                let words = match value {
                    "neither" => format!("{like} neither"),
                    "both" => like_both.to_owned(),
                    one => format!("{like} the {one}"),
                };
                if let Some(e) = by.get(value) {
                    let several = places.iter().filter(|o| o.model == p.model).count() > 1;
                    rows.push(vec![
                        match several {
                            true => format!("{} ({})", p.model, p.how()).into(),
                            false => p.model.clone().into(),
                        },
                        words.into(),
                        Cell::count(e.n),
                        share(Some(e)),
                    ]);
                }
            }
        }
    }
    DECLARED.rows("embodied-form", rows)
}

/// Tables 8 and 11: models after and before tuning (first and second of each pair), each beside the
/// other only where both were asked the same question and judged alike.
pub fn before_after(runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
    let all = answers(runs);
    let (mut detailed, mut overall) = (Vec::new(), Vec::new());
    let mut left_out = String::new();
    for (first, second) in pairs {
        for after in all.iter().filter(|a| a.model == *first) {
            let same = |b: &&Answers| b.model == *second && b.conditions == after.conditions;
            let Some(before) = all.iter().find(same) else {
                let how = after.how();
                let text =
                    format!(" Left out: {first} ({how}), since {second} was not asked that.");
                left_out.push_str(&text);
                continue;
            };
            detailed.extend([before, after].map(by_column));
            overall.push(vec![
                second.clone().into(),
                first.clone().into(),
                cell(&before.columns, "all"),
                cell(&after.columns, "all"),
            ]);
        }
    }
    if detailed.is_empty() {
        return Vec::new();
    }
    let printed = published().people().into_iter().chain(&published().table_8);
    let methods = published().table_11.iter().map(|row| {
        vec![
            row.model.clone().into(),
            format!("{} (published, Table 11)", row.method).into(),
            Cell::printed(format!("{:.2}", row.before)),
            Cell::printed(format!("{:.2}", row.after)),
        ]
    });
    let by_subtask = DECLARED
        .table("embodied-table-8")
        .saying("left_out", left_out)
        .with_heads("columns", &published().columns)
        .with_rows(detailed)
        .with_published(printed.map(|row| published_cells(row, 8, 0)));
    let whole = DECLARED.table("embodied-table-11");
    vec![by_subtask, whole.with_rows(overall).with_published(methods)]
}

//! The paper's tables: 4, 5, 8, 11, 12 and 14.

use mary_contract::{Cell, Estimate, NumberColumns, RunSummary, Table};
use mary_stats::{LEVEL, intervals};

use super::results::{Answers, Places, answers, cell, is_released, other_senses, share};
use crate::Language;
use crate::published::{PublishedRow, published};

fn heads(first: &[&str], rest: &[String]) -> Vec<String> {
    first
        .iter()
        .map(|h| (*h).to_owned())
        .chain(rest.iter().cloned())
        .collect()
}

fn published_cells(row: &PublishedRow, table: u32, gaps: usize) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![
        row.model.clone().into(),
        format!("published, Table {table}").into(),
    ];
    let printed = row.accuracy.iter().map(|a| format!("{a:.2}"));
    cells.extend(printed.map(Cell::printed));
    cells.extend(vec![Cell::none(); gaps]);
    cells
}

/// The share of answers that could not be read.
fn unread_cell((unread, all): (usize, usize)) -> Cell {
    let found = intervals::wilson(unread as u64, all as u64, LEVEL).ok();
    let estimate = found.map(|i| Estimate {
        value: i.value,
        low: i.low,
        high: i.high,
        n: i.n,
        method: i.method.into(),
    });
    share(estimate.as_ref())
}

/// Table 4, with the senses one by one.
pub(super) fn table_4(places: &[Places]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for p in places {
        let mut row = vec![p.model.clone().into(), p.how().into()];
        row.extend(["all", "visual", "non-visual"].map(|c| cell(&p.columns, c)));
        row.extend(other_senses().map(|s| cell(&p.columns, s.name())));
        row.push(Cell::count(p.left_out));
        rows.push(row);
    }
    let measured = rows.len();
    if measured == 0 {
        return None;
    }
    if places.iter().any(|p| is_released(p.setup.source)) {
        rows.extend(
            published()
                .table_4
                .iter()
                .map(|row| published_cells(row, 4, 6)),
        );
    }
    let senses: Vec<String> = other_senses().map(|s| s.name().to_owned()).collect();
    let mut head = heads(
        &["model", "how", "all sensory", "visual", "non-visual"],
        &senses,
    );
    head.push("left out".into());
    Some(Table {
        id: "embodied-table-4".into(),
        title: "SensoryVec".into(),
        caption: "Share of triples in % in which the word lies nearer to its synonym than to its antonym, \
                  ties one half, with triples and 95 % intervals; chance is 50. `left out` counts triples with a word \
                  that has no vector. The form of Yang et al. 2025, Table 4, whose values are of the \
                  released triples."
            .into(),
        head,
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

/// Table 5: all, visual, non-visual, with what the reading of answers did.
pub(super) fn table_5(answers: &[Answers]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for a in answers {
        let mut row = vec![a.model.clone().into(), a.how().into()];
        row.extend(["all", "visual", "non-visual"].map(|c| cell(&a.columns, c)));
        row.push(share(a.robust.as_ref()));
        row.push(unread_cell(a.unread));
        let measure = |name: &str| {
            let found = a.measures.get(name);
            found.map_or_else(Cell::none, |e| Cell::number(e, 3))
        };
        let kappa = if a.is_people() {
            "answers_kappa"
        } else {
            "orders_kappa"
        };
        row.extend([measure("position_bias"), measure(kappa)]);
        rows.push(row);
    }
    let measured = rows.len();
    if measured == 0 {
        return None;
    }
    if answers.iter().any(|a| is_released(a.setup.source)) {
        let three = |row: &PublishedRow| PublishedRow {
            accuracy: [0, 1, 7]
                .iter()
                .filter_map(|i| row.accuracy.get(*i).copied())
                .collect(),
            ..row.clone()
        };
        rows.extend(published().table_14.iter().map(|row| {
            let mut cells = published_cells(&three(row), 5, 4);
            if row.released == "people"
                && let Some(kappa) = cells.last_mut()
            {
                *kappa = Cell::printed(format!("{:.2}", published().human_kappa));
            }
            cells
        }));
    }
    Some(Table {
        id: "embodied-table-5".into(),
        title: "PerceptualQA".into(),
        caption: "Accuracy in % with answers and 95 % intervals over questions; chance is 25. Written answers are read \
                  as the paper reads them (the answer field is the letter, anything else is wrong); \
                  `robust` reads options that were written out too and leaves unread answers out. \
                  `position bias` is half the summed distance between how often each letter was said and \
                  was right; `kappa` is Cohen's, between the two orders of options (for people: between \
                  two persons). The form of Yang et al. 2025, Table 5."
            .into(),
        head: [
            "model", "how", "all sensory", "visual", "non-visual", "robust", "unread", "position bias",
            "kappa",
        ]
        .map(String::from)
        .to_vec(),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

fn by_column(a: &Answers) -> Vec<Cell> {
    let columns = published().columns.iter().map(|c| cell(&a.columns, c));
    let first = [a.model.clone(), a.how()].map(Cell::from);
    first.into_iter().chain(columns).collect()
}

/// Table 14: every subtask.
pub(super) fn table_14(answers: &[Answers]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = answers.iter().map(by_column).collect();
    let measured = rows.len();
    if measured == 0 {
        return None;
    }
    if answers.iter().any(|a| is_released(a.setup.source)) {
        rows.extend(
            published()
                .table_14
                .iter()
                .map(|row| published_cells(row, 14, 0)),
        );
    }
    Some(Table {
        id: "embodied-table-14".into(),
        title: "PerceptualQA, all subtasks".into(),
        caption: "Accuracy in % with answers and 95 % intervals, read as in the table above. V-CA colour attributes, V-CN colours in nature, \
                  V-GT geometry and transformations, V-S symbols, V-B body, A auditory, T tactile, G \
                  gustatory, O olfactory. The form of Yang et al. 2025, Table 14."
            .into(),
        head: heads(&["model", "how"], &published().columns),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
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
    let measured = rows.len();
    if measured == 0 {
        return None;
    }
    if answers.iter().any(|a| is_released(a.setup.source)) {
        let chinese = &published().table_12_chinese;
        for zh in chinese {
            let en = published()
                .table_14
                .iter()
                .find(|row| row.model == zh.model);
            for (row, language) in en.map(|en| (en, "en")).into_iter().chain([(zh, "zh")]) {
                let mut cells = published_cells(row, 12, 0);
                if let Some(how) = cells.get_mut(1) {
                    *how = format!("{language}, published").into();
                }
                rows.push(cells);
            }
        }
    }
    Some(Table {
        id: "embodied-table-12".into(),
        title: "PerceptualQA in English and Chinese".into(),
        caption: "Accuracy in % with answers and 95 % intervals, the same questions in two languages. The \
                  form of Yang et al. 2025, Table 12."
            .into(),
        head: heads(&["model", "language"], &published().columns),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

/// Where failures lie: SensoryVec by form.
pub(super) fn form_table(places: &[Places]) -> Option<Table> {
    let values = ["antonym", "synonym", "neither", "both"];
    let mut rows = Vec::new();
    for p in places {
        for (tag, title, of_neither, of_both) in [
            (
                "looks_closer",
                "looks more like the",
                "looks more like neither",
                "looks like both",
            ),
            (
                "shares_stem",
                "shares its stem with the",
                "shares its stem with neither",
                "shares its stem with both",
            ),
        ] {
            let by = p.forms.get(tag)?;
            for value in values {
                let words = match value {
                    "neither" => of_neither.to_owned(),
                    "both" => of_both.to_owned(),
                    one => format!("{title} {one}"),
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
    (!rows.is_empty()).then(|| Table {
        id: "embodied-form".into(),
        title: "SensoryVec by the form of the words".into(),
        caption: "Share of triples in % in which the synonym is nearer, by which of the two looks more like \
                  the word (edit distance) and shares its stem with it. A model that follows form is worse \
                  where the antonym does. `mary confounds` sets form beside frequency."
            .into(),
        head: ["model", "the word", "triples", "synonym nearer"].map(String::from).to_vec(),
        rows,
        published: vec![],
        numbers: NumberColumns::From(2),
    })
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
                left_out.push_str(&format!(
                    " Left out: {first} ({}), since {second} was not asked that.",
                    after.how()
                ));
                continue;
            };
            for a in [before, after] {
                detailed.push(by_column(a));
            }
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
    let (n, m) = (detailed.len(), overall.len());
    detailed.extend(published().people().map(|row| published_cells(row, 8, 0)));
    detailed.extend(
        published()
            .table_8
            .iter()
            .map(|row| published_cells(row, 8, 0)),
    );
    overall.extend(published().table_11.iter().map(|row| {
        vec![
            row.model.clone().into(),
            format!("{} (published, Table 11)", row.method).into(),
            Cell::printed(format!("{:.2}", row.before)),
            Cell::printed(format!("{:.2}", row.after)),
        ]
    }));
    vec![
        Table {
            id: "embodied-table-8".into(),
            title: "PerceptualQA before and after, by subtask".into(),
            caption: format!(
                "Accuracy in % with answers and 95 % intervals, for each pair the second model and then the first. The form of Yang et al. \
                 2025, Table 8, whose values are on the fifth of the released questions that was left out \
                 of tuning.{left_out}"
            ),
            head: heads(&["model", "how"], &published().columns),
            published: (n..detailed.len()).collect(),
            rows: detailed,
            numbers: NumberColumns::From(2),
        },
        Table {
            id: "embodied-table-11".into(),
            title: "PerceptualQA before and after".into(),
            caption: "Accuracy in % with answers and 95 % intervals. The form of Yang et al. 2025, Table 11."
                .into(),
            head: ["before: model", "after: model or method", "before", "after"]
                .map(String::from)
                .to_vec(),
            published: (m..overall.len()).collect(),
            rows: overall,
            numbers: NumberColumns::From(2),
        },
    ]
}

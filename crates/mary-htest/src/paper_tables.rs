//! The paper's smaller tables from runs of ours: Table 2 (models side by side at k = 50), Table 5
//! (what different approaches do) and Table 7 (what people do), with the printed results beside ours,
//! marked as published.

use mary_contract::{Cell, NumberColumns, Table};

use super::published::{PublishedRow, published};
use super::results::{
    Outcome, Profile, accuracy_cell, average_cell, other_tasks, paper_tasks, percent, task_title,
};
use super::setup::Mode;

/// Table 2: tasks as rows, models as columns, at the paper's 50 shots. Nothing where none was run so.
pub(super) fn side_by_side(profiles: &[Profile<'_>], results: &[Outcome]) -> Option<Table> {
    const SHOTS: usize = 50;
    let ours: Vec<&Profile<'_>> = profiles
        .iter()
        .filter(|p| p.first.k == SHOTS && p.first.mode != Mode::Cot)
        .collect();
    if ours.is_empty() {
        return None;
    }
    let mut head = vec!["task".to_owned()];
    head.extend(
        ours.iter()
            .map(|p| format!("{} ({})", p.first.model, p.how())),
    );
    let printed = &published().table_2;
    head.extend(printed.iter().map(|m| format!("{} (published)", m.model)));
    let measured = |id: &str| -> Vec<Cell> {
        let of = |p: &&Profile<'_>| accuracy_cell(p.tasks.get(id).copied());
        ours.iter().map(of).collect()
    };
    let mut rows = Vec::new();
    for (place, id) in paper_tasks().iter().enumerate() {
        let mut row = vec![Cell::from(task_title(id))];
        row.extend(measured(id));
        let of = |accuracy: &[f64]| {
            let value = accuracy.get(place);
            value.map_or_else(Cell::none, |a| Cell::printed(percent(*a)))
        };
        row.extend(printed.iter().map(|m| of(&m.accuracy)));
        rows.push(row);
    }
    let mut average = vec![Cell::from("Average")];
    average.extend(ours.iter().map(|p| average_cell(p.average().as_ref())));
    average.extend(printed.iter().map(|m| {
        let mean = m.accuracy.iter().sum::<f64>() / m.accuracy.len().max(1) as f64;
        Cell::printed(percent(mean))
    }));
    rows.push(average);
    for id in other_tasks(results) {
        let mut row = vec![Cell::from(task_title(&id))];
        row.extend(measured(&id));
        row.extend(printed.iter().map(|_| Cell::none()));
        rows.push(row);
    }
    Some(Table {
        id: "htest-table-2".into(),
        title: "Models side by side at k = 50".into(),
        caption: "Accuracy in % with its items and 95 % interval, answers that could not be read counted \
                  as wrong (beside it the score without them, where some could not); chance is 50. The form \
                  of Lee & Lim 2024, Table 2; its columns are marked as published, with averages taken \
                  from their tasks (Claude V2's is printed as 60.4 and is 61.9)."
            .into(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::From(1),
    })
}

/// One block of Table 5: what was done, and the two models that it is held against.
struct Approach {
    name: &'static str,
    /// Before and after, each with the shots of the row in Table 6 where Table 5 repeats it.
    rows: [(&'static str, Option<usize>); 2],
}

const APPROACHES: [Approach; 4] = [
    Approach {
        name: "scaling",
        rows: [("LLaMA 2 13B", Some(50)), ("LLaMA 2 70B", Some(50))],
    },
    Approach {
        name: "multi-modal expansion",
        rows: [("N.H. Yi 34B", None), ("LLaVA 34B", None)],
    },
    Approach {
        name: "proprietary 1",
        rows: [("Claude V2", Some(14)), ("Claude 3 Opus", None)],
    },
    Approach {
        name: "proprietary 2",
        rows: [("GPT 3.5", Some(50)), ("GPT 4o", Some(14))],
    },
];

fn printed(model: &str, k: Option<usize>) -> Option<&'static PublishedRow> {
    let rows = &published().rows;
    rows.iter().find(|r| r.model == model && r.k == k)
}

/// Table 5: pairs of models that differ in one thing. Ours are those of one line in different sizes
/// (scaling); the paper's other pairs stand as printed. Nothing where no two sizes were run alike.
pub(super) fn approaches(
    profiles: &[Profile<'_>],
    line_of: impl Fn(&str) -> String,
) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for smaller in profiles {
        let f = smaller.first;
        let alike = |other: &&Profile<'_>| {
            let o = other.first;
            o.model != f.model
                && line_of(&o.model) == line_of(&f.model)
                && (o.k, o.mode, o.source, o.form) == (f.k, f.mode, f.source, f.form)
                && o.parameters > f.parameters
                && f.parameters.is_some()
        };
        let larger = profiles.iter().filter(alike);
        let next = larger.min_by_key(|o| o.first.parameters);
        let Some(larger) = next else { continue };
        for profile in [smaller, larger] {
            let row = measured_row(profile);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let ours = rows.len();
    for approach in &APPROACHES {
        for (model, k) in approach.rows {
            let Some(row) = printed(model, k) else {
                continue;
            };
            let mut cells = vec![
                approach.name.to_owned(),
                row.model.clone(),
                row.k
                    .map_or_else(|| "not stated".to_owned(), |k| k.to_string()),
            ];
            cells.extend(row.accuracy.iter().map(|a| percent(*a)));
            cells.push(percent(row.mean()));
            rows.push(cells.into_iter().map(Cell::printed).collect());
        }
    }
    let mut head: Vec<String> = ["approach", "model", "k"].map(String::from).to_vec();
    head.extend(paper_tasks().iter().map(|id| task_title(id)));
    head.push("Average".into());
    Some(Table {
        id: "htest-table-5".into(),
        title: "What different approaches do".into(),
        caption: "Accuracy in % with its items and 95 % interval, a model and what was made of it one below the other. Ours: the same line \
                  of models in growing sizes, asked alike. The form of Lee & Lim 2024, Table 5, with its \
                  columns in Table 6's order (its own heads are out of order) and its mixture of k stated."
            .into(),
        head,
        published: (ours..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

fn measured_row(profile: &Profile<'_>) -> Vec<Cell> {
    let mut cells = vec![
        "scaling".into(),
        format!("{} ({})", profile.first.model, profile.how()).into(),
        Cell::count(profile.first.k),
    ];
    let tasks = paper_tasks();
    let each = tasks
        .iter()
        .map(|id| profile.tasks.get(id.as_str()).copied());
    cells.extend(each.map(accuracy_cell));
    cells.push(average_cell(profile.average().as_ref()));
    cells
}

/// Table 7: how many of the ten rules people named from the shots. `people` are ours: a name, the shots
/// shown and, for each of the paper's tasks asked, whether the rule was named.
pub fn human_table(people: &[(String, usize, Vec<bool>)]) -> Table {
    let shots = [4, 14, 28, 50];
    let row = |name: &str, k: usize, named: usize, of: usize| {
        let mut cells = vec![name.to_owned()];
        cells.extend(shots.iter().map(|s| {
            if *s == k {
                format!("{named}/{of}")
            } else {
                "–".to_owned()
            }
        }));
        cells
    };
    // Rules named of rules asked: both numbers stand there, and a person is no sample of answers.
    let mut rows: Vec<Vec<String>> = people
        .iter()
        .map(|(name, k, named)| {
            let right = named.iter().filter(|n| **n).count();
            row(name, *k, right, named.len())
        })
        .collect();
    let ours = rows.len();
    let printed = published().human.iter();
    rows.extend(printed.map(|p| row(&p.person, p.k, p.rules_named, p.of)));
    let mut head = vec!["person".to_owned()];
    head.extend(shots.map(|k| format!("k = {k}")));
    Table {
        id: "htest-table-7".into(),
        title: "What people do".into(),
        caption: "Rules that a person named from the shots, of those asked; each person saw one number of \
                  shots. People named rules and labelled no items, so that these are not accuracies. The \
                  form of Lee & Lim 2024, Table 7."
            .into(),
        head,
        published: (ours..rows.len()).collect(),
        rows: Cell::figures(rows),
        numbers: NumberColumns::From(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_row_of_table_5_is_found() {
        for approach in &APPROACHES {
            for (model, k) in approach.rows {
                assert!(printed(model, k).is_some(), "{model}");
            }
        }
    }

    #[test]
    fn people_of_ours_stand_above_the_papers() {
        let ours = [("Ada".to_owned(), 14, vec![true, true, false])];
        let table = human_table(&ours);
        assert_eq!(table.rows[0], ["Ada", "–", "2/3", "–", "–"]);
        assert_eq!(table.rows[1], ["Human A", "10/10", "–", "–", "–"]);
        assert_eq!(table.published, [1, 2, 3, 4]);
    }

    #[test]
    fn table_2_repeats_table_6() {
        for model in &published().table_2 {
            let name = model.model.trim_end_matches('.').trim_end_matches("-Li");
            let same = published().rows.iter().any(|r| {
                r.k == Some(50) && r.model.starts_with(name) && r.accuracy == model.accuracy
            });
            assert!(same, "{}", model.model);
        }
    }
}

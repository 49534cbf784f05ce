//! The paper's smaller tables from runs of ours: Table 2 (models side by side at k = 50), Table 5
//! (what different approaches do) and Table 7 (what people do), with the printed results beside ours,
//! marked as published.

use mary_contract::{Cell, Table};

use super::published::{DECLARED, PublishedRow, mean, percent, published};
use super::results::{
    Outcome, Profile, accuracy_cell, average_cell, other_tasks, paper_tasks, task_title,
};
use super::setup::Mode;

/// Table 2: tasks as rows, models as columns, at the paper's 50 shots. Nothing where none was run so.
pub(super) fn side_by_side(profiles: &[Profile<'_>], results: &[Outcome]) -> Option<Table> {
    const SHOTS: usize = 50;
    let ours: Vec<&Profile<'_>> = profiles
        .iter()
        .filter(|p| p.first.k == SHOTS && p.first.mode != Mode::Cot)
        .collect();
    let printed = &published().table_2;
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
    let means = printed.iter().map(|m| percent(mean(&m.accuracy)));
    average.extend(means.map(Cell::printed));
    rows.push(average);
    for id in other_tasks(results) {
        let mut row = vec![Cell::from(task_title(&id))];
        row.extend(measured(&id));
        row.extend(printed.iter().map(|_| Cell::none()));
        rows.push(row);
    }
    let models = ours
        .iter()
        .map(|p| format!("{} ({})", p.first.model, p.how()));
    let papers = printed.iter().map(|m| format!("{} (published)", m.model));
    let table = DECLARED.table("htest-table-2").with_rows(rows);
    (!ours.is_empty()).then(|| table.with_heads("models", models.chain(papers)))
}

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
    let printed = published().table_5.iter().flat_map(|block| {
        let rows = block.models.iter().filter_map(|(m, k)| printed(m, *k));
        rows.map(|row| {
            let first = [block.approach.clone(), row.model.clone(), row.shots()];
            first.into_iter().chain(row.percents()).collect()
        })
    });
    DECLARED
        .table("htest-table-5")
        .with_heads("tasks", paper_tasks().iter().map(|id| task_title(id)))
        .with_rows(rows)
        .with_published(Cell::printed_rows(printed))
        .if_measured()
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
    let ours = people.iter().map(|(name, k, named)| {
        let right = named.iter().filter(|n| **n).count();
        row(name, *k, right, named.len())
    });
    let printed = published().human.iter();
    let printed = printed.map(|p| row(&p.person, p.k, p.rules_named, p.of));
    DECLARED
        .table("htest-table-7")
        .with_rows(Cell::figures(ours.collect()))
        .with_published(Cell::figures(printed.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_row_of_table_5_is_found() {
        assert_eq!(published().table_5.len(), 4);
        for approach in &published().table_5 {
            for (model, k) in &approach.models {
                assert!(printed(model, *k).is_some(), "{model}");
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

//! The paper's smaller tables from runs of ours: Table 2 (models side by side at k = 50), Table 5
//! (what different approaches do) and Table 7 (what people do), with the printed results beside ours,
//! marked as published.

use mary_contract::{Cell, Table};

use super::published::{DECLARED, PublishedRow, mean, percent, published};
use super::results::{
    Outcome, Profile, accuracy_cell, average_cell, other_tasks, paper_tasks, task_title,
};
use super::rule_naming::RulesNamed;
use super::setup::Mode;

/// The mean that the printed tasks give, which the printed average often is not.
const RECOMPUTED: &str = "Mean of the printed tasks";

/// Table 2: tasks as rows, models as columns, at the paper's 50 shots. Nothing where none was run so.
pub(super) fn side_by_side(profiles: &[Profile<'_>], results: &[Outcome]) -> Option<Table> {
    const SHOTS: usize = 50;
    let asked = |p: &&Profile<'_>| p.first.k == SHOTS && p.first.mode != Mode::Cot;
    let ours: Vec<&Profile<'_>> = profiles.iter().filter(asked).collect();
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
    let as_printed = printed.iter().map(|m| percent(m.average));
    average.extend(as_printed.map(Cell::printed));
    rows.push(average);
    let mut recomputed = vec![Cell::from(RECOMPUTED)];
    recomputed.extend(ours.iter().map(|_| Cell::none()));
    let means = printed.iter().map(|m| percent(mean(&m.accuracy)));
    recomputed.extend(means.map(Cell::printed));
    rows.push(recomputed);
    for id in other_tasks(results) {
        let mut row = vec![Cell::from(task_title(&id))];
        row.extend(measured(&id));
        row.extend(printed.iter().map(|_| Cell::none()));
        rows.push(row);
    }
    let named = |p: &&Profile<'_>| format!("{} ({})", p.first.model, p.how());
    let models = ours.iter().map(named);
    let papers = printed.iter().map(|m| format!("{} (published)", m.model));
    let table = DECLARED.table("htest-table-2").with_rows(rows);
    (!ours.is_empty()).then(|| table.with_heads("models", models.chain(papers)))
}

fn printed(model: &str, k: Option<usize>) -> Option<&'static PublishedRow> {
    let rows = &published().rows;
    rows.iter().find(|r| r.model == model && r.k == k)
}

/// Two models that were asked alike: the same shots and settings, and read by the same judge.
fn alike(one: &Profile<'_>, other: &Profile<'_>) -> bool {
    let (a, b) = (one.first, other.first);
    a.model != b.model && a.conditions.manner() == b.conditions.manner()
}

/// Table 5: pairs of models that differ in one thing. Ours are the pairs that the user named (built, base),
/// those of the paper's that were run, known by their names, and models of one line in different sizes; the
/// paper's own stand below as printed. Nothing where no pair was run alike.
pub(super) fn approaches(
    profiles: &[Profile<'_>],
    line_of: impl Fn(&str) -> String,
    named: &[(String, String)],
) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut put = |approach: &str, pair: [&Profile<'_>; 2]| {
        for profile in pair {
            let row = measured_row(approach, profile);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    };
    let every_pair = || {
        let other = move |base| profiles.iter().map(move |built| (base, built));
        profiles.iter().flat_map(other).filter(|(a, b)| alike(a, b))
    };
    for (built, base) in named {
        for (before, after) in every_pair() {
            if (&before.first.model, &after.first.model) == (base, built) {
                put("named pair", [before, after]);
            }
        }
    }
    for block in &published().table_5 {
        let [first, second] = &block.known_as;
        for (before, after) in every_pair() {
            if is_known(&before.first.model, first) && is_known(&after.first.model, second) {
                put(&block.approach, [before, after]);
            }
        }
    }
    for smaller in profiles {
        let f = smaller.first;
        let grown = |other: &&Profile<'_>| {
            let o = other.first;
            alike(smaller, other)
                && line_of(&o.model) == line_of(&f.model)
                && o.parameters > f.parameters
                && f.parameters.is_some()
        };
        let larger = profiles.iter().filter(grown);
        if let Some(larger) = larger.min_by_key(|o| o.first.parameters) {
            put("scaling", [smaller, larger]);
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
        .beside(printed)
}

/// Whether a model's name is one of those under which providers have one of the paper's.
fn is_known(model: &str, names: &[String]) -> bool {
    let model = model.to_lowercase().replace(['_', ' '], "-");
    // A smaller model with a longer name is another one.
    !model.contains("mini") && names.iter().any(|name| model.contains(name.as_str()))
}

fn measured_row(approach: &str, profile: &Profile<'_>) -> Vec<Cell> {
    let mut cells = vec![
        approach.to_owned().into(),
        format!("{} ({})", profile.first.model, profile.how()).into(),
        Cell::count(profile.first.k),
    ];
    let tasks = paper_tasks();
    let tasks = tasks.iter().map(|id| id.as_str());
    let each = tasks.map(|id| profile.tasks.get(id).copied());
    cells.extend(each.map(accuracy_cell));
    cells.push(average_cell(profile.average().as_ref()));
    cells.push(Cell::none());
    cells
}

/// Table 7: how many of the ten rules people (and models, beside them) named from the shots.
pub(super) fn human_table(ours: &[RulesNamed]) -> Table {
    let mut shots = vec![4, 14, 28, 50];
    shots.extend(ours.iter().map(|o| o.k));
    shots.sort_unstable();
    shots.dedup();
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
    let ours = ours.iter().map(|o| row(&o.who, o.k, o.named, o.of));
    let printed = published().human.iter();
    let printed = printed.map(|p| row(&p.person, p.k, p.rules_named, p.of));
    DECLARED
        .table("htest-table-7")
        .with_heads("shots", shots.iter().map(|k| format!("k = {k}")))
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
        let ours = RulesNamed {
            who: "Ada".into(),
            k: 14,
            named: 2,
            of: 3,
        };
        let table = human_table(std::slice::from_ref(&ours));
        assert_eq!(table.rows[0], ["Ada", "–", "2/3", "–", "–"]);
        // Shots that the paper did not have get a column.
        let few = human_table(&[RulesNamed { k: 8, ..ours }]);
        assert_eq!(few.head[1..4], ["k = 4", "k = 8", "k = 14"]);
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

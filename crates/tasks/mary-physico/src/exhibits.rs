//! The paper's tables from runs of ours, with its printed results beside them, marked as published.
//! Only what the runs contain is shown.

use std::collections::BTreeSet;

use mary_contract::{Cell, Exhibits, Figure, Picture, Point, RunSummary, Series, Table};

use mary_platform::{distinct, given, grouped_in_order};
use mary_stats::{LEVEL, intervals};

use crate::drawing;
use crate::forms::SEEN;
use crate::gap::{
    average_cell, concept_table, estimate_of, left_out, mean_cell, order, over_concepts,
    overall_table, parrot_gaps, scatter, short,
};
use crate::instances::{Level, Split, planned};
use crate::judging::{SHARED, SHARED_PAIR, WITH_CORE};
use crate::perception::QuestionKind;
use crate::published::{DECLARED, Printed, published, with_printed};
use crate::results::{Outcome, cell, outcomes, printed};
use crate::setup::{Icl, InstanceSource};

const PICTURES: usize = 6;

pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let all = outcomes(runs);
    if all.is_empty() {
        return Exhibits::default();
    }
    let high: Vec<&Outcome<'_>> = all.iter().filter(|o| o.is_high()).collect();
    let groups = groups(&high);
    let gaps = parrot_gaps(runs);
    let tables = [
        table_3(&groups),
        overall_table(&gaps),
        left_out(runs),
        table_10(&high),
        concept_table(&gaps),
        low_level(&all),
        table_4(&groups),
        text_against_picture(&groups),
        perception(&all),
    ];
    let figures = [scatter(&gaps), bars(&groups), perception_bars(&all)];
    Exhibits {
        pictures: pictures(&high),
        ..Exhibits::default()
    }
    .with_tables(tables)
    .with_figures(figures)
}

/// Core and associative results of one model under the same conditions.
pub(crate) type Group<'a> = Vec<&'a Outcome<'a>>;

pub(crate) fn groups<'a>(high: &[&'a Outcome<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for &outcome in high {
        let same = |g: &&mut Group<'a>| {
            g.first().is_some_and(|f| {
                f.same_conditions(outcome) && g.iter().all(|o| o.task() != outcome.task())
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(outcome),
            None => groups.push(vec![outcome]),
        }
    }
    groups
}

/// How a group was asked: one of its sets may have to be told from another run's, and then the row is.
pub(crate) fn how(group: &[&Outcome<'_>]) -> String {
    let told = group.iter().find(|o| !o.variant.is_empty());
    told.or(group.first()).map_or_else(String::new, |o| o.how())
}

pub(crate) const SPLITS: [Split; 3] = [Split::CoreDev, Split::CoreTest, Split::Associative];

pub(crate) fn on(group: &[&Outcome<'_>], split: Split) -> Option<crate::results::Accuracy> {
    group.iter().find_map(|o| o.part("split", split.name()))
}

fn printed_cell(value: Option<Printed>) -> Cell {
    let text = value.map(|(v, sd)| printed(v, sd));
    text.map(Cell::printed).into()
}

/// Table 3: models against the three sets, text before pictures.
fn table_3(groups: &[Group<'_>]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for seen in [false, true] {
        for group in groups {
            let Some(first) = group.first().filter(|f| f.seen() == seen) else {
                continue;
            };
            let mut row = vec![first.model().into(), how(group).into(), runs_cell(first)];
            row.extend(SPLITS.map(|s| cell(on(group, s))));
            row.push(unread(group));
            rows.push(row);
        }
    }
    with_printed(DECLARED.table("physico-table-3").with_rows(rows)).if_measured()
}

fn runs_cell(outcome: &Outcome<'_>) -> Cell {
    Cell::figure(outcome.runs.to_string())
}

fn unread(group: &[&Outcome<'_>]) -> Cell {
    let samples: usize = group.iter().map(|o| o.row.samples).sum();
    let unread: usize = group.iter().flat_map(|o| o.row.unscored.values()).sum();
    let share = intervals::wilson(unread as u64, samples as u64, LEVEL).ok();
    share.map(|i| Cell::percent(&estimate_of(&i), 1)).into()
}

/// Table 10: concepts against models, the paper's three columns at the end.
fn table_10(high: &[&Outcome<'_>]) -> Option<Table> {
    let pairs = high.iter().flat_map(|o| o.values("pair"));
    let pairs: BTreeSet<_> = pairs.map(|pair| (order(pair), pair)).collect();
    let name = |outcome: &Outcome<'_>| format!("{} ({})", outcome.model(), outcome.how());
    let columns = grouped_in_order(high.iter().map(|outcome| (name(outcome), *outcome)));
    let rows: Vec<Vec<Cell>> = pairs
        .iter()
        .map(|((place, concept), pair)| {
            let set = ["core-test", "core-dev", "associative"].get(*place);
            let mut row = vec![Cell::from(concept.clone()), Cell::from(*set.unwrap_or(&""))];
            let asked = |of: &[&Outcome<'_>]| cell(of.iter().find_map(|o| o.part("pair", pair)));
            row.extend(columns.iter().map(|(_, of)| asked(of)));
            let mut table_10 = published().table_10.iter();
            let paper = table_10.find(|p| *place == 0 && p.concept == *concept);
            let o1 = paper.and_then(|p| Some((p.o1_preview_text?, None)));
            row.push(printed_cell(paper.map(|p| p.gpt_4_text)));
            row.push(printed_cell(paper.map(|p| p.gpt_4o_visual)));
            row.push(printed_cell(o1));
            row
        })
        .collect();
    let table = DECLARED
        .table("physico-table-10")
        .with_heads("models", columns.into_iter().map(|(name, _)| name));
    table.with_rows(rows).if_measured()
}

/// What the judge model says and, beside it, what people say.
fn by_both(model: Option<Cell>, people: Option<Cell>) -> Cell {
    match (model, people) {
        (Some(model), Some(people)) => {
            let text = format!("{}, {} by people", &*model, people.full());
            model.worded(text)
        }
        (None, Some(people)) => {
            let text = format!("{} (people)", &*people);
            people.worded(text)
        }
        (Some(model), None) => model,
        (None, None) => Cell::none(),
    }
}

/// Tables 1, 2 and 9.
fn low_level(all: &[Outcome<'_>]) -> Option<Table> {
    let tasks = ["physico/definition", "physico/photo", "physico/describe"];
    let own = all.iter().filter(|o| tasks.contains(&o.task()));
    let models = distinct(own.map(|outcome| outcome.model()));
    let find =
        |model: &str, task: &str| all.iter().find(|o| o.model() == model && o.task() == task);
    let rows = models.iter().map(|model| {
        let mut row = vec![Cell::from(*model)];
        row.extend(tasks.map(|t| cell(find(model, t).and_then(Outcome::whole))));
        let judged = |name: &str| {
            let describe = find(model, "physico/describe")?;
            Some(Cell::percent(describe.row.measure(name)?, 1))
        };
        for (by_model, by_people) in [
            ("judged_correct", "judged_by_people"),
            ("recall", "recall_by_people"),
            ("recall_with_more", ""),
        ] {
            row.push(by_both(judged(by_model), judged(by_people)));
        }
        row
    });
    with_printed(DECLARED.table("physico-table-1").with_rows(rows)).if_measured()
}

/// Tables 4 and 5, where shots were given. Shots on the item's own concepts are given where at least two of
/// its options are core concepts; how the same items are answered without shots stands beside.
fn table_4(groups: &[Group<'_>]) -> Option<Table> {
    let with_shots = |g: &Group<'_>| g.first().is_some_and(|f| f.setup.icl != Icl::None);
    given(groups.iter().any(with_shots))?;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for group in groups {
        let Some(first) = group.first() else { continue };
        let mut row: Vec<Cell> = vec![first.model().into(), how(group).into()];
        row.extend([Split::CoreTest, Split::Associative].map(|s| cell(on(group, s))));
        row.extend([Split::CoreTest, Split::Associative].map(|s| less_no_shots(group, groups, s)));
        for asked in group.iter().filter(|o| matches!(o.setup.icl, Icl::Same(_))) {
            let Some(plain) = without_shots(asked, groups) else {
                continue;
            };
            let Some(same) = plain.part(SHARED, WITH_CORE) else {
                continue;
            };
            let how = format!("{}, the items of {}", plain.how(), asked.setup.icl.name());
            let mut row = vec![plain.model().into(), how.into(), Cell::none(), same.cell()];
            row.extend([Cell::none(), Cell::none()]);
            rows.push(row);
        }
        rows.push(row);
    }
    let table = DECLARED.table("physico-table-4").with_rows(rows);
    Some(with_printed(table))
}

fn without_shots<'g>(asked: &Outcome<'_>, groups: &'g [Group<'g>]) -> Option<&'g Outcome<'g>> {
    let mut all = groups.iter().flatten().copied();
    all.find(|o| asked.is_without_shots(o))
}

/// The set whose Table 4 column a task fills.
fn column(outcome: &Outcome<'_>) -> Split {
    match outcome.task().starts_with("physico/core-") {
        true => Split::CoreTest,
        false => Split::Associative,
    }
}

/// With shots minus without, on the same items, paired by concept.
fn less_no_shots(group: &[&Outcome<'_>], groups: &[Group<'_>], split: Split) -> Cell {
    let found = || {
        let asked = group.iter().find(|o| column(o) == split)?;
        let plain = without_shots(asked, groups)?;
        let same = matches!(asked.setup.icl, Icl::Same(_)) && split == Split::Associative;
        let tag = if same { SHARED_PAIR } else { "pair" };
        let in_split = |pair: &&str| split == Split::Associative || order(pair).0 == 0;
        let concepts = asked.values(tag).into_iter().filter(in_split);
        let differences: Vec<f64> = concepts
            .filter_map(|c| {
                let value = |o: &Outcome<'_>| Some(o.part(tag, c)?.estimate.value);
                Some(value(asked)? - value(plain)?)
            })
            .collect();
        let mean = over_concepts(&differences)?;
        Some(mean_cell(&mean, differences.len()))
    };
    found().into()
}

/// Pictures minus text for each model that was asked both ways, paired by concept.
fn text_against_picture(groups: &[Group<'_>]) -> Option<Table> {
    let mut rows = Vec::new();
    for text in groups.iter().flatten().filter(|o| !o.seen()) {
        let twin = text.task().replace("-text", "-visual");
        let seen = groups.iter().flatten().find(|o| {
            o.task() == twin
                && o.model() == text.model()
                && (o.setup.seed, o.setup.cot, o.setup.icl)
                    == (text.setup.seed, text.setup.cot, text.setup.icl)
        });
        let Some(seen) = seen else { continue };
        let pairs = text.values("pair").into_iter().filter_map(|pair| {
            let value = |o: &Outcome<'_>| Some(o.part("pair", pair)?.estimate.value);
            Some((value(text)?, value(seen)?))
        });
        let both: Vec<(f64, f64)> = pairs.collect();
        let differences: Vec<f64> = both.iter().map(|(t, s)| s - t).collect();
        let Some(mean) = over_concepts(&differences) else {
            continue;
        };
        let mut set = short(text.task()).trim_end_matches("-text").to_owned();
        if text.setup.mode != seen.setup.mode {
            set = format!("{set} ({}; {})", text.how(), seen.how());
        }
        let (words, pictures): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
        let mut row = vec![text.model().into(), set.into()];
        row.extend([average_cell(&words), average_cell(&pictures)]);
        row.push(mean_cell(&mean, both.len()));
        rows.push(row);
    }
    DECLARED.rows("physico-text-picture", rows)
}

/// Tasks that ask for a free description of a pair.
const FREE: &str = "physico/free-perception-";

fn perceived<'a>(all: &'a [Outcome<'a>]) -> Vec<&'a Outcome<'a>> {
    let perceived = all
        .iter()
        .filter(|o| o.task().starts_with("physico/perception-"));
    perceived.collect()
}

fn perception(all: &[Outcome<'_>]) -> Option<Table> {
    let measured = perceived(all);
    let rows = measured.iter().map(|o| {
        let mut row = vec![o.model().into(), o.how().into()];
        row.extend(QuestionKind::ALL.map(|k| cell(o.part("kind", k.name()))));
        row.push(cell(o.whole()));
        row
    });
    // Free descriptions as the paper had them, by whom they were marked.
    let free = all.iter().filter(|o| o.task().starts_with(FREE));
    let free = free.flat_map(|o| {
        let marked = [
            ("judge", o.row.score.as_ref()),
            ("people", o.row.measure(SEEN)),
        ];
        marked.into_iter().filter_map(|(by, score)| {
            let how = format!("{}, described freely, marked by {by}", o.how());
            let mut row = vec![o.model().into(), how.into()];
            row.extend(QuestionKind::ALL.map(|_| Cell::none()));
            row.push(Cell::percent(score?, 1));
            Some(row)
        })
    });
    let rows = rows.chain(free);
    let table = DECLARED.table("physico-perception");
    let table = table.with_heads("kinds", QuestionKind::ALL.map(|k| k.name()));
    with_printed(table.with_rows(rows)).if_measured()
}

fn part_points<'a>(
    outcome: &'a Outcome<'_>,
    tag: &'a str,
    values: impl IntoIterator<Item = &'a str> + 'a,
) -> impl Iterator<Item = Point> + 'a {
    values.into_iter().filter_map(move |value| {
        let address = format!("{}|{}|{tag}={value}", outcome.model(), outcome.task());
        let accuracy = outcome.part(tag, value)?;
        Some(Point::percent(value, &accuracy.estimate).with_samples(address))
    })
}

fn bars(groups: &[Group<'_>]) -> Option<Figure> {
    let series = groups.iter().filter_map(|group| {
        let first = group.first()?;
        let points: Vec<Point> = SPLITS
            .into_iter()
            .filter_map(|s| {
                group
                    .iter()
                    .find_map(|o| part_points(o, "split", [s.name()]).next())
            })
            .collect();
        let name = format!("{} ({})", first.model(), how(group));
        (!points.is_empty()).then(|| Series::measured(name, points))
    });
    DECLARED.series("physico-sets", series)
}

fn perception_bars(all: &[Outcome<'_>]) -> Option<Figure> {
    let measured = perceived(all);
    let series = measured.iter().map(|o| {
        let points = part_points(o, "kind", QuestionKind::ALL.map(|k| k.name()));
        Series::measured(format!("{} ({})", o.model(), o.how()), points)
    });
    DECLARED.series("physico-perception-kinds", series)
}

fn pictures(high: &[&Outcome<'_>]) -> Vec<Picture> {
    let fresh = |o: &&&Outcome<'_>| o.setup.source == InstanceSource::Fresh;
    let Some(first) = high.iter().find(fresh) else {
        return vec![];
    };
    let level = if first.task().contains("core") {
        Level::Core
    } else {
        Level::Associative
    };
    let planned = planned(level, first.setup.seed, first.setup.per_concept);
    let shown = planned.unwrap_or_default().into_iter().take(PICTURES);
    let instances = shown.filter_map(|p| p.draw().ok());
    instances.map(|i| drawing::drawn(&i)).collect()
}

#[cfg(test)]
#[path = "exhibits_tests.rs"]
mod tests;

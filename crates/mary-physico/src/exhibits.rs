//! The paper's tables from runs of ours, with its printed results beside them, marked as published.
//! Only what the runs contain is shown.

use std::collections::BTreeSet;

use mary_contract::{
    Axis, Cell, Exhibits, Figure, FigureKind, NumberColumns, Picture, Point, ReferenceLine,
    RunSummary, Scale, Series, Table,
};

use mary_stats::{LEVEL, intervals};

use crate::drawing;
use crate::gap::{
    average_cell, concept_table, estimate_of, left_out, mean_cell, order, over_concepts,
    overall_table, parrot_gaps, scatter, short,
};
use crate::instances::{Level, Split, planned};
use crate::perception::Kind;
use crate::published::{Printed, published};
use crate::results::{Outcome, cell, outcomes, printed};
use crate::setup::{Icl, Source};

/// Pictures of instances in a report.
const PICTURES: usize = 6;

/// Everything the runs have to show.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let all = outcomes(runs);
    if all.is_empty() {
        return Exhibits::default();
    }
    let high: Vec<&Outcome<'_>> = all.iter().filter(|o| is_high(o)).collect();
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
        tables: tables.into_iter().flatten().collect(),
        figures: figures.into_iter().flatten().collect(),
        pictures: pictures(&high),
    }
}

pub(crate) fn is_high(outcome: &Outcome<'_>) -> bool {
    let task = outcome.task();
    task.starts_with("physico/core-") || task.starts_with("physico/associative-")
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

pub(crate) const SPLITS: [Split; 3] = [Split::CoreDev, Split::CoreTest, Split::Associative];

/// The accuracy of a group on a split.
pub(crate) fn on(group: &[&Outcome<'_>], split: Split) -> Option<crate::results::Accuracy> {
    group.iter().find_map(|o| o.part("split", split.name()))
}

pub(crate) fn printed_cell(value: Option<Printed>) -> Cell {
    value.map_or_else(Cell::none, |(v, sd)| Cell::printed(printed(v, sd)))
}

/// Table 3: models against the three sets, text before pictures.
fn table_3(groups: &[Group<'_>]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for seen in [false, true] {
        for group in groups {
            let Some(first) = group.first().filter(|f| f.seen() == seen) else {
                continue;
            };
            let mut row = vec![first.model().into(), first.how().into(), runs_cell(first)];
            row.extend(SPLITS.map(|s| cell(on(group, s))));
            row.push(unread(group));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let measured = rows.len();
    rows.extend(published().table_3.iter().map(|r| {
        vec![
            r.model.clone().into(),
            if r.seen { "pictures" } else { "text" }.into(),
            if r.core_test.is_some_and(|(_, sd)| sd.is_none()) {
                Cell::count(1)
            } else {
                Cell::count(3)
            },
            printed_cell(r.core_dev),
            printed_cell(r.core_test),
            printed_cell(r.associative),
            "–".into(),
        ]
    }));
    Some(Table {
        id: "physico-table-3".into(),
        title: "PHYSICO, the high level".into(),
        caption: "Accuracy in % with its answers and 95 % interval (clustered by option set), unread \
                  answers counted as wrong, mean ± standard deviation over runs \
                  (population, as the paper prints it); chance is 25. The form of Yu et al. 2025, Table 3; \
                  its printed results, on the authors' own grids, stand below ours."
            .into(),
        head: ["model", "how", "runs", "CORE-Dev", "CORE-Test", "ASSOC.", "unread (%)"]
            .map(String::from)
            .to_vec(),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

fn runs_cell(outcome: &Outcome<'_>) -> Cell {
    Cell::figure(outcome.runs.to_string())
}

fn unread(group: &[&Outcome<'_>]) -> Cell {
    let samples: usize = group.iter().map(|o| o.row.samples).sum();
    let unread: usize = group.iter().flat_map(|o| o.row.unscored.values()).sum();
    let share = intervals::wilson(unread as u64, samples as u64, LEVEL);
    share.map_or_else(|_| Cell::none(), |i| Cell::percent(&estimate_of(&i), 1))
}

/// Table 10: concepts against models, the paper's three columns at the end.
fn table_10(high: &[&Outcome<'_>]) -> Option<Table> {
    let pairs: BTreeSet<(usize, String, String)> = high
        .iter()
        .flat_map(|o| o.values("pair"))
        .map(|pair| {
            let (place, concept) = order(pair);
            (place, concept, pair.to_owned())
        })
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let mut columns: Vec<(String, Vec<&Outcome<'_>>)> = Vec::new();
    for outcome in high {
        let name = format!("{} ({})", outcome.model(), outcome.how());
        match columns.iter_mut().find(|(n, _)| *n == name) {
            Some((_, of)) => of.push(outcome),
            None => columns.push((name, vec![outcome])),
        }
    }
    let rows = pairs
        .iter()
        .map(|(place, concept, pair)| {
            let set = ["core-test", "core-dev", "associative"]
                .get(*place)
                .copied();
            let mut row = vec![Cell::from(concept.clone()), set.unwrap_or_default().into()];
            row.extend(
                columns
                    .iter()
                    .map(|(_, of)| cell(of.iter().find_map(|o| o.part("pair", pair)))),
            );
            let paper = published()
                .table_10
                .iter()
                .find(|p| *place == 0 && p.concept == *concept);
            row.push(printed_cell(paper.map(|p| p.gpt_4_text)));
            row.push(printed_cell(paper.map(|p| p.gpt_4o_visual)));
            row.push(printed_cell(
                paper.and_then(|p| Some((p.o1_preview_text?, None))),
            ));
            row
        })
        .collect();
    let mut head = vec!["concept".to_owned(), "set".to_owned()];
    head.extend(columns.into_iter().map(|(name, _)| name));
    head.extend(
        [
            "published: GPT-4 (text)",
            "published: GPT-4o (visual)",
            "published: o1-preview (text)",
        ]
        .map(String::from),
    );
    Some(Table {
        id: "physico-table-10".into(),
        title: "PHYSICO by concept".into(),
        caption: "Accuracy in % by concept with its answers and 95 % interval (clustered by option set), \
                  unread answers counted as wrong, mean ± standard deviation over runs. The form of Yu et al. 2025, Table 10, which has the core-test concepts; its \
                  columns, on the authors' own grids, stand at the end."
            .into(),
        head,
        rows,
        published: vec![],
        numbers: NumberColumns::From(2),
    })
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
    let mut models: Vec<&str> = Vec::new();
    let tasks = ["physico/definition", "physico/photo", "physico/describe"];
    for outcome in all.iter().filter(|o| tasks.contains(&o.task())) {
        if !models.contains(&outcome.model()) {
            models.push(outcome.model());
        }
    }
    if models.is_empty() {
        return None;
    }
    let find =
        |model: &str, task: &str| all.iter().find(|o| o.model() == model && o.task() == task);
    let mut rows: Vec<Vec<Cell>> = models
        .iter()
        .map(|model| {
            let mut row = vec![Cell::from(*model)];
            row.extend(tasks.map(|t| cell(find(model, t).and_then(Outcome::whole))));
            let judged = |name: &str| {
                let describe = find(model, "physico/describe")?;
                let measure = describe.row.measures.iter().find(|m| m.name == name)?;
                Some(Cell::percent(&measure.estimate, 1))
            };
            for (by_model, by_people) in [
                ("judged_correct", "judged_by_people"),
                ("recall", "recall_by_people"),
                ("recall_with_more", ""),
            ] {
                row.push(by_both(judged(by_model), judged(by_people)));
            }
            row
        })
        .collect();
    let measured = rows.len();
    rows.extend(published().low_level.iter().map(|r| {
        vec![
            r.model.clone().into(),
            printed_cell(r.definition),
            printed_cell(r.photo),
            printed_cell(r.self_play),
            printed_cell(r.no_error.map(|v| (v, None))),
            printed_cell(r.recall.map(|v| (v, None))),
            "–".into(),
        ]
    }));
    Some(Table {
        id: "physico-table-1".into(),
        title: "PHYSICO, the low level".into(),
        caption: "Accuracy in % with its items and 95 % interval: the concept from a masked definition, from a photograph, and from the \
                  model's own masked description (self-play); and the share of descriptions without \
                  factual error (ours by the judge model and, where it says so, by people; the paper's by \
                  people); and the share of the concept's core properties that descriptions name, before \
                  and after the question for more. The forms of Yu et al. \
                  2025, Tables 1, 2 and 9; the definitions are our own, the paper's come from Wikipedia."
            .into(),
        head: [
            "model",
            "definition",
            "photograph",
            "self-play",
            "no factual error",
            "recall",
            "recall with more",
        ]
        .map(String::from)
        .to_vec(),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(1),
    })
}

/// Tables 4 and 5, where shots were given.
fn table_4(groups: &[Group<'_>]) -> Option<Table> {
    let with_shots = |g: &Group<'_>| g.first().is_some_and(|f| f.setup.icl != Icl::None);
    if !groups.iter().any(with_shots) {
        return None;
    }
    let mut rows: Vec<Vec<Cell>> = groups
        .iter()
        .filter_map(|group| {
            let first = group.first()?;
            Some(vec![
                first.model().into(),
                first.how().into(),
                cell(on(group, Split::CoreTest)),
                cell(on(group, Split::Associative)),
            ])
        })
        .collect();
    let measured = rows.len();
    rows.extend(published().table_4.iter().map(|r| {
        vec![
            r.model.clone().into(),
            r.how.clone().into(),
            printed_cell(r.core_test),
            printed_cell(r.associative),
        ]
    }));
    Some(Table {
        id: "physico-table-4".into(),
        title: "Shots".into(),
        caption: "Accuracy in % with its answers and 95 % interval, with and without shots; the form of Yu et al. 2025, Tables 4 and 5, whose \
                  printed results stand below ours."
            .into(),
        head: ["model", "how", "CORE-Test", "ASSOC."].map(String::from).to_vec(),
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
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
        let both: Vec<(f64, f64)> = text
            .values("pair")
            .iter()
            .filter_map(|pair| {
                let value = |o: &Outcome<'_>| Some(o.part("pair", pair)?.estimate.value);
                Some((value(text)?, value(seen)?))
            })
            .collect();
        let differences: Vec<f64> = both.iter().map(|(t, s)| s - t).collect();
        let Some(mean) = over_concepts(&differences) else {
            continue;
        };
        let set = short(text.task()).trim_end_matches("-text");
        let set = if text.setup.mode == seen.setup.mode {
            set.to_owned()
        } else {
            format!("{set} ({}; {})", text.how(), seen.how())
        };
        let average =
            |of: fn(&(f64, f64)) -> f64| average_cell(&both.iter().map(of).collect::<Vec<f64>>());
        rows.push(vec![
            text.model().into(),
            set.into(),
            average(|b| b.0),
            average(|b| b.1),
            mean_cell(&mean, both.len()),
        ]);
    }
    (!rows.is_empty()).then(|| Table {
        id: "physico-text-picture".into(),
        title: "Grids as numbers and as pictures".into(),
        caption: "Accuracy in % on the same instances, means over concepts; pictures minus text paired by \
                  concept, with its 95 % interval over concepts (Student's t), from five concepts on. \
                  Where the two were asked in different ways, the ways are named: the difference then holds both."
            .into(),
        head: ["model", "set", "text", "pictures", "pictures − text"]
            .map(String::from)
            .to_vec(),
        rows,
        published: vec![],
        numbers: NumberColumns::From(2),
    })
}

fn perceived<'a>(all: &'a [Outcome<'a>]) -> Vec<&'a Outcome<'a>> {
    all.iter()
        .filter(|o| o.task().starts_with("physico/perception-"))
        .collect()
}

/// Whether the grids are seen at all.
fn perception(all: &[Outcome<'_>]) -> Option<Table> {
    let mut rows: Vec<Vec<Cell>> = perceived(all)
        .iter()
        .map(|o| {
            let mut row = vec![o.model().into(), o.how().into()];
            row.extend(Kind::ALL.map(|k| cell(o.part("kind", k.name()))));
            row.push(cell(o.whole()));
            row
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let measured = rows.len();
    let paper = &published().perception;
    let mut row: Vec<Cell> = vec![paper.model.clone().into(), "free answers".into()];
    row.extend(Kind::ALL.map(|_| Cell::none()));
    row.push(Cell::printed(printed(paper.accuracy, None)));
    rows.push(row);
    let mut head = vec!["model".to_owned(), "how".to_owned()];
    head.extend(Kind::ALL.map(|k| k.name().to_owned()));
    head.push("all".into());
    Some(Table {
        id: "physico-perception".into(),
        title: "Are the grids seen?".into(),
        caption: "Accuracy in % with its questions and 95 % interval, on questions about the objects of one pair, chance 25: a failure here is a \
                  failure to see, not to understand. The published figure (Yu et al. 2025, RQ 5) counts \
                  objects whose shape, colour and place were all described rightly."
            .into(),
        head,
        published: (measured..rows.len()).collect(),
        rows,
        numbers: NumberColumns::From(2),
    })
}

fn accuracy_axis() -> Axis {
    Axis {
        title: "accuracy (%)".into(),
        scale: Scale::Linear,
        range: Some((0.0, 100.0)),
    }
}

fn category(title: &str) -> Axis {
    Axis {
        title: title.into(),
        scale: Scale::Category,
        range: None,
    }
}

fn chance() -> Vec<ReferenceLine> {
    vec![ReferenceLine {
        name: "chance".into(),
        y: 25.0,
    }]
}

fn point(label: &str, accuracy: &crate::results::Accuracy, samples: String) -> Point {
    Point {
        x: 0.0,
        label: label.to_owned(),
        y: 100.0 * accuracy.estimate.value,
        low: Some(100.0 * accuracy.estimate.low),
        high: Some(100.0 * accuracy.estimate.high),
        samples: Some(samples),
    }
}

/// The three sets, a series a model and way of asking.
fn bars(groups: &[Group<'_>]) -> Option<Figure> {
    let series: Vec<Series> = groups
        .iter()
        .filter_map(|group| {
            let first = group.first()?;
            let points: Vec<Point> = SPLITS
                .into_iter()
                .filter_map(|split| {
                    let name = split.name();
                    let outcome = group.iter().find(|o| o.part("split", name).is_some())?;
                    let address = format!("{}|{}|split={name}", outcome.model(), outcome.task());
                    Some(point(name, &outcome.part("split", name)?, address))
                })
                .collect();
            (!points.is_empty()).then(|| Series {
                name: format!("{} ({})", first.model(), first.how()),
                published: false,
                points,
            })
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "physico-sets".into(),
        title: "The three sets".into(),
        caption: "Accuracy on the core sets (named by the paper's Tables 6 and 7) and on the associative \
                  set, with 95 % intervals clustered by option set."
            .into(),
        kind: FigureKind::Bar,
        x: category("set"),
        y: accuracy_axis(),
        series,
        references: chance(),
        ranges: vec![],
    })
}

fn perception_bars(all: &[Outcome<'_>]) -> Option<Figure> {
    let series: Vec<Series> = perceived(all)
        .iter()
        .map(|o| Series {
            name: format!("{} ({})", o.model(), o.how()),
            published: false,
            points: Kind::ALL
                .iter()
                .filter_map(|k| {
                    let address = format!("{}|{}|kind={}", o.model(), o.task(), k.name());
                    Some(point(k.name(), &o.part("kind", k.name())?, address))
                })
                .collect(),
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "physico-perception-kinds".into(),
        title: "Are the grids seen?".into(),
        caption: "Accuracy by what is asked about the objects of a pair, with 95 % intervals."
            .into(),
        kind: FigureKind::Bar,
        x: category("asked about"),
        y: accuracy_axis(),
        series,
        references: chance(),
        ranges: vec![],
    })
}

/// The first instances of the first fresh run.
fn pictures(high: &[&Outcome<'_>]) -> Vec<Picture> {
    let Some(first) = high.iter().find(|o| o.setup.source == Source::Fresh) else {
        return vec![];
    };
    let level = if first.task().contains("core") {
        Level::Core
    } else {
        Level::Associative
    };
    planned(level, first.setup.seed, first.setup.per_concept)
        .unwrap_or_default()
        .iter()
        .take(PICTURES)
        .filter_map(|p| p.draw().ok())
        .map(|i| drawing::drawn(&i))
        .collect()
}

#[cfg(test)]
#[path = "exhibits_tests.rs"]
mod tests;

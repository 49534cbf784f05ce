//! Figures of development.

use mary_contract::{Figure, Point, ReferenceLine, RunSummary, Series, ShadedRange};
use mary_platform::{distinct, grouped};

use super::{GrowthCurve, PAPER_WINDOWS, method};
use crate::exhibits::DECLARED;
use crate::grammar::Phenomenon;
use crate::grammar::reference::published;
use crate::trajectories::{Ability, Milestone, Part, Trajectory, conditions, slug};

pub(super) fn counted(found: &[&GrowthCurve]) -> &'static str {
    match found.iter().all(|f| f.trajectory.in_tokens) {
        true => "tokens seen",
        false => "training steps",
    }
}

fn point(trajectory: &Trajectory, milestone: &Milestone) -> Point {
    let tag = match &trajectory.ability.part {
        Part::Tag(tag, value) => format!("|{tag}={value}"),
        _ => String::new(),
    };
    let samples = format!("{}|{}{tag}", milestone.model, trajectory.ability.task);
    let point = Point::measured(format!("step {}", milestone.step), &milestone.value);
    point.at(milestone.x).with_samples(samples)
}

/// A curve of sound checkpoints, and one of the doubtful beside it.
fn curves(name: &str, trajectory: &Trajectory) -> Vec<Series> {
    let sound = trajectory.sound().map(|m| point(trajectory, m));
    let mut curves = vec![Series::measured(name, sound)];
    let milestones = trajectory.milestones.iter();
    let doubtful = milestones.filter(|m| m.doubt.is_some() && m.x > 0.0);
    // One series each: a line between two doubtful checkpoints would suggest a course.
    for milestone in doubtful {
        let name = format!("{name}, step {} (in doubt)", milestone.step);
        curves.push(Series::measured(name, [point(trajectory, milestone)]));
    }
    curves
}

fn paper_window(ability: &Ability) -> Option<(&'static str, f64, f64)> {
    let which = match ability.task.as_str() {
        "psychometric/blimp" | "psychometric/grammar" | "psychometric/grammar-small" => 0,
        "psychometric/matrices" => 1,
        _ => return None,
    };
    PAPER_WINDOWS.get(which).copied()
}

/// The form of the paper's Figure 4: one ability, a curve for each size, its window shaded.
pub(super) fn development(ability: &Ability, own: &[&GrowthCurve]) -> Figure {
    let mut series = Vec::new();
    for found in own {
        series.extend(curves(&found.trajectory.label, &found.trajectory));
    }
    let range = |found: &&GrowthCurve| {
        found.window().map(|window| ShadedRange {
            name: format!("window of {}", found.trajectory.label),
            from: window.onset.value,
            to: window.end.value,
            published: false,
        })
    };
    let mut ranges: Vec<ShadedRange> = own.iter().filter_map(range).collect();
    let seen = own.iter().flat_map(|f| f.trajectory.sound()).map(|m| m.x);
    let reach = seen.fold(0.0, f64::max);
    let in_tokens = own.iter().all(|f| f.trajectory.in_tokens);
    let paper = paper_window(ability).filter(|(_, from, _)| in_tokens && reach > *from);
    if let Some((what, from, to)) = paper {
        ranges.push(ShadedRange {
            name: format!("the paper's window of {what}"),
            from,
            to,
            published: true,
        });
    }
    if ability.task == "psychometric/blimp" && in_tokens {
        series.extend(published_blimp(own));
    }
    let chance = own.iter().find_map(|f| f.trajectory.chance);
    let figure = DECLARED
        .figure("psychometric-development-{id}")
        .saying("id", ability.id())
        .saying("ability", ability.title())
        .saying("method", method())
        .saying("counted", counted(own))
        .with_series(series);
    Figure {
        references: ReferenceLine::chance(chance),
        ranges,
        ..figure
    }
}

/// Published curves of Pythia v0 for the sizes shown, or three sizes when none is Pythia.
fn published_blimp(own: &[&GrowthCurve]) -> Vec<Series> {
    let mut curves = grouped(published().pythia_v0.iter().map(|checkpoint| {
        let point = Point::new(format!("step {}", checkpoint.step), checkpoint.mean);
        (&*checkpoint.model, point.at(checkpoint.tokens))
    }));
    let shown = |model: &str| own.iter().any(|f| f.trajectory.label == model);
    let any = curves.keys().any(|model| shown(model));
    let three = ["pythia-70m", "pythia-1b", "pythia-12b"];
    curves.retain(|model, _| shown(model) || (!any && three.contains(model)));
    let series = |(model, points)| Series::published(format!("{model} v0"), points);
    curves.into_iter().map(series).collect()
}

pub(super) fn overview(found: &[GrowthCurve]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for size in distinct(found.iter().map(|f| f.trajectory.size.as_str())) {
        let whole = |t: &Trajectory| t.size == size && t.ability.part == Part::Score;
        let own: Vec<&GrowthCurve> = found.iter().filter(|f| whole(&f.trajectory)).collect();
        if own.len() < 2 {
            continue;
        }
        let label = own.first().map_or(size, |f| f.trajectory.name.as_str());
        let shown = own.iter().map(|f| &f.trajectory);
        let series = shown.flat_map(|t| curves(&t.title(), t));
        let figure = DECLARED
            .figure("psychometric-development-of-{id}")
            .saying("id", slug(label))
            .saying("label", label)
            .saying("counted", counted(&own));
        figures.push(figure.with_series(series));
    }
    figures
}

/// The form of the paper's Figure 7: grammar by field.
pub(super) fn fields(ability: &Ability, found: &[GrowthCurve]) -> Option<Figure> {
    let of_task = |f: &&GrowthCurve| {
        let Ability { task, part } = &f.trajectory.ability;
        *task == ability.task && matches!(part, Part::Tag(..))
    };
    let own: Vec<&GrowthCurve> = found.iter().filter(of_task).collect();
    let label = &own.first()?.trajectory.label;
    let several = own.iter().any(|f| f.trajectory.label != *label);
    let series = own.iter().flat_map(|f| {
        let Part::Tag(_, field) = &f.trajectory.ability.part else {
            return vec![];
        };
        let field = field.replace('_', "/");
        let name = if several {
            format!("{field}, {}", f.trajectory.label)
        } else {
            field
        };
        curves(&name, &f.trajectory)
    });
    let figure = DECLARED
        .figure("psychometric-development-fields-{id}")
        .saying("id", ability.id())
        .saying("ability", ability.title())
        .saying("counted", counted(&own));
    Some(figure.with_series(series))
}

/// Phenomena by checkpoint, as a heat map for each size.
pub(super) fn phenomena(
    ability: &Ability,
    runs: &[RunSummary],
    own: &[&GrowthCurve],
) -> Vec<Figure> {
    let value = |trajectory: &Trajectory, model: &str, phenomenon: Phenomenon| {
        let rows = runs
            .iter()
            .flat_map(|run| run.rows.iter().map(move |row| (run, row)));
        let mut own = rows.filter(|(run, row)| {
            row.model == model
                && row.task == ability.task
                && conditions(run, row) == trajectory.conditions
        });
        let (_, row) = own.next_back()?;
        row.part("phenomenon", phenomenon.name()).map(|e| e.value)
    };
    let mut figures = Vec::new();
    for found in own.iter().take(8) {
        let trajectory = &found.trajectory;
        let rows = Phenomenon::ALL.iter().map(|phenomenon| {
            let name = phenomenon.name();
            let points = trajectory.milestones.iter().filter_map(|m| {
                let value = value(trajectory, &m.model, *phenomenon)?;
                let address = format!("{}|{}|phenomenon={name}", m.model, ability.task);
                Some(Point::new(m.step.to_string(), value).with_samples(address))
            });
            Series::measured(name, points)
        });
        let figure = DECLARED
            .figure("psychometric-development-phenomena-{id}-{size}")
            .saying("id", ability.id())
            .saying("size", slug(&trajectory.label))
            .saying("ability", ability.title())
            .saying("label", &trajectory.label)
            .with_series(rows.filter(|row| !row.points.is_empty()));
        figures.extend(figure.if_measured());
    }
    figures
}

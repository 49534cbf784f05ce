//! Figures of development.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Figure, FigureKind, Point, ReferenceLine, RunSummary, Scale, Series, ShadedRange,
};

use super::{Found, PAPER_WINDOWS, method};
use crate::grammar::Phenomenon;
use crate::grammar::reference::published;
use crate::trajectories::{Ability, Milestone, Part, Trajectory, conditions};

fn axis_of(found: &[&Found]) -> Axis {
    let title = if found.iter().all(|f| f.trajectory.in_tokens) {
        "tokens seen (log scale; step 0 has no place on it)"
    } else {
        "training steps (log scale; step 0 has no place on it)"
    };
    Axis {
        title: title.into(),
        scale: Scale::Log,
        range: None,
    }
}

fn value_axis(title: &str) -> Axis {
    Axis {
        title: title.into(),
        scale: Scale::Linear,
        range: None,
    }
}

fn point(trajectory: &Trajectory, milestone: &Milestone) -> Point {
    let tag = match &trajectory.ability.part {
        Part::Tag(tag, value) => format!("|{tag}={value}"),
        _ => String::new(),
    };
    Point {
        x: milestone.x,
        label: format!("step {}", milestone.step),
        y: milestone.value.value,
        low: Some(milestone.value.low),
        high: Some(milestone.value.high),
        samples: Some(format!(
            "{}|{}{tag}",
            milestone.model, trajectory.ability.task
        )),
    }
}

/// A curve of sound checkpoints, and one of the doubtful beside it.
fn curves(name: &str, trajectory: &Trajectory) -> Vec<Series> {
    let series = |name: String, points: Vec<Point>| Series {
        name,
        published: false,
        points,
    };
    let mut curves = vec![series(
        name.to_owned(),
        trajectory.sound().map(|m| point(trajectory, m)).collect(),
    )];
    let doubtful = trajectory
        .milestones
        .iter()
        .filter(|m| m.doubt.is_some() && m.x > 0.0);
    // One series each: a line between two doubtful checkpoints would suggest a course.
    for milestone in doubtful {
        let name = format!("{name}, step {} (in doubt)", milestone.step);
        curves.push(series(name, vec![point(trajectory, milestone)]));
    }
    curves
}

/// Which of the paper's windows an ability belongs to.
fn paper_window(ability: &Ability) -> Option<(&'static str, f64, f64)> {
    let which = match ability.task.as_str() {
        "psychometric/blimp" | "psychometric/grammar" | "psychometric/grammar-small" => 0,
        "psychometric/matrices" => 1,
        _ => return None,
    };
    PAPER_WINDOWS.get(which).copied()
}

/// The form of the paper's Figure 4: one ability, a curve for each size, its window shaded.
pub(super) fn development(ability: &Ability, own: &[&Found]) -> Figure {
    let mut series = Vec::new();
    for found in own {
        series.extend(curves(&found.trajectory.label, &found.trajectory));
    }
    let mut ranges = Vec::new();
    for found in own {
        if let Some(window) = found.window() {
            ranges.push(ShadedRange {
                name: format!("window of {}", found.trajectory.label),
                from: window.onset.value,
                to: window.end.value,
                published: false,
            });
        }
    }
    let reach = own
        .iter()
        .flat_map(|f| f.trajectory.sound())
        .map(|m| m.x)
        .fold(0.0, f64::max);
    let in_tokens = own.iter().all(|f| f.trajectory.in_tokens);
    if let Some((what, from, to)) =
        paper_window(ability).filter(|(_, from, _)| in_tokens && reach > *from)
    {
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
    let mut references = Vec::new();
    if let Some(chance) = own.iter().find_map(|f| f.trajectory.chance) {
        references.push(ReferenceLine {
            name: "chance".into(),
            y: chance,
        });
    }
    Figure {
        id: format!("psychometric-development-{}", ability.id()),
        title: format!("Development: {}", ability.title()),
        caption: format!(
            "Score at each checkpoint with its 95 % interval, one curve for each size; the form of Shah \
             et al. 2024, Figure 4. Shaded: the window of growth, from the fitted onset to the fitted end \
             (intervals in the table of onsets). {}",
            method()
        ),
        kind: FigureKind::Line,
        x: axis_of(own),
        y: value_axis("score"),
        series,
        references,
        ranges,
    }
}

/// Published curves of Pythia v0 for the sizes shown, or three sizes when none is Pythia.
fn published_blimp(own: &[&Found]) -> Vec<Series> {
    let mut curves: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for checkpoint in &published().pythia_v0 {
        curves.entry(&checkpoint.model).or_default().push(Point {
            x: checkpoint.tokens,
            label: format!("step {}", checkpoint.step),
            y: checkpoint.mean,
            ..Point::default()
        });
    }
    let shown = |model: &str| own.iter().any(|f| f.trajectory.label == model);
    let any = curves.keys().any(|model| shown(model));
    curves
        .into_iter()
        .filter(|(model, _)| {
            if any {
                shown(model)
            } else {
                ["pythia-70m", "pythia-1b", "pythia-12b"].contains(model)
            }
        })
        .map(|(model, points)| Series {
            name: format!("{model} v0"),
            published: true,
            points,
        })
        .collect()
}

/// All abilities of each size in one picture.
pub(super) fn overview(found: &[Found]) -> Vec<Figure> {
    let mut sizes: Vec<&str> = Vec::new();
    for size in found.iter().map(|f| f.trajectory.size.as_str()) {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    let mut figures = Vec::new();
    for size in sizes {
        let own: Vec<&Found> = found
            .iter()
            .filter(|f| f.trajectory.size == size && f.trajectory.ability.part == Part::Score)
            .collect();
        if own.len() < 2 {
            continue;
        }
        let label = own.first().map_or(size, |f| f.trajectory.name.as_str());
        figures.push(Figure {
            id: format!("psychometric-development-of-{}", file_name(label)),
            title: format!("Development of {label}"),
            caption:
                "Every ability on its own scale (shares of right answers, R², rank correlations); \
                      compare when curves rise, not how high they stand."
                    .into(),
            kind: FigureKind::Line,
            x: axis_of(&own),
            y: value_axis("score, each on its own scale"),
            series: own
                .iter()
                .flat_map(|f| curves(&f.trajectory.title(), &f.trajectory))
                .collect(),
            references: vec![],
            ranges: vec![],
        });
    }
    figures
}

fn file_name(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// The form of the paper's Figure 7: grammar by field.
pub(super) fn fields(ability: &Ability, found: &[Found]) -> Option<Figure> {
    let own: Vec<&Found> = found
        .iter()
        .filter(|f| {
            f.trajectory.ability.task == ability.task
                && matches!(f.trajectory.ability.part, Part::Tag(..))
        })
        .collect();
    let first = own.first()?;
    let several = own
        .iter()
        .any(|f| f.trajectory.label != first.trajectory.label);
    let series = own
        .iter()
        .flat_map(|f| {
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
        })
        .collect();
    Some(Figure {
        id: format!("psychometric-development-fields-{}", ability.id()),
        title: format!("Development by field: {}", ability.title()),
        caption:
            "Morphology, syntax and semantics; the form of Shah et al. 2024, Figure 7, which finds \
                  them to grow in this order."
                .into(),
        kind: FigureKind::Line,
        x: axis_of(&own),
        y: value_axis("share of pairs right"),
        series,
        references: vec![ReferenceLine {
            name: "chance".into(),
            y: 0.5,
        }],
        ranges: vec![],
    })
}

/// Phenomena by checkpoint, as a heat map for each size.
pub(super) fn phenomena(ability: &Ability, runs: &[RunSummary], own: &[&Found]) -> Vec<Figure> {
    let value = |trajectory: &Trajectory, model: &str, phenomenon: Phenomenon| {
        let rows = runs
            .iter()
            .flat_map(|run| run.rows.iter().map(move |row| (run, row)));
        let mut own = rows.filter(|(run, row)| {
            row.model == model
                && row.task == ability.task
                && conditions(run, row) == trajectory.conditions
        });
        let breakdown = own
            .next_back()?
            .1
            .breakdowns
            .iter()
            .find(|b| b.tag == "phenomenon")?;
        breakdown.values.get(phenomenon.name()).map(|e| e.value)
    };
    let mut figures = Vec::new();
    for found in own.iter().take(8) {
        let trajectory = &found.trajectory;
        let mut series: Vec<Series> = Phenomenon::ALL
            .iter()
            .map(|phenomenon| Series {
                name: phenomenon.name().to_owned(),
                published: false,
                points: trajectory
                    .milestones
                    .iter()
                    .filter_map(|m| {
                        Some(Point {
                            label: m.step.to_string(),
                            y: value(trajectory, &m.model, *phenomenon)?,
                            samples: Some(format!(
                                "{}|{}|phenomenon={}",
                                m.model,
                                ability.task,
                                phenomenon.name()
                            )),
                            ..Point::default()
                        })
                    })
                    .collect(),
            })
            .collect();
        series.retain(|s| !s.points.is_empty());
        if series.is_empty() {
            continue;
        }
        figures.push(Figure {
            id: format!(
                "psychometric-development-phenomena-{}-{}",
                ability.id(),
                file_name(&trajectory.label)
            ),
            title: format!(
                "Phenomena through training: {}, {}",
                ability.title(),
                trajectory.label
            ),
            caption: "Share of pairs right, by phenomenon and training step; 0.5 is chance.".into(),
            kind: FigureKind::Heatmap,
            x: Axis {
                title: "training step".into(),
                scale: Scale::Category,
                range: None,
            },
            y: Axis {
                title: "phenomenon".into(),
                scale: Scale::Category,
                range: None,
            },
            series,
            references: vec![],
            ranges: vec![],
        });
    }
    figures
}

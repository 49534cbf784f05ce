//! How models were tuned: the learning curve that lies beside their weights, as figures and a table.

use std::path::{Path, PathBuf};

use mary_contract::{
    Cell, Estimate, Exhibits, Figure, ModelCard, ModelRef, Point, Scale, Series, Table,
};
use mary_stats::{LEVEL, intervals};
use mary_train::{End, LearningStep, MergedProvenance, TrainError};

use crate::DECLARED;

/// Points of a drawn curve, at most: every loss is the mean over a stretch of steps.
const DRAWN: usize = 100;

struct Tuned {
    model: String,
    steps: Vec<LearningStep>,
    end: String,
}

/// What is to be seen of how these models were tuned; nothing where none has its learning curve beside it.
pub fn exhibits<'a>(
    models: impl IntoIterator<Item = &'a ModelCard>,
) -> Result<Option<Exhibits>, TrainError> {
    let mut all: Vec<Tuned> = Vec::new();
    for card in models {
        let model = card.model.to_string();
        if all.iter().any(|t| t.model == model) {
            continue;
        }
        let Some(folder) = folder_of(&card.model) else {
            continue;
        };
        // Other tools may call a file so: what is none of ours is not shown.
        let steps = mary_train::learning(&folder).unwrap_or(None);
        if let Some(steps) = steps.filter(|s| !s.is_empty()) {
            let end = ending(&folder)?;
            all.push(Tuned { model, steps, end });
        }
    }
    Ok((!all.is_empty()).then(|| shown(&all)))
}

/// Where a local model's files lie.
fn folder_of(model: &ModelRef) -> Option<PathBuf> {
    let path = Path::new(&model.name);
    match model.provider.as_str() {
        "hf" if path.is_dir() => Some(path.to_owned()),
        "gguf" if path.is_file() => path.parent().map(Path::to_owned),
        _ => None,
    }
}

fn ending(folder: &Path) -> Result<String, TrainError> {
    let made = MergedProvenance::read(folder)?.and_then(|merged| merged.tuned);
    let Some(ending) = made.and_then(|tuned| tuned.ending) else {
        return Ok("not said".into());
    };
    let mut words = match ending.end {
        End::Finished => "all steps done".to_owned(),
        End::Early => format!("stopped early, {} of {} steps", ending.steps, ending.of),
        End::Interrupted => format!("interrupted, {} of {} steps", ending.steps, ending.of),
    };
    if ending.kept != ending.steps {
        words += &format!("; the adapter of step {} was kept", ending.kept);
    }
    Ok(words)
}

fn shown(all: &[Tuned]) -> Exhibits {
    let of = |name: &str, points: &dyn Fn(&Tuned) -> Vec<Point>| -> Vec<Series> {
        let drawn = all.iter().map(|tuned| {
            // One model needs no name: what is drawn of it does.
            let name = if all.len() == 1 { name } else { &tuned.model };
            Series::measured(name, points(tuned))
        });
        drawn.filter(|s| !s.points.is_empty()).collect()
    };
    let at = |step: &LearningStep| (format!("step {}", step.step), step.step as f64);
    let learned = of("learned from", &|tuned| means(&tuned.steps));
    let kept = of("kept back", &|tuned| {
        let scored = tuned.steps.iter().filter_map(|step| {
            let (label, x) = at(step);
            Some(Point::new(label, step.held_out_loss?).at(x))
        });
        scored.collect()
    });
    let exact = of("kept back", &|tuned| {
        let scored = tuned.steps.iter().filter_map(|step| {
            let (label, x) = at(step);
            Some(Point::percent(label, &exact(step)?).at(x))
        });
        scored.collect()
    });
    let loss = DECLARED.figure("learning-loss");
    let mut figures = if all.len() == 1 {
        let caption = format!(
            "Mean loss of the answers that are learned from, while they are learned{}, and of those that are kept \
             back, where they were scored.",
            stretched(all)
        );
        let loss = loss.saying("title", "Learning curve");
        vec![
            loss.saying("caption", caption)
                .with_series(learned)
                .with_series(kept),
        ]
    } else {
        let caption = format!(
            "Mean loss of the answers that each model learned from, while they were learned{}.",
            stretched(all)
        );
        let loss = loss.saying("title", "Loss of what is learned from");
        vec![
            loss.saying("caption", caption).with_series(learned),
            DECLARED.figure("learning-held-out").with_series(kept),
        ]
    };
    figures.push(DECLARED.figure("learning-exact").with_series(exact));
    figures.retain(|f| !f.series.is_empty());
    figures.iter_mut().for_each(spread);
    Exhibits {
        tables: vec![table(DECLARED.table("learning-table"), all)],
        figures,
        pictures: Vec::new(),
    }
}

/// A loss that falls to a hundredth is drawn by its logarithm, or nothing is seen of its end.
fn spread(figure: &mut Figure) {
    const WIDE: f64 = 20.0;
    let values = figure.series.iter().flat_map(|s| &s.points).map(|p| p.y);
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(l, h), y| (l.min(y), h.max(y)));
    if figure.y.range.is_none() && low > 0.0 && high > WIDE * low {
        figure.y.scale = Scale::Log;
    }
}

/// Steps behind one drawn point.
fn stretch(steps: usize) -> usize {
    steps.div_ceil(DRAWN).max(1)
}

/// What a caption says of drawn means.
fn stretched(all: &[Tuned]) -> String {
    let most = all.iter().map(|t| stretch(t.steps.len())).max();
    match most {
        Some(steps) if steps > 1 => format!(" (each point the mean of up to {steps} steps)"),
        _ => String::new(),
    }
}

/// The losses of what is learned from, drawn at the last step of each stretch.
fn means(steps: &[LearningStep]) -> Vec<Point> {
    let losses: Vec<(u64, f64)> = steps
        .iter()
        .filter_map(|s| Some((s.step, s.loss?)))
        .collect();
    let mean = |part: &[(u64, f64)]| {
        let mean = part.iter().map(|(_, loss)| loss).sum::<f64>() / part.len() as f64;
        let last = part.last()?.0;
        Some(Point::new(format!("step {last}"), mean).at(last as f64))
    };
    let parts = losses.chunks(stretch(losses.len()));
    parts.filter_map(mean).collect()
}

fn exact(step: &LearningStep) -> Option<Estimate> {
    share_of((step.held_out_exact?, step.held_out?))
}

fn share_of((share, n): (f64, usize)) -> Option<Estimate> {
    let hits = (share * n as f64).round() as u64;
    let found = intervals::wilson(hits, n as u64, LEVEL).ok()?;
    let bounds = (found.low, found.high);
    Some(Estimate::new(found.value, bounds, found.n, found.method))
}

fn table(declared: Table, all: &[Tuned]) -> Table {
    declared.with_rows(all.iter().map(|tuned| {
        let scored: Vec<&LearningStep> = tuned
            .steps
            .iter()
            .filter(|s| s.held_out.is_some())
            .collect();
        let loss = |step: Option<&&LearningStep>| {
            let value = step.and_then(|s| s.held_out_loss);
            value.map_or_else(Cell::none, |v| Cell::figure(format!("{v:.3}")))
        };
        let share = |step: Option<&&LearningStep>| {
            let found = step.and_then(|s| exact(s));
            found.map_or_else(Cell::none, |e| Cell::percent(&e, 1))
        };
        let lowest = scored.iter().copied().reduce(|a, b| {
            if b.held_out_loss < a.held_out_loss {
                b
            } else {
                a
            }
        });
        vec![
            tuned.model.clone().into(),
            Cell::count(tuned.steps.iter().filter(|s| s.loss.is_some()).count()),
            tuned.end.clone().into(),
            loss(scored.first()),
            loss(scored.last()),
            lowest.map_or_else(Cell::none, |s| Cell::figure(s.step.to_string())),
            share(scored.first()),
            share(scored.last()),
            tuned
                .steps
                .iter()
                .find_map(|s| share_of(s.learned_exact?))
                .map_or_else(Cell::none, |e| Cell::percent(&e, 1)),
        ]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(steps: u64) -> Vec<LearningStep> {
        (0..=steps)
            .map(|step| LearningStep {
                step,
                loss: (step > 0).then(|| 2.0 / step as f64),
                rate: None,
                held_out_loss: (step % 50 == 0).then_some(1.0),
                held_out_exact: (step % 50 == 0).then_some(0.25),
                held_out: (step % 50 == 0).then_some(20),
                learned_exact: (step == steps).then_some((0.5, 40)),
            })
            .collect()
    }

    fn tuned(model: &str, steps: u64) -> Tuned {
        Tuned {
            model: model.into(),
            steps: curve(steps),
            end: "all steps done".into(),
        }
    }

    #[test]
    fn what_is_declared_can_be_read() {
        assert_eq!(mary_contract::Declarations::check(crate::EXHIBITS), Ok(()));
    }

    #[test]
    fn a_curve_is_drawn_from_means_and_never_of_more_points_than_are_seen() {
        let drawn = shown(&[tuned("hf/a", 250)]);
        let [both, exact] = drawn.figures.as_slice() else {
            panic!("{:?}", drawn.figures.len());
        };
        assert_eq!((both.y.scale, exact.y.scale), (Scale::Log, Scale::Linear));
        let lengths: Vec<usize> = both.series.iter().map(|s| s.points.len()).collect();
        assert_eq!(lengths, [84, 6]);
        let first = &both.series[0].points[0];
        assert_eq!(first.x, 3.0);
        assert!((first.y - (2.0 + 1.0 + 2.0 / 3.0) / 3.0).abs() < 1e-12);
        assert!(both.caption.contains("up to 3 steps"), "{}", both.caption);
        let share = &exact.series[0].points[1];
        assert!(
            share.low < Some(25.0) && share.high > Some(25.0),
            "{share:?}"
        );
        assert!(drawn.tables[0].bare().is_empty());
    }

    #[test]
    fn several_models_have_a_figure_for_each_loss() {
        let drawn = shown(&[tuned("hf/a", 20), tuned("hf/b", 20)]);
        let ids: Vec<&str> = drawn.figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(
            ids,
            ["learning-loss", "learning-held-out", "learning-exact"]
        );
        assert_eq!(drawn.figures[0].series[1].name, "hf/b");
        assert_eq!(drawn.tables[0].rows.len(), 2);
        let last = drawn.tables[0].rows[0].last().expect("cells");
        assert!(last.starts_with("50.0"), "{last:?}");
    }
}

//! What a report shows of how its models were tuned: the learning curve beside the weights, as figures
//! and a table.

use std::path::{Path, PathBuf};

use mary_contract::{
    Axis, Cell, Estimate, Exhibits, Figure, FigureKind, ModelRef, NumberColumns, Point, Scale,
    Series, Table,
};
use mary_report::html::Chapter;
use mary_stats::{LEVEL, intervals};
use mary_store::RunFolder;
use mary_train::{End, LearningStep, MergedProvenance};

/// Points of a drawn curve, at most: every loss is the mean over a stretch of steps.
const DRAWN: usize = 100;

/// A model with how it was tuned.
struct Tuned {
    model: String,
    steps: Vec<LearningStep>,
    /// How the tuning ended, in words.
    end: String,
}

/// The chapter of tuned models, where some of these runs asked one whose learning curve is still there.
pub fn chapter(folders: &[RunFolder]) -> anyhow::Result<Option<Chapter>> {
    let mut all: Vec<Tuned> = Vec::new();
    for card in folders.iter().flat_map(|f| &f.manifest().models) {
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
    Ok((!all.is_empty()).then(|| Chapter {
        id: "learning".into(),
        title: "Learning".into(),
        exhibits: exhibits(&all),
    }))
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

fn ending(folder: &Path) -> anyhow::Result<String> {
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

fn exhibits(all: &[Tuned]) -> Exhibits {
    let learned = |tuned: &Tuned| means(&tuned.steps);
    let kept = |tuned: &Tuned| -> Vec<Point> {
        let scored = tuned.steps.iter();
        scored
            .filter_map(|s| Some(point(s.step, s.held_out_loss?)))
            .collect()
    };
    let of = |name: &str, points: &dyn Fn(&Tuned) -> Vec<Point>| -> Vec<Series> {
        let drawn = all.iter().map(|tuned| Series {
            // One model needs no name: what is drawn of it does.
            name: match all.len() {
                1 => name.to_owned(),
                _ => tuned.model.clone(),
            },
            published: false,
            points: points(tuned),
        });
        drawn.filter(|s| !s.points.is_empty()).collect()
    };
    let (learned, kept) = (of("learned from", &learned), of("kept back", &kept));
    let nats = "loss (nats per answer token)";
    let mut figures = Vec::new();
    if all.len() == 1 {
        let series = learned.into_iter().chain(kept).collect();
        let caption = format!(
            "Mean loss of the answers that are learned from, while they are learned{}, and of those that are kept \
             back, where they were scored.",
            stretched(all)
        );
        figures.push(figure(
            "learning-loss",
            "Learning curve",
            &caption,
            nats,
            series,
        ));
    } else {
        let caption = format!(
            "Mean loss of the answers that each model learned from, while they were learned{}.",
            stretched(all)
        );
        figures.push(figure(
            "learning-loss",
            "Loss of what is learned from",
            &caption,
            nats,
            learned,
        ));
        let caption =
            "Mean loss of the answers that were kept back from each model, where they were scored.";
        figures.push(figure(
            "learning-held-out",
            "Loss of what is kept back",
            caption,
            nats,
            kept,
        ));
    }
    let exact = of("kept back", &|tuned| {
        tuned.steps.iter().filter_map(exact_point).collect()
    });
    let caption = "Share of the answers kept back whose every token was the most probable one, with 95 % intervals.";
    let mut drawn = figure(
        "learning-exact",
        "Answers given exactly",
        caption,
        "answers given exactly (%)",
        exact,
    );
    drawn.y.range = Some((0.0, 100.0));
    figures.push(drawn);
    figures.retain(|f| !f.series.is_empty());
    figures.iter_mut().for_each(spread);
    Exhibits {
        tables: vec![table(all)],
        figures,
        pictures: Vec::new(),
    }
}

fn figure(id: &str, title: &str, caption: &str, y: &str, series: Vec<Series>) -> Figure {
    let axis = |title: &str| Axis {
        title: title.into(),
        scale: Scale::Linear,
        range: None,
    };
    Figure {
        id: id.into(),
        title: title.into(),
        caption: caption.into(),
        kind: FigureKind::Line,
        x: axis("step"),
        y: axis(y),
        series,
        references: vec![],
        ranges: vec![],
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

fn point(step: u64, y: f64) -> Point {
    Point {
        x: step as f64,
        label: format!("step {step}"),
        y,
        ..Point::default()
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
    losses
        .chunks(stretch(losses.len()))
        .filter_map(|part| {
            let mean = part.iter().map(|(_, loss)| loss).sum::<f64>() / part.len() as f64;
            Some(point(part.last()?.0, mean))
        })
        .collect()
}

/// The share of answers given exactly, with its interval.
fn exact(step: &LearningStep) -> Option<Estimate> {
    let (share, n) = (step.held_out_exact?, step.held_out?);
    let hits = (share * n as f64).round() as u64;
    let found = intervals::wilson(hits, n as u64, LEVEL).ok()?;
    Some(Estimate {
        value: found.value,
        low: found.low,
        high: found.high,
        n: found.n,
        method: found.method.into(),
    })
}

fn exact_point(step: &LearningStep) -> Option<Point> {
    let found = exact(step)?;
    Some(Point {
        low: Some(100.0 * found.low),
        high: Some(100.0 * found.high),
        ..point(step.step, 100.0 * found.value)
    })
}

fn table(all: &[Tuned]) -> Table {
    let rows = all.iter().map(|tuned| {
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
        ]
    });
    Table {
        id: "learning-table".into(),
        title: "Tuning".into(),
        caption: "What was kept back from learning, at the first and at the last step at which it was scored: mean \
                  loss in nats per answer token, and the share of answers given exactly in % with 95 % interval."
            .into(),
        head: [
            "model",
            "steps",
            "end",
            "loss, first",
            "loss, last",
            "lowest at step",
            "exact, first",
            "exact, last",
        ]
        .map(String::from)
        .to_vec(),
        rows: rows.collect(),
        published: vec![],
        numbers: NumberColumns::At(vec![1, 3, 4, 5, 6, 7]),
    }
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
    fn a_curve_is_drawn_from_means_and_never_of_more_points_than_are_seen() {
        let shown = exhibits(&[tuned("hf/a", 250)]);
        let [both, exact] = shown.figures.as_slice() else {
            panic!("{:?}", shown.figures.len());
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
        assert!(shown.tables[0].bare().is_empty());
    }

    #[test]
    fn several_models_have_a_figure_for_each_loss() {
        let shown = exhibits(&[tuned("hf/a", 20), tuned("hf/b", 20)]);
        let ids: Vec<&str> = shown.figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(
            ids,
            ["learning-loss", "learning-held-out", "learning-exact"]
        );
        assert_eq!(shown.figures[0].series[1].name, "hf/b");
        assert_eq!(shown.tables[0].rows.len(), 2);
    }
}

//! Figures 5 and 6 through training, and curves over layers, distances and categories.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{
    Axis, Conditions, Estimate, Figure, FigureKind, Point, ReferenceLine, Scale, Series, variants,
};

use super::{Found, told_apart};
use crate::published::published;
use crate::trajectories::stage;

/// All figures that the results can fill.
pub(super) fn figures(all: &[Found<'_>], end: &[Found<'_>]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = [maximum_through_training(all), kinds_through_training(all)]
        .into_iter()
        .flatten()
        .collect();
    figures.extend(effects_by_layer(end));
    figures.extend(kinds_by_layer(end));
    let rest = [
        cosine_by_distance(end),
        number_line(end),
        typicality_by_category(end),
        matrices_by_rule(end),
    ];
    figures.extend(rest.into_iter().flatten());
    figures
}

fn axis(title: &str, scale: Scale, range: Option<(f64, f64)>) -> Axis {
    Axis {
        title: title.into(),
        scale,
        range,
    }
}

fn point(x: f64, label: &str, e: &Estimate, samples: Option<String>) -> Point {
    Point {
        x,
        label: label.into(),
        y: e.value,
        low: Some(e.low),
        high: Some(e.high),
        samples,
    }
}

fn series(name: impl Into<String>, points: Vec<Point>) -> Series {
    Series {
        name: name.into(),
        published: false,
        points,
    }
}

fn numbers<'a>(all: &'a [Found<'a>]) -> impl Iterator<Item = &'a Found<'a>> {
    all.iter()
        .filter(|f| f.task() == "numbers" && f.set("range", "1-9") == "1-9")
}

/// Results on numbers with the name of each: the model, and what tells it from another result of it.
fn named<'a>(all: &'a [Found<'a>]) -> impl Iterator<Item = (&'a Found<'a>, String)> {
    let of: Vec<&Found<'a>> = numbers(all).collect();
    let names: Vec<String> = of
        .iter()
        .zip(told_apart(&of))
        .map(|(f, variant)| format!("{}{variant}", f.model()))
        .collect();
    of.into_iter().zip(names)
}

const KINDS: [(&str, &str); 3] = [
    ("number_number", "number, number"),
    ("number_word", "number, word"),
    ("word_word", "word, word"),
];

/// Tokens seen (or the step), the result and its estimate.
type AtStage<'a> = (f64, &'a Found<'a>, &'a Estimate);

/// Values of a measure at each checkpoint, by size and by what was asked: tokens seen (or the step) and
/// the estimate.
fn through_training<'a>(
    all: &'a [Found<'a>],
    measure: &str,
) -> BTreeMap<(String, Conditions), Vec<AtStage<'a>>> {
    let mut sizes: BTreeMap<(String, Conditions), Vec<_>> = BTreeMap::new();
    for f in numbers(all) {
        let (Some(at), Some(value)) = (stage(f.model(), f.card), f.measure(measure)) else {
            continue;
        };
        let x = at.tokens.unwrap_or(at.step as f64);
        // Step 0 has no place on a logarithmic axis.
        if x > 0.0 {
            let key = (at.size, f.conditions());
            sizes.entry(key).or_default().push((x, f, value));
        }
    }
    sizes.retain(|_, points| points.len() > 1);
    for points in sizes.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    sizes
}

/// What stands behind a name for each of the conditions; nothing where there is only one.
fn variant_names<T>(of: &BTreeMap<(String, Conditions), T>) -> BTreeMap<Conditions, String> {
    let distinct: BTreeSet<&Conditions> = of.keys().map(|(_, conditions)| conditions).collect();
    let distinct: Vec<&Conditions> = distinct.into_iter().collect();
    let names = variants(&distinct)
        .into_iter()
        .map(|name| match name.as_str() {
            "" => name,
            name => format!(" ({name})"),
        });
    distinct.into_iter().cloned().zip(names).collect()
}

fn address(f: &Found<'_>) -> Option<String> {
    Some(format!("{}|{}", f.row.model, f.row.task))
}

/// Figure 5: the largest similarity of two numbers through training.
fn maximum_through_training(all: &[Found<'_>]) -> Option<Figure> {
    let sizes = through_training(all, "max");
    let names = variant_names(&sizes);
    let lines: Vec<Series> = sizes
        .iter()
        .map(|((size, conditions), points)| {
            let points = points
                .iter()
                .map(|(x, f, e)| point(*x, "", e, address(f)))
                .collect();
            let variant = names.get(conditions).map_or("", String::as_str);
            series(format!("{size}{variant}"), points)
        })
        .collect();
    (!lines.is_empty()).then(|| Figure {
        id: "psychometric-figure-5".into(),
        title: "The idea of number through training: largest similarity".into(),
        caption: "Largest cosine of two numbers, mean over formats and layers, by tokens seen (by step where \
                  the tokens of a step are not known). The form of Shah et al. 2024, Figure 5, which prints \
                  no values."
            .into(),
        kind: FigureKind::Line,
        x: axis("tokens seen (or step)", Scale::Log, None),
        y: axis("largest cosine", Scale::Linear, None),
        series: lines,
        references: vec![],
        ranges: vec![],
    })
}

/// Figure 6: numbers with numbers, numbers with words, words with words, mean over sizes.
fn kinds_through_training(all: &[Found<'_>]) -> Option<Figure> {
    let mut lines: Vec<Series> = Vec::new();
    for (measure, name) in KINDS {
        let sizes = through_training(all, measure);
        for (conditions, variant) in variant_names(&sizes) {
            let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            let own = sizes.iter().filter(|((_, c), _)| *c == conditions);
            for (x, _, e) in own.flat_map(|(_, points)| points) {
                at.entry(x.round() as u64).or_default().push(e.value);
            }
            let points = at
                .into_iter()
                .map(|(x, values)| Point {
                    x: x as f64,
                    y: values.iter().sum::<f64>() / values.len() as f64,
                    ..Point::default()
                })
                .collect();
            lines.push(series(format!("{name}{variant}"), points));
        }
    }
    (!lines.is_empty()).then(|| Figure {
        id: "psychometric-figure-6".into(),
        title: "The idea of number through training: kinds of pairs".into(),
        caption: "Mean cosine of two numbers, of a number and a word, and of two words, over formats, layers \
                  and model sizes. The form of Shah et al. 2024, Figure 6, which prints no values."
            .into(),
        kind: FigureKind::Line,
        x: axis("tokens seen (or step)", Scale::Log, None),
        y: axis("mean cosine", Scale::Linear, None),
        series: lines,
        references: vec![],
        ranges: vec![],
    })
}

fn by_layer(f: &Found<'_>, measure: &str) -> Vec<Point> {
    let mut points: Vec<Point> = f
        .measures(&format!("{measure}.layer_"))
        .into_iter()
        .filter_map(|(layer, e)| Some(point(layer.parse().ok()?, layer, e, address(f))))
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

const EFFECTS: [&str; 4] = ["distance", "ratio", "size", "mds_correlation"];

/// One effect over layers: its curves, the same with labels permuted, its level on random vectors.
struct EffectByLayer {
    effect: &'static str,
    lines: Vec<Series>,
    nulls: Vec<Series>,
    noise: Option<ReferenceLine>,
}

impl EffectByLayer {
    fn of(effect: &'static str, end: &[Found<'_>]) -> Option<Self> {
        let curves = |measure: &str, remark: &str| -> Vec<Series> {
            named(end)
                .map(|(f, name)| series(format!("{name}{remark}"), by_layer(f, measure)))
                .filter(|s| s.points.len() > 1)
                .collect()
        };
        let lines = curves(effect, "");
        let nulls = curves(&format!("{effect}_null"), ", labels permuted");
        let noise = numbers(end)
            .find_map(|f| f.measure(&format!("{effect}_noise")))
            .map(|e| ReferenceLine {
                name: format!("{}, random vectors", effect.replace('_', " ")),
                y: e.value,
            });
        (!lines.is_empty()).then_some(Self {
            effect,
            lines,
            nulls,
            noise,
        })
    }
}

/// Effects over layers: all in one figure for one model, a figure for each effect where models are
/// compared.
fn effects_by_layer(end: &[Found<'_>]) -> Vec<Figure> {
    let by_effect: Vec<EffectByLayer> = EFFECTS
        .into_iter()
        .filter_map(|effect| EffectByLayer::of(effect, end))
        .collect();
    let figure = |id: String, title: String, series: Vec<Series>, references| {
        Figure {
        id,
        title,
        caption: "R² of the effect (for scaling: correlation of the places with the logarithm), mean over \
                  formats, by layer; layer 0 is the embedding. Whiskers are the range of the three \
                  formats. Beside it, where measured, its mean when labels are permuted, and as a line \
                  its level on random vectors."
            .into(),
        kind: FigureKind::Line,
        x: axis("layer", Scale::Linear, None),
        y: axis("R² or correlation", Scale::Linear, Some((0.0, 1.0))),
        series,
        references,
        ranges: vec![],
    }
    };
    let one_model = by_effect.iter().all(|e| e.lines.len() == 1);
    if one_model && !by_effect.is_empty() {
        let (mut all, mut references) = (Vec::new(), Vec::new());
        for one in by_effect {
            let name = one.effect.replace('_', " ");
            all.extend(one.lines.into_iter().chain(one.nulls).map(|line| Series {
                name: format!("{}: {name}", line.name),
                ..line
            }));
            references.extend(one.noise);
        }
        let title = "The number line in every layer".to_owned();
        return vec![figure(
            "psychometric-numbers-layers".into(),
            title,
            all,
            references,
        )];
    }
    by_effect
        .into_iter()
        .map(|one| {
            let id = format!(
                "psychometric-numbers-layers-{}",
                one.effect.replace('_', "-")
            );
            let title = format!(
                "The number line in every layer: {}",
                one.effect.replace('_', " ")
            );
            let lines = one.lines.into_iter().chain(one.nulls).collect();
            figure(id, title, lines, one.noise.into_iter().collect())
        })
        .collect()
}

/// Models of which the kinds of pairs are drawn by layer, at most.
const MOST_MODELS: usize = 4;

/// Figure 6's kinds of pairs over layers, a figure for each model.
fn kinds_by_layer(end: &[Found<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (f, name) in named(end) {
        let lines: Vec<Series> = KINDS
            .iter()
            .map(|(measure, kind)| series(*kind, by_layer(f, measure)))
            .filter(|s| s.points.len() > 1)
            .collect();
        if lines.is_empty() || figures.len() == MOST_MODELS {
            continue;
        }
        figures.push(Figure {
            id: format!("psychometric-numbers-kinds-{}", figures.len() + 1),
            title: format!("Numbers among words, in every layer: {name}"),
            caption:
                "Mean cosine of two numbers, of a number and a word, and of two words, by layer."
                    .into(),
            kind: FigureKind::Line,
            x: axis("layer", Scale::Linear, None),
            y: axis("mean cosine", Scale::Linear, None),
            series: lines,
            references: vec![],
            ranges: vec![],
        });
    }
    figures
}

/// Figure 1A: similarity by distance.
fn cosine_by_distance(end: &[Found<'_>]) -> Option<Figure> {
    let lines: Vec<Series> = named(end)
        .filter_map(|(f, name)| {
            let mut points: Vec<Point> = f
                .measures("cosine_at_distance_")
                .into_iter()
                .filter_map(|(d, e)| Some(point(d.parse().ok()?, d, e, address(f))))
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            (points.len() > 1).then(|| series(name, points))
        })
        .collect();
    (!lines.is_empty()).then(|| Figure {
        id: "psychometric-numbers-distance".into(),
        title: "The distance effect".into(),
        caption:
            "Mean cosine of two numbers by the distance between them, over formats and layers; a \
                  falling line is people's effect. The form of Shah et al. 2024, Figure 1A."
                .into(),
        kind: FigureKind::Line,
        x: axis("distance |x − y|", Scale::Linear, None),
        y: axis("cosine", Scale::Linear, None),
        series: lines,
        references: vec![],
        ranges: vec![],
    })
}

/// Where scaling puts the numbers.
fn number_line(end: &[Found<'_>]) -> Option<Figure> {
    let mut lines: Vec<Series> = named(end)
        .filter_map(|(f, name)| {
            let mut points: Vec<Point> = f
                .measures("place_of_")
                .into_iter()
                .filter_map(|(n, e)| Some(point(n.parse().ok()?, n, e, address(f))))
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            (points.len() > 1).then(|| series(name, points))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let logs: Vec<f64> = (1..=9).map(|n| f64::from(n).ln()).collect();
    let mean = logs.iter().sum::<f64>() / 9.0;
    let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 9.0).sqrt();
    let ideal = logs
        .iter()
        .zip(1..)
        .map(|(log, n)| Point {
            x: f64::from(n),
            y: (log - mean) / deviation,
            ..Point::default()
        })
        .collect();
    lines.push(series("logarithms of 1 to 9 (the ideal)", ideal));
    Some(Figure {
        id: "psychometric-numbers-line".into(),
        title: "Where scaling puts the numbers".into(),
        caption: "Places of the numbers on the line that fits their dissimilarities best, scaled to unit \
                  variance and turned to correlate with the logarithm, mean over formats and layers; beside \
                  them the places of their logarithms (the human number line)."
            .into(),
        kind: FigureKind::Line,
        x: axis("number", Scale::Linear, None),
        y: axis("place", Scale::Linear, None),
        series: lines,
        references: vec![],
        ranges: vec![],
    })
}

/// Spearman's correlation by category, with intervals.
fn typicality_by_category(end: &[Found<'_>]) -> Option<Figure> {
    let mut bars = Vec::new();
    for f in end.iter().filter(|f| f.task().starts_with("typicality-")) {
        let points: Vec<Point> = f
            .measures("category:")
            .into_iter()
            .filter(|(name, _)| !name.contains('.'))
            .map(|(name, e)| {
                let samples = format!("{}|{}|category={name}", f.row.model, f.row.task);
                point(0.0, name, e, Some(samples))
            })
            .collect();
        if !points.is_empty() {
            let shots = match (f.task(), f.settings.shots) {
                ("typicality-surprisal", Some(k)) if k > 0 => format!(", {k} shots"),
                _ => String::new(),
            };
            let how = f.task().trim_start_matches("typicality-");
            let name = format!("{} ({how}{shots}, {})", f.model(), f.set("norms", "world"));
            bars.push(series(name, points));
        }
    }
    if bars.is_empty() {
        return None;
    }
    let prompted = end
        .iter()
        .any(|f| f.task() == "typicality-prompting" && f.row.score.is_some());
    if prompted {
        for model in ["GPT 4", "Gemini"] {
            let points = published()
                .table_6
                .iter()
                .filter(|c| c.category != "Average")
                .filter_map(|c| {
                    Some(Point {
                        label: c.category.clone(),
                        y: *c.models.get(model)?,
                        ..Point::default()
                    })
                })
                .collect();
            bars.push(Series {
                published: true,
                ..series(format!("{model}, prompting"), points)
            });
        }
    }
    Some(Figure {
        id: "psychometric-typicality".into(),
        title: "Typicality by category".into(),
        caption: "Spearman's correlation of what the model says with typicality, with 95 % intervals; 0 is \
                  no relation."
            .into(),
        kind: FigureKind::Bar,
        x: axis("category", Scale::Category, None),
        y: axis("Spearman's correlation", Scale::Linear, Some((-1.0, 1.0))),
        series: bars,
        references: vec![ReferenceLine {
            name: "no relation".into(),
            y: 0.0,
        }],
        ranges: vec![],
    })
}

/// Accuracy on matrices by the rule of each attribute.
fn matrices_by_rule(end: &[Found<'_>]) -> Option<Figure> {
    let mut bars = Vec::new();
    let of: Vec<&Found<'_>> = end.iter().filter(|f| f.task() == "matrices").collect();
    for (f, variant) in of.iter().zip(told_apart(&of)) {
        let mut points = Vec::new();
        for attribute in crate::matrices::ATTRIBUTES {
            let by = f.row.breakdowns.iter().find(|b| b.tag == attribute);
            for (rule, e) in by.iter().flat_map(|b| &b.values) {
                let samples = format!("{}|{}|{attribute}={rule}", f.row.model, f.row.task);
                points.push(point(
                    0.0,
                    &format!("{attribute}: {rule}"),
                    e,
                    Some(samples),
                ));
            }
        }
        if !points.is_empty() {
            bars.push(series(
                format!("{} ({}){variant}", f.model(), f.set("matrices", "fresh")),
                points,
            ));
        }
    }
    (!bars.is_empty()).then(|| Figure {
        id: "psychometric-matrices-rules".into(),
        title: "Matrices by rule".into(),
        caption: "Accuracy on matrices whose type, size or colour follows each rule.".into(),
        kind: FigureKind::Bar,
        x: axis("attribute and rule", Scale::Category, None),
        y: axis("accuracy", Scale::Linear, Some((0.0, 1.0))),
        series: bars,
        references: vec![ReferenceLine {
            name: "chance".into(),
            y: 0.125,
        }],
        ranges: vec![],
    })
}

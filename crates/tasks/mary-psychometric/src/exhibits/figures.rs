//! Figures 5 and 6 through training, and curves over layers, distances and categories.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Conditions, Estimate, Figure, Point, ReferenceLine, Series};
use mary_platform::{given, means};

use super::{DECLARED, TaskResult, in_brackets, told_apart};
use crate::published::published;
use crate::trajectories::stage;

pub(super) fn figures(all: &[TaskResult<'_>], end: &[TaskResult<'_>]) -> Vec<Figure> {
    let through_training = [maximum_through_training(all), kinds_through_training(all)];
    let rest = [
        cosine_by_distance(end),
        number_line(end),
        typicality_by_category(end),
        matrices_by_rule(end),
    ];
    let by_layer = effects_by_layer(end).into_iter().chain(kinds_by_layer(end));
    let first = through_training.into_iter().flatten().chain(by_layer);
    first.chain(rest.into_iter().flatten()).collect()
}

fn numbers<'a>(all: &'a [TaskResult<'a>]) -> impl Iterator<Item = &'a TaskResult<'a>> {
    all.iter()
        .filter(|f| f.task() == "numbers" && f.set("range", "1-9") == "1-9")
}

/// Results on numbers with the name of each: the model, and what tells it from another result of it.
fn named<'a>(all: &'a [TaskResult<'a>]) -> impl Iterator<Item = (&'a TaskResult<'a>, String)> {
    let of: Vec<&TaskResult<'a>> = numbers(all).collect();
    let variants = told_apart(&of);
    let name = |(f, variant): (&'a TaskResult<'a>, String)| (f, format!("{}{variant}", f.model()));
    of.into_iter().zip(variants).map(name)
}

const KINDS: [(&str, &str); 3] = [
    ("number_number", "number, number"),
    ("number_word", "number, word"),
    ("word_word", "word, word"),
];

type AtStage<'a> = (f64, &'a TaskResult<'a>, &'a Estimate);

/// Values of a measure at each checkpoint, by size and by what was asked: tokens seen (or the step) and
/// the estimate.
fn through_training<'a>(
    all: &'a [TaskResult<'a>],
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
    let keyed: Vec<((), &Conditions)> = distinct.iter().map(|c| ((), *c)).collect();
    let names = in_brackets(&keyed);
    distinct.into_iter().cloned().zip(names).collect()
}

fn address(f: &TaskResult<'_>) -> String {
    format!("{}|{}", f.row.model, f.row.task)
}

/// A measure's values by the number that ends its name (`cosine_at_distance_3`), from left to right.
fn by_number(f: &TaskResult<'_>, beginning: &str) -> Vec<Point> {
    let measures = f.measures(beginning).into_iter();
    let drawn = measures.filter_map(|(number, e)| {
        let point = Point::measured(number, e).at(number.parse().ok()?);
        Some(point.with_samples(address(f)))
    });
    let mut points: Vec<Point> = drawn.collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn lines_by_number(end: &[TaskResult<'_>], beginning: &str) -> Vec<Series> {
    let all = named(end).map(|(f, name)| Series::measured(name, by_number(f, beginning)));
    all.filter(|line| line.points.len() > 1).collect()
}

/// Figure 5: the largest similarity of two numbers through training.
fn maximum_through_training(all: &[TaskResult<'_>]) -> Option<Figure> {
    let sizes = through_training(all, "max");
    let names = variant_names(&sizes);
    let lines = sizes.iter().map(|((size, conditions), points)| {
        let point =
            |(x, f, e): &AtStage<'_>| Point::measured("", e).at(*x).with_samples(address(f));
        let variant = names.get(conditions).map_or("", String::as_str);
        Series::measured(format!("{size}{variant}"), points.iter().map(point))
    });
    DECLARED.series("psychometric-figure-5", lines)
}

/// Figure 6: numbers with numbers, numbers with words, words with words, mean over sizes.
fn kinds_through_training(all: &[TaskResult<'_>]) -> Option<Figure> {
    let mut lines: Vec<Series> = Vec::new();
    for (measure, name) in KINDS {
        let sizes = through_training(all, measure);
        for (conditions, variant) in variant_names(&sizes) {
            let own = sizes.iter().filter(|((_, c), _)| *c == conditions);
            let own = own.flat_map(|(_, points)| points);
            let at = means(own.map(|(x, _, e)| (x.round() as u64, e.value)));
            let points = at.into_iter();
            let points = points.map(|(x, mean)| Point::new("", mean).at(x as f64));
            lines.push(Series::measured(format!("{name}{variant}"), points));
        }
    }
    DECLARED.series("psychometric-figure-6", lines)
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
    fn read(effect: &'static str, end: &[TaskResult<'_>]) -> Option<Self> {
        let lines = lines_by_number(end, &format!("{effect}.layer_"));
        let mut nulls = lines_by_number(end, &format!("{effect}_null.layer_"));
        for null in &mut nulls {
            null.name.push_str(", labels permuted");
        }
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
fn effects_by_layer(end: &[TaskResult<'_>]) -> Vec<Figure> {
    let read = |effect| EffectByLayer::read(effect, end);
    let by_effect: Vec<EffectByLayer> = EFFECTS.into_iter().filter_map(read).collect();
    let figure = |suffix: String, remark: String, series, references: Vec<ReferenceLine>| {
        let figure = DECLARED.figure("psychometric-numbers-layers{suffix}");
        let figure = figure.saying("suffix", suffix).saying("remark", remark);
        Figure {
            references,
            series,
            ..figure
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
        return vec![figure(String::new(), String::new(), all, references)];
    }
    let each = by_effect.into_iter().map(|one| {
        let suffix = format!("-{}", one.effect.replace('_', "-"));
        let remark = format!(": {}", one.effect.replace('_', " "));
        let lines = one.lines.into_iter().chain(one.nulls).collect();
        figure(suffix, remark, lines, one.noise.into_iter().collect())
    });
    each.collect()
}

const MOST_MODELS: usize = 4;

/// Figure 6's kinds of pairs over layers, a figure for each model.
fn kinds_by_layer(end: &[TaskResult<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (f, name) in named(end) {
        let kinds = KINDS.iter().map(|(measure, kind)| {
            Series::measured(*kind, by_number(f, &format!("{measure}.layer_")))
        });
        let lines: Vec<Series> = kinds.filter(|s| s.points.len() > 1).collect();
        if lines.is_empty() || figures.len() == MOST_MODELS {
            continue;
        }
        let figure = DECLARED.figure("psychometric-numbers-kinds-{place}");
        let figure = figure
            .saying("place", figures.len() + 1)
            .saying("name", name);
        figures.push(figure.with_series(lines));
    }
    figures
}

fn cosine_by_distance(end: &[TaskResult<'_>]) -> Option<Figure> {
    let lines = lines_by_number(end, "cosine_at_distance_");
    DECLARED.series("psychometric-numbers-distance", lines)
}

fn number_line(end: &[TaskResult<'_>]) -> Option<Figure> {
    let lines = lines_by_number(end, "place_of_");
    let logs: Vec<f64> = (1..=9).map(|n| f64::from(n).ln()).collect();
    let mean = logs.iter().sum::<f64>() / 9.0;
    let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 9.0).sqrt();
    let place = |(log, n): (&f64, i32)| Point::new("", (log - mean) / deviation).at(f64::from(n));
    let ideal = logs.iter().zip(1..).map(place);
    let figure = DECLARED.figure("psychometric-numbers-line");
    let figure = figure.with_series(lines).if_measured()?;
    Some(figure.with_series([Series::measured("logarithms of 1 to 9 (the ideal)", ideal)]))
}

fn typicality_by_category(end: &[TaskResult<'_>]) -> Option<Figure> {
    let mut bars = Vec::new();
    for f in end.iter().filter(|f| f.task().starts_with("typicality-")) {
        let categories = f.measures("category:").into_iter();
        let points: Vec<Point> = categories
            .filter(|(name, _)| !name.contains('.'))
            .map(|(name, e)| {
                let samples = format!("{}|{}|category={name}", f.row.model, f.row.task);
                Point::measured(name, e).with_samples(samples)
            })
            .collect();
        if !points.is_empty() {
            let shots = match (f.task(), f.settings.shots) {
                ("typicality-surprisal", Some(k)) if k > 0 => format!(", {k} shots"),
                _ => String::new(),
            };
            let how = f.task().trim_start_matches("typicality-");
            let name = format!("{} ({how}{shots}, {})", f.model(), f.set("norms", "world"));
            bars.push(Series::measured(name, points));
        }
    }
    given(!bars.is_empty())?;
    if end.iter().any(TaskResult::is_ranking) {
        for model in ["GPT 4", "Gemini"] {
            let table_6 = published().table_6.iter();
            let categories = table_6.filter(|c| c.category != "Average");
            let points =
                categories.filter_map(|c| Some(Point::new(&c.category, *c.models.get(model)?)));
            bars.push(Series::published(format!("{model}, prompting"), points));
        }
    }
    let figure = DECLARED.figure("psychometric-typicality");
    Some(figure.with_series(bars))
}

fn matrices_by_rule(end: &[TaskResult<'_>]) -> Option<Figure> {
    let mut bars = Vec::new();
    let of: Vec<&TaskResult<'_>> = end.iter().filter(|f| f.task() == "matrices").collect();
    for (f, variant) in of.iter().zip(told_apart(&of)) {
        let mut points = Vec::new();
        for attribute in crate::matrices::ATTRIBUTES {
            let by = f.row.breakdowns.iter().find(|b| b.tag == attribute);
            for (rule, e) in by.iter().flat_map(|b| &b.values) {
                let samples = format!("{}|{}|{attribute}={rule}", f.row.model, f.row.task);
                let point = Point::measured(format!("{attribute}: {rule}"), e);
                points.push(point.with_samples(samples));
            }
        }
        if !points.is_empty() {
            let name = format!("{} ({}){variant}", f.model(), f.set("matrices", "fresh"));
            bars.push(Series::measured(name, points));
        }
    }
    DECLARED.series("psychometric-matrices-rules", bars)
}

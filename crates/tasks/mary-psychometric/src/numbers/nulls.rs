//! What the effects of numbers are worth: the same figures where labels or vectors mean nothing.
//!
//! *Label permutations*, in each layer: which vector belongs to which number is drawn anew (the same
//! draw in all layers), so that the geometry of the nine vectors stays and only its relation to the
//! numbers goes. R² has no sign, and eight averaged sizes reach a high R² too often for a permutation
//! test to tell: p-values are those of R² taken with the sign of people's effect (similarity falls with
//! distance and ratio, and rises with size).
//!
//! *The rotation-invariant noise level*: independent normal vectors, whose distribution no rotation
//! changes, as many and (up to 256 dimensions, beyond which nothing changes) as long as the model's. It
//! is what a layer without any geometry of numbers shows.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mary_contract::{Estimate, Measure, Sample};
use mary_generators::stream;
use mary_stats::StatsError;
use mary_stats::correlation::pearson_r;
use mary_stats::permutation::{Null, relabel};
use rand::RngExt as _;
use serde_json::{Value, json};

use super::effects::{Cosines, Pairs, effects};
use super::words::Range;

/// The figures that have a null, in the order in which they are computed.
pub(super) const EFFECTS: [&str; 4] = ["distance", "ratio", "size", "mds_correlation"];

/// Relabellings of few numbers, of many.
const DRAWS: (usize, usize) = (99, 19);
/// Draws of random vectors, for few numbers and for many.
const NOISE: (usize, usize) = (60, 6);
/// More numbers than this are many: ninety make 4,005 pairs.
const FEW: usize = 16;
/// Cosines of longer random vectors are distributed the same up to their scale, which R² does not see.
const LONGEST: usize = 256;

pub(super) struct LayerShape {
    pub(super) number: usize,
    pub(super) cosines: Cosines,
    pub(super) positions: Vec<f64>,
}

/// The nulls of one layer, or of the mean over layers (`layer` is then absent).
pub(super) struct LayerNulls {
    pub(super) layer: Option<usize>,
    pub(super) effects: BTreeMap<&'static str, Null>,
}

fn few_or_many(n: usize, (few, many): (usize, usize)) -> usize {
    if n <= FEW { few } else { many }
}

/// The values of a layer under one order of labels: R² of each effect, then the same with its sign.
fn values(
    layer: &LayerShape,
    numbers: &[u64],
    order: &[usize],
    pairs: Pairs,
) -> Result<[f64; 8], StatsError> {
    const FAILED: StatsError = StatsError::Degenerate {
        what: "null of an effect of numbers",
        why: "a relabelled layer could not be fitted",
    };
    let fits = layer.cosines.relabelled(order, pairs).map_err(|_| FAILED)?;
    let logarithms: Vec<f64> = numbers.iter().map(|n| (*n as f64).ln()).collect();
    let place = |i: &usize| layer.positions.get(*i).copied();
    let places: Vec<f64> = order.iter().filter_map(place).collect();
    let on_line = pearson_r(&places, &logarithms)?.abs();
    let with_sign = |r: f64, direction: f64| if direction < 0.0 { -r } else { r };
    Ok([
        fits.distance,
        fits.ratio,
        fits.size,
        on_line,
        with_sign(fits.distance, -fits.distance_slope),
        with_sign(fits.ratio, fits.ratio_drop),
        with_sign(fits.size, fits.size_slope),
        on_line,
    ])
}

pub(super) fn by_labels(
    numbers: &[u64],
    layers: &[LayerShape],
    pairs: Pairs,
) -> Result<Vec<LayerNulls>, StatsError> {
    let draws = few_or_many(numbers.len(), DRAWS);
    let found = relabel(numbers.len(), draws, 0, |order| {
        let mut all = Vec::with_capacity(8 * (layers.len() + 1));
        let mut sums = [0.0; 8];
        for layer in layers {
            let here = values(layer, numbers, order, pairs)?;
            sums.iter_mut().zip(here).for_each(|(sum, v)| *sum += v);
            all.extend(here);
        }
        all.extend(sums.map(|sum| sum / layers.len().max(1) as f64));
        Ok(all)
    })?;
    let names = layers.iter().map(|l| Some(l.number)).chain([None]);
    let nulls = names.zip(found.chunks(8)).map(|(layer, nulls)| {
        let (plain, signed) = nulls.split_at(4.min(nulls.len()));
        // The level is that of R², the p-value that of R² with its sign.
        let both = plain.iter().zip(signed).map(|(r, s)| Null { p: s.p, ..*r });
        let effects = EFFECTS.into_iter().zip(both).collect();
        LayerNulls { layer, effects }
    });
    Ok(nulls.collect())
}

pub(super) type Levels = BTreeMap<&'static str, f64>;

/// The levels over random vectors. They depend on no model, so that each is computed once.
pub(super) fn noise(numbers: &[u64], dimensions: usize, range: Range, pairs: Pairs) -> Levels {
    type Known = Vec<((Vec<u64>, usize, Range, Pairs), Levels)>;
    static KNOWN: Mutex<Known> = Mutex::new(Vec::new());
    let key = (numbers.to_vec(), dimensions.min(LONGEST), range, pairs);
    // A thread that broke while holding the list has left it whole: entries are only added.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, levels)) = known.iter().find(|(of, _)| *of == key) {
        return levels.clone();
    }
    let levels = drawn(numbers, key.1, range, pairs);
    known.push((key, levels.clone()));
    levels
}

fn drawn(numbers: &[u64], dimensions: usize, range: Range, pairs: Pairs) -> Levels {
    let mut rng = stream(0, "psychometric/numbers/noise");
    let mut normal = || {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let draws = few_or_many(numbers.len(), NOISE);
    const KEPT: [&str; 5] = ["distance", "ratio", "size", "mds_correlation", "mds_stress"];
    let mut sums: BTreeMap<&'static str, (f64, usize)> = BTreeMap::new();
    for _ in 0..draws {
        let mut vector = || (0..dimensions).map(|_| normal()).collect();
        let vectors: Vec<Vec<f64>> = numbers.iter().map(|_| vector()).collect();
        let Ok(found) = effects(numbers, &vectors, range, pairs) else {
            continue;
        };
        let found = found.by_name();
        for (name, value) in KEPT
            .iter()
            .filter_map(|name| Some((*name, found.get(*name)?)))
        {
            let sum = sums.entry(name).or_default();
            sum.0 += value;
            sum.1 += 1;
        }
    }
    let mean = |(name, (sum, n)): (_, (f64, usize))| (name, sum / n.max(1) as f64);
    sums.into_iter().map(mean).collect()
}

pub(super) fn note(nulls: &[LayerNulls]) -> Value {
    let of = |nulls: &LayerNulls| -> Value {
        let cells = nulls.effects.iter().map(|(name, null)| (*name, null.p));
        json!(cells.collect::<BTreeMap<_, _>>())
    };
    let mut all = serde_json::Map::new();
    for one in nulls {
        let name = one.layer.map_or("all".into(), |n| format!("layer_{n:02}"));
        all.insert(name, of(one));
    }
    Value::Object(all)
}

/// The measures `distance_p`, `distance_p.layer_07` and their like: the p-value of the format that
/// shows the effect least, which is a p-value of "every format shows it". A mean of p-values would be
/// none.
pub(super) fn p_measures(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let mut largest: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for sample in samples {
        let Some(layers) = sample.judgement.notes.get("p").and_then(Value::as_object) else {
            continue;
        };
        for (layer, effects) in layers {
            for (effect, p) in effects.as_object().into_iter().flatten() {
                let Some(p) = p.as_f64() else { continue };
                let name = match layer.as_str() {
                    "all" => format!("{effect}_p"),
                    layer => format!("{effect}_p.{layer}"),
                };
                let seen = largest.entry(name).or_insert((0.0, 0));
                *seen = (seen.0.max(p), seen.1 + 1);
            }
        }
    }
    let method = "largest permutation p of the formats";
    let estimate = |p, n| Estimate::new(p, (p, p), n, method);
    let measure = |(name, (p, n))| Measure::new(name, estimate(p, n));
    largest.into_iter().map(measure).collect()
}

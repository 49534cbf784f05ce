//! Ages of acquisition: when in training each word is learnt, and how that goes with the ages at which
//! children know the words.
//!
//! A word's surprisal over the checkpoints is made monotone (the least-squares fit that never rises), and
//! its age is the point, on the log axis, where the fit passes halfway between its start and its end. Beside it
//! stands the age of Chang and Bergen (2022): where a sigmoid passes halfway between a uniform guess and the least
//! surprisal. A word whose fit falls by less than two bits is not dated.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Cell, Exhibits, Figure, Point, RunSummary, Series, Table, p_value};
use mary_platform::{counts, given, grouped};
use mary_stats::correlation::spearman;
use mary_stats::held_out::regression;
use mary_stats::sigmoid::sigmoid;

use super::{FEWEST, corrected};
use crate::exhibits::DECLARED;
use crate::trajectories::{Part, Trajectory, by_tag};
use crate::windows::amount;
use crate::word_age::{ID, Norm, WORD};

/// A fall below this many bits dates no word.
const LEAST_FALL: f64 = 2.0;
/// Words below which there is no correlation.
const FEWEST_WORDS: usize = 10;

#[derive(Debug, Clone)]
struct Learnt {
    size: String,
    norm: Norm,
    /// Surprisal at the start and at the end of the fit.
    bits: (f64, f64),
    /// Tokens (or steps) at the halfway point; nothing for a word that is not dated.
    when: Option<f64>,
    /// The same by the sigmoid.
    sigmoid: Option<f64>,
}

/// The least-squares fit that never rises, by pooling neighbours that do.
fn falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        pools.push((value, 1));
        while let [.., (a, n), (b, m)] = pools.as_slice() {
            if b <= a {
                break;
            }
            let (n, m) = (*n, *m);
            let mean = (a * n as f64 + b * m as f64) / (n + m) as f64;
            pools.pop();
            pools.pop();
            pools.push((mean, n + m));
        }
    }
    let fitted = pools
        .into_iter()
        .flat_map(|(mean, n)| std::iter::repeat_n(mean, n));
    fitted.collect()
}

/// Where a falling curve passes a level, on the log axis.
fn crossing(x: &[f64], fit: &[f64], level: f64) -> Option<f64> {
    let after = fit.iter().position(|v| *v <= level)?;
    let before = after.checked_sub(1)?;
    let (x0, x1) = (x.get(before)?.log10(), x.get(after)?.log10());
    let (y0, y1) = (*fit.get(before)?, *fit.get(after)?);
    let share = if y0 > y1 {
        (y0 - level) / (y0 - y1)
    } else {
        1.0
    };
    Some(10f64.powf(x0 + share * (x1 - x0)))
}

/// `guess`: bits of a uniform guess, where the vocabulary is known.
fn learnt(trajectory: &Trajectory, guess: Option<f64>) -> Option<Learnt> {
    let Part::Tag(_, tag) = &trajectory.ability.part else {
        return None;
    };
    let (x, y): (Vec<f64>, Vec<f64>) = trajectory.sound().map(|m| (m.x, m.value.value)).unzip();
    given(x.len() >= FEWEST)?;
    let fit = falling(&y);
    let bits = (*fit.first()?, *fit.last()?);
    let falls = bits.0 - bits.1 >= LEAST_FALL;
    let when = falls
        .then(|| crossing(&x, &fit, 0.5 * (bits.0 + bits.1)))
        .flatten();
    let least = y.iter().copied().fold(f64::INFINITY, f64::min);
    let level = 0.5 * (guess.unwrap_or(*y.first()?) + least);
    let steps: Vec<f64> = x.iter().map(|x| x.log10()).collect();
    let sigmoid = falls
        .then(|| {
            let found = sigmoid(&steps, &y).ok()?;
            found.crossing(level).filter(|_| found.before > found.after)
        })
        .flatten()
        .map(|at| 10f64.powf(at));
    Some(Learnt {
        sigmoid,
        size: trajectory.label.clone(),
        norm: Norm::of_tag(tag),
        bits,
        when,
    })
}

pub(super) fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let curves = by_tag(runs, ID, WORD);
    let asked = runs.iter().flat_map(|run| &run.manifest.tasks);
    let known = asked.filter(|task| task.id == ID);
    let mut known = known.filter_map(|task| task.settings.params.get("vocabulary")?.parse().ok());
    let guess = known.find(|tokens: &f64| *tokens > 1.0).map(f64::log2);
    let dated = curves.iter().filter_map(|curve| learnt(curve, guess));
    let words: Vec<Learnt> = dated.collect();
    if words.is_empty() {
        return Exhibits::default();
    }
    let tables = [Some(ages(&words)), correlations(&words), explained(&words)];
    Exhibits::default()
        .with_tables(tables)
        .with_figures([scatter(&words)])
}

fn ages(words: &[Learnt]) -> Table {
    let mut words = words.to_vec();
    words.sort_by(|a, b| {
        let key = |w: &Learnt| w.when.unwrap_or(f64::INFINITY);
        a.size.cmp(&b.size).then(key(a).total_cmp(&key(b)))
    });
    let rows = words
        .iter()
        .map(|w| {
            vec![
                w.size.clone(),
                w.norm.word.clone(),
                w.norm.age.map_or(String::new(), |a| a.to_string()),
                format!("{:.1}", w.bits.0),
                format!("{:.1}", w.bits.1),
                w.when.map_or("not dated".into(), amount),
                w.sigmoid.map_or("not dated".into(), amount),
            ]
        })
        .collect();
    let table = DECLARED.table("psychometric-word-ages");
    table.with_rows(Cell::figures(rows))
}

/// How a word is dated.
type Dating = fn(&Learnt) -> Option<f64>;
const DATINGS: [(&str, Dating); 2] = [("falling fit", |w| w.when), ("sigmoid", |w| w.sigmoid)];

/// Words of a size that have both ages, each on the log axis of training.
fn paired<'w>(words: &'w [Learnt], when: Dating) -> BTreeMap<&'w str, Vec<(&'w Learnt, f64, f64)>> {
    let dated = |word: &'w Learnt| Some((&*word.size, (word, word.norm.age?, when(word)?)));
    grouped(words.iter().filter_map(dated))
}

fn correlations(words: &[Learnt]) -> Option<Table> {
    let mut found = Vec::new();
    let each = DATINGS.into_iter().flat_map(|(name, when)| {
        let sizes = paired(words, when).into_iter();
        sizes.map(move |(size, pairs)| (size, name, when, pairs))
    });
    for (size, name, when, pairs) in each {
        if pairs.len() < FEWEST_WORDS {
            continue;
        }
        let both = pairs.iter().map(|(_, age, when)| (*age, when.log10()));
        let (child, model): (Vec<f64>, Vec<f64>) = both.unzip();
        let rho = spearman(&child, &model).ok()?;
        let undated = |w: &&Learnt| w.size == size && w.norm.age.is_some() && when(w).is_none();
        let without = words.iter().filter(undated).count();
        found.push(((size, name), pairs.len(), without, rho));
    }
    let rows = corrected(found, |f| Some(f.3.p)).into_iter();
    let rows = rows.map(|(((size, name), n, without, rho), p)| {
        vec![
            size.to_owned(),
            name.to_owned(),
            n.to_string(),
            without.to_string(),
            format!("{:.2}", rho.r.value),
            format!("{:.2} to {:.2}", rho.r.low, rho.r.high),
            p.map_or_else(String::new, p_value),
        ]
    });
    let rows = Cell::figures(rows.collect());
    DECLARED.rows("psychometric-word-ages-norms", rows)
}

/// A predictor as columns of numbers on one scale: itself, or each kind against the most frequent one.
fn columns(name: &str, values: &[&str]) -> Vec<(String, Vec<f64>)> {
    let numbers: Option<Vec<f64>> = values.iter().map(|v| v.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let scaled = numbers.iter().map(|x| (x - mean) / variance.sqrt());
        return vec![(name.to_owned(), scaled.collect())];
    }
    let kinds = counts(values.iter().copied());
    let most = kinds.iter().max_by_key(|(_, n)| **n).map(|(kind, _)| *kind);
    let others = kinds.keys().filter(|kind| Some(**kind) != most);
    let column = |kind: &&str| {
        let is = values.iter().map(|v| f64::from(u8::from(v == kind)));
        is.collect()
    };
    others
        .map(|kind| {
            (
                format!("{name}: {kind}, not {}", most.unwrap_or_default()),
                column(kind),
            )
        })
        .collect()
}

/// What explains the ages, of children and by both datings: one regression each of the words that have all predictors.
fn explained(words: &[Learnt]) -> Option<Table> {
    let ages: [(&str, Dating); 1] = [("children", |w| w.norm.age)];
    let mut rows: Vec<(Vec<String>, f64)> = Vec::new();
    let sizes: BTreeSet<&str> = words.iter().map(|w| w.size.as_str()).collect();
    for size in sizes {
        for (name, age) in ages.into_iter().chain(DATINGS) {
            let whole = |w: &&Learnt| {
                w.size == size && age(w).is_some() && w.norm.more.iter().all(|(_, v)| !v.is_empty())
            };
            let own: Vec<&Learnt> = words.iter().filter(whole).collect();
            let scale = |x: f64| if name == "children" { x } else { x.log10() };
            let y: Vec<f64> = own.iter().filter_map(|w| age(w)).map(scale).collect();
            let predictors = own.first().map_or(&[][..], |w| &w.norm.more);
            let named = predictors.iter().enumerate().flat_map(|(at, (name, _))| {
                let values = own.iter().map(|w| w.norm.more[at].1.as_str());
                columns(name, &values.collect::<Vec<_>>())
            });
            let (names, all): (Vec<String>, Vec<Vec<f64>>) = named.unzip();
            if all.is_empty() || y.len() < all.len() + FEWEST_WORDS {
                continue;
            }
            let Ok(found) = regression(&all, &y) else {
                continue;
            };
            for (at, predictor) in names.into_iter().enumerate() {
                let (slope, reach) = (found.slopes[at], 1.96 * found.errors[at]);
                let cells = vec![
                    size.to_owned(),
                    name.to_owned(),
                    y.len().to_string(),
                    predictor,
                    format!("{slope:.3}"),
                    format!("{:.3} to {:.3}", slope - reach, slope + reach),
                ];
                rows.push((cells, found.p[at]));
            }
        }
    }
    let rows = corrected(rows, |row| Some(row.1)).into_iter();
    let rows = rows.map(|((mut cells, _), p)| {
        cells.extend(p.map(p_value));
        cells
    });
    let rows = Cell::figures(rows.collect());
    DECLARED.rows("psychometric-word-ages-predictors", rows)
}

fn scatter(words: &[Learnt]) -> Option<Figure> {
    let series = paired(words, |w| w.when).into_iter().map(|(size, pairs)| {
        let points = pairs
            .into_iter()
            .map(|(word, age, when)| Point::new(&word.norm.word, when.log10()).at(age));
        Series::measured(size, points)
    });
    DECLARED.series("psychometric-word-ages", series)
}

#[cfg(test)]
mod tests {
    use mary_contract::Breakdown;
    use mary_generators::stream;
    use rand::RngExt as _;

    use super::super::simulated;
    use super::*;

    #[test]
    fn a_fit_never_rises_and_is_the_nearest() {
        // By hand: 3 and 5 are pooled to 4, then 2 and 4 and 3 to 3.
        assert_eq!(
            falling(&[9.0, 3.0, 5.0, 2.0, 4.0, 3.0]),
            [9.0, 4.0, 4.0, 3.0, 3.0, 3.0]
        );
        assert_eq!(falling(&[3.0, 2.0, 1.0]), [3.0, 2.0, 1.0]);
        assert_eq!(falling(&[1.0, 2.0, 3.0]), [2.0; 3]);
    }

    #[test]
    fn halfway_is_found_on_the_log_axis() {
        let x = [10.0, 100.0, 1000.0, 10_000.0];
        assert_eq!(crossing(&x, &[10.0, 10.0, 6.0, 2.0], 6.0), Some(1000.0));
        let half = crossing(&x, &[10.0, 10.0, 2.0, 2.0], 6.0).unwrap();
        assert!((half - 10f64.powf(2.5)).abs() < 1e-9);
    }

    /// Twenty words learnt one after the other by a simulated model; norms in the same order, and in none.
    fn sweep(ages: impl Fn(usize) -> f64) -> Vec<RunSummary> {
        let mut rng = stream(4, "words");
        let steps = [
            8, 32, 64, 128, 256, 512, 1000, 2000, 4000, 8000, 32000, 143_000,
        ];
        steps
            .iter()
            .map(|step| {
                let model = format!("hf/EleutherAI/pythia-70m@step{step}");
                let t = (f64::from(*step) * 2_097_152.0).log10();
                let mut run = simulated::run(&model, ID, 0.5, 100);
                let row = &mut run.rows[0];
                row.chance = None;
                let values = (0..21)
                    .map(|word| {
                        let middle = 7.8 + 0.1 * word as f64;
                        // The last word is never learnt.
                        let fall = if word == 20 { 0.5 } else { 9.0 };
                        let bits = 14.0 - fall / (1.0 + (-4.0 * (t - middle)).exp())
                            + 0.3 * (rng.random::<f64>() - 0.5);
                        let mut estimate = row.score.clone().unwrap();
                        estimate.value = bits;
                        (
                            format!("word{word} @ {} @ rank={word}", ages(word)),
                            estimate,
                        )
                    })
                    .collect();
                row.breakdowns.push(Breakdown {
                    tag: WORD.into(),
                    values,
                });
                run
            })
            .collect()
    }

    #[test]
    fn words_are_dated_and_held_against_the_norms() {
        let found = exhibits(&sweep(|word| 12.0 + word as f64));
        let table = &found.tables[0];
        assert_eq!(table.rows.len(), 21);
        assert_eq!(table.rows[20][5], "not dated");
        let norms = &found.tables[1];
        assert_eq!((&*norms.rows[0][2], &*norms.rows[0][3]), ("20", "1"));
        assert_eq!(
            (&*norms.rows[0][1], &*norms.rows[1][1]),
            ("falling fit", "sigmoid")
        );
        for row in &norms.rows {
            let rho: f64 = row[4].parse().unwrap();
            assert!(rho > 0.95, "{row:?}");
        }
        // Every word comes a tenth of a power of ten later; its rank has a deviation of 5.8, and months go up by one.
        let slope = |row: usize| found.tables[2].rows[row][4].parse::<f64>().unwrap();
        assert_eq!(&*found.tables[2].rows[0][1], "children");
        assert!(
            (slope(0) - 6.055).abs() < 0.01,
            "{:?}",
            found.tables[2].rows
        );
        assert!((slope(1) - 0.577).abs() < 0.06 && (slope(2) - 0.577).abs() < 0.06);
        assert_eq!(found.figures[0].series[0].points.len(), 20);
        // A child's order that has nothing to do with it.
        let other = exhibits(&sweep(|word| 12.0 + ((7 * word) % 21) as f64));
        let rho: f64 = other.tables[1].rows[0][4].parse().unwrap();
        assert!(rho.abs() < 0.5, "{rho}");
    }

    /// Chang and Bergen's released sigmoids of 611 words and four architectures: their own ages come out.
    #[test]
    fn ages_are_those_of_chang_and_bergen() {
        use mary_stats::sigmoid::Sigmoid;
        let Some(data) = mary_testkit::lacking::datasets("word-learning") else {
            return;
        };
        for name in ["gpt2", "bert", "lstm", "bilstm"] {
            let path = data.join(format!("word-learning/{name}_aoa.txt"));
            let text = std::fs::read_to_string(path).unwrap();
            let mut compared = 0;
            for line in text.lines().skip(1) {
                let cells: Vec<f64> = line
                    .split('\t')
                    .skip(1)
                    .filter_map(|c| c.parse().ok())
                    .collect();
                let [age, cutoff, _, least, before, after, middle, scale] = cells[..] else {
                    continue;
                };
                let level = 0.5 * (30_000f64.log2() + least);
                assert!((level - cutoff).abs() < 1e-9, "{line}");
                let found = Sigmoid {
                    before,
                    after,
                    middle,
                    scale,
                };
                let crossing = found.crossing(level);
                if age == 6.0 {
                    // Never learnt: their last step.
                    assert!(
                        before <= after || crossing.is_none_or(|at| at > 6.0),
                        "{line}"
                    );
                    continue;
                }
                assert!((crossing.unwrap() - age).abs() < 1e-9, "{line}");
                compared += 1;
            }
            assert!(compared > 550, "{name}: {compared}");
        }
    }
}

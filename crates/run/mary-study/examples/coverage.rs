//! How often the interval over people and items covers the truth, in simulated studies of a known population:
//!
//!     cargo run --release -p mary-study --example coverage [STUDIES]
//!     cargo run --release -p mary-study --example coverage batches
//!
//! People's abilities and items' difficulties are normal on the logit scale; each study draws new people and
//! new items, gives them out in Latin-square lists, and answers are drawn from the probabilities. The truth is
//! the mean probability over the whole population, found by numerical integration.
//!
//! The share of 400 studies is itself a draw (±2.1 points). Two columns say how much of it is chance: blocks of
//! 400 studies one after the other, and 400 studies stratified over the population: the mean ability and the
//! mean difficulty of a study, which decide most of its error, then take 400 quantiles of their distributions in
//! an order drawn, instead of 400 draws. A mean of normal draws is independent of the deviations from it, so that
//! a stratified study is distributed as any other.
//!
//! `batches` tells chance from a fault of the interval: ten batches of 400 studies for each design, one after
//! the other, on seeds that were written down here before any of them was run ([`Batch::seeds`]) and that no
//! other figure uses; no two designs share one. Every batch is printed, whatever it says, and the total with
//! its exact binomial interval.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a program for trying"
)]

use mary_generators::{shuffle, stream};
use mary_stats::LEVEL;
use mary_stats::crossed::{CrossedAnswer, CrossedSide, difference_crossed, mean_crossed};
use mary_stats::distributions::{normal_cdf, normal_quantile};
use mary_stats::intervals::exact;
use mary_study::lists::{Design, Lists};
use mary_study::simulate::{Behaviour, Simulation, logistic, normal};
use rand::RngExt as _;

/// What the issue of coverage is stated for.
const BLOCK: u64 = 400;
/// Batches of [`BLOCK`] studies for each design, and where their seeds begin.
const BATCHES: u64 = 10;
const FRESH: u64 = 21_000_000;
/// The model that people are compared with is right on items easier than this.
const MODEL: f64 = 0.3;

struct Population {
    mean: f64,
    sd_people: f64,
    sd_items: f64,
    people: usize,
    design: Design,
}

type Scores = (Vec<f64>, Vec<usize>, Vec<usize>);

impl Population {
    /// A study as `mary study simulate` makes it.
    fn study(&self, seed: u64) -> Scores {
        let simulation = Simulation {
            behaviour: Behaviour::Ability {
                mean: self.mean,
                sd_people: self.sd_people,
                sd_items: self.sd_items,
            },
            seconds: 1.0,
            seed,
        };
        let design = Design {
            seed,
            ..self.design
        };
        let (mut scores, mut who, mut what) = (Vec::new(), Vec::new(), Vec::new());
        for place in 0..self.people {
            for item in design.list(place) {
                let mut rng = stream(seed, &format!("simulate/{place}/{item}"));
                let right = rng.random::<f64>() < simulation.probability(place, item);
                scores.push(if right { 1.0 } else { 0.0 });
                who.push(place);
                what.push(item);
            }
        }
        (scores, who, what)
    }

    /// A study whose mean ability and mean difficulty stand at these quantiles of their distributions.
    fn stratified(&self, seed: u64, at: (f64, f64)) -> Scores {
        let drawn = |what: &str, n: usize, quantile: f64| -> Vec<f64> {
            let mut rng = stream(seed, &format!("stratified/{what}"));
            let values: Vec<f64> = (0..n).map(|_| normal(&mut rng)).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            let wanted = normal_quantile(quantile) / (n as f64).sqrt();
            values.iter().map(|v| v - mean + wanted).collect()
        };
        let ability = drawn("ability", self.people, at.0);
        let difficulty = drawn("difficulty", self.design.items, at.1);
        let mut rng = stream(seed, "stratified/answers");
        let (mut scores, mut who, mut what) = (Vec::new(), Vec::new(), Vec::new());
        for (person, able) in ability.iter().enumerate() {
            for item in self.design.list(person) {
                let p =
                    logistic(self.mean + self.sd_people * able - self.sd_items * difficulty[item]);
                scores.push(f64::from(u8::from(rng.random::<f64>() < p)));
                who.push(person);
                what.push(item);
            }
        }
        (scores, who, what)
    }

    fn truth(&self) -> f64 {
        truth(self.mean, f64::hypot(self.sd_people, self.sd_items))
    }
}

/// The five designs.
fn designs() -> Vec<Population> {
    let designs = [
        (1.5, 0.7, 0.9, 30, 120, 40),
        (1.5, 0.7, 0.9, 30, 40, 40),
        (2.5, 1.0, 1.0, 30, 120, 40),
        (0.5, 0.5, 1.2, 20, 60, 30),
        (3.0, 0.7, 0.7, 50, 100, 20),
    ];
    let of = |(mean, sd_people, sd_items, people, items, per_person)| Population {
        mean,
        sd_people,
        sd_items,
        people,
        design: Design {
            items,
            per_person,
            lists: Lists::Latin,
            seed: 0,
        },
    };
    designs.into_iter().map(of).collect()
}

fn main() {
    let word = std::env::args().nth(1);
    if word.as_deref() == Some("batches") {
        println!(
            "| design | seeds | covered, batch by batch (% of {BLOCK}) | inside 93–97 | all | 95 % of it |"
        );
        println!("|---|---|---|---|---|---|");
        for (number, population) in designs().iter().enumerate() {
            batches(number as u64 + 1, population);
        }
        return;
    }
    let studies: u64 = word.and_then(|n| n.parse().ok()).unwrap_or(BLOCK);
    println!(
        "| mean logit | sd people | sd items | people | items | a person | truth | first 400 | 400 stratified | all {studies} | blocks of 400 | inside 93–97 | people alone | people less a model |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for population in designs() {
        row(&population, studies);
    }
}

/// One batch of one design, both counted from where they begin.
struct Batch {
    design: u64,
    number: u64,
}

impl Batch {
    /// Seeds of its studies: a million for each design, 400 for each batch.
    fn seeds(&self) -> std::ops::Range<u64> {
        let first = FRESH + self.design * 1_000_000 + self.number * BLOCK;
        first..first + BLOCK
    }
}

fn batches(design: u64, of: &Population) {
    let truth = of.truth();
    let covers = |seed: u64| {
        let (scores, who, what) = of.study(seed);
        let found = mean_crossed(&scores, &who, &what).expect("a mean");
        found.interval.contains(truth)
    };
    let batch = |number| Batch { design, number };
    let covered: Vec<u64> = (0..BATCHES)
        .map(|number| batch(number).seeds().filter(|seed| covers(*seed)).count() as u64)
        .collect();
    let percent = |n: u64| 100.0 * n as f64 / BLOCK as f64;
    let each: Vec<String> = covered
        .iter()
        .map(|n| format!("{:.1}", percent(*n)))
        .collect();
    let inside = covered
        .iter()
        .filter(|n| (93.0..=97.0).contains(&percent(**n)));
    let all = exact(covered.iter().sum(), BATCHES * BLOCK, LEVEL).expect("an interval");
    println!(
        "| {design} | {} to {} | {} | {} of {BATCHES} | {:.2} % | {:.2}–{:.2} |",
        batch(0).seeds().start,
        batch(BATCHES - 1).seeds().end - 1,
        each.join(", "),
        inside.count(),
        100.0 * all.value,
        100.0 * all.low,
        100.0 * all.high,
    );
}

fn row(of: &Population, studies: u64) {
    let truth = of.truth();
    let covers = |(scores, who, what): &Scores| {
        let found = mean_crossed(scores, who, what).expect("a mean");
        let alone = (found.interval.value - truth).abs() <= 2.045 * found.over_people;
        (found.interval.contains(truth), alone)
    };
    let (mut covered, mut alone, mut less) = (Vec::new(), 0, 0);
    for seed in 0..studies {
        let study = of.study(seed);
        let (both, people) = covers(&study);
        covered.push(both);
        alone += u64::from(people);
        less += u64::from(against_a_model(&study, seed, truth - normal_cdf(MODEL)));
    }
    let mut places: Vec<u64> = (0..BLOCK).collect();
    shuffle(&mut stream(0, "stratified/order"), &mut places);
    let quantile = |place: u64| (place as f64 + 0.5) / BLOCK as f64;
    let stratified = (0..BLOCK).zip(&places).filter(|(seed, place)| {
        covers(&of.stratified(*seed, (quantile(*seed), quantile(**place)))).0
    });
    let percent = |n: u64, of: u64| 100.0 * n as f64 / of as f64;
    let hits = |part: &[bool]| part.iter().filter(|c| **c).count() as u64;
    let blocks: Vec<f64> = covered
        .chunks_exact(BLOCK as usize)
        .map(|block| percent(hits(block), BLOCK))
        .collect();
    let inside = blocks.iter().filter(|b| (93.0..=97.0).contains(*b)).count();
    let ends = blocks
        .iter()
        .copied()
        .fold((100.0, 0.0), |(low, high): (f64, f64), b| {
            (low.min(b), high.max(b))
        });
    println!(
        "| {} | {} | {} | {} | {} | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1}–{:.1} | {inside} of {} | {:.1} % | {:.1} % |",
        of.mean,
        of.sd_people,
        of.sd_items,
        of.people,
        of.design.items,
        of.design.per_person,
        100.0 * truth,
        blocks.first().copied().unwrap_or_default(),
        percent(stratified.count() as u64, BLOCK),
        percent(hits(&covered), studies),
        ends.0,
        ends.1,
        blocks.len(),
        percent(alone, studies),
        percent(less, studies),
    );
}

/// Whether the interval of people less a model that is right on the easier items covers the true difference.
fn against_a_model((scores, who, what): &Scores, seed: u64, truth: f64) -> bool {
    let people: Vec<CrossedAnswer> = scores
        .iter()
        .zip(who.iter().zip(what))
        .map(|(score, (person, item))| CrossedAnswer {
            score: *score,
            person: *person,
            item: *item,
        })
        .collect();
    let mut items = what.clone();
    items.sort_unstable();
    items.dedup();
    let model: Vec<CrossedAnswer> = items
        .into_iter()
        .map(|item| {
            let difficulty = normal(&mut stream(seed, &format!("difficulty/{item}")));
            CrossedAnswer {
                score: f64::from(u8::from(difficulty < MODEL)),
                person: 0,
                item,
            }
        })
        .collect();
    let side = |answers, people| CrossedSide { answers, people };
    let found = difference_crossed(side(&people, true), side(&model, false)).expect("a difference");
    found
        .bounds
        .is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// The mean of the logistic function over a normal distribution.
fn truth(mean: f64, sd: f64) -> f64 {
    let n = 100_000;
    let at = |i: usize| logistic(mean + sd * normal_quantile((i as f64 + 0.5) / n as f64));
    (0..n).map(at).sum::<f64>() / n as f64
}

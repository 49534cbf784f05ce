//! How often the interval over people and items covers the truth, in simulated studies of a known population:
//!
//!     cargo run --release -p mary-study --example coverage
//!
//! People's abilities and items' difficulties are normal on the logit scale; each study draws new people and
//! new items, gives them out in Latin-square lists, and answers are drawn from the probabilities. The truth is
//! the mean probability over the whole population, found by numerical integration.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for trying"
)]

use mary_stats::crossed::mean_crossed;
use mary_stats::distributions::normal_quantile;
use mary_study::lists::{Design, Lists};
use mary_study::simulate::{Behaviour, Simulation, logistic};

fn main() {
    let studies = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(400);
    println!(
        "| mean logit | sd people | sd items | people | items | a person | truth | covered | people alone |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (mean, sd_people, sd_items, people, items, per_person) in [
        (1.5, 0.7, 0.9, 30, 120, 40),
        (1.5, 0.7, 0.9, 30, 40, 40),
        (2.5, 1.0, 1.0, 30, 120, 40),
        (0.5, 0.5, 1.2, 20, 60, 30),
        (3.0, 0.7, 0.7, 50, 100, 20),
    ] {
        let truth = truth(mean, f64::hypot(sd_people, sd_items));
        let (mut covered, mut alone) = (0, 0);
        for seed in 0..studies {
            let simulation = Simulation {
                behaviour: Behaviour::Ability {
                    mean,
                    sd_people,
                    sd_items,
                },
                seconds: 1.0,
                seed,
            };
            let design = Design {
                items,
                per_person,
                lists: Lists::Latin,
                seed,
            };
            let (scores, who, what) = simulation.scores(&design, people);
            let found = mean_crossed(&scores, &who, &what).expect("a mean");
            covered += u32::from(found.interval.contains(truth));
            let half = 2.045 * found.over_people;
            alone += u32::from((found.interval.value - truth).abs() <= half);
        }
        let share = |n: u32| 100.0 * f64::from(n) / studies as f64;
        println!(
            "| {mean} | {sd_people} | {sd_items} | {people} | {items} | {per_person} | {:.1} % | {:.1} % | {:.1} % |",
            100.0 * truth,
            share(covered),
            share(alone)
        );
    }
}

/// The mean of the logistic function over a normal distribution.
fn truth(mean: f64, sd: f64) -> f64 {
    let n = 100_000;
    let at = |i: usize| logistic(mean + sd * normal_quantile((i as f64 + 0.5) / n as f64));
    (0..n).map(at).sum::<f64>() / n as f64
}

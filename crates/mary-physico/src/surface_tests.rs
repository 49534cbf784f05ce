use mary_contract::NoData;

use super::*;

/// Figures for the page; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures of several seeds; takes minutes in a debug build"]
fn figures_of_several_seeds() {
    for task in ["physico/core-text", "physico/associative-text"] {
        for seed in 0..3 {
            let settings = TaskSettings {
                seed,
                ..TaskSettings::default()
            };
            for r in surface(task, &settings, &NoData).unwrap().unwrap() {
                eprintln!(
                    "{task} seed {seed} {:<16} {:5.1} [{:5.1}, {:5.1}]",
                    r.feature,
                    100.0 * r.accuracy.value,
                    100.0 * r.accuracy.low,
                    100.0 * r.accuracy.high
                );
            }
        }
    }
}

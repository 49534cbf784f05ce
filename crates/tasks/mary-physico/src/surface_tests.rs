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
            for r in surface(task, &settings, &NoData).unwrap() {
                eprintln!(
                    "{task} seed {seed} {:<16} {:5.1} [{:5.1}, {:5.1}]",
                    r.feature,
                    100.0 * r.accuracy,
                    100.0 * r.low,
                    100.0 * r.high
                );
            }
        }
    }
}

fn drawn(level: Level, seed: u64, times: usize) -> Vec<Instance> {
    let all = planned(level, seed, times).unwrap();
    all.iter().map(|p| p.draw().unwrap()).collect()
}

fn blocks(instances: &[Instance]) -> BTreeMap<&str, Vec<&Instance>> {
    let mut blocks: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for i in instances {
        blocks.entry(i.block.as_ref().unwrap()).or_default().push(i);
    }
    blocks
}

/// The largest over the smallest of four numbers.
fn ratio(values: impl Iterator<Item = usize>) -> f64 {
    let values: Vec<usize> = values.collect();
    *values.iter().max().unwrap() as f64 / (*values.iter().min().unwrap()).max(1) as f64
}

#[test]
fn the_four_of_a_block_share_one_surface() {
    for level in [Level::Core, Level::Associative] {
        let instances = drawn(level, 1, 2);
        let blocks = blocks(&instances);
        let (mut pairs, mut colours, mut come_and_go) = (0, 0, 0);
        let (mut changed, mut filled) = (0, 0);
        for block in blocks.values() {
            for j in 0..3 {
                let of = |i: &Instance| Counts::from_pair(&i.pairs[j]);
                let sides = |i: &Instance| (i.pairs[j].input.rows(), i.pairs[j].input.cols());
                assert!(block.iter().all(|i| sides(i) == sides(block[0])));
                let first = of(block[0]);
                let same =
                    |is: &dyn Fn(Counts) -> bool| usize::from(block.iter().all(|i| is(of(i))));
                pairs += 1;
                colours += same(&|c| c.colours == first.colours);
                come_and_go += same(&|c| (c.come, c.go) == (first.come, first.go));
            }
            let total = |i: &Instance, of: fn(&Counts) -> usize| -> usize {
                i.pairs.iter().map(|p| of(&Counts::from_pair(p))).sum()
            };
            changed += usize::from(ratio(block.iter().map(|i| total(i, |c| c.changed))) < 1.25);
            filled += usize::from(ratio(block.iter().map(|i| total(i, |c| c.filled))) < 1.25);
        }
        let all = blocks.len();
        eprintln!(
            "{level:?}: {colours} and {come_and_go} of {pairs} pairs, {changed} and {filled} of {all} blocks"
        );
        // Where distractors find no room or the ranges of the four do not meet, the nearest is taken.
        assert!(colours * 100 >= pairs * 93, "colours: {colours} of {pairs}");
        assert!(
            come_and_go * 100 >= pairs * 97,
            "come, go: {come_and_go} of {pairs}"
        );
        assert!(
            changed * 100 >= all * 60,
            "changed: {changed} of {all} blocks"
        );
        assert!(filled * 100 >= all * 60, "filled: {filled} of {all} blocks");
    }
}

#[test]
fn a_learner_that_counts_finds_no_concept() {
    let (lessons, asked) = (drawn(Level::Core, TRAIN, 4), drawn(Level::Core, 0, 2));
    for (feature, bound) in [
        ("grid_size", 0.26),
        ("colours_used", 0.30),
        ("colours_changed", 0.30),
        ("cells_changed", 0.36),
        ("cells_filled", 0.40),
    ] {
        let of = FEATURES.iter().find(|f| f.0 == feature).unwrap().2;
        let scores = scores(&|i| of(&i.pairs), &lessons, &asked);
        let right = scores.iter().sum::<f64>() / scores.len() as f64;
        eprintln!("{feature}: {right:.3}");
        assert!(right < bound, "{feature} reaches {right}");
    }
}

/// Which concepts a feature finds most often; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures of many seeds; takes minutes in a debug build"]
fn which_concepts_are_found() {
    for level in [Level::Core, Level::Associative] {
        let lessons = drawn(level, TRAIN, LESSONS);
        let asked: Vec<Instance> = (0..8).flat_map(|seed| drawn(level, seed, 4)).collect();
        for (feature, _, of) in FEATURES.into_iter().chain([GAINED]) {
            let scores = scores(&|i| of(&i.pairs), &lessons, &asked);
            let mut found: BTreeMap<String, (f64, f64)> = BTreeMap::new();
            for (i, score) in asked.iter().zip(&scores) {
                let name = format!("{}/{}", i.concept, i.aspect.as_ref().unwrap());
                for name in [name, "all".into()] {
                    let entry = found.entry(name).or_default();
                    *entry = (entry.0 + score, entry.1 + 1.0);
                }
            }
            let mut rates: Vec<(f64, String)> = found
                .into_iter()
                .map(|(n, (s, all))| (100.0 * s / all, n))
                .collect();
            rates.sort_by(|a, b| b.0.total_cmp(&a.0));
            let all = rates.iter().find(|r| r.1 == "all").unwrap().0;
            let words = |r: &(f64, String)| format!("{} {:.0}", r.1, r.0);
            let most: Vec<String> = rates.iter().take(14).map(words).collect();
            let least: Vec<String> = rates.iter().rev().take(6).map(words).collect();
            eprintln!("{level:?} {feature} {all:.1}\n  most {most:?}\n  least {least:?}");
        }
    }
}

/// How the counts of every aspect are spread; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints the ranges of all aspects"]
fn the_ranges_of_every_aspect() {
    for c in crate::worlds::concepts() {
        for (i, a) in c.aspects.iter().enumerate() {
            let counts = crate::likeness::measured(c, i);
            let range = |of: fn(&Counts) -> usize| {
                let mut all: Vec<usize> = counts.iter().map(of).collect();
                all.sort_unstable();
                let at = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
                format!(
                    "{:3} {:3} {:3} {:3} {:3}",
                    at(0.0),
                    at(0.1),
                    at(0.5),
                    at(0.9),
                    at(1.0)
                )
            };
            eprintln!(
                "{:?} {:30} changed {}  filled {}",
                c.set,
                format!("{}/{}", c.id, a.id),
                range(|c| c.changed),
                range(|c| c.filled)
            );
        }
    }
}

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

/// Which aspects miss their block's counts, and what they are like; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints which aspects are hard to match"]
fn what_is_hard_to_match() {
    use crate::likeness::measured;
    use std::time::Instant;
    let start = Instant::now();
    for c in crate::worlds::concepts() {
        for (i, a) in c.aspects.iter().enumerate() {
            let counts = measured(c, i);
            let range = |of: fn(&Counts) -> usize| {
                let mut v: Vec<usize> = counts.iter().map(of).collect();
                v.sort_unstable();
                let at = |s: f64| v[((v.len() - 1) as f64 * s) as usize];
                format!("{:>3} {:>3} {:>3}", at(0.05), at(0.5), at(0.95))
            };
            eprintln!(
                "{:<55} n {:>3} changed {}  filled {}  colours {}  come {}  go {}",
                format!("{}/{}", c.id, a.id),
                counts.len(),
                range(|c| c.changed),
                range(|c| c.filled),
                range(|c| c.colours),
                range(|c| c.come),
                range(|c| c.go)
            );
        }
    }
    eprintln!("measured in {:?}", start.elapsed());
    for level in [Level::Core, Level::Associative] {
        let start = Instant::now();
        let all = planned(level, 0, 4).unwrap();
        eprintln!("planned in {:?}", start.elapsed());
        let start = Instant::now();
        let drawn: Vec<Instance> = all.iter().map(|p| p.draw().unwrap()).collect();
        eprintln!("{} drawn in {:?}", drawn.len(), start.elapsed());
        let mut blocks: BTreeMap<String, Vec<&Instance>> = BTreeMap::new();
        for i in &drawn {
            blocks.entry(i.block.clone().unwrap()).or_default().push(i);
        }
        let (mut exact, mut pairs) = ([0usize; 5], 0usize);
        for (name, block) in &blocks {
            for j in 0..3 {
                pairs += 1;
                let counts: Vec<Counts> = block.iter().map(|i| Counts::of(&i.pairs[j])).collect();
                let get: [fn(&Counts) -> usize; 5] = [
                    |c| c.changed,
                    |c| c.filled,
                    |c| c.colours,
                    |c| c.come,
                    |c| c.go,
                ];
                let mut off = vec![];
                for (k, of) in get.iter().enumerate() {
                    if counts.iter().all(|c| of(c) == of(&counts[0])) {
                        exact[k] += 1;
                    } else {
                        off.push(["changed", "filled", "colours", "come", "go"][k]);
                    }
                }
                if !off.is_empty() {
                    eprintln!("{name} pair {j} off in {off:?}");
                    for (i, c) in block.iter().zip(&counts) {
                        eprintln!(
                            "    {:<50} {c:?}",
                            format!("{}/{}", i.concept, i.aspect.as_ref().unwrap())
                        );
                    }
                }
            }
        }
        eprintln!("exact of {pairs}: changed, filled, colours, come, go {exact:?}");
    }
}

/// Which concepts a feature finds most often; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures of many seeds; takes minutes in a debug build"]
fn which_concepts_are_found() {
    for level in [Level::Core, Level::Associative] {
        let draw = |seed: u64, times: usize| -> Vec<Instance> {
            let all = planned(level, seed, times).unwrap();
            all.iter().map(|p| p.draw().unwrap()).collect()
        };
        let lessons = draw(TRAIN, LESSONS);
        let asked: Vec<Instance> = (0..8).flat_map(|seed| draw(seed, 4)).collect();
        for &(feature, _, _, of) in &FEATURES {
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

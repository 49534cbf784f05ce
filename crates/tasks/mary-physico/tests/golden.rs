//! The same seed gives the same grids, and a reading the same answers, from one version to the next:
//! a fingerprint of each aspect's instances and of each reading's answers, held against a file. What
//! changes one of them changes the items of the set, and raises the version of the tasks.
//! `PHYSICO_GOLDEN=crates/tasks/mary-physico/tests/golden.txt` writes the file anew.

use std::fmt::Write as _;
use std::hash::Hasher as _;

use mary_generators::{below, stream};
use mary_physico::grid::{Grid, Pair};
use mary_physico::worlds::readings::{Look, readings};
use mary_physico::worlds::{Level, concepts, instance_of};

const SEEDS: u64 = 8;

/// FNV-1a: the standard library's hasher may change between releases.
struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn fnv() -> Fnv {
    Fnv(0xcbf2_9ce4_8422_2325)
}

/// The pair and pairs like it that no aspect draws: what a reading must answer at its limits.
fn near(pair: &Pair, other: &Pair, seed: u64) -> Vec<Pair> {
    let mut rng = stream(seed, "near");
    let mut cell = |grid: &Grid| {
        let mut grid = grid.clone();
        let (r, c) = (below(&mut rng, grid.rows()), below(&mut rng, grid.cols()));
        let colour = below(&mut rng, 10) as u8;
        grid.set(r as i32, c as i32, colour);
        grid
    };
    let (input, output) = (cell(&pair.input), cell(&pair.output));
    let made = |input: &Grid, output: &Grid| Pair {
        input: input.clone(),
        output: output.clone(),
    };
    let mut all = vec![
        pair.clone(),
        made(&pair.output, &pair.input),
        made(&input, &pair.output),
        made(&pair.input, &output),
        pair.map(Grid::turned),
    ];
    if (pair.input.rows(), pair.input.cols()) == (other.input.rows(), other.input.cols()) {
        all.push(made(&pair.input, &other.output));
    }
    all
}

#[test]
fn the_same_seeds_give_the_grids_and_the_answers_of_the_last_version() {
    let mut found = String::new();
    let mut answers: Vec<(Fnv, usize)> = readings().map(|_| (fnv(), 0)).collect();
    for concept in concepts() {
        for aspect in &concept.aspects {
            let mut grids = fnv();
            for seed in 0..SEEDS {
                for (m, level) in [Level::Core, Level::Associative].into_iter().enumerate() {
                    let mut rng = stream(seed, &format!("golden/{}/{m}", aspect.id));
                    let made = instance_of(concept, aspect, &mut rng, level).unwrap();
                    for pair in &made.pairs {
                        grids.write(format!("{}\n{}\n", pair.input, pair.output).as_bytes());
                    }
                    let [a, b, _] = &made.pairs;
                    for pair in near(a, b, seed) {
                        let look = Look::new(&pair);
                        for (reading, (hash, yes)) in readings().zip(&mut answers) {
                            let (lies, turned) =
                                (reading.fits(&look), reading.fits_some_way(&look));
                            hash.write(&[u8::from(lies) + 2 * u8::from(turned)]);
                            *yes += usize::from(lies);
                        }
                    }
                }
            }
            let (id, hash) = (aspect.id, grids.finish());
            writeln!(found, "grids {}/{id} {hash:016x}", concept.id).unwrap();
        }
    }
    for (reading, (hash, yes)) in readings().zip(&answers) {
        let (aspects, hash) = (reading.aspects.join(","), hash.finish());
        writeln!(
            found,
            "answers {}/{aspects} {yes} {hash:016x}",
            reading.concept
        )
        .unwrap();
    }
    if let Ok(path) = std::env::var("PHYSICO_GOLDEN") {
        std::fs::write(path, &found).unwrap();
        return;
    }
    let expected = include_str!("golden.txt");
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

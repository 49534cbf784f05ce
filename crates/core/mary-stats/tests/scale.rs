//! Scales from simulated answers: what intervals hold, what tests find, who gets no number.
//! `cargo test -p mary-stats --release scale -- --ignored --nocapture` prints the tables of docs/history/scales.md.

use mary_stats::irt::adaptive::standing;
use mary_stats::irt::dif::{DifTest, ItemDif, likelihood_ratio, mantel_haenszel, separate};
use mary_stats::irt::scale::{Calibration, Curve, Subjects, Wanted, calibrate};
use mary_stats::irt::{Item, MarginalSettings, Responses, Slopes};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Persons and items of a one-parameter world; `harder(person, item)` is added to the difficulty.
struct World {
    bank: Vec<Item>,
    thetas: Vec<f64>,
    responses: Responses,
}

fn world(
    (persons, items): (usize, usize),
    chance: f64,
    seed: u64,
    ability: impl Fn(usize, f64) -> f64,
    harder: impl Fn(usize, usize) -> f64,
) -> World {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let bank: Vec<Item> = (0..items)
        .map(|_| Item::binary(1.0, normal(&mut random), chance))
        .collect();
    let thetas: Vec<f64> = (0..persons)
        .map(|person| ability(person, normal(&mut random)))
        .collect();
    let mut answers = Vec::new();
    for (person, theta) in thetas.iter().enumerate() {
        for (at, item) in bank.iter().enumerate() {
            let p = item.expected(theta - harder(person, at));
            answers.push((person, at, u8::from(random.random::<f64>() < p)));
        }
    }
    World {
        responses: Responses::new(persons, items, answers).unwrap(),
        bank,
        thetas,
    }
}

fn plain(world: &World, wanted: &Wanted) -> Calibration {
    of_kinds(world, wanted, &[])
}

fn of_kinds(world: &World, wanted: &Wanted, kinds: &[usize]) -> Calibration {
    let lineages: Vec<usize> = (0..world.thetas.len()).collect();
    let chance = vec![0.0; world.bank.len()];
    let subjects = Subjects {
        responses: &world.responses,
        lineages: &lineages,
        focal: &[],
        chance: &chance,
        kinds,
    };
    calibrate(&subjects, wanted, &mut |_| {}).unwrap()
}

const ONE: Wanted = Wanted {
    curve: Some(Curve::OnePl),
    clustered: false,
    fewest_answers: 10,
    seed: 0,
    dif: DifTest::Wald,
};

/// Share of intervals of items and of persons that hold the truth, and the mean error of difficulties of the items
/// harder and easier than average (pulled towards the middle or pushed away from it).
fn coverage(sizes: (usize, usize), worlds: u64) -> [f64; 4] {
    let (mut items, mut persons, mut stretch, mut spread) = ((0.0, 0.0), (0.0, 0.0), 0.0, 0.0);
    for seed in 0..worlds {
        let world = world(sizes, 0.0, seed, |_, theta| theta, |_, _| 0.0);
        let found = plain(&world, &ONE);
        // The unit and the zero point are those of the subjects who happened to calibrate; what is found is where items
        // and persons stand in them.
        let n = found.items.len() as f64;
        let own = found
            .items
            .iter()
            .map(|i| i.curve.difficulty())
            .sum::<f64>()
            / n;
        let mean = found
            .items
            .iter()
            .map(|i| world.bank[i.item].difficulty())
            .sum::<f64>()
            / n;
        let unit = found.items[0].curve.slope;
        for item in &found.items {
            let truth = (world.bank[item.item].difficulty() - mean) / unit;
            let off = item.curve.difficulty() - own - truth;
            items.0 += f64::from(u8::from(off.abs() < 1.96 * item.errors.difficulty));
            items.1 += 1.0;
            stretch += off * truth.signum();
            spread += off * off;
        }
        for (standing, theta) in found.subjects.iter().zip(&world.thetas) {
            if let Some(standing) = standing {
                let off = standing.ability.value - own - (theta - mean) / unit;
                persons.0 += f64::from(u8::from(off.abs() < 1.96 * standing.ability.error));
                persons.1 += 1.0;
            }
        }
    }
    [
        items.0 / items.1,
        persons.0 / persons.1,
        stretch / items.1,
        (spread / items.1).sqrt(),
    ]
}

#[test]
#[ignore = "minutes: prints the table of docs/history/scales.md"]
fn coverage_of_all_sizes() {
    let only = std::env::var("MARY_SCALE_SUBJECTS").ok();
    let only = only.and_then(|n| n.parse::<usize>().ok());
    for persons in [5, 10, 20, 50, 200, 1000] {
        if only.is_some_and(|n| n != persons) {
            continue;
        }
        for items in [20, 100, 400, 1000] {
            let worlds = (20_000 / (persons * items)).clamp(2, 30) as u64;
            let begun = std::time::Instant::now();
            let [item, person, bias, error] = coverage((persons, items), worlds);
            println!(
                "{persons:5} subjects {items:5} items: items {:.1} % persons {:.1} % bias {bias:+.2} error {error:.2}  ({worlds} worlds, {:.1?})",
                100.0 * item,
                100.0 * person,
                begun.elapsed()
            );
        }
    }
}

/// False alarms (share of worlds with any; share of alike items) and power at 0.64 and 1 logits, focal group less able.
fn differences(
    test: DifTest,
    (reference, focal): (usize, usize),
    items: usize,
    worlds: u64,
) -> [f64; 4] {
    let (mut any, mut alarms, mut tested, mut small, mut large) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for seed in 0..worlds {
        let is_focal = |person: usize| person >= reference;
        let world = world(
            (reference + focal, items),
            0.0,
            seed,
            |person, theta| theta - if is_focal(person) { 0.7 } else { 0.0 },
            |person, item| match (is_focal(person), item) {
                (true, 0) => 0.64,
                (true, 1) => 1.0,
                _ => 0.0,
            },
        );
        let second: Vec<bool> = (0..reference + focal).map(is_focal).collect();
        let found = match test {
            DifTest::Wald => separate(&world.responses, &second).unwrap().items,
            DifTest::MantelHaenszel => mantel_haenszel(&world.responses, &second).unwrap(),
            DifTest::LikelihoodRatio => {
                let settings = MarginalSettings {
                    tolerance: 1e-4,
                    ..MarginalSettings::new(Slopes::Common)
                };
                likelihood_ratio(&world.responses, &second, &settings).unwrap()
            }
        };
        let differs = |item: &ItemDif| item.p_holm < 0.05;
        let wrong = found.iter().filter(|i| i.item > 1 && differs(i)).count();
        any += f64::from(u8::from(wrong > 0));
        alarms += wrong as f64;
        tested += found.len() as f64 - 2.0;
        let hit = |at: usize| found.iter().any(|i| i.item == at && differs(i));
        small += f64::from(u8::from(hit(0)));
        large += f64::from(u8::from(hit(1)));
    }
    let n = worlds as f64;
    [any / n, alarms / tested, small / n, large / n]
}

#[test]
#[ignore = "minutes: prints the table of docs/history/scales.md"]
fn differences_of_all_sizes() {
    for (sizes, items) in [
        ((10, 10), 50),
        ((24, 24), 50),
        ((300, 12), 50),
        ((100, 100), 50),
        ((300, 300), 50),
        ((1000, 1000), 30),
        ((60, 60), 300),
    ] {
        let tests = [
            (DifTest::Wald, 100),
            (DifTest::MantelHaenszel, 100),
            (DifTest::LikelihoodRatio, 40),
        ];
        for (test, worlds) in tests {
            let [any, alarms, small, large] = differences(test, sizes, items, worlds);
            println!(
                "{} {sizes:?} {items} items: any false alarm {any:.2}, of items {alarms:.4}; found 0.64: {small:.2}, 1.0: {large:.2}",
                test.name()
            );
        }
    }
}

#[test]
fn intervals_hold_and_alike_items_are_not_called_different() {
    let [items, persons, bias, _] = coverage((60, 30), 6);
    assert!((0.91..0.985).contains(&items), "{items}");
    assert!((0.92..0.98).contains(&persons), "{persons}");
    assert!(bias.abs() < 0.1, "{bias}");
    let [any, _, _, large] = differences(DifTest::Wald, (150, 150), 20, 20);
    assert!(any <= 0.1 && large > 0.5, "{any} {large}");
}

#[test]
fn answers_that_go_together_by_kind_widen_the_error_of_an_ability() {
    let kinds: Vec<usize> = (0..200).map(|item| item % 10).collect();
    let (mut held, mut spread) = ([0.0; 2], 0.0);
    for seed in 0..4 {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 99);
        let better: Vec<f64> = (0..600).map(|_| 0.8 * normal(&mut random)).collect();
        let better = |person: usize, item: usize| -better[person * 10 + item % 10];
        let world = world((60, 200), 0.0, seed, |_, theta| theta, better);
        for (at, kinds) in [&[][..], &kinds].into_iter().enumerate() {
            let found = of_kinds(&world, &ONE, kinds);
            spread += found.between_kinds.sqrt() * found.items[0].curve.slope / 4.0;
            let bank = found.items.iter();
            let zero = bank
                .map(|i| i.curve.difficulty() - world.bank[i.item].difficulty() / i.curve.slope);
            let zero = zero.sum::<f64>() / found.items.len() as f64;
            for (standing, theta) in found.subjects.iter().zip(&world.thetas) {
                let own = standing.as_ref().unwrap().ability;
                let off = own.value - zero - theta / found.items[0].curve.slope;
                held[at] += f64::from(u8::from(off.abs() < 1.96 * own.error)) / 240.0;
            }
        }
    }
    // Independent answers would leave an error half as large as it is; the kinds were drawn with 0.8.
    assert!(held[0] < 0.85 && held[1] > 0.91, "{held:?}");
    assert!((0.6..1.0).contains(&spread), "{spread}");
}

/// Guessers, whoever always takes the first option and whoever is always wrong, among subjects who know something: how often
/// each is said to be above chance.
fn told_above_chance(items: usize, chance: f64, worlds: u64) -> [f64; 3] {
    let mut above = [0.0; 3];
    for seed in 0..worlds {
        let able = world((20, items), chance, seed, |_, theta| theta, |_, _| 0.0);
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xc0ffee);
        // The right answer stands first in a share of the items that the order of options decides.
        let first: Vec<bool> = (0..items)
            .map(|_| random.random::<f64>() < chance)
            .collect();
        let rows = able.responses.persons().iter().enumerate();
        let mut answers: Vec<(usize, usize, u8)> = rows
            .flat_map(|(p, row)| row.iter().map(move |a| (p, a.0, a.1)))
            .collect();
        for (item, first) in first.iter().enumerate() {
            answers.push((20, item, u8::from(random.random::<f64>() < chance)));
            answers.push((21, item, u8::from(*first)));
            answers.push((22, item, 0));
        }
        let responses = Responses::new(23, items, answers).unwrap();
        let lineages: Vec<usize> = (0..23).collect();
        let subjects = Subjects {
            responses: &responses,
            lineages: &lineages,
            focal: &[],
            chance: &vec![chance; items],
            kinds: &[],
        };
        let found = calibrate(&subjects, &Wanted { curve: None, ..ONE }, &mut |_| {}).unwrap();
        let mut able: Vec<f64> = found.subjects[..20]
            .iter()
            .flatten()
            .map(|s| s.ability.value)
            .collect();
        able.sort_by(f64::total_cmp);
        for (at, above) in above.iter_mut().enumerate() {
            let own = found.subjects[20 + at].as_ref().unwrap();
            *above += f64::from(u8::from(own.above_chance));
            // From 60 items on, nobody who knows nothing stands in the upper half of those who know.
            assert!(items < 60 || own.ability.value < able[10], "{at} {own:?}");
        }
    }
    above.map(|n| n / worlds as f64)
}

#[test]
fn guessers_and_constant_answerers_are_not_above_chance() {
    let [guesser, constant, wrong] = told_above_chance(60, 0.5, 60);
    // 5 % by the test's own level; 60 worlds.
    assert!(guesser <= 0.12 && constant <= 0.12 && wrong == 0.0);
}

#[test]
#[ignore = "a minute: prints figures of docs/history/scales.md"]
fn who_is_told_above_chance() {
    for (items, chance) in [(20, 0.5), (100, 0.5), (400, 0.5), (100, 0.25), (400, 0.25)] {
        let found = told_above_chance(items, chance, 200);
        println!(
            "{items} items, chance {chance}: guesser, constant, wrong above chance {found:.3?}"
        );
    }
}

/// A table as `tools/scale_tables.py` writes it: subject, lineage, item, score, chance.
struct TableOfAnswers {
    lineages: Vec<usize>,
    names: Vec<String>,
    chance: Vec<f64>,
    /// What stands before the slash of an item's name, numbered: its suite or subtask.
    kinds: Vec<usize>,
    rows: Vec<Vec<(usize, u8)>>,
}

fn table(path: &str) -> TableOfAnswers {
    let number = |names: &mut Vec<String>, name: &str| {
        names.iter().position(|n| n == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        })
    };
    let (mut lines, mut suites, mut items) =
        (Vec::new(), Vec::new(), std::collections::HashMap::new());
    let mut data = TableOfAnswers {
        lineages: Vec::new(),
        names: Vec::new(),
        chance: Vec::new(),
        kinds: Vec::new(),
        rows: Vec::new(),
    };
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let who = number(&mut data.names, cells[0]);
        let lineage = number(&mut lines, cells[1]);
        let next = items.len();
        let item = *items.entry(cells[2].to_owned()).or_insert(next);
        if who == data.rows.len() {
            data.rows.push(Vec::new());
            data.lineages.push(lineage);
        }
        if item == data.chance.len() {
            data.chance.push(cells[4].parse().unwrap());
            let suite = cells[2].split('/').next().unwrap_or_default();
            data.kinds.push(number(&mut suites, suite));
        }
        data.rows[who].push((item, cells[3].parse().unwrap()));
    }
    data
}

/// What an adaptive test of one subject said, beside all items.
struct LeftOut {
    /// Distance of the two abilities in errors of the adaptive one.
    off: f64,
    /// Probability that it is below one if nothing but the model's own scatter is at work.
    expected: f64,
    /// Distance in errors that take all answers for independent.
    off_independent: f64,
    /// Whether the share right of all items lies in its interval, by how much it is off, and the share asked.
    held: bool,
    share_off: f64,
    asked: f64,
}

/// Every subject in turn: items calibrated on the other lineages, then the ability by all items and by adaptive tests of
/// at most a fifth of them, ten with different seeds.
#[test]
#[ignore = "needs MARY_SCALE_TABLE, a table of tools/scale_tables.py"]
fn leave_one_out_of_a_table() {
    use std::collections::{BTreeMap, HashMap};

    use mary_stats::irt::{Estimator, Kinds, ability};
    let data = table(&std::env::var("MARY_SCALE_TABLE").unwrap());
    let people = data.rows.len();
    let mut results = BTreeMap::<&str, Vec<Vec<LeftOut>>>::new();
    let mut calibrated = HashMap::<usize, Calibration>::new();
    for who in 0..people {
        let others: Vec<usize> = (0..people)
            .filter(|&o| data.lineages[o] != data.lineages[who])
            .collect();
        let found = calibrated.entry(data.lineages[who]).or_insert_with(|| {
            let rows = others.iter().enumerate();
            let answers =
                rows.flat_map(|(at, &o)| data.rows[o].iter().map(move |a| (at, a.0, a.1)));
            let responses = Responses::new(others.len(), data.chance.len(), answers).unwrap();
            let lineages: Vec<usize> = others.iter().map(|&o| data.lineages[o]).collect();
            let subjects = Subjects {
                responses: &responses,
                lineages: &lineages,
                focal: &[],
                chance: &data.chance,
                kinds: &data.kinds,
            };
            calibrate(&subjects, &Wanted { curve: None, ..ONE }, &mut |_| {}).unwrap()
        });
        let own: HashMap<usize, u8> = data.rows[who].iter().copied().collect();
        // Only what this subject was asked can be asked again.
        let kept = found.items.iter().filter(|i| own.contains_key(&i.item));
        let kept: Vec<_> = kept.collect();
        let bank: Vec<Item> = kept.iter().map(|i| i.curve.clone()).collect();
        let kinds = Kinds {
            of: kept.iter().map(|i| data.kinds[i.item]).collect(),
            variance: found.between_kinds,
        };
        let rows = kept.iter().enumerate();
        let row: Vec<(usize, u8)> = rows.map(|(at, i)| (at, own[&i.item])).collect();
        let full = standing(&bank, &row, &kinds).unwrap().ability;
        let plain_full = ability(&bank, &row, Estimator::Eap).unwrap();
        let share = row.iter().map(|a| f64::from(a.1)).sum::<f64>() / row.len() as f64;
        for (name, error) in [("se=0.3", 0.3), ("a fifth", 0.0)] {
            let once = |seed: u64| {
                let most = row.len() / 5;
                let given = adaptive_answers(&bank, &row, &kinds, (error, most), seed);
                let found = standing(&bank, &given, &kinds).unwrap();
                let plain = ability(&bank, &given, Estimator::Eap).unwrap();
                // Single answers scatter, and the kinds weigh differently in the two tests.
                let weights = |answers: &[(usize, u8)]| {
                    let mut told = BTreeMap::<usize, f64>::new();
                    for (item, _) in answers {
                        *told.entry(kinds.of[*item]).or_default() +=
                            bank[*item].information(full.value);
                    }
                    let total: f64 = told.values().sum();
                    told.values_mut().for_each(|told| *told /= total);
                    told
                };
                let (few, all) = (weights(&given), weights(&row));
                let kind = |kind: &usize| few.get(kind).copied().unwrap_or(0.0) - all[kind];
                let uneven: f64 = all.keys().map(|k| kind(k).powi(2)).sum();
                let apart = (plain.error.powi(2) - plain_full.error.powi(2)).max(1e-9)
                    + kinds.variance * uneven;
                let z = found.ability.error / apart.sqrt();
                LeftOut {
                    off: (found.ability.value - full.value).abs() / found.ability.error,
                    expected: 2.0 * mary_stats::distributions::normal_cdf(z) - 1.0,
                    off_independent: (plain.value - plain_full.value).abs() / plain.error,
                    held: found.expected_share.contains(share),
                    share_off: (found.expected_share.value - share).abs(),
                    asked: given.len() as f64 / row.len() as f64,
                }
            };
            let all: Vec<LeftOut> = (0..10).map(once).collect();
            println!(
                "{:40} {name}: full {:+.2} ({:.2}), off by {:.2} SE on average",
                data.names[who],
                full.value,
                full.error,
                all.iter().map(|r| r.off).sum::<f64>() / 10.0
            );
            results.entry(name).or_default().push(all);
        }
    }
    for (name, all) in results {
        let mean = |of: &dyn Fn(&LeftOut) -> f64| {
            let n = (10 * all.len()) as f64;
            100.0 * all.iter().flatten().map(of).sum::<f64>() / n
        };
        let yes = |x: bool| f64::from(u8::from(x));
        println!(
            "{name}: {} subjects, asked {:.1} %; within 1 SE {:.0} % (expected {:.0} %), within 1.96 SE {:.0} %; answers \
             taken for independent {:.0} % and {:.0} %; share held {:.0} %, off by {:.1} points",
            all.len(),
            mean(&|r| r.asked),
            mean(&|r| yes(r.off <= 1.0)),
            mean(&|r| r.expected),
            mean(&|r| yes(r.off <= 1.96)),
            mean(&|r| yes(r.off_independent <= 1.0)),
            mean(&|r| yes(r.off_independent <= 1.96)),
            mean(&|r| yes(r.held)),
            mean(&|r| r.share_off),
        );
    }
    for (lineage, found) in calibrated {
        let spread = found.between_kinds.sqrt();
        println!("without lineage {lineage}: spread between kinds {spread:.2}");
    }
}

/// An adaptive test in turns of 16 of somebody whose answers to all items are known.
fn adaptive_answers(
    bank: &[Item],
    row: &[(usize, u8)],
    kinds: &mary_stats::irt::Kinds,
    (error, most): (f64, usize),
    seed: u64,
) -> Vec<(usize, u8)> {
    use mary_stats::irt::Ability;
    use mary_stats::irt::adaptive::{Selection, Stop, next_items};
    let stop = Stop {
        error,
        fewest: 10,
        most,
    };
    let selection = Selection::fair(kinds.of.clone(), seed);
    let mut given: Vec<(usize, u8)> = Vec::new();
    let mut current: Option<Ability> = None;
    while !stop.reached(given.len(), row.len(), current) {
        let asked: Vec<usize> = given.iter().map(|a| a.0).collect();
        let theta = current.map_or(0.0, |a| a.value);
        let count = 16.min(most - given.len());
        let next = next_items(bank, &asked, theta, count, &selection);
        given.extend(next.iter().map(|&at| row[at]));
        current = standing(bank, &given, kinds).ok().map(|s| s.ability);
    }
    given
}

//! Scales from simulated answers: what intervals hold, what tests find, who gets no number.
//! `cargo test -p mary-stats --release scale -- --ignored --nocapture` prints the tables of docs/scales.md.

use mary_stats::irt::scale::{Calibration, Curve, Subjects, Wanted, calibrate};
use mary_stats::irt::{Item, Responses};
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
    let lineages: Vec<usize> = (0..world.thetas.len()).collect();
    let chance = vec![0.0; world.bank.len()];
    let subjects = Subjects {
        responses: &world.responses,
        lineages: &lineages,
        focal: &[],
        chance: &chance,
    };
    calibrate(&subjects, wanted, &mut |_| {}).unwrap()
}

const ONE: Wanted = Wanted {
    curve: Some(Curve::OnePl),
    clustered: false,
    fewest_answers: 10,
    seed: 0,
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
#[ignore = "minutes: prints the table of docs/scales.md"]
fn coverage_of_all_sizes() {
    for persons in [5, 10, 20, 50, 200, 1000] {
        for items in [20, 100, 400, 1000] {
            if persons * items > 400_000 {
                continue;
            }
            let worlds = (40_000 / (persons * items)).clamp(3, 60) as u64;
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
fn differences((reference, focal): (usize, usize), items: usize, worlds: u64) -> [f64; 4] {
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
        let found = mary_stats::irt::dif::separate(&world.responses, &second).unwrap();
        let differs = |item: &mary_stats::irt::dif::ItemDif| item.p_holm < 0.05;
        let wrong = found
            .items
            .iter()
            .filter(|i| i.item > 1 && differs(i))
            .count();
        any += f64::from(u8::from(wrong > 0));
        alarms += wrong as f64;
        tested += found.items.len() as f64 - 2.0;
        let hit = |at: usize| found.items.iter().any(|i| i.item == at && differs(i));
        small += f64::from(u8::from(hit(0)));
        large += f64::from(u8::from(hit(1)));
    }
    let n = worlds as f64;
    [any / n, alarms / tested, small / n, large / n]
}

#[test]
#[ignore = "minutes: prints the table of docs/scales.md"]
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
        let [any, alarms, small, large] = differences(sizes, items, 100);
        println!(
            "{sizes:?} {items} items: any false alarm {any:.2}, of items {alarms:.4}; found 0.64: {small:.2}, 1.0: {large:.2}"
        );
    }
}

#[test]
fn intervals_hold_and_alike_items_are_not_called_different() {
    let [items, persons, bias, _] = coverage((60, 30), 6);
    assert!((0.91..0.985).contains(&items), "{items}");
    assert!((0.92..0.98).contains(&persons), "{persons}");
    assert!(bias.abs() < 0.1, "{bias}");
    let [any, _, _, large] = differences((150, 150), 20, 20);
    assert!(any <= 0.1 && large > 0.5, "{any} {large}");
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

/// Every subject in turn: items calibrated on the other lineages, then the ability by all items and by an adaptive test of
/// at most a fifth of them.
#[test]
#[ignore = "needs MARY_SCALE_TABLE, a table of tools/scale_tables.py"]
fn leave_one_out_of_a_table() {
    use std::collections::{BTreeMap, HashMap};

    use mary_stats::irt::{Estimator, ability};
    let data = table(&std::env::var("MARY_SCALE_TABLE").unwrap());
    let people = data.rows.len();
    let mut results = BTreeMap::<&str, Vec<[f64; 4]>>::new();
    for who in 0..people {
        let others: Vec<usize> = (0..people)
            .filter(|&o| data.lineages[o] != data.lineages[who])
            .collect();
        let rows = others.iter().enumerate();
        let answers = rows.flat_map(|(at, &o)| data.rows[o].iter().map(move |a| (at, a.0, a.1)));
        let responses = Responses::new(others.len(), data.chance.len(), answers).unwrap();
        let lineages: Vec<usize> = others.iter().map(|&o| data.lineages[o]).collect();
        let subjects = Subjects {
            responses: &responses,
            lineages: &lineages,
            focal: &[],
            chance: &data.chance,
        };
        let found = calibrate(&subjects, &Wanted { curve: None, ..ONE }, &mut |_| {}).unwrap();
        let own: HashMap<usize, u8> = data.rows[who].iter().copied().collect();
        // Only what this subject was asked can be asked again.
        let kept: Vec<_> = found
            .items
            .iter()
            .filter(|i| own.contains_key(&i.item))
            .collect();
        let bank: Vec<Item> = kept.iter().map(|i| i.curve.clone()).collect();
        let content: Vec<usize> = kept.iter().map(|i| data.kinds[i.item]).collect();
        let row: Vec<(usize, u8)> = kept
            .iter()
            .enumerate()
            .map(|(at, i)| (at, own[&i.item]))
            .collect();
        let full = ability(&bank, &row, Estimator::Eap).unwrap();
        let share = row.iter().map(|a| f64::from(a.1)).sum::<f64>() / row.len() as f64;
        for (name, error) in [("se=0.3", 0.3), ("a fifth", 0.0)] {
            let most = row.len() / 5;
            let given = adaptive_answers(&bank, &row, &content, (error, most), who as u64);
            let found = mary_stats::irt::adaptive::standing(&bank, &given).unwrap();
            let off = (found.ability.value - full.value).abs() / found.ability.error;
            println!(
                "{:40} {name}: full {:+.2} ({:.2}) adaptive {:+.2} ({:.2}), {off:.2} SE; right {share:.3}, expected {:.3}",
                data.names[who],
                full.value,
                full.error,
                found.ability.value,
                found.ability.error,
                found.expected_share.value
            );
            let held = f64::from(u8::from(found.expected_share.contains(share)));
            let asked = given.len() as f64 / row.len() as f64;
            results.entry(name).or_default().push([
                off,
                held,
                asked,
                (found.expected_share.value - share).abs(),
            ]);
        }
    }
    for (name, all) in results {
        let n = all.len() as f64;
        let within = |most: f64| all.iter().filter(|r| r[0] <= most).count();
        let mean = |at: usize| all.iter().map(|r| r[at]).sum::<f64>() / n;
        println!(
            "{name}: {n} subjects, within 1 SE {}, within 1.96 SE {}, share held {:.0} %, off by {:.3}, asked {:.1} %",
            within(1.0),
            within(1.96),
            100.0 * mean(1),
            mean(3),
            100.0 * mean(2)
        );
    }
}

/// An adaptive test in turns of 16 of somebody whose answers to all items are known.
fn adaptive_answers(
    bank: &[Item],
    row: &[(usize, u8)],
    content: &[usize],
    (error, most): (f64, usize),
    seed: u64,
) -> Vec<(usize, u8)> {
    use mary_stats::irt::adaptive::{Selection, Stop, next_items};
    use mary_stats::irt::{Ability, Estimator, ability};
    let stop = Stop {
        error,
        fewest: 10,
        most,
    };
    let selection = Selection {
        among: 5,
        content: content.to_vec(),
        seed,
    };
    let mut given: Vec<(usize, u8)> = Vec::new();
    let mut current: Option<Ability> = None;
    while !stop.reached(given.len(), row.len(), current) {
        let asked: Vec<usize> = given.iter().map(|a| a.0).collect();
        let theta = current.map_or(0.0, |a| a.value);
        let count = 16.min(most - given.len());
        let next = next_items(bank, &asked, theta, count, &selection);
        given.extend(next.iter().map(|&at| row[at]));
        current = ability(bank, &given, Estimator::Eap).ok();
    }
    given
}

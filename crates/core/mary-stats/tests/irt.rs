//! Item response theory beside eRm, psychotools, statsmodels, girth, py-irt and catsim (`tools/golden_irt.py`), and by
//! simulation.

use mary_stats::irt::adaptive::{Selection, Stop, next_items, standing};
use mary_stats::irt::dif::{EtsClass, likelihood_ratio, mantel_haenszel};
use mary_stats::irt::fit::{item_fit, parallel_analysis, q3};
use mary_stats::irt::{
    Estimator, Item, Kinds, Marginal, MarginalSettings, Rasch, Responses, Slopes, ability,
    marginal, rasch,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden_irt.json")).unwrap()
}

fn responses(answers: &Value) -> Responses {
    let row = |row: &Value| -> Vec<Option<u8>> {
        row.as_str()
            .unwrap()
            .bytes()
            .map(|c| c.is_ascii_digit().then(|| c - b'0'))
            .collect()
    };
    let rows: Vec<_> = answers.as_array().unwrap().iter().map(row).collect();
    Responses::from_rows(&rows).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap_or(f64::NAN))
        .collect()
}

fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .filter(|(_, b)| b.is_finite())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// Centred, as eRm's difficulties are.
fn centred(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter().map(|x| x - mean).collect()
}

/// Difficulties that three programs find, and eRm's errors.
fn as_by_others(responses: &Responses, set: &Value) -> (Rasch, Vec<f64>) {
    let found = rasch(responses).unwrap();
    let difficulties: Vec<f64> = found.difficulties.iter().map(|d| d.unwrap()).collect();
    for program in ["beta", "psychotools", "statsmodels"] {
        if !set[program].is_null() {
            let apart = furthest(&difficulties, &numbers(&set[program]));
            assert!(apart < 1e-4, "{program}: {apart}");
        }
    }
    let errors: Vec<f64> = found.errors.iter().map(|d| d.unwrap()).collect();
    assert!(found.exact_errors && furthest(&errors, &numbers(&set["se"])) < 1e-4);
    (found, difficulties)
}

#[test]
fn rasch_difficulties_are_those_of_erm_psychotools_and_statsmodels() {
    for set in golden()["rasch"].as_array().unwrap() {
        let responses = responses(&set["answers"]);
        let (found, difficulties) = as_by_others(&responses, set);
        assert!((found.log_likelihood - numbers(&set["loglik"])[0]).abs() < 2e-2);
        if set["theta"].is_null() {
            continue;
        }
        let items: Vec<Item> = difficulties
            .iter()
            .map(|b| Item::binary(1.0, *b, 0.0))
            .collect();
        let thetas = numbers(&set["theta"]);
        let own = responses
            .persons()
            .iter()
            .map(|row| ability(&items, row, Estimator::Ml).map_or(f64::NAN, |a| a.value));
        assert!(furthest(&own.collect::<Vec<_>>(), &thetas) < 1e-4);
        let finite: Vec<Option<f64>> = thetas.iter().map(|t| t.is_finite().then_some(*t)).collect();
        let fits = item_fit(&items, &responses, &finite).unwrap();
        let (outfit, infit): (Vec<f64>, Vec<f64>) =
            fits.iter().map(|f| (f.outfit, f.infit)).unzip();
        assert!(furthest(&outfit, &numbers(&set["outfit"])) < 1e-3);
        assert!(furthest(&infit, &numbers(&set["infit"])) < 1e-3);
    }
}

/// Any table with these right answers by item and persons by score: the model sees no more.
fn with_margins(right: &[usize], scores: &[usize]) -> Responses {
    let mut left = right.to_vec();
    let mut rows = Vec::new();
    // Persons with most right answers first, each on the items with most left (Gale and Ryser).
    for (score, &count) in scores.iter().enumerate().rev() {
        for _ in 0..count {
            let mut order: Vec<usize> = (0..left.len()).collect();
            order.sort_by_key(|&item| std::cmp::Reverse(left[item]));
            let mut row = vec![Some(0u8); left.len()];
            for &item in &order[..score] {
                row[item] = Some(1);
                left[item] -= 1;
            }
            rows.push(row);
        }
    }
    assert!(left.iter().all(|left| *left == 0));
    Responses::from_rows(&rows).unwrap()
}

#[test]
fn verbal_aggression_and_an_examination_are_scaled_as_by_others() {
    let golden = golden();
    let whole = |value: &Value| {
        numbers(value)
            .iter()
            .map(|x| *x as usize)
            .collect::<Vec<_>>()
    };
    for set in golden["margins"].as_array().unwrap() {
        as_by_others(
            &with_margins(&whole(&set["right"]), &whole(&set["scores"])),
            set,
        );
    }
}

/// Slopes, intercepts and their errors beside the general likelihood of statsmodels.
fn as_by_likelihood(found: &Marginal, responses: &Responses, theirs: &Value) {
    let slopes: Vec<f64> = found.items.iter().map(|item| item.slope).collect();
    let intercepts: Vec<f64> = found.items.iter().map(|item| item.intercepts[0]).collect();
    let apart = furthest(&slopes, &numbers(&theirs["slope"]));
    assert!(apart < 1e-3, "slopes {apart}");
    let apart = furthest(&intercepts, &numbers(&theirs["intercept"]));
    assert!(apart < 1e-3, "intercepts {apart}");
    assert!((found.log_likelihood - theirs["loglik"].as_f64().unwrap()).abs() < 1e-3);
    let errors = found.errors(responses, None).unwrap();
    let mut own: Vec<f64> = errors.iter().map(|e| e.slope).collect();
    own.extend(errors.iter().map(|e| e.intercepts[0]));
    for (own, theirs) in own.iter().zip(numbers(&theirs["error"])) {
        assert!((own / theirs - 1.0).abs() < 0.01, "{own} {theirs}");
    }
}

#[test]
fn guessed_answers_are_fitted_as_by_statsmodels() {
    for set in golden()["guessed"].as_array().unwrap() {
        let responses = responses(&set["answers"]);
        let settings = MarginalSettings {
            prior: None,
            guessing: vec![set["guessing"].as_f64().unwrap(); responses.items()],
            ..MarginalSettings::new(Slopes::Own)
        };
        let found = marginal(&responses, &settings).unwrap();
        as_by_likelihood(&found, &responses, &set["statsmodels"]);
    }
}

#[test]
fn marginal_fits_are_those_of_girth_and_statsmodels_and_nearer_than_py_irt() {
    for set in golden()["marginal"].as_array().unwrap() {
        let responses = responses(&set["answers"]);
        let plain = |slopes| MarginalSettings {
            prior: None,
            ..MarginalSettings::new(slopes)
        };
        let one = marginal(&responses, &plain(Slopes::Common)).unwrap();
        let two = marginal(&responses, &plain(Slopes::Own)).unwrap();
        let difficulties = |items: &[Item]| items.iter().map(Item::difficulty).collect::<Vec<_>>();
        let slopes: Vec<f64> = two.items.iter().map(|item| item.slope).collect();
        // girth stops when its parameters move less than a thousandth.
        assert!((one.items[0].slope - set["one"][0].as_f64().unwrap()).abs() < 2e-3);
        assert!(furthest(&difficulties(&one.items), &numbers(&set["one"][1])) < 5e-3);
        assert!(furthest(&slopes, &numbers(&set["two"][0])) < 5e-3);
        assert!(furthest(&difficulties(&two.items), &numbers(&set["two"][1])) < 1e-2);
        assert!(
            two.log_likelihood > one.log_likelihood && two.parameters == 2 * one.parameters - 2
        );
        as_by_likelihood(&two, &responses, &set["statsmodels"]);
        // Conditional and marginal likelihood agree on how items are ordered and spaced.
        let conditional = rasch(&responses).unwrap();
        let own: Vec<f64> = conditional
            .difficulties
            .iter()
            .map(|d| d.unwrap() / one.items[0].slope)
            .collect();
        assert!(furthest(&centred(&own), &centred(&difficulties(&one.items))) < 2e-2);
        // py-irt has priors and an approximate posterior: it is further from all others than they are from each other.
        if set["py-irt"].is_null() {
            continue;
        }
        let logits: Vec<f64> = two.items.iter().map(|item| item.intercepts[0]).collect();
        let apart = furthest(&logits, &numbers(&set["py-irt"]));
        let girth: Vec<f64> = numbers(&set["two"][0])
            .iter()
            .zip(numbers(&set["two"][1]))
            .map(|(a, b)| -a * b)
            .collect();
        let theirs = furthest(&girth, &numbers(&set["py-irt"]));
        assert!(apart < theirs + 0.01 && apart < 0.5, "{apart} {theirs}");
    }
}

#[test]
fn partial_credit_is_that_of_girth() {
    let golden = golden();
    let set = &golden["partial"];
    let settings = MarginalSettings {
        prior: None,
        ..MarginalSettings::new(Slopes::Own)
    };
    let found = marginal(&responses(&set["answers"]), &settings).unwrap();
    let slopes: Vec<f64> = found.items.iter().map(|item| item.slope).collect();
    assert!(furthest(&slopes, &numbers(&set["slope"])) < 1e-2);
    for (item, theirs) in found
        .items
        .iter()
        .zip(set["thresholds"].as_array().unwrap())
    {
        // Where each score becomes as probable as the one below it.
        let thresholds: Vec<f64> = item.intercepts.iter().map(|d| -d / item.slope).collect();
        // girth ends its iterations early, with all thresholds of an item 0.06 to 0.08 too high; their distances agree.
        let steps = |x: &[f64]| {
            x.windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect::<Vec<_>>()
        };
        assert!(
            furthest(&steps(&thresholds), &steps(&numbers(theirs))) < 2e-2,
            "{theirs}"
        );
    }
}

#[test]
fn the_next_item_is_the_one_that_catsim_asks() {
    let golden = golden();
    let rows = golden["adaptive"]["bank"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers);
    let bank: Vec<Item> = rows
        .map(|row| Item::binary(row[0], row[1], row[2]))
        .collect();
    for case in golden["adaptive"]["chosen"].as_array().unwrap() {
        let theirs: Vec<usize> = numbers(&case[1]).iter().map(|x| *x as usize).collect();
        let ours = next_items(
            &bank,
            &[],
            case[0].as_f64().unwrap(),
            theirs.len(),
            &Selection::default(),
        );
        assert_eq!(ours, theirs);
    }
}

/// Persons and items drawn from a model, every answer with it.
struct World {
    items: Vec<Item>,
    thetas: Vec<f64>,
    responses: Responses,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn answer(item: &Item, theta: f64, random: &mut ChaCha8Rng) -> u8 {
    let mut left = random.random::<f64>();
    for (score, p) in item.probabilities(theta).iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return score as u8;
        }
    }
    item.top()
}

fn world(persons: usize, items: usize, guessing: f64, asked: f64, seed: u64) -> World {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let bank = (0..items).map(|_| {
        Item::binary(
            (0.3 * normal(&mut random)).exp(),
            normal(&mut random),
            guessing,
        )
    });
    let bank: Vec<Item> = bank.collect();
    let thetas: Vec<f64> = (0..persons).map(|_| normal(&mut random)).collect();
    let mut answers = Vec::new();
    for (person, theta) in thetas.iter().enumerate() {
        for (at, item) in bank.iter().enumerate() {
            if random.random::<f64>() < asked {
                answers.push((person, at, answer(item, *theta, &mut random)));
            }
        }
    }
    World {
        responses: Responses::new(persons, items, answers).unwrap(),
        items: bank,
        thetas,
    }
}

#[test]
fn intervals_of_items_and_persons_hold_what_was_drawn() {
    let (mut items, mut persons) = ((0, 0), (0, 0));
    for seed in 0..20 {
        let world = world(400, 20, 0.0, 0.8, seed);
        let settings = MarginalSettings {
            prior: None,
            ..MarginalSettings::new(Slopes::Own)
        };
        let found = marginal(&world.responses, &settings).unwrap();
        let errors = found.errors(&world.responses, None).unwrap();
        for ((item, own), error) in found.items.iter().zip(&world.items).zip(&errors) {
            for (value, truth, error) in [
                (item.intercepts[0], own.intercepts[0], error.intercepts[0]),
                (item.slope, own.slope, error.slope),
            ] {
                items.0 += usize::from((value - truth).abs() < 1.96 * error);
                items.1 += 1;
            }
        }
        for (row, theta) in world.responses.persons().iter().zip(&world.thetas) {
            let own = ability(&found.items, row, Estimator::Eap).unwrap();
            persons.0 += usize::from((own.value - theta).abs() < 1.96 * own.error);
            persons.1 += 1;
        }
    }
    let share = |(held, all): (usize, usize)| held as f64 / all as f64;
    assert!((0.93..0.97).contains(&share(items)), "{}", share(items));
    assert!((0.93..0.97).contains(&share(persons)), "{}", share(persons));
}

#[test]
fn guessing_is_taken_into_account() {
    let world = world(2000, 20, 0.25, 1.0, 7);
    let with = MarginalSettings {
        guessing: vec![0.25; 20],
        ..MarginalSettings::new(Slopes::Own)
    };
    let found = marginal(&world.responses, &with).unwrap();
    let without = marginal(&world.responses, &MarginalSettings::new(Slopes::Own)).unwrap();
    assert!(found.log_likelihood > without.log_likelihood);
    let off = |items: &[Item]| {
        let pairs = items.iter().zip(&world.items);
        pairs
            .map(|(a, b)| (a.difficulty() - b.difficulty()).powi(2))
            .sum::<f64>()
            / 20.0
    };
    assert!(off(&found.items).sqrt() < 0.2 && off(&without.items) > 2.0 * off(&found.items));
    // Somebody who only guesses has no ability to speak of: the interval lies below the average and holds chance.
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let guesses: Vec<(usize, u8)> = (0..20)
        .map(|at| (at, u8::from(random.random::<f64>() < 0.25)))
        .collect();
    let standing = standing(&found.items, &guesses, &Kinds::default()).unwrap();
    assert!(standing.ability.value < -0.5, "{standing:?}");
}

#[test]
fn weighted_likelihood_is_nearly_unbiased_and_finite() {
    let bank: Vec<Item> = (0..15)
        .map(|at| Item::binary(1.0, f64::from(at) * 0.3 - 2.1, 0.0))
        .collect();
    let all: Vec<(usize, u8)> = (0..15).map(|at| (at, 1)).collect();
    assert!(ability(&bank, &all, Estimator::Ml).is_err());
    assert!(ability(&bank, &all, Estimator::Wle).unwrap().value < 6.0);
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for theta in [-1.5, 0.0, 1.5] {
        let mut sums = [0.0; 2];
        for _ in 0..1000 {
            let answers: Vec<_> = bank
                .iter()
                .enumerate()
                .map(|(at, item)| (at, answer(item, theta, &mut random)))
                .collect();
            sums[0] += ability(&bank, &answers, Estimator::Wle).unwrap().value;
            sums[1] += ability(&bank, &answers, Estimator::Eap).unwrap().value;
        }
        let [wle, eap] = sums.map(|sum| sum / 1000.0 - theta);
        assert!(wle.abs() < 0.09, "{theta}: {wle}");
        assert!(theta == 0.0 || eap.abs() > wle.abs());
    }
}

#[test]
fn hundreds_of_answers_leave_an_error_that_is_not_the_grids() {
    let bank: Vec<Item> = (0..800)
        .map(|at| Item::binary(2.5, f64::from(at % 40) * 0.1 - 2.0, 0.0))
        .collect();
    let answers: Vec<(usize, u8)> = (0..800).map(|at| (at, u8::from(at % 40 < 27))).collect();
    let eap = ability(&bank, &answers, Estimator::Eap).unwrap();
    let map = ability(&bank, &answers, Estimator::Map).unwrap();
    assert!((eap.value - map.value).abs() < 0.01, "{eap:?} {map:?}");
    assert!(
        (eap.error / map.error - 1.0).abs() < 0.05,
        "{eap:?} {map:?}"
    );
}

#[test]
fn items_that_nobody_connects_have_no_number() {
    // Items 0 and 1 were asked of some, 2 and 3 of others; everybody has 4 right.
    let rows = [
        [Some(1), Some(0), None, None, Some(1)],
        [Some(0), Some(1), None, None, Some(1)],
        [Some(1), Some(0), None, None, Some(1)],
        [None, None, Some(1), Some(0), Some(1)],
        [None, None, Some(0), Some(1), Some(1)],
    ];
    let found = rasch(&Responses::from_rows(&rows).unwrap()).unwrap();
    assert_eq!(
        found
            .difficulties
            .iter()
            .map(Option::is_some)
            .collect::<Vec<_>>(),
        [true, true, false, false, false]
    );
    let alike = [[Some(1), Some(0)], [Some(1), Some(0)]];
    assert!(rasch(&Responses::from_rows(&alike).unwrap()).is_err());
}

#[test]
fn items_that_differ_between_groups_are_found_and_others_are_not() {
    let (mut alarms, mut tests, mut hits) = (0, 0, 0);
    for seed in 0..10 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let bank: Vec<Item> = (0..20)
            .map(|_| Item::binary(1.0, normal(&mut random), 0.0))
            .collect();
        let mut answers = Vec::new();
        let focal: Vec<bool> = (0..600).map(|person| person % 2 == 1).collect();
        for (person, focal) in focal.iter().enumerate() {
            // The focal group is less able; item 0 is harder for it besides.
            let theta = normal(&mut random) - if *focal { 0.7 } else { 0.0 };
            for (at, item) in bank.iter().enumerate() {
                let harder = if *focal && at == 0 { 1.2 } else { 0.0 };
                answers.push((person, at, answer(item, theta - harder, &mut random)));
            }
        }
        let responses = Responses::new(600, 20, answers).unwrap();
        let found = mantel_haenszel(&responses, &focal).unwrap();
        hits += usize::from(found[0].class != EtsClass::A && found[0].log_odds > 0.0);
        tests += 1;
        alarms += usize::from(found[1..].iter().any(|item| item.p_holm < 0.05));
        if seed == 0 {
            let settings = MarginalSettings::new(Slopes::Common);
            let few = responses.persons().iter().enumerate();
            let few =
                few.flat_map(|(p, row)| row.iter().filter(|a| a.0 < 8).map(move |a| (p, a.0, a.1)));
            let few = Responses::new(600, 8, few).unwrap();
            let found = likelihood_ratio(&few, &focal, &settings).unwrap();
            assert!(found[0].p_holm < 0.01 && (found[0].log_odds - 1.2).abs() < 0.6);
            assert!(found[1..].iter().filter(|item| item.p_holm < 0.05).count() <= 1);
        }
    }
    assert!(
        hits >= 7 && alarms <= 2,
        "{hits} hits, {alarms} alarms in {tests}"
    );
}

#[test]
fn one_dimension_is_one_and_two_are_two() {
    let one = world(500, 12, 0.0, 1.0, 11).responses;
    assert_eq!(parallel_analysis(&one, 30, 1).unwrap().dimensions, 1);
    let other = world(500, 12, 0.0, 1.0, 12).responses;
    let shifted = other
        .persons()
        .iter()
        .enumerate()
        .flat_map(|(p, row)| row.iter().map(move |a| (p, a.0 + 12, a.1)));
    let own = one
        .persons()
        .iter()
        .enumerate()
        .flat_map(|(p, row)| row.iter().map(move |a| (p, a.0, a.1)));
    let both = Responses::new(500, 24, own.chain(shifted)).unwrap();
    assert_eq!(parallel_analysis(&both, 30, 1).unwrap().dimensions, 2);
}

#[test]
fn twins_among_items_stand_out() {
    let world = world(500, 10, 0.0, 1.0, 5);
    // Item 10 repeats item 3's answers.
    let all = world
        .responses
        .persons()
        .iter()
        .enumerate()
        .flat_map(|(p, row)| {
            let twin = row.iter().find(|a| a.0 == 3).map(|a| (p, 10, a.1));
            row.iter().map(move |a| (p, a.0, a.1)).chain(twin)
        });
    let responses = Responses::new(500, 11, all).unwrap();
    let found = marginal(&responses, &MarginalSettings::new(Slopes::Own)).unwrap();
    let abilities: Vec<Option<f64>> = responses
        .persons()
        .iter()
        .map(|row| {
            ability(&found.items, row, Estimator::Eap)
                .ok()
                .map(|a| a.value)
        })
        .collect();
    let pairs = q3(&found.items, &responses, &abilities, 50).unwrap();
    assert_eq!((pairs[0].0, pairs[0].1), (3, 10));
    assert!(pairs[0].2 > 0.5 && pairs[1].2.abs() < pairs[0].2);
}

#[test]
fn a_fifth_of_the_items_gives_the_ability_of_all() {
    let world = world(60, 300, 0.0, 1.0, 21);
    let stop = Stop {
        error: 0.3,
        fewest: 10,
        most: 60,
    };
    let (mut near, mut held, mut asked_all) = (0, 0, 0);
    for row in world.responses.persons() {
        let mut answers: Vec<(usize, u8)> = Vec::new();
        let mut current = None;
        while !stop.reached(answers.len(), world.items.len(), current) {
            let asked: Vec<usize> = answers.iter().map(|a| a.0).collect();
            let theta = current.map_or(0.0, |ability: mary_stats::irt::Ability| ability.value);
            let next = next_items(
                &world.items,
                &asked,
                theta,
                4,
                &Selection {
                    among: 3,
                    ..Selection::default()
                },
            );
            answers.extend(next.iter().map(|&item| row[item]));
            current = ability(&world.items, &answers, Estimator::Eap).ok();
        }
        let full = ability(&world.items, row, Estimator::Eap).unwrap();
        let found = standing(&world.items, &answers, &Kinds::default()).unwrap();
        near += usize::from((full.value - found.ability.value).abs() < found.ability.error * 1.2);
        let share = row.iter().map(|a| f64::from(a.1)).sum::<f64>() / 300.0;
        held += usize::from(found.expected_share.contains(share));
        asked_all += answers.len();
    }
    assert!(near >= 48 && held >= 54 && asked_all < 60 * 60);
}

#[test]
fn content_is_balanced_and_items_are_asked_once() {
    let bank: Vec<Item> = (0..40)
        .map(|at| Item::binary(1.0, if at < 30 { 0.0 } else { 3.0 }, 0.0))
        .collect();
    let content: Vec<usize> = (0..40).map(|at| usize::from(at >= 30)).collect();
    let selection = Selection {
        share: 0.0,
        ..Selection::fair(content, 9)
    };
    let asked = next_items(&bank, &[2, 3], 0.0, 18, &selection);
    let mut unique = asked.clone();
    unique.sort_unstable();
    unique.dedup();
    assert!(unique.len() == 18 && !unique.contains(&2) && !unique.contains(&3));
    assert_eq!(asked.iter().filter(|item| **item >= 30).count(), 5);
    assert_eq!(asked, next_items(&bank, &[2, 3], 0.0, 18, &selection));
    assert_eq!(next_items(&bank, &[], 0.0, 100, &selection).len(), 40);
}

#[test]
fn copies_of_one_model_widen_the_error_instead_of_narrowing_it() {
    // Forty subjects are ten models in four quantisations each: by clusters, errors are about twice as large.
    let ten = world(60, 12, 0.0, 1.0, 31).responses;
    let copies = (0..4).flat_map(|copy| {
        ten.persons()
            .iter()
            .enumerate()
            .flat_map(move |(p, row)| row.iter().map(move |a| (copy * 60 + p, a.0, a.1)))
    });
    let responses = Responses::new(240, 12, copies).unwrap();
    let found = marginal(&responses, &MarginalSettings::new(Slopes::Common)).unwrap();
    let clusters: Vec<usize> = (0..240).map(|p| p % 60).collect();
    let plain = found.errors(&responses, None).unwrap();
    let clustered = found.errors(&responses, Some(&clusters)).unwrap();
    let ratio = clustered
        .iter()
        .zip(&plain)
        .map(|(c, p)| c.difficulty / p.difficulty)
        .sum::<f64>()
        / 12.0;
    assert!((1.6..2.4).contains(&ratio), "{ratio}");
}

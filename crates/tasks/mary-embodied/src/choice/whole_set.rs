//! What only the whole set shows: whether a model leans to a place, and whether it chooses the same
//! option when the options stand in another order (or two people when asked the same).

use std::collections::BTreeMap;

use mary_contract::{Estimate, Measure, Sample};
use mary_stats::bootstrap::{self, Bootstrap, Units};
use mary_stats::{Interval, agreement, intervals};

use super::LETTERS;

struct Chosen {
    question: String,
    order: String,
    trial: u32,
    letter: usize,
    correct: usize,
    /// Place of the chosen option among the options in alphabetical order: the same in every order.
    option: usize,
}

/// `position_bias` (half the summed distance between how often each letter was said and was right),
/// `orders_agree` and `orders_kappa` (the same option under both orders), and, where the same items
/// were asked twice, `answers_kappa` (Cohen's kappa of the first two answers).
pub fn whole_set(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let chosen: Vec<Chosen> = samples.filter_map(|s| chosen(&s)).collect();
    let mut measures = Vec::new();
    let mut add = |name: &str, interval: Option<Interval>| {
        let estimate = |i: Interval| Estimate::new(i.value, (i.low, i.high), i.n, i.method);
        measures.extend(interval.map(|i| Measure::new(name, estimate(i))));
    };
    add("position_bias", position_bias(&chosen));
    // Within a question and a trial the orders, within a question and an order the trials.
    let by_order = paired(
        chosen
            .iter()
            .map(|c| ((&c.question, c.trial), (&c.order, c.option))),
    );
    add("orders_agree", agree(&by_order));
    add("orders_kappa", kappa(&by_order));
    let by_trial = paired(chosen.iter().map(|c| {
        // In the order of their written numbers.
        ((&c.question, &c.order), (c.trial.to_string(), c.letter))
    }));
    add("answers_kappa", kappa(&by_trial));
    measures
}

fn chosen(sample: &Sample) -> Option<Chosen> {
    let said = sample.judgement.parsed.as_deref()?;
    let letter = LETTERS.iter().position(|l| *l == said)?;
    let (options, correct) = sample.item.target.choice()?;
    let (own, id) = (options.get(letter)?, sample.item.id.as_str());
    Some(Chosen {
        // The last part of the id names the order.
        question: id.rsplit_once('-').map_or(id, |(q, _)| q).to_owned(),
        order: sample.item.tags.get("order").cloned().unwrap_or_default(),
        trial: sample.id.trial,
        letter,
        correct,
        option: options.iter().filter(|o| *o < own).count(),
    })
}

fn position_bias(chosen: &[Chosen]) -> Option<Interval> {
    let distance = |drawn: &[usize]| {
        let n = drawn.len() as f64;
        let mut lean = [0.0f64; 4];
        for c in drawn.iter().filter_map(|&i| chosen.get(i)) {
            if let Some(said) = lean.get_mut(c.letter) {
                *said += 1.0;
            }
            if let Some(right) = lean.get_mut(c.correct) {
                *right -= 1.0;
            }
        }
        lean.iter().map(|l| l.abs()).sum::<f64>() / (2.0 * n)
    };
    let ids = intervals::cluster_ids(chosen.iter().map(|c| c.question.as_str()));
    let units = Units::clusters(&ids);
    let settings = Bootstrap {
        resamples: 1000,
        ..Bootstrap::default()
    };
    bootstrap::percentile(&units, distance, &settings).ok()
}

/// Pairs of labels: within each group, the first two that stand on different sides.
fn paired<K: Ord, S: Ord>(all: impl Iterator<Item = (K, (S, usize))>) -> Vec<(usize, usize)> {
    let mut groups: BTreeMap<K, BTreeMap<S, usize>> = BTreeMap::new();
    for (group, (side, label)) in all {
        groups.entry(group).or_default().insert(side, label);
    }
    let pairs = groups.into_values().filter_map(|sides| {
        let mut labels = sides.into_values();
        Some((labels.next()?, labels.next()?))
    });
    pairs.collect()
}

fn agree(pairs: &[(usize, usize)]) -> Option<Interval> {
    let same = pairs.iter().filter(|(a, b)| a == b).count();
    intervals::wilson(same as u64, pairs.len() as u64, mary_stats::LEVEL).ok()
}

fn kappa(pairs: &[(usize, usize)]) -> Option<Interval> {
    let (first, second): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
    let found = agreement::cohen_kappa(&first, &second);
    found.ok().map(|k| k.kappa)
}

#[cfg(test)]
mod tests {
    use mary_contract::{Item, Judgement, SampleId};

    use mary_contract::Target;

    use super::*;

    fn sample(item: &str, order: &str, trial: u32, options: [&str; 4], said: &str) -> Sample {
        let target = Target::one_of("?".into(), options.map(String::from).to_vec(), 0);
        Sample {
            id: SampleId::new("m", "t", item, trial),
            item: Item::new(item, target, vec![]).tagged("order", order),
            exchanges: vec![],
            judgement: Judgement::scored(0.0).read_as(said),
        }
    }

    fn value(measures: &[Measure], name: &str) -> f64 {
        let found = measures.iter().find(|m| m.name == name);
        found.unwrap_or_else(|| panic!("{name}")).estimate.value
    }

    #[test]
    fn the_same_option_in_another_place_is_agreement_and_the_same_letter_is_a_leaning() {
        let (one, two) = (["p", "q", "r", "s"], ["q", "p", "s", "r"]);
        let steady: Vec<Sample> = (0..8)
            .flat_map(|i| {
                let (a, b) = if i % 2 == 0 { ("A", "B") } else { ("C", "D") };
                [
                    sample(&format!("{i}-1"), "1", 0, one, a),
                    sample(&format!("{i}-2"), "2", 0, two, b),
                ]
            })
            .collect();
        let measures = whole_set(&mut steady.into_iter());
        assert_eq!(value(&measures, "orders_agree"), 1.0);
        assert_eq!(value(&measures, "orders_kappa"), 1.0);
        let mut leaning: Vec<Sample> = (0..8)
            .flat_map(|i| {
                [
                    sample(&format!("{i}-1"), "1", 0, one, "B"),
                    sample(&format!("{i}-2"), "2", 0, two, "B"),
                ]
            })
            .collect();
        leaning.push(sample("8-1", "1", 0, one, "A"));
        let measures = whole_set(&mut leaning.into_iter());
        assert_eq!(value(&measures, "orders_agree"), 0.0);
        assert!((value(&measures, "position_bias") - 16.0 / 17.0).abs() < 1e-12);
    }

    #[test]
    fn two_people_are_two_trials_of_one_item() {
        let options = ["p", "q", "r", "s"];
        let answers = [("A", "A"), ("B", "B"), ("C", "D"), ("D", "D")];
        let samples: Vec<Sample> = answers
            .iter()
            .enumerate()
            .flat_map(|(i, (a, b))| {
                let id = format!("{i}-1");
                [
                    sample(&id, "1", 0, options, a),
                    sample(&id, "1", 1, options, b),
                ]
            })
            .collect();
        let measures = whole_set(&mut samples.into_iter());
        // Observed 3/4, expected (1 + 1 + 0 + 2) / 16.
        let kappa = (0.75 - 0.25) / 0.75;
        assert!((value(&measures, "answers_kappa") - kappa).abs() < 1e-12);
        assert!(measures.iter().all(|m| m.name != "orders_agree"));
    }
}

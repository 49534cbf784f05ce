//! Means over people and items at once: both are samples, so that an interval over either alone is too short.
//!
//! The variance is that over people, plus that over items, less that of single answers, which both hold
//! (Cameron, Gelbach and Miller 2011, corrected for few clusters). The bounds are Wilson's at the sample size
//! that this variance is worth, with Student's quantile at Satterthwaite's degrees of freedom;
//! `docs/history/people.md` states how often they cover.

use std::collections::BTreeMap;

use crate::against::{Tail, score};
use crate::distributions::{t_of, t_two_sided, z_of};
use crate::intervals::wilson_bounds;
use crate::{Interval, LEVEL, StatsError, input};

/// A mean over people and items with what its uncertainty is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossed {
    /// Mean and its 95 % interval over people and items.
    pub interval: Interval,
    /// Standard error over both.
    pub error: f64,
    /// Degrees of freedom with which it is known.
    pub freedom: f64,
    /// Standard error over people alone.
    pub over_people: f64,
    /// Standard error over items alone.
    pub over_items: f64,
    /// People who answered.
    pub people: usize,
    /// Items that were answered.
    pub items: usize,
    /// How many tosses of a coin the answers are worth.
    worth: f64,
}

impl Crossed {
    /// Two-sided p-value of `null`: below 0.05 exactly where the interval leaves it out.
    pub fn p_value(&self, null: f64) -> f64 {
        let tail = Tail::Student(self.freedom);
        score(self.interval.value, null, self.worth, tail)
    }
}

/// The mean of scores from 0 to 1, each by one person (`people[i]`) on one item (`items[i]`).
pub fn mean_crossed(
    scores: &[f64],
    people: &[usize],
    items: &[usize],
) -> Result<Crossed, StatsError> {
    const WHAT: &str = "mean over people and items";
    input::values(WHAT, scores, 2)?;
    input::same_length(WHAT, scores.len(), people.len())?;
    input::same_length(WHAT, scores.len(), items.len())?;
    let unit = |s| (0.0..=1.0).contains(&s);
    input::each(WHAT, "scores from 0 to 1", scores, unit)?;
    let value = input::mean(scores);
    let n = scores.len() as f64;
    let (person_sums, item_sums) = (sums(scores, people, value), sums(scores, items, value));
    let (p, i) = (person_sums.len(), item_sums.len());
    input::at_least(WHAT, 2, p.min(i))?;
    let variance = |sums: &[f64]| {
        let groups = sums.len() as f64;
        groups / (groups - 1.0) * sums.iter().map(|s| s * s).sum::<f64>() / (n * n)
    };
    let (by_person, by_item) = (variance(&person_sums), variance(&item_sums));
    let single: Vec<f64> = scores.iter().map(|s| s - value).collect();
    // Never less than the larger of the two: the difference of noisy sums may be.
    let total = (by_person + by_item - variance(&single))
        .max(by_person)
        .max(by_item);
    let freedom = satterthwaite(total, &[(by_person, p), (by_item, i)]);
    let coin = value * (1.0 - value);
    // Where nobody is ever wrong nothing varies; the people are then what was sampled.
    let varies = total > 0.0 && coin > 0.0;
    let worth = if varies {
        coin / total
    } else {
        p.min(i) as f64
    };
    let (low, high) = wilson_bounds(value, worth, t_of(LEVEL, freedom));
    // Rounding must not leave the estimate outside its own interval.
    let bounds = (low.min(value), high.max(value));
    Ok(Crossed {
        interval: Interval::new(value, bounds, scores.len(), "crossed"),
        error: total.sqrt(),
        freedom,
        over_people: by_person.sqrt(),
        over_items: by_item.sqrt(),
        people: p,
        items: i,
        worth,
    })
}

/// Satterthwaite's (1946) degrees of freedom of a variance that is a sum over samples of these sizes, kept
/// between the smallest sample's and all together: what the parts share is taken off here and could lead
/// beyond.
fn satterthwaite(total: f64, parts: &[(f64, usize)]) -> f64 {
    let alone = |size: usize| size.saturating_sub(1).max(1) as f64;
    let sizes = || parts.iter().map(|part| alone(part.1));
    let (smallest, together) = (sizes().fold(f64::MAX, f64::min), sizes().sum());
    let spreads = parts.iter().map(|(v, size)| v * v / alone(*size));
    match spreads.sum::<f64>() {
        spread if spread > 0.0 => (total * total / spread).clamp(smallest, together),
        _ => smallest,
    }
}

/// Sums of deviations by group.
fn sums(scores: &[f64], groups: &[usize], centre: f64) -> Vec<f64> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (score, group) in scores.iter().zip(groups) {
        *sums.entry(*group).or_default() += score - centre;
    }
    sums.into_values().collect()
}

/// One answer: its score, who gave it, to which item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossedAnswer {
    /// Score of the answer, from 0 to 1.
    pub score: f64,
    /// Who. People of two sides are never the same, whatever their numbers.
    pub person: usize,
    /// Item: the same number on both sides is the same item.
    pub item: usize,
}

/// One side of a comparison over people and items.
#[derive(Debug, Clone, Copy)]
pub struct CrossedSide<'a> {
    /// One for each person and item that was answered.
    pub answers: &'a [CrossedAnswer],
    /// Whether those who answer are a sample of people. A model is not: its trials are only averaged.
    pub people: bool,
}

/// A difference between two sides on the items that both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossedDifference {
    /// Mean of the first, every item counting alike.
    pub first: f64,
    /// Mean score of the second side.
    pub second: f64,
    /// 95 % interval of first less second; absent with fewer than two items, or than two people on a side of
    /// people.
    pub bounds: Option<(f64, f64)>,
    /// Two-sided p-value of no difference.
    pub p: Option<f64>,
    /// Items that both sides answered.
    pub items: usize,
    /// People of both sides together.
    pub people: usize,
}

/// Compares two sides item by item; items and, on a side of people, the people are drawn from more. Variance
/// and degrees of freedom are made as in [`mean_crossed`].
pub fn difference_crossed(
    first: CrossedSide<'_>,
    second: CrossedSide<'_>,
) -> Result<CrossedDifference, StatsError> {
    const WHAT: &str = "difference over people and items";
    let (a, b) = (item_means(first.answers), item_means(second.answers));
    let shared: Vec<usize> = a.keys().copied().filter(|i| b.contains_key(i)).collect();
    input::at_least(WHAT, 1, shared.len())?;
    let n = shared.len() as f64;
    let mean = |of: &BTreeMap<usize, (f64, f64)>| {
        let means = shared.iter().filter_map(|i| of.get(i));
        means.map(|m| m.0).sum::<f64>() / n
    };
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let difference = mean_a - mean_b;
    let spread = |i: &usize| match (a.get(i), b.get(i)) {
        (Some(x), Some(y)) => (x.0 - y.0 - difference).powi(2),
        _ => 0.0,
    };
    let by_item = shared.iter().map(spread).sum::<f64>() / (n * (n - 1.0).max(1.0));
    let (mut total, mut smallest, mut people) = (by_item, shared.len(), 0);
    let mut samples = vec![(by_item, shared.len())];
    for (side, own, other, centre) in [(first, &a, &b, difference), (second, &b, &a, -difference)] {
        if !side.people {
            continue;
        }
        let (count, by_person, more) = over_people(side.answers, own, other, (n, centre));
        people += count;
        smallest = smallest.min(count);
        samples.push((by_person, count));
        // The difference of noisy sums may be less than nothing; people never make a mean surer.
        total += more.max(0.0);
    }
    let found = CrossedDifference {
        first: mean_a,
        second: mean_b,
        bounds: None,
        p: None,
        items: shared.len(),
        people,
    };
    if smallest < 2 || total <= 0.0 {
        return Ok(found);
    }
    let (error, freedom) = (total.sqrt(), satterthwaite(total, &samples));
    let half = t_of(LEVEL, freedom) * error;
    Ok(CrossedDifference {
        bounds: Some(((difference - half).max(-1.0), (difference + half).min(1.0))),
        p: Some(t_two_sided(difference / error, freedom)),
        ..found
    })
}

/// Mean and number of answers of each item.
fn item_means(answers: &[CrossedAnswer]) -> BTreeMap<usize, (f64, f64)> {
    let mut means: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for answer in answers {
        let mean = means.entry(answer.item).or_default();
        mean.0 += answer.score;
        mean.1 += 1.0;
    }
    for mean in means.values_mut() {
        mean.0 /= mean.1;
    }
    means
}

/// How many people answered shared items, the variance over them, and what they add to that over items.
fn over_people(
    answers: &[CrossedAnswer],
    own: &BTreeMap<usize, (f64, f64)>,
    other: &BTreeMap<usize, (f64, f64)>,
    (items, centre): (f64, f64),
) -> (usize, f64, f64) {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    let mut single = 0.0;
    for answer in answers {
        let (Some(mine), Some(theirs)) = (own.get(&answer.item), other.get(&answer.item)) else {
            continue;
        };
        // What this answer adds to the difference, less what any answer would.
        let share = (answer.score - theirs.0 - centre) / (mine.1 * items);
        *sums.entry(answer.person).or_default() += share;
        single += share * share;
    }
    let count = sums.len();
    let correction = count as f64 / (count as f64 - 1.0).max(1.0);
    let by_person = correction * sums.values().map(|s| s * s).sum::<f64>();
    (count, by_person, by_person - single)
}

/// What is known, or assumed, of people and items before a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyPlan {
    /// Accuracy that is expected.
    pub accuracy: f64,
    /// Standard deviation of accuracy between people.
    pub sd_people: f64,
    /// Standard deviation of accuracy between items.
    pub sd_items: f64,
}

impl StudyPlan {
    /// Half the width of the interval that so many people give, each answering `per_person` of `items`.
    pub fn half_width(&self, people: u64, items: u64, per_person: u64) -> Result<f64, StatsError> {
        const WHAT: &str = "width of a study's interval";
        input::open_unit(WHAT, self.accuracy)?;
        let coin = self.accuracy * (1.0 - self.accuracy);
        let between = self.sd_people.powi(2) + self.sd_items.powi(2);
        if people < 2 || items < 2 || per_person == 0 || per_person > items || between > coin {
            return Err(StatsError::Domain {
                what: WHAT,
                expected: "two people and items or more, at most all items a person, and deviations that the accuracy allows",
                found: format!(
                    "{people} people, {items} items, {per_person} a person, deviations {} and {} at {}",
                    self.sd_people, self.sd_items, self.accuracy
                ),
            });
        }
        let rest = coin - between;
        let answers = (people * per_person) as f64;
        let (of_people, of_items) = (self.sd_people.powi(2), self.sd_items.powi(2));
        let (p, i) = (people as f64, items as f64);
        let variance = of_people / p + of_items / i + rest / answers;
        // What the variances over people and over items will come to, each holding that of single answers.
        let by_person = of_people / p + (of_items + rest) / answers;
        let by_item = of_items / i + (of_people + rest) / answers;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let samples = [(by_person, size(people)), (by_item, size(items))];
        Ok(t_of(LEVEL, satterthwaite(variance, &samples)) * variance.sqrt())
    }

    /// The fewest people whose interval reaches at most `half` to each side; `None` when the items alone
    /// leave more uncertainty than that.
    pub fn people_for(
        &self,
        half: f64,
        items: u64,
        per_person: u64,
    ) -> Result<Option<u64>, StatsError> {
        let floor = z_of(LEVEL) * self.sd_items / (items as f64).sqrt();
        self.half_width(2, items, per_person)?;
        if half <= floor {
            return Ok(None);
        }
        let (mut low, mut high) = (1, 2);
        while self.half_width(high, items, per_person)? > half {
            (low, high) = (high, high * 2);
            if high > 1 << 24 {
                return Ok(None);
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if middle >= 2 && self.half_width(middle, items, per_person)? <= half {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two people, three items, by hand: person sums ±1/2·…
    #[test]
    fn a_small_table_by_hand() {
        // Person 0: 1 1 1, person 1: 1 0 0; mean 4/6.
        let scores = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
        let people = [0, 0, 0, 1, 1, 1];
        let items = [0, 1, 2, 0, 1, 2];
        let found = mean_crossed(&scores, &people, &items).unwrap();
        assert!((found.interval.value - 2.0 / 3.0).abs() < 1e-12);
        // Sums of deviations: people 1 and −1; items 2/3, −1/3, −1/3; singles 4·1/9 + 2·4/9 = 12/9.
        let by_person = 2.0 * 2.0 / 36.0;
        let by_item = 1.5 * (4.0 + 1.0 + 1.0) / 9.0 / 36.0;
        assert!((found.over_people.powi(2) - by_person).abs() < 1e-12);
        assert!((found.over_items.powi(2) - by_item).abs() < 1e-12);
        assert!(found.interval.low > 0.0 && found.interval.high < 1.0 + 1e-12);
    }

    #[test]
    fn degrees_of_freedom_follow_where_the_variance_lies() {
        // All of it over thirty items: three judges do not take any away; all of it over them: two are left.
        assert!((satterthwaite(1.0, &[(0.0, 3), (1.0, 30)]) - 29.0).abs() < 1e-12);
        assert!((satterthwaite(1.0, &[(1.0, 3), (0.0, 30)]) - 2.0).abs() < 1e-12);
        // Welch's of two equal halves: (1/2 + 1/2)² / (1/4 / 9 + 1/4 / 9).
        assert!((satterthwaite(1.0, &[(0.5, 10), (0.5, 10)]) - 18.0).abs() < 1e-12);
        // Parts that share much: never fewer than the smaller sample has.
        assert!((satterthwaite(1.0, &[(1.0, 10), (1.0, 10)]) - 9.0).abs() < 1e-12);
        assert!((satterthwaite(0.0, &[(0.0, 10), (0.0, 4)]) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn nobody_wrong_still_has_an_interval() {
        let scores = [1.0; 40];
        let people: Vec<usize> = (0..40).map(|i| i % 10).collect();
        let items: Vec<usize> = (0..40).map(|i| i / 10).collect();
        let found = mean_crossed(&scores, &people, &items).unwrap().interval;
        assert!(found.low < 0.9 && found.high == 1.0, "{found:?}");
        assert!(mean_crossed(&scores, &[0; 40], &items).is_err());
        assert!(mean_crossed(&[2.0; 40], &people, &items).is_err());
    }

    #[test]
    fn the_p_value_agrees_with_the_interval() {
        let people: Vec<usize> = (0..120).map(|i| i % 10).collect();
        let items: Vec<usize> = (0..120).map(|i| i / 10).collect();
        let score = |i: usize| f64::from(u8::from((i * 7 + i / 10 * 3) % 10 < 6));
        let scores: Vec<f64> = (0..120).map(score).collect();
        let found = mean_crossed(&scores, &people, &items).unwrap();
        for step in 1..100 {
            let null = f64::from(step) / 100.0;
            let outside = !found.interval.contains(null);
            assert_eq!(found.p_value(null) < 0.05, outside, "{null} {found:?}");
        }
    }

    /// Two people on three items against a model, by hand.
    #[test]
    fn people_less_a_model_by_hand() {
        let answer = |(person, item, score)| CrossedAnswer {
            score,
            person,
            item,
        };
        // Item means 1, 1/2, 1/2; the model has 1, 0, 0 and an item of its own.
        let people = [
            (0, 0, 1.0),
            (0, 1, 1.0),
            (0, 2, 1.0),
            (1, 0, 1.0),
            (1, 1, 0.0),
            (1, 2, 0.0),
        ];
        let people = people.map(answer);
        let model = [(0, 0, 1.0), (0, 1, 0.0), (0, 2, 0.0), (0, 9, 1.0)].map(answer);
        let side = |answers, people| CrossedSide { answers, people };
        let found = difference_crossed(side(&people, true), side(&model, false)).unwrap();
        assert_eq!((found.items, found.people), (3, 2));
        assert!(
            (found.first - 2.0 / 3.0).abs() < 1e-12 && (found.second - 1.0 / 3.0).abs() < 1e-12
        );
        // Differences of items 0, 1/2, 1/2 about 1/3: (1/9 + 1/36 + 1/36) / 6. Shares of answers, each over
        // 6: people's own sums ±(0 + 1 + 1 − 1)/6 …: person 0 has (0 + 1 + 1 − 1)/6, person 1 (0 + 0 + 0 − 1)/6.
        let by_item: f64 = (1.0 / 9.0 + 2.0 / 36.0) / 6.0;
        let by_person = 2.0 * (1.0 + 1.0) / 36.0;
        let single = (2.0 / 9.0 + 2.0 * 4.0 / 9.0 + 2.0 / 9.0) / 36.0;
        let error = (by_item + by_person - single).sqrt();
        let (low, high) = found.bounds.unwrap();
        // Variance 1/9 = 4/36 over two people, by_item over three items: between 1 and 3 degrees of freedom.
        let total = error * error;
        let freedom = total * total / (by_person * by_person + by_item * by_item / 2.0);
        let half = t_of(LEVEL, freedom.clamp(1.0, 3.0)) * error;
        assert!((low - (1.0 / 3.0 - half).max(-1.0)).abs() < 1e-12, "{low}");
        assert!((high - (1.0 / 3.0 + half).min(1.0)).abs() < 1e-12, "{high}");
        // Turned round, the same.
        let turned = difference_crossed(side(&model, false), side(&people, true)).unwrap();
        assert_eq!(turned.bounds.map(|(l, h)| (-h, -l)), found.bounds);
        // One person is no sample of people.
        let one = difference_crossed(side(&people[..3], true), side(&model, false)).unwrap();
        assert_eq!((one.bounds, one.p), (None, None));
        assert!(difference_crossed(side(&people, true), side(&model[3..], false)).is_err());
    }

    #[test]
    fn more_people_do_not_help_beyond_the_items() {
        let plan = StudyPlan {
            accuracy: 0.8,
            sd_people: 0.1,
            sd_items: 0.2,
        };
        let wide = plan.half_width(20, 40, 40).unwrap();
        assert!(plan.half_width(40, 40, 40).unwrap() < wide);
        let people = plan.people_for(0.08, 40, 40).unwrap().unwrap();
        assert!(plan.half_width(people, 40, 40).unwrap() <= 0.08);
        assert!(plan.half_width(people - 1, 40, 40).unwrap() > 0.08);
        assert_eq!(plan.people_for(0.05, 40, 40).unwrap(), None);
        assert!(plan.half_width(1, 40, 40).is_err());
    }
}

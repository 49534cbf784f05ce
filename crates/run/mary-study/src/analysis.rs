//! Statistics of people from samples: mean over people and items, agreement, learning over trials, times.
//! Works on any run whose trials are people, whoever made it.

use std::collections::BTreeMap;

use mary_contract::{Estimate, Measure, Outcome, Sample, SummaryRow};
use mary_platform::{counted, means};
use mary_stats::agreement::cohen_kappa;
use mary_stats::bootstrap::quantile_sorted;
use mary_stats::crossed::{Crossed, mean_crossed};
use mary_stats::raters::{Level, RaterAgreement, fleiss_kappa};
use mary_stats::{Interval, LEVEL, intervals};
use serde::Serialize;

const SEED: u64 = 0;
/// Parts into which the trials of a person are cut for the learning curve.
const PARTS: usize = 10;

#[derive(Debug, Clone, Default, Serialize)]
pub struct PeopleStatistics {
    pub people: usize,
    pub items: usize,
    pub answers: usize,
    /// Mean score, its interval over people and items; over one of them where there is only one of the other.
    pub score: Option<Interval>,
    /// Standard error over people alone.
    pub over_people: Option<f64>,
    /// Standard error over items alone.
    pub over_items: Option<f64>,
    /// Each person's mean: lowest, quartiles, highest.
    pub per_person: Option<[f64; 5]>,
    /// Cohen's kappa, where there are two people, or two answers to every item.
    pub cohen: Option<Interval>,
    /// Fleiss' kappa, where every item was answered by equally many.
    pub fleiss: Option<f64>,
    /// Krippendorff's alpha of the answers, where it has an interval.
    pub alpha: Option<Interval>,
    /// The share of pairs of answers to one item that are the same, and alpha beside it: undefined where
    /// all answers are.
    pub agreement: Option<RaterAgreement>,
    /// Mean score by part of the way: first tenth, second …; the number of answers and the mean.
    pub learning: Vec<(usize, f64)>,
    /// Seconds for an answer: lowest, quartiles, highest.
    pub seconds: Option<[f64; 5]>,
    /// Share of answers "none fits", where it could be said.
    pub none_fits: Option<Interval>,
    /// Mean score of answers marked "none fits" and of the others, where it was a mark beside an answer.
    pub flagged: Option<Interval>,
    pub unflagged: Option<Interval>,
    /// Share of answers during which the window lost the focus.
    pub distracted: Option<f64>,
}

impl PeopleStatistics {
    pub fn from_samples(samples: &[&Sample]) -> Self {
        let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut scores, mut people, mut items) = (Vec::new(), Vec::new(), Vec::new());
        let mut labels: BTreeMap<&str, BTreeMap<u32, &str>> = BTreeMap::new();
        let mut seconds = Vec::new();
        let (mut none, mut could) = (0u64, 0u64);
        let mut marked: [Scores; 2] = Default::default();
        let (mut blurred, mut watched) = (0usize, 0usize);
        for sample in samples {
            let next = ids.len();
            let item = *ids.entry(sample.id.item.as_str()).or_insert(next);
            if let Outcome::Scored(score) = sample.judgement.outcome {
                scores.push(score);
                people.push(sample.id.trial as usize);
                items.push(item);
                let mark = sample.judgement.measures.get("none_fits");
                // In place of an answer it has no score of its own.
                let beside = sample.judgement.parsed.as_deref() != Some("none");
                if let Some(mark) = mark.filter(|_| beside) {
                    let [others, flagged] = &mut marked;
                    let part = if *mark == 1.0 { flagged } else { others };
                    part.push((score, sample.id.trial as usize, item));
                }
            }
            if let Some(parsed) = &sample.judgement.parsed {
                let of_item = labels.entry(sample.id.item.as_str()).or_default();
                of_item.insert(sample.id.trial, parsed);
            }
            seconds.extend(sample.judgement.measures.get("seconds"));
            if let Some(said) = sample.judgement.measures.get("none_fits") {
                could += 1;
                none += u64::from(*said == 1.0);
            }
            let blurs = sample.judgement.notes["study"]["blurs"].as_i64();
            watched += usize::from(blurs.is_some());
            blurred += usize::from(blurs.is_some_and(|b| b > 0));
        }
        let mut everybody: Vec<u32> = samples.iter().map(|s| s.id.trial).collect();
        everybody.sort_unstable();
        everybody.dedup();
        let crossed = mean_crossed(&scores, &people, &items).ok();
        let (cohen, fleiss, agreement) = agreement(&labels, everybody.len());
        let [unflagged, flagged] = marked.map(|part| mean_of(&part));
        Self {
            unflagged: unflagged.filter(|_| flagged.is_some()),
            flagged,
            people: everybody.len(),
            items: ids.len(),
            answers: samples.len(),
            score: match &crossed {
                Some(crossed) => Some(crossed.interval),
                None => over_one(&scores, &people),
            },
            over_people: crossed.as_ref().map(|c: &Crossed| c.over_people),
            over_items: crossed.as_ref().map(|c| c.over_items),
            per_person: five_numbers(person_means(&scores, &people)),
            cohen,
            fleiss,
            alpha: agreement.as_ref().and_then(alpha),
            agreement,
            learning: learning(samples),
            seconds: five_numbers(seconds.into_iter().copied().collect()),
            none_fits: intervals::wilson(none, could, LEVEL)
                .ok()
                .filter(|_| could > 0),
            distracted: (watched > 0).then(|| blurred as f64 / watched as f64),
        }
    }
}

/// Scores with the person and the item of each.
type Scores = Vec<(f64, usize, usize)>;

/// Their mean, with an interval over people and items where both vary.
fn mean_of(answers: &Scores) -> Option<Interval> {
    let scores: Vec<f64> = answers.iter().map(|a| a.0).collect();
    let people: Vec<usize> = answers.iter().map(|a| a.1).collect();
    let items: Vec<usize> = answers.iter().map(|a| a.2).collect();
    let crossed = mean_crossed(&scores, &people, &items).ok();
    crossed.map_or_else(|| over_one(&scores, &people), |c| Some(c.interval))
}

/// Of one person the interval is over items; otherwise (one item, marks on a scale) over people.
fn over_one(scores: &[f64], people: &[usize]) -> Option<Interval> {
    let several = people.iter().any(|p| Some(p) != people.first());
    intervals::score_interval(scores, several.then_some(people)).ok()
}

fn person_means(scores: &[f64], people: &[usize]) -> Vec<f64> {
    let each = people.iter().zip(scores.iter().copied());
    means(each).into_values().collect()
}

fn five_numbers(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.sort_by(f64::total_cmp);
    let at = |p| quantile_sorted(&values, p);
    (!values.is_empty()).then(|| [at(0.0), at(0.25), at(0.5), at(0.75), at(1.0)])
}

/// Alpha with its interval, where it has one.
pub(crate) fn alpha(of: &RaterAgreement) -> Option<Interval> {
    let (low, high) = of.bounds?;
    Some(Interval {
        value: of.alpha?,
        low,
        high,
        n: of.items,
        method: "bootstrap-percentile",
    })
}

/// Alpha in words: the number with its interval, the number alone where resampling cannot see how sure it is,
/// or that there is none.
pub(crate) fn alpha_in_words(of: &RaterAgreement) -> String {
    match (of.alpha, of.bounds) {
        (Some(alpha), Some((low, high))) => format!("{alpha:.2} [{low:.2}, {high:.2}]"),
        (Some(alpha), None) => format!("{alpha:.2}"),
        (None, _) => "undefined".to_owned(),
    }
}

/// Cohen's kappa of two people (or of the two answers to every item), Fleiss' of equally many on each item,
/// Krippendorff's alpha of any.
fn agreement(
    labels: &BTreeMap<&str, BTreeMap<u32, &str>>,
    people: usize,
) -> (Option<Interval>, Option<f64>, Option<RaterAgreement>) {
    let both = labels.values().filter(|said| said.len() == 2);
    // Where several people share the items so that each has two answers, the earlier person's answers are taken for
    // those of one rater and the later's for another's, as Yang et al. 2025 do.
    let two_each = labels.values().all(|said| said.len() <= 2);
    let cohen = (people == 2 || two_each).then(|| {
        let (first, second): (Vec<&str>, Vec<&str>) = both
            .filter_map(|said| {
                let mut said = said.values().copied();
                Some((said.next()?, said.next()?))
            })
            .unzip();
        cohen_kappa(&first, &second).ok().map(|k| k.kappa)
    });
    let each: Vec<Vec<&str>> = labels
        .values()
        .map(|said| said.values().copied().collect())
        .collect();
    let fleiss = fleiss_kappa(&each).ok();
    let mut names: Vec<&str> = each.iter().flatten().copied().collect();
    names.sort_unstable();
    names.dedup();
    let numbered: Vec<Vec<f64>> = each
        .iter()
        .map(|said| {
            let place = |name: &&str| names.partition_point(|n| n < name) as f64;
            said.iter().map(place).collect()
        })
        .collect();
    let agreement = RaterAgreement::of(&numbered, Level::Nominal, SEED);
    (cohen.flatten(), fleiss, agreement)
}

/// The samples by part of the way through the study: the first tenth of each person's trials, the second …
pub(crate) fn parts<'a>(samples: &[&'a Sample]) -> Vec<Vec<&'a Sample>> {
    let trial = |s: &Sample| s.judgement.notes["study"]["trial_index"].as_u64();
    let longest = samples.iter().filter_map(|s| trial(s)).max().unwrap_or(0) + 1;
    let parts = PARTS.min(usize::try_from(longest).unwrap_or(PARTS));
    let mut cut = vec![Vec::new(); parts];
    for sample in samples {
        let part = trial(sample).map(|at| at * parts as u64 / longest);
        let part = part.and_then(|part| usize::try_from(part).ok());
        if let Some(part) = part.and_then(|part| cut.get_mut(part)) {
            part.push(*sample);
        }
    }
    cut
}

fn learning(samples: &[&Sample]) -> Vec<(usize, f64)> {
    let scored = |part: Vec<&Sample>| -> Vec<f64> {
        part.iter().filter_map(|s| s.judgement.score()).collect()
    };
    let parts = parts(samples).into_iter().map(scored);
    parts
        .filter(|scores| !scores.is_empty())
        .map(|scores| {
            (
                scores.len(),
                scores.iter().sum::<f64>() / scores.len() as f64,
            )
        })
        .collect()
}

fn estimate(interval: &Interval) -> Estimate {
    Estimate {
        value: interval.value,
        low: interval.low,
        high: interval.high,
        n: interval.n,
        method: interval.method.to_owned(),
    }
}

/// In place of what the row has under this name.
pub(crate) fn put_measure(row: &mut SummaryRow, name: &str, interval: Option<Interval>) {
    row.measures.retain(|m| m.name != name);
    row.measures
        .extend(interval.map(|interval| Measure::new(name, estimate(&interval))));
}

/// Puts intervals over people and items into a row of a summary, and agreement beside it. A published
/// figure of people is taken away: these are people.
pub fn enrich(row: &mut SummaryRow, statistics: &PeopleStatistics) {
    if let Some(score) = &statistics.score {
        row.score = Some(estimate(score));
    }
    row.human = None;
    let mut add = |name: &str, interval| put_measure(row, name, interval);
    add("cohen_kappa", statistics.cohen);
    add("krippendorff_alpha", statistics.alpha);
    add(
        "agreement",
        statistics.agreement.and_then(|found| found.observed),
    );
    if statistics.none_fits.is_some() {
        add("none_fits", statistics.none_fits);
    }
    if statistics.flagged.is_some() {
        add("score_flagged", statistics.flagged);
        add("score_unflagged", statistics.unflagged);
    }
}

impl std::fmt::Display for PeopleStatistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |i: &Interval| {
            let [value, low, high] = [i.value, i.low, i.high].map(|x| format!("{:.2}", 100.0 * x));
            format!("{value} % [{low}, {high}]")
        };
        let plain = |i: &Interval| format!("{:.2} [{:.2}, {:.2}]", i.value, i.low, i.high);
        let over = match (self.over_people, self.people) {
            (Some(_), _) => "over people and items",
            (None, 1) => "over items alone: one person",
            (None, _) => "over people alone",
        };
        let errors = self
            .over_people
            .zip(self.over_items)
            .map(|(people, items)| {
                let (people, items) = (100.0 * people, 100.0 * items);
                format!("{people:.2} over people alone, {items:.2} over items alone")
            });
        let each = self.per_person.map(|five| {
            let five = five.map(|x| format!("{:.1}", 100.0 * x)).join(" ");
            format!("{five} (lowest, quartiles, highest)")
        });
        let alpha = self.agreement.as_ref().map(|found| {
            let why = match (found.alpha, found.bounds) {
                (None, _) => " (every answer is the same: chance would agree as often)",
                (Some(_), None) => " (no interval: too few items tell people apart)",
                _ => "",
            };
            format!("{}{why}", alpha_in_words(found))
        });
        let agree = self.agreement.and_then(|found| found.observed);
        let agree = agree.map(|i| format!("{} of pairs of answers to one item", percent(&i)));
        let seconds = self
            .seconds
            .map(|[_, q1, median, q3, _]| format!("{median:.1} (quartiles {q1:.1} and {q3:.1})"));
        let curve = self.learning.iter();
        let curve: Vec<String> = curve
            .map(|(_, mean)| format!("{:.0}", 100.0 * mean))
            .collect();
        let curve = format!("{} (mean score in each part)", curve.join(" "));
        let lost = self.distracted.map(|share| 100.0 * share);
        let lines = [
            (
                "score",
                self.score.map(|i| format!("{} ({over})", percent(&i))),
            ),
            ("standard errors", errors),
            ("each person", each),
            ("Cohen's kappa", self.cohen.as_ref().map(plain)),
            ("Fleiss' kappa", self.fleiss.map(|k| format!("{k:.2}"))),
            ("Krippendorff's α", alpha),
            ("agreement", agree),
            ("none fits", self.none_fits.as_ref().map(percent)),
            ("score, flagged", self.flagged.as_ref().map(percent)),
            ("score, others", self.unflagged.as_ref().map(percent)),
            ("seconds per answer", seconds),
            (
                "across trials",
                (!self.learning.is_empty()).then_some(curve),
            ),
            (
                "focus lost",
                lost.map(|x| format!("in {x:.1} % of answers")),
            ),
        ];
        let [people, items, answers] = [
            (self.people, "person"),
            (self.items, "item"),
            (self.answers, "answer"),
        ]
        .map(|(n, noun)| counted(n, noun));
        writeln!(f, "{people}, {items}, {answers}")?;
        for (name, text) in lines {
            if let Some(text) = text {
                writeln!(f, "{name:<17}{text}")?;
            }
        }
        Ok(())
    }
}

//! A scale from raw answers: whether two groups share one, which items have a number, which curve, and how able
//! everybody is. Nothing is estimated that the answers do not determine.

use serde::{Deserialize, Serialize};

use super::ability::mean_of;
use super::dif::{DifTest, EtsClass, ItemDif, likelihood_ratio, mantel_haenszel, separate};
use super::fit::{Dimensions, ItemFit, item_fit, parallel_analysis};
use super::{
    Ability, Estimator, Item, ItemErrors, Kinds, Marginal, MarginalSettings, Responses, Slopes,
    ability, marginal, posterior,
};
use crate::{StatsError, input};

const WHAT: &str = "scale";
/// Fewer independent subjects give no scale.
pub const FEWEST_SUBJECTS: usize = 5;
/// Slopes of their own need so many.
pub const FOR_SLOPES: usize = 200;
/// Fit of single items needs so many.
pub const FOR_FIT: usize = 30;
/// Items are compared between two groups from so many in each.
pub const FOR_GROUPS: usize = 10;

/// The curve that all items follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curve {
    /// Items differ in difficulty alone.
    #[serde(rename = "1pl")]
    OnePl,
    /// The same, from chance up.
    #[serde(rename = "1pl-chance")]
    OnePlChance,
    /// Items differ in slope too.
    #[serde(rename = "2pl")]
    TwoPl,
    /// The same, from chance up.
    #[serde(rename = "3pl")]
    ThreePl,
}

impl Curve {
    fn settings(self, chance: Vec<f64>) -> MarginalSettings {
        let (slopes, guessing) = match self {
            Self::OnePl => (Slopes::Common, Vec::new()),
            Self::OnePlChance => (Slopes::Common, chance),
            Self::TwoPl => (Slopes::Own, Vec::new()),
            Self::ThreePl => (Slopes::Own, chance),
        };
        MarginalSettings {
            guessing,
            tolerance: 1e-4,
            ..MarginalSettings::new(slopes)
        }
    }
}

/// Who answered, and what is known of them and of the items.
pub struct Subjects<'a> {
    /// Everybody's answers.
    pub responses: &'a Responses,
    /// Subjects that are not independent of each other (checkpoints, sizes, quantisations) share a number.
    pub lineages: &'a [usize],
    /// The second of two groups; empty for one group.
    pub focal: &'a [bool],
    /// Share that a guesser has right, by item.
    pub chance: &'a [f64],
    /// Kind of content, by item; empty where all are of one.
    pub kinds: &'a [usize],
}

/// What is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// This curve; the one with the smallest BIC among those that the number of subjects allows where nothing is said.
    pub curve: Option<Curve>,
    /// Calibrate on all members of a lineage, with clustered errors, instead of one of each.
    pub clustered: bool,
    /// Answers below which a subject has no ability of its own.
    pub fewest_answers: usize,
    /// Seed of the shuffles that dimensions are compared with.
    pub seed: u64,
    /// How items are compared between two groups.
    #[serde(default)]
    pub dif: DifTest,
}

/// Whether two groups find the same items hard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Groups {
    /// Independent subjects of the reference and of the focal group.
    pub sizes: (usize, usize),
    /// How items were compared.
    pub test: DifTest,
    /// One entry for each item that could be compared; `None` where that cannot be done. Kept with the items.
    #[serde(skip)]
    pub items: Option<Vec<ItemDif>>,
    /// Why items could not be compared.
    pub unclear: Option<String>,
    /// Correlation of the two groups' difficulties, errors taken out; `None` where they cannot be.
    pub correlation: Option<f64>,
    /// Standard deviation of the true differences, in logits.
    pub spread: Option<f64>,
}

impl Groups {
    /// Items without a difference that is both certain and large enough to matter.
    pub fn alike(&self) -> usize {
        let items = self.items.iter().flatten();
        items.filter(|item| item.class == EtsClass::A).count()
    }

    /// Whether both groups can stand on one scale; `None` where that cannot be told. Half of the items must behave
    /// alike, without which nothing ties the groups together, and difficulties must correlate by 0.5 or more.
    pub fn common(&self) -> Option<bool> {
        let tested = self.items.as_ref()?.len();
        Some(2 * self.alike() >= tested && self.correlation.is_none_or(|r| r >= 0.5))
    }
}

/// An item that has a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibrated {
    /// Its place among the items given.
    pub item: usize,
    /// Whether it is the focal group's (or the other's) alone, because it is harder for one of them.
    pub only: Option<bool>,
    /// Its curve.
    pub curve: Item,
    /// Its errors.
    pub errors: ItemErrors,
    /// How answers follow it, where there are enough subjects to tell.
    pub fit: Option<ItemFit>,
}

/// A subject that has a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Ability by the posterior's mean; its error takes in that answers to items of one kind go together.
    pub ability: Ability,
    /// Mean squared standardised residual of its answers: 1 on average, above where it finds other items hard.
    pub outfit: f64,
    /// Answers it rests on.
    pub answers: usize,
    /// Whether it has significantly more right than a guesser would (one-sided, 5 %).
    pub above_chance: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The curve of all items.
    pub curve: Curve,
    /// Curves that were fitted, with log-likelihood and BIC.
    pub compared: Vec<(Curve, f64, f64)>,
    /// Items with a number, in their order.
    pub items: Vec<Calibrated>,
    /// Subjects in their order; `None` for those with too few answers, or off the scale.
    pub subjects: Vec<Option<Standing>>,
    /// Subjects whose answers calibrated the items.
    pub calibrators: Vec<usize>,
    /// The two groups, where there are two.
    pub groups: Option<Groups>,
    /// Share of the spread of abilities that is not error, among the calibrators.
    pub reliability: Option<f64>,
    /// How many dimensions the answers have, where that can be told.
    pub dimensions: Option<Dimensions>,
    /// Variance of a subject's ability between kinds of content.
    pub between_kinds: f64,
}

/// Finds the scale. `tell` hears what is being done.
pub fn calibrate(
    data: &Subjects<'_>,
    wanted: &Wanted,
    tell: &mut dyn FnMut(&str),
) -> Result<Calibration, StatsError> {
    let persons = data.responses.persons();
    lengths(data)?;
    let focal = |person: usize| data.focal.get(person).copied().unwrap_or(false);
    let one_each = representatives(data);
    input::at_least(WHAT, FEWEST_SUBJECTS, one_each.len())?;
    let two = one_each.iter().any(|&p| focal(p)) && one_each.iter().any(|&p| !focal(p));
    let groups = two.then(|| {
        tell("comparing the items between the two groups");
        compare(data, &one_each, wanted)
    });
    // Without a common scale there is one of the larger group.
    let split = groups.as_ref().filter(|g| g.common() == Some(false));
    let apart = split.map(|groups| groups.sizes.1 > groups.sizes.0);
    let inside = |person: &usize| apart.is_none_or(|side| focal(*person) == side);
    let mut calibrators = match wanted.clustered {
        true => (0..persons.len()).collect(),
        false => one_each,
    };
    calibrators.retain(|p| inside(p) && !persons[*p].is_empty());
    let differing: Vec<usize> = match apart {
        Some(_) => Vec::new(),
        None => differing(groups.as_ref()),
    };
    let columns = Columns::new(data, &differing, &calibrators);
    let responses = columns.responses(data, &calibrators)?;
    let why = "fewer than two items are right for some subjects and wrong for others";
    input::refuse(columns.of.len() < 2, WHAT, why)?;
    let chance: Vec<f64> = columns.of.iter().map(|c| data.chance[c.0]).collect();
    let (fitted, curve, compared) = choose(&responses, &chance, wanted, tell)?;
    tell("errors of the items");
    let clusters: Vec<usize> = calibrators.iter().map(|&p| data.lineages[p]).collect();
    let errors = fitted.errors(&responses, wanted.clustered.then_some(clusters.as_slice()))?;
    tell("abilities");
    let kinds = between_kinds(data, &columns, &fitted.items, &responses)?;
    let everybody: Vec<usize> = (0..persons.len()).filter(inside).collect();
    let rows = columns.responses(data, &everybody)?;
    let mut subjects = vec![None; persons.len()];
    for (&person, row) in everybody.iter().zip(rows.persons()) {
        if row.len() >= wanted.fewest_answers.max(1) {
            subjects[person] = Some(stand(&fitted.items, row, &chance, &kinds)?);
        }
    }
    let found = |person: &usize| subjects[*person].as_ref();
    let theta = |p: &_| found(p).map(|s: &Standing| s.ability.value);
    let thetas: Vec<Option<f64>> = calibrators.iter().map(theta).collect();
    let fits = match calibrators.len() >= FOR_FIT {
        true => item_fit(&fitted.items, &responses, &thetas)?
            .into_iter()
            .map(Some)
            .collect(),
        false => vec![None; columns.of.len()],
    };
    let enough = calibrators.len() >= 2 * FOR_FIT && columns.of.len() <= 200;
    let dimensions = enough
        .then(|| {
            tell("dimensions");
            parallel_analysis(&responses, 20, wanted.seed).ok()
        })
        .flatten();
    let items = columns.of.iter().zip(fitted.items).zip(errors).zip(fits);
    Ok(Calibration {
        curve,
        compared,
        items: items
            .map(|(((&(item, only), curve), errors), fit)| Calibrated {
                item,
                only,
                curve,
                errors,
                fit,
            })
            .collect(),
        reliability: reliability(calibrators.iter().filter_map(found)),
        subjects,
        calibrators,
        groups,
        dimensions,
        between_kinds: kinds.variance,
    })
}

fn lengths(data: &Subjects<'_>) -> Result<(), StatsError> {
    let (items, persons) = (data.responses.items(), data.responses.persons().len());
    input::same_length(WHAT, data.lineages.len(), persons)?;
    input::same_length(WHAT, data.chance.len(), items)?;
    // Kinds and groups may be left out.
    for (given, needed) in [(data.kinds.len(), items), (data.focal.len(), persons)] {
        if given > 0 {
            input::same_length(WHAT, given, needed)?;
        }
    }
    Ok(())
}

/// How far the calibrators' answers to one kind go together.
fn between_kinds(
    data: &Subjects<'_>,
    columns: &Columns,
    items: &[Item],
    responses: &Responses,
) -> Result<Kinds, StatsError> {
    if data.kinds.is_empty() {
        return Ok(Kinds::default());
    }
    let of = columns.of.iter().map(|column| data.kinds[column.0]);
    let rows = responses.persons().iter().filter(|row| !row.is_empty());
    let placed = rows.map(|row| {
        let own = ability(items, row, Estimator::Eap)?;
        Ok((row.as_slice(), own.value))
    });
    let placed: Vec<_> = placed.collect::<Result<_, StatsError>>()?;
    Ok(Kinds::estimate(of.collect(), items, &placed))
}

/// Of each lineage the member with most answers; of equals the last.
fn representatives(data: &Subjects<'_>) -> Vec<usize> {
    let mut best = std::collections::BTreeMap::<usize, usize>::new();
    let persons = data.responses.persons();
    for (person, lineage) in data.lineages.iter().enumerate() {
        let held = best.entry(*lineage).or_insert(person);
        if persons[person].len() >= persons[*held].len() {
            *held = person;
        }
    }
    let mut chosen: Vec<usize> = best.into_values().collect();
    chosen.retain(|&person| !persons[person].is_empty());
    chosen.sort_unstable();
    chosen
}

fn compare(data: &Subjects<'_>, persons: &[usize], wanted: &Wanted) -> Groups {
    let second: Vec<bool> = persons.iter().map(|&p| data.focal[p]).collect();
    let many = second.iter().filter(|focal| **focal).count();
    let mut groups = Groups {
        sizes: (second.len() - many, many),
        test: wanted.dif,
        items: None,
        unclear: None,
        correlation: None,
        spread: None,
    };
    let (first, second_size) = groups.sizes;
    if first.min(second_size) < FOR_GROUPS {
        groups.unclear = Some(format!(
            "{first} and {second_size} independent subjects, and at least {FOR_GROUPS} of each are needed"
        ));
        return groups;
    }
    let own = data.responses.of_persons(persons);
    let apart = separate(&own, &second);
    if let Ok(found) = &apart {
        groups.correlation = found.correlation;
        groups.spread = found.spread;
    }
    let tested = match wanted.dif {
        DifTest::Wald => apart.map(|found| found.items),
        DifTest::MantelHaenszel => mantel_haenszel(&own, &second),
        DifTest::LikelihoodRatio => {
            let curve = wanted.curve.unwrap_or(Curve::OnePl);
            likelihood_ratio(&own, &second, &curve.settings(data.chance.to_vec()))
        }
    };
    match tested {
        Ok(items) if items.len() >= 4 => groups.items = Some(items),
        Ok(items) => groups.unclear = Some(format!("{} items can be compared", items.len())),
        Err(error) => groups.unclear = Some(error.to_string()),
    }
    groups
}

fn differing(groups: Option<&Groups>) -> Vec<usize> {
    let items = groups.into_iter().flat_map(|g| g.items.iter().flatten());
    let apart = items.filter(|item| item.class != EtsClass::A);
    apart.map(|item| item.item).collect()
}

/// The columns of the table that is fitted: items, and items of one group alone.
struct Columns {
    of: Vec<(usize, Option<bool>)>,
    /// By item, for the reference and for the focal group.
    at: Vec<[Option<usize>; 2]>,
}

impl Columns {
    /// Items on which the calibrators differ; those in `differing` once for each group.
    fn new(data: &Subjects<'_>, differing: &[usize], calibrators: &[usize]) -> Self {
        let items = data.responses.items();
        let mut apart = vec![false; items];
        differing.iter().for_each(|&item| apart[item] = true);
        // Lowest and highest score, by item and group.
        let mut seen = vec![[None::<(u8, u8)>; 2]; items];
        for &person in calibrators {
            let side = usize::from(data.focal.get(person).copied().unwrap_or(false));
            for &(item, score) in &data.responses.persons()[person] {
                let cell = &mut seen[item][if apart[item] { side } else { 0 }];
                let (low, high) = cell.unwrap_or((score, score));
                *cell = Some((low.min(score), high.max(score)));
            }
        }
        let (mut of, mut at) = (Vec::new(), vec![[None; 2]; items]);
        for item in 0..items {
            for side in 0..=usize::from(apart[item]) {
                if seen[item][side].is_some_and(|(low, high)| low < high) {
                    match apart[item] {
                        true => at[item][side] = Some(of.len()),
                        false => at[item] = [Some(of.len()); 2],
                    }
                    of.push((item, apart[item].then_some(side == 1)));
                }
            }
        }
        Self { of, at }
    }

    fn responses(&self, data: &Subjects<'_>, persons: &[usize]) -> Result<Responses, StatsError> {
        let answers = persons.iter().enumerate().flat_map(|(row, &person)| {
            let side = usize::from(data.focal.get(person).copied().unwrap_or(false));
            let own = data.responses.persons()[person].iter();
            own.filter_map(move |&(item, score)| Some((row, self.at[item][side]?, score)))
        });
        Responses::new(persons.len(), self.of.len(), answers)
    }
}

type Chosen = (Marginal, Curve, Vec<(Curve, f64, f64)>);

fn choose(
    responses: &Responses,
    chance: &[f64],
    wanted: &Wanted,
    tell: &mut dyn FnMut(&str),
) -> Result<Chosen, StatsError> {
    let binary = (0..responses.items()).all(|item| responses.top(item) == 1);
    let guessed = binary && chance.iter().any(|c| *c > 0.0);
    let many = responses.persons().len() >= FOR_SLOPES;
    let curves = match wanted.curve {
        Some(curve) => vec![curve],
        None => {
            let all = [
                (Curve::OnePl, true),
                (Curve::OnePlChance, guessed),
                (Curve::TwoPl, many),
                (Curve::ThreePl, many && guessed),
            ];
            all.into_iter().filter(|c| c.1).map(|c| c.0).collect()
        }
    };
    let mut best: Option<(Marginal, Curve)> = None;
    let mut compared = Vec::new();
    for curve in curves {
        tell(&format!("fitting {}", curve.name()));
        let fitted = marginal(responses, &curve.settings(chance.to_vec()))?;
        compared.push((curve, fitted.log_likelihood, fitted.bic()));
        if best.as_ref().is_none_or(|(b, _)| fitted.bic() < b.bic()) {
            best = Some((fitted, curve));
        }
    }
    let (fitted, curve) = best.ok_or(StatsError::degenerate(WHAT, "no curve was fitted"))?;
    Ok((fitted, curve, compared))
}

impl Curve {
    /// The word in tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnePl => "1pl",
            Self::OnePlChance => "1pl-chance",
            Self::TwoPl => "2pl",
            Self::ThreePl => "3pl",
        }
    }
}

/// Where answers put a subject on items that are known.
pub fn stand(
    items: &[Item],
    row: &[(usize, u8)],
    chance: &[f64],
    kinds: &Kinds,
) -> Result<Standing, StatsError> {
    let found = mean_of(&posterior(items, row, kinds)?);
    let (mut squares, mut got, mut guessed, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for &(item, score) in row {
        let (curve, score) = (&items[item], f64::from(score));
        let off = score - curve.expected(found.value);
        squares += off * off / curve.variance(found.value).max(1e-9);
        let share = score / f64::from(curve.top());
        got += share;
        guessed += chance[item];
        variance += chance[item] * (1.0 - chance[item]);
    }
    let z = (got - guessed - 0.5) / f64::max(variance, 1e-12).sqrt();
    Ok(Standing {
        ability: found,
        outfit: squares / row.len() as f64,
        answers: row.len(),
        above_chance: z > crate::distributions::z_of(0.90),
    })
}

/// What part of the spread of estimated abilities is not error.
fn reliability<'a>(subjects: impl Iterator<Item = &'a Standing>) -> Option<f64> {
    let both = subjects.map(|s| (s.ability.value, s.ability.error.powi(2)));
    let (values, errors): (Vec<f64>, Vec<f64>) = both.unzip();
    let n = values.len() as f64;
    if n < 3.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(spread / (spread + errors.iter().sum::<f64>() / n))
}

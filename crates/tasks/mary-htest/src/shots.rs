//! Which shots stand before which item. A score over one list of shots says as much about the list as
//! about the model: so fresh items are shared out among several draws of the shots, and the interval is
//! over draws. In half the items of each draw A and B change places: a model that answers to the look
//! of an item alone, whatever the shots say, is then right as often as wrong.

use mary_contract::{DataSource, TaskError};
use mary_generators::{shuffle, stream};

use super::dataset::{Example, Label, Rule, mixed};
use super::setup::{HtestSettings, ItemsSource, Order};
use super::upstream;

/// One draw of the shots as a prompt shows it, with A and B as drawn or in each other's place.
#[derive(Debug, Clone)]
pub struct Draw {
    pub number: usize,
    pub shots: Vec<Example>,
    pub exchanged: bool,
}

/// Shots that were drawn, and the items that are asked with them.
pub struct Drawn {
    draws: Vec<[Draw; 2]>,
    pub test: Vec<Example>,
}

impl Drawn {
    /// Fresh items share nothing with those of the seeds `apart`; `released` is the task's name in the
    /// authors' files.
    pub fn new(
        setup: &HtestSettings,
        (rule, apart): (&Rule, &[u64]),
        released: Option<&str>,
        data: &dyn DataSource,
    ) -> Result<Self, TaskError> {
        let (draws, test) = match released {
            None => {
                let shots = (setup.shots, setup.shot_sets);
                rule.draws((setup.seed, setup.n), shots, apart)?
            }
            Some(name) => {
                let pool = upstream::shot_pool(data, name)?;
                let of = |draw| from_pool(setup, &pool, rule.name, draw);
                let draws = (0..setup.shot_sets).map(of).collect();
                (draws, upstream::test_items(data, name)?)
            }
        };
        let both_ways = |(number, mut shots): (usize, Vec<Example>)| {
            if setup.order == Order::Random {
                mixed(&mut shots, setup.seed, rule.name, number);
            }
            let turned = shots.iter().map(Example::exchanged).collect();
            let draw = |shots, exchanged| Draw {
                number,
                shots,
                exchanged,
            };
            [draw(shots, false), draw(turned, true)]
        };
        Ok(Self {
            draws: draws.into_iter().enumerate().map(both_ways).collect(),
            test,
        })
    }

    /// What is asked before the items of a pair: one draw, or each in turn where they are crossed.
    pub fn before(&self, setup: &HtestSettings, pair: usize) -> impl Iterator<Item = &Draw> {
        let count = self.draws.len();
        let (crossed, both) = (setup.crossed, setup.both_labels);
        let draws = self.draws.iter().enumerate();
        let chosen = draws.filter(move |(number, _)| crossed || *number == pair % count);
        chosen.filter_map(move |(number, ways)| {
            let round = if crossed { number + pair } else { pair / count };
            ways.get(usize::from(both && round % 2 == 1))
        })
    }
}

/// The number of the draw from which a test item came, so that a larger set shares its items out as a
/// smaller one does; of released items, which alternate, the number of the two.
pub fn pair_number(example: &Example, index: usize) -> usize {
    let named = example.pair.as_deref().and_then(|p| p.rsplit('-').next());
    let number = named.and_then(|number| number.parse().ok());
    number.unwrap_or(index / 2)
}

/// Shots from the released pool: the first as published, the others drawn from it by the seed.
fn from_pool(setup: &HtestSettings, pool: &[Example], task: &str, draw: usize) -> Vec<Example> {
    let of =
        |label| -> Vec<Example> { pool.iter().filter(|e| e.label == label).cloned().collect() };
    let (mut a, mut b) = (of(Label::A), of(Label::B));
    if draw > 0 {
        let mut rng = stream(setup.seed, &format!("htest/{task}/released/{draw}"));
        shuffle(&mut rng, &mut a);
        shuffle(&mut rng, &mut b);
    }
    let by_turns = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]);
    by_turns.take(setup.shots).collect()
}

/// How the shots were drawn, in words.
pub fn convention(setup: &HtestSettings) -> String {
    let drawn = match (setup.shots, setup.shot_sets, setup.crossed) {
        (0, ..) => return "none".into(),
        (_, 1, _) => "one draw for all items: the interval is about these shots".into(),
        (_, sets, true) => {
            format!(
                "{sets} draws, every item asked with each; the interval is over draws and items"
            )
        }
        (_, sets, false) => {
            format!("{sets} draws, every pair of items asked with one; the interval is over draws")
        }
    };
    let source = match setup.source {
        ItemsSource::Published if setup.shot_sets > 1 => " (the first as published)",
        _ => "",
    };
    let labels = match setup.both_labels {
        true => "; A and B change places in half the items of a draw",
        false => "; A always stands for the same",
    };
    format!("{drawn}{source}{labels}")
}

//! Simulated people, for trying a study before real ones come: at random, with a known ability on items of
//! known difficulty, or answering as a model did in a stored run. By data, straight into the store; or
//! through the real page, over HTTP, form by form.

pub mod page;

pub use page::{Report, through_page};

use std::collections::BTreeMap;

use mary_contract::Target;
use mary_generators::{Stream, below, stream};
use mary_stats::distributions::normal_quantile;
use rand::RngExt as _;

use crate::keys::Keys;
use crate::question::{AnswerForm, NONE_FITS, Question, READ};
use crate::session::Session;
use crate::store::{Step, Submission};
use crate::{Result, StudyError};

#[derive(Debug, Clone)]
pub enum Behaviour {
    Random,
    /// Right with a probability that depends on the person's ability and the item's difficulty, both drawn
    /// from normal distributions on the logit scale.
    Ability {
        /// Logit of being right, on average.
        mean: f64,
        sd_people: f64,
        sd_items: f64,
    },
    /// As a model did, item by item: task and item id → the option it chose (in the task's order), or what
    /// it wrote.
    AsModel(BTreeMap<(String, String), String>),
}

#[derive(Debug, Clone)]
pub struct Simulation {
    pub behaviour: Behaviour,
    /// Median seconds for an answer; times are log-normal.
    pub seconds: f64,
    pub seed: u64,
}

pub fn normal(rng: &mut Stream) -> f64 {
    let p: f64 = rng.random_range(1e-12..1.0 - 1e-12);
    normal_quantile(p)
}

pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Simulation {
    fn rt(&self, rng: &mut Stream) -> f64 {
        (self.seconds * 1_000.0 * (0.5 * normal(rng)).exp()).max(1.0)
    }

    /// Milliseconds for each word: longer for longer words (15 for a letter), people at a pace of their own.
    pub fn times(&self, place: usize, item: usize, question: &Question) -> Vec<f64> {
        let pace = 250.0 + 40.0 * normal(&mut stream(self.seed, &format!("pace/{place}")));
        let mut rng = stream(self.seed, &format!("read/{place}/{item}"));
        let words = question.reading.iter();
        words
            .map(|word| {
                let plain = pace.max(100.0) + 15.0 * word.chars().count() as f64;
                plain * (0.2 * normal(&mut rng)).exp()
            })
            .collect()
    }

    /// What the person of a place puts into the form for an item. `order` is that of the options shown.
    pub fn answer(
        &self,
        place: usize,
        item: usize,
        question: &Question,
        keys: &Keys,
        order: &[usize],
    ) -> (Vec<String>, f64) {
        let mut rng = stream(self.seed, &format!("simulate/{place}/{item}"));
        let rt = self.rt(&mut rng);
        let shown = |option: usize| {
            let at = order.iter().position(|o| *o == option).unwrap_or(0);
            vec![at.to_string()]
        };
        let key = keys.items.get(item);
        let target = key.map(|k| &k.item.target);
        let options = question.answer.options().len();
        let values = match &question.answer {
            AnswerForm::Choice {
                none_fits, beside, ..
            } => {
                let chosen = self.choice(&mut rng, place, item, target, options, key, keys);
                let mut values = match chosen {
                    None if *none_fits && !beside => vec![NONE_FITS.to_owned()],
                    None => shown(below(&mut rng, options)),
                    Some(option) => shown(option),
                };
                // Whoever is wrong has found less that fits.
                let doubt = match target {
                    Some(Target::Choice { correct, .. }) if chosen == Some(*correct) => 0.07,
                    _ => 0.3,
                };
                if *beside && rng.random::<f64>() < doubt {
                    values.push(NONE_FITS.to_owned());
                }
                values
            }
            AnswerForm::Several { .. } => {
                let chosen = (0..options).filter(|_| below(&mut rng, 2) == 1);
                chosen.map(|o| o.to_string()).collect()
            }
            AnswerForm::Read => vec![READ.to_owned()],
            AnswerForm::Number => vec![below(&mut rng, 100).to_string()],
            AnswerForm::Rating { low, high } => {
                let span = usize::try_from(high - low + 1).unwrap_or(1);
                vec![(low + below(&mut rng, span) as i64).to_string()]
            }
            AnswerForm::Text | AnswerForm::Transcription => match target {
                // In words of their own, and not always right.
                Some(Target::Text(_)) if self.mistaken(&mut rng, place, item) => {
                    vec!["I do not know".to_owned()]
                }
                Some(Target::Text(right)) => vec![right.clone()],
                _ => vec![format!("answer {}", below(&mut rng, 1_000))],
            },
        };
        (values, rt)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "everything that decides one draw"
    )]
    fn choice(
        &self,
        rng: &mut Stream,
        place: usize,
        item: usize,
        target: Option<&Target>,
        options: usize,
        key: Option<&crate::keys::KeyedItem>,
        keys: &Keys,
    ) -> Option<usize> {
        let correct = match target {
            Some(Target::Choice { correct, .. }) => *correct,
            // A judgement of what a model wrote: mostly that it is sound.
            Some(Target::Data(_)) => options.saturating_sub(1),
            _ => 0,
        };
        match &self.behaviour {
            Behaviour::Random => Some(below(rng, options)),
            Behaviour::Ability { .. } => {
                let right = rng.random::<f64>() < self.probability(place, item);
                Some(if right || options < 2 {
                    correct
                } else {
                    (correct + 1 + below(rng, options - 1)) % options
                })
            }
            Behaviour::AsModel(said) => {
                let key = key?;
                let task = keys.tasks.get(key.task)?.id.clone();
                let parsed = said.get(&(task, key.item.id.clone()))?;
                let letter = |at: usize| {
                    u8::try_from(at)
                        .ok()
                        .map(|at| char::from(b'A' + at).to_string())
                };
                let texts: Vec<&String> = match target {
                    Some(Target::Choice { options, .. }) => options.iter().collect(),
                    _ => Vec::new(),
                };
                (0..options).find(|at| {
                    texts.get(*at).is_some_and(|t| *t == parsed)
                        || letter(*at).as_ref() == Some(parsed)
                })
            }
        }
    }

    fn mistaken(&self, rng: &mut Stream, place: usize, item: usize) -> bool {
        let able = matches!(self.behaviour, Behaviour::Ability { .. });
        able && rng.random::<f64>() >= self.probability(place, item)
    }

    pub fn probability(&self, place: usize, item: usize) -> f64 {
        match &self.behaviour {
            Behaviour::Ability {
                mean,
                sd_people,
                sd_items,
            } => {
                let ability = normal(&mut stream(self.seed, &format!("ability/{place}")));
                let difficulty = normal(&mut stream(self.seed, &format!("difficulty/{item}")));
                logistic(mean + sd_people * ability - sd_items * difficulty)
            }
            _ => 0.5,
        }
    }
}

/// Fills every free place of a study by data, without a page. How many people took part.
pub fn by_data(
    session: &Session,
    keys: &Keys,
    simulation: &Simulation,
    people: usize,
) -> Result<usize> {
    let mut taken = 0;
    // A clock of its own, so that times are those simulated.
    let mut clock = crate::now();
    for _ in 0..people {
        let (token, work) = session.joining(None, clock);
        if session.store.wait(work)?.is_err() {
            break;
        }
        taken += 1;
        while let Some(view) = session.store.wait(session.looking(&token, clock))? {
            let mut times = Vec::new();
            let (values, rt) = match &view.step {
                Step::Instructions => (vec!["begin".to_owned()], 1_000.0),
                Step::Check { number, .. } => {
                    let right = session.study.settings.checks.get(*number);
                    let at = right.map_or(0, |c| c.answer.saturating_sub(1));
                    (vec![at.to_string()], 1_000.0)
                }
                Step::Trial { item, .. } => {
                    let Some(question) = session.study.questions.get(*item) else {
                        break;
                    };
                    let place = view.person.place;
                    let order = session.study.order(place, *item);
                    times = simulation.times(place, *item, question);
                    simulation.answer(place, *item, question, keys, &order)
                }
                _ => break,
            };
            clock += rt as i64;
            let sent = Submission {
                step: view.step.id(),
                key: view.key,
                values,
                rt: Some(rt),
                elapsed: Some(rt + 500.0),
                blurs: Some(0),
                window: Some((1280, 900)),
                input: Some("key".into()),
                times,
            };
            if let Err(refusal) = session
                .store
                .wait(session.submitting(&token, sent, clock))?
            {
                return Err(StudyError::refused(format!(
                    "a simulated answer was refused: {refusal:?}"
                )));
            }
        }
    }
    Ok(taken)
}

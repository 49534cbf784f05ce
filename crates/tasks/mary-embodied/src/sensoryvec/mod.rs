//! SensoryVec: a word of a sense should lie nearer to its synonym than to its antonym.
//!
//! Each of the three words is read in three sentences; the vectors of its tokens (or of all tokens)
//! are averaged, then the three sentences; right when cos(word, synonym) > cos(word, antonym). Static
//! vectors are asked the same way and give the bare word's vector whatever the sentence; a triple with
//! a word outside their vocabulary is left out and counted.

pub mod attributes;
mod cosine;
pub mod form;
mod setup;

pub use setup::{Pooling, SensoryVecSettings};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ErrorKind, InForce, Item, Items, Judgement, Needs, Observe, Pool, Reply,
    Request, Scoring, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
};
use serde_json::{Value, json};

use crate::cards::{FILE, card};
use crate::{MaterialSource, Triple, own, upstream};
use cosine::{Cosines, Nothing, ROLES};

pub static SENSORY_VEC: SensoryVec = SensoryVec;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("embodied/sensoryvec"));

#[derive(Debug, Clone, Copy)]
pub struct SensoryVec;

fn item(setup: &SensoryVecSettings, place: usize, triple: &Triple) -> Item {
    let words = [&triple.word, &triple.synonym, &triple.antonym];
    let asks = words
        .iter()
        .flat_map(|word| triple.sentences.iter().map(move |s| ask(setup, s, word)))
        .collect();
    let target = Target::Data(json!({
        ROLES[0]: triple.word, ROLES[1]: triple.synonym, ROLES[2]: triple.antonym,
    }));
    labelled(setup.source, place, triple, target, asks)
}

fn labelled(
    source: MaterialSource,
    place: usize,
    triple: &Triple,
    target: Target,
    asks: Vec<Ask>,
) -> Item {
    let Triple {
        sense,
        word,
        synonym,
        antonym,
        ..
    } = triple;
    let id = format!("{}-{:03}", source.stored(), place + 1);
    let item = Item::new(id, target, asks)
        .in_stratum_of("sense", sense.name())
        .tagged("modality", sense.modality())
        .tagged("looks_closer", form::looks_closer(word, synonym, antonym))
        .tagged("shares_stem", form::shares_stem(word, synonym, antonym));
    match attributes::attribute(source, place) {
        Some(attribute) => item.tagged("attribute", attribute),
        None => item,
    }
}

fn ask(setup: &SensoryVecSettings, sentence: &str, word: &str) -> Ask {
    let start = sentence.find("{}").unwrap_or(sentence.len());
    let pool = match setup.pooling {
        Pooling::Target => Pool::Span {
            start,
            end: start + word.len(),
        },
        Pooling::Sentence => Pool::Mean,
    };
    Ask::subject(Request::Observe(Observe {
        picture: None,
        text: sentence.replacen("{}", word, 1),
        pools: vec![pool],
        layers: setup.layers(),
        with_scores: false,
    }))
}

/// An item whose cosines were made elsewhere; they stand in its target, and it asks nothing.
pub(crate) fn stored_item(place: usize, triple: &Triple, cosines: Option<(f64, f64)>) -> Item {
    let stored = match cosines {
        Some((synonym, antonym)) => json!({ "synonym": synonym, "antonym": antonym }),
        None => Value::Null,
    };
    let target = Target::Data(json!({
        ROLES[0]: triple.word, ROLES[1]: triple.synonym, ROLES[2]: triple.antonym,
        "stored_cosines": stored,
    }));
    labelled(MaterialSource::Published, place, triple, target, vec![])
}

/// Right when the synonym is nearer; a tie is one half.
fn verdict(c: &Cosines) -> f64 {
    match c.synonym.total_cmp(&c.antonym) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5,
    }
}

fn judgement(scored: &Cosines, all: &[Cosines]) -> Judgement {
    let score = verdict(scored);
    let said = match score {
        1.0 => "synonym",
        0.0 => "antonym",
        _ => "tie",
    };
    let mut judgement = Judgement::scored(score)
        .read_as(said)
        .measured("margin", scored.synonym - scored.antonym);
    judgement.notes = json!({
        "layer": scored.layer,
        "cosine_synonym": scored.synonym,
        "cosine_antonym": scored.antonym,
    });
    if all.len() > 1 {
        for layer in all {
            judgement = judgement.measured(&format!("layer_{:02}", layer.layer), verdict(layer));
        }
    }
    judgement
}

fn stored_judgement(target: &Target) -> Option<Judgement> {
    let Target::Data(data) = target else {
        return None;
    };
    let stored = data.get("stored_cosines")?;
    let cosine = |role: &str| stored.get(role).and_then(Value::as_f64);
    Some(match (cosine("synonym"), cosine("antonym")) {
        (Some(synonym), Some(antonym)) => {
            let cosines = Cosines {
                layer: 0,
                synonym,
                antonym,
            };
            judgement(&cosines, &[])
        }
        _ => out_of_vocabulary("a word"),
    })
}

fn out_of_vocabulary(role: &str) -> Judgement {
    Judgement::not_applicable(format!("{role} is outside the vocabulary"))
}

impl Task for SensoryVec {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::OBSERVE
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = SensoryVecSettings::read(&CARD, settings)?;
        let triples = match setup.source {
            MaterialSource::Fresh => own::triples(setup.language).to_vec(),
            MaterialSource::Published => upstream::triples(data)?,
        };
        let triples = triples.into_iter().enumerate();
        let items = triples.map(move |(place, triple)| Ok(item(&setup, place, &triple)));
        Ok(Box::new(items))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        if let (true, Some(stored)) = (answers.is_empty(), stored_judgement(&item.target)) {
            return stored;
        }
        let setup = match SensoryVecSettings::read(&CARD, settings) {
            Ok(setup) => setup,
            Err(error) => return Judgement::failed(ErrorKind::Internal, error.to_string()),
        };
        let all = match cosine::cosines(answers) {
            Ok(all) => all,
            Err(Nothing::OutOfVocabulary(role)) => {
                return out_of_vocabulary(&format!("the {role}"));
            }
            Err(Nothing::NotFinite) => {
                let message = "a vector has no direction: it is zero or not a number";
                return Judgement::failed(ErrorKind::NotFinite, message);
            }
            Err(Nothing::Broken(message)) => {
                return Judgement::failed(ErrorKind::Internal, message);
            }
        };
        let scored = match (all.as_slice(), usize::try_from(setup.layer)) {
            // Only the scored layer was asked for.
            ([only], _) => Some(only),
            (all, Ok(layer)) => all.iter().find(|c| c.layer == layer),
            (all, Err(_)) => {
                let back = setup.layer.unsigned_abs() as usize;
                all.len().checked_sub(back).and_then(|place| all.get(place))
            }
        };
        match scored {
            Some(scored) => judgement(scored, &all),
            None => Judgement::failed(
                ErrorKind::BadRequest,
                format!("layer {} is not among {} layers", setup.layer, all.len()),
            ),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::share(Ties::Half)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = SensoryVecSettings::read(&CARD, settings) else {
            return BTreeMap::new();
        };
        let computed = [
            ("language", setup.language.code().to_owned()),
            ("layer", setup.layer.to_string()),
        ];
        FILE.conventions(&CARD, settings, &computed)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

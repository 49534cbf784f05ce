//! The authors' released answers as runs of ours: every record becomes the answer to the item it
//! answered and is judged by the same judge as any model's. People are another model in the same log.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    DataSource, Exchange, Generated, Item, Key, PromptForm, ReleasedRun, Reply, Response, Sample,
    SampleId, Task, TaskError, TaskSettings, text,
};

use crate::perceptualqa::{self, PERCEPTUAL_QA};
use crate::sensoryvec::{self, SENSORY_VEC};
use crate::upstream::{self, Released, ReleasedAnswer};
use crate::{Language, MaterialSource};

/// The conventions that hold for released answers: those of the task, without what only a run of ours
/// could state (how vectors were pooled), and with where they come from.
fn conventions(task: &dyn Task, settings: &TaskSettings, remark: &str) -> BTreeMap<String, String> {
    let mut said = task.conventions(settings);
    for ours in ["pooling", "layer"] {
        said.remove(ours);
    }
    said.insert("imported".to_owned(), remark.to_owned());
    said
}

pub(crate) const PUBLISHED: &str = "published/";

pub const PEOPLE: &str = "people/yang-2025";

/// Reads `predictions.tar.gz` (or its folder), the folder of people's answers, or SensoryVec's file
/// with stored cosines. Nothing when the path is none of these. The questions come from the dataset.
pub fn released_runs(
    path: &Path,
    data: &dyn DataSource,
) -> Result<Option<Vec<ReleasedRun>>, TaskError> {
    if path.extension().is_some_and(|e| e == "csv") {
        return stored_vectors(path).map(Some);
    }
    let Some(released) = upstream::released_outputs(path)? else {
        return Ok(None);
    };
    let mut items: BTreeMap<Language, BTreeMap<String, Item>> = BTreeMap::new();
    let mut runs = Vec::new();
    for outputs in released {
        let settings = settings(outputs.language);
        let items = match items.entry(outputs.language) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unread) => unread.insert(
                PERCEPTUAL_QA
                    .items(&settings, data)?
                    .map(|item| item.map(|i| (i.id.clone(), i)))
                    .collect::<Result<_, _>>()?,
            ),
        };
        runs.push(answers(path, outputs, settings, items)?);
    }
    Ok(Some(runs))
}

/// The settings under which the released questions were asked.
fn settings(language: Language) -> TaskSettings {
    let params = [
        ("source", MaterialSource::Published.stored()),
        ("mode", "generate"),
        ("language", language.code()),
    ];
    TaskSettings {
        form: PromptForm::Chat,
        params: params
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..TaskSettings::default()
    }
}

fn answers(
    path: &Path,
    outputs: Released,
    settings: TaskSettings,
    items: &BTreeMap<String, Item>,
) -> Result<ReleasedRun, TaskError> {
    let people = outputs.model == "people";
    let model = if people {
        PEOPLE.to_owned()
    } else {
        format!("{PUBLISHED}{}", outputs.model)
    };
    let mut given: BTreeMap<(String, u32), String> = BTreeMap::new();
    for ReleasedAnswer {
        order,
        trial,
        index,
        text,
    } in outputs.answers
    {
        let id = perceptualqa::item_id(MaterialSource::Published, index, order);
        if !items.contains_key(&id) {
            let why =
                format!("{model} answers question {index} in order {order}, which is not there");
            return Err(TaskError::record(path, 0, why));
        }
        given.insert((id, trial), text);
    }
    // A question that a model never answered is an empty answer; people were asked a quarter of them.
    if !people {
        for id in items.keys() {
            given.entry((id.clone(), 0)).or_default();
        }
    }
    let trials = 1 + given.keys().map(|(_, trial)| *trial).max().unwrap_or(0);
    let samples = given
        .into_iter()
        .filter_map(|((id, trial), text)| sample(&model, items.get(&id)?, trial, text, &settings))
        .collect();
    let remark = if people {
        "answers of people, released by Yang et al. 2025"
    } else {
        "outputs released by Yang et al. 2025; the prompt shown is the paper's, rebuilt"
    };
    Ok(ReleasedRun {
        model,
        task: Arc::new(&PERCEPTUAL_QA),
        conventions: conventions(&PERCEPTUAL_QA, &settings, remark),
        settings,
        trials,
        samples,
        remark: text(remark),
    })
}

fn sample(
    model: &str,
    item: &Item,
    trial: u32,
    text: String,
    settings: &TaskSettings,
) -> Option<Sample> {
    let mut item = item.clone();
    let ask = item.asks.pop()?;
    let reply = Reply::bare(Response::Generated(Generated::whole(text)));
    let judgement = PERCEPTUAL_QA.judge(settings, &item, std::slice::from_ref(&reply));
    let key = Key::of(model, PERCEPTUAL_QA.card(), trial, &ask.request).ok()?;
    Some(Sample {
        id: sample_id(model, &PERCEPTUAL_QA.card().id, &item, trial),
        item,
        exchanges: vec![Exchange {
            key,
            ask,
            reply: Ok(reply),
        }],
        judgement,
    })
}

fn sample_id(model: &str, task: &str, item: &Item, trial: u32) -> SampleId {
    SampleId::new(model, task, item.id.clone(), trial)
}

const COSINES: &str =
    "cosines released by Yang et al. 2025; pooling and layer as there, which is not said";

fn stored_vectors(path: &Path) -> Result<Vec<ReleasedRun>, TaskError> {
    let triples = upstream::triples_of(path)?;
    let settings = TaskSettings {
        params: [(
            "source".to_owned(),
            MaterialSource::Published.stored().to_owned(),
        )]
        .into(),
        ..TaskSettings::default()
    };
    let runs = upstream::stored_cosines(path)?.into_iter().map(|stored| {
        let model = format!("{PUBLISHED}{}", stored.model);
        let samples = triples.iter().zip(&stored.cosines).enumerate();
        let samples = samples.map(|(place, (triple, cosines))| {
            let item = sensoryvec::stored_item(place, triple, *cosines);
            Sample {
                id: sample_id(&model, &SENSORY_VEC.card().id, &item, 0),
                judgement: SENSORY_VEC.judge(&settings, &item, &[]),
                item,
                exchanges: vec![],
            }
        });
        ReleasedRun {
            samples: samples.collect(),
            model,
            task: Arc::new(&SENSORY_VEC),
            conventions: conventions(&SENSORY_VEC, &settings, COSINES),
            settings: settings.clone(),
            trials: 1,
            remark: text(COSINES),
        }
    });
    Ok(runs.collect())
}

//! Typicality by closeness: the cosine of the member's and the category's vector.

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, InForce, Item, ItemSource, Items, Judgement, Layers, Measure, Metric, Needs, Param,
    Reply, Sample, Scoring, Task, TaskCard, TaskError, TaskSettings, UnscoredReason, text,
};

use super::{
    NORMS, NORMS_FILE, Shown, agreement, by_category, categories, note, source_convention,
};
use crate::choice::failed;
use crate::observed::{Layer, Pooling, cosine, layers, look, mean};
use crate::settings::{LAYERS, POOLING, choose, no_shots};

static PARAMS: [Param; 4] = [NORMS, NORMS_FILE, POOLING, LAYERS];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/typicality-vectors"),
    family: text("psychometric"),
    version: 1,
    title: text("Typicality by vectors"),
    about: text(
        "Members of a category are ordered by the cosine of their vector with the category's, and the \
            order is compared with people's (for the built-in model: with how often the small world \
            mentions each member). The score is Spearman's correlation in the last layer, mean over \
            categories.",
    ),
    chance: Some(0.0),
    human: None,
    params: Param::list(&PARAMS),
    dataset: Some(text(super::norms::DATASET)),
    citation: crate::CITATION,
    starter: Some(13),
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct Vectors;

pub static TYPICALITY_VECTORS: Vectors = Vectors;

fn read(settings: &TaskSettings) -> Result<(Pooling, bool), TaskError> {
    settings.check(&CARD)?;
    no_shots(&CARD, settings)?;
    Ok((
        choose(&CARD, settings, "pooling", &Pooling::WORDS)?,
        choose(&CARD, settings, "layers", &[("last", false), ("all", true)])?,
    ))
}

impl Task for Vectors {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        super::item_source(&CARD, settings)
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            observe: true,
            ..Needs::default()
        }
    }

    fn default_for(
        &self,
        settings: &TaskSettings,
        builtin: bool,
    ) -> Option<(&'static str, &'static str)> {
        super::for_model(&CARD, settings, builtin)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let (pooling, all) = read(settings)?;
        let categories = categories(&CARD, settings, data)?;
        Ok(Box::new(categories.into_iter().map(move |category| {
            let shown = Shown::of(&category.name, category.members.iter());
            let layers = || if all { Layers::All } else { Layers::Last };
            let asks = std::iter::once(&shown.category)
                .chain(&shown.members)
                .map(|text| look(text, pooling, layers()))
                .collect();
            Ok(Item::new(category.name.clone(), shown.target(), asks)
                .tagged("category", category.name))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let shown = match Shown::read(item) {
            Ok(shown) => shown,
            Err(message) => return failed(&message),
        };
        match layers(answers) {
            Ok(layers) => judge_layers(&shown, &layers),
            Err(message) => failed(&message),
        }
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        by_category(samples)
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::RankCorrelation)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok((pooling, all)) = read(settings) else {
            return BTreeMap::new();
        };
        let say = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        BTreeMap::from([
            say("scale", "spearman"),
            say("norms", &source_convention(&CARD, settings)),
            say(
                "score",
                "Spearman's correlation of cosine with typicality in the last layer, then the mean over \
                 categories",
            ),
            say("pooling", pooling.words()),
            say("text", "member and category alone, each read by itself"),
            say("layers", if all { "all" } else { "the last" }),
            say("unknown words", "left out of their category and counted"),
        ])
    }
}

fn judge_layers(shown: &Shown, layers: &[Layer]) -> Judgement {
    let Some(last) = layers.last() else {
        return none("no vector came back for this category");
    };
    let mut by_layer = Vec::new();
    for layer in layers {
        let Some((Some(category), members)) = layer.vectors.split_first() else {
            return none("the category's name is outside the vocabulary");
        };
        if members.len() != shown.members.len() {
            return failed("expected one vector for the category and one for each member");
        }
        let pairs: Vec<(f64, f64)> = shown
            .typicality
            .iter()
            .zip(members)
            .filter_map(|(t, m)| Some((*t, cosine(m.as_ref()?, category)?)))
            .collect();
        let (typicality, said): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        by_layer.push((layer.number, agreement(&typicality, &said)));
    }
    let Some((_, Some(found))) = by_layer.last() else {
        return none("fewer than four members have a vector, or all are equally close");
    };
    let unknown: Vec<String> = shown
        .members
        .iter()
        .zip(last.vectors.iter().skip(1))
        .filter(|(_, vector)| vector.is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let mut judgement =
        Judgement::scored(found.r.value).measured("members_left_out", unknown.len() as f64);
    judgement.notes = note(&shown.category, found, &unknown);
    if by_layer.len() > 1 {
        let values = || {
            by_layer
                .iter()
                .filter_map(|(layer, c)| Some((*layer, c.as_ref()?.r.value)))
        };
        if let Some(value) = mean(values().map(|(_, v)| v)) {
            judgement = judgement.measured("mean_over_layers", value);
        }
        for (layer, value) in values() {
            judgement = judgement.measured(&format!("layer_{layer:02}"), value);
        }
    }
    judgement
}

fn none(why: &str) -> Judgement {
    Judgement::unscored(UnscoredReason::NotApplicable(why.to_owned()))
}

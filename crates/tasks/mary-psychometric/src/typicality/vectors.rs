//! Typicality by closeness: the cosine of the member's and the category's vector.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, InForce, Item, ItemSource, Items, Judgement, Measure, Metric, Needs, Reply, Sample,
    Scoring, SettingDefault, Task, TaskCard, TaskError, TaskSettings,
};
use mary_stats::correlation::spearman;

use super::{ShownCategory, by_category, categories, note};
use crate::cards::{card, stated};
use crate::observed::{Layer, cosine, layers, look, mean, pooling};

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/typicality-vectors"));

#[derive(Debug, Clone, Copy)]
pub struct Vectors;

impl Task for Vectors {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        super::item_source(&CARD, settings)
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::OBSERVE
    }

    fn default_for(&self, settings: &TaskSettings, builtin: bool) -> SettingDefault {
        super::for_model(&CARD, settings, builtin)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let (pooling, read_layers) = pooling(&CARD, settings)?;
        let categories = categories(&CARD, settings, data)?;
        Ok(Box::new(categories.into_iter().map(move |category| {
            let shown = ShownCategory::new(&category.name, category.members.iter());
            let texts = std::iter::once(&shown.category).chain(&shown.members);
            let asks = texts
                .map(|text| look(text, pooling, read_layers.clone()))
                .collect();
            let item = Item::new(category.name.clone(), shown.target(), asks);
            Ok(item.tagged("category", category.name))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let shown = ShownCategory::read(item);
        let judged = shown.and_then(|shown| Ok(judge_layers(&shown, &layers(answers)?)));
        judged.unwrap_or_else(Judgement::fault)
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
        stated(pooling(&CARD, settings), &CARD, settings)
    }
}

fn judge_layers(shown: &ShownCategory, layers: &[Layer]) -> Judgement {
    let Some(last) = layers.last() else {
        return Judgement::not_applicable("no vector came back for this category");
    };
    let mut by_layer = Vec::new();
    for layer in layers {
        let Some((Some(category), members)) = layer.vectors.split_first() else {
            return Judgement::not_applicable("the category's name is outside the vocabulary");
        };
        if members.len() != shown.members.len() {
            return Judgement::fault(
                "expected one vector for the category and one for each member",
            );
        }
        let pairs = shown.typicality.iter().zip(members);
        let close = pairs.filter_map(|(t, m)| Some((*t, cosine(m.as_ref()?, category)?)));
        let (typicality, said): (Vec<f64>, Vec<f64>) = close.unzip();
        by_layer.push((layer.number, spearman(&typicality, &said).ok()));
    }
    let Some((_, Some(found))) = by_layer.last() else {
        return Judgement::not_applicable(
            "fewer than four members have a vector, or all are equally close",
        );
    };
    let members = shown.members.iter().zip(last.vectors.iter().skip(1));
    let unknown = members.filter(|(_, vector)| vector.is_none());
    let unknown: Vec<String> = unknown.map(|(name, _)| name.clone()).collect();
    let mut judgement =
        Judgement::scored(found.r.value).measured("members_left_out", unknown.len() as f64);
    judgement.notes = note(&shown.category, found, &unknown);
    if by_layer.len() > 1 {
        let values = by_layer.iter();
        let values = values.filter_map(|(layer, c)| Some((*layer, c.as_ref()?.r.value)));
        if let Some(value) = mean(values.clone().map(|(_, v)| v)) {
            judgement = judgement.measured("mean_over_layers", value);
        }
        for (layer, value) in values {
            judgement = judgement.measured(&format!("layer_{layer:02}"), value);
        }
    }
    judgement
}

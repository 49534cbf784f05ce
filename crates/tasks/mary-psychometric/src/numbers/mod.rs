//! Numbers: does a model's number words and digits lie on a compressed line, as people's do?
//!
//! One item for each format. It reads every number (and a few words that are no numbers) alone and
//! keeps one pooled vector for each layer; everything else is arithmetic on the cosines, so that all
//! effects and all layers come from one pass.

mod effects;
mod nulls;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use mary_contract::{
    ANISOTROPIC, DataSource, InForce, Item, Items, Judgement, Layers, Measure, Metric, Needs, Pool,
    Reply, Sample, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use effects::{Effects, Pairs, effects, similarities};
pub use words::{Format, Range, WORDS};

use effects::Cosines;

use crate::cards::{card, conventions};
use crate::observed::{Layer, POOLINGS, layers, look, mean};
use crate::settings::no_shots;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/numbers"));

#[derive(Debug, Clone, Copy)]
pub struct Numbers;

#[derive(Debug, Clone, Copy)]
struct NumberSettings {
    range: Range,
    pairs: Pairs,
    pooling: Pool,
    blank: bool,
    words: bool,
}

impl NumberSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        let yes_no = [("yes", true), ("no", false)];
        let ranges = [
            ("1-9", Range::Units),
            ("10-99", Range::Tens),
            ("magnitudes", Range::Magnitudes),
        ];
        let pairs = [("averaged", Pairs::Averaged), ("each", Pairs::Each)];
        Ok(Self {
            range: settings.choose(&CARD, "range", &ranges)?,
            pairs: settings.choose(&CARD, "pairs", &pairs)?,
            pooling: settings.choose(&CARD, "pooling", &POOLINGS)?,
            blank: settings.choose(&CARD, "blank", &yes_no)?,
            words: settings.choose(&CARD, "words", &yes_no)?,
        })
    }
}

/// What the judge needs: which texts were read, numbers first.
#[derive(Debug, Serialize, Deserialize)]
struct ShownNumbers {
    numbers: Vec<u64>,
    texts: Vec<String>,
}

fn item(setup: NumberSettings, format: Format) -> Item {
    let numbers = setup.range.numbers();
    let mut texts: Vec<String> = numbers.iter().map(|n| format.write(*n)).collect();
    if setup.words {
        texts.extend(WORDS.iter().map(|word| format.case(word)));
    }
    let before = if setup.blank { " " } else { "" };
    let ask = |text: &String| look(&format!("{before}{text}"), setup.pooling, Layers::All);
    let asks = texts.iter().map(ask).collect();
    let target = Target::Data(json!(ShownNumbers { numbers, texts }));
    Item::new(format.name(), target, asks).tagged("format", format.name())
}

impl Task for Numbers {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::OBSERVE
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = NumberSettings::read(settings)?;
        Ok(Box::new(
            Format::ALL.into_iter().map(move |f| Ok(item(setup, f))),
        ))
    }

    /// Three formats are all there are, not a sample of formats.
    fn fixed_items(&self, _: &TaskSettings) -> bool {
        true
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        nulls::p_measures(samples)
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let judged = || -> Result<Judgement, String> {
            let setup = NumberSettings::read(settings).map_err(|e| e.to_string())?;
            let Target::Data(data) = &item.target else {
                return Err("an item of numbers lists the numbers it shows".into());
            };
            let shown = serde_json::from_value(data.clone());
            let shown: ShownNumbers = shown.map_err(|e| format!("an item of numbers: {e}"))?;
            Ok(judge_layers(&shown, &layers(answers)?, setup))
        };
        judged().unwrap_or_else(Judgement::fault)
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::RSquared)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(_) = NumberSettings::read(settings) else {
            return BTreeMap::new();
        };
        conventions(&CARD, settings, &[])
    }
}

/// Values of one layer by name.
type Row = BTreeMap<String, f64>;

/// All cosines above this say that the vectors share one direction, which hides the others.
const ALIKE: f64 = 0.99;

/// Those that are also kept for each layer.
const BY_LAYER: &str = "distance ratio size mds_correlation max number_number number_word word_word distance_null ratio_null size_null \
    mds_correlation_null distance_centred ratio_centred";

fn judge_layers(shown: &ShownNumbers, layers: &[Layer], setup: NumberSettings) -> Judgement {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    let mut shapes: Vec<nulls::LayerShape> = Vec::new();
    let mut alike: Vec<usize> = Vec::new();
    let mut dimensions = 0;
    let mut flat: Vec<String> = Vec::new();
    for layer in layers {
        let known: Option<Vec<Vec<f64>>> = layer.vectors.iter().cloned().collect();
        let Some(known) = known.filter(|k| k.len() == shown.texts.len()) else {
            return Judgement::not_applicable("a number or word is outside the vocabulary");
        };
        let (numbers, words) = known.split_at(shown.numbers.len().min(known.len()));
        match effects(&shown.numbers, numbers, setup.range, setup.pairs) {
            Ok(found) => {
                if found.min > ALIKE {
                    alike.push(layer.number);
                }
                dimensions = numbers.first().map_or(0, Vec::len);
                let mut row = row(shown, &found, numbers, words);
                row.extend(centred(shown, numbers, setup));
                rows.push((layer.number, row));
                if let Ok(cosines) = Cosines::new(&shown.numbers, numbers, setup.range) {
                    shapes.push(nulls::LayerShape {
                        number: layer.number,
                        cosines,
                        positions: found.positions,
                    });
                }
            }
            // A layer whose vectors are all the same (the embedding of a [CLS]) has no effect to show.
            Err(why) => flat.push(format!("layer {}: {why}", layer.number)),
        }
    }
    let nulls = nulls::by_labels(&shown.numbers, &shapes, setup.pairs).unwrap_or_default();
    for null in &nulls {
        let mut rows = rows.iter_mut();
        let row = rows.find(|(number, _)| Some(*number) == null.layer);
        let Some((_, row)) = row else { continue };
        let levels = null.effects.iter();
        row.extend(levels.map(|(name, null)| (format!("{name}_null"), null.expected)));
    }
    let Some(score) = mean_over(&rows, "distance") else {
        let why = format!("no layer could be measured: {}", flat.join("; "));
        return Judgement::not_applicable(why);
    };
    let mut judgement = measured(Judgement::scored(score), &rows);
    for (name, level) in nulls::noise(&shown.numbers, dimensions, setup.range, setup.pairs) {
        judgement = judgement.measured(&format!("{name}_noise"), level);
    }
    let measured = rows.len().max(1) as f64;
    judgement = judgement.measured(ANISOTROPIC, alike.len() as f64 / measured);
    let mut notes = serde_json::Map::from_iter([("p".to_owned(), nulls::note(&nulls))]);
    if !flat.is_empty() {
        notes.insert("not measured".to_owned(), json!(flat));
    }
    if !alike.is_empty() {
        notes.insert("all cosines above 0.99 in layers".to_owned(), json!(alike));
    }
    judgement.notes = notes.into();
    judgement
}

fn mean_over(rows: &[(usize, Row)], name: &str) -> Option<f64> {
    mean(rows.iter().filter_map(|(_, row)| row.get(name).copied()))
}

/// Every figure's mean over layers, and those of [`BY_LAYER`] layer by layer.
fn measured(mut judgement: Judgement, rows: &[(usize, Row)]) -> Judgement {
    let names: BTreeSet<&String> = rows.iter().flat_map(|(_, row)| row.keys()).collect();
    for name in names {
        if let Some(value) = mean_over(rows, name) {
            judgement = judgement.measured(name, value);
        }
    }
    for (number, row) in rows {
        for name in BY_LAYER.split_whitespace() {
            if let Some(value) = row.get(name) {
                judgement = judgement.measured(&format!("{name}.layer_{number:02}"), *value);
            }
        }
    }
    judgement
}

/// The effects once what all numbers share is taken away: the mean of their vectors.
fn centred(shown: &ShownNumbers, numbers: &[Vec<f64>], setup: NumberSettings) -> Row {
    let Some(length) = numbers.first().map(Vec::len) else {
        return Row::new();
    };
    let mut middle = vec![0.0; length];
    for vector in numbers {
        middle.iter_mut().zip(vector).for_each(|(m, v)| *m += v);
    }
    let mut moved = numbers.to_vec();
    for vector in &mut moved {
        let both = vector.iter_mut().zip(&middle);
        both.for_each(|(v, m)| *v -= m / numbers.len() as f64);
    }
    let Ok(found) = effects(&shown.numbers, &moved, setup.range, setup.pairs) else {
        return Row::new();
    };
    const KEPT: &str = "distance distance_slope ratio size mds_correlation";
    let all = found.by_name().into_iter();
    let kept = all.filter(|(name, _)| KEPT.split(' ').any(|kept| kept == name));
    kept.map(|(name, value)| (format!("{name}_centred"), value))
        .collect()
}

fn row(shown: &ShownNumbers, found: &Effects, numbers: &[Vec<f64>], words: &[Vec<f64>]) -> Row {
    let mut row: Row = found.by_name();
    let kinds = ["number_number", "number_word", "word_word"];
    for (kind, value) in kinds.into_iter().zip(similarities(numbers, words)) {
        row.extend(value.map(|v| (kind.to_owned(), v)));
    }
    // Curves are drawn for the few numbers of the paper and for magnitudes, not for ninety.
    if shown.numbers.len() <= 16 {
        for (distance, value) in &found.by_distance {
            row.insert(format!("cosine_at_distance_{distance:.0}"), *value);
        }
        for (number, place) in shown.numbers.iter().zip(&found.positions) {
            row.insert(format!("place_of_{number}"), *place);
        }
    }
    row
}

#[cfg(test)]
mod tests;

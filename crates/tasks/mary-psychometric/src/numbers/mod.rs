//! Numbers: does a model's number words and digits lie on a compressed line, as people's do?
//!
//! One item for each format. It reads every number (and a few words that are no numbers) alone and
//! keeps one pooled vector for each layer; everything else is arithmetic on the cosines, so that all
//! effects and all layers come from one pass.

mod effects;
mod nulls;
mod words;

use std::collections::BTreeMap;

use mary_contract::{
    ANISOTROPIC, Changes, DataSource, InForce, Item, Items, Judgement, Layers, Measure, Metric,
    Needs, Param, Reply, Sample, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
    UnscoredReason, text,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use effects::{Effects, Pairs, effects, similarities};
pub use words::{Format, Range, WORDS};

use effects::Cosines;

use crate::choice::failed;
use crate::observed::{Layer, Pooling, layers, look, mean};
use crate::settings::{POOLING, choose, no_shots};

static PARAMS: [Param; 5] = [
    Param::new(
        "range",
        "1-9",
        "1-9, 10-99, magnitudes",
        "Which numbers: 1 to 9 (the paper), 10 to 99, or powers of ten up to a million (distance \
                and ratio then on the logarithm to base 10).",
    ),
    Param::new(
        "pairs",
        "averaged",
        "averaged, each",
        "Whether pairs of equal distance (ratio, size) are averaged before a fit, or each pair is \
                a point.",
    )
    .changing(Changes::Judging),
    POOLING,
    Param::new(
        "blank",
        "no",
        "no, yes",
        "Whether a blank stands before the word, as within a sentence; a byte-pair tokenizer \
                reads it as another token.",
    ),
    Param::new(
        "words",
        "yes",
        "yes, no",
        "Whether six words that are no numbers are read too, for number/word similarity.",
    ),
];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/numbers"),
    family: text("psychometric"),
    version: 1,
    title: text("Numbers: distance, ratio and size effect"),
    about: text(
        "People compare numbers faster the further apart they are, the larger their ratio and, at \
            equal distance, the smaller they are: as if numbers lay on a line with a compressed scale. \
            Here the cosine of two numbers' hidden states stands for the time it takes to tell them \
            apart. The score is R² of the distance effect, mean over formats and layers; the other \
            effects, multidimensional scaling and every layer stand beside it.",
    ),
    chance: None,
    human: None,
    params: Param::list(&PARAMS),
    dataset: None,
    citation: crate::CITATION,
    starter: Some(3),
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct Numbers;

pub static NUMBERS: Numbers = Numbers;

#[derive(Debug, Clone, Copy)]
struct NumberSettings {
    range: Range,
    pairs: Pairs,
    pooling: Pooling,
    blank: bool,
    words: bool,
}

impl NumberSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        let yes_no = [("yes", true), ("no", false)];
        Ok(Self {
            range: choose(
                &CARD,
                settings,
                "range",
                &[
                    ("1-9", Range::Units),
                    ("10-99", Range::Tens),
                    ("magnitudes", Range::Magnitudes),
                ],
            )?,
            pairs: choose(
                &CARD,
                settings,
                "pairs",
                &[("averaged", Pairs::Averaged), ("each", Pairs::Each)],
            )?,
            pooling: choose(&CARD, settings, "pooling", &Pooling::WORDS)?,
            blank: choose(&CARD, settings, "blank", &yes_no)?,
            words: choose(&CARD, settings, "words", &yes_no)?,
        })
    }
}

/// What the judge needs: which texts were read, numbers first.
#[derive(Debug, Serialize, Deserialize)]
struct Shown {
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
    let asks = texts
        .iter()
        .map(|text| look(&format!("{before}{text}"), setup.pooling, Layers::All))
        .collect();
    let target = Target::Data(json!(Shown { numbers, texts }));
    Item::new(format.name(), target, asks).tagged("format", format.name())
}

impl Task for Numbers {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            observe: true,
            ..Needs::default()
        }
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
        let setup = match NumberSettings::read(settings) {
            Ok(setup) => setup,
            Err(error) => return failed(&error.to_string()),
        };
        let shown: Shown = match &item.target {
            Target::Data(data) => match serde_json::from_value(data.clone()) {
                Ok(shown) => shown,
                Err(error) => return failed(&format!("an item of numbers: {error}")),
            },
            _ => return failed("an item of numbers lists the numbers it shows"),
        };
        match layers(answers) {
            Ok(layers) => judge_layers(&shown, &layers, setup),
            Err(message) => failed(&message),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::RSquared)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = NumberSettings::read(settings) else {
            return BTreeMap::new();
        };
        let pairs = match setup.pairs {
            Pairs::Averaged => "pairs of equal distance (ratio, size) averaged before the fit",
            Pairs::Each => "each pair is a point of the fit",
        };
        let say = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        BTreeMap::from([
            say("scale", "r-squared"),
            say(
                "score",
                "R² of the distance effect, mean over layers and formats",
            ),
            say("pairs", pairs),
            say("pooling", setup.pooling.words()),
            say("layers", "all, the embedding layer included"),
            say(
                "text",
                if setup.blank {
                    "a blank and the number alone"
                } else {
                    "the number alone, nothing before it"
                },
            ),
            say("ratio", "a·exp(−b·x)+c on min-max normalised cosine"),
            say(
                "size",
                "the smaller number of a pair; cosine less the mean of its distance",
            ),
            say(
                "mds",
                "1 − cosine on one line, best order for up to 16 numbers; stress-1; absolute correlation \
                 with the logarithm",
            ),
            say(
                "null",
                "`_null`: mean over relabellings of the same vectors; `_noise`: over random vectors; `_p`: \
                 one-sided permutation p of R² with people's sign, of the format that shows it least",
            ),
            say(
                "centred",
                "`_centred`: the mean vector of the numbers taken away first",
            ),
            say(
                "interval",
                "the range of the three formats, which are all there are",
            ),
        ])
    }
}

/// Values of one layer by name.
type Row = BTreeMap<String, f64>;

/// All cosines above this say that the vectors share one direction, which hides the others.
const ALIKE: f64 = 0.99;

/// Those that are also kept for each layer.
const BY_LAYER: [&str; 14] = [
    "distance",
    "ratio",
    "size",
    "mds_correlation",
    "max",
    "number_number",
    "number_word",
    "word_word",
    "distance_null",
    "ratio_null",
    "size_null",
    "mds_correlation_null",
    "distance_centred",
    "ratio_centred",
];

fn judge_layers(shown: &Shown, layers: &[Layer], setup: NumberSettings) -> Judgement {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    let mut shapes: Vec<nulls::Shown> = Vec::new();
    let mut alike: Vec<usize> = Vec::new();
    let mut dimensions = 0;
    let mut flat: Vec<String> = Vec::new();
    for layer in layers {
        let known: Option<Vec<Vec<f64>>> = layer.vectors.iter().cloned().collect();
        let Some(known) = known.filter(|k| k.len() == shown.texts.len()) else {
            return Judgement::unscored(UnscoredReason::NotApplicable(
                "a number or word is outside the vocabulary".into(),
            ));
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
                    shapes.push(nulls::Shown {
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
        let row = rows
            .iter_mut()
            .find(|(number, _)| Some(*number) == null.layer);
        let Some((_, row)) = row else { continue };
        let levels = null.effects.iter();
        row.extend(levels.map(|(name, null)| (format!("{name}_null"), null.expected)));
    }
    let over_layers = |name: &str| mean(rows.iter().filter_map(|(_, row)| row.get(name).copied()));
    let Some(score) = over_layers("distance") else {
        return Judgement::unscored(UnscoredReason::NotApplicable(format!(
            "no layer could be measured: {}",
            flat.join("; ")
        )));
    };
    let mut judgement = Judgement::scored(score);
    let names: std::collections::BTreeSet<&String> =
        rows.iter().flat_map(|(_, row)| row.keys()).collect();
    for name in names {
        if let Some(value) = over_layers(name) {
            judgement = judgement.measured(name, value);
        }
    }
    for (number, row) in &rows {
        for name in BY_LAYER {
            if let Some(value) = row.get(name) {
                judgement = judgement.measured(&format!("{name}.layer_{number:02}"), *value);
            }
        }
    }
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

/// The effects once what all numbers share is taken away: the mean of their vectors.
fn centred(shown: &Shown, numbers: &[Vec<f64>], setup: NumberSettings) -> Row {
    let Some(length) = numbers.first().map(Vec::len) else {
        return Row::new();
    };
    let mut middle = vec![0.0; length];
    for vector in numbers {
        middle.iter_mut().zip(vector).for_each(|(m, v)| *m += v);
    }
    let moved: Vec<Vec<f64>> = numbers
        .iter()
        .map(|vector| {
            let of = vector.iter().zip(&middle);
            of.map(|(v, m)| v - m / numbers.len() as f64).collect()
        })
        .collect();
    match effects(&shown.numbers, &moved, setup.range, setup.pairs) {
        Err(_) => Row::new(),
        Ok(found) => [
            ("distance_centred", found.distance),
            ("distance_slope_centred", found.distance_slope),
            ("ratio_centred", found.ratio),
            ("size_centred", found.size),
            ("mds_correlation_centred", found.mds_correlation),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
    }
}

fn row(shown: &Shown, found: &Effects, numbers: &[Vec<f64>], words: &[Vec<f64>]) -> Row {
    let mut row: Row = [
        ("distance", found.distance),
        ("distance_slope", found.distance_slope),
        ("ratio", found.ratio),
        ("ratio_drop", found.ratio_drop),
        ("size", found.size),
        ("size_slope", found.size_slope),
        ("mds_stress", found.mds_stress),
        ("mds_correlation", found.mds_correlation),
        ("range", found.range),
        ("max", found.max),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
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

//! The lens: what a model would predict after each layer, were it the last. The stream of the last token goes straight to
//! the final norm and the output (logit lens), or through a map that was learned for its layer (tuned lens).

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{Change, Details, Intervene, Operation, Place, Site, Vector};
use mary_stats::intervals::mean_t;
use mary_stats::{Interval, LEVEL};
use mary_taskfile::Material;
use serde::Serialize;

use super::Subject;
use super::ask::{request, watching};
use super::pairs::joined;
use crate::texts::{InstrumentError, material};

/// A text and the words that may follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct LensText {
    /// Column `id`, or the line.
    pub id: String,
    /// What is read.
    pub text: String,
    /// With the blank before them.
    pub words: Vec<String>,
}

/// Texts whose predictions are read off.
#[derive(Debug, Clone, PartialEq)]
pub struct LensTexts {
    /// In the order of the file.
    pub texts: Vec<LensText>,
    /// What each word is called: itself, or its column.
    pub names: Vec<String>,
}

impl LensTexts {
    /// Reads texts with the same words after each, or with those of the named columns.
    pub fn open(
        path: &Path,
        column: &str,
        (words, columns): (&[String], &[String]),
        joint: &str,
    ) -> Result<Self, InstrumentError> {
        if words.is_empty() && columns.is_empty() {
            return Err(InstrumentError::Usage(
                "no words are looked for\nhint: --words are,is or, for words of each text, --columns good,bad".into(),
            ));
        }
        let material = Material::open(path)?;
        let mut texts = Vec::new();
        for row in material.rows()? {
            let row = row?;
            let text = material::words(&material, &row, column)?;
            let mut all: Vec<String> = words.to_vec();
            for column in columns {
                all.push(material::words(&material, &row, column)?);
            }
            texts.push(LensText {
                id: material::id(&material, &row)?,
                words: all.iter().map(|word| joined(&text, word, joint)).collect(),
                text,
            });
        }
        if texts.is_empty() {
            return Err(material.wrong(1, "there are no texts").into());
        }
        Ok(Self {
            texts,
            names: words.iter().chain(columns).cloned().collect(),
        })
    }
}

/// The maps of a tuned lens: for each layer a matrix and an offset, added to the stream itself.
pub struct TunedLens {
    maps: BTreeMap<usize, (Vec<f32>, Vec<f32>)>,
    width: usize,
}

impl TunedLens {
    /// Reads the folder that the package `tuned-lens` saves (`params.pt` beside `config.json`), or a torch or
    /// safetensors file with `N.weight` and `N.bias` of every layer.
    pub fn open(path: &Path, layers: usize) -> Result<Self, InstrumentError> {
        let path = &match path.is_dir() {
            true => path.join("params.pt"),
            false => path.to_owned(),
        };
        let wrong = |why: String| InstrumentError::Usage(format!("{}: {why}", path.display()));
        let tensors = mary_weights::read_tensors(path)?;
        let mut found = Self {
            maps: BTreeMap::new(),
            width: 0,
        };
        for layer in 0..layers {
            let named = |part: &str| {
                let name = format!("{layer}.{part}");
                let tensor = tensors.get(&name).cloned();
                tensor.ok_or_else(|| {
                    wrong(format!(
                        "has no tensor `{name}`; the model has {layers} layers"
                    ))
                })
            };
            let weight = named("weight")?;
            // The package can leave offsets out.
            let bias = named("bias").unwrap_or_else(|_| vec![0.0; weight.len().isqrt()]);
            if weight.len() != bias.len() * bias.len() || (layer > 0 && bias.len() != found.width) {
                return Err(wrong(format!(
                    "`{layer}.weight` is not square, or of another width"
                )));
            }
            found.width = bias.len();
            found.maps.insert(layer, (weight, bias));
        }
        Ok(found)
    }

    /// The stream of a layer as the last one would have it. Layers without a map stay as they are.
    fn translate(&self, layer: usize, state: &Vector) -> Result<Vector, InstrumentError> {
        let Some((weight, bias)) = self.maps.get(&layer) else {
            return Ok(state.clone());
        };
        if state.0.len() != self.width {
            return Err(InstrumentError::Usage(format!(
                "the lens is made for vectors of {} numbers, the model has {}",
                self.width,
                state.0.len()
            )));
        }
        let rows = weight.chunks_exact(self.width).zip(bias).zip(&state.0);
        let row = |((row, bias), own): ((&[f32], &f32), &f32)| {
            let along = row.iter().zip(&state.0).map(|(w, x)| f64::from(w * x));
            own + bias + along.sum::<f64>() as f32
        };
        Ok(Vector(rows.map(row).collect()))
    }
}

/// What a layer predicts of a word after a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Glimpse {
    /// The text.
    pub id: String,
    /// Which word, by its name.
    pub word: String,
    /// Blocks done; the last is the model's own prediction.
    pub layer: usize,
    /// ln p of the word's first token.
    pub logprob: f64,
    /// 1 is the likeliest token.
    pub rank: u32,
}

/// A word after a layer, over all texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LensLayer {
    /// Which word.
    pub word: String,
    /// Blocks done.
    pub layer: usize,
    /// Mean ln p of the word's first token; without bounds where there is one text.
    pub logprob: Interval,
    /// Median rank, the lower of two.
    pub rank: u32,
}

/// What was seen in one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LensView {
    /// The model as it is called.
    pub model: String,
    /// Whether the maps of a tuned lens were used.
    pub tuned: bool,
    /// Over all texts.
    pub layers: Vec<LensLayer>,
    /// Text by text.
    pub texts: Vec<Glimpse>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Reads the predictions of every layer for every text.
pub fn look(
    name: &str,
    subject: &Subject<'_>,
    texts: &LensTexts,
    tuned: Option<&TunedLens>,
) -> Result<LensView, InstrumentError> {
    let answers = match tuned {
        None => subject.ask(asked(subject, texts, |text, layer| {
            Ok(Operation::From {
                text: text.text.clone(),
                place: Place::Last,
                site: Some(Site::Stream(layer)),
            })
        })?)?,
        Some(lens) => {
            let all = (0..=subject.layers).map(|layer| (Site::Stream(layer), Place::Last));
            let states = texts.texts.iter();
            let states = states.map(|text| watching(&text.text, all.clone()));
            let states = subject.ask(states.collect())?;
            let mut each = states
                .iter()
                .flat_map(|answer| answer.states.iter().flatten());
            subject.ask(asked(subject, texts, |_, layer| {
                let state = each.next().cloned().unwrap_or_default();
                Ok(Operation::Set(lens.translate(layer, &state)?))
            })?)?
        }
    };
    let (mut longer, mut found) = (0, Vec::new());
    for (text, answers) in texts.texts.iter().zip(answers.chunks(subject.layers + 1)) {
        for (layer, answer) in answers.iter().enumerate() {
            for (word, score) in texts.names.iter().zip(&answer.scores.continuations) {
                longer += usize::from(layer == 0 && score.tokens.len() > 1);
                let ranks = score.details.as_deref().map(|d| &d.rank);
                found.push(Glimpse {
                    id: text.id.clone(),
                    word: word.clone(),
                    layer,
                    logprob: score.logprobs.first().map_or(f64::NAN, |&l| f64::from(l)),
                    rank: ranks.and_then(|r| r.first()).copied().unwrap_or(0),
                });
            }
        }
    }
    let of = texts.texts.len() * texts.names.len();
    let note = format!("{longer} of {of} words have more than one token; a lens sees the first");
    let each = texts
        .names
        .iter()
        .flat_map(|word| (0..=subject.layers).map(move |l| (word, l)));
    Ok(LensView {
        model: name.to_owned(),
        tuned: tuned.is_some(),
        layers: each
            .map(|(word, layer)| over_texts(&found, word, layer))
            .collect(),
        texts: found,
        notes: (longer > 0).then_some(note).into_iter().collect(),
    })
}

fn over_texts(found: &[Glimpse], word: &str, layer: usize) -> LensLayer {
    let here = found.iter().filter(|g| g.layer == layer && g.word == word);
    let (values, mut ranks): (Vec<f64>, Vec<u32>) = here.map(|g| (g.logprob, g.rank)).unzip();
    ranks.sort_unstable();
    let value = values.first().copied().unwrap_or(f64::NAN);
    let alone = Interval {
        value,
        low: value,
        high: value,
        n: values.len(),
        method: "student-t",
    };
    LensLayer {
        word: word.to_owned(),
        layer,
        logprob: mean_t(&values, LEVEL).unwrap_or(alone),
        rank: *ranks.get(ranks.len().saturating_sub(1) / 2).unwrap_or(&0),
    }
}

/// One request for each text and layer: the last stream becomes what `operation` makes of the layer.
fn asked(
    subject: &Subject<'_>,
    texts: &LensTexts,
    mut operation: impl FnMut(&LensText, usize) -> Result<Operation, InstrumentError>,
) -> Result<Vec<Intervene>, InstrumentError> {
    let details = Details {
        rank: true,
        ..Details::default()
    };
    let mut all = Vec::new();
    for text in &texts.texts {
        for layer in 0..=subject.layers {
            all.push(Intervene {
                changes: vec![Change {
                    site: Site::Stream(subject.layers),
                    place: Place::Last,
                    operation: operation(text, layer)?,
                }],
                ..request(&text.text, &text.words, details)
            });
        }
    }
    Ok(all)
}

//! A model that sees: eyes in front of a language model, over one flat slice of numbers, eyes first.
//! Checkpoints are LLaVA's: the names, the order of rows and what stands where a picture is shown.

use super::eyes::{Eyes, EyesSpace};
use super::given::Given;
use super::layout::{Entry, Layout, Tensors};
use super::model::{Gradients, Net, Packed, Parameters, Workspace};
use crate::TrainError;
use mary_architecture::Architecture;
use serde_json::Value;

/// Texts with their pictures.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// The texts; where a picture is shown stand as many tokens as it has rows.
    pub packed: Packed,
    /// The places of those tokens, in ascending order.
    pub places: Vec<usize>,
    /// The patches of the pictures, in the order of their places.
    pub patches: Vec<f32>,
}

/// Eyes and a language model, ready to run.
#[derive(Debug, Clone)]
pub struct SeeingNet {
    /// Tower and projector.
    pub eyes: Eyes,
    /// The language model.
    pub text: Net,
    /// Every tensor, in the order of the flat slice.
    pub entries: Vec<Entry>,
    /// How many numbers there are.
    pub total: usize,
}

/// Room for one pack, reused from step to step.
#[derive(Debug, Default)]
pub struct SeeingSpace {
    eyes: EyesSpace,
    text: Workspace,
    slope: Vec<f32>,
}

impl SeeingNet {
    /// Prepares the model that a `llava` configuration describes.
    pub fn open(config: &Value) -> Result<Self, TrainError> {
        let kind = config["model_type"].as_str().unwrap_or_default();
        if kind != "llava" {
            return Err(TrainError::Settings(format!(
                "a model that sees is a `llava` here, not `{kind}`"
            )));
        }
        let architecture = Architecture::resolve(config)?;
        let tensors = Tensors {
            holds: &|name| name.starts_with("language_model.") && !name.ends_with(".bias"),
            positions: 0,
            apart: false,
        };
        let layout = Layout::of(&architecture, &tensors)?;
        let longest = architecture.context;
        let text = Net::of(architecture, layout, longest);
        let eyes = Eyes::open(&config["vision_config"], text.architecture.hidden)?;
        let before = eyes.layout().total;
        let mut entries = eyes.layout().entries.clone();
        entries.extend(text.layout.entries.iter().map(|entry| Entry {
            place: entry.place.start + before..entry.place.end + before,
            ..entry.clone()
        }));
        let total = before + text.layout.total;
        Ok(Self {
            eyes,
            text,
            entries,
            total,
        })
    }

    /// Writes the numbers with their matrices transposed, which every pass needs.
    pub fn transposed(&self, base: &[f32], out: &mut Vec<f32>) {
        let (eyes, text) = base.split_at(self.eyes.layout().total);
        self.eyes.net().transposed(eyes, out);
        let mut rest = Vec::new();
        self.text.transposed(text, &mut rest);
        out.extend(rest);
    }

    fn split<'a>(&self, base: &'a [f32], turned: &'a [f32]) -> (Parameters<'a>, Parameters<'a>) {
        let at = self.eyes.layout().total;
        let of = |(base, turned): (&'a [f32], &'a [f32])| Parameters {
            base,
            stored: None,
            transposed: Some(turned),
            frozen: None,
            adapter: None,
        };
        let (b, t) = (base.split_at(at), turned.split_at(at));
        (of((b.0, t.0)), of((b.1, t.1)))
    }

    fn check(&self, (base, turned): (&[f32], &[f32])) -> Result<(), TrainError> {
        match base.len() == self.total && turned.len() == self.total {
            true => Ok(()),
            false => Err(TrainError::Settings(format!(
                "expected {} parameters, found {} and {} transposed ones",
                self.total,
                base.len(),
                turned.len()
            ))),
        }
    }

    /// Loss summed over the targets; adds `scale` times its gradient to `gradient`. `base` comes with its
    /// transpose ([`SeeingNet::transposed`]).
    pub fn loss_and_gradient(
        &self,
        (base, turned): (&[f32], &[f32]),
        sight: &Sight,
        scale: f32,
        gradient: &mut [f32],
        ws: &mut SeeingSpace,
    ) -> Result<f64, TrainError> {
        self.check((base, turned))?;
        self.check((&*gradient, turned))?;
        let (seeing, speaking) = self.split(base, turned);
        self.eyes.forward(&seeing, &sight.patches, &mut ws.eyes)?;
        let given = Given {
            places: &sight.places,
            rows: ws.eyes.rows(),
        };
        let (of_eyes, of_text) = gradient.split_at_mut(self.eyes.layout().total);
        let mut g = Gradients {
            base: Some(of_text),
            adapter: None,
        };
        let pack = (&sight.packed, given);
        let loss =
            self.text
                .loss_and_gradient_given(&speaking, pack, scale, &mut g, &mut ws.text)?;
        let d = self.text.architecture.hidden;
        ws.slope.clear();
        for place in &sight.places {
            let row = &ws.text.input_slope()[place * d..(place + 1) * d];
            ws.slope.extend_from_slice(row);
        }
        let mut g = Gradients {
            base: Some(of_eyes),
            adapter: None,
        };
        let slopes = (sight.patches.as_slice(), ws.slope.as_slice());
        self.eyes.backward(&seeing, slopes, &mut g, &mut ws.eyes);
        Ok(loss)
    }

    /// Logits after every token, `tokens × vocabulary`.
    pub fn logits(
        &self,
        (base, turned): (&[f32], &[f32]),
        sight: &Sight,
        ws: &mut SeeingSpace,
    ) -> Result<Vec<f32>, TrainError> {
        self.check((base, turned))?;
        let (seeing, speaking) = self.split(base, turned);
        self.eyes.forward(&seeing, &sight.patches, &mut ws.eyes)?;
        let given = Given {
            places: &sight.places,
            rows: ws.eyes.rows(),
        };
        self.text
            .logits_given(&speaking, &sight.packed, given, &mut ws.text)
    }
}

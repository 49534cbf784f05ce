//! A model that sees: a vision encoder in front of a language model, over one flat slice of numbers, the
//! encoder first.
//! Checkpoints are LLaVA's: the names, the order of rows and what stands where a picture is shown.

use super::layout::{Entry, Layout, Tensors};
use super::model::{Net, Workspace};
use super::parameters::{Given, Gradients, Packed, Parameters};
use super::vision::{VisionEncoder, VisionWorkspace};
use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use serde_json::Value;

#[derive(Debug, Clone, Default)]
pub struct VisionPack {
    /// The texts; where a picture is shown stand as many tokens as it has rows.
    pub packed: Packed,
    /// The places of those tokens, in ascending order.
    pub places: Vec<usize>,
    /// The patches of the pictures, in the order of their places.
    pub patches: Vec<f32>,
}

#[derive(Debug, Clone)]
pub struct VisionLanguageNet {
    pub encoder: VisionEncoder,
    pub text: Net,
    /// Every tensor, in the order of the flat slice.
    pub entries: Vec<Entry>,
    pub total: usize,
}

/// Room for one pack, reused from step to step.
#[derive(Debug, Default)]
pub struct VisionLanguageWorkspace {
    encoder: VisionWorkspace,
    text: Workspace,
    gradient: Vec<f32>,
}

impl VisionLanguageNet {
    /// Prepares the model that a `llava` configuration describes.
    pub fn open(config: &Value) -> Result<Self> {
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
        let layout = Layout::open(&architecture, &tensors)?;
        let longest = architecture.context;
        let text = Net::with_layout(architecture, layout, longest);
        let encoder = VisionEncoder::open(&config["vision_config"], text.architecture.hidden)?;
        let before = encoder.layout().total;
        let mut entries = encoder.layout().entries.clone();
        entries.extend(text.layout.entries.iter().map(|entry| Entry {
            place: entry.place.start + before..entry.place.end + before,
            ..entry.clone()
        }));
        let total = before + text.layout.total;
        Ok(Self {
            encoder,
            text,
            entries,
            total,
        })
    }

    /// Writes the numbers with their matrices transposed, which every pass needs.
    pub fn transposed(&self, base: &[f32], out: &mut Vec<f32>) {
        let (encoder, text) = base.split_at(self.encoder.layout().total);
        self.encoder.net.transposed(encoder, out);
        let mut rest = Vec::new();
        self.text.transposed(text, &mut rest);
        out.extend(rest);
    }

    fn split<'a>(&self, base: &'a [f32], turned: &'a [f32]) -> (Parameters<'a>, Parameters<'a>) {
        let at = self.encoder.layout().total;
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

    fn check(&self, (base, turned): (&[f32], &[f32])) -> Result<()> {
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
    /// transpose ([`VisionLanguageNet::transposed`]).
    pub fn loss_and_gradient(
        &self,
        (base, turned): (&[f32], &[f32]),
        pack: &VisionPack,
        scale: f32,
        gradient: &mut [f32],
        ws: &mut VisionLanguageWorkspace,
    ) -> Result<f64> {
        self.check((base, turned))?;
        self.check((&*gradient, turned))?;
        let (seeing, speaking) = self.split(base, turned);
        self.encoder
            .forward(&seeing, &pack.patches, &mut ws.encoder)?;
        let given = Given {
            places: &pack.places,
            rows: ws.encoder.rows(),
        };
        let (of_encoder, of_text) = gradient.split_at_mut(self.encoder.layout().total);
        let mut g = Gradients {
            base: Some(of_text),
            adapter: None,
        };
        let texts = (&pack.packed, given);
        let loss =
            self.text
                .loss_and_gradient_given(&speaking, texts, scale, &mut g, &mut ws.text)?;
        let d = self.text.architecture.hidden;
        ws.gradient.clear();
        for place in &pack.places {
            let row = &ws.text.gradient[place * d..(place + 1) * d];
            ws.gradient.extend_from_slice(row);
        }
        let mut g = Gradients {
            base: Some(of_encoder),
            adapter: None,
        };
        let gradients = (pack.patches.as_slice(), ws.gradient.as_slice());
        self.encoder
            .backward(&seeing, gradients, &mut g, &mut ws.encoder);
        Ok(loss)
    }

    /// Logits after every token, `tokens × vocabulary`.
    pub fn logits(
        &self,
        (base, turned): (&[f32], &[f32]),
        pack: &VisionPack,
        ws: &mut VisionLanguageWorkspace,
    ) -> Result<Vec<f32>> {
        self.check((base, turned))?;
        let (seeing, speaking) = self.split(base, turned);
        self.encoder
            .forward(&seeing, &pack.patches, &mut ws.encoder)?;
        let given = Given {
            places: &pack.places,
            rows: ws.encoder.rows(),
        };
        self.text
            .logits_given(&speaking, &pack.packed, given, &mut ws.text)
    }
}

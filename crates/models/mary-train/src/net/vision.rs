//! A vision tower (SigLIP's: patches, learned positions, pre-norm blocks that see in both directions) and
//! LLaVA's projector behind it, forward and backward. The blocks are those of [`Net`]: a tower differs from
//! a language model in what stands before the first block and in what it sees.

use super::Segment;
use super::kernels;
use super::layout::{Builder, Layout, Linear, Tensors, block};
use super::linear::{apply, apply_back};
use super::matmul::{Unit, View, Write};
use super::model::{BlockSaved, Net, Workspace};
use super::parameters::{Gradients, Packed, Parameters, size};
use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config::Activation;
use serde_json::{Value, json};
use std::ops::Range;

const TOWER: &str = "vision_tower.vision_model.";
const PROJECTOR: &str = "multi_modal_projector.";

#[derive(Debug, Clone)]
pub struct VisionEncoder {
    pub image: usize,
    pub patch: usize,
    pub(super) net: Net,
    embedding: Linear,
    positions: Range<usize>,
    first: Linear,
    second: Linear,
}

/// Room for the pictures of one pack, reused from step to step.
#[derive(Debug, Default)]
pub struct VisionWorkspace {
    tower: Workspace,
    packed: Packed,
    /// The projector's inner rows: their gradient, and what became of them.
    inner: Vec<f32>,
    active: Vec<f32>,
    rows: Vec<f32>,
    gradient: Vec<f32>,
}

impl VisionWorkspace {
    /// The rows of the pictures, in the width of the language model.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// One segment for each picture: pictures do not see one another.
    fn place(&mut self, pictures: usize, rows: usize) {
        let n = pictures * rows;
        self.packed.tokens.resize(n, 0);
        self.packed.segments.clear();
        let segment = |i: usize| Segment {
            start: i * rows,
            length: rows,
        };
        self.packed.segments.extend((0..pictures).map(segment));
    }
}

/// The tower's blocks: SigLIP's differ from those of CLIP's text tower in what they see alone.
fn architecture(vision: &Value) -> Result<Architecture> {
    let kind = vision["model_type"].as_str().unwrap_or_default();
    if kind != "siglip_vision_model" {
        return Err(TrainError::Settings(format!(
            "the tower `{kind}` cannot be learned; siglip_vision_model can"
        )));
    }
    let mut like = vision.as_object().cloned().unwrap_or_default();
    for (name, value) in [
        ("model_type", json!("clip_text_model")),
        ("vocab_size", json!(1)),
        ("max_position_embeddings", json!(1)),
    ] {
        like.insert(name.to_owned(), value);
    }
    let mut a = Architecture::resolve(&Value::Object(like))?;
    a.family = "SigLIP tower";
    a.causal = false;
    Ok(a)
}

fn count(vision: &Value, name: &str) -> Result<usize> {
    let found = vision[name].as_u64().filter(|n| (1..=4096).contains(n));
    found.map(|n| n as usize).ok_or_else(|| {
        TrainError::Settings(format!(
            "the tower's `{name}` is {}; expected a number from 1 to 4096",
            vision[name]
        ))
    })
}

impl VisionEncoder {
    /// Prepares the tower that a `vision_config` describes, in front of a language model of this width.
    pub fn open(vision: &Value, width: usize) -> Result<Self> {
        let a = architecture(vision)?;
        let (image, patch) = (count(vision, "image_size")?, count(vision, "patch_size")?);
        if !image.is_multiple_of(patch) {
            return Err(TrainError::Settings(format!(
                "a picture of {image} pixels cannot be cut into patches of {patch}"
            )));
        }
        let rows = (image / patch) * (image / patch);
        let tensors = Tensors {
            holds: &|_| true,
            positions: 0,
            apart: false,
        };
        let mut b = Builder::new(&tensors, false);
        let own = |name: &str| format!("{TOWER}{name}");
        let name = own("embeddings.patch_embedding");
        let embedding = b.linear(name, a.hidden, 3 * patch * patch);
        let name = own("embeddings.position_embedding.weight");
        let positions = b.tensor(name, &[rows, a.hidden]);
        let blocks = (0..a.layers).map(|i| block(&mut b, &a, TOWER, i)).collect();
        // Behind the layer that LLaVA reads: never used and never learned, but a checkpoint holds it.
        b.norm(&own("post_layernorm"), a.hidden);
        let first = b.linear(format!("{PROJECTOR}linear_1"), width, a.hidden);
        let second = b.linear(format!("{PROJECTOR}linear_2"), width, width);
        let layout = b.blocks_alone(blocks);
        Ok(Self {
            image,
            patch,
            net: Net::with_layout(a, layout, rows),
            embedding,
            positions,
            first,
            second,
        })
    }

    pub fn layout(&self) -> &Layout {
        &self.net.layout
    }

    /// Rows that one picture becomes.
    pub fn rows(&self) -> usize {
        (self.image / self.patch) * (self.image / self.patch)
    }

    /// Numbers of one picture's patches.
    pub fn numbers(&self) -> usize {
        3 * self.image * self.image
    }

    /// Patches of pictures, one after the other, to rows of the language model; left in the workspace.
    pub fn forward(
        &self,
        p: &Parameters<'_>,
        patches: &[f32],
        ws: &mut VisionWorkspace,
    ) -> Result<()> {
        let (numbers, layout) = (self.numbers(), self.layout());
        if !patches.len().is_multiple_of(numbers) || p.base.len() != layout.total {
            return Err(TrainError::Settings(format!(
                "expected pictures of {numbers} numbers and {} parameters, found {} and {}",
                layout.total,
                patches.len(),
                p.base.len()
            )));
        }
        ws.place(patches.len() / numbers, self.rows());
        let n = ws.packed.tokens.len();
        let (d, width) = (self.net.architecture.hidden, self.first.outputs);
        let t = &mut ws.tower;
        t.blocks
            .resize_with(self.net.architecture.layers, BlockSaved::default);
        t.low.layers(layout.linear_count);
        size(&mut t.stream, n * d);
        let to = (t.stream.as_mut_slice(), d);
        let low = &mut t.low;
        apply(&self.embedding, p, patches, to, Write::Replace, low);
        let positions = &p.base[self.positions.clone()];
        for picture in t.stream.chunks_mut(positions.len()) {
            kernels::add(picture, positions);
        }
        for index in 0..layout.blocks.len() {
            self.net.block(index, p, &ws.packed, t);
        }
        let low = &mut t.low;
        size(&mut ws.inner, n * width);
        size(&mut ws.active, n * width);
        size(&mut ws.rows, n * width);
        let to = (ws.inner.as_mut_slice(), width);
        apply(&self.first, p, &t.stream, to, Write::Replace, low);
        kernels::activate(Activation::Gelu, &mut ws.inner, &mut ws.active);
        let to = (ws.rows.as_mut_slice(), width);
        apply(&self.second, p, &ws.active, to, Write::Replace, low);
        Ok(())
    }

    /// From the gradient at the rows of the language model to the gradient of tower and projector.
    pub fn backward(
        &self,
        p: &Parameters<'_>,
        (patches, gradient): (&[f32], &[f32]),
        g: &mut Gradients<'_>,
        ws: &mut VisionWorkspace,
    ) {
        let (d, width) = (self.net.architecture.hidden, self.first.outputs);
        let n = ws.packed.tokens.len();
        let t = &mut ws.tower;
        let low = &mut t.low;
        size(&mut ws.gradient, n * width);
        let to = (ws.gradient.as_mut_slice(), Write::Replace);
        apply_back(&self.second, p, (&ws.active, gradient, width), to, g, low);
        kernels::multiply(&mut ws.gradient, &ws.inner);
        size(&mut t.gradient, n * d);
        let to = (t.gradient.as_mut_slice(), Write::Replace);
        apply_back(&self.first, p, (&t.stream, &ws.gradient, width), to, g, low);
        for index in (0..self.layout().blocks.len()).rev() {
            self.net.block_back(index, p, &ws.packed, g, t);
        }
        let Some(base) = g.base.as_deref_mut() else {
            return;
        };
        let positions = &mut base[self.positions.clone()];
        for picture in t.gradient.chunks(positions.len()) {
            kernels::add(positions, picture);
        }
        // Nobody asks for the gradient of the pixels: the matrix' own gradient is all that is computed.
        let inputs = self.embedding.inputs;
        let to = &mut base[self.embedding.weight.clone()];
        let (turned, x) = (
            View::transposed(&t.gradient, d),
            View::rows(patches, inputs),
        );
        let product = Unit::Vectors.product((d, n, inputs), turned, x);
        product.add_to(to, inputs);
        if let Some(bias) = &self.embedding.bias {
            kernels::add_column_sums(&t.gradient, d, &mut base[bias.clone()]);
        }
    }
}

/// The brightness that becomes zero: about that of paper. Paper is most of a picture, and at one half its patches
/// would begin as one long vector beside which the learned positions cannot be seen.
pub const MEAN: f64 = 0.94;
/// What brightness is divided by then.
pub const DEVIATION: f64 = 0.5;

/// The patches of a picture of red, green and blue bytes: row by row, in each patch one colour after the
/// other, as the numbers that a processor with [`MEAN`] and [`DEVIATION`] gives.
pub fn patches(rgb: &[u8], image: usize, patch: usize, out: &mut Vec<f32>) {
    // A byte has 256 values, and each is computed once, as processors compute it.
    let table: Vec<f32> = (0..=255u8)
        .map(|byte| ((f64::from(byte) * (1.0 / 255.0)) as f32 - MEAN as f32) / DEVIATION as f32)
        .collect();
    let side = image / patch.max(1);
    for (row, column) in (0..side * side).map(|i| (i / side, i % side)) {
        for colour in 0..3 {
            for y in row * patch..(row + 1) * patch {
                let at = |x: usize| (y * image + column * patch + x) * 3 + colour;
                out.extend((0..patch).map(|x| table[usize::from(rgb[at(x)])]));
            }
        }
    }
}

//! Where every tensor lies: one flat slice of numbers, a table of names and places.
//!
//! Names and row orders are Hugging Face's, so a checkpoint is written and read without any
//! rearranging.

use super::shape::{Activation, Family, Shape};
use std::ops::Range;

/// One tensor of the table.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name in a Hugging Face checkpoint.
    pub name: String,
    /// Its dimensions, rows first.
    pub dims: Vec<usize>,
    /// Its place in the flat slice.
    pub place: Range<usize>,
}

/// A matrix that multiplies rows, with its bias where it has one.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    pub(crate) name: String,
    pub(crate) weight: Range<usize>,
    pub(crate) bias: Option<Range<usize>>,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Counts all linear layers of the model, for adapters.
    pub(crate) index: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Norm {
    pub(crate) weight: Range<usize>,
    pub(crate) bias: Option<Range<usize>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) norm1: Norm,
    pub(crate) norm2: Norm,
    /// Matrices that write the joint query, key and value row, with the column they start at.
    pub(crate) qkv: Vec<(Linear, usize)>,
    pub(crate) out: Linear,
    pub(crate) gate: Option<Linear>,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

impl Block {
    pub(crate) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.qkv
            .iter()
            .map(|(linear, _)| linear)
            .chain([&self.out])
            .chain(self.gate.as_ref())
            .chain([&self.up, &self.down])
    }
}

/// The table of all tensors of a shape.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Every tensor, in the order of the flat slice.
    pub entries: Vec<Entry>,
    /// How many numbers there are in all.
    pub total: usize,
    pub(crate) embedding: Range<usize>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) final_norm: Norm,
    pub(crate) head: Range<usize>,
    pub(crate) linear_count: usize,
}

struct Builder {
    entries: Vec<Entry>,
    total: usize,
    linear_count: usize,
}

impl Builder {
    fn tensor(&mut self, name: String, dims: &[usize]) -> Range<usize> {
        let place = self.total..self.total + dims.iter().product::<usize>();
        self.total = place.end;
        self.entries.push(Entry {
            name,
            dims: dims.to_vec(),
            place: place.clone(),
        });
        place
    }

    fn linear(&mut self, name: String, outputs: usize, inputs: usize, bias: bool) -> Linear {
        let weight = self.tensor(format!("{name}.weight"), &[outputs, inputs]);
        let bias = bias.then(|| self.tensor(format!("{name}.bias"), &[outputs]));
        let index = self.linear_count;
        self.linear_count += 1;
        Linear {
            name,
            weight,
            bias,
            inputs,
            outputs,
            index,
        }
    }

    fn norm(&mut self, name: &str, width: usize, bias: bool) -> Norm {
        let weight = self.tensor(format!("{name}.weight"), &[width]);
        let bias = bias.then(|| self.tensor(format!("{name}.bias"), &[width]));
        Norm { weight, bias }
    }
}

impl Layout {
    /// The table of this shape.
    pub fn new(shape: &Shape) -> Self {
        let mut b = Builder {
            entries: Vec::new(),
            total: 0,
            linear_count: 0,
        };
        let (v, d) = (shape.vocabulary, shape.width);
        let names = match shape.family {
            Family::NeoX => (
                "gpt_neox.embed_in.weight",
                "gpt_neox.final_layer_norm",
                "embed_out.weight",
            ),
            Family::Llama => ("model.embed_tokens.weight", "model.norm", "lm_head.weight"),
        };
        let embedding = b.tensor(names.0.to_owned(), &[v, d]);
        let blocks = (0..shape.layers).map(|i| block(&mut b, shape, i)).collect();
        let final_norm = b.norm(names.1, d, shape.family == Family::NeoX);
        let head = if shape.tied {
            embedding.clone()
        } else {
            b.tensor(names.2.to_owned(), &[v, d])
        };
        let Builder {
            entries,
            total,
            linear_count,
        } = b;
        Self {
            entries,
            total,
            embedding,
            blocks,
            final_norm,
            head,
            linear_count,
        }
    }
}

fn block(b: &mut Builder, shape: &Shape, i: usize) -> Block {
    let (d, f, h) = (shape.width, shape.inner, shape.head_width);
    match shape.family {
        Family::NeoX => {
            let at = format!("gpt_neox.layers.{i}");
            Block {
                norm1: b.norm(&format!("{at}.input_layernorm"), d, true),
                norm2: b.norm(&format!("{at}.post_attention_layernorm"), d, true),
                qkv: vec![(
                    b.linear(format!("{at}.attention.query_key_value"), 3 * d, d, true),
                    0,
                )],
                out: b.linear(format!("{at}.attention.dense"), d, d, true),
                gate: None,
                up: b.linear(format!("{at}.mlp.dense_h_to_4h"), f, d, true),
                down: b.linear(format!("{at}.mlp.dense_4h_to_h"), d, f, true),
            }
        }
        Family::Llama => {
            let at = format!("model.layers.{i}");
            let (q, kv) = (shape.heads * h, shape.kv_heads * h);
            Block {
                norm1: b.norm(&format!("{at}.input_layernorm"), d, false),
                norm2: b.norm(&format!("{at}.post_attention_layernorm"), d, false),
                qkv: vec![
                    (b.linear(format!("{at}.self_attn.q_proj"), q, d, false), 0),
                    (b.linear(format!("{at}.self_attn.k_proj"), kv, d, false), q),
                    (
                        b.linear(format!("{at}.self_attn.v_proj"), kv, d, false),
                        q + kv,
                    ),
                ],
                out: b.linear(format!("{at}.self_attn.o_proj"), d, q, false),
                gate: (shape.activation == Activation::GatedSilu)
                    .then(|| b.linear(format!("{at}.mlp.gate_proj"), f, d, false)),
                up: b.linear(format!("{at}.mlp.up_proj"), f, d, false),
                down: b.linear(format!("{at}.mlp.down_proj"), d, f, false),
            }
        }
    }
}

//! From a tower's rows to rows of the language model's stream.

use super::config::Connector;
use crate::config::{Activation, Norm};
use crate::errors::Result;
use crate::kernels::{Backend, Extent, NormOf};
use crate::load::Loader;

pub(crate) enum Projector<B: Backend> {
    /// Two layers with an activation between them.
    Mlp {
        first: B::Linear,
        activation: Activation,
        width: usize,
        second: B::Linear,
        /// Rows that are laid side by side first, and the norm before that.
        merged: Option<(usize, NormOf<B::Vector>)>,
    },
    /// Squares of rows laid side by side, then one layer.
    Shuffle { factor: usize, layer: B::Linear },
    /// Averages of squares of rows, a norm, one layer.
    Pooled {
        side: usize,
        norm: NormOf<B::Vector>,
        layer: B::Linear,
    },
}

const PREFIXES: &[&str] = &["", "model."];

impl<B: Backend> Projector<B> {
    /// Reads the projector that this connector has; `hidden` is the width of the language model.
    pub(crate) fn load(
        of: &Loader<'_, B>,
        connector: &Connector,
        activation: Activation,
        hidden: usize,
    ) -> Result<Self> {
        let (inner, norm) = (of.architecture.hidden, of.architecture.norm);
        let find = |name: &str| -> Result<String> {
            let full = of.under(PREFIXES, &format!("{name}.weight"))?;
            Ok(full.trim_end_matches(".weight").to_owned())
        };
        Ok(match *connector {
            Connector::Llava { .. } | Connector::LlavaNext { .. } => Self::Mlp {
                first: of.dense(&find("multi_modal_projector.linear_1")?, hidden, inner)?,
                activation,
                width: hidden,
                second: of.dense(&find("multi_modal_projector.linear_2")?, hidden, hidden)?,
                merged: None,
            },
            Connector::Idefics3 { factor } => {
                let name = find("connector.modality_projection.proj")?;
                let layer = of.dense(&name, hidden, inner * factor * factor)?;
                Self::Shuffle { factor, layer }
            }
            Connector::Gemma3 { tokens } => {
                let name = "multi_modal_projector.mm_input_projection_weight";
                let layer = of.turned(&of.under(PREFIXES, name)?, hidden, inner)?;
                let name = find("multi_modal_projector.mm_soft_emb_norm")?;
                let how = Norm {
                    rms: true,
                    eps: norm.eps,
                    unit_offset: true,
                };
                Self::Pooled {
                    side: tokens.isqrt(),
                    norm: of.full_norm(&name, inner, how)?,
                    layer,
                }
            }
            Connector::Qwen { merge } => {
                let wide = inner * merge * merge;
                let own = |name: &str| format!("{}merger.{name}", of.body);
                Self::Mlp {
                    first: of.dense(&own("mlp.0"), wide, wide)?,
                    activation: Activation::Gelu,
                    width: wide,
                    second: of.dense(&own("mlp.2"), hidden, wide)?,
                    merged: Some((merge * merge, of.full_norm(&own("ln_q"), inner, norm)?)),
                }
            }
        })
    }

    /// Rows of views of `each` rows, as rows of the stream of this width.
    pub(crate) fn project(
        &self,
        b: &B,
        rows: Vec<f32>,
        (inner, each, hidden): (usize, usize, usize),
    ) -> Vec<f32> {
        let (mut x, mut y) = (B::Tensor::default(), B::Tensor::default());
        let (rows, layer) = match self {
            Self::Mlp {
                first,
                activation,
                width,
                second,
                merged,
            } => {
                let mut count = rows.len() / inner.max(1);
                b.upload(&rows, &mut x);
                if let Some((group, norm)) = merged {
                    b.norm(&x, count, norm, &mut y);
                    std::mem::swap(&mut x, &mut y);
                    count /= group;
                }
                b.linear(&x, Extent::reading(count), first, &mut y, false);
                b.activate(&y, count, (*width, false), *activation, &mut x);
                (count, second)
            }
            Self::Shuffle { factor, layer } => {
                let count = rows.len() / inner.max(1) / (factor * factor).max(1);
                b.upload(&shuffle(&rows, inner, each, *factor), &mut x);
                (count, layer)
            }
            Self::Pooled { side, norm, layer } => {
                let pooled = pool(&rows, inner, each, *side);
                let count = pooled.len() / inner.max(1);
                b.upload(&pooled, &mut y);
                b.norm(&y, count, norm, &mut x);
                (count, layer)
            }
        };
        b.linear(&x, Extent::reading(rows), layer, &mut y, false);
        b.download(&y, rows * hidden)
    }
}

/// Squares of `factor` by `factor` rows of each view, side by side.
fn shuffle(rows: &[f32], inner: usize, each: usize, factor: usize) -> Vec<f32> {
    let (side, factor) = (each.isqrt(), factor.max(1));
    let mut out = Vec::with_capacity(rows.len());
    for view in rows.chunks_exact((each * inner).max(1)) {
        for top in (0..side / factor * factor).step_by(factor) {
            for left in (0..side / factor * factor).step_by(factor) {
                for y in top..top + factor {
                    let at = (y * side + left) * inner;
                    out.extend_from_slice(&view[at..at + factor * inner]);
                }
            }
        }
    }
    out
}

/// Averages of squares of each view's rows, `tokens` by `tokens` of them.
fn pool(rows: &[f32], inner: usize, each: usize, tokens: usize) -> Vec<f32> {
    let side = each.isqrt();
    let kernel = (side / tokens.max(1)).max(1);
    let mut out = vec![];
    for view in rows.chunks_exact((each * inner).max(1)) {
        for top in (0..tokens * kernel).step_by(kernel) {
            for left in (0..tokens * kernel).step_by(kernel) {
                let mut sum = vec![0.0f32; inner];
                for y in top..top + kernel {
                    for x in left..left + kernel {
                        let row = &view[(y * side + x) * inner..][..inner];
                        sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
                    }
                }
                let share = (kernel * kernel) as f32;
                out.extend(sum.into_iter().map(|s| s / share));
            }
        }
    }
    out
}

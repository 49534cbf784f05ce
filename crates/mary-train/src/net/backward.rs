//! Backward pass through the head and the blocks.

use super::attention;
use super::kernels::{self, NormSaved};
use super::layout::Norm;
use super::linear::{LowBack, apply_back};
use super::matmul::{View, Write, matmul};
use super::model::{Gradients, Net, Packed, Parameters, Workspace, head_rows, size};

impl Net {
    /// The head, its loss, and the backward pass to the end of the last block (left in `ws.slope`).
    pub(super) fn head_and_back(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> f64 {
        let (d, v, n) = (self.shape.width, self.shape.vocabulary, packed.tokens.len());
        let counted: Vec<usize> = (0..n).filter(|i| packed.targets[*i].1 != 0.0).collect();
        size(&mut ws.slope_narrow, n * d);
        ws.slope_narrow.fill(0.0);
        let head = &p.base[self.layout.head.clone()];
        let mut loss = 0.0;
        for positions in counted.chunks(head_rows(v)) {
            let rows = positions.len();
            ws.chosen.clear();
            for i in positions {
                ws.chosen
                    .extend_from_slice(&ws.final_normed[i * d..(i + 1) * d]);
            }
            let targets: Vec<(u32, f32)> = positions.iter().map(|i| packed.targets[*i]).collect();
            size(&mut ws.logits, rows * v);
            let chosen = View::rows(&ws.chosen, d);
            matmul(
                (rows, d, v),
                chosen,
                self.head(p),
                1.0,
                (&mut ws.logits, v),
                Write::Replace,
            );
            loss += kernels::cross_entropy(&mut ws.logits, v, &targets, scale);
            if let Some(base) = g.base.as_deref_mut() {
                let dhead = &mut base[self.layout.head.clone()];
                let back = View::transposed(&ws.logits, v);
                matmul(
                    (v, rows, d),
                    back,
                    View::rows(&ws.chosen, d),
                    1.0,
                    (dhead, d),
                    Write::Add,
                );
            }
            size(&mut ws.chosen_slope, rows * d);
            let slopes = View::rows(&ws.logits, v);
            matmul(
                (rows, v, d),
                slopes,
                View::rows(head, d),
                1.0,
                (&mut ws.chosen_slope, d),
                Write::Replace,
            );
            for (i, row) in positions.iter().zip(ws.chosen_slope.chunks(d)) {
                ws.slope_narrow[i * d..(i + 1) * d].copy_from_slice(row);
            }
        }
        size(&mut ws.slope, n * d);
        ws.slope.fill(0.0);
        let norm = &self.layout.final_norm;
        let saved = NormSaved {
            x: &ws.stream,
            moments: &ws.final_moments,
            weight: &p.base[norm.weight.clone()],
            kind: self.norm_kind(),
        };
        kernels::norm_back(
            &saved,
            &ws.slope_narrow,
            &mut ws.slope,
            norm_gradients(norm, g.base.as_deref_mut()),
        );
        loss
    }

    pub(super) fn block_back(
        &self,
        index: usize,
        p: &Parameters<'_>,
        packed: &Packed,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) {
        self.feed_forward_back(index, p, g, ws);
        let shape = &self.shape;
        let layout = &self.layout.blocks[index];
        let (d, n, joint) = (shape.width, packed.tokens.len(), shape.qkv_width());
        let s = &ws.blocks[index];
        let low = &mut LowBack {
            kept: &ws.low_rank,
            dropped: &mut ws.dropped,
            slope: &mut ws.slope_low,
        };
        // In a sequential block the stream between the halves carries its own slope.
        let incoming = if shape.parallel_residual {
            &ws.slope
        } else {
            &ws.slope_middle
        };
        let heads = shape.heads * shape.head_width;
        size(&mut ws.slope_wide, n * heads);
        apply_back(
            &layout.out,
            p,
            (&s.heads, incoming, d),
            (&mut ws.slope_wide, Write::Replace),
            g,
            low,
        );
        size(&mut ws.slope_qkv, n * joint);
        let saved = attention::Saved {
            qkv: &s.qkv,
            out: &s.heads,
            log_sums: &s.log_sums,
        };
        attention::backward(
            shape,
            &packed.segments,
            &saved,
            &mut ws.scratch,
            &ws.slope_wide,
            &mut ws.slope_qkv,
        );
        self.rotary
            .apply(shape, &packed.segments, &mut ws.slope_qkv, true);
        size(&mut ws.slope_narrow, n * d);
        let mut write = Write::Replace;
        for (linear, column) in &layout.qkv {
            let (slope, step) = (&ws.slope_qkv[*column..], joint);
            apply_back(
                linear,
                p,
                (&s.normed1, slope, step),
                (&mut ws.slope_narrow, write),
                g,
                low,
            );
            write = Write::Add;
        }
        let saved = NormSaved {
            x: &s.input,
            moments: &s.moments1,
            weight: &p.base[layout.norm1.weight.clone()],
            kind: self.norm_kind(),
        };
        let trained = norm_gradients(&layout.norm1, g.base.as_deref_mut());
        kernels::norm_back(&saved, &ws.slope_narrow, &mut ws.slope_middle, trained);
        std::mem::swap(&mut ws.slope, &mut ws.slope_middle);
    }

    /// Backward pass through the feed-forward half; `ws.slope_middle` becomes the slope at its
    /// input, the residual's own slope included.
    fn feed_forward_back(
        &self,
        index: usize,
        p: &Parameters<'_>,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) {
        let shape = &self.shape;
        let layout = &self.layout.blocks[index];
        let d = shape.width;
        let n = ws.slope.len() / d;
        let s = &ws.blocks[index];
        let low = &mut LowBack {
            kept: &ws.low_rank,
            dropped: &mut ws.dropped,
            slope: &mut ws.slope_low,
        };
        size(&mut ws.slope_wide, n * shape.inner);
        size(&mut ws.slope_narrow, n * d);
        apply_back(
            &layout.down,
            p,
            (&s.active, &ws.slope, d),
            (&mut ws.slope_wide, Write::Replace),
            g,
            low,
        );
        let mut write = Write::Replace;
        if let Some(gate) = &layout.gate {
            ws.slope_gate.clear();
            ws.slope_gate.extend_from_slice(&ws.slope_wide);
            kernels::multiply(&mut ws.slope_gate, &s.gate);
            let (slope, step) = (ws.slope_gate.as_slice(), shape.inner);
            apply_back(
                gate,
                p,
                (&s.normed2, slope, step),
                (&mut ws.slope_narrow, write),
                g,
                low,
            );
            write = Write::Add;
        }
        kernels::multiply(&mut ws.slope_wide, &s.up);
        let (slope, step) = (ws.slope_wide.as_slice(), shape.inner);
        apply_back(
            &layout.up,
            p,
            (&s.normed2, slope, step),
            (&mut ws.slope_narrow, write),
            g,
            low,
        );
        ws.slope_middle.clear();
        ws.slope_middle.extend_from_slice(&ws.slope);
        let saved = NormSaved {
            x: if shape.parallel_residual {
                &s.input
            } else {
                &s.middle
            },
            moments: &s.moments2,
            weight: &p.base[layout.norm2.weight.clone()],
            kind: self.norm_kind(),
        };
        let trained = norm_gradients(&layout.norm2, g.base.as_deref_mut());
        kernels::norm_back(&saved, &ws.slope_narrow, &mut ws.slope_middle, trained);
    }
}

/// The places of a norm's weight and bias in the gradient; the bias always follows the weight.
fn norm_gradients<'a>(
    norm: &Norm,
    base: Option<&'a mut [f32]>,
) -> Option<(&'a mut [f32], Option<&'a mut [f32]>)> {
    let base = base?;
    let width = norm.weight.len();
    let end = norm.bias.as_ref().map_or(norm.weight.end, |bias| bias.end);
    let (weight, bias) = base[norm.weight.start..end].split_at_mut(width);
    Some((weight, norm.bias.is_some().then_some(bias)))
}

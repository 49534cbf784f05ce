//! Backward pass through the head and the blocks.

use super::attention;
use super::forward::{gather, scatter};
use super::kernels::{self, NormSaved};
use super::layout::Norm;
use super::linear::apply_back;
use super::matmul::{Unit, View, Write};
use super::model::{Net, Workspace};
use super::parameters::{Gradients, Packed, Parameters, size};

impl Net {
    /// The head, its loss, and the backward pass to the end of the last block (left in `ws.gradient`).
    pub(super) fn head_and_back(
        &self,
        p: &Parameters<'_>,
        packed: &Packed,
        scale: f32,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) -> f64 {
        let (d, v, n) = (
            self.architecture.hidden,
            self.architecture.vocab,
            packed.tokens.len(),
        );
        let counted = self.counted(packed);
        size(&mut ws.gradient_narrow, n * d);
        ws.gradient_narrow.fill(0.0);
        let mut loss = 0.0;
        for positions in counted.chunks(p.head_rows(v)) {
            let rows = positions.len();
            ws.chosen.clear();
            for i in positions {
                ws.chosen
                    .extend_from_slice(&ws.final_normed[i * d..(i + 1) * d]);
            }
            let targets: Vec<(u32, f32)> = positions.iter().map(|i| packed.targets[*i]).collect();
            size(&mut ws.logits, rows * v);
            let squashed = Some(&mut ws.squashed);
            self.logits_of(p, &ws.chosen, &mut ws.logits, squashed, &mut ws.low.room);
            loss += kernels::cross_entropy(&mut ws.logits, v, &targets, scale);
            if self.architecture.logit_cap.is_some() {
                kernels::multiply(&mut ws.logits, &ws.squashed);
            }
            if let Some(base) = g.base.as_deref_mut() {
                let dhead = &mut base[self.layout.head.clone()];
                let (back, x) = (View::transposed(&ws.logits, v), View::rows(&ws.chosen, d));
                let product = Unit::Vectors.product((v, rows, d), back, x);
                product.add_to(dhead, d);
                if let Some(bias) = &self.layout.head_bias {
                    kernels::add_column_sums(&ws.logits, v, &mut base[bias.clone()]);
                }
            }
            size(&mut ws.chosen_gradient, rows * d);
            let split = p.frozen.and_then(|f| f.head.backward());
            match p.stored.filter(|_| split.is_none()) {
                Some(stored) => stored.head().product_back(
                    (&ws.logits, v, rows),
                    &mut ws.chosen_gradient,
                    Write::Replace,
                    (p.unit(), &mut ws.low.room),
                ),
                None => {
                    let head = View::rows(&p.base[self.layout.head.clone()], d)
                        .planes(p.frozen.map_or(3, |f| f.head.planes))
                        .split(split);
                    let back = View::rows(&ws.logits, v);
                    let product = p.unit().product((rows, v, d), back, head);
                    product.replace(&mut ws.chosen_gradient, d);
                }
            }
            for (i, row) in positions.iter().zip(ws.chosen_gradient.chunks(d)) {
                ws.gradient_narrow[i * d..(i + 1) * d].copy_from_slice(row);
            }
        }
        size(&mut ws.gradient, n * d);
        ws.gradient.fill(0.0);
        let kept = (ws.stream.as_slice(), ws.final_moments.as_slice());
        let norm = &self.layout.final_norm;
        self.norm_back(p, norm, kept, (&ws.gradient_narrow, &mut ws.gradient), g);
        loss
    }

    /// Adds a norm's gradient to `dx`, and to its weights where they are trained.
    fn norm_back(
        &self,
        p: &Parameters<'_>,
        norm: &Norm,
        (x, moments): (&[f32], &[[f32; 2]]),
        (dy, dx): (&[f32], &mut [f32]),
        g: &mut Gradients<'_>,
    ) {
        let (weight, _) = self.norm_weights(norm, p.base);
        let saved = NormSaved {
            x,
            moments,
            weight: &weight,
            kind: self.norm_kind(),
        };
        kernels::norm_back(&saved, dy, dx, norm_gradients(norm, g.base.as_deref_mut()));
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
        let layout = &self.layout.blocks[index];
        let (d, n, row) = (
            self.architecture.hidden,
            packed.tokens.len(),
            self.joint.row(),
        );
        let s = &ws.blocks[index];
        let low = &mut ws.low;
        // In a sequential block the stream between the halves carries its own gradient.
        let mut incoming = if self.parallel() {
            &ws.gradient
        } else {
            &ws.gradient_middle
        };
        if let Some((norm, _)) = &layout.post {
            zero(&mut ws.gradient_added, n * d);
            let kept = (s.added1.0.as_slice(), s.added1.1.as_slice());
            self.norm_back(p, norm, kept, (incoming, &mut ws.gradient_added), g);
            incoming = &ws.gradient_added;
        }
        size(&mut ws.gradient_wide, n * self.architecture.q_width());
        let to = (ws.gradient_wide.as_mut_slice(), Write::Replace);
        apply_back(&layout.out, p, (&s.heads, incoming, d), to, g, low);
        size(&mut ws.gradient_qkv, n * row);
        let saved = attention::Saved {
            qkv: &s.qkv,
            out: &s.heads,
            log_sums: &s.log_sums,
        };
        attention::backward(
            &self.attention_settings(index, p.unit()),
            &packed.segments,
            &saved,
            &mut ws.scratch,
            &ws.gradient_wide,
            &mut ws.gradient_qkv,
        );
        if let Some(rotary) = self.rotary(index) {
            rotary.apply(self.joint, &packed.segments, &mut ws.gradient_qkv, true);
        }
        if let Some((queries, keys)) = &layout.qk {
            let both = [(queries, false, &s.queries), (keys, true, &s.keys)];
            for (norm, key, (x, moments)) in both {
                let places = self.joint.places(key);
                let parts = (places.as_slice(), self.joint.width);
                gather(&ws.gradient_qkv, row, parts, &mut ws.spare);
                zero(&mut ws.gradient_added, ws.spare.len());
                let kept = (x.as_slice(), moments.as_slice());
                self.norm_back(p, norm, kept, (&ws.spare, &mut ws.gradient_added), g);
                scatter(&ws.gradient_added, parts, &mut ws.gradient_qkv, row);
            }
        }
        size(&mut ws.gradient_narrow, n * d);
        let mut write = Write::Replace;
        for (linear, column) in &layout.qkv {
            let gradient = &ws.gradient_qkv[*column..];
            let to = (ws.gradient_narrow.as_mut_slice(), write);
            apply_back(linear, p, (&s.normed1, gradient, row), to, g, low);
            write = Write::Add;
        }
        let kept = (s.input.as_slice(), s.moments1.as_slice());
        let to = ws.gradient_middle.as_mut_slice();
        self.norm_back(p, &layout.norm1, kept, (&ws.gradient_narrow, to), g);
        std::mem::swap(&mut ws.gradient, &mut ws.gradient_middle);
    }

    /// Backward pass through the feed-forward half; `ws.gradient_middle` becomes the gradient at its
    /// input, the residual's own gradient included.
    fn feed_forward_back(
        &self,
        index: usize,
        p: &Parameters<'_>,
        g: &mut Gradients<'_>,
        ws: &mut Workspace,
    ) {
        let layout = &self.layout.blocks[index];
        let (d, f) = (self.architecture.hidden, self.architecture.intermediate);
        let n = ws.gradient.len() / d;
        let s = &ws.blocks[index];
        let low = &mut ws.low;
        size(&mut ws.gradient_wide, n * f);
        size(&mut ws.gradient_narrow, n * d);
        let mut incoming = &ws.gradient;
        if let Some((_, norm)) = &layout.post {
            zero(&mut ws.gradient_added, n * d);
            let kept = (s.added2.0.as_slice(), s.added2.1.as_slice());
            self.norm_back(p, norm, kept, (incoming, &mut ws.gradient_added), g);
            incoming = &ws.gradient_added;
        }
        let to = (ws.gradient_wide.as_mut_slice(), Write::Replace);
        apply_back(&layout.down, p, (&s.active, incoming, d), to, g, low);
        if self.architecture.mlp.gated {
            ws.gradient_gate.clear();
            ws.gradient_gate.extend_from_slice(&ws.gradient_wide);
            kernels::multiply(&mut ws.gradient_gate, &s.gate);
        }
        kernels::multiply(&mut ws.gradient_wide, &s.up);
        let narrow = &mut ws.gradient_narrow;
        if self.architecture.mlp.gated && layout.gate.is_none() {
            size(&mut ws.spare, 2 * n * f);
            scatter(&ws.gradient_gate, (&[0], f), &mut ws.spare, 2 * f);
            scatter(&ws.gradient_wide, (&[f], f), &mut ws.spare, 2 * f);
            let from = (s.normed2.as_slice(), ws.spare.as_slice(), 2 * f);
            apply_back(&layout.up, p, from, (narrow, Write::Replace), g, low);
        } else {
            let mut write = Write::Replace;
            if let Some(gate) = &layout.gate {
                let from = (s.normed2.as_slice(), ws.gradient_gate.as_slice(), f);
                apply_back(gate, p, from, (narrow, write), g, low);
                write = Write::Add;
            }
            let from = (s.normed2.as_slice(), ws.gradient_wide.as_slice(), f);
            apply_back(&layout.up, p, from, (narrow, write), g, low);
        }
        ws.gradient_middle.clear();
        ws.gradient_middle.extend_from_slice(&ws.gradient);
        let x = if self.parallel() { &s.input } else { &s.middle };
        let kept = (x.as_slice(), s.moments2.as_slice());
        let to = ws.gradient_middle.as_mut_slice();
        self.norm_back(p, &layout.norm2, kept, (&ws.gradient_narrow, to), g);
    }
}

fn zero(buffer: &mut Vec<f32>, length: usize) {
    buffer.clear();
    buffer.resize(length, 0.0);
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

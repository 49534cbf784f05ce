//! Experts: which of them each token takes, and the products of only those rows that take one. The router's
//! scores come back to the processor; a device answers the same few calls as for any other block.

use rayon::prelude::*;

use crate::config::Experts;
use crate::kernels::Backend;
use crate::transformer::{DenseOf, ExpertsOf, Transformer, WorkOf};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Taken {
    pub rows: Vec<usize>,
    pub weights: Vec<f32>,
}

/// From the router's scores row after row, and what is added to those chosen by; of equal scores the first expert's
/// counts as the higher.
pub(crate) fn route(scores: &[f32], bias: Option<&[f32]>, experts: &Experts) -> Vec<Taken> {
    let mut taken = vec![Taken::default(); experts.count];
    for (row, scores) in scores.chunks_exact(experts.count).enumerate() {
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let share = |s: &f32| match experts.apart {
            true => 1.0 / (1.0 + (-s).exp()),
            false => (s - most).exp(),
        };
        let shares: Vec<f32> = scores.iter().map(share).collect();
        // What experts are chosen by, what all shares come to, and how many scores speak for a group.
        let (mut by, all, best) = match experts.apart {
            true => (shares.clone(), 1.0, 2),
            false => (scores.to_vec(), shares.iter().sum(), 1),
        };
        let both = by.iter_mut().zip(bias.unwrap_or_default());
        both.for_each(|(score, bias)| *score += bias);
        let mut order = experts.groups.map_or_else(
            || (0..experts.count).collect(),
            |groups| of_the_best(&by, groups, best),
        );
        order.sort_by(|&a, &b| by[b].total_cmp(&by[a]));
        order.truncate(experts.chosen);
        let whole = match experts.normalised {
            true => order.iter().map(|&e| shares[e]).sum(),
            false => all,
        };
        for expert in order {
            taken[expert].rows.push(row);
            taken[expert]
                .weights
                .push(shares[expert] / whole * experts.scale);
        }
    }
    taken
}

/// The experts of the groups with the highest sums of so many scores each.
fn of_the_best(by: &[f32], (all, best): (usize, usize), count: usize) -> Vec<usize> {
    let size = by.len() / all;
    let highest = |group: &[f32]| -> f32 {
        let mut scores = group.to_vec();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.iter().take(count).sum()
    };
    let sums: Vec<f32> = by.chunks_exact(size).map(highest).collect();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]));
    let kept = order.iter().take(best);
    kept.flat_map(|group| group * size..(group + 1) * size)
        .collect()
}

/// gpt-oss: a gate, cut off above, and what it opens, cut off on both sides.
fn open_pairs(both: &[f32]) -> Vec<f32> {
    const MOST: f32 = 7.0;
    let open = |pair: &[f32]| {
        // What is no number stays none, which `min` would not leave.
        let gate = if pair[0] > MOST { MOST } else { pair[0] };
        let up = pair[1].clamp(-MOST, MOST);
        gate / (1.0 + (-1.702 * gate).exp()) * (up + 1.0)
    };
    both.par_chunks_exact(2)
        .with_min_len(1 << 12)
        .map(open)
        .collect()
}

impl<B: Backend> Transformer<B> {
    /// Reads `normed`, adds to the residual stream.
    pub(crate) fn experts(&self, of: &ExpertsOf<B>, rows: usize, work: &mut WorkOf<B>) {
        let (b, hidden) = (&self.backend, self.architecture.hidden);
        let Some(experts) = self.architecture.experts else {
            return;
        };
        let extent = work.extent(rows);
        b.logits(&work.normed, extent, &of.router, &mut work.wide);
        let scores = b.download(&work.wide, rows * experts.count);
        for (expert, taken) in of
            .experts
            .iter()
            .zip(route(&scores, of.bias.as_deref(), &experts))
        {
            if !taken.rows.is_empty() {
                b.gather(&work.normed, hidden, &taken.rows, &mut work.second);
                self.expert(expert, experts.intermediate, &taken, work);
            }
        }
        if let (Some((expert, gate)), Some(width)) = (&of.shared, experts.shared) {
            let mut weights = vec![1.0; rows];
            if let Some(gate) = gate {
                b.logits(&work.normed, extent, gate, &mut work.wide);
                let gates = b.download(&work.wide, rows);
                weights = gates.iter().map(|g| 1.0 / (1.0 + (-g).exp())).collect();
            }
            let all = Taken {
                rows: (0..rows).collect(),
                weights,
            };
            b.gather(&work.normed, hidden, &all.rows, &mut work.second);
            self.expert(expert, width, &all, work);
        }
    }

    /// One expert over the rows that `second` holds.
    fn expert(&self, of: &DenseOf<B>, width: usize, taken: &Taken, work: &mut WorkOf<B>) {
        let (a, b, n) = (&self.architecture, &self.backend, taken.rows.len());
        let extent = work.extent(n);
        b.linear(&work.second, extent, &of.up, &mut work.wide, false);
        match a.experts.is_some_and(|e| e.pairs) {
            true => {
                let both = b.download(&work.wide, n * 2 * width);
                b.upload(&open_pairs(&both), &mut work.narrow);
            }
            false => {
                let shape = (width, a.mlp.gated);
                b.activate(&work.wide, n, shape, a.mlp.activation, &mut work.narrow);
            }
        }
        b.linear(&work.narrow, extent, &of.down, &mut work.expert, false);
        let to = (taken.rows.as_slice(), taken.weights.as_slice());
        b.add_rows(&work.expert, a.hidden, to, &mut work.x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_cut_off_and_what_is_no_number_stays_none() {
        let open = |gate: f32, up: f32| open_pairs(&[gate, up])[0];
        assert_eq!(open(9.0, 8.0), open(7.0, 7.0));
        assert_eq!(open(1.0, -9.0), open(1.0, -7.0));
        assert!(open(f32::NAN, 1.0).is_nan() && open(1.0, f32::NAN).is_nan());
    }

    fn experts(normalised: bool) -> Experts {
        Experts {
            count: 3,
            chosen: 2,
            intermediate: 1,
            normalised,
            shared: None,
            apart: false,
            groups: None,
            scale: 1.0,
            pairs: false,
        }
    }

    #[test]
    fn every_row_takes_its_likeliest_experts_with_their_shares() {
        // exp: 1, 2, 4 and 4, 4, 1.
        let ln2 = std::f32::consts::LN_2;
        let scores = [0.0, ln2, 2.0 * ln2, 2.0 * ln2, 2.0 * ln2, 0.0];
        let taken = route(&scores, None, &experts(true));
        assert_eq!(taken[0].rows, [1]);
        assert_eq!(taken[1].rows, [0, 1]);
        assert_eq!(taken[2].rows, [0]);
        let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
        close(taken[2].weights[0], 4.0 / 6.0);
        close(taken[1].weights[0], 2.0 / 6.0);
        close(taken[1].weights[1], 0.5);
        // Without normalisation a share is of all experts.
        let taken = route(&scores, None, &experts(false));
        close(taken[2].weights[0], 4.0 / 7.0);
        close(taken[0].weights[0], 4.0 / 9.0);
    }

    #[test]
    fn a_bias_chooses_and_does_not_weigh_and_groups_are_chosen_first() {
        let apart = Experts {
            count: 4,
            chosen: 1,
            apart: true,
            scale: 3.0,
            ..experts(false)
        };
        // Of itself the first expert would be taken; with its bias the last is, by what its own score says.
        let taken = route(&[2.0, 1.0, 0.0, 0.0], Some(&[0.0, 0.0, 0.0, 0.9]), &apart);
        assert_eq!(
            (taken[3].rows.as_slice(), taken[3].weights.as_slice()),
            (&[0][..], &[1.5][..])
        );
        // The single best score is in the first group, the better two together in the second.
        let scores = [3.0, -9.0, 2.0, 2.0];
        let of = |apart: bool| Experts {
            groups: Some((2, 1)),
            apart,
            count: 4,
            chosen: 1,
            ..experts(true)
        };
        let chosen = |of| {
            route(&scores, None, &of)
                .iter()
                .position(|t| !t.rows.is_empty())
        };
        assert_eq!((chosen(of(true)), chosen(of(false))), (Some(2), Some(0)));
    }

    #[test]
    fn scores_that_are_no_numbers_stay_visible() {
        let taken = route(&[f32::NAN, 0.0, 1.0], None, &experts(true));
        let weights: Vec<f32> = taken.iter().flat_map(|t| t.weights.clone()).collect();
        assert!(weights.iter().any(|w| w.is_nan()), "{weights:?}");
    }
}

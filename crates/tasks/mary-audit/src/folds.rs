//! Splits for cross-validation: seeded, balanced by label, never parting a question from itself.

use std::collections::HashMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::Example;

/// For every example the group it belongs to: same question or same cluster, transitively.
pub(crate) fn groups(examples: &[Example]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..examples.len()).collect();
    let mut first: HashMap<String, usize> = HashMap::new();
    for (index, example) in examples.iter().enumerate() {
        let question = format!("q{}", example.identity());
        let cluster = example.cluster.as_ref().map(|c| format!("c{c}"));
        for key in std::iter::once(question).chain(cluster) {
            let other = *first.entry(key).or_insert(index);
            let (a, b) = (root(&mut parent, index), root(&mut parent, other));
            if let Some(slot) = parent.get_mut(a.max(b)) {
                *slot = a.min(b);
            }
        }
    }
    (0..examples.len()).map(|i| root(&mut parent, i)).collect()
}

fn root(parent: &mut [usize], mut index: usize) -> usize {
    while let Some(&up) = parent.get(index) {
        if up == index {
            break;
        }
        // Halve the path, so that long chains stay cheap.
        let above = parent.get(up).copied().unwrap_or(up);
        parent[index] = above;
        index = above;
    }
    index
}

/// The fold of every example. A group is named by its first member; `labels` is what the folds are
/// balanced by.
pub(crate) fn assign(groups: &[usize], labels: &[usize], folds: usize, seed: u64) -> Vec<usize> {
    let members = groups.iter().zip(labels).enumerate();
    let first = members.filter(|(index, (group, _))| index == *group);
    let mut order: Vec<(usize, usize)> =
        first.map(|(_, (&group, &label))| (label, group)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    order.shuffle(&mut rng);
    // Stable: within a label the shuffled order stays, and labels are dealt round in turn.
    order.sort_by_key(|(label, _)| *label);
    let mut fold_of = vec![0; groups.len()];
    for (place, (_, group)) in order.into_iter().enumerate() {
        if let Some(fold) = fold_of.get_mut(group) {
            *fold = place % folds.max(1);
        }
    }
    let fold = |group: &usize| fold_of.get(*group).copied().unwrap_or(0);
    groups.iter().map(fold).collect()
}

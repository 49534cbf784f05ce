//! Lists gathered by what they have in common.

use std::collections::BTreeMap;

/// What belongs to each key, in the order in which it came.
pub fn grouped<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// The same with the keys, too, in the order in which they came. For few keys: each is compared with all
/// before it.
pub fn grouped_in_order<K: PartialEq, V>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Each value once, in the order in which they came. For few values, as above.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// How often each value came.
pub fn counts<T: Ord>(values: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// The mean for each key.
pub fn means<K: Ord>(pairs: impl IntoIterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let groups = grouped(pairs).into_iter();
    groups.map(|(key, values)| (key, mean(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(char, f64); 4] = [('b', 2.0), ('a', 1.0), ('b', 4.0), ('a', 1.0)];

    #[test]
    fn keys_are_sorted_or_as_they_came_and_values_keep_their_order() {
        let sorted = grouped(PAIRS).into_iter().collect::<Vec<_>>();
        assert_eq!(sorted, [('a', vec![1.0, 1.0]), ('b', vec![2.0, 4.0])]);
        let as_met = [('b', vec![2.0, 4.0]), ('a', vec![1.0, 1.0])];
        assert_eq!(grouped_in_order(PAIRS), as_met);
    }

    #[test]
    fn values_are_found_once_counted_and_averaged() {
        assert_eq!(distinct(PAIRS), [('b', 2.0), ('a', 1.0), ('b', 4.0)]);
        let letters = PAIRS.map(|(letter, _)| letter);
        assert_eq!(counts(letters), [('a', 2), ('b', 2)].into());
        assert_eq!(means(PAIRS), [('a', 1.0), ('b', 3.0)].into());
    }
}

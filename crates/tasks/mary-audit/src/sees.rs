//! What baselines and learners see, in words: `sees.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

type Words = BTreeMap<&'static str, &'static str>;

#[derive(Default, Deserialize)]
pub(crate) struct Seen {
    both: Words,
    labels: Words,
    options: Words,
    /// Group and name of each number of a text, and of those that an option has besides.
    #[serde(borrow)]
    pub(crate) text_columns: Vec<(&'static str, &'static str)>,
    pub(crate) option_columns: Vec<(&'static str, &'static str)>,
}

pub(crate) static SEEN: LazyLock<Seen> =
    LazyLock::new(|| serde_json::from_str(include_str!("sees.json")).unwrap_or_default());

/// What a baseline sees of a set with the same labels everywhere, or with options of its own.
pub(crate) fn sees(baseline: &str, labels: bool) -> &'static str {
    let own = if labels { &SEEN.labels } else { &SEEN.options };
    let words = own.get(baseline).or_else(|| SEEN.both.get(baseline));
    words.copied().unwrap_or_default()
}

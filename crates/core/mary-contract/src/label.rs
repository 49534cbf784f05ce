//! What models are called where people read: the label a user gave, or the shortest name that tells a
//! model from the others beside it. Full names stay in logs, manifests and files for machines.

use std::collections::BTreeMap;

use crate::{ModelCard, ModelRef};

/// A label for each of these models, by its full name. Two models that would be called the same get more
/// of their names, and where that does not help the whole name.
///
/// ```
/// use mary_contract::{Capabilities, ModelCard, model_labels};
///
/// let cards = ["hf/org/base/model", "hf/org/tuned/model", "builtin/nano"]
///     .map(|name| ModelCard::new(name.parse().unwrap(), Capabilities::default()));
/// let labels = model_labels(&cards);
/// assert_eq!(labels["hf/org/tuned/model"], "tuned/model");
/// assert_eq!(labels["builtin/nano"], "nano");
/// ```
pub fn model_labels<'a>(
    cards: impl IntoIterator<Item = &'a ModelCard>,
) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Vec<(String, Vec<String>)> = Vec::new();
    for card in cards {
        let name = card.model.to_string();
        if labels.contains_key(&name) || open.iter().any(|(known, _)| *known == name) {
            continue;
        }
        match &card.label {
            Some(label) => {
                labels.insert(name, label.clone());
            }
            None => open.push((name, candidates(&card.model))),
        }
    }
    for (name, own) in &open {
        let taken = |wanted: &str| {
            let others = open.iter().filter(|(other, _)| other != name);
            let mut wants = others.flat_map(|(_, names)| names);
            wants.any(|other| other == wanted) || labels.values().any(|label| label == wanted)
        };
        let free = own.iter().find(|candidate| !taken(candidate));
        let label = free.cloned().unwrap_or_else(|| name.clone());
        labels.insert(name.clone(), label);
    }
    labels
}

/// A text with models called by their labels, by their full names.
pub fn with_labels(text: &str, labels: &BTreeMap<String, String>) -> String {
    // The longest first: one name may begin another.
    let mut pairs: Vec<(&String, &String)> = labels.iter().filter(|(a, b)| a != b).collect();
    pairs.sort_by_key(|(full, _)| std::cmp::Reverse(full.len()));
    let mut out = text.to_owned();
    for (full, label) in pairs {
        if out.contains(full.as_str()) {
            out = out.replace(full.as_str(), label);
        }
    }
    out
}

/// The name of one model, with no others beside it.
pub fn model_label(card: &ModelCard) -> String {
    let short = || candidates(&card.model).into_iter().next();
    let label = card.label.clone().or_else(short);
    label.unwrap_or_else(|| card.model.to_string())
}

/// From the shortest name to the longest: the last part of a path without its extension, then with the
/// parts before it. What was asked of a service keeps its name.
fn candidates(model: &ModelRef) -> Vec<String> {
    // Nobody should take people for a model.
    if model.provider == "people" {
        return vec![model.to_string()];
    }
    let revision = model.revision.as_deref();
    let whole = model.name.trim_end_matches('/');
    let named = |part: &&str| !["", ".", ".."].contains(part);
    let parts: Vec<&str> = whole.split('/').filter(named).collect();
    let stem = |text: &str| {
        let mut endings = [".gguf", ".safetensors", ".txt", ".bin"].iter();
        let short = endings.find_map(|ending| text.strip_suffix(ending));
        short.unwrap_or(text).to_owned()
    };
    let with_revision = |text: String| match revision {
        Some(revision) => format!("{text}@{revision}"),
        None => text,
    };
    let last = |count: usize| with_revision(stem(&parts[parts.len() - count..].join("/")));
    (1..=parts.len()).map(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;

    fn labels(names: &[&str]) -> Vec<String> {
        let cards: Vec<ModelCard> = names
            .iter()
            .map(|name| ModelCard::new(name.parse().unwrap(), Capabilities::default()))
            .collect();
        let labels = model_labels(&cards);
        names.iter().map(|name| labels[*name].clone()).collect()
    }

    #[test]
    fn the_shortest_name_that_tells_models_apart() {
        assert_eq!(
            labels(&["gguf/./models/smollm2.Q4_1.gguf"]),
            ["smollm2.Q4_1"]
        );
        assert_eq!(
            labels(&[
                "hf/EleutherAI/pythia-70m@step1000",
                "hf/EleutherAI/pythia-70m"
            ]),
            ["pythia-70m@step1000", "pythia-70m"]
        );
        assert_eq!(
            labels(&["hf//a/base/model", "hf//a/tuned/model", "builtin/nano"]),
            ["base/model", "tuned/model", "nano"]
        );
        assert_eq!(labels(&["people/yang-2025"]), ["people/yang-2025"]);
        // Nothing shorter tells these apart.
        assert_eq!(
            labels(&["openai/gpt-4o", "openrouter/gpt-4o"]),
            ["openai/gpt-4o", "openrouter/gpt-4o"]
        );
    }

    #[test]
    fn a_label_of_the_user_stands_and_is_nobody_elses() {
        let mut named = ModelCard::new("gguf/./x.gguf".parse().unwrap(), Capabilities::default());
        named.label = Some("small".into());
        let other = ModelCard::new("hf/org/small".parse().unwrap(), Capabilities::default());
        let labels = model_labels([&named, &other]);
        assert_eq!(labels["gguf/./x.gguf"], "small");
        assert_eq!(labels["hf/org/small"], "org/small");
    }
}

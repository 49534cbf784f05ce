//! What a reader asks for, to and from the address of a page.

use std::fmt::Write as _;

use mary_contract::SampleId;

use crate::OutcomeClass;

/// Which samples of a run are wanted. Empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Of this model.
    pub model: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// With one of these outcomes.
    pub outcomes: Vec<OutcomeClass>,
    /// With this tag, as `name=value`.
    pub tag: Option<String>,
    /// Holding these words, whatever their case.
    pub text: Option<String>,
    /// Right by one of these two models and wrong by the other; samples of the first are listed.
    pub flipped: Option<(String, String)>,
}

/// A filter and a page of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub filter: Filter,
    pub page: usize,
}

impl Asked {
    /// Reads the pairs of an address; what makes no sense is left out.
    pub fn read(pairs: &[(String, String)]) -> Self {
        let mut asked = Self::default();
        let mut flip = (None, None);
        for (name, value) in pairs.iter().filter(|(_, v)| !v.is_empty()) {
            let filter = &mut asked.filter;
            match name.as_str() {
                "model" => filter.model = Some(value.clone()),
                "task" => filter.task = Some(value.clone()),
                "outcome" => filter.outcomes.extend(value.parse::<OutcomeClass>().ok()),
                "tag" => filter.tag = Some(value.clone()),
                "q" => filter.text = Some(value.to_lowercase()),
                "a" => flip.0 = Some(value.clone()),
                "b" => flip.1 = Some(value.clone()),
                "page" => asked.page = value.parse::<usize>().unwrap_or(1).saturating_sub(1),
                _ => {}
            }
        }
        asked.filter.outcomes.sort();
        asked.filter.outcomes.dedup();
        if let (Some(a), Some(b)) = flip
            && a != b
        {
            asked.filter.flipped = Some((a, b));
        }
        asked
    }

    /// The address of a page of this list.
    pub fn address(&self, run: &str, page: usize) -> String {
        let mut out = format!("/run/{}/samples?", encode(run));
        let f = &self.filter;
        let mut add = |name: &str, value: &str| {
            let _ = write!(out, "{name}={}&", encode(value));
        };
        for (name, value) in [
            ("model", &f.model),
            ("task", &f.task),
            ("tag", &f.tag),
            ("q", &f.text),
        ] {
            if let Some(value) = value {
                add(name, value);
            }
        }
        for outcome in &f.outcomes {
            add("outcome", outcome.name());
        }
        if let Some((a, b)) = &f.flipped {
            add("a", a);
            add("b", b);
        }
        let _ = write!(out, "page={}", page + 1);
        out
    }
}

/// The sample an address names, and the model to set beside it.
pub(super) fn sample_id(pairs: &[(String, String)]) -> Option<(SampleId, Option<String>)> {
    let get = |name: &str| {
        pairs
            .iter()
            .find(|(n, v)| n == name && !v.is_empty())
            .map(|(_, v)| v.clone())
    };
    let id = SampleId {
        model: get("model")?,
        task: get("task")?,
        item: get("item")?,
        trial: get("trial").and_then(|t| t.parse().ok()).unwrap_or(0),
    };
    Some((id, get("other")))
}

/// The address of a sample.
pub(super) fn sample_address(run: &str, id: &SampleId, other: Option<&str>) -> String {
    let mut out = format!(
        "/run/{}/sample?model={}&task={}&item={}&trial={}",
        encode(run),
        encode(&id.model),
        encode(&id.task),
        encode(&id.item),
        id.trial
    );
    if let Some(other) = other {
        let _ = write!(out, "&other={}", encode(other));
    }
    out
}

/// The address of all that was asked and answered in a sample, as plain text.
pub(super) fn plain_address(run: &str, id: &SampleId) -> String {
    sample_address(run, id, None).replacen("/sample?", "/text?", 1)
}

/// Percent-encodes everything but letters, digits and `-._~`.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_finds_its_way_back_from_its_address() {
        let pairs: Vec<(String, String)> = [
            ("model", "hf/a&b"),
            ("outcome", "wrong"),
            ("outcome", "nonsense"),
            ("outcome", "tie"),
            ("q", "Two Words"),
            ("a", "x"),
            ("b", "y"),
            ("page", "3"),
            ("task", ""),
        ]
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
        let asked = Asked::read(&pairs);
        assert_eq!(asked.page, 2);
        assert_eq!(asked.filter.task, None);
        assert_eq!(
            asked.filter.outcomes,
            [OutcomeClass::Wrong, OutcomeClass::Tie]
        );
        assert_eq!(asked.filter.flipped, Some(("x".into(), "y".into())));
        assert_eq!(
            asked.address("r 1", 2),
            "/run/r%201/samples?model=hf%2Fa%26b&q=two%20words&outcome=wrong&outcome=tie&a=x&b=y&page=3"
        );
    }
}

//! What a reader asks for, to and from the address of a page.

use std::fmt::Write as _;

use mary_contract::SampleId;
pub(super) use mary_platform::percent_encoded as encode;

use crate::OutcomeClass;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// As they stand in the log.
    #[default]
    Log,
    /// By outcome, trouble first.
    Verdict,
    /// Smallest margin first: where the wrong answer was preferred most.
    MarginLow,
    MarginHigh,
    /// Closest to zero first: what was nearly decided otherwise.
    MarginNear,
    ScoreLow,
    ScoreHigh,
}

impl Order {
    /// All as they are declared, with one word for addresses and what the choice is called.
    pub(super) const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Log, "log", "as they were asked"),
        (Self::Verdict, "verdict", "by verdict"),
        (Self::MarginLow, "margin-low", "margin, smallest first"),
        (Self::MarginHigh, "margin-high", "margin, largest first"),
        (
            Self::MarginNear,
            "margin-near",
            "margin, closest to zero first",
        ),
        (Self::ScoreLow, "score-low", "score, lowest first"),
        (Self::ScoreHigh, "score-high", "score, highest first"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    fn read(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(_, name, _)| *name == text);
        found.map(|(order, ..)| order)
    }
}

/// Which samples of a run are wanted, and in which order. Empty means all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub model: Option<String>,
    pub task: Option<String>,
    pub outcomes: Vec<OutcomeClass>,
    /// With this tag, as `name=value`.
    pub tag: Option<String>,
    /// Holding these words, whatever their case.
    pub text: Option<String>,
    /// Right by one of these two models and wrong by the other; samples of the first are listed.
    pub flipped: Option<(String, String)>,
    /// Only items that one model got right and another wrong.
    pub disagreed: bool,
    pub margin_from: Option<f64>,
    pub margin_to: Option<f64>,
    pub order: Order,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ListQuery {
    pub filter: Filter,
    pub page: usize,
}

impl ListQuery {
    /// Reads the pairs of an address; what makes no sense is left out.
    pub fn read(pairs: &[(String, String)]) -> Self {
        let mut asked = Self::default();
        let mut flip = (None, None);
        for (name, value) in pairs.iter().filter(|(_, v)| !v.is_empty()) {
            let filter = &mut asked.filter;
            match name.as_str() {
                "model" => filter.model = Some(value.clone()),
                "task" => filter.task = Some(value.clone()),
                "outcome" => {
                    let named = |class: &OutcomeClass| class.name() == value;
                    filter
                        .outcomes
                        .extend(OutcomeClass::ALL.into_iter().find(named));
                }
                "tag" => filter.tag = Some(value.clone()),
                "q" => filter.text = Some(value.to_lowercase()),
                "a" => flip.0 = Some(value.clone()),
                "b" => flip.1 = Some(value.clone()),
                "disagreed" => filter.disagreed = true,
                "from" => filter.margin_from = finite(value),
                "to" => filter.margin_to = finite(value),
                "order" => filter.order = Order::read(value).unwrap_or_default(),
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

    /// The list a sample is read in when no other is named: its model's samples of its task.
    pub fn beside(id: &SampleId) -> Self {
        Self {
            filter: Filter {
                task: Some(id.task.clone()),
                model: Some(id.model.clone()),
                ..Filter::default()
            },
            page: 0,
        }
    }

    /// What the list is narrowed and ordered by, as the query of an address.
    pub fn query(&self) -> String {
        let mut out = String::new();
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
        if f.disagreed {
            add("disagreed", "1");
        }
        for (name, bound) in [("from", f.margin_from), ("to", f.margin_to)] {
            if let Some(bound) = bound {
                add(name, &bound.to_string());
            }
        }
        if f.order != Order::Log {
            add("order", f.order.name());
        }
        out
    }

    pub fn address(&self, run: &str, page: usize) -> String {
        format!(
            "/run/{}/samples?{}page={}",
            encode(run),
            self.query(),
            page + 1
        )
    }

    pub fn sample_address(&self, run: &str, id: &SampleId, other: Option<&str>) -> String {
        let mut out = sample_address(run, id, other);
        let query = self.query();
        if !query.is_empty() {
            let _ = write!(out, "&in={}", encode(query.trim_end_matches('&')));
        }
        out
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|v: &f64| v.is_finite())
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SampleQuery {
    pub id: SampleId,
    pub other: Option<String>,
    pub list: Option<ListQuery>,
}

pub(super) fn wanted(pairs: &[(String, String)]) -> Option<SampleQuery> {
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
    Some(SampleQuery {
        id,
        other: get("other"),
        list: get("in").map(|query| ListQuery::read(&decode(&query))),
    })
}

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

pub(super) fn plain_address(run: &str, id: &SampleId) -> String {
    sample_address(run, id, None).replacen("/sample?", "/text?", 1)
}

/// The pairs of a query that [`ListQuery::query`] wrote; what is not percent-encoded text is left out.
fn decode(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .filter_map(|(name, value)| Some((name.to_owned(), plain(value)?)))
        .collect()
}

fn plain(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
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
        let asked = ListQuery::read(&pairs);
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

    #[test]
    fn a_sample_knows_the_list_it_was_opened_from() {
        let list = ListQuery {
            filter: Filter {
                model: Some("hf/a&b=c".into()),
                tag: Some("sign=%41 ü".into()),
                disagreed: true,
                margin_from: Some(-0.5),
                order: Order::MarginNear,
                ..Filter::default()
            },
            page: 0,
        };
        let id = SampleId::new("hf/a&b=c", "htest/rhyme", "0-1", 2);
        let address = list.sample_address("r", &id, Some("other"));
        // As a browser hands it back: the outer query decoded once.
        let query = address.split_once('?').unwrap().1;
        let wanted = wanted(&decode(query)).unwrap();
        assert_eq!(wanted.id, id);
        assert_eq!(wanted.other.as_deref(), Some("other"));
        assert_eq!(wanted.list, Some(list));
        assert_eq!(decode("q=%ZZ&q=%4"), []);
    }
}

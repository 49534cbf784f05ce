//! Items in all their forms side by side: a bounded selection, the same items for every form and model.

use std::collections::BTreeMap;

use mary_contract::{Image, Part, Prompt, Request, Sample, ShownAs, with_labels};

use crate::escape::{clip, foreign, html};
use crate::html::{data_url, lot};
use crate::sample::{self, OutcomeClass, letter};

const KEPT: usize = 24;
/// Of all groups together, those that stand open.
const OPEN: usize = 4;
/// Characters of a question and of an answer.
const QUESTION: usize = 1200;
const ANSWER: usize = 160;
/// Bytes of pictures on the sheet, and of a single one.
const PICTURES: usize = 3 << 20;
const PICTURE: usize = 400 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Face {
    question: String,
    options: Vec<String>,
    correct: Option<usize>,
    picture: Option<Image>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    class: OutcomeClass,
    answer: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TwinItem {
    faces: BTreeMap<ShownAs, Face>,
    said: BTreeMap<(ShownAs, String), Said>,
}

impl TwinItem {
    fn differs(&self) -> bool {
        self.said.iter().any(|((_, model), said)| {
            let right = |s: &Said| s.class == OutcomeClass::Right;
            let others = self.said.iter().filter(|((_, other), _)| other == model);
            others
                .into_iter()
                .any(|(_, other)| right(other) != right(said))
        })
    }
}

/// The items of a group with the smallest lots. The lot depends on the item alone, so that whatever is
/// kept at the end was kept from its first form on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shelf(BTreeMap<(u64, String), TwinItem>);

impl Shelf {
    pub(super) fn offer(&mut self, group: &str, shown: ShownAs, sample: &Sample) {
        if sample.id.trial > 0 {
            return;
        }
        let item = &sample.id.item;
        let key = (lot(group, item, 0), item.clone());
        if self.0.len() >= KEPT
            && !self.0.contains_key(&key)
            && self.0.last_key_value().is_some_and(|(last, _)| key > *last)
        {
            return;
        }
        let twin = self.0.entry(key).or_default();
        twin.faces.entry(shown).or_insert_with(|| face(sample));
        let answer = match &sample.judgement.parsed {
            Some(parsed) => parsed.clone(),
            None => sample::answer_excerpt(sample, ANSWER),
        };
        let said = Said {
            class: OutcomeClass::from_outcome(&sample.judgement.outcome),
            answer,
        };
        twin.said.insert((shown, sample.id.model.clone()), said);
        if self.0.len() > KEPT {
            self.0.pop_last();
        }
    }
}

fn face(sample: &Sample) -> Face {
    let choice = sample.item.target.choice();
    let prompt = sample.exchanges.first().map(|e| &e.ask.request);
    let prompt = match prompt {
        Some(Request::Generate(g)) => Some(&g.prompt),
        Some(Request::Score(s)) => Some(&s.prefix),
        _ => None,
    };
    Face {
        question: prompt.map_or_else(|| sample::question_text(sample), Prompt::text),
        options: choice.map_or(vec![], |(options, _)| options.to_vec()),
        correct: choice.map(|(_, correct)| correct),
        picture: prompt.and_then(last_picture).cloned(),
    }
}

/// The picture of the question itself; those before it belong to shots.
fn last_picture(prompt: &Prompt) -> Option<&Image> {
    let parts = prompt.turns.iter().flat_map(|turn| &turn.parts);
    let mut pictures = parts.filter_map(|part| match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    });
    pictures.next_back()
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    groups: Vec<(String, Vec<(String, TwinItem)>)>,
    models: Vec<String>,
    labels: BTreeMap<String, String>,
}

impl Sheet {
    /// Items on which some model's forms differ stand first.
    pub(super) fn new(groups: impl Iterator<Item = (String, Shelf)>, models: Vec<String>) -> Self {
        let groups = groups.map(|(name, shelf)| {
            let of = shelf.0.into_iter().map(|((_, id), item)| (id, item));
            let mut items: Vec<_> = of.filter(|(_, item)| item.faces.len() > 1).collect();
            items.sort_by_key(|(_, item)| !item.differs());
            (name, items)
        });
        Self {
            groups: groups.filter(|(_, items)| !items.is_empty()).collect(),
            models,
            labels: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn renamed(mut self, labels: &BTreeMap<String, String>) -> Self {
        self.labels.clone_from(labels);
        self
    }

    pub(crate) fn html(&self) -> String {
        if self.groups.is_empty() {
            return String::new();
        }
        let mut out = String::from(
            "<div class=\"exhibit\" id=\"twins-items\"><h3>Item by item</h3><p class=\"caption\">Items drawn \
             by lot, those first on which a model was right in one form and not in another. Below each form \
             stands what every model answered.</p>",
        );
        let mut room = PICTURES;
        let mut open = OPEN;
        for (name, items) in &self.groups {
            let shown = items.len().min(open.max(1));
            open -= shown.min(open);
            for (n, (id, item)) in items.iter().enumerate() {
                if n == shown {
                    out += &format!(
                        "<details class=\"more\"><summary>{} more items of {}</summary>",
                        items.len() - n,
                        html(name)
                    );
                }
                self.item(&mut out, (name, id), item, &mut room);
            }
            if items.len() > shown {
                out += "</details>";
            }
        }
        out += "</div>";
        out
    }

    fn item(&self, out: &mut String, (group, id): (&str, &str), item: &TwinItem, room: &mut usize) {
        *out += &format!(
            "<article class=\"twin\"><h4>{} <span class=\"small\">{}</span></h4><div class=\"faces\">",
            foreign(id),
            html(group)
        );
        for (shown, face) in &item.faces {
            *out += &format!("<section><h5>{}</h5>", shown.words());
            if let Some(picture) = &face.picture {
                if picture.data.len() <= PICTURE.min(*room) {
                    *room -= picture.data.len();
                    *out += &format!(
                        "<img class=\"shown\" src=\"{}\" alt=\"Picture of item {}\">",
                        data_url(picture),
                        html(id)
                    );
                } else {
                    out.push_str("<p class=\"none\">The picture is not included here; <code>mary view</code> shows it.</p>");
                }
            }
            let (text, left) = clip(face.question.trim(), QUESTION);
            *out += &format!(
                "<pre class=\"said\" dir=\"auto\">{}{}</pre>",
                foreign(text),
                if left > 0 { "…" } else { "" }
            );
            options(out, face);
            out.push_str("<ul class=\"said-by\">");
            for model in &self.models {
                if let Some(said) = item.said.get(&(*shown, model.clone())) {
                    *out += &format!(
                        "<li>{} <bdi>{}</bdi>: <bdi class=\"text\">{}</bdi></li>",
                        said.class.badge(),
                        foreign(&with_labels(model, &self.labels)),
                        foreign(clip(&said.answer, ANSWER).0)
                    );
                }
            }
            out.push_str("</ul></section>");
        }
        out.push_str("</div></article>");
    }
}

fn options(out: &mut String, face: &Face) {
    if face.options.is_empty() {
        return;
    }
    out.push_str("<ol class=\"options\">");
    for (n, option) in face.options.iter().enumerate() {
        let right = face.correct == Some(n);
        *out += &format!(
            "<li{}><span class=\"letter\">{}</span> <bdi class=\"text\">{}</bdi>{}</li>",
            if right { " class=\"correct\"" } else { "" },
            letter(n),
            foreign(clip(option, ANSWER).0),
            if right {
                " <span class=\"badge right\">the right one</span>"
            } else {
                ""
            }
        );
    }
    out.push_str("</ol>");
}

//! The samples a report carries, as data for the page; questions and pictures once for all models.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mary_contract::{Image, Sample};
use serde_json::{Value, json};

use super::selection::{Kept, Selected};
use crate::{
    escape,
    sample::{self, OutcomeClass, Story},
    subject::Subject,
};

/// The kept samples as data; stops when the room is used up.
pub(super) fn carried(subjects: &[Subject], selected: &Selected, room: usize) -> (Value, usize) {
    let story = Story {
        characters: 6000,
        tokens: 300,
        whole: None,
    };
    let mut shelf = Shelf::default();
    let mut rows: Vec<Value> = Vec::new();
    for kept in in_rounds(&selected.kept) {
        if shelf.bytes > room {
            break;
        }
        let s = &kept.sample;
        let question = shelf.question(s, story);
        let mut answer = String::new();
        // Writing into a String cannot fail.
        let _ = sample::answer(&mut answer, s, story, &mut |image| shelf.picture(image));
        shelf.bytes += answer.len();
        rows.push(json!({
            "m": kept.subject,
            "t": kept.task,
            "c": kept.class.index(),
            "i": escape::terminal(&s.id.item),
            "n": s.id.trial,
            "g": s.item.tags.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(),
            "e": escape::terminal(&escape::excerpt(&sample::question_text(s), 110)),
            "a": escape::terminal(&sample::answer_excerpt(s, 90)),
            "q": question,
            "h": answer,
        }));
    }
    let counts: Vec<Value> = selected
        .counts
        .iter()
        .map(|((m, t), n)| json!([m, t, n]))
        .collect();
    let kept = rows.len();
    let data = json!({
        "subjects": subjects.iter().map(|s| json!({"label": s.label, "model": s.model})).collect::<Vec<_>>(),
        "tasks": selected.tasks,
        "classes": OutcomeClass::ALL.map(|c| json!([c.name(), c.words()])),
        "counts": counts,
        "questions": shelf.questions,
        "pictures": shelf.pictures,
        "rows": rows,
    });
    (data, kept)
}

#[derive(Default)]
struct Shelf {
    questions: Vec<String>,
    question_places: HashMap<String, usize>,
    pictures: Vec<String>,
    picture_places: HashMap<Vec<u8>, usize>,
    bytes: usize,
}

impl Shelf {
    fn question(&mut self, sample: &Sample, story: Story) -> usize {
        let mut text = String::new();
        let _ = sample::question(&mut text, sample, story, &mut |image| self.picture(image));
        let next = self.questions.len();
        let place = *self.question_places.entry(text.clone()).or_insert(next);
        if place == next {
            self.bytes += text.len();
            self.questions.push(text);
        }
        place
    }

    fn picture(&mut self, image: &Image) -> String {
        let next = self.pictures.len();
        let place = *self
            .picture_places
            .entry(image.data.clone())
            .or_insert(next);
        if place == next {
            let url = data_url(image);
            self.bytes += url.len();
            self.pictures.push(url);
        }
        format!("data-picture=\"{place}\"")
    }
}

/// A picture as an address of its own; kinds a browser would not draw as a picture are not passed on.
pub(crate) fn data_url(image: &Image) -> String {
    let kind = match image.media_type.as_str() {
        kind @ ("image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/svg+xml") => kind,
        _ => "image/png",
    };
    format!("data:{kind};base64,{}", STANDARD.encode(&image.data))
}

/// The kept samples, one of each model and task at a time, so that a full shelf cuts all alike.
fn in_rounds(kept: &[Kept]) -> Vec<&Kept> {
    let mut turns: HashMap<(usize, usize), usize> = HashMap::new();
    let mut order: Vec<(usize, usize, usize, &Kept)> = kept
        .iter()
        .map(|k| {
            let turn = turns.entry((k.subject, k.task)).or_default();
            *turn += 1;
            (*turn, k.task, k.subject, k)
        })
        .collect();
    order.sort_by_key(|(turn, task, subject, _)| (*turn, *task, *subject));
    order.into_iter().map(|(.., k)| k).collect()
}

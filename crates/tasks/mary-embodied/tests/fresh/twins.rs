//! The same questions in words, as pictures, and as both: twins under one id.

use std::collections::BTreeMap;

use mary_contract::{Item, NoData, Part, Request, Target, Task, TaskSettings};
use mary_embodied::fresh::{FRESH_COLOUR, FRESH_TASKS, FreshTask};

fn items(task: &FreshTask, show: &str, mode: &str) -> Vec<Item> {
    let params: BTreeMap<String, String> = [("show", show), ("mode", mode), ("n", "36")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    let settings = TaskSettings {
        seed: 4,
        params,
        ..TaskSettings::default()
    };
    assert_eq!(task.needs(&settings).images, show != "text");
    task.items(&settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn picture(item: &Item) -> Option<mary_generators::Picture> {
    let prompt = match &item.asks[0].request {
        Request::Score(score) => &score.prefix,
        Request::Generate(generate) => &generate.prompt,
        Request::Observe(_) => panic!("nothing is observed"),
    };
    prompt.turns[0].parts.iter().find_map(|p| match p {
        Part::Image(i) => Some(mary_generators::Picture::from_png(&i.data).unwrap()),
        Part::Text(_) => None,
    })
}

#[test]
fn the_three_forms_share_ids_and_right_places() {
    for task in FRESH_TASKS {
        let [text, seen, both] = ["text", "picture", "both"].map(|s| items(task, s, "score"));
        for ((a, b), c) in text.iter().zip(&seen).zip(&both) {
            assert!(a.id == b.id && b.id == c.id);
            let place = |i: &Item| match &i.target {
                Target::Choice {
                    correct, options, ..
                } => (*correct, options.len()),
                _ => panic!("a choice"),
            };
            assert!(place(a) == place(b) && place(b) == place(c));
            assert!(picture(a).is_none());
            let (one, two) = (picture(b).unwrap(), picture(c).unwrap());
            assert_eq!(one, two);
            assert_eq!(one.width(), 512);
            let marks = one.dots().filter(|dot| *dot != [255; 3]).count();
            assert!(marks > 300, "{} {marks}", b.id);
        }
    }
}

/// The patches of a colour question have the colours that its words name.
#[test]
fn a_patch_has_the_colour_that_is_named() {
    let table: BTreeMap<String, [u8; 3]> = include_str!("css-colours.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| {
            let parts: Vec<&str> = l.split(' ').collect();
            let rgb = [1, 2, 3].map(|i| parts[i].parse().unwrap());
            (parts[0].to_owned(), rgb)
        })
        .collect();
    let mut checked = 0;
    for item in items(&FRESH_COLOUR, "both", "generate") {
        let Target::Choice { question, .. } = &item.target else {
            panic!("a choice")
        };
        if item.tags["kind"] != "extreme" {
            continue;
        }
        let named = super::names(super::between(question, "colours ", ". "));
        let picture = picture(&item).unwrap();
        for (place, name) in named.iter().enumerate() {
            let dot = picture.get(64 + 128 * place as u32, 80).unwrap();
            assert_eq!(dot, table[&name.replace(' ', "")], "{question}");
        }
        checked += 1;
    }
    assert!(checked >= 8, "{checked}");
}

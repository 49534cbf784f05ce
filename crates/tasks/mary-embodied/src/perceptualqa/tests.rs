use std::collections::BTreeSet;

use mary_contract::{Generated, NoData, Outcome, Request, Response};

use super::*;

fn settings(pairs: &[(&str, &str)]) -> TaskSettings {
    TaskSettings {
        params: pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn items(settings: &TaskSettings) -> Vec<Item> {
    PERCEPTUAL_QA
        .items(settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn our_own_questions_come_in_two_orders_under_ids_that_differ() {
    let items = items(&settings(&[]));
    assert!(items.len() >= 2 * 9 * 20, "{}", items.len());
    let ids: BTreeSet<&str> = items.iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids.len(), items.len());
    let subtasks: BTreeSet<&str> = items.iter().map(|i| i.tags["subtask"].as_str()).collect();
    assert_eq!(subtasks.len(), 9);
    for first in items.iter().filter(|i| i.tags["order"] == "1") {
        let twin_id = format!("{}-2", first.id.strip_suffix("-1").unwrap());
        let second = items.iter().find(|i| i.id == twin_id).unwrap();
        let (
            Target::Choice {
                options: a,
                correct: x,
                ..
            },
            Target::Choice {
                options: b,
                correct: y,
                ..
            },
        ) = (&first.target, &second.target)
        else {
            panic!("choices")
        };
        assert_eq!(a[*x], b[*y], "{}", first.id);
        assert_ne!(x, y, "{}", first.id);
        assert_eq!(first.cluster, second.cluster);
    }
}

#[test]
fn the_index_that_was_asked_is_the_index_that_is_read() {
    let settings = settings(&[("mode", "generate")]);
    let item = &items(&settings)[3];
    let index = index_of(&item.id).unwrap();
    let Request::Generate(generate) = &item.asks[0].request else {
        panic!("words are asked for")
    };
    assert!(
        generate
            .prompt
            .text()
            .contains(&format!("\"index\": {index},"))
    );
    assert_eq!(generate.sampling.temperature, 0.0);
    let Target::Choice { correct, .. } = item.target else {
        panic!("a choice")
    };
    let text = format!(
        r#"{{"index": {index}, "answer": "{}"}}"#,
        choice::LETTERS[correct]
    );
    let reply = Reply::bare(Response::Generated(Generated::whole(text)));
    let verdict = PERCEPTUAL_QA.judge(&settings, item, &[reply]);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    assert_eq!(verdict.measures["exact"], 1.0);
}

#[test]
fn the_two_parts_of_a_split_are_the_whole() {
    let ids = |part| -> BTreeSet<String> {
        items(&settings(&[("split", part)]))
            .into_iter()
            .map(|i| i.id)
            .collect()
    };
    let (train, test, all) = (ids("train"), ids("test"), ids("all"));
    assert!(train.is_disjoint(&test));
    assert_eq!(train.len() + test.len(), all.len());
    let share = test.len() as f64 / all.len() as f64;
    assert!((share - 0.2).abs() < 0.02, "{share}");
    // Both orders of a question are on one side.
    for id in &test {
        let question = id.rsplit_once('-').unwrap().0;
        assert!(test.contains(&format!("{question}-1")) && test.contains(&format!("{question}-2")));
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    for (name, value) in [
        ("mode", "guess"),
        ("language", "fr"),
        ("orders", "3"),
        ("split", "dev"),
    ] {
        let error = PERCEPTUAL_QA
            .items(&settings(&[(name, value)]), &NoData)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(&format!("`{name}={value}` is not one of")),
            "{error}"
        );
    }
}

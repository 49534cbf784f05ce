//! Questions about small pictures: twins under the same ids with four kinds of picture, answers balanced so
//! that whoever reads the words alone is at chance, and wrong settings refused by name.

use std::collections::BTreeMap;

use mary_audit::{AuditSettings, Example, audit};
use mary_contract::{Item, NoData, Part, Request, Target, Task, TaskSettings};
use mary_embodied::SCENES;
use mary_generators::Picture;

fn settings(params: &[(&str, &str)]) -> TaskSettings {
    let params = params.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    TaskSettings {
        seed: 5,
        params: params.collect(),
        ..TaskSettings::default()
    }
}

fn items(params: &[(&str, &str)]) -> Vec<Item> {
    let all = SCENES.items(&settings(params), &NoData).unwrap();
    all.map(Result::unwrap).collect()
}

/// The words of an item's prompt, and its picture.
fn shown(item: &Item) -> (String, Option<Picture>) {
    let prompt = match &item.asks[0].request {
        Request::Score(score) => &score.prefix,
        Request::Generate(generate) => &generate.prompt,
        Request::Observe(_) => panic!("not observed"),
    };
    let parts = prompt.turns.iter().flat_map(|t| &t.parts);
    let picture = parts.clone().find_map(|part| match part {
        Part::Image(image) => Some(Picture::from_png(&image.data).unwrap()),
        Part::Text(_) => None,
    });
    (prompt.text(), picture)
}

#[test]
fn the_four_kinds_of_picture_are_twins() {
    let of = |picture| items(&[("picture", picture), ("n", "80"), ("size", "48")]);
    let (own, blank, other, none) = (of("own"), of("blank"), of("other"), of("none"));
    let mut same = 0;
    for i in 0..80 {
        for twin in [&blank[i], &other[i], &none[i]] {
            assert_eq!(twin.id, own[i].id);
            assert_eq!(twin.target, own[i].target);
            assert_eq!(shown(twin).0, shown(&own[i]).0);
        }
        let picture = |items: &[Item]| shown(&items[i]).1;
        assert!(picture(&none).is_none());
        let paper = picture(&blank).unwrap();
        assert!(paper.dots().all(|dot| Some(dot) == paper.get(0, 0)));
        assert_ne!(picture(&own), picture(&other));
        let from = (0..80)
            .find(|j| shown(&own[*j]).1 == picture(&other))
            .unwrap();
        assert_eq!(shown(&own[from]).0, shown(&own[i]).0, "asked the same");
        same += usize::from(own[from].target == own[i].target);
    }
    assert_eq!(same, 20, "a quarter of the others have the same answer");
}

#[test]
fn whoever_reads_the_words_alone_is_at_chance() {
    let items = items(&[("n", "960"), ("picture", "none")]);
    let mut by_words: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut examples = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let Target::Choice {
            question,
            options,
            correct,
        } = &item.target
        else {
            panic!("a choice");
        };
        by_words.entry(question.clone()).or_default()[*correct] += 1;
        let options = options.clone();
        examples.push(Example::new(
            number.to_string(),
            question.clone(),
            options,
            *correct,
        ));
    }
    assert_eq!(
        by_words.len(),
        17,
        "four subjects of four kinds, and counts"
    );
    for (words, counts) in &by_words {
        assert!(
            counts.iter().all(|n| *n == counts[0]),
            "{words}: {counts:?}"
        );
    }
    let settings = AuditSettings {
        folds: 5,
        permutations: 99,
        ..AuditSettings::default()
    };
    let report = audit(&examples, &settings).unwrap();
    for finding in &report.findings {
        let (name, accuracy) = (&finding.baseline, finding.accuracy.value);
        assert!(accuracy <= 0.30, "{name} reaches {accuracy:.3}");
    }
    assert_eq!(report.shortcuts().count(), 0);
}

#[test]
fn what_a_model_needs_depends_on_what_is_shown() {
    let needs = |params: &[(&str, &str)]| SCENES.needs(&settings(params));
    assert!(needs(&[]).images && needs(&[]).score && !needs(&[]).generate);
    assert!(!needs(&[("picture", "none")]).images);
    assert!(needs(&[("mode", "generate")]).generate);
}

#[test]
fn a_wrong_setting_is_named_with_what_it_can_be() {
    for (name, value) in [
        ("picture", "red"),
        ("n", "81"),
        ("size", "7"),
        ("mode", "x"),
    ] {
        let error = SCENES.items(&settings(&[(name, value)]), &NoData);
        let error = error.err().unwrap().to_string();
        assert!(error.contains(&format!("{name}={value}")), "{error}");
    }
}

//! What a user of the tasks relies on: twins that can be paired, a blind guesser at a quarter, shots
//! from where they are said to come, and verdicts that tell unread from wrong.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{
    Ask, ContinuationScore, Family as _, Finish, Generated, Item, ModelRole, NoData, Outcome, Part,
    PromptForm, Reply, Request, Response, Sample, SampleId, Scored, Speaker, Target, Task,
    TaskSettings, UnscoredReason,
};
use mary_physico::PHYSICO;
use mary_physico::instances::Split;

fn task(id: &str) -> std::sync::Arc<dyn Task> {
    let mut tasks = PHYSICO.tasks().into_iter();
    tasks.find(|t| t.card().id == id).unwrap()
}

fn settings(set: &[(&str, &str)]) -> TaskSettings {
    TaskSettings {
        seed: 3,
        params: set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn items(id: &str, set: &[(&str, &str)]) -> Vec<Item> {
    let items = task(id).items(&settings(set), &NoData).unwrap();
    items.collect::<Result<_, _>>().unwrap()
}

fn choice(item: &Item) -> (&[String], usize) {
    match &item.target {
        Target::Choice {
            options, correct, ..
        } => (options, *correct),
        other => panic!("{other:?}"),
    }
}

fn says(text: &str, finish: Finish) -> Reply {
    Reply::bare(Response::Generated(Generated {
        text: text.into(),
        finish,
        reasoning: None,
    }))
}

fn prompt_of(ask: &Ask) -> &mary_contract::Prompt {
    match &ask.request {
        Request::Generate(g) => &g.prompt,
        Request::Score(s) => &s.prefix,
        Request::Observe(_) => panic!("nothing is observed here"),
    }
}

#[test]
fn text_picture_and_definition_are_twins() {
    let one = &[("per_concept", "1")];
    let index = |items: Vec<Item>| -> BTreeMap<String, (Vec<String>, usize)> {
        let entry = |i: Item| {
            let (options, correct) = choice(&i);
            (i.id.clone(), (options.to_vec(), correct))
        };
        items.into_iter().map(entry).collect()
    };
    let text = index(items("physico/core-text", one));
    assert_eq!(text, index(items("physico/core-visual", one)));
    let analogies = index(items("physico/associative-text", one));
    assert_eq!(analogies, index(items("physico/associative-visual", one)));
    let both: BTreeMap<_, _> = text.into_iter().chain(analogies).collect();
    assert_eq!(both, index(items("physico/definition", one)));
}

#[test]
fn every_core_concept_is_asked_and_splits_are_told_apart() {
    let core = items("physico/core-text", &[("per_concept", "1")]);
    let concepts: BTreeSet<&str> = core.iter().map(|i| i.tags["concept"].as_str()).collect();
    assert_eq!(concepts.len(), 52);
    for item in &core {
        let split = Split::of_core(&item.tags["concept"]).unwrap();
        assert_eq!(item.tags["split"], split.name());
    }
    let dev = items(
        "physico/core-text",
        &[("per_concept", "1"), ("split", "dev")],
    );
    let concepts: BTreeSet<&str> = dev.iter().map(|i| i.tags["concept"].as_str()).collect();
    assert_eq!(concepts.len(), 25);
    let analogies = items("physico/associative-text", &[("per_concept", "1")]);
    let concepts: BTreeSet<&str> = analogies
        .iter()
        .map(|i| i.tags["concept"].as_str())
        .collect();
    assert_eq!(concepts.len(), 29);
    assert!(analogies.iter().all(|i| i.tags["split"] == "associative"));
}

#[test]
fn whoever_does_not_look_scores_a_quarter() {
    for id in ["physico/core-text", "physico/associative-text"] {
        let items = items(id, &[("per_concept", "2")]);
        // A fixed liking for labels, a liking for long ones, a liking for a place.
        let rules: [fn(&[String]) -> usize; 4] = [
            |o| (0..4).min_by_key(|&i| o[i].clone()).unwrap(),
            |o| (0..4).max_by_key(|&i| (o[i].len(), o[i].clone())).unwrap(),
            |_| 0,
            |_| 3,
        ];
        for rule in rules {
            let right = items.iter().filter(|i| {
                let (options, correct) = choice(i);
                rule(options) == correct
            });
            assert_eq!(right.count() * 4, items.len(), "{id}");
        }
    }
}

#[test]
fn shots_come_from_other_concepts_or_from_the_options() {
    let chat = |icl: &str, id: &str| -> Item {
        let settings = TaskSettings {
            form: PromptForm::Chat,
            ..settings(&[("per_concept", "1"), ("icl", icl)])
        };
        task(id)
            .items(&settings, &NoData)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
    };
    for (icl, shots) in [("3", 3), ("9", 9), ("9-same", 9)] {
        for id in ["physico/core-text", "physico/core-visual"] {
            let item = chat(icl, id);
            let turns = &prompt_of(&item.asks[0]).turns;
            assert_eq!(turns.len(), 2 * shots + 1);
            let (options, _) = choice(&item);
            for turn in turns.iter().filter(|t| t.speaker == Speaker::Assistant) {
                let [Part::Text(answer)] = turn.parts.as_slice() else {
                    panic!("one answer")
                };
                assert_eq!(options.contains(answer), icl == "9-same", "{icl}: {answer}");
            }
            let pictures = turns
                .iter()
                .filter(|t| matches!(t.parts.first(), Some(Part::Image(_))))
                .count();
            assert_eq!(pictures, if id.ends_with("visual") { shots + 1 } else { 0 });
        }
    }
}

#[test]
fn a_prompt_picture_is_a_png_of_the_size_models_see() {
    let item = items("physico/associative-visual", &[("per_concept", "1")]).remove(0);
    let prompt = prompt_of(&item.asks[0]);
    let Part::Image(image) = &prompt.turns[0].parts[0] else {
        panic!("a picture first")
    };
    assert_eq!(image.media_type, "image/png");
    assert!(image.data.starts_with(b"\x89PNG"));
    assert!(
        task("physico/associative-visual")
            .needs(&settings(&[]))
            .images
    );
}

#[test]
fn unread_is_not_wrong_and_a_tie_is_shared() {
    let written = settings(&[("per_concept", "1"), ("mode", "generate")]);
    let core = task("physico/core-text");
    let item = core
        .items(&written, &NoData)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let (options, correct) = choice(&item);
    let judge = |reply: Reply| core.judge(&written, &item, &[reply]);
    let right = judge(says(&format!("Hm.\n\n{}", options[correct]), Finish::Stop));
    assert_eq!(right.outcome, Outcome::Scored(1.0));
    assert_eq!(
        (right.measures["accuracy"], right.measures["strict"]),
        (1.0, 1.0)
    );
    let wrong = judge(says(&options[(correct + 1) % 4], Finish::Stop));
    assert_eq!(wrong.outcome, Outcome::Scored(0.0));
    let cases = [
        (says("no idea", Finish::Stop), UnscoredReason::Unparsed),
        (
            says("Let me see", Finish::Length),
            UnscoredReason::Truncated,
        ),
        (
            says(&options[correct], Finish::Refusal),
            UnscoredReason::Refused,
        ),
    ];
    for (reply, reason) in cases {
        let verdict = judge(reply);
        assert_eq!(verdict.outcome, Outcome::Unscored(reason));
        assert_eq!(verdict.measures["accuracy"], 0.0);
    }
    let scores = |values: [f32; 4]| {
        let continuations = values.map(|v| ContinuationScore {
            tokens: vec!["x".into()],
            logprobs: vec![v],
            boundary_merged: false,
            first_unscored: false,
            windowed: false,
            details: None,
        });
        Reply::bare(Response::Scored(Scored {
            continuations: continuations.to_vec(),
        }))
    };
    assert_eq!(judge(scores([-1.0; 4])).outcome, Outcome::Scored(0.25));
    assert!(matches!(
        judge(scores([f32::NAN; 4])).outcome,
        Outcome::Failed(_)
    ));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let refused = |id: &str, set: &[(&str, &str)]| {
        task(id)
            .items(&settings(set), &NoData)
            .err()
            .map(|e| e.to_string())
    };
    type Case = (
        &'static str,
        &'static [(&'static str, &'static str)],
        &'static str,
    );
    let cases: [Case; 6] = [
        ("physico/core-text", &[("cot", "on")], "mode=generate"),
        ("physico/core-text", &[("icl", "5")], "0, 3, 9, 9-same"),
        ("physico/core-text", &[("source", "arc")], "labels=FILE"),
        (
            "physico/core-text",
            &[("per_concept", "0")],
            "per_concept=0",
        ),
        ("physico/photo", &[], "manifest=FILE"),
        ("physico/perception-text", &[("n", "6")], "multiple of 4"),
    ];
    for (id, set, message) in cases {
        let said = refused(id, set).unwrap_or_default();
        assert!(said.contains(message), "{id} {set:?}: {said}");
    }
}

#[test]
fn a_description_is_masked_before_it_is_guessed_and_a_judge_may_read_it() {
    let describe = task("physico/describe");
    let with_judge = settings(&[("judge", "on")]);
    assert!(describe.needs(&with_judge).judge);
    let item = describe
        .items(&with_judge, &NoData)
        .unwrap()
        .map(Result::unwrap)
        .find(|i| i.tags["concept"] == "gravity")
        .unwrap();
    let first = says("Gravity: masses gravitate. Newton saw it.", Finish::Stop);
    let asks = describe
        .follow_up(&with_judge, &item, std::slice::from_ref(&first))
        .unwrap();
    let roles: Vec<ModelRole> = asks.iter().map(|a| a.role).collect();
    assert_eq!(roles, [ModelRole::Subject, ModelRole::Judge]);
    let guess = prompt_of(&asks[0]).text();
    assert!(
        guess.contains("[PHENOMENON]: masses [PHENOMENON]. [MASK] saw it."),
        "{guess}"
    );
    assert!(prompt_of(&asks[1]).text().contains("masses gravitate"));
    let answers = [
        first,
        says("gravity", Finish::Stop),
        says("1", Finish::Stop),
    ];
    assert!(
        describe
            .follow_up(&with_judge, &item, &answers)
            .unwrap()
            .is_empty()
    );
    let verdict = describe.judge(&with_judge, &item, &answers);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    assert_eq!(verdict.measures["judged_correct"], 1.0);
    assert_eq!(verdict.notes["masked"]["names"], 2);
}

fn sample(item: &Item, trial: u32, reply: Reply) -> Sample {
    let core = task("physico/core-text");
    Sample {
        id: SampleId::new("m", "physico/core-text", item.id.clone(), trial),
        judgement: core.judge(&settings(&[]), item, &[reply]),
        item: item.clone(),
        exchanges: vec![],
    }
}

#[test]
fn the_deviation_over_runs_is_the_papers() {
    // Two items of a concept, three runs of 0, 0 and 50 %: the paper prints 16.7 ± 23.6.
    let items = items(
        "physico/core-text",
        &[("per_concept", "2"), ("mode", "generate")],
    );
    let of: Vec<&Item> = items
        .iter()
        .filter(|i| i.tags["concept"] == "nuclear fission")
        .collect();
    let mut samples = Vec::new();
    for trial in 0..3 {
        for (index, item) in of.iter().take(2).enumerate() {
            let (options, correct) = choice(item);
            let said = if trial == 2 && index == 0 {
                correct
            } else {
                (correct + 1) % 4
            };
            samples.push(sample(item, trial, says(&options[said], Finish::Stop)));
        }
    }
    let measures = task("physico/core-text").overall(&settings(&[]), &mut samples.into_iter());
    let value = |name: &str| {
        let found = measures.iter().find(|m| m.name == name);
        100.0
            * found
                .unwrap_or_else(|| panic!("{name}: {measures:?}"))
                .estimate
                .value
    };
    assert!((value("accuracy[concept=nuclear fission]") - 16.7).abs() < 0.05);
    assert!((value("sd_over_runs[concept=nuclear fission]") - 23.6).abs() < 0.05);
    assert!((value("sd_over_runs[split=core-test]") - 23.6).abs() < 0.05);
}

#[test]
fn photographs_are_named_by_a_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("photos.csv");
    std::fs::write(dir.path().join("apple.png"), b"\x89PNG").unwrap();
    std::fs::write(&file, "image,label\napple.png,Gravity\n").unwrap();
    let path = file.to_str().unwrap();
    let item = items("physico/photo", &[("manifest", path)]).remove(0);
    let (options, correct) = choice(&item);
    assert_eq!((options.len(), options[correct].as_str()), (4, "gravity"));
    std::fs::write(&file, "apple.png,tides\n").unwrap();
    let set = settings(&[("manifest", path)]);
    let error = task("physico/photo")
        .items(&set, &NoData)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("photos.csv:1: `tides`"), "{error}");
}

#[test]
fn photographs_may_bring_options_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("photos.jsonl");
    std::fs::write(dir.path().join("moon.png"), b"\x89PNG").unwrap();
    let lines = [
        r#"{"image": "moon.png", "label": "tides", "options": ["tides", "gravity", "laser", "wave"]}"#,
        r#"{"image": "moon.png", "label": "Gravity"}"#,
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let path = file.to_str().unwrap();
    let items = items("physico/photo", &[("manifest", path)]);
    let (options, correct) = choice(&items[0]);
    assert_eq!(options[correct], "tides");
    assert_eq!(options.len(), 4);
    // Options that no grid has take no part in the gap; those of a grid do.
    assert!(!items[0].tags.contains_key("pair"));
    assert!(items[1].tags["pair"].ends_with(": gravity"));
    for (line, message) in [
        (
            r#"{"image": "moon.png", "label": "tides"}"#,
            "none of the 67",
        ),
        (
            r#"{"image": "moon.png", "label": "tides", "options": ["tides", "a", "b"]}"#,
            "four different options",
        ),
        (
            r#"{"image": "moon.png", "label": "x", "options": ["a", "b", "c", "d"]}"#,
            "among the options",
        ),
        (r#"{"label": "gravity"}"#, "image"),
    ] {
        std::fs::write(&file, line).unwrap();
        let set = settings(&[("manifest", path)]);
        let error = task("physico/photo").items(&set, &NoData).err().unwrap();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn core_properties_are_recalled_before_and_after_a_second_turn() {
    let describe = task("physico/describe");
    let set = settings(&[("recall", "on"), ("judge", "on")]);
    assert!(describe.needs(&set).judge);
    let item = describe
        .items(&set, &NoData)
        .unwrap()
        .map(Result::unwrap)
        .find(|i| i.tags["concept"] == "gravity")
        .unwrap();
    let mut answers = vec![says("Bodies attract each other.", Finish::Stop)];
    let asks = describe.follow_up(&set, &item, &answers).unwrap();
    let roles: Vec<ModelRole> = asks.iter().map(|a| a.role).collect();
    let (subject, judge) = (ModelRole::Subject, ModelRole::Judge);
    assert_eq!(roles, [subject, judge, subject, judge]);
    let more = prompt_of(&asks[2]).text();
    assert!(more.contains("Bodies attract each other."), "{more}");
    assert!(
        more.contains("Any more core properties or examples?"),
        "{more}"
    );
    assert!(prompt_of(&asks[3]).text().contains("\n2. "));
    for reply in ["gravity", "1", "Things fall down.", "2"] {
        answers.push(says(reply, Finish::Stop));
    }
    let asks = describe.follow_up(&set, &item, &answers).unwrap();
    assert_eq!(asks.len(), 1);
    let both = prompt_of(&asks[0]).text();
    assert!(
        both.contains("attract") && both.contains("Things fall down."),
        "{both}"
    );
    answers.push(says("1, 2", Finish::Stop));
    assert!(
        describe
            .follow_up(&set, &item, &answers)
            .unwrap()
            .is_empty()
    );
    let verdict = describe.judge(&set, &item, &answers);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    assert_eq!(verdict.measures["judged_correct"], 1.0);
    let (before, after) = (
        verdict.measures["recall"],
        verdict.measures["recall_with_more"],
    );
    assert!(
        (after - 2.0 * before).abs() < 1e-9 && before > 0.0,
        "{before} {after}"
    );
}

#[test]
fn every_task_says_how_it_was_scored() {
    for task in PHYSICO.tasks() {
        let conventions = task.conventions(&TaskSettings::default());
        for name in ["template", "source", "answer"] {
            assert!(
                conventions.contains_key(name),
                "{}: no {name}",
                task.card().id
            );
        }
        // What people or a judge mark has no chance level.
        let id = &task.card().id;
        let marked = id.contains("relabel") || id.contains("free-perception");
        assert!(marked || task.card().chance == Some(0.25), "{id}");
    }
}

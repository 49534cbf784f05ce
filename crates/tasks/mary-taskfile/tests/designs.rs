//! Designs: SyntaxGym's suites as they are, and a table of a user's with two crossed factors.

use mary_contract::{
    ContinuationScore, Item, NoData, Outcome, Reply, ReplyMeta, Request, Response, Sample,
    SampleId, Scored, Task, TaskSettings, TokenDetails,
};
use mary_taskfile::DesignTask;

use crate::support::Folder;

const TASK: &str = r#"
title = "Attraction"
[data]
path = "d.csv"
[design]
item = "item"
factors = ["attractor", "match"]
regions = ["subject", "verb", "rest"]
[predictions]
harder = "[(verb;%sg_bad%) > (verb;%sg_good%)] & [(verb;%pl_bad%) > (verb;%pl_good%)]"
attracted = "(verb;%sg_bad%) - (verb;%sg_good%) > (2;%pl_bad%) - (2;%pl_good%)"
[effects]
whole = "(*;%sg_bad%) - (*;%sg_good%)"
"#;

fn table(items: usize) -> String {
    let mut text = "item,attractor,match,subject,verb,rest\n".to_owned();
    for item in 0..items {
        for (attractor, near) in [("sg", "cabinet"), ("pl", "cabinets")] {
            for (fits, verb) in [("good", "is"), ("bad", "are")] {
                text += &format!("{item},{attractor},{fits},The key to the {near},{verb},\n");
            }
        }
    }
    text
}

/// Scores in which every word is a token, its space included; the verb has these bits in each condition.
fn answer(item: &Item, verbs: &[f64]) -> Reply {
    let Request::Score(score) = &item.asks[0].request else {
        panic!("expected scores");
    };
    let continuations = score.continuations.iter().zip(verbs).map(|(text, bits)| {
        let (mut places, mut logprobs, mut at) = (Vec::new(), Vec::new(), 0);
        for word in text.split(' ') {
            let start = at.max(1) - 1;
            at += word.len() + 1;
            places.push((start as u32, at as u32 - 1));
            let bits = if matches!(word, "is" | "are") {
                *bits
            } else {
                1.0
            };
            logprobs.push((-bits * std::f64::consts::LN_2) as f32);
        }
        ContinuationScore {
            tokens: places.iter().map(|_| "t".to_owned()).collect(),
            logprobs,
            boundary_merged: false,
            first_unscored: false,
            windowed: false,
            details: Some(Box::new(TokenDetails {
                places,
                ..TokenDetails::default()
            })),
        }
    });
    Reply {
        answer: Response::Scored(Scored {
            continuations: continuations.collect(),
        }),
        meta: ReplyMeta::default(),
    }
}

fn design(folder: &Folder) -> DesignTask {
    let read = DesignTask::read(&folder.path("mytask.toml"));
    read.unwrap().expect("a design")
}

#[test]
fn an_item_has_a_verdict_for_each_prediction_and_the_crossing_its_interval() {
    let folder = Folder::new(TASK, ("d.csv", table(6).as_bytes()));
    let task = design(&folder);
    let settings = TaskSettings::default();
    let items: Vec<Item> = task
        .items(&settings, &NoData)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(items.len(), 6);
    let mut samples = Vec::new();
    for (at, item) in items.iter().enumerate() {
        // sg good, sg bad, pl good, pl bad: interaction (2 - 4) shifts with the item.
        let verbs = [3.0, 7.0, 4.0, 6.0 + at as f64 * 0.5];
        let judgement = task.judge(&settings, item, &[answer(item, &verbs)]);
        assert_eq!(judgement.outcome, Outcome::Scored(1.0));
        let attracted = if verbs[3] - verbs[2] < 4.0 { 1.0 } else { 0.0 };
        assert_eq!(judgement.measures["attracted"], attracted, "{at}");
        samples.push(Sample {
            id: SampleId::new("m", task.card().id.to_string(), item.id.clone(), 0),
            item: item.clone(),
            exchanges: Vec::new(),
            judgement,
        });
    }
    let overall = task.overall(&settings, &mut samples.into_iter());
    let of = |name: &str| {
        let found = overall.iter().find(|m| m.name == format!("{name}, bits"));
        found
            .unwrap_or_else(|| panic!("no {name}"))
            .estimate
            .clone()
    };
    // (pl bad - pl good) - (sg bad - sg good): the mean of 2, 2.5 … 4.5 less 4, by Student's t with five degrees.
    let crossed = of("attractor × match, region verb");
    assert!((crossed.value + 0.75).abs() < 1e-5, "{crossed:?}");
    assert!((crossed.high - crossed.low - 2.0 * 2.570_582 * 0.381_881).abs() < 1e-4);
    assert!((of("match: bad - good, region verb").value - (4.0 + 3.25) / 2.0).abs() < 1e-5);
    assert!((of("whole").value - 4.0).abs() < 1e-5);
    assert!((of("(verb;%pl_good%)").value - 4.0).abs() < 1e-5);
}

#[test]
fn what_is_wrong_with_a_design_is_told() {
    let fault = |task: &str, data: &str| {
        let folder = Folder::new(task, ("d.csv", data.as_bytes()));
        let read = DesignTask::read(&folder.path("mytask.toml"));
        read.err().expect("a fault").to_string()
    };
    let whole = table(2);
    let short = whole.trim_end().rsplit_once('\n').unwrap().0;
    assert!(fault(TASK, short).contains("item `1` does not have each condition once"));
    let other = TASK.replace("%pl_bad%) > (verb", "%pl_awful%) > (verb");
    assert!(fault(&other, &whole).contains("names no condition; there are: sg_good, sg_bad"));
    let other = TASK.replace("(verb;%sg_bad%) >", "(noun;%sg_bad%) >");
    assert!(
        fault(&other, &whole).contains("mytask.toml:10: "),
        "{}",
        fault(&other, &whole)
    );
    let other = TASK.replace("\"rest\"]", "\"end\"]");
    assert!(fault(&other, &whole).contains("there is no column `end`"));
    let other = TASK.replace("whole = \"(*;%sg_bad%) -", "whole = \"(*;%sg_bad%) >");
    assert!(fault(&other, &whole).contains("an effect is a number"));
}

#[test]
fn all_suites_of_syntaxgym_are_read_as_they_are() {
    let Some(root) = mary_testkit::lacking::datasets("syntaxgym") else {
        return;
    };
    let (mut suites, mut items, mut predictions) = (0, 0, 0);
    for entry in std::fs::read_dir(root.join("syntaxgym/suites")).unwrap() {
        let path = entry.unwrap().path();
        let task = DesignTask::read(&path).unwrap().expect("a suite");
        let settings = TaskSettings::default();
        for item in task.items(&settings, &NoData).unwrap() {
            let Request::Score(score) = &item.unwrap().asks[0].request else {
                panic!("expected scores");
            };
            assert!(
                score
                    .continuations
                    .iter()
                    .all(|text| !text.contains("  ") && text.trim() == text)
            );
            items += 1;
        }
        let said = task.conventions(&settings);
        predictions += said.keys().filter(|k| k.starts_with("prediction")).count();
        suites += 1;
    }
    assert_eq!((suites, items, predictions), (34, 842, 36));
}

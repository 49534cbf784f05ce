//! What the A/B tasks promise: the same items in every mode, honest verdicts, settings refused in
//! words.

use mary_contract::{ContinuationScore, ModelRole, NoData, Outcome};

use super::*;
use crate::tasks::AB_TASKS;

fn settings(pairs: &[(&str, &str)]) -> TaskSettings {
    TaskSettings {
        seed: 7,
        params: pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn items(task: &AbTask, settings: &TaskSettings) -> Vec<Item> {
    task.items(settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn words(text: &str, finish: Finish) -> Reply {
    Reply::bare(Response::Generated(Generated {
        text: text.into(),
        finish,
        reasoning: None,
    }))
}

fn scores(a: f32, b: f32) -> Reply {
    let one = |logprob| ContinuationScore {
        tokens: vec!["x".into()],
        logprobs: vec![logprob],
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    };
    Reply::bare(Response::Scored(Scored {
        continuations: vec![one(a), one(b)],
    }))
}

/// An item whose right answer is A.
fn an_a_item(task: &AbTask, settings: &TaskSettings) -> Item {
    items(task, settings)
        .into_iter()
        .find(|i| i.stratum == "A")
        .unwrap()
}

#[test]
fn items_are_the_same_in_every_mode() {
    for task in AB_TASKS {
        let of = |mode| -> Vec<(String, Target)> {
            items(task, &settings(&[("mode", mode), ("n", "20")]))
                .into_iter()
                .map(|i| (i.id, i.target))
                .collect()
        };
        let score = of("score");
        assert_eq!(score.len(), 20);
        assert_eq!(score, of("generate"));
        assert_eq!(score, of("cot"));
    }
}

#[test]
fn a_smaller_set_has_items_of_the_larger_one() {
    for task in AB_TASKS {
        let small = task.rule.sets(3, 40).unwrap();
        let large = task.rule.sets(3, 200).unwrap();
        assert_eq!(small.shots, large.shots);
        assert!(small.test.iter().all(|e| large.test.contains(e)));
    }
}

#[test]
fn the_shots_are_an_identical_beginning() {
    let task = AB_TASKS[7];
    for mode in ["score", "generate", "cot"] {
        let texts: Vec<String> = items(task, &settings(&[("mode", mode)]))
            .iter()
            .map(|item| match &item.asks[0].request {
                Request::Score(s) => s.prefix.text(),
                Request::Generate(g) => g.prompt.text(),
                Request::Observe(_) => unreachable!("H-TEST never looks inside"),
            })
            .collect();
        let shared = texts[0].rfind("Input: \"").unwrap();
        assert!(texts.iter().all(|t| t[..shared] == texts[0][..shared]));
    }
}

/// The lines of the shots that a prompt shows.
fn shot_lines(task: &AbTask, k: usize, seed: u64, order: &str) -> Vec<String> {
    let mut set = settings(&[("n", "2"), ("mode", "generate"), ("order", order)]);
    set.shots = Some(k);
    set.seed = seed;
    let first = items(task, &set).remove(0);
    let Request::Generate(generate) = &first.asks[0].request else {
        panic!("a generated answer was set")
    };
    let text = generate.prompt.text();
    text.lines().take(k).map(str::to_owned).collect()
}

fn labels(lines: &[String]) -> String {
    lines
        .iter()
        .filter_map(|line| line.chars().last())
        .collect()
}

#[test]
fn the_published_order_is_a_and_b_by_turns() {
    for k in [0, 4, 14, 28, 50] {
        let by_turns: String = "AB".chars().cycle().take(k).collect();
        assert_eq!(
            labels(&shot_lines(AB_TASKS[0], k, 7, "alternating")),
            by_turns
        );
    }
}

#[test]
fn fresh_shots_are_mixed_by_the_seed_and_as_many_a_as_b() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..8 {
        for task in &AB_TASKS[..3] {
            for k in [4, 50] {
                let lines = shot_lines(task, k, seed, "auto");
                let order = labels(&lines);
                assert_eq!(order.matches('A').count(), k / 2, "{order}");
                assert!(
                    order.contains("AA") || order.contains("BB"),
                    "{} seed {seed}: {order} alternates",
                    task.card.id
                );
                orders.insert(order);
            }
        }
    }
    // All four orders of four that do not alternate, and of fifty none twice.
    assert_eq!(orders.len(), 4 + 24);
}

#[test]
fn mixed_shots_are_those_of_the_published_order() {
    for k in [14, 28] {
        let mixed = shot_lines(AB_TASKS[3], k, 5, "random");
        assert_eq!(mixed, shot_lines(AB_TASKS[3], k, 5, "auto"));
        let turns = shot_lines(AB_TASKS[3], k, 5, "alternating");
        assert_ne!(mixed, turns);
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        assert_eq!(sorted(mixed), sorted(turns));
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_in_words() {
    let task = AB_TASKS[0];
    for (name, value, says) in [
        ("mode", "guess", "mode=guess"),
        ("source", "web", "source=web"),
        ("n", "7", "even"),
        ("n", "x", "n=x"),
        ("tail", "dog", "tail=dog"),
        ("order", "up", "order=up"),
        ("colour", "red", "no parameter `colour`"),
    ] {
        let error = task
            .items(&settings(&[(name, value)]), &NoData)
            .err()
            .unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
    let mut odd = settings(&[]);
    odd.shots = Some(5);
    assert!(task.items(&odd, &NoData).is_err());
}

#[test]
fn the_more_probable_label_wins_and_a_tie_is_one_half() {
    let task = AB_TASKS[0];
    let set = settings(&[("n", "20")]);
    let item = an_a_item(task, &set);
    let verdict = |a, b| task.judge(&set, &item, &[scores(a, b)]).outcome;
    assert_eq!(verdict(-1.0, -2.0), Outcome::Scored(1.0));
    assert_eq!(verdict(-2.0, -1.0), Outcome::Scored(0.0));
    assert_eq!(verdict(-1.0, -1.0), Outcome::Scored(0.5));
    assert!(matches!(verdict(f32::NAN, -1.0), Outcome::Failed(_)));
}

#[test]
fn unparsed_is_not_wrong_but_lowers_the_papers_accuracy() {
    let task = AB_TASKS[0];
    let set = settings(&[("mode", "generate"), ("n", "20")]);
    let item = an_a_item(task, &set);
    let right = task.judge(&set, &item, &[words("A", Finish::Stop)]);
    assert_eq!(right.outcome, Outcome::Scored(1.0));
    assert_eq!(right.measures["strict"], 1.0);
    let unread = task.judge(&set, &item, &[words("A\nB", Finish::Length)]);
    assert_eq!(
        unread.outcome,
        Outcome::Unscored(UnscoredReason::Unparsed),
        "the paper's parser sees both letters"
    );
    assert_eq!(unread.measures["accuracy"], 0.0);
    assert_eq!(unread.measures["strict"], 1.0);
    assert_eq!(unread.measures["parsers_agree"], 0.0);
    let refused = task.judge(&set, &item, &[words("", Finish::Refusal)]);
    assert_eq!(refused.outcome, Outcome::Unscored(UnscoredReason::Refused));
}

#[test]
fn a_chain_of_thought_is_read_by_the_judge() {
    let task = AB_TASKS[0];
    let set = settings(&[("mode", "cot"), ("n", "20")]);
    assert!(task.needs(&set).judge);
    let item = an_a_item(task, &set);
    let thought = words("It has a capital, so A.", Finish::Stop);
    let asks = task
        .follow_up(&set, &item, std::slice::from_ref(&thought))
        .unwrap();
    assert_eq!(asks.len(), 1);
    assert_eq!(asks[0].role, ModelRole::Judge);
    let both = |reading: &str| [thought.clone(), words(reading, Finish::Stop)];
    assert!(task.follow_up(&set, &item, &both("A")).unwrap().is_empty());
    assert_eq!(
        task.judge(&set, &item, &both("A")).outcome,
        Outcome::Scored(1.0)
    );
    assert_eq!(
        task.judge(&set, &item, &both("B")).outcome,
        Outcome::Scored(0.0)
    );
    assert_eq!(
        task.judge(&set, &item, &both("None")).outcome,
        Outcome::Unscored(UnscoredReason::Unparsed)
    );
    let cut = [words("It has", Finish::Length), words("None", Finish::Stop)];
    assert_eq!(
        task.judge(&set, &item, &cut).outcome,
        Outcome::Unscored(UnscoredReason::Truncated)
    );
}

#[test]
fn scored_labels_follow_as_they_do_in_the_shots() {
    let task = AB_TASKS[0];
    let continuations = |form, tail| {
        let mut set = settings(&[("n", "2"), ("tail", tail)]);
        set.form = form;
        let first = items(task, &set).remove(0);
        let Request::Score(score) = &first.asks[0].request else {
            panic!("a score was set")
        };
        let text = score.prefix.text();
        let last = text.lines().last().unwrap().to_owned();
        (last, score.continuations.clone())
    };
    let (last, labels) = continuations(PromptForm::Plain, "auto");
    assert!(last.ends_with("\" Label:"), "{last}");
    assert_eq!(labels, [" A", " B"]);
    let (last, labels) = continuations(PromptForm::Chat, "auto");
    assert_eq!(last, "B (Respond in one letter and nothing else)");
    assert_eq!(labels, ["A", "B"]);
    let (_, labels) = continuations(PromptForm::Plain, "published");
    assert_eq!(labels, ["\nA", "\nB"]);
}

#[test]
fn conventions_say_how_a_score_was_made() {
    let set = settings(&[]);
    insta::assert_json_snapshot!(AB_TASKS[0].conventions(&set));
    let set = settings(&[("mode", "generate"), ("source", "published")]);
    insta::assert_json_snapshot!(AB_TASKS[0].conventions(&set));
}

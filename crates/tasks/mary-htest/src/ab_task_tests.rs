//! What the A/B tasks promise: the same items in every mode, honest verdicts, settings refused in
//! words.

use mary_contract::{ContinuationScore, Finish, ModelRole, NoData, Outcome};

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

fn prompt_of(item: &Item) -> String {
    match &item.asks[0].request {
        Request::Score(s) => s.prefix.text(),
        Request::Generate(g) => g.prompt.text(),
        Request::Observe(_) => unreachable!("H-TEST never looks inside"),
    }
}

/// The shots of an item, as text and label.
fn shots_of(item: &Item) -> Vec<(String, String)> {
    let shown = prompt::shown_examples(&prompt_of(item)).into_iter();
    shown.map(|e| (e.text, e.label)).collect()
}

#[test]
fn items_are_shared_out_among_draws_of_the_shots() {
    for task in AB_TASKS {
        let mut set = settings(&[("n", "80")]);
        set.shots = Some(4);
        let all = items(task, &set);
        assert_eq!(all.len(), 80);
        assert_eq!(task.family_tag(&set), Some(SHOT_SET));
        type Shots = Vec<(String, String)>;
        let mut pairs: BTreeMap<&str, (&str, Shots)> = BTreeMap::new();
        let mut draws: BTreeMap<&str, std::collections::BTreeSet<Vec<(String, String)>>> =
            BTreeMap::new();
        for item in &all {
            let draw = item.tags[SHOT_SET].as_str();
            let shown = shots_of(item);
            assert_eq!(shown.iter().filter(|s| s.1 == "A").count(), 2);
            // Twins are asked with the same shots, so that an answer to both cancels.
            let pair = pairs.entry(item.cluster.as_deref().unwrap());
            let (with, same) = pair.or_insert((draw, shown.clone()));
            assert_eq!((*with, &*same), (draw, &shown), "{}", task.card.id);
            draws.entry(draw).or_default().insert(shown);
        }
        assert_eq!(draws.len(), 10, "{}", task.card.id);
        // Ten draws of shots, no two alike; in each A and B stand in either place.
        let mut texts = std::collections::BTreeSet::new();
        for shown in draws.values() {
            for shots in shown {
                let mut of: Vec<&str> = shots.iter().map(|s| s.0.as_str()).collect();
                of.sort_unstable();
                texts.insert(of.join("|"));
            }
            assert!(shown.len() <= 2);
        }
        assert_eq!(texts.len(), 10, "{}", task.card.id);
    }
}

#[test]
fn whoever_answers_to_the_look_of_an_item_alone_is_at_chance() {
    for task in AB_TASKS {
        let all = items(task, &settings(&[("n", "80")]));
        let fixed = items(task, &settings(&[("n", "80"), ("labels", "fixed")]));
        let rule = |item: &Item| match &item.target {
            Target::Choice { correct, .. } => *correct,
            _ => panic!("a choice"),
        };
        let same = |(one, other): &(&Item, &Item)| rule(one) == rule(other);
        assert_eq!(all.len(), fixed.len());
        let right = all.iter().zip(&fixed).filter(same).count();
        // Someone who knows the rule and reads no shots; draws of rhymes are of unequal size.
        let off = right.abs_diff(40);
        assert!(off <= 8, "{}: {right} of 80", task.card.id);
        assert!(
            off == 0 || task.card.id == "htest/rhyme",
            "{}",
            task.card.id
        );
    }
}

#[test]
fn items_can_be_kept_apart_from_other_seeds() {
    let rhyme = AB_TASKS[7];
    let texts = |params: &[(&str, &str)]| {
        let all = items(rhyme, &settings(params)).into_iter();
        let question = |item: Item| match item.target {
            Target::Choice { question, .. } => (rhyme.rule.key)(&question),
            _ => panic!("a choice"),
        };
        all.map(question).collect::<std::collections::BTreeSet<_>>()
    };
    let other = rhyme.rule.sets(8, 200).unwrap();
    let theirs: std::collections::BTreeSet<String> = other
        .train
        .iter()
        .chain(&other.test)
        .map(|e| (rhyme.rule.key)(&e.text))
        .collect();
    // The lexicon is small: some pairs recur unless they are kept out.
    assert!(texts(&[]).intersection(&theirs).count() > 0);
    let apart = texts(&[("apart", "8, 7")]);
    assert_eq!(apart.len(), 200);
    assert_eq!(apart.intersection(&theirs).count(), 0);
}

#[test]
fn crossed_items_meet_every_draw() {
    let set = settings(&[("n", "20"), ("crossed", "yes"), ("shot_sets", "4")]);
    let all = items(AB_TASKS[0], &set);
    assert_eq!(all.len(), 80);
    let ids: std::collections::BTreeSet<&str> = all.iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids.len(), 80);
    let clusters: std::collections::BTreeSet<_> = all.iter().map(|i| &i.cluster).collect();
    assert_eq!(clusters.len(), 10, "pairs run across draws");
}

/// One list of shots with fixed labels is what versions 1 and 2 asked, item by item.
#[test]
fn one_draw_with_fixed_labels_is_the_first_of_many() {
    let one = settings(&[("n", "40"), ("shot_sets", "1"), ("labels", "fixed")]);
    let many = settings(&[("n", "40"), ("labels", "fixed")]);
    for task in [AB_TASKS[1], AB_TASKS[7]] {
        let (one, many) = (items(task, &one), items(task, &many));
        let first = |i: &&Item| i.tags[SHOT_SET] == "0";
        let alike = many.iter().filter(first);
        assert!(alike.clone().count() >= 2);
        for item in alike {
            let same = one.iter().find(|o| o.id == item.id).unwrap();
            assert_eq!(
                (prompt_of(same), &same.target),
                (prompt_of(item), &item.target)
            );
        }
    }
}

#[test]
fn any_number_of_shots_can_be_asked_of_fresh_items() {
    for k in [0, 1, 5, 51, 60] {
        let mut set = settings(&[("n", "20"), ("labels", "fixed")]);
        set.shots = Some(k);
        let mut more = std::collections::BTreeSet::new();
        for item in items(AB_TASKS[0], &set) {
            let prompt = prompt_of(&item);
            assert!(
                prompt.starts_with("Input: \""),
                "no empty line before it: {prompt}"
            );
            let shown = shots_of(&item);
            assert_eq!(shown.len(), k);
            let a = shown.iter().filter(|s| s.1 == "A").count();
            assert!(a == k / 2 || a == k.div_ceil(2));
            more.insert(a > k / 2);
        }
        assert_eq!(
            more.len(),
            1 + k % 2,
            "the odd shot is A in some draws, B in others"
        );
    }
    // The items are the same for every number.
    let ids = |k| {
        let mut set = settings(&[("n", "20"), ("labels", "fixed")]);
        set.shots = Some(k);
        let all = items(AB_TASKS[3], &set).into_iter();
        all.map(|i| (i.id, i.target)).collect::<Vec<_>>()
    };
    assert_eq!(ids(4), ids(70));
}

#[test]
fn the_shots_are_an_identical_beginning() {
    let task = AB_TASKS[7];
    for mode in ["score", "generate", "cot"] {
        let set = settings(&[("mode", mode), ("shot_sets", "1"), ("labels", "fixed")]);
        let texts: Vec<String> = items(task, &set).iter().map(prompt_of).collect();
        let shared = texts[0].rfind("Input: \"").unwrap();
        assert!(texts.iter().all(|t| t[..shared] == texts[0][..shared]));
    }
}

/// The lines of the shots that a prompt shows.
fn shot_lines(task: &AbTask, k: usize, seed: u64, order: &str) -> Vec<String> {
    let labels = ("labels", "fixed");
    let mut set = settings(&[("n", "2"), ("mode", "generate"), ("order", order), labels]);
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
        ("shot_sets", "0", "shot_sets=0"),
        ("labels", "none", "labels=none"),
        ("crossed", "maybe", "crossed=maybe"),
        ("apart", "1,x", "apart=x"),
        ("colour", "red", "no parameter `colour`"),
    ] {
        let error = task
            .items(&settings(&[(name, value)]), &NoData)
            .err()
            .unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
    for k in [5, 52] {
        let mut released = settings(&[("source", "published")]);
        released.shots = Some(k);
        let error = task.items(&released, &NoData).err().unwrap().to_string();
        assert!(error.contains("an even number up to 50"), "{error}");
    }
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

/// The released code's judge: its words, its temperature, its parser. It used to be called "not printed".
#[test]
fn the_released_wording_asks_and_reads_as_the_released_code_does() {
    let task = AB_TASKS[7];
    let released = settings(&[("mode", "cot"), ("wording", "released")]);
    let item = an_a_item(task, &released);
    let Request::Generate(asked) = &item.asks[0].request else {
        panic!("written");
    };
    let text = asked.prompt.text();
    assert!(text.contains("\n\nNow, think out loud step by step and assign label. \nInput: \""));
    assert!(text.ends_with("\" Label: \nA \nB"), "{text}");
    let thought = words("It rhymes.", Finish::Stop);
    let asks = task
        .follow_up(&released, &item, std::slice::from_ref(&thought))
        .unwrap();
    let Request::Generate(judge) = &asks[0].request else {
        panic!("written");
    };
    assert_eq!(
        (judge.sampling.temperature, judge.sampling.max_tokens),
        (0.7, 5)
    );
    assert!(
        judge
            .prompt
            .text()
            .starts_with("Assistant: It rhymes. \n\n What does the Assistant")
    );
    let verdict = |said: &str| {
        let answers = [thought.clone(), words(said, Finish::Stop)];
        task.judge(&released, &item, &answers).outcome
    };
    // The paper's parser takes a sentence that the strict one does not.
    assert_eq!(verdict("It is A"), Outcome::Scored(1.0));
    assert_eq!(verdict("None"), Outcome::Unscored(UnscoredReason::Unparsed));
    let said = task.conventions(&released);
    assert!(said["template"].contains("4787987") && said["answer"].contains("temperature 0.7"));
    // It is part of the question where it changes it, and nowhere else.
    assert_eq!(task.asked(&released)["wording"], "released");
    assert!(
        !task
            .asked(&settings(&[("mode", "cot")]))
            .contains_key("wording")
    );
    let direct = settings(&[("mode", "generate"), ("wording", "released")]);
    assert!(!task.asked(&direct).contains_key("wording"));
}

#[test]
fn every_card_is_whole() {
    let file = include_str!("cards.json");
    assert_eq!(mary_contract::CardFile::check(file), Ok(()));
    for task in crate::tasks::TASKS {
        let card = task.card();
        assert!(
            !card.title.is_empty() && !card.params.is_empty(),
            "{}",
            card.id
        );
    }
}

use mary_contract::{
    ContinuationScore, Generated, LayerVector, NoData, Observed, Outcome, PooledVectors, Reply,
    Request, Response, Scored, Task, UnscoredReason, Vector,
};

use super::*;

fn items(task: &dyn Task, settings: &TaskSettings) -> Vec<Item> {
    task.items(settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn seen(vector: Option<Vec<f32>>) -> Reply {
    // As static vectors answer: nothing averaged and an empty vector outside the vocabulary.
    let tokens = usize::from(vector.is_some());
    let layers = vec![LayerVector {
        layer: 0,
        vector: Vector(vector.unwrap_or_default()),
    }];
    Reply::bare(Response::Observed(Observed {
        pools: vec![PooledVectors { tokens, layers }],
        scores: None,
    }))
}

/// A vector at this angle from the category's.
fn at(angle: f32) -> Reply {
    seen(Some(vec![angle.cos(), angle.sin()]))
}

#[test]
fn closeness_in_the_order_of_typicality_is_one_and_unknown_words_are_left_out() {
    let settings = TaskSettings::default();
    let item = &items(&Vectors, &settings)[0];
    assert_eq!(item.id, "bird");
    let mut answers: Vec<Reply> = (0..item.asks.len()).map(|i| at(0.1 * i as f32)).collect();
    let verdict = Vectors.judge(&settings, item, &answers);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    answers[3] = seen(None);
    let verdict = Vectors.judge(&settings, item, &answers);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    assert_eq!(verdict.measures["members_left_out"], 1.0);
    assert_eq!(verdict.notes["left out"][0], "pigeon");
    answers[0] = seen(None);
    let verdict = Vectors.judge(&settings, item, &answers);
    assert!(matches!(
        verdict.outcome,
        Outcome::Unscored(UnscoredReason::NotApplicable(_))
    ));
}

fn score(tokens: &[(&str, f32)]) -> ContinuationScore {
    ContinuationScore {
        tokens: tokens.iter().map(|t| t.0.to_owned()).collect(),
        logprobs: tokens.iter().map(|t| t.1).collect(),
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    }
}

#[test]
fn surprisal_by_sentence_and_by_its_last_words() {
    let settings = TaskSettings::default();
    let item = &items(&Surprisal, &settings)[0];
    let Request::Score(asked) = &item.asks[0].request else {
        panic!("scores")
    };
    assert_eq!(asked.prefix.text(), "");
    assert_eq!(asked.continuations[0], "a robin is a bird");
    assert!(asked.continuations.contains(&"an owl is a bird".to_owned()));
    let n = asked.continuations.len();
    // Whole sentences fall in probability with rank, the last words rise.
    let continuations = (0..n)
        .map(|i| {
            let i = i as f32;
            score(&[
                (" robin", -2.0 * i),
                (" is", -1.0),
                (" a", -1.0),
                (" bird", i - 40.0),
            ])
        })
        .collect();
    let reply = Reply::bare(Response::Scored(Scored { continuations }));
    let verdict = Surprisal.judge(&settings, item, &[reply]);
    assert_eq!(verdict.outcome, Outcome::Scored(1.0));
    assert_eq!(verdict.measures["category_given_member"], -1.0);
}

#[test]
fn exemplars_stand_before_and_are_left_out() {
    let settings = TaskSettings {
        shots: Some(2),
        seed: 5,
        ..TaskSettings::default()
    };
    let all = items(&Surprisal, &TaskSettings::default());
    let few = items(&Surprisal, &settings);
    let (Request::Score(zero), Request::Score(two)) =
        (&all[0].asks[0].request, &few[0].asks[0].request)
    else {
        panic!("scores")
    };
    assert_eq!(zero.continuations.len(), two.continuations.len() + 2);
    let shown = two.prefix.text();
    assert_eq!(shown.lines().count(), 2);
    for line in shown.lines() {
        assert!(zero.continuations.contains(&line.to_owned()), "{line}");
        assert!(!two.continuations.contains(&line.to_owned()), "{line}");
    }
    let settings = TaskSettings {
        shots: Some(4),
        ..TaskSettings::default()
    };
    assert!(Surprisal.items(&settings, &NoData).is_err());
}

#[test]
fn a_ranking_is_read_and_an_incomplete_one_is_discarded() {
    let options: Vec<String> = ["owl", "robin", "toy soldier"].map(String::from).to_vec();
    let whole = "Here is the ranking:\n1. robin\n2) **Toy soldier**\n3: owl.\n4. owl\n";
    assert_eq!(read_ranking(whole, &options), Ok(vec![2, 0, 1]));
    assert_eq!(read_ranking("1. robin\n2. penguin\n", &options), Err(1));
    assert_eq!(read_ranking("", &options), Err(0));
    let settings = TaskSettings {
        params: [("runs".to_owned(), "3".to_owned())].into(),
        ..TaskSettings::default()
    };
    let runs = items(&Prompting, &settings);
    assert_eq!(runs.len(), 3 * norms::small_world().len());
    let item = &runs[0];
    assert_eq!(item.id, "bird/run-01");
    let shown = ShownCategory::read(item).unwrap();
    assert_ne!(
        shown.members,
        ShownCategory::read(&runs[1]).unwrap().members
    );
    let mut order: Vec<(f64, &String)> = shown
        .typicality
        .iter()
        .copied()
        .zip(&shown.members)
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words = |n: usize| {
        let text: String = order
            .iter()
            .take(n)
            .map(|(_, m)| format!("- {m}\n"))
            .collect();
        Reply::bare(Response::Generated(Generated::whole(text)))
    };
    let verdict = |n| Prompting.judge(&settings, item, &[words(n)]);
    assert_eq!(verdict(order.len()).outcome, Outcome::Scored(1.0));
    let short = verdict(order.len() - 1);
    assert_eq!(short.outcome, Outcome::Unscored(UnscoredReason::Unparsed));
    assert_eq!(short.measures["complete"], 0.0);
}

#[test]
fn the_prompt_in_full() {
    let settings = TaskSettings {
        params: [("runs".to_owned(), "1".to_owned())].into(),
        ..TaskSettings::default()
    };
    let item = &items(&Prompting, &settings)[0];
    let Request::Generate(asked) = &item.asks[0].request else {
        panic!("words")
    };
    insta::assert_snapshot!(asked.prompt.text());
}

#[test]
fn a_first_word_without_a_score_is_told_in_the_row() {
    let settings = TaskSettings::default();
    let item = &items(&Surprisal, &settings)[0];
    let n = ShownCategory::read(item).unwrap().members.len();
    let told = |unscored: bool| {
        let continuations = (0..n)
            .map(|i| ContinuationScore {
                first_unscored: unscored,
                ..score(&[(" robin", -(i as f32))])
            })
            .collect();
        let reply = Reply::bare(Response::Scored(Scored { continuations }));
        let verdict = Surprisal.judge(&settings, item, &[reply]);
        verdict.measures.get(FIRST_UNSCORED).copied()
    };
    assert_eq!((told(true), told(false)), (Some(1.0), None));
}

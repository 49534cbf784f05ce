use std::borrow::Cow;

use mary_contract::{
    LayerVector, NoData, Observed, Outcome, PooledVectors, Response, UnscoredReason, Vector,
};

use super::*;
use crate::Sense;

const TRIPLE: Triple = Triple {
    sense: Sense::Tactile,
    word: Cow::Borrowed("gritty"),
    synonym: Cow::Borrowed("sandy"),
    antonym: Cow::Borrowed("smooth"),
    sentences: [
        Cow::Borrowed("The path felt {}."),
        Cow::Borrowed("A {} cloth lay there."),
        Cow::Borrowed("{} soap is rare."),
    ],
};

fn settings(pairs: &[(&str, &str)]) -> TaskSettings {
    TaskSettings {
        params: pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn seen(layers: &[&[f32]]) -> Reply {
    Reply::bare(Response::Observed(Observed {
        pools: vec![PooledVectors {
            tokens: 1,
            layers: layers
                .iter()
                .enumerate()
                .map(|(layer, v)| LayerVector {
                    layer,
                    vector: Vector(v.to_vec()),
                })
                .collect(),
        }],
        scores: None,
    }))
}

fn nine(word: &[&[f32]], synonym: &[&[f32]], antonym: &[&[f32]]) -> Vec<Reply> {
    [word, synonym, antonym]
        .into_iter()
        .flat_map(|layers| std::iter::repeat_n(seen(layers), 3))
        .collect()
}

#[test]
fn the_span_is_the_word_in_the_sentence() {
    let setup = SensoryVecSettings::read(&CARD, &settings(&[])).unwrap();
    let item = item(&setup, 0, &TRIPLE);
    assert_eq!(item.asks.len(), 9);
    for (place, word) in [(1, "gritty"), (3, "sandy"), (8, "smooth")] {
        let Request::Observe(observe) = &item.asks[place].request else {
            panic!("hidden states are asked for")
        };
        let [Pool::Span { start, end }] = observe.pools.as_slice() else {
            panic!("a span")
        };
        assert_eq!(&observe.text[*start..*end], word);
    }
    assert_eq!(item.tags["modality"], "non-visual");
}

#[test]
fn the_nearer_one_is_said_and_a_tie_is_one_half() {
    let setup = SensoryVecSettings::read(&CARD, &settings(&[])).unwrap();
    let item = item(&setup, 0, &TRIPLE);
    let judge = |answers: &[Reply]| SENSORY_VEC.judge(&settings(&[]), &item, answers);
    let (x, y, xy): (&[f32], &[f32], &[f32]) = (&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]);
    let right = judge(&nine(&[x], &[xy], &[y]));
    assert_eq!(right.outcome, Outcome::Scored(1.0));
    assert!((right.measures["margin"] - 0.5f64.sqrt()).abs() < 1e-7);
    assert_eq!(
        judge(&nine(&[x], &[y], &[xy])).outcome,
        Outcome::Scored(0.0)
    );
    assert_eq!(judge(&nine(&[x], &[y], &[y])).outcome, Outcome::Scored(0.5));
    let zero: &[f32] = &[0.0, 0.0];
    let failed = judge(&nine(&[zero], &[y], &[y])).outcome;
    assert!(matches!(failed, Outcome::Failed(f) if f.kind == ErrorKind::NotFinite));
    assert!(matches!(judge(&[]).outcome, Outcome::Failed(_)));
}

#[test]
fn all_layers_come_from_one_pass_and_one_of_them_is_scored() {
    let (x, y, xy): (&[f32], &[f32], &[f32]) = (&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]);
    let answers = nine(&[x, x, x], &[xy, y, xy], &[y, xy, xy]);
    let all = [("layers", "all")];
    let setup = SensoryVecSettings::read(&CARD, &settings(&all)).unwrap();
    let item = item(&setup, 0, &TRIPLE);
    let last = SENSORY_VEC.judge(&settings(&all), &item, &answers);
    assert_eq!(last.outcome, Outcome::Scored(0.5));
    assert_eq!(last.measures["layer_00"], 1.0);
    assert_eq!(last.measures["layer_01"], 0.0);
    let by = |layer| {
        let settings = settings(&[("layers", "all"), ("layer", layer)]);
        SENSORY_VEC.judge(&settings, &item, &answers).outcome
    };
    assert_eq!(by("1"), Outcome::Scored(0.0));
    assert_eq!(by("-3"), Outcome::Scored(1.0));
    assert!(matches!(by("9"), Outcome::Failed(_)));
    assert!(matches!(by("-4"), Outcome::Failed(_)));
}

#[test]
fn a_word_without_a_vector_leaves_the_triple_out() {
    let setup = SensoryVecSettings::read(&CARD, &settings(&[])).unwrap();
    let item = item(&setup, 0, &TRIPLE);
    let mut answers = nine(&[&[1.0]], &[&[1.0]], &[&[1.0]]);
    if let Response::Observed(observed) = &mut answers[4].answer {
        observed.pools[0].tokens = 0;
    }
    let verdict = SENSORY_VEC.judge(&settings(&[]), &item, &answers);
    let reason = UnscoredReason::NotApplicable("the synonym is outside the vocabulary".into());
    assert_eq!(verdict.outcome, Outcome::Unscored(reason));
}

#[test]
fn stored_cosines_are_judged_without_a_model() {
    let judge = |cosines| {
        let item = stored_item(0, &TRIPLE, cosines);
        SENSORY_VEC.judge(&settings(&[]), &item, &[]).outcome
    };
    assert_eq!(judge(Some((0.3, 0.2))), Outcome::Scored(1.0));
    assert_eq!(judge(Some((0.2, 0.3))), Outcome::Scored(0.0));
    assert!(matches!(
        judge(None),
        Outcome::Unscored(UnscoredReason::NotApplicable(_))
    ));
}

#[test]
fn our_own_set_runs_without_data() {
    let items: Vec<Item> = SENSORY_VEC
        .items(&settings(&[]), &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(items.len() >= 120, "{}", items.len());
    assert!(
        SENSORY_VEC
            .items(&settings(&[("source", "upstream")]), &NoData)
            .is_err()
    );
    assert!(
        SENSORY_VEC
            .items(&settings(&[("pool", "cls")]), &NoData)
            .is_err()
    );
}

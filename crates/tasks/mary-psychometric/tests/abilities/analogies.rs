//! A file in the layout of the SAT questions, from its lines to scores: forty questions of our own.

use std::path::Path;

use mary_contract::{
    ContinuationScore, Generated, Item, NoData, Outcome, Reply, Request, Response, Scored, Target,
    Task, TaskSettings,
};
use mary_psychometric::analogies::{PROMPTING, SURPRISAL, VECTORS, sat};

fn settings() -> TaskSettings {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sat_forty.txt");
    let set = [
        ("questions", "sat".to_owned()),
        ("questions_file", file.display().to_string()),
    ];
    TaskSettings {
        params: set.map(|(name, value)| (name.to_owned(), value)).into(),
        ..TaskSettings::default()
    }
}

fn items(task: &dyn Task) -> Vec<Item> {
    let items = task.items(&settings(), &NoData).unwrap();
    items.collect::<Result<_, _>>().unwrap()
}

fn correct(item: &Item) -> (usize, usize) {
    match &item.target {
        Target::Choice {
            options, correct, ..
        } => (*correct, options.len()),
        other => panic!("{other:?}"),
    }
}

/// A reply that makes one choice the most probable.
fn choosing(item: &Item, choice: usize) -> Reply {
    let Request::Score(asked) = &item.asks[0].request else {
        panic!("scores")
    };
    let scored = |i: usize| ContinuationScore {
        tokens: vec!["x".into()],
        logprobs: vec![if i == choice { -1.0 } else { -2.0 }],
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    };
    let continuations = (0..asked.continuations.len()).map(scored).collect();
    Reply::bare(Response::Scored(Scored { continuations }))
}

#[test]
fn forty_questions_in_the_sat_layout_are_asked_and_judged_in_all_three_ways() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sat_forty.txt");
    let questions = sat::read(&file).unwrap();
    assert_eq!(questions.len(), 40);
    let mut places = [0; 5];
    for question in &questions {
        places[question.correct] += 1;
        assert!(question.source.starts_with("OWN "), "{question:?}");
    }
    assert_eq!(places, [8; 5]);
    // One was written with four choices and filled up.
    let four = questions.iter().filter(|q| q.choices.len() == 4);
    assert_eq!(four.count(), 1);
    let vectors = items(&VECTORS);
    let surprisal = items(&SURPRISAL);
    let prompting = items(&PROMPTING);
    for (asked, question) in surprisal.iter().zip(&questions) {
        let (right, choices) = correct(asked);
        assert_eq!((right, choices), (question.correct, question.choices.len()));
        for choice in 0..choices {
            let verdict = SURPRISAL.judge(&settings(), asked, &[choosing(asked, choice)]);
            let wanted = f64::from(u8::from(choice == right));
            assert_eq!(verdict.outcome, Outcome::Scored(wanted), "{}", asked.id);
        }
    }
    for asked in &prompting {
        let (right, _) = correct(asked);
        let answer = Generated::whole(["a", "b", "c", "d", "e"][right].to_owned());
        let reply = Reply::bare(Response::Generated(answer));
        let verdict = PROMPTING.judge(&settings(), asked, &[reply]);
        assert_eq!(verdict.outcome, Outcome::Scored(1.0), "{}", asked.id);
    }
    assert_eq!((vectors.len(), prompting.len()), (40, 40));
    let first = match &surprisal[0].asks[0].request {
        Request::Score(asked) => format!("{}{}", asked.prefix.text(), asked.continuations[0]),
        other => panic!("{other:?}"),
    };
    assert_eq!(first, "saw is to wood as scissors is to paper");
}

//! A report stays small whatever passes by, and a list stays right however it is narrowed.

use crate::fixture;

use std::sync::{Arc, atomic::Ordering};

use fixture::log::{MemoryLog, Shared};
use mary_contract::Outcome;
use mary_report::{
    OutcomeClass,
    html::{BuiltChapter, ReportOptions, report},
    viewer::{Filter, IndexedSource, Order},
};

#[test]
fn two_hundred_thousand_samples_of_twenty_models_fit_a_small_file() {
    let names: Vec<String> = (0..20).map(|k| format!("hf/lab/model-{k:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = fixture::bench(&names, 1667);
    let chapters: Vec<BuiltChapter> = fixture::exhibits::all(&bench)
        .into_iter()
        .map(|(id, title, exhibits)| BuiltChapter::new(id, title, exhibits))
        .collect();
    let mut page = Vec::new();
    let runs = [bench.run.clone()];
    let stats = report(
        &runs,
        &chapters,
        &mut bench.tagged(),
        &ReportOptions::default(),
        &mut page,
    )
    .unwrap();
    assert_eq!(stats.samples_seen, 200_040);
    assert!(stats.samples_kept > 2000, "{stats:?}");
    assert_eq!(stats.bytes, page.len());
    assert!(page.len() < 15 << 20, "{stats:?}");
}

#[test]
fn the_same_samples_make_the_same_bytes() {
    let bench = fixture::usual();
    let runs = [bench.run.clone()];
    let page = || {
        let mut page = Vec::new();
        report(
            &runs,
            &[],
            &mut bench.tagged(),
            &ReportOptions::default(),
            &mut page,
        )
        .unwrap();
        page
    };
    assert_eq!(page(), page());
}

#[test]
fn a_full_shelf_cuts_all_tasks_alike_and_counts_what_it_left_out() {
    let bench = fixture::usual();
    let runs = [bench.run.clone()];
    let options = ReportOptions {
        max_samples: 90,
        max_sample_bytes: 60_000,
        ..ReportOptions::default()
    };
    let mut page = Vec::new();
    let stats = report(&runs, &[], &mut bench.tagged(), &options, &mut page).unwrap();
    assert_eq!(stats.samples_seen, 1080);
    assert!((18..90).contains(&stats.samples_kept), "{stats:?}");
    let text = String::from_utf8(page).unwrap();
    assert!(text.contains(&format!(
        "{} of 1,080 samples are included here",
        stats.samples_kept
    )));
}

#[test]
fn lists_are_narrowed_as_a_reader_would_count_by_hand() {
    let bench = fixture::usual();
    let log = Arc::new(MemoryLog::new(&bench));
    log.written.store(500, Ordering::SeqCst);
    let source = IndexedSource::new(Shared(Arc::clone(&log)));
    let run = "b3f1c2d4e5";
    let by_hand = |n: usize, fits: &dyn Fn(&mary_contract::Sample) -> bool| {
        log.samples[..n].iter().filter(|s| fits(s)).count()
    };
    let wrong = Filter {
        outcomes: vec![OutcomeClass::Wrong],
        model: Some("builtin/tiny".into()),
        ..Filter::default()
    };
    let fits = |s: &mary_contract::Sample| {
        s.id.model == "builtin/tiny" && s.judgement.outcome == Outcome::Scored(0.0)
    };
    for n in [500, 1080] {
        log.written.store(n, Ordering::SeqCst);
        assert_eq!(
            source.page(run, &wrong, 0, 10).unwrap().total,
            by_hand(n, &fits)
        );
    }
    let all: usize = source
        .facets(run, &wrong)
        .unwrap()
        .outcomes
        .iter()
        .map(|(_, n)| n)
        .sum();
    assert_eq!(all, by_hand(1080, &|s| s.id.model == "builtin/tiny"));

    let tag = Filter {
        tag: Some("sign=none".into()),
        ..Filter::default()
    };
    assert_eq!(
        source.page(run, &tag, 0, 1).unwrap().total,
        by_hand(1080, &|s| s
            .item
            .tags
            .get("sign")
            .is_some_and(|v| v == "none"))
    );
    let words = Filter {
        text: Some("lantern".into()),
        task: Some("htest/rhyme".into()),
        ..Filter::default()
    };
    let found = source.page(run, &words, 0, 1000).unwrap();
    assert!(found.total > 0 && found.lines.iter().all(|l| l.question.contains("lantern")));

    let flipped = Filter {
        flipped: Some(("builtin/tiny".into(), "remote/large".into())),
        ..Filter::default()
    };
    let score = |model: &str, s: &mary_contract::Sample| {
        log.samples
            .iter()
            .find(|o| o.id.model == model && o.id.task == s.id.task && o.id.item == s.id.item)
            .map(|o| o.judgement.outcome.clone())
    };
    let right = Some(Outcome::Scored(1.0));
    let wrong = Some(Outcome::Scored(0.0));
    let hand = by_hand(1080, &|s| {
        let (a, b) = (score("builtin/tiny", s), score("remote/large", s));
        s.id.model == "builtin/tiny" && ((a == right && b == wrong) || (a == wrong && b == right))
    });
    let found = source.page(run, &flipped, 0, 5).unwrap();
    assert_eq!(found.total, hand);
    assert_eq!(found.lines.len(), 5);
    let whole = source.sample(run, &found.lines[0].id).unwrap().unwrap();
    assert_eq!(whole.id, found.lines[0].id);
    assert!(source.page("nowhere", &flipped, 0, 5).is_err());
}

#[test]
fn lists_by_margin_are_in_order_and_neighbours_are_neighbours() {
    let bench = fixture::usual();
    let log = Arc::new(MemoryLog::new(&bench));
    let source = IndexedSource::new(Shared(Arc::clone(&log)));
    let run = "b3f1c2d4e5";
    let near = Filter {
        order: Order::MarginNear,
        margin_from: Some(-4.0),
        ..Filter::default()
    };
    let all = source.page(run, &near, 0, 5000).unwrap();
    let margins: Vec<f64> = all.lines.iter().map(|l| l.margin.unwrap()).collect();
    assert!(margins.len() > 100 && margins.len() == all.total);
    assert!(margins.iter().all(|m| *m >= -4.0));
    assert!(margins.iter().map(|m| m.abs()).is_sorted());
    // A margin never contradicts the verdict beside it.
    assert!(all.lines.iter().all(|l| match l.class {
        OutcomeClass::Right => l.margin >= Some(0.0),
        OutcomeClass::Wrong => l.margin <= Some(0.0),
        _ => true,
    }));
    for at in [0, 7, all.total - 1] {
        let around = source.around(run, &near, &all.lines[at].id).unwrap();
        assert_eq!((around.place, around.total), (Some(at), all.total));
        let id = |at: Option<usize>| all.lines.get(at?).map(|l| l.id.clone());
        assert_eq!(around.before, id(at.checked_sub(1)));
        assert_eq!(around.after, id(Some(at + 1)));
    }
    let disputed = Filter {
        disagreed: true,
        ..Filter::default()
    };
    let found = source.page(run, &disputed, 0, 5000).unwrap();
    let classes = |id: &mary_contract::SampleId| source.verdicts(run, id).unwrap();
    assert!(found.total > 50 && found.total < 1080);
    for line in found.lines.iter().step_by(37) {
        let all: Vec<OutcomeClass> = classes(&line.id).into_iter().map(|(_, c)| c).collect();
        assert!(all.contains(&OutcomeClass::Right) && all.contains(&OutcomeClass::Wrong));
    }
}

//! Pairs: differences where they are, questions kept apart, and one item under two pairs as one unit.

use mary_contract::{Item, Judgement, SampleId, Scoring, Target, Ties};

use super::*;

fn run(shots: &str) -> TaskRun {
    TaskRun {
        id: "t".into(),
        version: 1,
        asked: Some([("shots".to_owned(), shots.to_owned())].into()),
        scoring: Some(Scoring::share(Ties::Half)),
        ..TaskRun::default()
    }
}

fn sample(model: &str, item: usize, clustered: bool, score: f64) -> Sample {
    let (id, part) = (
        format!("{}-{}", item / 2, item % 2),
        ["V-S", "A"][item / 2 % 2],
    );
    let mut of = Item::new(&id, Target::Text(String::new()), vec![]).tagged("subtask", part);
    of.cluster = clustered.then(|| format!("q{}", item / 2));
    Sample {
        id: SampleId::new(model, "t", id, 0),
        item: of,
        exchanges: vec![],
        judgement: Judgement::scored(score).measured("exact", 1.0 - score),
    }
}

fn pair(first: &str, second: &str) -> Pair {
    Pair {
        first: first.into(),
        second: second.into(),
    }
}

fn gathered(measure: Option<&str>) -> Paired {
    let mut paired = Paired::new("subtask", measure).ordered(["V-S".into(), "A".into()]);
    for item in 0..200 {
        // They differ in a fifth of the symbol questions, both orders alike.
        let (symbols, fifth) = (item / 2 % 2 == 0, item / 2 % 10 == 0);
        let base = f64::from(u8::from(item % 6 < 3));
        let better = if symbols && fifth { 1.0 } else { base };
        let worse = if symbols && fifth { 0.0 } else { base };
        paired.add(&run("4"), &sample("sees", item, true, better));
        paired.add(&run("4"), &sample("reads", item, true, worse));
    }
    paired
}

#[test]
fn a_difference_is_found_where_it_is_and_nowhere_else() {
    let lines = gathered(None).compare(&[pair("sees", "reads")]).unwrap();
    let row = |part: &str| lines.rows.iter().find(|r| r.part == part).unwrap();
    assert_eq!(
        lines
            .rows
            .iter()
            .map(|r| r.part.as_str())
            .collect::<Vec<_>>(),
        ["all", "V-S", "A"]
    );
    let counts = row("V-S").difference.counts.unwrap();
    assert_eq!((counts.only_first, counts.only_second), (20, 0));
    assert!((row("V-S").difference.value - 0.2).abs() < 1e-12);
    let (low, high) = row("V-S").difference.bounds.unwrap();
    assert!(low > 0.0 && high < 0.4, "{low} {high}");
    // Ten of fifty questions as wholes: Student's t of 0.2 over sqrt(0.16 / 49) with 49 degrees.
    let p = row("V-S").difference.p.unwrap();
    assert!((p - 0.001_001_327).abs() < 1e-8, "{p}");
    assert_eq!(row("A").difference.p, Some(1.0));
    let (low, high) = row("A").difference.bounds.unwrap();
    assert!(low < 0.0 && high > 0.0, "no difference is not certainty");
    assert!(row("V-S").p_holm.unwrap() > p);
    assert!(lines.left_out.is_empty());
}

#[test]
fn several_pairs_are_pooled_and_a_measure_can_be_named() {
    let lines = gathered(Some("exact"))
        .compare(&[pair("sees", "reads"), pair("sees", "reads")])
        .unwrap();
    let pooled = lines.rows.iter().filter(|r| r.pair == "2 pairs pooled");
    assert_eq!(pooled.count(), 3);
    let first = &lines.rows[0].difference;
    assert!(
        first.first < first.second,
        "exact is the other way round here"
    );
    let table = pair_table(&lines, "subtask");
    assert!(table.rows.iter().all(|r| r.len() == table.head.len()));
}

#[test]
fn an_item_under_two_pairs_is_one_unit() {
    let mut paired = Paired::new("subtask", None);
    for item in 0..40 {
        let right = f64::from(u8::from(item % 4 == 0));
        for (model, score) in [("a", right), ("b", right), ("base", 0.0)] {
            paired.add(&run("4"), &sample(model, item, false, score));
        }
    }
    let pairs = [pair("a", "base"), pair("b", "base")];
    let lines = paired.compare(&pairs).unwrap();
    let all = |name: &str| {
        let row = lines
            .rows
            .iter()
            .find(|r| r.part == "all" && r.pair.contains(name));
        row.unwrap().difference.clone()
    };
    let (one, pooled) = (all("a − base"), all("pooled"));
    assert_eq!((pooled.n, pooled.units), (80, 40));
    let width = |d: &Difference| d.bounds.map(|(low, high)| high - low).unwrap();
    assert!(width(&pooled) > 0.9 * width(&one), "{pooled:?} {one:?}");
    let table = pair_table(&lines, "subtask");
    assert!(table.rows.iter().any(|r| r[2] == "80 in 40"));
}

#[test]
fn questions_asked_in_two_ways_are_two_groups_and_what_one_lacks_is_named() {
    let mut paired = Paired::new("subtask", None);
    for item in 0..20 {
        paired.add(&run("4"), &sample("a", item, false, 1.0));
        paired.add(&run("4"), &sample("b", item, false, 0.0));
        paired.add(&run("2"), &sample("a", item, false, 0.0));
    }
    let lines = paired.compare(&[pair("a", "b")]).unwrap();
    let shots: Vec<&str> = lines.rows.iter().map(|r| r.pair.as_str()).collect();
    assert!(
        shots.iter().all(|p| *p == "a − b, t (shots = 4)"),
        "{shots:?}"
    );
    assert_eq!(
        lines.rows[0].difference.value, 1.0,
        "not overwritten by k = 2"
    );
    assert_eq!(lines.left_out.len(), 1);
    assert!(
        lines.left_out[0].contains("shots = 2"),
        "{:?}",
        lines.left_out
    );
    assert!(
        pair_table(&lines, "subtask")
            .caption
            .contains("Left out: t (shots = 2), which a was asked")
    );
}

#[test]
fn tuned_models_find_their_bases_by_name() {
    let models = [
        "hf/Qwen/Qwen2.5-0.5B",
        "hf/Qwen/Qwen2.5-0.5B-Instruct",
        "hf/google/gemma-3-1b-pt",
        "hf/google/gemma-3-1b-it",
        "hf/meta-llama/Llama-2-7b-hf",
        "hf/meta-llama/Llama-2-7b-chat-hf",
        "hf/mistralai/Mistral-7B-Instruct-v0.3",
        "hf/other/Qwen2.5-0.5B-Instruct",
    ]
    .map(String::from);
    let found: Vec<(String, String)> = tuned_pairs(&models)
        .into_iter()
        .map(|pair| (pair.first, pair.second))
        .collect();
    let want = |tuned: usize, base: usize| (models[tuned].clone(), models[base].clone());
    assert_eq!(found, [want(1, 0), want(3, 2), want(5, 4)]);
}

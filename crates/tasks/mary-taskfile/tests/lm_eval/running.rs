//! Tasks as they run: items, verdicts and figures of a whole set, by the harness' rules.

use std::collections::BTreeMap;

use mary_contract::{
    ContinuationScore, Finish, Generated, Item, Outcome, Reply, Request, Response, Scored, Target,
    Task, TaskSettings,
};

use crate::lm_eval::support::Folder;

const CHOICE: &str = "task: mine\ndataset_path: json\ndataset_kwargs:\n  data_files: {test: rows.jsonl, train: train.jsonl}\n\
    output_type: multiple_choice\ntest_split: test\ntraining_split: train\ndoc_to_text: 'Q: {{q}} A:'\ndoc_to_target: label\n\
    doc_to_choice: '{{[a, b]}}'\nmetric_list:\n- metric: acc\n- metric: acc_norm\n- metric: acc_bytes\n- metric: f1\n- metric: ter\n";

const ROWS: &str = "{\"q\": \"one\", \"a\": \"long answer\", \"b\": \"é\", \"label\": 1}\n{\"q\": \"two\", \"a\": \"x\", \"b\": \"y\", \"label\": 0}\n";

fn scores(sums: &[f32]) -> Reply {
    let one = |sum: &f32| ContinuationScore {
        tokens: vec!["t".into()],
        logprobs: vec![*sum],
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    };
    Reply::bare(Response::Scored(Scored {
        continuations: sums.iter().map(one).collect(),
    }))
}

fn said(text: &str) -> Reply {
    Reply::bare(Response::Generated(Generated {
        text: text.into(),
        finish: Finish::Stop,
        reasoning: None,
    }))
}

fn measures(task: &impl Task, item: &Item, reply: Reply) -> (f64, BTreeMap<String, f64>) {
    let verdict = task.judge(&TaskSettings::default(), item, &[reply]);
    let Outcome::Scored(score) = verdict.outcome else {
        panic!("{verdict:?}");
    };
    (score, verdict.measures)
}

#[test]
fn options_are_scored_after_the_question_with_the_delimiter() {
    let folder = Folder::new(&[("t.yaml", CHOICE), ("rows.jsonl", ROWS)]);
    let items = folder.items("t.yaml", &TaskSettings::default()).unwrap();
    let Request::Score(score) = &items[0].asks[0].request else {
        panic!("expected a score");
    };
    assert_eq!(score.prefix.text(), "Q: one A:");
    assert_eq!(score.continuations, [" long answer", " é"]);
    assert_eq!(items[0].id, "0");
    let Target::Choice { correct, .. } = &items[0].target else {
        panic!("expected options");
    };
    assert_eq!(*correct, 1);
}

#[test]
fn lengths_are_characters_and_bytes_and_the_first_of_a_tie_counts() {
    let folder = Folder::new(&[("t.yaml", CHOICE), ("rows.jsonl", ROWS)]);
    let task = folder.task("t.yaml").unwrap();
    let items = folder.items("t.yaml", &TaskSettings::default()).unwrap();
    let (acc, all) = measures(&task, &items[0], scores(&[-10.0, -1.5]));
    assert_eq!((acc, all["acc_norm"], all["acc_bytes"]), (1.0, 0.0, 1.0));
    let (tie, _) = measures(&task, &items[0], scores(&[-1.0, -1.0]));
    let (first, _) = measures(&task, &items[1], scores(&[-1.0, -1.0]));
    assert_eq!((tie, first), (0.0, 1.0));
    assert_eq!(
        task.conventions(&TaskSettings::default())["not computed"],
        "ter"
    );
}

#[test]
fn spaces_at_the_end_of_a_context_move_to_the_option() {
    let task = CHOICE
        .replace("'Q: {{q}} A:'", "'Q: {{q}}  '")
        .replace("doc_to_choice", "target_delimiter: ''\ndoc_to_choice");
    let folder = Folder::new(&[("t.yaml", &task), ("rows.jsonl", ROWS)]);
    let items = folder.items("t.yaml", &TaskSettings::default()).unwrap();
    let Request::Score(score) = &items[0].asks[0].request else {
        panic!("expected a score");
    };
    assert_eq!(score.prefix.text(), "Q: one");
    assert_eq!(score.continuations, ["  long answer", "  é"]);
}

#[test]
fn answers_are_read_by_every_row_of_filters() {
    let task = "task: sums\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: test\n\
        doc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\ngeneration_kwargs: {until: ['Q:'], max_gen_toks: 40, do_sample: false}\n\
        metric_list:\n- metric: exact_match\n  ignore_case: true\n- metric: bleu\n\
        filter_list:\n- name: strict\n  filter:\n  - function: regex\n    regex_pattern: 'is (\\d+)'\n  - function: take_first\n\
        - name: loose\n  filter:\n  - function: regex\n    regex_pattern: '\\d+'\n    group_select: -1\n  - function: take_first\n";
    let rows = "{\"q\": \"1+1\", \"a\": 2}\n{\"q\": \"2+2\", \"a\": 4}\n";
    let folder = Folder::new(&[("t.yaml", task), ("rows.jsonl", rows)]);
    let read = folder.task("t.yaml").unwrap();
    let items = folder.items("t.yaml", &TaskSettings::default()).unwrap();
    let Request::Generate(ask) = &items[0].asks[0].request else {
        panic!("expected a generation");
    };
    assert_eq!(
        (ask.sampling.stop.as_slice(), ask.sampling.max_tokens),
        (["Q:".to_owned()].as_slice(), 40)
    );
    let (score, all) = measures(&read, &items[0], said("maybe 2"));
    assert_eq!(
        (score, all["exact_match,strict"], all["exact_match,loose"]),
        (0.0, 0.0, 1.0)
    );
    let (score, _) = measures(&read, &items[1], said("it is 4"));
    assert_eq!(score, 1.0);
}

#[test]
fn groups_and_tags_are_resolved_and_hand_down_their_keys() {
    let member = |name: &str, tag: &str| format!("include: _base_yaml\ntask: {name}\ntag: {tag}\n");
    let folder = Folder::new(&[
        (
            "g.yaml",
            "group: all\ntask:\n- one\n- task: two\n  num_fewshot: 1\n- spoken\n- group: inner\n  task: [five]\nmetadata: {version: 1}\n",
        ),
        ("_base_yaml", CHOICE),
        (
            "a/one.yaml",
            &member("one", "x").replace("_base", "../_base"),
        ),
        ("two.yaml", &member("two", "x")),
        ("three.yaml", &member("three", "[spoken, y]")),
        ("four.yaml", &member("four", "spoken")),
        (
            "five.yaml",
            &(member("five", "z") + "process_docs: !function utils.mine\n"),
        ),
        ("rows.jsonl", ROWS),
    ]);
    let found = mary_taskfile::lm_eval::read(&folder.path("g.yaml")).unwrap();
    let names: Vec<String> = found
        .iter()
        .map(|f| match f {
            Ok(config) => format!("{} {}", config.task, config.shots.count),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(&names[..4], ["one 0", "two 1", "four 0", "three 0"]);
    assert!(
        names[4].contains("five.yaml:4: `process_docs` is Python code (`utils.mine`)"),
        "{}",
        names[4]
    );
}

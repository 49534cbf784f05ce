//! Whatever is wrong with a task file of the harness or its data is told with file and line.

use mary_contract::{NoData, Task, TaskSettings};

use crate::lm_eval::support::Folder;

const TASK: &str = "task: mine\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: test\n\
    output_type: multiple_choice\ndoc_to_text: '{{q}}'\ndoc_to_target: label\ndoc_to_choice: [a, b]\n";
const ROW: &str = "{\"q\": \"one\", \"label\": 1}\n";

/// What is said about a task file, or about its rows.
fn fault(task: &str, rows: &[u8]) -> String {
    let folder = Folder::new(&[("t.yaml", task)]);
    folder.write("rows.jsonl", rows);
    match folder.task("t.yaml") {
        Err(error) => error.to_string(),
        Ok(task) => match task.items(&TaskSettings::default(), &NoData) {
            Err(error) => error.to_string(),
            Ok(mut items) => items
                .find_map(Result::err)
                .expect("something is wrong")
                .to_string(),
        },
    }
}

fn says(fault: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(fault.contains(part), "`{part}` is not in: {fault}");
    }
}

#[test]
fn python_is_refused_by_name_with_its_line() {
    let of = |line: &str| fault(&format!("{TASK}{line}\n"), ROW.as_bytes());
    says(
        &of("process_docs: !function utils.process"),
        &["t.yaml:9: ", "`process_docs`", "utils.process"],
    );
    says(
        &of("metric_list:\n- metric: acc\n  aggregation: !function m.agg"),
        &["t.yaml:11: ", "m.agg"],
    );
    says(
        &of("class: !function task.Mine"),
        &["t.yaml:9: ", "`class`"],
    );
    says(
        &of("use_prompt: 'promptsource:*'"),
        &["t.yaml:9: ", "promptsource"],
    );
    says(
        &of("metric_list:\n- metric: brier_score"),
        &["t.yaml:10: ", "brier_score"],
    );
    says(&of("repeats: 5"), &["t.yaml:9: ", "5 times"]);
    says(
        &of("filter_list:\n- name: x\n  filter:\n  - function: custom"),
        &["t.yaml:12: ", "`custom`"],
    );
}

#[test]
fn broken_files_are_told_with_their_line() {
    let of = |from: &str, to: &str| fault(&TASK.replace(from, to), ROW.as_bytes());
    says(
        &of("output_type: multiple_choice", "output_type: guess"),
        &["t.yaml:5: ", "guess"],
    );
    says(&of("{{q}}", "{{q"), &["t.yaml", "`doc_to_text`", "broken"]);
    says(
        &of("task: mine\n", "task: mine\ninclude: absent_yaml\n"),
        &["absent_yaml", "t.yaml:2 includes it"],
    );
    says(
        &of("task: mine\n", "task: mine\ninclude: t.yaml\n"),
        &["includes itself"],
    );
    says(
        &of("task: mine\n", "task: [mine\n"),
        &["t.yaml:", "no YAML"],
    );
    says(&of("task: mine\n", ""), &["neither `task` nor `group`"]);
    says(&of("test_split: test\n", ""), &["test_split"]);
    says(
        &of("rows.jsonl", "absent.jsonl"),
        &["t.yaml", "not on this machine", "--data-dir"],
    );
}

#[test]
fn broken_rows_are_told_with_their_line() {
    let of = |rows: &str| fault(TASK, rows.as_bytes());
    says(
        &of("{\"label\": 1}\n"),
        &["rows.jsonl:1: ", "column `q`", "label"],
    );
    says(&of(&format!("{ROW}not json\n")), &["rows.jsonl:2: "]);
    says(&of(""), &["rows.jsonl:1: ", "no rows"]);
    says(
        &fault(
            TASK,
            &[ROW.as_bytes().repeat(6), b"{\"q\": \"\xff\"}\n".to_vec()].concat(),
        ),
        &["rows.jsonl:7: ", "UTF-8"],
    );
    let listed = TASK.replace("[a, b]", "'{{ q }}'");
    says(
        &fault(&listed, ROW.as_bytes()),
        &["rows.jsonl:1: ", "`doc_to_choice`"],
    );
}

#[test]
fn more_shots_than_rows_are_refused() {
    let folder = Folder::new(&[("t.yaml", TASK), ("rows.jsonl", ROW)]);
    let settings = TaskSettings {
        shots: Some(3),
        ..TaskSettings::default()
    };
    let error = folder.items("t.yaml", &settings).unwrap_err().to_string();
    says(&error, &["3 shots", "1 rows"]);
}

/// Thirty files that each include the next one twice are a billion.
#[test]
fn includes_do_not_multiply_without_end() {
    let folder = Folder::new(&[("f30.yaml", TASK)]);
    for n in 0..30 {
        let next = n + 1;
        let text = format!("include: [f{next}.yaml, f{next}.yaml]\n");
        folder.write(&format!("f{n}.yaml"), text.as_bytes());
    }
    folder.write("rows.jsonl", ROW.as_bytes());
    let error = folder.task("f0.yaml").err().expect("too many");
    says(&error.to_string(), &["more than 1000 files"]);
    folder.write("twice.yaml", b"include: [f30.yaml, f30.yaml]\n");
    assert!(folder.task("twice.yaml").is_ok());
}

/// Templates of a stranger's task: values that double, and patterns that make much of little.
#[test]
fn no_template_grows_without_end() {
    let of = |text: &str| {
        let text = text.replace('\'', "''");
        let task = TASK.replace("doc_to_text: '{{q}}'", &format!("doc_to_text: '{text}'"));
        fault(&task, ROW.as_bytes())
    };
    for (text, wanted) in [
        (
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "grows",
        ),
        (
            "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
            "grows",
        ),
        (
            "{{ ('a' * 40000) | regex_replace('a', 'b' * 40000) | length }}",
            "too long",
        ),
        (
            "{% set x = 'a' * 40000 %}{% for i in range(9999) %}{{ x }}{% endfor %}",
            "more than 32 MiB",
        ),
    ] {
        let fault = of(text);
        assert!(fault.contains(wanted), "{text}: {fault}");
    }
}

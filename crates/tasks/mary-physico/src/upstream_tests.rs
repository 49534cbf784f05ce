use super::*;
use mary_testkit::lacking::datasets;
use std::fs;

struct Folder(PathBuf);

impl DataSource for Folder {
    fn folder(&self, _: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.clone())
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

fn with_files(files: &[(&str, String)]) -> (tempfile::TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let source = Folder(dir.path().to_owned());
    (dir, source)
}

fn hub(label: &str, choices: &str) -> String {
    let grids: Vec<String> = (1..=3)
        .map(|i| format!("\"input_{i}\": [[0, {i}]], \"output_{i}\": [[{i}, 0]]"))
        .collect();
    format!(
        "{{\"image\": null, \"label\": {label}, \"choices\": {choices}, {}}}",
        grids.join(", ")
    )
}

const CHOICES: &str = r#"["gravity", "friction", "laser", "move"]"#;

#[test]
fn the_hubs_form_is_read_as_lines_or_as_a_list_and_split_by_concept() {
    let lines = [
        hub("\"gravity\"", CHOICES),
        hub("1", CHOICES),
        hub("null", CHOICES),
    ]
    .join("\n");
    let list = format!("[{}]", hub("\"laser\"", CHOICES));
    let (_dir, data) = with_files(&[("core_dev.jsonl", lines), ("core_test.json", list)]);
    let found = published(&data, Level::Core).unwrap();
    let by: Vec<(&str, Split)> = found
        .iter()
        .map(|i| (i.concept.as_str(), i.split))
        .collect();
    assert_eq!(
        by,
        [
            ("gravity", Split::CoreTest),
            ("friction", Split::CoreDev),
            ("laser", Split::CoreTest)
        ]
    );
    assert_eq!(found[0].pairs.len(), 3);
    assert_eq!(found[0].pairs[2].input.to_string(), "0 3");
}

#[test]
fn the_supplement_is_read_in_the_order_of_its_numbers() {
    let file = |gt: &str| {
        format!(
            r#"{{"question": [[[1]], [[2]], [[3]], [[4]], [[5]], [[6]]], "gt": "{gt}", "choices": {CHOICES}}}"#
        )
    };
    let (_dir, data) = with_files(&[
        ("meta_data10.json", file("laser")),
        ("meta_data2.json", file("move")),
    ]);
    let found = published(&data, Level::Core).unwrap();
    let concepts: Vec<&str> = found.iter().map(|i| i.concept.as_str()).collect();
    assert_eq!(concepts, ["move", "laser"]);
    assert_eq!(found[0].pairs[1].output.to_string(), "4");
}

#[test]
fn bad_records_and_withheld_labels_are_named() {
    let (_dir, data) = with_files(&[("core_dev.jsonl", hub("\"tides\"", CHOICES))]);
    let error = published(&data, Level::Core).unwrap_err().to_string();
    assert!(
        error.contains("core_dev.jsonl:1: expected the label `tides`"),
        "{error}"
    );
    let (_dir, data) = with_files(&[("core_test.jsonl", hub("null", CHOICES))]);
    let error = published(&data, Level::Core).unwrap_err().to_string();
    assert!(error.contains("labels withheld"), "{error}");
    let ragged = hub("0", CHOICES).replace("[[0, 1]]", "[[0], [1, 2]]");
    let (_dir, data) = with_files(&[("core_dev.jsonl", ragged)]);
    let error = published(&data, Level::Core).unwrap_err().to_string();
    assert!(error.contains("row 1 has 2 cells"), "{error}");
    let (_dir, data) = with_files(&[("x", String::new())]);
    assert!(published(&data, Level::Associative).is_err());
}

#[test]
fn arc_tasks_take_the_users_labels() {
    let task = r#"{"train": [{"input": [[1]], "output": [[2]]}, {"input": [[1]], "output": [[3]]}],
                   "test": [{"input": [[1]], "output": [[4]]}]}"#;
    let files: Vec<(String, String)> = ["a", "b", "c", "d"]
        .map(|n| (format!("data/training/{n}.json"), task.to_owned()))
        .to_vec();
    let mut files: Vec<(&str, String)> =
        files.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    files.push((
        "labels.csv",
        "task,concept\na,mirror\nb,gravity\nc,laser\nd.json,wave\n".into(),
    ));
    let (dir, data) = with_files(&files);
    let labels = dir.path().join("labels.csv");
    let found = arc(&data, labels.to_str().unwrap(), 1).unwrap();
    assert_eq!(found.len(), 4);
    assert!(
        found
            .iter()
            .all(|i| i.options.len() == 4 && i.options[i.correct] == i.concept)
    );
    fs::write(&labels, "zz,mirror\n").unwrap();
    let error = arc(&data, labels.to_str().unwrap(), 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("labels.csv:1: no ARC task `zz`"), "{error}");
}

#[test]
fn folder_names_are_spoken() {
    assert_eq!(spoken("CleanUp"), "clean up");
    assert_eq!(spoken("TopBottom2D"), "top bottom 2D");
    assert_eq!(spoken("Copy"), "copy");
}

#[test]
fn real_arc_and_concept_arc_are_read() {
    let (Some(base), Some(_)) = (datasets("concept-arc"), datasets("arc")) else {
        return;
    };
    let found = concept_arc(&Folder(base.join("concept-arc")), 3).unwrap();
    assert_eq!(found.len(), 160);
    let labels: std::collections::BTreeSet<&str> =
        found.iter().map(|i| i.concept.as_str()).collect();
    assert_eq!(labels.len(), 16);
    let tasks = arc_tasks(&Folder(base.join("arc"))).unwrap();
    assert_eq!(tasks.len(), 800);
    for (_, task) in tasks.iter().take(20) {
        let picture = crate::picture::prompt(&task.train);
        assert!(picture.width().max(picture.height()) <= 4 * crate::picture::LONGEST_SIDE);
    }
    if let Ok(text) = fs::read_to_string(base.join("physico/decoded_core_dev_0.json")) {
        let labelled = text
            .replace("\"label\": null", "\"label\": \"gravity\"")
            .replace("\"choices\": null", &format!("\"choices\": {CHOICES}"));
        let one = hub_instance(&labelled, "x".into()).unwrap().unwrap();
        assert_eq!(
            (one.pairs[0].input.rows(), one.pairs[0].input.cols()),
            (10, 10)
        );
    }
}

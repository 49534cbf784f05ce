//! The authors' released files, read as they are: sizes, quirks, the prompt made from them byte for
//! byte, and the flaws that the judges of our own items find in them. Skipped where the files are not
//! on this machine.

use std::fs;
use std::path::PathBuf;

use super::judges;
use mary_contract::{DataError, DataSource, Item, Request, Task, TaskSettings};
use mary_htest::LETTER_GEOMETRY;
use mary_htest::{AB_TASKS, Label, upstream};

struct Folder(PathBuf);

impl DataSource for Folder {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.join(dataset))
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

fn released() -> Option<Folder> {
    mary_testkit::lacking::datasets("htest").map(Folder)
}

fn settings(params: &[(&str, &str)], shots: usize) -> TaskSettings {
    TaskSettings {
        shots: Some(shots),
        params: params
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn items(task: &dyn Task, data: &Folder, settings: &TaskSettings) -> Vec<Item> {
    task.items(settings, data)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn every_released_file_is_read() {
    let Some(data) = released() else { return };
    let mut trained = Vec::new();
    for name in AB_TASKS.iter().filter_map(|t| t.upstream) {
        assert_eq!(upstream::test_items(&data, name).unwrap().len(), 200);
        let shots = upstream::shot_pool(&data, name).unwrap();
        assert_eq!(shots.len(), 50, "{name}");
        let by_turns = [Label::A, Label::B].into_iter().cycle();
        assert!(shots.iter().map(|s| s.label).eq(by_turns.take(50)));
        trained.push(upstream::train_items(&data, name).unwrap().len());
    }
    assert_eq!(
        trained,
        [1000, 1000, 999, 653, 999, 916, 1000, 749, 1000, 991]
    );
    assert_eq!(upstream::geometry_items(&data).unwrap().len(), 90);
}

#[test]
fn the_released_fine_tuning_sets_are_written_as_they_are() {
    use mary_contract::{Family as _, TuningRequest};
    let Some(data) = released() else { return };
    for task in AB_TASKS {
        let name = task.upstream.unwrap();
        let wanted = TuningRequest {
            params: [("source".to_owned(), "published".to_owned())].into(),
            ..TuningRequest::default()
        };
        let set = mary_htest::HTEST
            .tuning_set(&task.card.id, &wanted, &data)
            .unwrap();
        let path = data.0.join(format!("htest/train/{name}_train.jsonl"));
        let theirs = fs::read_to_string(path).unwrap();
        let read = |text: &str| -> Vec<serde_json::Value> {
            let lines = text.lines().filter(|l| !l.trim().is_empty());
            lines.map(|l| serde_json::from_str(l).unwrap()).collect()
        };
        assert_eq!(read(&set.text), read(&theirs), "{name}");
        assert_eq!(set.items, read(&theirs).len());
        let tested: Vec<String> = upstream::test_items(&data, name)
            .unwrap()
            .into_iter()
            .map(|e| e.text)
            .collect();
        let trained = read(&set.text);
        let shared = trained
            .iter()
            .filter(|l| tested.iter().any(|t| l["messages"][0]["content"] == **t))
            .count();
        assert_eq!(shared, 0, "{name}");
    }
}

#[test]
fn the_released_set_runs_by_the_published_prompt() {
    let Some(data) = released() else { return };
    let settings = settings(&[("source", "published"), ("mode", "generate")], 4);
    for &task in AB_TASKS {
        let Some(name) = task.upstream else { continue };
        let first = items(task, &data, &settings).remove(0);
        // By hand: straight from the files, without the loader or the template.
        let folder = data.0.join("htest/htest_generated_with_seed_12062023");
        let texts = |kind: &str| -> Vec<(String, usize)> {
            let file = folder.join(format!("{name}_{kind}.jsonl"));
            fs::read_to_string(file)
                .unwrap()
                .lines()
                .map(|line| {
                    let record: serde_json::Value = serde_json::from_str(line).unwrap();
                    let text = record
                        .get("centerpiece")
                        .or(record.get("question"))
                        .unwrap();
                    let correct = record["correct_options"][0].as_u64().unwrap() as usize;
                    (text.as_str().unwrap().to_owned(), correct)
                })
                .collect()
        };
        let (dev, test) = (texts("dev"), texts("test"));
        let mut by_hand = String::new();
        for (text, correct) in &dev[..4] {
            by_hand += &format!("Input: \"{text}\" Label: {}\n", ["A", "B"][*correct]);
        }
        by_hand += &format!("\nInput: \"{}\" Label: \nA \nB ", test[0].0);
        by_hand += "(Respond in one letter and nothing else)";
        let Request::Generate(generate) = &first.asks[0].request else {
            panic!("a generated answer was set")
        };
        assert_eq!(generate.prompt.text(), by_hand);
        assert_eq!(generate.sampling.temperature, 0.7);
        assert_eq!(generate.sampling.max_tokens, 5);
    }
}

#[test]
fn our_judges_find_the_known_flaws_of_the_released_items() {
    let Some(data) = released() else { return };
    let wrong = |task: &str, judge: fn(&str) -> judges::Verdict| {
        upstream::test_items(&data, task)
            .unwrap()
            .iter()
            .filter(|e| judge(&e.text) != Ok(e.label.letter().chars().next().unwrap()))
            .count()
    };
    assert_eq!(wrong("uppercase", judges::uppercase), 10);
    assert_eq!(wrong("end_ly", judges::end_ly), 5);
    assert_eq!(wrong("start_vowel", judges::start_vowel), 0);
    assert_eq!(wrong("spelled_number", judges::spelled_number), 0);
}

#[test]
fn the_released_letter_geometry_is_solved_without_its_questions_and_ours_is_not() {
    let Some(data) = released() else { return };
    let outside = |settings: &TaskSettings| {
        let items = items(&LETTER_GEOMETRY, &data, settings);
        let right = items.iter().filter(|item| {
            let Some((options, correct)) = item.target.choice() else {
                panic!("a choice")
            };
            let usual = ["O", "E", "Ɛ"];
            let others: Vec<usize> = (0..4)
                .filter(|&i| !usual.contains(&options[i].as_str()))
                .collect();
            others == [correct]
        });
        right.count() as f64 / items.len() as f64
    };
    let released = outside(&settings(&[("source", "published")], 0));
    assert!((released - 79.0 / 90.0).abs() < 1e-9, "{released}");
    assert!(outside(&settings(&[], 0)) < 0.30);
}

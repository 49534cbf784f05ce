//! The audit on the published H-TEST files finds the faults measured in them. Skipped with a notice
//! where the files are not there.

use std::path::PathBuf;

use mary_audit::{AuditReport, AuditSettings, Example, audit, shared};
use serde_json::Value;

fn folder() -> Option<PathBuf> {
    Some(mary_testkit::lacking::datasets("htest")?.join("htest"))
}

fn load(file: PathBuf) -> Vec<Example> {
    let text = std::fs::read_to_string(&file).unwrap();
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            let record: Value = serde_json::from_str(line).unwrap();
            let question = record["centerpiece"]
                .as_str()
                .or(record["question"].as_str());
            let options = record["options"].as_array().unwrap();
            Example::new(
                index.to_string(),
                question.unwrap(),
                options
                    .iter()
                    .map(|o| o.as_str().unwrap().to_owned())
                    .collect(),
                record["correct_options"][0].as_u64().unwrap() as usize,
            )
        })
        .collect()
}

fn split(folder: &std::path::Path, task: &str, part: &str) -> Vec<Example> {
    load(folder.join(format!(
        "htest_generated_with_seed_12062023/{task}_{part}.jsonl"
    )))
}

fn report(examples: &[Example]) -> AuditReport {
    let settings = AuditSettings {
        permutations: 399,
        ..AuditSettings::default()
    };
    let report = audit(examples, &settings).unwrap();
    eprintln!("{}", report.to_text());
    report
}

#[test]
fn letter_geometry_is_answered_without_reading_the_question() {
    let Some(folder) = folder() else { return };
    let set =
        load(folder.join("challange_task_generated_with_seed_12062023/letter_geometry_test.jsonl"));
    let found = report(&set);
    let text = found.finding("option_text").unwrap();
    assert!(
        (text.accuracy.value - 0.878).abs() < 0.005,
        "{:?}",
        text.accuracy
    );
    assert!(text.beats_chance);
    let sentence = &text.telling[0];
    for symbol in ["O", "E", "Ɛ"] {
        assert!(sentence.contains(symbol), "{sentence}");
    }
    assert!(sentence.contains("right in 11 of 270"), "{sentence}");
    assert!(!found.finding("position").unwrap().beats_chance);
}

#[test]
fn rhyme_is_told_by_where_its_second_words_come_from() {
    let Some(folder) = folder() else { return };
    let found = report(&split(&folder, "rhyme", "test"));
    let memory = found.finding("word_memory").unwrap();
    assert!(
        memory.beats_chance && memory.accuracy.value > 0.8,
        "{memory:?}"
    );
}

#[test]
fn palindromes_are_told_by_capitals() {
    let Some(folder) = folder() else { return };
    let found = report(&split(&folder, "palindrome", "test"));
    let capitals = found.finding("capitals").unwrap();
    assert!(capitals.beats_chance, "{capitals:?}");
    let sentence = &capitals.telling[0];
    assert!(sentence.contains("B in 24 of 24"), "{sentence}");
}

#[test]
fn spelled_math_repeats_itself_and_leaks_its_shots() {
    let Some(folder) = folder() else { return };
    let test = split(&folder, "spelled_math", "test");
    let found = report(&test);
    assert_eq!(found.hygiene.repeats, 18);
    // Five test items are also among the shots: four distinct ones, of which one occurs twice.
    let dev = split(&folder, "spelled_math", "dev");
    let mut leaked: Vec<&str> = shared(&test, &dev)
        .iter()
        .map(|e| e.question.as_str())
        .collect();
    assert_eq!(leaked.len(), 5);
    leaked.sort_unstable();
    leaked.dedup();
    assert_eq!(leaked.len(), 4);
}

#[test]
fn knowing_the_rule_of_uppercase_scores_95_percent() {
    let Some(folder) = folder() else { return };
    let set = split(&folder, "uppercase", "test");
    let rule = |e: &Example| usize::from(!e.question.chars().any(char::is_uppercase));
    let broken: Vec<&Example> = set.iter().filter(|e| rule(e) != e.correct).collect();
    assert_eq!((broken.len(), set.len()), (10, 200));
    assert!(broken.iter().all(|e| e.answer() == "A"));
}

#[test]
fn every_task_alternates_strictly() {
    let Some(folder) = folder() else { return };
    for task in [
        "end_ly",
        "end_punctuation",
        "hyphenated_word",
        "palindrome",
        "repeated_word",
        "rhyme",
        "spelled_math",
        "spelled_number",
        "start_vowel",
        "uppercase",
    ] {
        let quick = AuditSettings {
            permutations: 299,
            ..AuditSettings::default()
        };
        let found = audit(&split(&folder, task, "test"), &quick).unwrap();
        assert!(found.hygiene.strictly_alternates(), "{task}");
        assert!(
            found.finding("file_order").unwrap().accuracy.value > 0.95,
            "{task}"
        );
    }
}

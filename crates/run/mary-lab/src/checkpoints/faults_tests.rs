//! Each known fault of public checkpoints, planted in the built-in family.

use super::*;
use crate::checkpoints::inspect::inspect;
use crate::checkpoints::members::members;

fn family() -> Vec<Record> {
    let all = members(&["builtin/nano".into()], &["all".into()], None, None).unwrap();
    all.iter()
        .map(|member| {
            let ending = Ending::Run {
                folder: String::new(),
                complete: true,
            };
            Record::new(member, Some(inspect(&member.model).unwrap()), ending)
        })
        .collect()
}

fn kinds(records: &[Record]) -> Vec<(String, &'static str)> {
    let short = |f: Fault| {
        (
            f.model.trim_start_matches("builtin/nano@").to_owned(),
            f.kind,
        )
    };
    faults(records).into_iter().map(short).collect()
}

#[test]
fn sound_checkpoints_have_no_fault() {
    assert_eq!(kinds(&family()), []);
}

#[test]
fn every_planted_fault_is_named() {
    let mut records = family();
    // step 128 and 2000 serve the same weights.
    records[7].inspection = records[3].inspection.clone();
    // step 5000 is cut short.
    records[9].inspection = None;
    records[9].ending = Ending::Unreadable {
        message: "cut short".into(),
    };
    // step 7000 has another tokenizer.
    if let Some(i) = &mut records[10].inspection {
        i.tokenizer = "other".into();
    }
    // step 1000 is another model's.
    if let Some(i) = &mut records[6].inspection {
        i.sketch.rotate_left(5);
        i.weights = "stranger".into();
        i.tensors.iter_mut().for_each(|t| t.0 ^= 1);
    }
    let named: Vec<(String, &str)> = [
        ("step128", "identical"),
        ("step1000", "another model"),
        ("step2000", "identical"),
        ("step5000", "unreadable"),
        ("step7000", "other tokenizer"),
    ]
    .map(|(r, k)| (r.to_owned(), k))
    .to_vec();
    assert_eq!(kinds(&records), named);
}

#[test]
fn a_shard_of_the_final_model_and_late_weights_are_seen() {
    let mut records = family();
    let late = records[11].inspection.clone().unwrap();
    // A third of step 512's tensors are the final model's.
    if let Some(own) = &mut records[5].inspection {
        let third = own.tensors.len() / 3;
        own.tensors[..third].copy_from_slice(&late.tensors[..third]);
    }
    // step 16 serves weights near the final ones (not bit for bit: an average, say).
    if let Some(own) = &mut records[1].inspection {
        own.sketch = late.sketch.iter().map(|v| v * 0.9 + 0.01).collect();
    }
    let found = faults(&records);
    let of = |revision: &str| found.iter().find(|f| f.model.ends_with(revision)).unwrap();
    assert_eq!(of("@step512").kind, "shared weights");
    assert!(of("@step512").message.contains("step10000"));
    assert_eq!(of("@step16").kind, "out of place");
}

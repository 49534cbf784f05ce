//! Questions and pictures for people's eyes: with MARY_GALLERY=<folder> every kind is written there,
//! thirty questions in words and some pictures. Without it this only checks that every kind can be
//! drawn.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mary_contract::Task as _;
use mary_embodied::fresh::{Colours, FRESH_TASKS, Level};

#[test]
fn every_kind_can_be_read_and_seen() {
    let folder = std::env::var_os("MARY_GALLERY").map(std::path::PathBuf::from);
    let each = if folder.is_some() { 32 } else { 4 };
    for task in FRESH_TASKS {
        let kinds = task.kinds().count();
        let name = task.card().id.rsplit('-').next().unwrap();
        let mut told: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        for item in task
            .drawn(11, kinds * each, Level::Any, Colours::Both)
            .unwrap()
        {
            let (number, text) = told.entry(item.kind).or_default();
            *number += 1;
            let _ = writeln!(
                text,
                "{}\n{}\n  {:?}  {:?}",
                item.posed.words.en, item.posed.words.zh, item.options, item.options[item.correct]
            );
            let _ = writeln!(text, "  [{:?}] {:?}\n", item.posed.seen, item.seen_options);
            let png = item.posed.sketch.png().unwrap();
            assert!((300..200_000).contains(&png.data.len()));
            if let Some(folder) = folder.as_ref().filter(|_| *number <= 4) {
                let file = folder.join(format!("{name}-{}-{number}.png", item.kind));
                std::fs::write(file, png.data).unwrap();
            }
        }
        assert_eq!(told.len(), kinds);
        if let Some(folder) = &folder {
            for (kind, (_, text)) in told {
                std::fs::write(folder.join(format!("{name}-{kind}.txt")), text).unwrap();
            }
        }
    }
}

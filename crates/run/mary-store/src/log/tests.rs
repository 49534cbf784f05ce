//! A disk that fills up in the middle of a line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mary_contract::{Item, Judgement, ModelSettings, RunManifest, SampleId, Target};

use super::*;
use crate::RunFolder;

struct SmallDisk {
    file: File,
    room: Arc<AtomicU64>,
}

impl Medium for SmallDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.load(Ordering::SeqCst);
        let fits = bytes.len().min(usize::try_from(room).unwrap());
        if fits == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = self.file.write(&bytes[..fits])?;
        self.room.fetch_sub(n as u64, Ordering::SeqCst);
        Ok(n)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn manifest() -> RunManifest {
    RunManifest {
        schema: 1,
        id: "run".into(),
        created: String::new(),
        version: String::new(),
        command: vec![],
        models: vec![],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: Default::default(),
        execution: Default::default(),
        tasks: vec![],
        trials: 1,
        seed: 0,
    }
}

fn sample(n: usize) -> Sample {
    let id = format!("{n:04}");
    Sample {
        id: SampleId::new("m/m", "t/t", id.clone(), 0),
        item: Item::new(id, Target::Text("x".into()), vec![]),
        exchanges: vec![],
        judgement: Judgement::scored(1.0),
    }
}

#[test]
fn a_full_disk_leaves_whole_lines_and_the_rest_is_written_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_or_open(dir.path(), &manifest()).unwrap();
    let log = folder.path().join("samples.jsonl");
    let room = Arc::new(AtomicU64::new(1_000));
    let file = OpenOptions::new().append(true).open(&log).unwrap();
    folder.on_medium(Box::new(SmallDisk {
        file,
        room: Arc::clone(&room),
    }));
    for n in 0..100 {
        // A slow machine may flush within `append`; what it says is said again by `flush`.
        let _ = folder.append(&sample(n));
    }
    let error = folder.flush().unwrap_err();
    assert!(error.to_string().contains("samples.jsonl"), "{error}");
    assert!(
        error.to_string().contains("hint: the disk is full"),
        "{error}"
    );
    let there = std::fs::read(&log).unwrap();
    assert!(there.ends_with(b"\n") && there.len() <= 1_000);
    let before = folder.finished_ids().unwrap().len();
    assert!(before > 0 && before < 100);
    room.store(u64::MAX / 2, Ordering::SeqCst);
    folder.flush().unwrap();
    let all: Vec<_> = folder.samples().unwrap().map(Result::unwrap).collect();
    assert_eq!(all, (0..100).map(sample).collect::<Vec<_>>());
}

#[test]
fn after_a_full_disk_another_process_continues() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_or_open(dir.path(), &manifest()).unwrap();
    let log = folder.path().join("samples.jsonl");
    let file = OpenOptions::new().append(true).open(&log).unwrap();
    folder.on_medium(Box::new(SmallDisk {
        file,
        room: Arc::new(AtomicU64::new(777)),
    }));
    for n in 0..20 {
        let _ = folder.append(&sample(n));
    }
    drop(folder);
    let mut again = RunFolder::create_or_open(dir.path(), &manifest()).unwrap();
    assert_eq!(again.healed(), None, "no half line was left behind");
    let finished = again.finished_ids().unwrap();
    for n in (0..20).filter(|n| !finished.contains(&sample(*n).id)) {
        again.append(&sample(n)).unwrap();
    }
    again.flush().unwrap();
    assert_eq!(again.finished_ids().unwrap().len(), 20);
}

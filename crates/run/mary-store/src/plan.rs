//! Which samples a shard is there for, in `plan.jsonl` of its folder: joining lets no other in.
//!
//! The first line names the run, then come the item ids by model and task, and the last line is a checksum
//! of those before. The shard writes it before its first answer, from the specification alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use mary_contract::StoreError;
use mary_contract::line::{self, BorrowedId, Seal};
use mary_platform::{DigestMap, replace_file};
use serde::{Deserialize, Serialize};

use crate::RunFolder;
use crate::atomic::unwritable;
use crate::fault::{Result, corrupt, io_at, open_if_there};
use crate::folder::SAMPLES;
use crate::index::READ_BUFFER;

const PLAN: &str = "plan.jsonl";
/// Ids in one line of it, at most.
const IDS_A_LINE: usize = 1000;

#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    run: String,
    trials: u32,
    /// Lines of the log that were there before lines had checksums; nothing can be said of them.
    #[serde(default, skip_serializing_if = "mary_contract::is_default")]
    pub(crate) unchecked: u64,
}

#[derive(Serialize, Deserialize)]
struct Block {
    model: String,
    task: String,
    items: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct End {
    sum: String,
}

type Ids = BTreeMap<(String, String), BTreeSet<String>>;

/// The plan of a shard, for asking whether a sample is in it.
pub(crate) struct Plan {
    pub(crate) head: Head,
    ids: DigestMap,
}

impl Plan {
    /// The plan beside a log; `None` where the shard was made before there were plans, or is none.
    pub(crate) fn beside(log: &Path, run: &str) -> Result<Option<Self>> {
        let path = log.with_file_name(PLAN);
        let mut ids = DigestMap::default();
        let head = read(&path, |block| {
            for item in &block.items {
                let digest = line::digest(&block.model, &block.task, item, 0);
                ids.insert(digest, 0).map_err(io_at(&path))?;
            }
            Ok(())
        })?;
        let Some(head) = head else { return Ok(None) };
        if head.run != run {
            return Err(StoreError::Mismatch(format!(
                "{} is the plan of run {}, the manifest beside it that of run {run}; nothing was written\n\
                 hint: the folder was put together from several runs; restore it from a copy, or move it \
                 away and start the shard again",
                path.display(),
                head.run
            )));
        }
        Ok(Some(Self { head, ids }))
    }

    pub(crate) fn holds(&self, id: &BorrowedId<'_>) -> io::Result<bool> {
        Ok(id.trial() < self.head.trials && self.ids.get(id.item_digest())?.is_some())
    }
}

/// Notes which items of which model and task a shard is there for. A plan that is there already stays
/// valid beside it: its lines may be in the log.
pub(crate) fn write<'a>(
    folder: &RunFolder,
    items: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Result<()> {
    let path = folder.path().join(PLAN);
    let manifest = folder.manifest();
    let mut wanted = Ids::new();
    for (model, task, item) in items {
        let ids = wanted.entry((model.to_owned(), task.to_owned()));
        ids.or_default().insert(item.to_owned());
    }
    let mut there = Ids::new();
    // A plan that cannot be read is written anew.
    let before = read(&path, |block| {
        let ids = there.entry((block.model, block.task)).or_default();
        ids.extend(block.items);
        Ok(())
    });
    let unchecked = match before {
        Ok(Some(head)) if head.run == manifest.id && head.trials == manifest.trials => {
            let holds = |(of, ids): (&_, &BTreeSet<String>)| {
                there.get(of).is_some_and(|known| ids.is_subset(known))
            };
            if wanted.iter().all(holds) {
                return Ok(());
            }
            for (of, ids) in there {
                wanted.entry(of).or_default().extend(ids);
            }
            head.unchecked
        }
        _ => unchecked_lines(&folder.path().join(SAMPLES), &manifest.id)?,
    };
    let head = Head {
        run: manifest.id.clone(),
        trials: manifest.trials,
        unchecked,
    };
    let bytes = written(&head, &wanted).map_err(unwritable(&path))?;
    replace_file(&path, &bytes).map_err(io_at(&path))
}

fn written(head: &Head, ids: &Ids) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(head)?;
    bytes.push(b'\n');
    for ((model, task), items) in ids {
        let items: Vec<&String> = items.iter().collect();
        for chunk in items.chunks(IDS_A_LINE) {
            let block = Block {
                model: model.clone(),
                task: task.clone(),
                items: chunk.iter().map(|item| (*item).clone()).collect(),
            };
            serde_json::to_writer(&mut bytes, &block)?;
            bytes.push(b'\n');
        }
    }
    let sum = blake3::hash(&bytes).to_hex().to_string();
    serde_json::to_writer(&mut bytes, &End { sum })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a plan line by line; `None` where there is none.
fn read(path: &Path, mut each: impl FnMut(Block) -> Result<()>) -> Result<Option<Head>> {
    let Some(file) = open_if_there(path)? else {
        return Ok(None);
    };
    let mut reader = BufReader::with_capacity(READ_BUFFER, file);
    let mut hasher = blake3::Hasher::new();
    let (mut head, mut number, mut bytes) = (None, 0, Vec::new());
    loop {
        bytes.clear();
        number += 1;
        let n = reader.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
        if n == 0 {
            return Err(damaged(path, number, "its end is missing"));
        }
        let unreadable = |e: serde_json::Error| damaged(path, number, e.to_string());
        if number == 1 {
            head = Some(serde_json::from_slice::<Head>(&bytes).map_err(unreadable)?);
        } else if let Ok(end) = serde_json::from_slice::<End>(&bytes) {
            if end.sum != hasher.finalize().to_hex().to_string() {
                return Err(damaged(path, 0, "it does not match its checksum"));
            }
            return Ok(head);
        } else {
            each(serde_json::from_slice(&bytes).map_err(unreadable)?)?;
        }
        hasher.update(&bytes);
    }
}

fn damaged(path: &Path, line: usize, what: impl std::fmt::Display) -> StoreError {
    corrupt(
        path,
        line,
        format!("the plan of the shard is damaged: {what}"),
        "start the shard again, which writes it anew and asks nothing that was answered",
    )
}

/// The number of the last line of a log that has no checksum.
fn unchecked_lines(log: &Path, run: &str) -> Result<u64> {
    let Some(file) = open_if_there(log)? else {
        return Ok(0);
    };
    let mut reader = BufReader::with_capacity(READ_BUFFER, file);
    let (mut number, mut last, mut bytes) = (0, 0, Vec::new());
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(io_at(log))? == 0 {
            return Ok(last);
        }
        number += 1;
        if line::unseal(run, &mut bytes) == Seal::Absent {
            last = number;
        }
    }
}

//! Joining logs: every line is checked, copies of one sample are compared, and the result is written whole.
//!
//! The lines are sorted in memory that does not grow with them ([`crate::sort`]).

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::line::{self, Seal};
use mary_contract::{RunManifest, StoreError};
use mary_platform::{Replacement, append_plain, open_plain};

use crate::fault::{Result, corrupt, io_at, open_if_there};
use crate::index::{READ_BUFFER, unreadable};
use crate::plan::Plan;
use crate::sort::{Entry, Scratch, Sorter, fold, merge_runs};

/// Conflicts that are named one by one.
const NAMED: usize = 10;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeReport {
    pub path: PathBuf,
    pub samples: usize,
    pub failed: usize,
    /// Copies that were left out because the same sample was there already.
    pub duplicates: usize,
    /// Failures that an answer from another shard replaced.
    pub replaced: usize,
    /// Samples that were answered twice, and not alike; the first answer stayed.
    pub differing: usize,
    /// Logs that ended in the middle of a line.
    pub torn: usize,
    /// Logs with lines from before lines had checksums.
    pub unchecked: usize,
    /// Damaged lines that stood in the joined log from before and were set aside.
    pub damaged: usize,
}

pub(crate) struct JoinedLog {
    pub(crate) log: PathBuf,
    /// The run that the manifest beside it names; every line's checksum holds for this run alone.
    pub(crate) run: String,
    /// Which of the folders that were given it lies in. Two answers in one folder were made by one run,
    /// which asked twice, and the first stays. Two answers in different folders contradict each other.
    pub(crate) folder: usize,
    /// It is the log that will be replaced: a damaged line is set aside, since a part may hold it whole.
    pub(crate) replaced: bool,
}

/// Joins logs into one at `target`, sorted by id: the whole of it or nothing. `target` may be one of
/// the sources. Lines are refused that do not match their checksum, that a shard's plan does not hold, or
/// whose model or task the manifest does not name.
pub(crate) fn join(
    manifest: &RunManifest,
    sources: &[JoinedLog],
    target: &Path,
) -> Result<MergeReport> {
    let scratch = Scratch::beside(target)?;
    let aside = scratch.folder.join("damaged");
    let mut counts = MergeReport::default();
    let mut runs = Vec::new();
    let mut sorter = Sorter::default();
    for (place, source) in sources.iter().enumerate() {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let log = Log::new(manifest, source, place, &aside);
        log.read(&mut counts, |entry| sorter.take(entry, &scratch, &mut runs))?;
    }
    sorter.spill(&scratch, &mut runs)?;
    fold(&mut runs, &scratch)?;
    let mut out = Replacement::begin(target).map_err(io_at(target))?;
    let mut group: Vec<Entry> = Vec::new();
    let mut conflicts = Conflicts::default();
    let mut settle = |group: &mut Vec<Entry>, counts: &mut MergeReport| -> Result<()> {
        if let Some(chosen) = choose(group, sources, counts, &mut conflicts)? {
            let mut line = chosen.line.clone();
            if chosen.checked {
                line::seal(&manifest.id, 0, &mut line);
            }
            out.write_all(&line).map_err(io_at(target))?;
            counts.samples += 1;
            counts.failed += usize::from(chosen.failed);
        }
        group.clear();
        Ok(())
    };
    merge_runs(&runs, |entry| {
        if group.first().is_some_and(|first| first.key != entry.key) {
            settle(&mut group, &mut counts)?;
        }
        group.push(entry);
        Ok(())
    })?;
    settle(&mut group, &mut counts)?;
    if conflicts.number > 0 {
        return Err(conflicts.into_error());
    }
    if counts.samples == 0 {
        return Err(empty(sources));
    }
    if counts.damaged > 0 {
        keep_aside(&aside, target)?;
    }
    out.commit().map_err(io_at(target))?;
    Ok(counts)
}

/// Damaged lines of the log that is replaced go where torn ones go.
fn keep_aside(aside: &Path, target: &Path) -> Result<()> {
    let torn = target.with_extension("jsonl.torn");
    let mut from = open_plain(aside).map_err(io_at(aside))?;
    let mut to = append_plain(&torn).map_err(io_at(&torn))?;
    io::copy(&mut from, &mut to).map_err(io_at(&torn))?;
    to.sync_data().map_err(io_at(&torn))
}

/// Samples with different answers in two folders.
#[derive(Default)]
struct Conflicts {
    number: usize,
    named: Vec<String>,
}

impl Conflicts {
    fn into_error(self) -> StoreError {
        StoreError::Mismatch(format!(
            "{} with different content in two folders; nothing was written:{}\n\
             hint: these are not shards of one run; merge only one of the folders",
            mary_platform::counted(self.number, "sample"),
            self.named.concat()
        ))
    }
}

fn empty(sources: &[JoinedLog]) -> StoreError {
    let mut searched = String::new();
    for source in sources.iter().filter(|source| !source.replaced).take(NAMED) {
        searched.push_str(&format!("\n  {}", source.log.display()));
    }
    StoreError::Mismatch(format!(
        "there is nothing to join: no log holds a whole sample; nothing was written{}{searched}\n\
         hint: name the run folders that hold samples.jsonl, or shards/ with logs in them",
        if searched.is_empty() {
            ""
        } else {
            ". Looked at:"
        },
    ))
}

/// Which line of a sample stays. An answer goes before a failure, one with a checksum before one without,
/// the earlier log before the later.
fn choose<'g>(
    group: &'g [Entry],
    sources: &[JoinedLog],
    counts: &mut MergeReport,
    conflicts: &mut Conflicts,
) -> Result<Option<&'g Entry>> {
    let answered = |checked| {
        let mut answers = group.iter().filter(|entry| !entry.failed);
        answers.find(|entry| entry.checked == checked)
    };
    // A log's last failure is the one that counts in it; among logs, none has more to say.
    let failed = || group.iter().rev().min_by_key(|entry| &entry.line);
    let Some(mut chosen) = answered(true).or_else(|| answered(false)).or_else(failed) else {
        return Ok(None);
    };
    let kept = (chosen.source, chosen.number);
    for entry in group {
        if (entry.source, entry.number) == kept {
            continue;
        }
        let foreign = entry.source != kept.0;
        if entry.line == chosen.line || entry.failed != chosen.failed {
            if entry.failed == chosen.failed {
                counts.duplicates += usize::from(foreign);
            } else {
                counts.replaced += usize::from(foreign);
            }
            continue;
        }
        if entry.failed {
            counts.replaced += usize::from(foreign);
        } else if canonical(&entry.line) == canonical(&chosen.line) {
            counts.duplicates += usize::from(foreign);
            // The order of the logs must not decide the bytes.
            if entry.line < chosen.line && entry.checked == chosen.checked {
                chosen = entry;
            }
        } else if folder_of(entry, sources) == folder_of(chosen, sources) {
            counts.differing += 1;
        } else {
            conflicts.number += 1;
            if conflicts.named.len() < NAMED {
                let name = line::read_id(&entry.line)
                    .map(|(id, _)| id.describe())
                    .unwrap_or_default();
                let place = |entry: &Entry| {
                    let source = sources.get(entry.source as usize);
                    let folder = source.and_then(|source| source.log.parent());
                    folder.map_or_else(String::new, |p| p.display().to_string())
                };
                conflicts.named.push(format!(
                    "\n  {name} in {} and {}",
                    place(chosen),
                    place(entry)
                ));
            }
        }
    }
    Ok(Some(chosen))
}

fn folder_of(entry: &Entry, sources: &[JoinedLog]) -> Option<usize> {
    Some(sources.get(entry.source as usize)?.folder)
}

/// A line in our own form: the order of keys or spaces is not content. `None` for what is no sample.
fn canonical(bytes: &[u8]) -> Option<Vec<u8>> {
    let sample = line::read(bytes).ok()?;
    let mut out = Vec::new();
    line::write(&sample, &mut out).ok()?;
    Some(out)
}

struct Log<'a> {
    manifest: &'a RunManifest,
    models: Vec<String>,
    source: &'a JoinedLog,
    place: u32,
    /// Where damaged lines of the log that is replaced are kept meanwhile.
    aside: &'a Path,
}

impl<'a> Log<'a> {
    fn new(manifest: &'a RunManifest, source: &'a JoinedLog, place: u32, aside: &'a Path) -> Self {
        let models = manifest.models.iter().map(|card| card.model.to_string());
        Self {
            manifest,
            models: models.collect(),
            source,
            place,
            aside,
        }
    }

    /// Hands over the whole lines of a log. A torn or unreadable last line is left out, as everywhere.
    fn read(
        &self,
        counts: &mut MergeReport,
        mut take: impl FnMut(Entry) -> Result<()>,
    ) -> Result<()> {
        let path = &self.source.log;
        let Some(file) = open_if_there(path)? else {
            return Ok(());
        };
        let plan = match self.source.replaced {
            true => None,
            false => Plan::beside(path, &self.source.run)?,
        };
        let mut reader = BufReader::with_capacity(READ_BUFFER, file);
        let (mut number, mut unchecked) = (0, false);
        loop {
            let mut bytes = Vec::new();
            let n = reader.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
            if n == 0 {
                break;
            }
            if !bytes.ends_with(b"\n") {
                counts.torn += 1;
                break;
            }
            number += 1;
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            match self.check(number, &mut bytes, plan.as_ref()) {
                Ok((key, failed, checked)) => {
                    unchecked |= !checked;
                    take(Entry {
                        key,
                        source: self.place,
                        number,
                        failed,
                        checked,
                        line: bytes,
                    })?;
                }
                Err(Refused::Unreadable(_))
                    if reader.fill_buf().map_err(io_at(path))?.is_empty() =>
                {
                    counts.torn += 1;
                    break;
                }
                Err(Refused::Unreadable(_) | Refused::Changed) if self.source.replaced => {
                    counts.damaged += 1;
                    let mut out = append_plain(self.aside).map_err(io_at(self.aside))?;
                    out.write_all(&bytes).map_err(io_at(self.aside))?;
                }
                Err(refused) => return Err(self.say(number, refused)),
            }
        }
        counts.unchecked += usize::from(unchecked && !self.source.replaced);
        Ok(())
    }

    /// Checks a line and takes its checksum out: its key, whether it is a failure, and whether it had one.
    fn check(
        &self,
        number: u64,
        bytes: &mut Vec<u8>,
        plan: Option<&Plan>,
    ) -> Result<(Vec<u8>, bool, bool), Refused> {
        let checked = match line::unseal(&self.source.run, bytes) {
            Seal::Sound => true,
            Seal::Broken => return Err(Refused::Changed),
            Seal::Absent => false,
        };
        let (id, failed) = line::read_id(bytes).map_err(Refused::Unreadable)?;
        if !checked {
            // Without a checksum, only reading the whole line tells whether it can be read later.
            line::read(bytes).map_err(Refused::Unreadable)?;
        }
        belongs(&id, &self.models, self.manifest, &self.source.log).map_err(Refused::Other)?;
        if let Some(plan) = plan
            // A line without a checksum may have been there before lines had them.
            && (checked || number > plan.head.unchecked)
        {
            let planned = plan.holds(&id);
            if !planned.map_err(|e| Refused::Other(io_at(&self.source.log)(e)))? {
                return Err(Refused::Unplanned(id.describe()));
            }
            if !checked {
                return Err(Refused::Changed);
            }
        }
        Ok((id.key(), failed, checked))
    }

    fn say(&self, number: u64, refused: Refused) -> StoreError {
        let path = &self.source.log;
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        match refused {
            Refused::Unreadable(error) => unreadable(path, at, &error),
            Refused::Changed => corrupt(
                path,
                at,
                "the line does not match its checksum: it was changed after it was written, or it belongs \
                 to another run than the manifest beside it; nothing was written",
                "restore samples.jsonl from a copy, or delete the line and start the shard again, which \
                 asks only for what is missing",
            ),
            Refused::Unplanned(name) => corrupt(
                path,
                at,
                format!("sample {name} is not in this shard's plan; nothing was written"),
                "the log belongs to another shard or run: restore this shard's samples.jsonl from a copy, or \
                 move it away and start the shard again",
            ),
            Refused::Other(error) => error,
        }
    }
}

enum Refused {
    Unreadable(serde_json::Error),
    Changed,
    Unplanned(String),
    Other(StoreError),
}

fn belongs(
    id: &line::BorrowedId<'_>,
    models: &[String],
    manifest: &RunManifest,
    path: &Path,
) -> Result<()> {
    let known =
        models.iter().any(|m| m == id.model()) && manifest.tasks.iter().any(|t| t.id == id.task());
    if known {
        return Ok(());
    }
    Err(StoreError::Mismatch(format!(
        "{}: holds answers of {} on {}, which the manifest does not name; nothing was written\n\
         hint: the folder was put together from several runs; take manifest.json and samples.jsonl \
         from the same one",
        path.display(),
        id.model(),
        id.task()
    )))
}

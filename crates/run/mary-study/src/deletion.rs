//! Deleting for good: what a withdrawal leaves in the database's file and journal, in exports, in run folders
//! and in marks on paper goes too. What cannot go yet is named, stays noted in the database, and is tried
//! again by the server's timer, by its next start and by the next command.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mary_contract::Registry;
use mary_platform::{Separated, read_plain, replace_file};
use serde_json::Value;

use crate::Result;
use crate::folder::DATABASE;
use crate::private;
use crate::session::Session;
use crate::store::{self, Copy, CopyKind};

/// The folder below a study's own into which it is exported unless something else is said.
pub const EXPORT: &str = "export";

const LARGEST: u64 = 4 << 30;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deletion {
    /// What is still to be deleted, and why: it is noted and tried again.
    pub waiting: Vec<String>,
    /// What Mary cannot delete: for whoever runs the study.
    pub notes: Vec<String>,
}

impl Deletion {
    /// Whether nothing is left that Mary knows of.
    pub fn complete(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Session {
    /// Whether something that was deleted is still on disk.
    pub fn deletion_pending(&self) -> Result<bool> {
        self.store.wait(store::pending)
    }

    /// Deletes a person by their pseudonym or by the id of their platform, from everything Mary knows of.
    /// Nothing where there is no such person.
    pub fn withdraw(&self, who: &str, registry: Option<&Registry>) -> Result<Option<Deletion>> {
        let who = who.to_owned();
        let export = self.study.path.join(EXPORT);
        let gone = self.store.wait(move |db| {
            let named = store::find_by_platform(db, &who)?.unwrap_or(who);
            know_export(db, &export)?;
            Ok(store::withdraw(db, &named)?.then_some(named))
        })?;
        let Some(pseudonym) = gone else {
            return Ok(None);
        };
        self.forget(&pseudonym, registry).map(Some)
    }

    pub(crate) fn forget(&self, pseudonym: &str, registry: Option<&Registry>) -> Result<Deletion> {
        let mut deletion = self.finish_deletions(registry)?;
        for path in traces(&self.study.path, pseudonym) {
            deletion.notes.push(format!(
                "{}: holds the participant number {pseudonym}; Mary did not write it and leaves it alone",
                path.display()
            ));
        }
        Ok(deletion)
    }

    /// Deletes the ids of platforms, once everybody is paid. How many there were.
    pub fn forget_platform(&self) -> Result<(usize, Deletion)> {
        let n = self.store.wait(|db| {
            let n = store::platform_kept(db)?;
            db.execute("DELETE FROM platform", [])?;
            store::note_all(db)?;
            Ok(n)
        })?;
        Ok((n, self.finish_deletions(None)?))
    }

    /// Goes on with what could not be deleted before. Run folders are written again only with a registry,
    /// since that needs the keys, which the server never reads.
    pub fn finish_deletions(&self, registry: Option<&Registry>) -> Result<Deletion> {
        let mut deletion = Deletion::default();
        if !self.deletion_pending()? {
            return Ok(deletion);
        }
        let (copies, people) = self
            .store
            .wait(|db| Ok((store::copies(db)?, store::all(db)?)))?;
        let known: BTreeSet<String> = people.into_iter().map(|p| p.pseudonym).collect();
        for copy in copies.into_iter().filter(|copy| copy.stale > 0) {
            match self.follow(&copy, &known, registry) {
                Ok(found) => {
                    if !found {
                        deletion.notes.push(format!(
                            "{}: answers were written there before and are not there now; a copy that was \
                             moved still holds them",
                            copy.path
                        ));
                    }
                    self.store
                        .wait(move |db| store::cleaned(db, &copy, !found))?;
                }
                Err(why) => deletion.waiting.push(format!("{}: {why}", copy.path)),
            }
        }
        if !self.store.erase()? {
            deletion.waiting.push(format!(
                "{}-wal: another program is reading the database",
                self.study.database().display()
            ));
        }
        Ok(deletion)
    }

    /// Lets a copy follow the withdrawals. Whether there still was one.
    fn follow(
        &self,
        copy: &Copy,
        known: &BTreeSet<String>,
        registry: Option<&Registry>,
    ) -> Result<bool, String> {
        let path = Path::new(&copy.path);
        if !path.exists() {
            return Ok(false);
        }
        let said = |e: io::Error| e.to_string();
        match (copy.kind, registry) {
            (CopyKind::Export, _) => scrub_export(path, known).map_err(said),
            (CopyKind::Marks, _) => {
                let sheet = copy.sheet.to_string();
                keep_rows(path, "sheet", &|cell| cell.trim() != sheet).map_err(said)?;
                // The sheet's rows are gone: nothing of it is left to follow.
                Ok(false)
            }
            (CopyKind::Run, Some(registry)) => {
                self.rewrite_run(path, registry).map_err(|e| e.to_string())
            }
            (CopyKind::Run, None) => {
                Err("the next `mary study` command writes this run folder again".into())
            }
        }
    }
}

/// Remembers the usual export, which an earlier version did not note.
pub(crate) fn know_export(db: &rusqlite::Connection, folder: &Path) -> rusqlite::Result<()> {
    if folder.exists() {
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        store::record(db, &path.to_string_lossy(), CopyKind::Export, 0)?;
    }
    Ok(())
}

/// Takes everybody out of an export who is no longer in the study. Whether it has any of our files.
pub(crate) fn scrub_export(folder: &Path, known: &BTreeSet<String>) -> io::Result<bool> {
    let mut tables = ["jspsych.csv", "reading.csv"]
        .map(|name| folder.join(name))
        .to_vec();
    if let Ok(entries) = fs::read_dir(folder.join("psych-ds/data")) {
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("study-") && name.ends_with("_data.csv")
        };
        tables.extend(entries.flatten().map(|e| e.path()).filter(ours));
    }
    let mut found = false;
    for table in tables.iter().filter(|t| t.exists()) {
        keep_rows(table, "participant", &|cell| known.contains(cell))?;
        found = true;
    }
    let json = folder.join("jspsych.json");
    if json.exists() {
        let rows: Vec<Value> = serde_json::from_slice(&read_plain(&json, LARGEST)?)?;
        let before = rows.len();
        let stays = |row: &Value| {
            row["participant"]
                .as_str()
                .is_some_and(|p| known.contains(p))
        };
        let kept: Vec<Value> = rows.into_iter().filter(stays).collect();
        if kept.len() < before {
            replace_file(&json, &serde_json::to_vec_pretty(&kept)?)?;
            private::only_owner(&json)?;
        }
        found = true;
    }
    Ok(found)
}

/// Keeps the rows of a table whose cell in a column fits; a table that needs no change is not written.
fn keep_rows(path: &Path, column: &str, fits: &dyn Fn(&str) -> bool) -> io::Result<()> {
    // As marks are read: whatever a spreadsheet parts its fields by.
    let text = Separated::fields(mary_platform::open_plain(path)?, None, true)?;
    let delimiter = text.delimiter();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text);
    let head = reader.headers()?.clone();
    let Some(at) = head.iter().position(|h| h.trim() == column) else {
        let why = format!("expected a column `{column}`, found: {}", head.as_slice());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    };
    let mut out = csv::WriterBuilder::new()
        .flexible(true)
        .delimiter(delimiter)
        .from_writer(Vec::new());
    out.write_record(&head)?;
    let mut dropped = false;
    for record in reader.records() {
        let record = record?;
        if record.get(at).is_some_and(fits) {
            out.write_record(&record)?;
        } else {
            dropped = true;
        }
    }
    if dropped {
        let bytes = out
            .into_inner()
            .map_err(|e| io::Error::other(e.to_string()))?;
        replace_file(path, &bytes)?;
        private::only_owner(path)?;
    }
    Ok(())
}

/// Files of a study's folder, other than the database's own, that hold a word. The database's are not opened
/// here: closing them would drop the locks that SQLite holds on them in this process.
fn traces(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let own = next == folder && name.to_string_lossy().starts_with(DATABASE);
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && !own && holds(&entry.path(), word).unwrap_or(false) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Whether a file holds a word, read piece by piece.
pub(crate) fn holds(path: &Path, word: &str) -> io::Result<bool> {
    let word = word.as_bytes();
    let mut file = mary_platform::open_plain(path)?;
    let mut piece = vec![0; 1 << 16];
    let mut window: Vec<u8> = Vec::new();
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(false);
        }
        window.extend(piece.iter().take(read));
        if window.windows(word.len().max(1)).any(|w| w == word) {
            return Ok(true);
        }
        // A word may lie across two pieces.
        let keep = window.len().saturating_sub(word.len());
        window.drain(..keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_across_two_pieces_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for at in [0, 65_530, 65_536, 70_000] {
            let mut bytes = vec![b'x'; at];
            bytes.extend(b"p-abcdefgh");
            fs::write(&path, &bytes).unwrap();
            assert!(holds(&path, "p-abcdefgh").unwrap(), "{at}");
            assert!(!holds(&path, "p-abcdefgi").unwrap(), "{at}");
        }
        assert_eq!(traces(dir.path(), "p-abcdefgh"), [path]);
    }
}

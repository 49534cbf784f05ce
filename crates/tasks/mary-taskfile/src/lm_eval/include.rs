//! A task file with what it includes: keys of the file itself win over those of its includes, later
//! includes over earlier ones, and each value remembers the file and line it came from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{TextError, text_of};
use crate::lm_eval::HarnessError;
use crate::lm_eval::yaml::{self, Data, Node};

const LARGEST_MIB: u64 = 16;

const DEEPEST: usize = 32;

/// Files that are read for one task, at most: two includes in each of thirty files are a billion.
const MOST: usize = 1_000;

#[derive(Debug, Clone)]
pub struct Merged {
    pub path: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    pub node: Node,
    pub file: Arc<Path>,
}

impl Merged {
    pub fn read(path: &Path) -> Result<Self, HarnessError> {
        let mut entries = Vec::new();
        let mut left = MOST;
        let mut above = Vec::new();
        read(path, "the task file", &mut above, &mut left, &mut entries)?;
        Ok(Self {
            path: path.to_owned(),
            entries,
        })
    }

    /// The value of a key; one that says nothing is not there.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        let entry = self.entries.iter().find(|e| e.name == name)?;
        (entry.node.data != Data::Null).then_some(entry)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same with other values for some keys, as a group gives to its members.
    #[must_use]
    pub fn with(&self, others: &[Entry]) -> Self {
        let mut merged = self.clone();
        for entry in others {
            put(&mut merged.entries, entry.clone());
        }
        merged
    }

    /// An error at a key, or at the beginning where it is not there.
    pub fn wrong(&self, name: &str, message: impl Into<String>) -> HarnessError {
        match self.entries.iter().find(|e| e.name == name) {
            Some(entry) => HarnessError::wrong(&entry.file, entry.node.line, message),
            None => HarnessError::wrong(&self.path, 1, message),
        }
    }

    /// All of it as JSON with sorted keys, for hashing and for writing down.
    pub fn json(&self) -> serde_json::Value {
        let pairs = self.entries.iter();
        let pairs = pairs.map(|e| (e.name.clone(), e.node.json()));
        serde_json::Value::Object(pairs.collect())
    }
}

fn put(entries: &mut Vec<Entry>, entry: Entry) {
    match entries.iter_mut().find(|e| e.name == entry.name) {
        Some(there) => *there = entry,
        None => entries.push(entry),
    }
}

fn read(
    path: &Path,
    what: &'static str,
    above: &mut Vec<PathBuf>,
    left: &mut usize,
    into: &mut Vec<Entry>,
) -> Result<(), HarnessError> {
    let unreadable = |source| HarnessError::Unreadable {
        path: path.to_owned(),
        what,
        source,
        hint: String::new(),
    };
    let whole = std::fs::canonicalize(path).map_err(unreadable)?;
    if above.contains(&whole) || above.len() >= DEEPEST {
        return Err(HarnessError::wrong(path, 1, "the file includes itself"));
    }
    *left = left.checked_sub(1).ok_or_else(|| {
        let message = format!("the task includes more than {MOST} files");
        HarnessError::wrong(path, 1, message)
    })?;
    let text = text_of(&whole, LARGEST_MIB).map_err(|error| match error {
        TextError::Io(source) => unreadable(source),
        TextError::NotText(line) => HarnessError::wrong(path, line, "this is not valid UTF-8"),
    })?;
    let node = yaml::read(&text).map_err(|f| HarnessError::wrong(path, f.line, f.message))?;
    let Data::Map(keys) = node.data else {
        let found = node.kind();
        let message = format!("expected keys and values of a task, found {found}");
        return Err(HarnessError::wrong(path, node.line, message));
    };
    let file: Arc<Path> = path.into();
    if let Some((_, include)) = keys.iter().find(|(k, _)| k.name == "include") {
        let folder = path.parent().unwrap_or(Path::new(""));
        above.push(whole);
        for member in include.members() {
            let Some(name) = member.text() else {
                let message = "`include` names a file, or a list of files";
                return Err(HarnessError::wrong(path, member.line, message));
            };
            let mut theirs = Vec::new();
            let included = folder.join(name);
            let read = read(&included, "an included file", above, left, &mut theirs);
            read.map_err(|mut error| {
                if let HarnessError::Unreadable { hint, .. } = &mut error
                    && hint.is_empty()
                {
                    *hint = format!("\nhint: {}:{} includes it", path.display(), member.line);
                }
                error
            })?;
            for entry in theirs.into_iter().filter(|e| e.name != "task_list") {
                put(into, entry);
            }
        }
        above.pop();
    }
    for (key, node) in keys.into_iter().filter(|(k, _)| k.name != "include") {
        let (name, file) = (key.name, Arc::clone(&file));
        put(into, Entry { name, node, file });
    }
    Ok(())
}

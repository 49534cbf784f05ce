//! Groups and tags: a group's file names tasks, other groups and tags, which lie in files beside it.
//! Names are looked for below the group's own folder first, and then below the folder `tasks` that it
//! lies in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lm_eval::config::{Config, Shape};
use crate::lm_eval::include::{Entry, Merged};
use crate::lm_eval::yaml::{Data, Node};
use crate::lm_eval::{HarnessError, Refusal};

const DEEPEST: usize = 16;

const MOST: usize = 20_000;

/// Keys of a group that are not handed to its members.
const OWN: [&str; 5] = [
    "group",
    "group_alias",
    "task",
    "aggregate_metric_list",
    "metadata",
];

/// The tasks of a file: one, or those of a group. A member that is refused is given with its reason.
pub fn read(path: &Path) -> Result<Vec<Result<Config, HarnessError>>, HarnessError> {
    let merged = Merged::read(path)?;
    match Shape::from_keys(&merged) {
        Shape::Group => {
            let mut members = Members::default();
            members.group(&merged, &[], 0)?;
            Ok(members.found)
        }
        Shape::Part => Err(HarnessError::wrong(
            path,
            1,
            "this file has neither `task` nor `group`: it is a part that task files include",
        )),
        Shape::Task | Shape::Class => Config::from_merged(&merged).map(|c| vec![Ok(c)]),
    }
}

#[derive(Default)]
struct Members {
    index: Index,
    found: Vec<Result<Config, HarnessError>>,
}

impl Members {
    fn group(
        &mut self,
        merged: &Merged,
        above: &[Entry],
        depth: usize,
    ) -> Result<(), HarnessError> {
        let Some(list) = merged.get("task") else {
            return Ok(());
        };
        let handed_on = |e: &&Entry| !OWN.contains(&e.name.as_str());
        let given = merged.entries().iter().filter(handed_on).chain(above);
        let given: Vec<Entry> = given.cloned().collect();
        self.members(&list.node, &list.file, &given, depth)
    }

    fn members(
        &mut self,
        list: &Node,
        file: &Arc<Path>,
        given: &[Entry],
        depth: usize,
    ) -> Result<(), HarnessError> {
        if depth > DEEPEST {
            let message = "the group holds itself";
            return Err(HarnessError::wrong(file, list.line, message));
        }
        for member in list.members() {
            if self.found.len() >= MOST {
                let message = format!("the group has more than {MOST} tasks");
                return Err(HarnessError::wrong(file, member.line, message));
            }
            match &member.data {
                Data::Text(name) => self.named(name, member.line, file, given, depth)?,
                Data::Map(keys) => {
                    let mut given = given.to_vec();
                    let own = keys.iter().filter(|(k, _)| k.name != "group");
                    let is_group = member.get("group").is_some();
                    let own = own.filter(|(k, _)| !(is_group && OWN.contains(&k.name.as_str())));
                    given.extend(own.map(|(key, node)| Entry {
                        name: key.name.clone(),
                        node: node.clone(),
                        file: Arc::clone(file),
                    }));
                    self.inline(member, file, &given, depth)?;
                }
                _ => {
                    let message = "a member of a group is a name, or a map with `task` or `group`";
                    return Err(HarnessError::wrong(file, member.line, message));
                }
            }
        }
        Ok(())
    }

    fn inline(
        &mut self,
        member: &Node,
        file: &Arc<Path>,
        given: &[Entry],
        depth: usize,
    ) -> Result<(), HarnessError> {
        if let Some(name) = member.get("group").and_then(Node::text) {
            if let Some(list) = member.get("task") {
                return self.members(list, file, given, depth + 1);
            }
            return self.named(name, member.line, file, given, depth);
        }
        match member.get("task") {
            Some(node) if node.text().is_some() => {
                let name = node.text().unwrap_or_default();
                let given: Vec<Entry> =
                    given.iter().filter(|e| e.name != "task").cloned().collect();
                self.named(name, member.line, file, &given, depth)
            }
            _ => {
                let message = "a member of a group has `task` or `group`";
                Err(HarnessError::wrong(file, member.line, message))
            }
        }
    }

    fn named(
        &mut self,
        name: &str,
        line: usize,
        file: &Arc<Path>,
        given: &[Entry],
        depth: usize,
    ) -> Result<(), HarnessError> {
        let known = self.index.find(name, file)?;
        if known.is_empty() {
            let message = format!(
                "no task file below {} is called `{name}`, is a group of that name or has it as a tag",
                root_of(file).display()
            );
            return Err(HarnessError::wrong(file, line, message));
        }
        for path in known {
            let merged = match Merged::read(&path) {
                Ok(merged) => merged.with(given),
                Err(error) => {
                    self.found.push(Err(error));
                    continue;
                }
            };
            match Shape::from_keys(&merged) {
                Shape::Group => self.group(&merged, given, depth + 1)?,
                _ => self.found.push(Config::from_merged(&merged)),
            }
        }
        Ok(())
    }
}

/// The folder that names are looked for in: the package's `tasks`, or the file's own.
fn root_of(file: &Path) -> PathBuf {
    let own = folder_of(file);
    let is_tasks = |a: &&Path| a.file_name().is_some_and(|n| n == "tasks");
    let tasks = file.ancestors().skip(1).filter(is_tasks).last();
    tasks.unwrap_or(own).to_owned()
}

/// The folder of a file; of a bare name, the current one.
fn folder_of(file: &Path) -> &Path {
    let named = file.parent().filter(|f| !f.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

#[derive(Default)]
struct Index {
    folders: BTreeMap<PathBuf, Names>,
}

#[derive(Default)]
struct Names {
    named: BTreeMap<String, PathBuf>,
    tags: BTreeMap<String, BTreeMap<String, PathBuf>>,
}

impl Index {
    /// The files that a name stands for: a task, a group, or all tasks with a tag.
    fn find(&mut self, name: &str, near: &Path) -> Result<Vec<PathBuf>, HarnessError> {
        let own = folder_of(near).to_owned();
        for folder in [own, root_of(near)] {
            let names = match self.folders.entry(folder) {
                Slot::Occupied(known) => known.into_mut(),
                Slot::Vacant(new) => {
                    let mut names = Names::default();
                    names.read(new.key())?;
                    new.insert(names)
                }
            };
            if let Some(path) = names.named.get(name) {
                return Ok(vec![path.clone()]);
            }
            if let Some(tagged) = names.tags.get(name) {
                return Ok(tagged.values().cloned().collect());
            }
        }
        Ok(Vec::new())
    }
}

impl Names {
    fn read(&mut self, folder: &Path) -> Result<(), HarnessError> {
        let unreadable = |source| HarnessError::Unreadable {
            path: folder.to_owned(),
            what: "the folder of task files",
            source,
            hint: String::new(),
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            paths.push(entry.map_err(unreadable)?.path());
        }
        paths.sort();
        for path in paths {
            if path.is_dir() {
                let name = path.file_name();
                if !name.is_some_and(|n| n == "__pycache__" || n == ".ipynb_checkpoints") {
                    self.read(&path)?;
                }
            } else if path.extension().is_some_and(|e| e == "yaml") {
                self.file(&path);
            }
        }
        Ok(())
    }

    /// A file that cannot be read has no name; it is told when it is named by itself.
    fn file(&mut self, path: &Path) {
        let Ok(merged) = Merged::read(path) else {
            return;
        };
        let text = |key: &str| Some(merged.get(key)?.node.text()?.to_owned());
        let name = match Shape::from_keys(&merged) {
            Shape::Group => text("group"),
            Shape::Task | Shape::Class => text("task"),
            Shape::Part => None,
        };
        let Some(name) = name else {
            return;
        };
        if Shape::from_keys(&merged) != Shape::Group
            && let Some(entry) = merged.get("tag")
        {
            for tag in entry.node.members().iter().filter_map(Node::text) {
                let tagged = self.tags.entry(tag.to_owned()).or_default();
                tagged.insert(name.clone(), path.to_owned());
            }
        }
        self.named.entry(name).or_insert_with(|| path.to_owned());
    }
}

/// Why a task of a group is not among those that run.
pub fn reason(error: &HarnessError) -> String {
    match error {
        HarnessError::Refused { refusal, .. } => refusal.kind(),
        HarnessError::Unreadable { .. } => "an included file is not there".into(),
        HarnessError::Wrong { .. } => "the file makes no sense".into(),
        HarnessError::NoData { .. } => "no data".into(),
    }
}

pub fn needs_python(error: &HarnessError) -> bool {
    let HarnessError::Refused { refusal, .. } = error else {
        return false;
    };
    matches!(refusal, Refusal::Python { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_lies_in_the_current_folder() {
        assert_eq!(folder_of(Path::new("mine.yaml")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/mine.yaml")), Path::new("a"));
        assert_eq!(root_of(Path::new("mine.yaml")), Path::new("."));
        assert_eq!(
            root_of(Path::new("x/tasks/arc/a.yaml")),
            Path::new("x/tasks")
        );
    }
}

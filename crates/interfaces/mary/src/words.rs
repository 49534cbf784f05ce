//! The words of this process' command line, for manifests.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use mary_lab::is_task_file;

/// What this process was asked to do. Not `std::env::args`, since an interpreter may stand before us there.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the words of a command line, the program's name before them, for [`words`].
pub fn remember_words(words: &[OsString]) {
    let rest = words.iter().skip(1);
    let rest = rest.map(|w| w.to_string_lossy().into_owned()).collect();
    // A second command of one process is a function call with words of its own.
    let _ = WORDS.set(rest);
}

/// The words of this command line for a manifest, task files by their whole path, so that the run can
/// be continued from another folder.
pub fn words() -> Vec<String> {
    whole_paths(WORDS.get().map_or(&[][..], Vec::as_slice))
}

/// The words of an instrument's command for a manifest, its file of texts by the whole path of where it
/// lies.
pub fn words_about(given: &Path, file: &Path) -> Vec<String> {
    let mut words = words();
    let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let given = given.to_string_lossy();
    let places = || words.iter().enumerate().filter(|(_, w)| **w == *given);
    // The value of an option may be spelled like the file.
    let after_option = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|w| w.starts_with("--") && !w.contains('='))
    };
    let plain = places().find(|(at, _)| !after_option(*at));
    let found = plain.or_else(|| places().next_back()).map(|(at, _)| at);
    if let Some(word) = found.and_then(|at| words.get_mut(at)) {
        *word = whole.display().to_string();
    }
    words
}

/// Task files among some words of a command by their whole path.
pub fn whole_paths(words: &[String]) -> Vec<String> {
    words.iter().map(|w| absolute(w)).collect()
}

fn absolute(word: &str) -> String {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (Some(name), value),
        _ => (None, word),
    };
    if !value.split(',').any(is_task_file) {
        return word.to_owned();
    }
    let whole = |part: &str| match std::fs::canonicalize(part.trim()) {
        Ok(path) if is_task_file(part) => path.display().to_string(),
        _ => part.to_owned(),
    };
    let value = value.split(',').map(whole).collect::<Vec<_>>().join(",");
    match name {
        Some(name) => format!("{name}={value}"),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_there_become_whole_paths() {
        assert_eq!(absolute("letters/rhyme"), "letters/rhyme");
        assert_eq!(absolute("--tasks=absent.toml"), "--tasks=absent.toml");
    }
}

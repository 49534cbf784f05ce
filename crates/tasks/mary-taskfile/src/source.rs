//! The text of a task file: what it says, and in which line something is wrong.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::TaskFileError;
use crate::form::Placed;
use crate::rows::{Format, Table, format_of};

pub(crate) struct FileText<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl FileText<'_> {
    pub fn line(&self, byte: usize) -> usize {
        let before = self.text.as_bytes().get(..byte).unwrap_or_default();
        1 + before.iter().filter(|b| **b == b'\n').count()
    }

    /// Where a text first stands.
    pub fn place(&self, text: &str) -> usize {
        self.text.find(text).unwrap_or(self.text.len())
    }

    pub fn wrong(&self, byte: usize, message: impl Into<String>) -> TaskFileError {
        TaskFileError::Wrong {
            path: self.path.to_owned(),
            line: self.line(byte),
            message: message.into(),
        }
    }

    pub fn form<T: DeserializeOwned>(&self) -> Result<T, TaskFileError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |s| s.start);
            self.wrong(at, error.message().trim_end())
        })
    }

    pub fn table(
        &self,
        path: &Placed,
        format: Option<Format>,
        quotes: Option<bool>,
        split: Option<&str>,
    ) -> Result<Table, TaskFileError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let file = folder.join(path.get_ref());
        let format = match format {
            Some(format) => format,
            None => format_of(&file).map_err(|why| self.wrong(path.span().start, why))?,
        };
        let (place, line) = (self.path.display(), self.line(path.span().start));
        let hint = format!("{place}:{line} names it, as seen from the folder of the task file");
        let table = Table::open(file.clone(), format, quotes, split);
        table.map_err(|source| TaskFileError::Unreadable {
            path: file,
            what: "the data",
            source,
            hint: format!("\nhint: {hint}"),
        })
    }
}

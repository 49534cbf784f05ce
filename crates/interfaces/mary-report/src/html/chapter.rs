//! Chapters of a report.

use std::collections::BTreeMap;

use mary_contract::{Exhibits, RunSummary, model_labels};

use crate::twins::Sheet;

/// What a chapter shows of some runs; one that has nothing to show is left out.
type Build<'a, E> = dyn Fn(&[RunSummary]) -> Result<Option<Contents>, E> + 'a;

pub struct Chapter<'a, E> {
    /// Unique in a report; a family's chapter has the family's id, the word before the slash.
    pub id: &'a str,
    pub title: &'a str,
    build: Box<Build<'a, E>>,
}

impl<'a, E> Chapter<'a, E> {
    pub fn new(
        id: &'a str,
        title: &'a str,
        build: impl Fn(&[RunSummary]) -> Result<Option<Contents>, E> + 'a,
    ) -> Self {
        let build = Box::new(build);
        Self { id, title, build }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    pub exhibits: Exhibits,
    pub items: Sheet,
}

impl From<Exhibits> for Contents {
    fn from(exhibits: Exhibits) -> Self {
        Self {
            exhibits,
            items: Sheet::default(),
        }
    }
}

impl Contents {
    fn renamed(self, labels: &BTreeMap<String, String>) -> Self {
        Self {
            exhibits: self.exhibits.renamed(labels),
            items: self.items.renamed(labels),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BuiltChapter {
    pub id: String,
    pub title: String,
    pub contents: Contents,
}

impl BuiltChapter {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        contents: impl Into<Contents>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            contents: contents.into(),
        }
    }

    fn shows(&self, exhibit: &str) -> bool {
        let Exhibits {
            figures, tables, ..
        } = &self.contents.exhibits;
        figures.iter().any(|f| f.id == exhibit) || tables.iter().any(|t| t.id == exhibit)
    }
}

/// Builds chapters in their order, with models called by their labels. A table or figure that an earlier
/// chapter shows already does not stand twice.
pub fn build<'c, 'a: 'c, E: 'c>(
    chapters: impl IntoIterator<Item = &'c Chapter<'a, E>>,
    runs: &[RunSummary],
) -> Result<Vec<BuiltChapter>, E> {
    let labels = model_labels(runs.iter().flat_map(|run| &run.manifest.models));
    let mut built: Vec<BuiltChapter> = Vec::new();
    for chapter in chapters {
        if let Some(contents) = (chapter.build)(runs)? {
            let mut contents = contents.renamed(&labels);
            let shown = |id: &str| built.iter().any(|earlier| earlier.shows(id));
            contents.exhibits.figures.retain(|f| !shown(&f.id));
            contents.exhibits.tables.retain(|t| !shown(&t.id));
            built.push(BuiltChapter::new(chapter.id, chapter.title, contents));
        }
    }
    Ok(built)
}

//! Forms on which people mark what was written, by models or by other people. A family says what is shown
//! and asked; `mary study` makes pages or a spreadsheet of it, and neither shows who wrote a text.

use crate::{Sample, SampleId, Text};

/// A line for each thing to mark, each with one verdict of two.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkingForm {
    /// What the verdict 0 means.
    pub no: Text,
    /// What the verdict 1 means.
    pub yes: Text,
    /// What the verdicts become in the run; none is the usual name.
    pub measure: Option<Text>,
    /// The headings of what is shown.
    pub columns: Vec<Text>,
    /// What is to be marked.
    pub lines: Vec<MarkingLine>,
}

/// One thing to mark.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkingLine {
    /// The answer that it is about; no marker is shown it.
    pub of: SampleId,
    /// Which part of the answer, where a form has several lines for one.
    pub part: String,
    /// What is shown, in the order of the columns.
    pub shown: Vec<String>,
}

impl MarkingForm {
    /// A form without lines.
    pub fn new(no: impl Into<Text>, yes: impl Into<Text>, columns: &[&'static str]) -> Self {
        Self {
            no: no.into(),
            yes: yes.into(),
            measure: None,
            columns: columns.iter().map(|c| Text::from(*c)).collect(),
            lines: Vec::new(),
        }
    }

    /// The verdicts become this measure.
    #[must_use]
    pub fn measured(mut self, name: impl Into<Text>) -> Self {
        self.measure = Some(name.into());
        self
    }

    /// With a line about an answer, or about a part of it.
    pub fn line(&mut self, of: &SampleId, part: &str, shown: Vec<String>) {
        self.lines.push(MarkingLine {
            of: of.clone(),
            part: part.to_owned(),
            shown,
        });
    }
}

impl Sample {
    /// What was written first: a reading, a judge's verdict or a second turn comes after it. Empty where
    /// nothing was.
    pub fn written(&self) -> &str {
        let first = self.exchanges.first();
        let reply = first.and_then(|e| e.reply.as_ref().ok());
        let written = reply.and_then(|r| r.answer.as_generated());
        written.map_or("", |g| g.text.as_str())
    }
}

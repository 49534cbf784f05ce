//! A reader of the event stream that writes every finished sample down.

use mary_contract::{Event, EventObserver};

use crate::fault::Result;
use crate::{Label, RunFolder};

pub struct Recorder<'a> {
    folder: &'a mut RunFolder,
    label: Option<Label>,
}

impl<'a> Recorder<'a> {
    pub fn new(folder: &'a mut RunFolder) -> Self {
        Self {
            folder,
            label: None,
        }
    }

    /// Also tells the response cache which model and task its new rows belong to.
    #[must_use]
    pub fn labelling(mut self, label: Label) -> Self {
        self.label = Some(label);
        self
    }
}

impl EventObserver for Recorder<'_> {
    fn observe(&mut self, event: &Event<'_>) -> Result<()> {
        match event {
            Event::TaskStarted { model, task, .. } => {
                if let Some(label) = &self.label {
                    label.set(model, task);
                }
                Ok(())
            }
            Event::SampleFinished(sample) => self.folder.append(sample),
            Event::TaskFinished { .. } => self.folder.flush(),
            Event::Answered { .. } | Event::Writing(_) | Event::Note(_) | Event::Warning(_) => {
                Ok(())
            }
        }
    }
}

//! Readers of events that every program needs.

use mary_contract::{Event, EventObserver, StoreError};

/// Several readers of one stream of events.
pub struct Both<'a>(pub &'a mut dyn EventObserver, pub &'a mut dyn EventObserver);

impl EventObserver for Both<'_> {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        self.0.observe(event)?;
        self.1.observe(event)
    }
}

/// A reader that takes no notice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl EventObserver for Silent {
    fn observe(&mut self, _: &Event<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

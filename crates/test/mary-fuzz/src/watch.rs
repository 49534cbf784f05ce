//! Watching a reader: its memory by a counting allocator, its processor time, and panics that come
//! out of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Counts what is allocated, and what was at most. A program that wants figures makes it its global
/// allocator.
#[derive(Debug)]
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[derive(Debug)]
pub struct Watched {
    pub accepted: bool,
    pub panicked: Option<String>,
    /// Bytes allocated at most, above what was there before.
    pub bytes: usize,
    /// Processor time of this thread.
    pub millis: u64,
}

pub fn watched(read: impl FnOnce() -> bool) -> Watched {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Clock::start();
    let outcome = catch_unwind(AssertUnwindSafe(read));
    let millis = start.millis();
    let bytes = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let (accepted, panicked) = match outcome {
        Ok(accepted) => (accepted, None),
        Err(payload) => {
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|t| (*t).to_owned()));
            (false, Some(text.unwrap_or_else(|| "no words".into())))
        }
    };
    Watched {
        accepted,
        panicked,
        bytes,
        millis,
    }
}

/// Processor time of this thread where the system tells it, so that a busy machine is no finding;
/// otherwise the clock on the wall.
struct Clock {
    wall: Instant,
    processor: Option<u64>,
}

impl Clock {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            processor: processor_nanos(),
        }
    }

    fn millis(&self) -> u64 {
        match (self.processor, processor_nanos()) {
            (Some(before), Some(now)) => now.saturating_sub(before) / 1_000_000,
            _ => u64::try_from(self.wall.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn processor_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

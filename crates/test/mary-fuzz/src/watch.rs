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

/// What the whole process takes, as the system counts it: memory that is really there, and processor time
/// of all threads. Zeros where the system does not tell.
#[derive(Debug)]
pub struct Process {
    resident: u64,
    millis: u64,
}

impl Process {
    pub fn start() -> Self {
        // 5 sets the peak back to what is taken now.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self {
            resident: memory("VmRSS:"),
            millis: processor_millis("self"),
        }
    }

    /// The most bytes since then, above what was taken, and milliseconds of processor time.
    pub fn taken(&self) -> (u64, u64) {
        let bytes = memory("VmHWM:").saturating_sub(self.resident);
        (bytes, processor_millis("self").saturating_sub(self.millis))
    }
}

fn memory(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

/// Processor time of a process, by its number or `self`.
pub fn processor_millis(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything; user and system time in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> = fields
        .split_whitespace()
        .map(|f| f.parse().unwrap_or(0))
        .collect();
    let ticks = fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0);
    ticks * 10
}

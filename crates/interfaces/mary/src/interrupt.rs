//! Ctrl-C, SIGTERM and SIGHUP: the first stops after what is in flight, the second at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::Context;

/// An engine may signal a shard twice at once: the process itself, and through the script that started
/// it. Both mean the same.
static ENGINE: AtomicBool = AtomicBool::new(false);
/// Signals within this time of the first are the same one, for a shard.
const ONE_SIGNAL: Duration = Duration::from_secs(5);

/// From now on signals that come together count as one.
pub fn under_an_engine() {
    ENGINE.store(true, Ordering::Relaxed);
}

/// The flag that a signal sets. One handler and one flag, however many runs a command makes.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    let stop = Arc::clone(&STOP);
    let flag = Arc::clone(&stop);
    let mut first: Option<Instant> = None;
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            let same = first.is_some_and(|at| at.elapsed() < ONE_SIGNAL);
            if same && ENGINE.load(Ordering::Relaxed) {
                return;
            }
            std::process::exit(130);
        }
        first = Some(Instant::now());
        // Whoever waits for a turn, a pause or a server's word about itself stops waiting.
        mary_remote::stop_waiting();
        crate::terminal::line(
            "stopping: what is under way is waited for and kept; once more to stop at once",
        );
    });
    match set {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(stop),
        Err(error) => Err(error).context("signals cannot be caught"),
    }
}

//! Ctrl-C, SIGTERM and SIGHUP: the first stops after what is in flight, the second at once.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// The flag that a signal sets. One handler and one flag, however many runs a command makes.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    let stop = Arc::clone(&STOP);
    let flag = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // Whoever waits for a turn, a pause or a server's word about itself stops waiting.
        mary_remote::stop_waiting();
        crate::terminal::line(
            "stopping: answers under way are waited for and kept; once more to stop at once",
        );
    });
    match set {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(stop),
        Err(error) => Err(error).context("signals cannot be caught"),
    }
}

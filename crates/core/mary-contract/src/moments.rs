//! Where the time of a process goes. With `MARY_TIMINGS=1` every step of a run says on standard error how
//! long after the start it ended; without it, asking costs one comparison.

use std::io::Write;
use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Option<Instant>> = OnceLock::new();

/// Starts the clock, if the user asked for one. The first call counts, so a program calls this first.
pub fn start_moments() {
    START.get_or_init(|| {
        let asked = std::env::var_os("MARY_TIMINGS").is_some_and(|v| v == "1");
        asked.then(Instant::now)
    });
}

/// Says that a step has ended. The words are the program's own, so that nothing foreign reaches a terminal.
pub fn moment(what: &'static str) {
    if let Some(Some(start)) = START.get() {
        let seconds = start.elapsed().as_secs_f64();
        // Nobody to tell is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{seconds:8.3} s  {what}");
    }
}

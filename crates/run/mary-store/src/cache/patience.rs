//! Taking turns at one file. SQLite's own busy handler does not wait where waiting could be a
//! deadlock: switching a new file to the write-ahead log, creating the tables while another process
//! does the same, closing the last connection while another opens. Since everything done here may
//! be done again from its beginning, such a refusal is waited out in the same way.

use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

/// How long another process may keep us from the cache before that is an error. A turn is a few
/// milliseconds; minutes are for a machine with far more work than processors.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// Between two tries; the longer the wait has been, the longer the pause.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Whether an error means that another connection is at it just now.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                // After a hundred short waits for a change of readers SQLite calls it a breach of
                // protocol; on a crowded machine it is only slowness.
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// Does something again until nobody else is at it.
pub(super) fn patiently<T>(mut act: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    again_while(&mut act, || {
        if start.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
        true
    })
}

/// The same, with the caller saying whether a refusal is followed by another try.
pub(super) fn again_while<T>(
    mut act: impl FnMut() -> rusqlite::Result<T>,
    mut again: impl FnMut() -> bool,
) -> rusqlite::Result<T> {
    loop {
        match act() {
            Err(error) if is_busy(&error) && again() => {}
            outcome => return outcome,
        }
    }
}

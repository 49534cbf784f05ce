//! The time by which places are kept. It goes on evenly whatever happens to the machine's clock: set at
//! start, it is never read again, and it begins no earlier than the last sign of life of anybody who has a
//! place. A clock that is set back and put right again costs nobody their place.

use std::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    begun: Instant,
    at: i64,
}

impl Clock {
    /// A clock that begins at what the machine's says, or at the last sign of life if that is later.
    pub fn starting(wall: i64, last_seen: Option<i64>) -> Self {
        Self {
            begun: Instant::now(),
            at: last_seen.map_or(wall, |seen| wall.max(seen)),
        }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        let gone = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.at.saturating_add(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_begins_before_the_last_sign_of_life() {
        let hour = 3_600_000;
        let set_back = Clock::starting(10 * hour, Some(12 * hour));
        assert!((12 * hour..13 * hour).contains(&set_back.now()));
        let right = Clock::starting(13 * hour, Some(12 * hour));
        assert!((13 * hour..14 * hour).contains(&right.now()));
        assert!((hour..2 * hour).contains(&Clock::starting(hour, None).now()));
    }
}

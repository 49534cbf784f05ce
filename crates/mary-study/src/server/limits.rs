//! How often something may be asked for. Counts live in memory, by token and for the study as a whole;
//! no address is looked at, let alone kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tokens whose counts are kept, at most; those that are full again go first.
const MOST: usize = 20_000;

/// Requests that nobody's token accounts for (guesses, mistyped links), per minute.
const STRANGERS: u32 = 600;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Whether one more is allowed at this rate.
    fn take(&mut self, per_minute: u32, now: Instant) -> bool {
        let size = f64::from(per_minute.max(1));
        let gained = now.duration_since(self.at).as_secs_f64() * size / 60.0;
        self.left = (self.left + gained).min(size);
        self.at = now;
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

/// The counts of one server.
pub(super) struct Limits {
    joins: u32,
    requests: u32,
    counts: Mutex<Counts>,
}

struct Counts {
    joins: Bucket,
    strangers: Bucket,
    people: HashMap<[u8; 32], Bucket>,
}

impl Limits {
    pub fn new(joins: u32, requests: u32, now: Instant) -> Self {
        let full = |size: u32| Bucket {
            left: f64::from(size),
            at: now,
        };
        Self {
            joins,
            requests,
            counts: Mutex::new(Counts {
                joins: full(joins),
                strangers: full(STRANGERS),
                people: HashMap::new(),
            }),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Counts) -> T) -> T {
        look(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Somebody wants to begin.
    pub fn join(&self, now: Instant) -> bool {
        self.with(|counts| counts.joins.take(self.joins, now))
    }

    /// Somebody came with a token that nobody has.
    pub fn stranger(&self, now: Instant) -> bool {
        self.with(|counts| counts.strangers.take(STRANGERS, now))
    }

    /// Whether strangers have used up what they may ask; looked at before the store is asked.
    pub fn strangers_waiting(&self, now: Instant) -> bool {
        self.with(|counts| {
            let mut look = counts.strangers;
            !look.take(STRANGERS, now)
        })
    }

    /// Whether this person was seen before.
    pub fn knows(&self, token: &[u8; 32]) -> bool {
        self.with(|counts| counts.people.contains_key(token))
    }

    /// Somebody with a place asks for something.
    pub fn person(&self, token: [u8; 32], now: Instant) -> bool {
        self.with(|counts| {
            if counts.people.len() >= MOST {
                let size = f64::from(self.requests);
                counts.people.retain(|_, b| b.left + 1.0 < size);
            }
            let bucket = counts.people.entry(token).or_insert(Bucket {
                left: f64::from(self.requests),
                at: now,
            });
            bucket.take(self.requests, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_used_up_comes_back_with_time() {
        let begin = Instant::now();
        let limits = Limits::new(2, 3, begin);
        assert!(limits.join(begin) && limits.join(begin));
        assert!(!limits.join(begin));
        assert!(limits.join(begin + Duration::from_secs(31)));
        let person = [1; 32];
        let allowed = (0..5).filter(|_| limits.person(person, begin)).count();
        assert_eq!(allowed, 3);
        assert!(limits.person([2; 32], begin), "another is not counted with");
        let guesses = (0..1_000).filter(|_| limits.stranger(begin)).count();
        assert_eq!(guesses, 600);
        assert!(limits.strangers_waiting(begin));
    }
}

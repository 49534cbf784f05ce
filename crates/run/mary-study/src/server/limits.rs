//! How often something may be asked for. Counts live in memory, by token, by address and for the study as a
//! whole; no address is written anywhere. What one address does wrong is counted for that address: nobody else
//! waits for it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::settings::Settings;
use crate::store::Neighbours;

/// Tokens and addresses whose counts are kept, at most; those that are full again go first.
const MOST: usize = 20_000;

/// Requests that nobody's token accounts for (guesses, mistyped links), per minute. Everybody who takes part is
/// known, so that nobody waits for them.
const STRANGERS: u32 = 600;

/// Attempts to begin from one address, per minute.
const ATTEMPTS: u32 = 60;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn full(size: u32, at: Instant) -> Self {
        Self {
            left: f64::from(size),
            at,
        }
    }

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

    /// Whether one more would be allowed.
    fn allows(mut self, per_minute: u32, now: Instant) -> bool {
        self.take(per_minute, now)
    }
}

pub(super) struct Limits {
    joins: u32,
    attempts: u32,
    requests: u32,
    places: usize,
    counts: Mutex<Counts>,
}

struct Counts {
    joins: Bucket,
    strangers: Bucket,
    people: HashMap<[u8; 32], Bucket>,
    addresses: HashMap<IpAddr, Address>,
}

struct Address {
    attempts: Bucket,
    inside: Arc<Mutex<Vec<[u8; 32]>>>,
}

impl Limits {
    pub fn new(settings: &Settings, now: Instant) -> Self {
        let joins = settings.rules.joins_per_minute;
        let places = settings.places_per_address();
        // One address alone does not use up what everybody has; a class that was let in begins at once.
        let most = ATTEMPTS.max(u32::try_from(places).unwrap_or(u32::MAX));
        Self {
            joins,
            attempts: (joins / 2).clamp(1, most),
            requests: settings.rules.requests_per_minute,
            places,
            counts: Mutex::new(Counts {
                joins: Bucket::full(joins, now),
                strangers: Bucket::full(STRANGERS, now),
                people: HashMap::new(),
                addresses: HashMap::new(),
            }),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Counts) -> T) -> T {
        look(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Somebody wants to begin: who else came from there, or nothing where they have to wait.
    pub fn attempt(&self, from: IpAddr, now: Instant) -> Option<Neighbours> {
        self.with(|counts| {
            if counts.addresses.len() >= MOST {
                let size = f64::from(self.attempts);
                counts.addresses.retain(|_, a| {
                    let inside = a.inside.lock().unwrap_or_else(PoisonError::into_inner);
                    a.attempts.left + 1.0 < size || !inside.is_empty()
                });
            }
            let own = counts.addresses.entry(from).or_insert_with(|| Address {
                attempts: Bucket::full(self.attempts, now),
                inside: Arc::default(),
            });
            let allowed = own.attempts.take(self.attempts, now);
            (allowed && counts.joins.allows(self.joins, now)).then(|| Neighbours {
                most: self.places,
                tokens: Arc::clone(&own.inside),
            })
        })
    }

    /// Somebody has begun, and is counted by themselves from now on.
    pub fn joined(&self, token: [u8; 32], now: Instant) {
        self.with(|counts| counts.joins.take(self.joins, now));
        self.welcome([token], now);
    }

    pub fn welcome(&self, tokens: impl IntoIterator<Item = [u8; 32]>, now: Instant) {
        self.with(|counts| {
            for token in tokens {
                let full = Bucket::full(self.requests, now);
                counts.people.entry(token).or_insert(full);
            }
        });
    }

    pub fn stranger(&self, now: Instant) -> bool {
        self.with(|counts| counts.strangers.take(STRANGERS, now))
    }

    /// Whether strangers have used up what they may ask; looked at before the store is asked.
    pub fn strangers_waiting(&self, now: Instant) -> bool {
        self.with(|counts| !counts.strangers.allows(STRANGERS, now))
    }

    /// Whether this person was seen before.
    pub fn knows(&self, token: &[u8; 32]) -> bool {
        self.with(|counts| counts.people.contains_key(token))
    }

    pub fn person(&self, token: [u8; 32], now: Instant) -> bool {
        self.with(|counts| {
            if counts.people.len() >= MOST {
                let size = f64::from(self.requests);
                counts.people.retain(|_, b| b.left + 1.0 < size);
            }
            let full = Bucket::full(self.requests, now);
            let bucket = counts.people.entry(token).or_insert(full);
            bucket.take(self.requests, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn limits(joins: u32, requests: u32, now: Instant) -> Limits {
        let text = "name='s'\ntitle='t'\nlanguage='en'\npeople=8\nper_person=2\nlists='latin'\nseed=0\n\
                    minutes=9\ninstructions=''\n[consent]\nversion=1\ntext='c'\n";
        let mut settings: Settings = toml::from_str(text).unwrap();
        settings.rules.joins_per_minute = joins;
        settings.rules.requests_per_minute = requests;
        Limits::new(&settings, now)
    }

    #[test]
    fn what_is_used_up_comes_back_with_time() {
        let begin = Instant::now();
        let limits = limits(4, 3, begin);
        let one: IpAddr = [1, 2, 3, 4].into();
        let may = |from: IpAddr, now: Instant| limits.attempt(from, now).is_some();
        assert!(may(one, begin) && may(one, begin));
        assert!(!may(one, begin), "half of what everybody has");
        assert!(may([1, 2, 3, 5].into(), begin), "another address goes on");
        assert!(may(one, begin + Duration::from_secs(31)));
        let person = [1; 32];
        let allowed = (0..5).filter(|_| limits.person(person, begin)).count();
        assert_eq!(allowed, 3);
        assert!(limits.person([2; 32], begin), "another is not counted with");
        let guesses = (0..1_000).filter(|_| limits.stranger(begin)).count();
        assert_eq!(guesses, 600);
        assert!(limits.strangers_waiting(begin));
    }

    /// Attempts that fail take nothing from others, from whatever address; those that succeed are counted.
    #[test]
    fn failed_attempts_lock_nobody_else_out() {
        let begin = Instant::now();
        let limits = limits(4, 3, begin);
        for n in 0..200 {
            let _ = limits.attempt([9, 9, 9, n].into(), begin);
        }
        assert!(limits.attempt([1, 2, 3, 4].into(), begin).is_some());
        for token in 0..4 {
            limits.joined([token; 32], begin);
        }
        assert!(limits.attempt([1, 2, 3, 5].into(), begin).is_none());
        assert!(limits.knows(&[3; 32]), "whoever began is known");
    }
}

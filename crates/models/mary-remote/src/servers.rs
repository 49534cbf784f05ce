//! Several servers of one model: every attempt goes to the one with the fewest requests under way, and
//! one that fails is left alone for a while, so that its load goes to the others. With a single server
//! there is nothing to choose.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;

use crate::http::{Answer, Attempt};

/// How long a server that failed is left alone at first; twice as long each time it fails again.
const REST: Duration = Duration::from_secs(1);
/// And at most.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// One server.
struct Server {
    base: Url,
    under_way: AtomicUsize,
    /// Requests it was ever given: of two that are equally busy, the one that had fewer is asked.
    given: AtomicUsize,
    failures: Mutex<Failures>,
}

#[derive(Default)]
struct Failures {
    in_a_row: u32,
    rest_until: Option<Instant>,
}

/// The servers of one model.
pub(crate) struct Servers(Vec<Server>);

/// A request's place at one of them, given back when dropped.
pub(crate) struct Seat<'a>(&'a Server);

impl Servers {
    /// These, of which there is at least one.
    pub(crate) fn new(bases: impl IntoIterator<Item = Url>) -> Self {
        let server = |base| Server {
            base,
            under_way: AtomicUsize::new(0),
            given: AtomicUsize::new(0),
            failures: Mutex::default(),
        };
        Self(bases.into_iter().map(server).collect())
    }

    /// A place at the server with the fewest requests under way among those that do not rest; where all
    /// do, at the one whose rest ends first.
    pub(crate) fn seat(&self) -> Option<Seat<'_>> {
        let now = Instant::now();
        let server = self.0.iter().min_by_key(|server| {
            let under_way = server.under_way.load(Ordering::Relaxed);
            (
                server.resting(now),
                under_way,
                server.given.load(Ordering::Relaxed),
            )
        })?;
        server.under_way.fetch_add(1, Ordering::Relaxed);
        server.given.fetch_add(1, Ordering::Relaxed);
        Some(Seat(server))
    }
}

impl Server {
    /// How long it is still left alone.
    fn resting(&self, now: Instant) -> Duration {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let until = failures.rest_until;
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

impl Seat<'_> {
    pub(crate) fn base(&self) -> &Url {
        &self.0.base
    }

    /// What came of the attempt. Refusals for what was asked (a wrong parameter, a missing key) say
    /// nothing about the server.
    pub(crate) fn ended(&self, attempt: &Attempt) {
        let refused = |answer: &Answer| answer.status == 429 || answer.status >= 500;
        let failures = &self.0.failures;
        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
        if attempt.as_ref().is_ok_and(|answer| !refused(answer)) {
            *failures = Failures::default();
            return;
        }
        let rest = REST
            .saturating_mul(1 << failures.in_a_row.min(6))
            .min(LONGEST_REST);
        failures.in_a_row = failures.in_a_row.saturating_add(1);
        failures.rest_until = Some(Instant::now() + rest);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Broken;
    use mary_contract::ErrorKind;

    fn servers() -> Servers {
        let bases = ["http://a/", "http://b/", "http://c/"];
        Servers::new(bases.map(|b| b.parse::<Url>().unwrap()))
    }

    fn broken() -> Attempt {
        Err(Broken {
            kind: ErrorKind::Transport,
            message: String::new(),
            maybe_paid: false,
        })
    }

    #[test]
    fn the_least_busy_is_asked_and_one_that_fails_is_left_alone() {
        let servers = servers();
        let host = |seat: &Seat<'_>| seat.base().host_str().unwrap().to_owned();
        let three: Vec<Seat<'_>> = (0..3).map(|_| servers.seat().unwrap()).collect();
        assert_eq!(three.iter().map(host).collect::<String>(), "abc");
        drop(three);
        servers.seat().unwrap().ended(&broken());
        let hosts: String = (0..4)
            .map(|_| servers.seat().unwrap())
            .map(|seat| host(&seat))
            .collect();
        assert_eq!(hosts, "bcbc", "a rests, and the others take turns");
        // When all rest, the one that rests least; when it answers, it is back at once.
        for _ in 0..2 {
            servers.seat().unwrap().ended(&broken());
        }
        let seat = servers.seat().unwrap();
        assert_eq!(host(&seat), "a");
        seat.ended(&Ok(Answer {
            status: 400,
            headers: Default::default(),
            body: Vec::new(),
        }));
        drop(seat);
        assert_eq!(host(&servers.seat().unwrap()), "a");
    }
}

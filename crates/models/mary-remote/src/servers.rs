//! Several servers of one model: every attempt goes to the one with the fewest requests under way, and
//! one that fails is left alone for a while, so that its load goes to the others. With a single server
//! there is nothing to choose.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;

/// How long a server that failed is left alone at first; twice as long each time it fails again.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

struct Server {
    base: Url,
    load: Mutex<Load>,
}

#[derive(Default)]
struct Load {
    under_way: usize,
    /// Requests it was ever given: of two that are equally busy, the one that had fewer is asked.
    given: usize,
    failures_in_a_row: u32,
    rest_until: Option<Instant>,
}

impl Server {
    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Servers(Vec<Server>);

/// A request's place at one of them, given back when dropped.
pub(crate) struct Seat<'a>(&'a Server);

impl Servers {
    pub(crate) fn new(bases: impl IntoIterator<Item = Url>) -> Self {
        let server = |base| Server {
            base,
            load: Mutex::default(),
        };
        Self(bases.into_iter().map(server).collect())
    }

    /// A place at the server with the fewest requests under way among those that do not rest; where all
    /// do, at the one whose rest ends first.
    pub(crate) fn seat(&self) -> Option<Seat<'_>> {
        let now = Instant::now();
        let server = self.0.iter().min_by_key(|server| {
            let load = server.load();
            let until = load.rest_until.unwrap_or(now);
            (
                until.saturating_duration_since(now),
                load.under_way,
                load.given,
            )
        })?;
        let mut load = server.load();
        load.under_way += 1;
        load.given += 1;
        Some(Seat(server))
    }
}

impl Seat<'_> {
    pub(crate) fn base(&self) -> &Url {
        &self.0.base
    }

    /// What came of the attempt. Refusals for what was asked (a wrong parameter, a missing key) say
    /// nothing about the server, and are no failure.
    pub(crate) fn ended(&self, failed: bool) {
        let mut load = self.0.load();
        if failed {
            let rest = REST.saturating_mul(1 << load.failures_in_a_row.min(6));
            load.failures_in_a_row = load.failures_in_a_row.saturating_add(1);
            load.rest_until = Some(Instant::now() + rest.min(LONGEST_REST));
        } else {
            (load.failures_in_a_row, load.rest_until) = (0, None);
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.load().under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Servers {
        let bases = ["http://a/", "http://b/", "http://c/"];
        Servers::new(bases.map(|b| b.parse::<Url>().unwrap()))
    }

    #[test]
    fn the_least_busy_is_asked_and_one_that_fails_is_left_alone() {
        let servers = servers();
        let host = |seat: &Seat<'_>| seat.base().host_str().unwrap().to_owned();
        let three: Vec<Seat<'_>> = (0..3).map(|_| servers.seat().unwrap()).collect();
        assert_eq!(three.iter().map(host).collect::<String>(), "abc");
        drop(three);
        servers.seat().unwrap().ended(true);
        let hosts: String = (0..4)
            .map(|_| servers.seat().unwrap())
            .map(|seat| host(&seat))
            .collect();
        assert_eq!(hosts, "bcbc", "a rests, and the others take turns");
        // When all rest, the one that rests least; when it answers, it is back at once.
        for _ in 0..2 {
            servers.seat().unwrap().ended(true);
        }
        let seat = servers.seat().unwrap();
        assert_eq!(host(&seat), "a");
        seat.ended(false);
        drop(seat);
        assert_eq!(host(&servers.seat().unwrap()), "a");
    }
}

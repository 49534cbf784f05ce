//! Flow control: how many requests are under way at once, and when the next may leave.
//!
//! The window grows while it goes well (by one per answer at first and after a cut, then by one per
//! round) and halves when more than one in five recent answers says that the provider is overloaded. All requests of a model pass one gate in order of
//! arrival; it waits for room in the window and for the rate limits, learnt or set.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::limits::{Advice, Bucket};

/// Window of a model that was never asked.
const FIRST_WINDOW: f64 = 4.0;
/// More refusals than this share of recent answers mean that we send too much at once. A stray one
/// now and then is the provider's own trouble, and cutting the window for it would starve a run.
const CROWDED: f64 = 0.2;
/// Below this share the window grows.
const CALM: f64 = 0.1;

/// How the flow is limited from the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSettings {
    /// The window never grows beyond this.
    pub max_in_flight: usize,
    /// Requests per minute, where the user set it.
    pub requests_per_minute: Option<f64>,
    /// Tokens per minute, where the user set it.
    pub tokens_per_minute: Option<f64>,
}

/// How an attempt ended, as far as the flow is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// An answer, good or bad: the provider can cope.
    Answered,
    /// 429, 503, 529 and the like.
    Overloaded {
        /// What `Retry-After` asked for.
        retry_after: Option<Duration>,
    },
    /// A connection or an answer broke; it says nothing about load.
    Broken,
}

/// The gate of one model.
#[derive(Debug)]
pub struct Flow {
    /// Held by the one who is next; the mutex queues fairly.
    gate: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    window: f64,
    max: f64,
    /// Below this the window grows by one per answer, above it by one per round.
    threshold: f64,
    active: usize,
    active_tokens: f64,
    pausing: usize,
    last_cut: Instant,
    /// Share of overloads among the last ten answers or so.
    overloads: f64,
    /// Share of overloads among the last twenty or so of those sent since the last cut.
    evidence: f64,
    hold_until: Option<Instant>,
    set: [Option<Bucket>; 2],
    learnt: [Option<Bucket>; 2],
}

impl Flow {
    /// A gate with a small window.
    pub fn new(settings: FlowSettings) -> Self {
        let now = Instant::now();
        let bucket = |limit: Option<f64>| limit.map(|l| Bucket::per_minute(l, now));
        let max = settings.max_in_flight.max(1) as f64;
        Self {
            gate: tokio::sync::Mutex::new(()),
            state: Mutex::new(State {
                window: FIRST_WINDOW.min(max),
                max,
                threshold: f64::INFINITY,
                active: 0,
                active_tokens: 0.0,
                pausing: 0,
                last_cut: now,
                overloads: 0.0,
                evidence: 0.0,
                hold_until: None,
                set: [
                    bucket(settings.requests_per_minute),
                    bucket(settings.tokens_per_minute),
                ],
                learnt: [None, None],
            }),
            freed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves numbers, not a broken invariant: go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests it makes sense to have taken from the desk: the window, a few waiting at
    /// the gate so that it never runs dry, and those pausing before a retry.
    pub fn appetite(&self) -> usize {
        let state = self.state();
        let window = state.window.min(state.max);
        let pausing = (state.pausing as f64).min(4.0 * state.max);
        (window * 1.25 + 4.0 + pausing) as usize
    }

    /// The window now, for reports and tests.
    pub fn window(&self) -> f64 {
        self.state().window
    }

    /// Waits until a request of about this many tokens may leave.
    pub async fn admit(&self, tokens: f64) -> Pass<'_> {
        let _turn = self.gate.lock().await;
        loop {
            let freed = self.freed.notified();
            let wait = self.state().try_admit(tokens, Instant::now());
            match wait {
                Wait::Go(crowd) => {
                    let at = Instant::now();
                    return Pass {
                        flow: self,
                        tokens,
                        sent: Sent { at, crowd },
                    };
                }
                Wait::Room => freed.await,
                Wait::For(time) => tokio::time::sleep(time).await,
            }
        }
    }

    /// Whether nearly all recent requests are answered, so that a refusal is a stray one.
    pub fn is_calm(&self) -> bool {
        self.state().evidence < CALM
    }

    /// Pauses before a retry; counted, so that others are taken from the desk meanwhile.
    pub async fn pause(&self, time: Duration) {
        struct Pausing<'a>(&'a Flow);
        impl Drop for Pausing<'_> {
            fn drop(&mut self) {
                self.0.state().pausing -= 1;
            }
        }
        self.state().pausing += 1;
        let _pausing = Pausing(self);
        tokio::time::sleep(time).await;
    }
}

enum Wait {
    /// In the company of this many.
    Go(usize),
    Room,
    For(Duration),
}

impl State {
    fn try_admit(&mut self, tokens: f64, now: Instant) -> Wait {
        if let Some(until) = self.hold_until {
            if until > now {
                return Wait::For(until - now);
            }
            self.hold_until = None;
        }
        if self.active as f64 >= self.window.floor().max(1.0) {
            return Wait::Room;
        }
        let needs = [1.0, tokens];
        let mut wait = Duration::ZERO;
        for buckets in [&mut self.set, &mut self.learnt] {
            for (bucket, need) in buckets.iter_mut().zip(needs) {
                if let Some(bucket) = bucket {
                    wait = wait.max(bucket.wait(need, now));
                }
            }
        }
        if wait > Duration::ZERO {
            return Wait::For(wait);
        }
        for buckets in [&mut self.set, &mut self.learnt] {
            for (bucket, need) in buckets.iter_mut().zip(needs) {
                if let Some(bucket) = bucket {
                    bucket.take(need);
                }
            }
        }
        self.active += 1;
        self.active_tokens += tokens;
        Wait::Go(self.active)
    }

    fn learn(&mut self, advice: Advice, now: Instant) {
        let unseen = [self.active as f64, self.active_tokens];
        let quotas = [advice.requests, advice.tokens];
        for ((bucket, quota), unseen) in self.learnt.iter_mut().zip(quotas).zip(unseen) {
            match (bucket.as_mut(), quota) {
                (Some(bucket), Some(quota)) => bucket.sync(quota, unseen, now),
                (None, Some(quota)) => *bucket = Bucket::learnt(quota, unseen, now),
                (_, None) => {}
            }
        }
    }

    fn judge(&mut self, verdict: Verdict, sent: Sent, now: Instant) {
        let overloaded = f64::from(matches!(verdict, Verdict::Overloaded { .. }));
        self.overloads += 0.1 * (overloaded - self.overloads);
        // What left before the last cut complains about the past.
        let current = sent.at >= self.last_cut;
        if current {
            self.evidence += 0.05 * (overloaded - self.evidence);
        }
        match verdict {
            Verdict::Answered => {
                // A window that is not used proves nothing, and refusals ask for patience.
                let used = sent.crowd as f64 >= self.window * 0.5;
                if used && self.evidence < CALM {
                    let fast = self.window < self.threshold;
                    let step = if fast { 1.0 } else { 1.0 / self.window };
                    self.window = (self.window + step).min(self.max);
                }
            }
            Verdict::Broken => {}
            Verdict::Overloaded { retry_after } => {
                if current && self.evidence > CROWDED {
                    // Climb back quickly to just below the place of the cut, then carefully.
                    self.threshold = 0.9 * self.window;
                    self.window = (self.window / 2.0).max(1.0);
                    self.last_cut = now;
                    self.evidence = 0.0;
                }
                // One refused request among many waits alone; when most are refused, all wait.
                if let (Some(wait), true) = (retry_after, self.overloads > 0.5) {
                    let until = now + wait;
                    self.hold_until = Some(self.hold_until.map_or(until, |h| h.max(until)));
                }
            }
        }
    }
}

/// When and in what company a request left.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    crowd: usize,
}

/// Leave to send one request. Dropping it frees its place.
#[derive(Debug)]
pub struct Pass<'a> {
    flow: &'a Flow,
    tokens: f64,
    sent: Sent,
}

impl Pass<'_> {
    /// Says how it went.
    pub fn report(self, verdict: Verdict, advice: Advice) {
        let now = Instant::now();
        let mut state = self.flow.state();
        state.judge(verdict, self.sent, now);
        state.learn(advice, now);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.flow.state();
        state.active = state.active.saturating_sub(1);
        state.active_tokens -= self.tokens;
        drop(state);
        self.flow.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(max: usize) -> Flow {
        Flow::new(FlowSettings {
            max_in_flight: max,
            requests_per_minute: None,
            tokens_per_minute: None,
        })
    }

    async fn fill(flow: &Flow) -> Vec<Pass<'_>> {
        let mut passes = Vec::new();
        while let Ok(pass) = tokio::time::timeout(Duration::from_millis(5), flow.admit(1.0)).await {
            passes.push(pass);
        }
        passes
    }

    #[tokio::test]
    async fn the_window_doubles_while_it_goes_well_and_stops_at_the_limit() {
        let flow = flow(20);
        let mut sizes = Vec::new();
        for _ in 0..8 {
            let passes = fill(&flow).await;
            sizes.push(passes.len());
            for pass in passes {
                pass.report(Verdict::Answered, Advice::default());
            }
        }
        assert_eq!(sizes[0], 4);
        assert!(sizes[1] > 4 && sizes[2] > sizes[1], "{sizes:?}");
        assert_eq!(sizes[7], 20, "{sizes:?}");
    }

    #[tokio::test]
    async fn a_round_of_overloads_halves_the_window_once() {
        let flow = flow(16);
        let answered = async || {
            for pass in fill(&flow).await {
                pass.report(Verdict::Answered, Advice::default());
            }
            flow.window()
        };
        for _ in 0..8 {
            answered().await;
        }
        assert_eq!(flow.window(), 16.0);
        for pass in fill(&flow).await {
            pass.report(Verdict::Overloaded { retry_after: None }, Advice::default());
        }
        assert_eq!(flow.window(), 8.0);
        for _ in 0..3 {
            answered().await;
        }
        let back = flow.window();
        assert!((14.4..16.0).contains(&back), "back to just below: {back}");
        let next = answered().await;
        assert!(next - back < 1.1, "then by one a round: {back} {next}");
    }

    #[tokio::test]
    async fn a_stray_refusal_does_not_shrink_the_window() {
        let flow = flow(16);
        for n in 0..400 {
            let verdict = match n % 12 {
                0 => Verdict::Overloaded { retry_after: None },
                _ => Verdict::Answered,
            };
            flow.admit(1.0).await.report(verdict, Advice::default());
        }
        assert!(flow.window() >= 4.0);
    }

    #[tokio::test]
    async fn broken_connections_do_not_shrink_the_window() {
        let flow = flow(16);
        for pass in fill(&flow).await {
            pass.report(Verdict::Broken, Advice::default());
        }
        assert_eq!(flow.window(), 4.0);
    }

    #[tokio::test]
    async fn when_most_are_refused_everyone_waits_as_told() {
        let flow = flow(4);
        let wait = Duration::from_millis(80);
        for _ in 0..12 {
            let pass = flow.admit(1.0).await;
            let retry_after = Some(Duration::ZERO);
            pass.report(Verdict::Overloaded { retry_after }, Advice::default());
        }
        let pass = flow.admit(1.0).await;
        let asked = Instant::now();
        pass.report(
            Verdict::Overloaded {
                retry_after: Some(wait),
            },
            Advice::default(),
        );
        drop(flow.admit(1.0).await);
        assert!(asked.elapsed() >= wait);
    }

    #[tokio::test]
    async fn a_set_rate_is_kept() {
        let flow = Flow::new(FlowSettings {
            max_in_flight: 8,
            requests_per_minute: Some(60.0 * 100.0),
            tokens_per_minute: None,
        });
        let start = Instant::now();
        for _ in 0..120 {
            flow.admit(1.0)
                .await
                .report(Verdict::Answered, Advice::default());
        }
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds >= 0.19, "100 at once, 20 more at 100/s: {seconds}");
    }

    #[tokio::test]
    async fn those_who_pause_make_room_at_the_desk() {
        let flow = flow(4);
        let before = flow.appetite();
        let pause = flow.pause(Duration::from_secs(60));
        tokio::select! {
            () = pause => {}
            () = async {
                tokio::task::yield_now().await;
                assert_eq!(flow.appetite(), before + 1);
            } => {}
        }
        assert_eq!(flow.appetite(), before, "an abandoned pause is not counted");
    }
}

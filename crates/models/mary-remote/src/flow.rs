//! Flow control: how many requests are under way at once, and when the next may leave.
//!
//! The window grows while it goes well (by one per answer at first and after a cut, then by one per
//! round) and halves when more than one in five recent answers says that the provider is
//! overloaded.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mary_contract::{ErrorKind, ModelError};
use mary_platform::notice;
use tokio::sync::{Notify, watch};

use crate::limits::{Advice, Bucket};
use crate::options::Result;

/// Window of a model that was never asked.
const FIRST_WINDOW: f64 = 4.0;
/// More refusals than this share of recent answers mean that we send too much at once. A stray one
/// now and then is the provider's own trouble, and cutting the window for it would starve a run.
const CROWDED: f64 = 0.2;
/// Below this share the window grows.
const CALM: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSettings {
    /// The window never grows beyond this.
    pub max_in_flight: usize,
    /// Requests per minute, where the user set it.
    pub requests_per_minute: Option<f64>,
    /// Tokens per minute, where the user set it.
    pub tokens_per_minute: Option<f64>,
    /// No wait is longer; what asks for more ends the run in a state from which it goes on.
    pub longest_wait: Duration,
    pub title: &'static str,
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

/// True once the user has asked the whole process to stop.
static STOP_ALL: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// Ends every wait of every model, now and from now on: for a turn, for a pause to be over, for a
/// server's word about itself. Requests that are under way are not touched.
pub fn stop_waiting() {
    STOP_ALL.send_replace(true);
}

/// A wait of more than this is reported immediately.
const NOTABLE: Duration = Duration::from_secs(10);
/// Looking again now and then lets a newer header shorten a wait.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The gate of one model.
pub struct Flow {
    /// Held by the one who is next; the mutex queues fairly.
    gate: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    freed: Notify,
    /// True while the run is stopping: nothing more leaves.
    stopping: watch::Sender<bool>,
    settings: FlowSettings,
    /// When a wait was last said.
    told: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct State {
    window: f64,
    max: f64,
    /// Below this the window grows by one per answer, above it by one per round.
    threshold: f64,
    active: usize,
    active_tokens: f64,
    pausing: usize,
    last_cut: Option<Instant>,
    /// Share of overloads among the last ten answers or so.
    overloads: f64,
    /// Share of overloads among the last twenty or so of those sent since the last cut.
    evidence: f64,
    hold_until: Option<Instant>,
    set: [Option<Bucket>; 2],
    learnt: [Option<Bucket>; 2],
}

impl Flow {
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
                set: [settings.requests_per_minute, settings.tokens_per_minute].map(bucket),
                ..State::default()
            }),
            freed: Notify::new(),
            stopping: watch::Sender::new(false),
            settings,
            told: Mutex::new(None),
        }
    }

    /// From now on nothing more leaves, and whoever waits is told so; or, with `false`, all goes on.
    pub fn stop(&self, stopping: bool) {
        self.stopping.send_replace(stopping);
    }

    /// What a future comes to, unless the run is stopping: then nothing more leaves, whoever's turn it is.
    pub(crate) async fn unless_stopped<T>(
        &self,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let (mut ours, mut all) = (self.stopping.subscribe(), STOP_ALL.subscribe());
        // The senders live as long as we do.
        tokio::select! {
            biased;
            _ = ours.wait_for(|stopping| *stopping) => {}
            _ = all.wait_for(|stopping| *stopping) => {}
            ended = future => return ended,
        }
        Err(
            ModelError::new(ErrorKind::Interrupted, "stopped before this was asked")
                .hint("`mary resume` continues from here"),
        )
    }

    pub fn too_long(&self, wait: Duration) -> ModelError {
        let message = format!(
            "{} asks to wait {}; the longest wait is {}",
            self.settings.title,
            in_words(wait),
            in_words(self.settings.longest_wait)
        );
        ModelError::new(ErrorKind::Overloaded, message)
        .hint(
            "go on later with `mary resume`; a longer wait is allowed with --model-arg max_wait=SECONDS",
        )
    }

    /// Says a wait that somebody might take for a hang, once for each.
    fn tell(&self, wait: Duration) {
        if wait < NOTABLE {
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.is_some_and(|until| now < until) {
            return;
        }
        // Whoever waits for the same says nothing more.
        *told = now.checked_add(wait);
        drop(told);
        notice(&format!(
            "{} asks to wait {}; waiting (Ctrl-C stops, `mary resume` continues)",
            self.settings.title,
            in_words(wait)
        ));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves numbers, not a broken invariant: go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests it makes sense to have taken from the queue: the window, a few waiting at
    /// the gate so that it never runs dry, and those pausing before a retry.
    pub fn wanted_in_flight(&self) -> usize {
        let state = self.state();
        let window = state.window.min(state.max);
        let pausing = (state.pausing as f64).min(4.0 * state.max);
        (window * 1.25 + 4.0 + pausing) as usize
    }

    #[cfg(test)]
    fn window(&self) -> f64 {
        self.state().window
    }

    /// Waits until a request of about this many tokens may leave, or says why it does not.
    pub async fn admit(&self, tokens: f64) -> Result<Pass<'_>> {
        self.unless_stopped(self.wait_for_turn(tokens)).await
    }

    async fn wait_for_turn(&self, tokens: f64) -> Result<Pass<'_>> {
        let _turn = self.gate.lock().await;
        loop {
            let freed = self.freed.notified();
            let wait = self.state().try_admit(tokens, Instant::now());
            match wait {
                Wait::Go(crowd) => {
                    let at = Instant::now();
                    return Ok(Pass {
                        flow: self,
                        tokens,
                        sent: Sent { at, crowd },
                    });
                }
                Wait::Room => freed.await,
                Wait::Own(time) => tokio::time::sleep(time.min(LOOK_AGAIN)).await,
                Wait::For(time) if time > self.settings.longest_wait => {
                    return Err(self.too_long(time));
                }
                Wait::For(time) => {
                    self.tell(time);
                    tokio::time::sleep(time.min(LOOK_AGAIN)).await;
                }
            }
        }
    }

    /// Whether nearly all recent requests are answered, so that a refusal is a stray one.
    pub fn is_calm(&self) -> bool {
        self.state().evidence < CALM
    }

    /// Pauses before a retry; counted, so that others are taken from the queue meanwhile. Ends early
    /// with an error when the run is stopping.
    pub async fn pause(&self, time: Duration) -> Result<()> {
        struct Pausing<'a>(&'a Flow);
        impl Drop for Pausing<'_> {
            fn drop(&mut self) {
                self.0.state().pausing -= 1;
            }
        }
        self.state().pausing += 1;
        let _pausing = Pausing(self);
        self.tell(time);
        let pause = async {
            tokio::time::sleep(time).await;
            Ok(())
        };
        self.unless_stopped(pause).await
    }
}

enum Wait {
    /// In the company of this many.
    Go(usize),
    Room,
    /// Because the provider says so.
    For(Duration),
    /// Because the user set a rate.
    Own(Duration),
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
        let [own, theirs] = [&mut self.set, &mut self.learnt].map(|buckets| {
            let both = buckets.iter_mut().zip(needs);
            both.filter_map(|(bucket, need)| Some(bucket.as_mut()?.wait(need, now)))
                .fold(Duration::ZERO, Duration::max)
        });
        if theirs > Duration::ZERO {
            return Wait::For(theirs.max(own));
        }
        if own > Duration::ZERO {
            return Wait::Own(own);
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
        let current = Some(sent.at) >= self.last_cut;
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
                    self.last_cut = Some(now);
                    self.evidence = 0.0;
                }
                // One refused request among many waits alone; when most are refused, all wait.
                if let (Some(until), true) = (
                    retry_after.and_then(|wait| now.checked_add(wait)),
                    self.overloads > 0.5,
                ) {
                    self.hold_until = Some(self.hold_until.map_or(until, |h| h.max(until)));
                }
            }
        }
    }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// When and in what company a request left.
#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    crowd: usize,
}

/// Leave to send one request. Dropping it frees its place.
pub struct Pass<'a> {
    flow: &'a Flow,
    tokens: f64,
    sent: Sent,
}

impl Pass<'_> {
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
            longest_wait: Duration::from_secs(600),
            title: "the server",
        })
    }

    async fn fill(flow: &Flow) -> Vec<Pass<'_>> {
        let mut passes = Vec::new();
        while let Ok(Ok(pass)) =
            tokio::time::timeout(Duration::from_millis(5), flow.admit(1.0)).await
        {
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
            flow.admit(1.0)
                .await
                .unwrap()
                .report(verdict, Advice::default());
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
            let pass = flow.admit(1.0).await.unwrap();
            let retry_after = Some(Duration::ZERO);
            pass.report(Verdict::Overloaded { retry_after }, Advice::default());
        }
        let pass = flow.admit(1.0).await.unwrap();
        let asked = Instant::now();
        pass.report(
            Verdict::Overloaded {
                retry_after: Some(wait),
            },
            Advice::default(),
        );
        drop(flow.admit(1.0).await.unwrap());
        assert!(asked.elapsed() >= wait);
    }

    #[tokio::test]
    async fn a_set_rate_is_kept() {
        let flow = Flow::new(FlowSettings {
            max_in_flight: 8,
            requests_per_minute: Some(60.0 * 100.0),
            tokens_per_minute: None,
            longest_wait: Duration::from_secs(600),
            title: "the server",
        });
        let start = Instant::now();
        for _ in 0..120 {
            flow.admit(1.0)
                .await
                .unwrap()
                .report(Verdict::Answered, Advice::default());
        }
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds >= 0.19, "100 at once, 20 more at 100/s: {seconds}");
    }

    #[tokio::test]
    async fn those_who_pause_make_room_at_the_queue() {
        let flow = flow(4);
        let before = flow.wanted_in_flight();
        let pause = flow.pause(Duration::from_secs(60));
        tokio::select! {
            _ = pause => {}
            () = async {
                tokio::task::yield_now().await;
                assert_eq!(flow.wanted_in_flight(), before + 1);
            } => {}
        }
        assert_eq!(
            flow.wanted_in_flight(),
            before,
            "an abandoned pause is not counted"
        );
    }

    fn refused(retry_after: Duration) -> Verdict {
        Verdict::Overloaded {
            retry_after: Some(retry_after),
        }
    }

    /// `remaining: 0, reset: 24h`, or a `Retry-After` without end: said with its time, not waited.
    #[tokio::test]
    async fn a_wait_that_is_too_long_is_an_error_that_says_how_long() {
        for advice in [true, false] {
            let flow = flow(4);
            let day = Duration::from_secs(86_400);
            let quota = crate::limits::Quota {
                limit: 1.0,
                remaining: 0.0,
                reset: day,
            };
            let empty = Advice {
                requests: advice.then_some(quota),
                tokens: None,
            };
            for _ in 0..12 {
                let Ok(pass) = flow.admit(1.0).await else {
                    break;
                };
                if advice {
                    pass.report(Verdict::Answered, empty);
                } else {
                    pass.report(refused(day), empty);
                }
            }
            let error = flow.admit(1.0).await.err().unwrap();
            assert_eq!(error.kind, ErrorKind::Overloaded);
            assert!(error.is_fatal(), "the run stops and can be resumed");
            assert!(error.message.contains(" h; the longest"), "{error}");
            assert!(error.hint.unwrap().contains("max_wait"));
        }
    }

    #[tokio::test]
    async fn a_wait_without_end_does_not_overflow() {
        let flow = flow(4);
        for _ in 0..12 {
            let pass = flow.admit(1.0).await.unwrap();
            pass.report(refused(Duration::MAX), Advice::default());
        }
    }

    #[tokio::test]
    async fn a_stop_ends_every_wait() {
        let flow = flow(1);
        let held = flow.admit(1.0).await.unwrap();
        let (waiting, pausing, ()) = tokio::join!(
            flow.admit(1.0),
            flow.pause(Duration::from_secs(600)),
            async {
                tokio::task::yield_now().await;
                flow.stop(true);
            }
        );
        assert_eq!(waiting.err().unwrap().kind, ErrorKind::Interrupted);
        assert_eq!(pausing.unwrap_err().kind, ErrorKind::Interrupted);
        drop(held);
        assert!(flow.admit(1.0).await.is_err(), "nothing more leaves");
        flow.stop(false);
        assert!(flow.admit(1.0).await.is_ok());
    }
}

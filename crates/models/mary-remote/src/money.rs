//! The ledger: before a request leaves, its likely cost is set aside. When that does not fit any
//! more, the request waits for those under way to settle; when nothing is under way and it still
//! does not fit, the run stops with an error that leaves it resumable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::{Account, Balance, ErrorKind, ModelError, Watcher};
use tokio::sync::Notify;

use crate::options::Result;

/// One budget, shared by all models that one list of providers opens.
#[derive(Clone, Default)]
pub struct Ledger {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Default)]
struct State {
    limit: Option<f64>,
    balance: Balance,
    under_way: usize,
    watcher: Option<Watcher>,
}

/// Counts dollars as spent without an answer.
fn lose(balance: &mut Balance, dollars: f64) {
    balance.spent += dollars;
    balance.lost += dollars;
}

impl State {
    /// Tells the watcher, before the lock is given back: what it writes down is in order.
    fn changed(&self) {
        if let Some(watch) = &self.watcher {
            watch(self.balance);
        }
    }
}

impl Ledger {
    /// An empty ledger without a limit.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limit in dollars. Several models of one run give the same.
    pub fn limit(&self, dollars: f64) {
        self.state().limit = Some(dollars);
    }

    /// Dollars spent so far, paid answers that came broken included at their estimate.
    pub fn spent(&self) -> f64 {
        self.state().balance.spent
    }

    /// Sets the likely cost of a request aside, or refuses.
    pub async fn promise(&self, dollars: f64) -> Result<Promise> {
        loop {
            let settled = self.shared.settled.notified();
            {
                let mut state = self.state();
                let taken = state.balance.spent + state.balance.promised;
                if state.limit.is_none_or(|limit| taken + dollars <= limit) {
                    state.balance.promised += dollars;
                    state.under_way += 1;
                    state.changed();
                    return Ok(Promise {
                        ledger: self.clone(),
                        dollars,
                        out: AtomicBool::new(false),
                    });
                }
                if state.under_way == 0 {
                    return Err(exhausted(&state, dollars));
                }
            }
            settled.await;
        }
    }
}

impl Account for Ledger {
    fn balance(&self) -> Balance {
        self.state().balance
    }

    fn add_spent(&self, dollars: f64) {
        let mut state = self.state();
        state.balance.spent += dollars;
        state.changed();
    }

    fn watch(&self, watcher: Option<Watcher>) {
        self.state().watcher = watcher;
    }
}

fn exhausted(state: &State, dollars: f64) -> ModelError {
    let limit = state.limit.unwrap_or_default();
    let message = format!(
        "the budget of ${limit:.2} leaves no room for the next request: ${:.4} is spent and it may cost ${dollars:.4}",
        state.balance.spent
    );
    ModelError::new(ErrorKind::Budget, message).hint(
        "everything answered so far is kept; repeat the command with a larger --budget to continue",
    )
}

/// Money set aside for one request. Dropping it gives the money back, unless the request is at the
/// server just then: nobody will know whether it was answered, so it counts as spent.
pub struct Promise {
    ledger: Ledger,
    dollars: f64,
    /// The request has left and nothing is known of its fate.
    out: AtomicBool,
}

impl Promise {
    pub fn dollars(&self) -> f64 {
        self.dollars
    }

    pub fn leaves(&self) {
        self.out.store(true, Ordering::Relaxed);
    }

    /// Something came back, or it surely never arrived.
    pub fn is_back(&self) {
        self.out.store(false, Ordering::Relaxed);
    }

    /// An attempt was most likely paid for but its answer came broken: the estimate counts as spent.
    pub fn lost(&self) {
        self.lost_part(self.dollars);
    }

    /// Of several requests for one answer some were answered and paid for, in vain.
    pub fn lost_part(&self, dollars: f64) {
        let mut state = self.ledger.state();
        lose(&mut state.balance, dollars);
        state.changed();
    }

    /// Whether the same request still fits after what was lost; it is set aside already.
    pub fn still_fits(&self) -> Result<()> {
        let state = self.ledger.state();
        match state.limit {
            Some(limit) if state.balance.spent + state.balance.promised > limit => {
                Err(exhausted(&state, self.dollars))
            }
            _ => Ok(()),
        }
    }

    pub fn settle(self, dollars: f64) {
        self.is_back();
        // Spent, and given back by the drop below, in one step for whoever watches.
        self.ledger.state().balance.spent += dollars;
    }

    fn give_back(&self, state: &mut State) {
        if self.out.load(Ordering::Relaxed) {
            lose(&mut state.balance, self.dollars);
        }
        state.balance.promised = (state.balance.promised - self.dollars).max(0.0);
        state.under_way = state.under_way.saturating_sub(1);
        if state.under_way == 0 {
            // Sums of fractions leave crumbs.
            state.balance.promised = 0.0;
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut state = self.ledger.state();
        self.give_back(&mut state);
        state.changed();
        drop(state);
        self.ledger.shared.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_request_that_does_not_fit_waits_for_those_under_way() {
        let ledger = Ledger::new();
        ledger.limit(1.0);
        let first = ledger.promise(0.7).await.unwrap();
        let waits = tokio::time::timeout(Duration::from_millis(20), ledger.promise(0.5)).await;
        assert!(
            waits.is_err(),
            "0.7 + 0.5 is too much while the first is under way"
        );
        let second = tokio::spawn({
            let ledger = ledger.clone();
            async move { ledger.promise(0.5).await }
        });
        tokio::task::yield_now().await;
        first.settle(0.4);
        let second = second.await.unwrap().unwrap();
        second.settle(0.5);
        let error = ledger.promise(0.2).await.err().unwrap();
        assert!(error.is_fatal());
        assert_eq!(error.kind, ErrorKind::Budget);
        assert!(error.message.contains("$0.9000 is spent"), "{error}");
    }

    #[tokio::test]
    async fn whoever_watches_knows_what_is_under_way_before_it_leaves() {
        let ledger = Ledger::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&seen);
        ledger.watch(Some(Box::new(move |now| {
            let told = (now.spent, now.lost, now.promised);
            book.lock().unwrap().push(told);
        })));
        let first = ledger.promise(0.5).await.unwrap();
        let second = ledger.promise(0.25).await.unwrap();
        first.settle(0.125);
        second.lost();
        drop(second);
        let seen = seen.lock().unwrap();
        assert_eq!(
            *seen,
            [
                (0.0, 0.0, 0.5),
                (0.0, 0.0, 0.75),
                (0.125, 0.0, 0.25),
                (0.375, 0.25, 0.25),
                (0.375, 0.25, 0.0)
            ]
        );
    }

    #[tokio::test]
    async fn what_was_lost_counts_before_the_next_try() {
        let ledger = Ledger::new();
        ledger.limit(1.0);
        let promise = ledger.promise(0.4).await.unwrap();
        promise.lost();
        assert!(promise.still_fits().is_ok(), "0.4 lost and 0.4 to come");
        promise.lost();
        assert_eq!(promise.still_fits().unwrap_err().kind, ErrorKind::Budget);
    }

    #[tokio::test]
    async fn broken_answers_count_and_abandoned_requests_do_not() {
        let ledger = Ledger::new();
        let promise = ledger.promise(0.25).await.unwrap();
        promise.lost();
        drop(promise);
        assert_eq!(ledger.spent(), 0.25);
        ledger.limit(0.3);
        drop(ledger.promise(0.05).await.unwrap());
        assert!(ledger.promise(0.05).await.is_ok(), "given back");
    }

    #[tokio::test]
    async fn what_is_given_up_while_it_is_at_the_server_counts() {
        let ledger = Ledger::new();
        let promise = ledger.promise(0.25).await.unwrap();
        promise.leaves();
        drop(promise);
        let promise = ledger.promise(0.5).await.unwrap();
        promise.leaves();
        promise.is_back();
        drop(promise);
        let (balance, quarter) = (ledger.balance(), 0.25);
        assert_eq!((balance.spent, balance.lost), (quarter, quarter));
        let promise = ledger.promise(0.5).await.unwrap();
        promise.leaves();
        promise.settle(0.125);
        let balance = ledger.balance();
        assert_eq!((balance.spent, balance.lost), (0.375, quarter));
    }
}

//! The purse: what was spent, what is promised to requests under way, and the hard stop.
//!
//! Before a request leaves, its likely cost is set aside. When that does not fit any more, the
//! request waits for those under way to settle; when nothing is under way and it still does not fit,
//! the run stops with an error that leaves it resumable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::{ErrorKind, ModelError};
use tokio::sync::Notify;

/// One purse, shared by all models that one list of providers opens.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct State {
    limit: Option<f64>,
    spent: f64,
    promised: f64,
    under_way: usize,
}

impl Ledger {
    /// An empty purse without a limit.
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
        self.state().spent
    }

    /// Counts dollars that were spent before (by the run that is resumed).
    pub fn add_spent(&self, dollars: f64) {
        self.state().spent += dollars;
    }

    /// Sets the likely cost of a request aside, or refuses.
    pub async fn promise(&self, dollars: f64) -> Result<Promise, ModelError> {
        loop {
            let settled = self.shared.settled.notified();
            {
                let mut state = self.state();
                let fits = |limit: f64| state.spent + state.promised + dollars <= limit;
                if state.limit.is_none_or(fits) {
                    state.promised += dollars;
                    state.under_way += 1;
                    return Ok(Promise {
                        ledger: self.clone(),
                        dollars,
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

fn exhausted(state: &State, dollars: f64) -> ModelError {
    let limit = state.limit.unwrap_or_default();
    ModelError::new(
        ErrorKind::Budget,
        format!(
            "the budget of ${limit:.2} leaves no room for the next request: ${:.4} is spent and it may cost ${dollars:.4}",
            state.spent
        ),
    )
    .hint("everything answered so far is kept; give the same command with a larger --budget to go on")
}

/// Money set aside for one request. Dropping it gives the money back.
#[derive(Debug)]
pub struct Promise {
    ledger: Ledger,
    dollars: f64,
}

impl Promise {
    /// An attempt was most likely paid for but its answer came broken: the estimate counts as spent.
    pub fn lost(&self) {
        self.ledger.state().spent += self.dollars;
    }

    /// The request is answered and cost this much.
    pub fn settle(self, dollars: f64) {
        self.ledger.state().spent += dollars;
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut state = self.ledger.state();
        state.promised = (state.promised - self.dollars).max(0.0);
        state.under_way = state.under_way.saturating_sub(1);
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
        let error = ledger.promise(0.2).await.unwrap_err();
        assert!(error.is_fatal());
        assert_eq!(error.kind, ErrorKind::Budget);
        assert!(error.message.contains("$0.9000 is spent"), "{error}");
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
}

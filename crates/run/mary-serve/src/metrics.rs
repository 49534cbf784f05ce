//! What `/metrics` shows, in Prometheus' form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mary_contract::Usage;

/// Upper ends of the histogram of times, in seconds.
const SECONDS: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0];

#[derive(Default)]
pub(crate) struct Metrics {
    answered: Mutex<BTreeMap<(&'static str, u16), u64>>,
    times: Mutex<([u64; SECONDS.len() + 1], f64)>,
    prompt: AtomicU64,
    cached: AtomicU64,
    written: AtomicU64,
}

impl Metrics {
    pub fn answered(&self, path: &'static str, status: u16, took: Duration) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered.entry((path, status)).or_default() += 1;
        drop(answered);
        let seconds = took.as_secs_f64();
        let place = SECONDS.iter().position(|end| seconds <= *end);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.0[place.unwrap_or(SECONDS.len())] += 1;
        times.1 += seconds;
    }

    pub fn tokens(&self, usage: &Usage) {
        self.prompt
            .fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.cached
            .fetch_add(usage.cached_tokens, Ordering::Relaxed);
        self.written
            .fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }

    /// `loads` are a model's name, its requests that wait and those under way.
    pub fn page<'a>(&self, loads: impl Iterator<Item = (&'a str, (usize, usize))>) -> String {
        let mut page = String::from("# TYPE mary_requests_total counter\n");
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        for ((path, status), count) in answered.iter() {
            let _ = writeln!(
                page,
                "mary_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}"
            );
        }
        drop(answered);
        page.push_str("# TYPE mary_tokens_total counter\n");
        let kinds = [
            ("prompt", &self.prompt),
            ("cached", &self.cached),
            ("written", &self.written),
        ];
        for (kind, count) in kinds {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(page, "mary_tokens_total{{kind=\"{kind}\"}} {count}");
        }
        page.push_str("# TYPE mary_requests_now gauge\n");
        for (name, (waiting, under_way)) in loads {
            let name = name.replace(['"', '\\', '\n'], "_");
            let _ = writeln!(
                page,
                "mary_requests_now{{model=\"{name}\",state=\"waiting\"}} {waiting}"
            );
            let _ = writeln!(
                page,
                "mary_requests_now{{model=\"{name}\",state=\"under_way\"}} {under_way}"
            );
        }
        page.push_str("# TYPE mary_request_seconds histogram\n");
        let (counts, sum) = *self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut below = 0;
        for (count, end) in counts.iter().zip(SECONDS) {
            below += count;
            let _ = writeln!(page, "mary_request_seconds_bucket{{le=\"{end}\"}} {below}");
        }
        below += counts[SECONDS.len()];
        let _ = writeln!(page, "mary_request_seconds_bucket{{le=\"+Inf\"}} {below}");
        let _ = writeln!(
            page,
            "mary_request_seconds_sum {sum}\nmary_request_seconds_count {below}"
        );
        page
    }
}

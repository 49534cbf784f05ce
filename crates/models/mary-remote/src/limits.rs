//! Rate limits: what providers say about them in headers, and buckets that keep us inside them.
//!
//! Providers describe a limit by three numbers: its size, what is left, and when it will be full
//! again. From these the refill rate follows without knowing whether the limit is per minute or per
//! day: `(size - left) / time until full`.

use std::time::{Duration, Instant, SystemTime};

use reqwest::header::HeaderMap;

use crate::retry::{moment, span};

/// No limit is larger; the arithmetic stays finite.
const MOST: f64 = 1e12;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    pub limit: f64,
    pub remaining: f64,
    /// When it will be full again.
    pub reset: Duration,
}

/// What the headers of one answer say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Advice {
    pub requests: Option<Quota>,
    pub tokens: Option<Quota>,
}

impl Advice {
    /// Reads the forms of OpenAI and its kin (`x-ratelimit-limit-requests` …) and of Anthropic
    /// (`anthropic-ratelimit-requests-limit` …).
    pub fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        // "NaN", "inf" and "-1" are numbers to a parser and nonsense to a bucket.
        let number = |name: &str| {
            let number = text(name)?.trim().parse::<f64>().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number.min(MOST))
        };
        let openai = |what: &str| {
            Some(Quota {
                limit: number(&format!("x-ratelimit-limit-{what}"))?,
                remaining: number(&format!("x-ratelimit-remaining-{what}"))?,
                reset: span(text(&format!("x-ratelimit-reset-{what}"))?)?,
            })
        };
        let anthropic = |what: &str| {
            let reset = moment(text(&format!("anthropic-ratelimit-{what}-reset"))?)?;
            Some(Quota {
                limit: number(&format!("anthropic-ratelimit-{what}-limit"))?,
                remaining: number(&format!("anthropic-ratelimit-{what}-remaining"))?,
                reset: reset.duration_since(now).unwrap_or_default(),
            })
        };
        Self {
            requests: openai("requests").or_else(|| anthropic("requests")),
            tokens: openai("tokens").or_else(|| anthropic("tokens")),
        }
    }
}

/// A bucket that fills at a steady rate and from which every request takes its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    capacity: f64,
    level: f64,
    /// Per second.
    rate: f64,
    filled: Instant,
}

impl Bucket {
    /// A limit per minute set by the user, with at most one second's worth at once.
    pub fn per_minute(limit: f64, now: Instant) -> Self {
        let rate = limit / 60.0;
        Self {
            capacity: rate.max(1.0),
            level: rate.max(1.0),
            rate,
            filled: now,
        }
    }

    /// A bucket learnt from a header. `None` while the header does not tell a rate.
    pub fn learnt(quota: Quota, unseen: f64, now: Instant) -> Option<Self> {
        Some(Self {
            capacity: quota.limit,
            level: quota.remaining - unseen,
            rate: rate_of(quota)?,
            filled: now,
        })
    }

    /// Takes a header into account. `unseen` is what was sent and may not be counted in it yet.
    pub fn sync(&mut self, quota: Quota, unseen: f64, now: Instant) {
        self.capacity = quota.limit;
        self.level = quota.remaining - unseen;
        self.filled = now;
        if let Some(rate) = rate_of(quota) {
            // Headers are rounded; a running mean is steadier than any one of them.
            self.rate += 0.2 * (rate - self.rate);
        }
    }

    /// How long until `need` can be taken; zero when it can be now. A need larger than the whole
    /// bucket is let through when the bucket is full, so that nothing waits for ever.
    pub fn wait(&mut self, need: f64, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.level = (self.level + passed * self.rate).min(self.capacity);
        self.filled = now;
        let missing = need.min(self.capacity) - self.level;
        if missing <= 0.0 {
            return Duration::ZERO;
        }
        let seconds = missing / self.rate.max(1e-9);
        Duration::try_from_secs_f64(seconds.clamp(0.000_5, LONGEST)).unwrap_or(Duration::MAX)
    }

    pub fn take(&mut self, need: f64) {
        self.level -= need;
    }
}

/// Seconds; longer waits are all the same.
const LONGEST: f64 = 1e9;

/// The refill rate a header implies, where enough is used for it to be more than rounding.
fn rate_of(quota: Quota) -> Option<f64> {
    let used = quota.limit - quota.remaining;
    let seconds = quota.reset.as_secs_f64();
    (used >= 1.0 && used >= quota.limit * 0.01 && seconds > 0.0).then(|| (used / seconds).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn openai_headers_tell_size_rest_and_reset() {
        let advice = Advice::read(
            &headers(&[
                ("x-ratelimit-limit-requests", "60"),
                ("x-ratelimit-remaining-requests", "59"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-limit-tokens", "150000"),
                ("x-ratelimit-remaining-tokens", "149984"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ]),
            SystemTime::now(),
        );
        let requests = advice.requests.unwrap();
        assert_eq!((requests.limit, requests.remaining), (60.0, 59.0));
        assert_eq!(rate_of(requests), Some(1.0), "60 a minute");
        assert_eq!(
            rate_of(advice.tokens.unwrap()),
            None,
            "too little used to tell"
        );
    }

    #[test]
    fn anthropic_headers_tell_a_moment() {
        let now = moment("2026-01-27T12:00:00Z").unwrap();
        let advice = Advice::read(
            &headers(&[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2026-01-27T12:01:00Z"),
            ]),
            now,
        );
        let quota = advice.requests.unwrap();
        assert_eq!(quota.reset, Duration::from_secs(60));
        assert!((rate_of(quota).unwrap() - 50.0 / 60.0).abs() < 1e-9);
        assert_eq!(advice.tokens, None);
    }

    #[test]
    fn headers_that_are_no_numbers_are_no_advice() {
        for odd in ["NaN", "inf", "-1", "1e999", "-inf", ""] {
            let odd: &'static str = odd;
            let advice = Advice::read(
                &headers(&[
                    ("x-ratelimit-limit-requests", odd),
                    ("x-ratelimit-remaining-requests", odd),
                    ("x-ratelimit-reset-requests", "1s"),
                ]),
                SystemTime::now(),
            );
            assert_eq!(advice.requests, None, "{odd}");
        }
        let now = Instant::now();
        for (limit, remaining, reset) in [
            (0.0, 0.0, 0),
            (MOST, 0.0, u64::MAX),
            (1.0, 1e9, 1),
            (1e-300, 0.0, 86_400),
        ] {
            let reset = Duration::from_secs(reset);
            let quota = Quota {
                limit,
                remaining,
                reset,
            };
            if let Some(mut bucket) = Bucket::learnt(quota, 0.0, now) {
                let _ = bucket.wait(1.0, now);
                bucket.sync(quota, 5.0, now);
                let _ = bucket.wait(1e6, now + Duration::from_secs(1));
            }
        }
    }

    #[test]
    fn a_day_of_waiting_is_told_as_a_day() {
        let now = Instant::now();
        let quota = Quota {
            limit: 1.0,
            remaining: 0.0,
            reset: Duration::from_secs(86_400),
        };
        let mut bucket = Bucket::learnt(quota, 0.0, now).unwrap();
        assert_eq!(bucket.wait(1.0, now).as_secs(), 86_400);
    }

    #[test]
    fn a_bucket_lets_a_second_through_at_once_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::per_minute(600.0, start);
        let mut sent = 0;
        for tenth in 0..100 {
            let now = start + Duration::from_millis(tenth * 100);
            while bucket.wait(1.0, now) == Duration::ZERO {
                bucket.take(1.0);
                sent += 1;
            }
        }
        assert!(
            (105..=110).contains(&sent),
            "10 at once, then 10 a second: {sent}"
        );
    }

    #[test]
    fn a_header_empties_and_refills_the_bucket() {
        let start = Instant::now();
        let quota = |remaining, seconds| Quota {
            limit: 100.0,
            remaining,
            reset: Duration::from_secs(seconds),
        };
        let mut bucket = Bucket::learnt(quota(50.0, 5), 0.0, start).unwrap();
        assert_eq!(bucket.wait(1.0, start), Duration::ZERO);
        bucket.sync(quota(3.0, 10), 3.0, start);
        let wait = bucket.wait(1.0, start).as_secs_f64();
        assert!((wait - 0.1).abs() < 0.01, "ten a second: {wait}");
        assert_eq!(
            bucket.wait(1000.0, start + Duration::from_secs(60)),
            Duration::ZERO
        );
    }
}

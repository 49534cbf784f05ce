//! When to try again: `Retry-After`, exponential backoff with full jitter, and the times that
//! providers write into headers.

use std::time::{Duration, SystemTime};

use rand::RngExt as _;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Attempts beyond the first.
    pub retries: u32,
    /// Upper end of the first pause after an overload (429, 503, 529 …).
    pub overload_base: Duration,
    /// Upper end of the first pause after a broken answer or connection, which says nothing about
    /// load.
    pub broken_base: Duration,
    /// No pause of our own choice is longer.
    pub cap: Duration,
    /// A `Retry-After` longer than this is a daily quota, not a rate limit: give up.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 10,
            overload_base: Duration::from_millis(500),
            broken_base: Duration::from_millis(50),
            cap: Duration::from_secs(60),
            longest_wait: Duration::from_secs(600),
        }
    }
}

impl RetryPolicy {
    /// Upper end of the pause before retry number `retry` (from 0).
    pub fn ceiling(&self, base: Duration, retry: u32) -> Duration {
        base.saturating_mul(1u32.checked_shl(retry).unwrap_or(u32::MAX))
            .min(self.cap)
    }

    /// A pause drawn evenly from zero to the ceiling ("full jitter"), so that many clients hit by
    /// the same fault do not come back together.
    pub fn pause(&self, base: Duration, retry: u32) -> Duration {
        self.ceiling(base, retry)
            .mul_f64(rand::rng().random_range(0.0..1.0))
    }
}

/// What a `Retry-After` header asks for: seconds (also fractions, which some send) or an HTTP date.
pub fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        // More seconds than a duration holds are a wait without end, not a header to be passed over.
        let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        return seconds.is_finite().then_some(wait);
    }
    let when = httpdate::parse_http_date(header).ok()?;
    Some(when.duration_since(now).unwrap_or_default())
}

/// A length of time as OpenAI writes it (`1s`, `6m0s`, `2m59.56s`, `120ms`), or plain seconds.
pub fn span(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let letters = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        total += number
            * match unit {
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = tail;
    }
    Duration::try_from_secs_f64(total).ok()
}

/// A moment as Anthropic writes it: RFC 3339 (`2026-01-27T12:00:19Z`, or `+00:00`).
pub fn moment(text: &str) -> Option<SystemTime> {
    let moment: jiff::Timestamp = text.trim().parse().ok()?;
    Some(moment.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let read = |text| retry_after(text, now);
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read(" 0.25 "), Some(Duration::from_millis(250)));
        assert_eq!(
            read("Sun, 06 Nov 1994 08:50:37 GMT"),
            Some(Duration::from_secs(60))
        );
        assert_eq!(
            read("Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(Duration::ZERO),
            "a date gone by means now"
        );
        assert_eq!(read("soon"), None);
        assert_eq!(read("-3"), Some(Duration::ZERO));
        assert_eq!(read("inf"), None);
    }

    #[test]
    fn spans_are_read_as_openai_and_groq_write_them() {
        for (text, seconds) in [
            ("1s", 1.0),
            ("6m0s", 360.0),
            ("2m59.56s", 179.56),
            ("120ms", 0.12),
            ("7.66s", 7.66),
            ("1h2m", 3720.0),
            ("20", 20.0),
            ("0s", 0.0),
        ] {
            assert_eq!(span(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["x", "1", "1y", "s"] {
            assert!(text == "1" || span(text).is_none(), "{text}");
        }
    }

    #[test]
    fn moments_are_read_as_anthropic_writes_them() {
        for text in [
            "2026-01-27T12:00:19Z",
            "2024-02-29T23:59:59Z",
            "2000-03-01T00:00:00Z",
        ] {
            let ours = moment(text).unwrap();
            let back = httpdate::HttpDate::from(ours);
            // The same moment through another implementation.
            let days = ["01", "02", "03"];
            let months = ["Jan", "Feb", "Mar"];
            let shown = back.to_string();
            let month = days.iter().position(|d| *d == &text[5..7]).unwrap();
            assert!(
                shown.contains(&format!(
                    "{} {} {}",
                    &text[8..10],
                    months[month],
                    &text[..4]
                )),
                "{shown}"
            );
            assert!(shown.contains(&text[11..19]), "{shown}");
        }
        assert_eq!(moment("2026-13-01T00:00:00Z"), None);
        assert_eq!(moment("2026-01-01"), None);
    }

    #[test]
    fn pauses_grow_are_jittered_and_capped() {
        let policy = RetryPolicy {
            cap: Duration::from_secs(8),
            ..RetryPolicy::default()
        };
        let base = Duration::from_secs(1);
        let ceilings: Vec<_> = (0..6).map(|n| policy.ceiling(base, n).as_secs()).collect();
        assert_eq!(ceilings, [1, 2, 4, 8, 8, 8]);
        assert_eq!(policy.ceiling(base, 400), policy.cap, "no overflow");
        let pauses: Vec<_> = (0..200).map(|_| policy.pause(base, 2)).collect();
        assert!(pauses.iter().all(|p| *p < Duration::from_secs(4)));
        let mean = pauses.iter().sum::<Duration>().as_secs_f64() / 200.0;
        assert!((1.5..2.5).contains(&mean), "evenly drawn, mean {mean}");
    }

    proptest::proptest! {
        #[test]
        fn no_header_is_too_odd_to_read(text in "\\PC{0,60}") {
            let _ = (retry_after(&text, SystemTime::now()), span(&text), moment(&text));
        }
    }
}

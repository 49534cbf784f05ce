//! Which concepts must not stand side by side as options, and why: a picture of the one could
//! honestly be called the other.

/// Unordered pairs of concept ids with the reason.
pub static CONFUSABLE: &[(&str, &str, &str)] = &[("gravity", "move", "what falls also moves")];

/// Why `b` must not stand as a wrong option beside `a` (or `a` beside `b`); `None` when it may.
pub fn confusable(a: &str, b: &str) -> Option<&'static str> {
    CONFUSABLE
        .iter()
        .find(|(x, y, _)| (*x, *y) == (a, b) || (*x, *y) == (b, a))
        .map(|(_, _, why)| *why)
}

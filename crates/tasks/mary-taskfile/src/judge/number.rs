//! Answers that are a number: read from the text with thousands separators and exponents, and held
//! against the right one within a tolerance.

use std::sync::LazyLock;

use mary_contract::{Generated, Item, Judgement, Target};
use regex::Regex;

use super::{Reading, fault};
use crate::asking::AskSettings;
use crate::form::Take;
use crate::plan::Plan;

static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+").ok()
});

/// The number that counts is the right one.
pub(super) fn judge(plan: &Plan, wanted: &AskSettings, item: &Item, said: &Generated) -> Reading {
    let Target::Text(target) = &item.target else {
        return Err(fault("expected a number as target"));
    };
    let Some(target) = parse(target) else {
        return Err(fault("the target is not a number"));
    };
    let found = all(&said.text);
    let found = match plan.take() {
        Take::First => found.first(),
        Take::Last => found.last(),
    };
    let Some(&value) = found else {
        return Ok(None);
    };
    let relative = plan.form.judge.relative * target.abs();
    let slack = wanted.tolerance.max(relative);
    // Numbers in decimal are seldom exact in binary.
    let rounding = 1e-9 * target.abs().max(1e-9);
    let off = (value - target).abs();
    let verdict = Judgement::scored(f64::from(off <= slack + rounding)).read_as(value.to_string());
    Ok(Some(verdict.measured("error", off)))
}

/// A text that is one number and nothing else.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim().replace('\u{2212}', "-");
    let plain = text.replace(',', "");
    plain.parse::<f64>().ok().filter(|x| x.is_finite())
}

pub(crate) fn all(text: &str) -> Vec<f64> {
    let Some(pattern) = NUMBER.as_ref() else {
        return Vec::new();
    };
    let numbers = pattern.find_iter(text).filter_map(|found| {
        let value: f64 = found.as_str().replace(',', "").parse().ok()?;
        let mut before = text.get(..found.start()).unwrap_or_default().chars().rev();
        let sign = before.next();
        // A hyphen between words or numbers (10-5, GPT-4) is no sign.
        let alone = before.next().is_none_or(|c| !c.is_alphanumeric());
        let negative = matches!(sign, Some('-' | '\u{2212}')) && alone;
        let value = if negative { -value } else { value };
        value.is_finite().then_some(value)
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(
            all("It is 1,234.5 metres, not -3 or 2e3."),
            [1234.5, -3.0, 2000.0]
        );
        assert_eq!(all("10-5"), [10.0, 5.0]);
        assert_eq!(all("a temperature of \u{2212}4.5"), [-4.5]);
        assert_eq!(all(".5 of it"), [0.5]);
        assert!(all("none at all").is_empty());
        assert_eq!(all("1,2,3"), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn what_is_no_number_is_none() {
        assert_eq!(parse(" 1,000 "), Some(1000.0));
        assert_eq!(parse("nan"), None);
        assert_eq!(parse("five"), None);
    }
}

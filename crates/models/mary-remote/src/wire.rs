//! What the wire formats have in common: what goes into a body, what is read out of an answer, and
//! what a model is known (or found) not to accept.

use std::collections::BTreeSet;

use mary_contract::{
    ContinuationScore, ErrorKind, Finish, Generate, Generated, Image, ModelError, Part, Scored,
    Speaker, Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::options::{Options, Result, bad};

/// What a model is known not to accept. Starts from its name and grows when the provider says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestShape {
    pub omit: BTreeSet<String>,
    /// `max_completion_tokens` in place of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Thinks before it answers, out of the same token limit.
    pub reasoning: bool,
}

impl RequestShape {
    pub fn sends(&self, name: &str) -> bool {
        !self.omit.contains(name)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct WireRequest<'a> {
    pub model: &'a str,
    pub generate: &'a Generate,
    /// What the model does not accept.
    pub shape: &'a RequestShape,
    pub options: &'a Options,
    pub extensions: Extensions,
    /// Bytes of the first turn's text that other requests share, where a cache mark makes sense.
    pub shared_prefix: usize,
}

/// What a service takes beyond the least common denominator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extensions {
    pub top_k: bool,
    pub seed: bool,
    /// The name under which a seed is sent, where it is not `seed`.
    pub seed_name: Option<&'static str>,
    /// As a plain field.
    pub reasoning_effort: bool,
    /// It can be told whether its tokenizer adds a start token.
    pub add_special_tokens: bool,
}

impl WireRequest<'_> {
    /// The token limit, with room for hidden reasoning where the model needs it.
    pub fn max_tokens(&self) -> u32 {
        let reasons = self.shape.reasoning;
        let room = if reasons {
            self.options.reasoning_tokens
        } else {
            0
        };
        self.generate.sampling.max_tokens.saturating_add(room)
    }

    /// Writes the stop strings the service can take; the rest is cut off by us.
    pub fn put_stops(&self, body: &mut Map<String, Value>, name: &str, most: usize, blank: bool) {
        let usable = |stop: &&str| !stop.is_empty() && (blank || !stop.trim().is_empty());
        let stops = self.generate.sampling.stop.iter().map(String::as_str);
        let stops: Vec<&str> = stops.filter(usable).take(most).collect();
        if self.shape.sends("stop") && !stops.is_empty() {
            body.insert(name.into(), stops.into());
        }
    }

    /// Writes how the answer is drawn, under the format's names for temperature, top_p and top_k.
    pub fn put_sampling(&self, body: &mut Map<String, Value>, names: [&str; 3]) {
        let sampling = &self.generate.sampling;
        let [temperature, top_p, top_k] = names;
        let seed_name = self.extensions.seed_name.unwrap_or("seed");
        let seed = sampling.seed.filter(|_| self.extensions.seed);
        for (parameter, name, value) in [
            (
                "temperature",
                temperature,
                Some(sampling.temperature.into()),
            ),
            ("top_p", top_p, sampling.top_p.map(Value::from)),
            ("top_k", top_k, sampling.top_k.map(Value::from)),
            ("seed", seed_name, seed.map(|seed| small_seed(seed).into())),
        ] {
            if let (Some(value), true) = (value, self.shape.sends(parameter)) {
                body.insert(name.into(), value);
            }
        }
    }
}

/// How a format calls whoever speaks.
pub fn speaker(speaker: Speaker, model: &'static str) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Assistant => model,
    }
}

/// Services take 31 or 32 bits of seed; the upper half is folded in so that no two of ours become
/// the same by being cut.
fn small_seed(seed: u64) -> u64 {
    (seed ^ (seed >> 32)) & 0x7fff_ffff
}

#[derive(Debug, Clone, PartialEq)]
pub struct Read<A> {
    pub answer: A,
    /// Tokens, and cost where the provider tells it.
    pub usage: Usage,
    /// The provider counted both what it read and what it wrote.
    pub usage_told: bool,
    /// Of the prompt tokens, those written into the provider's cache.
    pub cache_writes: u64,
    pub model_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReadError {
    /// Not what was promised; worth asking again.
    Unreadable(String),
    /// Whole, but it does not hold what we need; asking again would not help.
    Final(ModelError),
}

impl ReadError {
    pub fn missing(what: &str) -> Self {
        Self::Unreadable(format!("the answer has no {what}"))
    }
}

/// Where nobody asks again.
impl From<ReadError> for ModelError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Final(error) => error,
            ReadError::Unreadable(what) => Self::new(ErrorKind::Transport, what),
        }
    }
}

/// Cuts the answer before the first stop string, as the contract asks, whatever the service did.
pub fn cut_at_stop(generated: &mut Generated, stops: &[String]) {
    let first = stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| generated.text.find(stop.as_str()))
        .min();
    if let Some(end) = first {
        generated.text.truncate(end);
        if generated.finish == Finish::Length {
            generated.finish = Finish::Stop;
        }
    }
}

/// The image as a `data:` address.
pub fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, base64_of(image))
}

pub fn base64_of(image: &Image) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(&image.data)
}

/// The words of some parts, pictures left out.
pub fn words(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => None,
        })
        .collect()
}

/// No honest request has more tokens; a larger count must not overflow a sum.
const MOST_TOKENS: u64 = 1 << 40;

/// A whole number at a path, zero when absent.
pub fn count(value: &Value, path: &str) -> u64 {
    let number = value.pointer(path).and_then(Value::as_u64);
    number.unwrap_or(0).min(MOST_TOKENS)
}

/// Whether a count is there at all.
pub fn told(value: &Value, path: &str) -> bool {
    value.pointer(path).and_then(Value::as_u64).is_some()
}

/// A text at a path, to be kept.
pub fn text(value: &Value, path: &str) -> Option<String> {
    str_at(value, path).map(str::to_owned)
}

pub fn str_at<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path).and_then(Value::as_str)
}

pub fn list_at<'v>(value: &'v Value, path: &str) -> Option<&'v Vec<Value>> {
    value.pointer(path).and_then(Value::as_array)
}

/// Finds the continuation among tokens that spell `prefix + continuation`, special tokens at the
/// beginning allowed. Returns the index of the first token that holds a byte of the continuation,
/// and whether that token also holds the end of the prefix.
///
/// Servers give tokens as text, in which half a character may be lost. So the boundary is looked
/// for from the end and, failing that, from the beginning; where both are unreadable the result is
/// `None`, never a guess.
pub fn boundary(tokens: &[&str], prefix: &str, continuation: &str) -> Option<(usize, bool)> {
    let found = from_the_end(tokens, prefix, continuation);
    // Only lost characters excuse tokens that do not spell the text.
    let lossy = |token: &&str| token.contains('\u{fffd}');
    if found.is_none() && tokens.iter().any(lossy) {
        let (first, merged) = from_the_start(tokens, prefix)?;
        let rest = tokens.get(first..)?.concat();
        // What is left of the characters must still be those of the text, in order.
        let text = if merged {
            format!("{prefix}{continuation}")
        } else {
            continuation.to_owned()
        };
        return spells(&rest, &text, merged).then_some((first, merged));
    }
    found
}

/// Whether a text with lost characters may be (the end of) another: what was not lost stands there
/// in the same order, and something was lost wherever something is missing.
fn spells(lossy: &str, text: &str, end_only: bool) -> bool {
    let mut pieces = lossy.split('\u{fffd}');
    let first = pieces.next().unwrap_or_default();
    let rest: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let mut left = match (end_only, text.find(first)) {
        (true, Some(at)) => text.get(at + first.len()..),
        (true, None) => None,
        (false, _) => text.strip_prefix(first),
    };
    for piece in &rest {
        left = left.and_then(|l| l.find(piece).and_then(|at| l.get(at + piece.len()..)));
    }
    // Lost characters at the end may stand for anything; otherwise the last piece is the end.
    left.is_some_and(|l| {
        l.is_empty() || lossy.ends_with('\u{fffd}') || {
            rest.last().is_some_and(|piece| text.ends_with(piece))
        }
    })
}

fn from_the_end(tokens: &[&str], prefix: &str, continuation: &str) -> Option<(usize, bool)> {
    let mut rest = continuation;
    for (index, token) in tokens.iter().enumerate().rev() {
        if rest.is_empty() {
            break;
        }
        if let Some(shorter) = rest.strip_suffix(token) {
            rest = shorter;
            if rest.is_empty() {
                return Some((index, false));
            }
        } else {
            let before = token.strip_suffix(rest)?;
            return prefix.ends_with(before).then_some((index, true));
        }
    }
    None
}

fn from_the_start(tokens: &[&str], prefix: &str) -> Option<(usize, bool)> {
    // A start token is spelt in the list but not in the text.
    let skip = match tokens.first() {
        Some(first) if first.is_empty() || !prefix.starts_with(first) => 1,
        _ => 0,
    };
    let mut rest = prefix;
    for (index, token) in tokens.iter().enumerate().skip(skip) {
        if rest.is_empty() {
            return Some((index, false));
        }
        if let Some(shorter) = rest.strip_prefix(token) {
            if token.is_empty() {
                return None;
            }
            rest = shorter;
        } else {
            return token.strip_prefix(rest).map(|_| (index, true));
        }
    }
    None
}

/// Certainty comes out of rounded arithmetic as a number just above 0; it counts as 0.
const ROUNDING: f64 = 1e-3;

/// llama.cpp writes the lowest float for a probability that underflowed to zero.
const LOWEST: f64 = f32::MIN as f64 / 2.0;

/// Turns token log-probabilities into a score, refusing NaN.
pub fn finite_score(
    tokens: Vec<String>,
    logprobs: Vec<f64>,
    boundary_merged: bool,
    first_unscored: bool,
) -> Result<ContinuationScore> {
    // Only a text of one token without anything before it has none to score.
    let none = tokens.is_empty() && !first_unscored;
    if none || tokens.len() != logprobs.len() {
        return Err(bad(format!(
            "the server gave {} log-probabilities for {} tokens of the text",
            logprobs.len(),
            tokens.len()
        )));
    }
    let bad = |wrong: &dyn Fn(f64) -> bool, hint: &str| {
        let mut pairs = tokens.iter().zip(&logprobs);
        let (token, value) = pairs.find(|(_, value)| wrong(**value))?;
        let message = format!("the server gave {value} as log-probability of the token {token:?}");
        Some(ModelError::new(ErrorKind::NotFinite, message).hint(hint))
    };
    let above =
        "a log-probability is never above 0; is this server giving something else under that name?";
    let lost = "its probability is too small for the server's arithmetic; the item is left out, not counted as zero";
    let found =
        bad(&|x| x > ROUNDING, above).or_else(|| bad(&|x| !x.is_finite() || x <= LOWEST, lost));
    if let Some(error) = found {
        return Err(error);
    }
    Ok(ContinuationScore {
        tokens,
        logprobs: logprobs.into_iter().map(|x| x.min(0.0) as f32).collect(),
        boundary_merged,
        first_unscored,
        ..ContinuationScore::default()
    })
}

/// Scores single-token continuations by a list of the most probable tokens.
pub fn top_scores(
    listed: Option<&Value>,
    logprob: &str,
    continuations: &[String],
) -> Result<Scored, ReadError> {
    let listed = listed.and_then(Value::as_array).ok_or_else(|| {
        ReadError::Final(
            bad("the answer holds no top log-probabilities",
            )
            .hint("this model or server does not give them; choose a task that asks for words, or another model"),
        )
    })?;
    let listed: Vec<(&str, f64)> = listed
        .iter()
        .filter_map(|entry| {
            let token = entry.get("token").and_then(Value::as_str)?;
            Some((token, entry.get(logprob).and_then(Value::as_f64)?))
        })
        .collect();
    let scores = continuations.iter().map(|c| pick(&listed, c));
    let continuations = scores.collect::<Result<_, _>>().map_err(ReadError::Final)?;
    Ok(Scored { continuations })
}

/// The token that spells the continuation exactly or, since a chat answer begins without the space
/// that stands before a word in running text, without its leading space.
fn pick(listed: &[(&str, f64)], continuation: &str) -> Result<ContinuationScore> {
    let find = |text: &str| listed.iter().find(|(token, _)| *token == text);
    match find(continuation).or_else(|| find(continuation.trim_start())) {
        Some((token, logprob)) => {
            finite_score(vec![(*token).to_owned()], vec![*logprob], false, false)
        }
        None => {
            let lowest = listed.iter().map(|(_, p)| *p).fold(f64::INFINITY, f64::min);
            Err(bad(format!(
                    "{continuation:?} is not one of the {} most probable tokens the API lists (the last has log-probability {lowest:.2})",
                    listed.len()
                ),
            )
            .hint("it is more than one token or too improbable; a model with full log-probabilities (vllm/, sglang/, llamacpp/, hf/, gguf/) can score it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_found_where_tokens_spell_the_text() {
        let tokens = ["The", " cat", " sat"];
        assert_eq!(boundary(&tokens, "The cat", " sat"), Some((2, false)));
        assert_eq!(boundary(&tokens, "The", " cat sat"), Some((1, false)));
        assert_eq!(boundary(&tokens, "", "The cat sat"), Some((0, false)));
    }

    #[test]
    fn a_token_across_the_boundary_is_said_so() {
        let tokens = ["The", " cat", "s"];
        assert_eq!(boundary(&tokens, "The c", "ats"), Some((1, true)));
    }

    #[test]
    fn start_tokens_and_lost_characters_do_not_mislead() {
        let tokens = ["<s>", "Hi", " \u{fffd}", "\u{fffd}", "!"];
        assert_eq!(
            boundary(&tokens, "Hi", " 😀!"),
            Some((2, false)),
            "from the beginning"
        );
        let tokens = ["\u{fffd}", "\u{fffd}", " x"];
        assert_eq!(
            boundary(&tokens, "😀", " x"),
            Some((2, false)),
            "from the end"
        );
        let tokens = ["\u{fffd}", "\u{fffd}", "\u{fffd}", "\u{fffd}"];
        assert_eq!(boundary(&tokens, "😀", "😀"), None, "never a guess");
    }

    #[test]
    fn a_stop_string_that_came_through_is_cut() {
        let mut generated = Generated {
            text: "A\nB".into(),
            finish: Finish::Length,
            reasoning: None,
        };
        cut_at_stop(&mut generated, &["\n".into(), String::new()]);
        assert_eq!(
            (generated.text.as_str(), generated.finish),
            ("A", Finish::Stop)
        );
    }

    #[test]
    fn a_vanished_probability_is_an_error_not_a_number() {
        let score = |x: f64| finite_score(vec!["a".into()], vec![x], false, false);
        assert!(score(-3.0).is_ok());
        for bad in [f64::NEG_INFINITY, f64::NAN, f64::from(f32::MIN)] {
            assert_eq!(score(bad).unwrap_err().kind, ErrorKind::NotFinite);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_split_of_a_text_is_found(words in proptest::collection::vec("[a-z é😀]{1,5}", 1..8), at in 0usize..8) {
            let tokens: Vec<&str> = words.iter().map(String::as_str).collect();
            let at = at.min(tokens.len() - 1);
            let prefix = tokens[..at].concat();
            let continuation = tokens[at..].concat();
            proptest::prop_assert_eq!(boundary(&tokens, &prefix, &continuation), Some((at, false)));
        }
    }
}

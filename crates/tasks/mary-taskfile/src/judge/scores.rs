//! Log-probabilities: which of several texts is the most probable under each normalisation, and how
//! they go with a number.

use std::f64::consts::LN_2;

use mary_contract::{
    ContinuationScore, Estimate, Item, Judgement, Measure, Reply, Response, Sample, Target, best,
};
use mary_stats::bootstrap::{Bootstrap, Units, percentile};
use serde_json::json;

use super::{Verdict, fault, not_finite};
use crate::asking::{AskSettings, letter};
use crate::form::{Normalisation, TiesForm};

fn measure(normalisation: Normalisation) -> String {
    match normalisation {
        Normalisation::None => "by_sum".to_owned(),
        other => format!("by_{}", other.name()),
    }
}

/// The most probable text is the right one; equally probable ones share the point, or the first has it.
pub(super) fn choice(
    wanted: &AskSettings,
    ties: TiesForm,
    item: &Item,
    answers: &[Reply],
) -> Verdict {
    let Some((texts, correct)) = item.target.alternatives() else {
        return Err(fault("expected options or a pair as target"));
    };
    let values = values(&texts, answers)?;
    let of = |n: Normalisation| values.iter().find(|(name, _)| *name == n).map(|(_, v)| v);
    let Some(chosen) = of(wanted.normalisation) else {
        let why = "the unconditional probabilities were not asked for in this run";
        return Ok(Judgement::not_applicable(why));
    };
    let best = |values: &[f64]| {
        let (at, score) = best(values, correct)?;
        Some(match ties {
            TiesForm::Shared => (at, score),
            TiesForm::First => (at, f64::from(at == correct)),
        })
    };
    let Some((at, score)) = best(chosen) else {
        return Err(not_finite("a log-probability is not a number"));
    };
    let said = match &item.target {
        Target::Pair { .. } if score == 0.5 => "tie".to_owned(),
        Target::Pair { .. } => if at == 0 { "good" } else { "bad" }.to_owned(),
        _ => letter(at),
    };
    let others = chosen.iter().enumerate().filter(|(n, _)| *n != correct);
    let rival = others.map(|(_, v)| *v).fold(f64::NEG_INFINITY, f64::max);
    let margin = chosen.get(correct).map_or(0.0, |right| right - rival);
    let most = chosen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tie = margin == 0.0 && chosen.get(correct) == Some(&most);
    let mut judgement = Judgement::scored(score)
        .read_as(said)
        .measured("margin", margin)
        .measured("tie_rate", f64::from(tie));
    for (name, values) in &values {
        if *name != wanted.normalisation
            && let Some((_, score)) = best(values)
        {
            judgement = judgement.measured(&measure(*name), score);
        }
    }
    judgement.notes = json!({ "logprobs": of(Normalisation::None) });
    Ok(judgement)
}

/// The log-probability of one text, kept beside the number it is compared with.
pub(super) fn correlation(wanted: &AskSettings, item: &Item, answers: &[Reply]) -> Verdict {
    let text = scored(answers, 0)?;
    let [_] = text else {
        return Err(fault("expected the scores of one text"));
    };
    // The bytes and words are those of the text as scored.
    let tokens = text.iter().flat_map(|c| &c.tokens);
    let whole: String = tokens.map(String::as_str).collect();
    let values = values(&[whole.trim()], answers)?;
    let wanted = values.iter().find(|(n, _)| *n == wanted.normalisation);
    let Some(value) = wanted.and_then(|(_, v)| v.first()) else {
        let why = "the unconditional probability was not asked for in this run";
        return Ok(Judgement::not_applicable(why));
    };
    let Target::Data(data) = &item.target else {
        return Err(fault("expected a number as target"));
    };
    let mut judgement = Judgement::scored(*value);
    judgement.notes = json!({ "with": data.get("with"), "values": { "logprob": value } });
    Ok(judgement)
}

/// The log-probability of the one text that was scored.
fn only(answers: &[Reply]) -> Result<(&ContinuationScore, f64), Box<Judgement>> {
    let [text] = scored(answers, 0)? else {
        return Err(fault("expected the scores of one text"));
    };
    match text.sum() {
        sum if sum.is_finite() => Ok((text, sum)),
        _ => Err(not_finite("a log-probability is not a number")),
    }
}

/// A text that greedy decoding would give: every token is the most probable one.
pub(super) fn greedy(answers: &[Reply]) -> Verdict {
    let (text, sum) = only(answers)?;
    let ranks = text.details.as_ref().map(|d| &d.rank);
    let Some(ranks) = ranks.filter(|r| r.len() == text.logprobs.len()) else {
        let why = "the model does not tell whether a token was its first choice";
        return Ok(Judgement::not_applicable(why));
    };
    let mut judgement = Judgement::scored(f64::from(ranks.iter().all(|r| *r == 1)));
    judgement.notes = json!({ "logprob": sum });
    Ok(judgement)
}

/// The bits of a text by its bytes.
pub(super) fn bits(item: &Item, answers: &[Reply]) -> Verdict {
    let (_, sum) = only(answers)?;
    let Target::Data(lengths) = &item.target else {
        return Err(fault("expected lengths as target"));
    };
    let bytes = lengths.get("bytes").and_then(|b| b.as_f64()).unwrap_or(1.0);
    let mut judgement = Judgement::scored(-sum / bytes / LN_2);
    judgement.notes = json!({ "logprob": sum, "bytes": bytes, "words": lengths.get("words") });
    Ok(judgement)
}

/// Log-probability of a text, its bytes and its words.
type Lengths = (f64, Option<f64>, Option<f64>);

/// Perplexities of all texts together, with bootstrap intervals over the items: by text, or where lengths were
/// kept by byte and by word.
pub(crate) fn perplexities(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    // Trials of one item are no independent texts.
    let rows = samples.filter(|s| s.id.trial == 0).filter_map(|s| {
        let of = |name: &str| s.judgement.notes.get(name)?.as_f64();
        Some((of("logprob")?, of("bytes"), of("words")))
    });
    let rows: Vec<Lengths> = rows.collect();
    let ratio = |drawn: &[usize], by: &dyn Fn(&Lengths) -> f64| {
        let drawn = || drawn.iter().filter_map(|i| rows.get(*i));
        -drawn().map(|r| r.0).sum::<f64>() / drawn().map(by).sum::<f64>()
    };
    let measure = |name: &str, of: &dyn Fn(&[usize]) -> f64| {
        let found = percentile(&Units::singles(rows.len()), of, &Bootstrap::default()).ok()?;
        let bounds = (found.low, found.high);
        let estimate = Estimate::new(found.value, bounds, rows.len(), found.method);
        Some(Measure::new(name, estimate))
    };
    let bytes = |d: &[usize]| ratio(d, &|r| r.1.unwrap_or(0.0));
    let words = |d: &[usize]| ratio(d, &|r| r.2.unwrap_or(0.0));
    let found = match rows.iter().all(|r| r.1.is_none()) {
        true => vec![measure("perplexity", &|d| ratio(d, &|_| 1.0).exp())],
        false => vec![
            measure("bits_per_byte", &|d| bytes(d) / LN_2),
            measure("byte_perplexity", &|d| bytes(d).exp()),
            measure("word_perplexity", &|d| words(d).exp()),
        ],
    };
    let found = found.into_iter().flatten();
    found.filter(|m| m.estimate.value.is_finite()).collect()
}

fn scored(answers: &[Reply], at: usize) -> Result<&[ContinuationScore], Box<Judgement>> {
    match answers.get(at).map(|r| &r.answer) {
        Some(Response::Scored(scored)) => Ok(&scored.continuations),
        _ => Err(fault("expected log-probabilities")),
    }
}

/// The values of the texts under each normalisation that the answers allow.
fn values(
    texts: &[&str],
    answers: &[Reply],
) -> Result<Vec<(Normalisation, Vec<f64>)>, Box<Judgement>> {
    // One answer for all texts, or one for each; those of the bare texts follow.
    let mut scores: Vec<&ContinuationScore> = Vec::new();
    for at in 0..answers.len() {
        scores.extend(scored(answers, at)?);
    }
    let bare = scores.split_off(texts.len().min(scores.len()));
    if scores.len() != texts.len() || !(bare.is_empty() || bare.len() == texts.len()) {
        return Err(fault("expected as many log-probabilities as texts"));
    }
    if scores.iter().any(|s| s.logprobs.is_empty()) {
        return Err(fault("a text has no scored token"));
    }
    let sums: Vec<f64> = scores.iter().map(|s| s.sum()).collect();
    if sums.iter().any(|s| !s.is_finite()) {
        return Err(not_finite("a log-probability is not a number"));
    }
    let over = |lengths: Vec<usize>| -> Vec<f64> {
        let both = sums.iter().zip(lengths);
        both.map(|(sum, n)| sum / n.max(1) as f64).collect()
    };
    let tokens = scores.iter().map(|s| s.logprobs.len()).collect();
    let bytes = texts.iter().map(|t| t.len()).collect();
    let characters = texts.iter().map(|t| t.chars().count()).collect();
    let words = texts.iter().map(|t| t.split_whitespace().count()).collect();
    let mut values = vec![
        (Normalisation::None, sums.clone()),
        (Normalisation::Token, over(tokens)),
        (Normalisation::Byte, over(bytes)),
        (Normalisation::Character, over(characters)),
        (Normalisation::Word, over(words)),
    ];
    if !bare.is_empty() {
        let pairs = sums.iter().zip(bare);
        let gained = pairs.map(|(sum, bare)| sum - bare.sum()).collect();
        values.push((Normalisation::Unconditional, gained));
    }
    Ok(values)
}

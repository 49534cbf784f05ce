//! Log-probabilities: which of several texts is the most probable under each normalisation, and how
//! they go with a number.

use mary_contract::{ContinuationScore, Item, Judgement, Reply, Response, Target};
use mary_generators::best;
use serde_json::json;

use super::{Verdict, fault, not_applicable, not_finite, right};
use crate::asking::{AskSettings, letter};
use crate::form::Normalisation;

fn measure(normalisation: Normalisation) -> &'static str {
    match normalisation {
        Normalisation::None => "by_sum",
        Normalisation::Token => "by_token",
        Normalisation::Byte => "by_byte",
        Normalisation::Word => "by_word",
        Normalisation::Unconditional => "by_unconditional",
    }
}

/// The most probable text is the right one; equally probable ones share the point.
pub(super) fn choice(wanted: &AskSettings, item: &Item, answers: &[Reply]) -> Verdict {
    let Some((texts, correct)) = item.target.alternatives() else {
        return Err(fault("expected options or a pair as target"));
    };
    let values = values(&texts, answers)?;
    let of = |n: Normalisation| values.iter().find(|(name, _)| *name == n).map(|(_, v)| v);
    let Some(chosen) = of(wanted.normalisation) else {
        return Ok(not_applicable(
            "the unconditional probabilities were not asked for in this run",
        ));
    };
    let Some((at, score)) = best(chosen, correct) else {
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
    let tie = score > 0.0 && score < 1.0;
    let mut judgement = Judgement::scored(score)
        .read_as(said)
        .measured("margin", margin)
        .measured("tie_rate", right(tie));
    for (name, values) in &values {
        if *name != wanted.normalisation
            && let Some((_, score)) = best(values, correct)
        {
            judgement = judgement.measured(measure(*name), score);
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
        return Ok(not_applicable(
            "the unconditional probability was not asked for in this run",
        ));
    };
    let Target::Data(data) = &item.target else {
        return Err(fault("expected a number as target"));
    };
    let mut judgement = Judgement::scored(*value);
    judgement.notes = json!({ "with": data.get("with"), "values": { "logprob": value } });
    Ok(judgement)
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
    let scores = scored(answers, 0)?;
    if scores.len() != texts.len() {
        return Err(fault("expected as many log-probabilities as texts"));
    }
    if scores.iter().any(|s| s.logprobs.is_empty()) {
        return Err(fault("a text has no scored token"));
    }
    let sums: Vec<f64> = scores.iter().map(ContinuationScore::sum).collect();
    if sums.iter().any(|s| !s.is_finite()) {
        return Err(not_finite("a log-probability is not a number"));
    }
    let over = |lengths: Vec<usize>| -> Vec<f64> {
        let both = sums.iter().zip(lengths);
        both.map(|(sum, n)| sum / n.max(1) as f64).collect()
    };
    let tokens = scores.iter().map(|s| s.logprobs.len()).collect();
    let bytes = texts.iter().map(|t| t.len()).collect();
    let words = texts.iter().map(|t| t.split_whitespace().count()).collect();
    let mut values = vec![
        (Normalisation::None, sums.clone()),
        (Normalisation::Token, over(tokens)),
        (Normalisation::Byte, over(bytes)),
        (Normalisation::Word, over(words)),
    ];
    if answers.len() > 1 {
        let bare = scored(answers, 1)?;
        if bare.len() != texts.len() {
            return Err(fault(
                "expected as many unconditional log-probabilities as texts",
            ));
        }
        let pairs = sums.iter().zip(bare);
        let gained = pairs.map(|(sum, bare)| sum - bare.sum()).collect();
        values.push((Normalisation::Unconditional, gained));
    }
    Ok(values)
}

//! Verdicts by the harness' own rules: the first of equally probable options counts, what a filter
//! could not read is wrong, and every metric of the task file stands beside the score under its name.

use mary_contract::{
    ContinuationScore, Finish, Item, Judgement, Reply, Response, Target, UnscoredReason,
};
use serde_json::{Value as Json, json};

use crate::judge::{Verdict, fault, not_applicable, not_finite, right};
use crate::lm_eval::config::{Config, OutputType};
use crate::lm_eval::metrics::Metric;
use crate::lm_eval::translation::{BleuCounts, ChrfCounts};

pub fn judge(config: &Config, item: &Item, answers: &[Reply]) -> Judgement {
    let verdict = match config.output {
        OutputType::MultipleChoice => choice(config, item, answers),
        OutputType::Loglikelihood => continuation(config, answers),
        OutputType::Rolling => rolling(item, answers),
        OutputType::GenerateUntil => answer(config, item, answers),
    };
    verdict.unwrap_or_else(|early| *early)
}

fn scored(reply: &Reply) -> Result<&[ContinuationScore], Box<Judgement>> {
    match &reply.answer {
        Response::Scored(scored) => Ok(&scored.continuations),
        _ => Err(fault("expected log-probabilities")),
    }
}

fn sums(answers: &[Reply]) -> Result<Vec<f64>, Box<Judgement>> {
    let mut sums = Vec::new();
    for reply in answers {
        for score in scored(reply)? {
            let sum = score.sum();
            if !sum.is_finite() {
                return Err(not_finite("a log-probability is not a number"));
            }
            sums.push(sum);
        }
    }
    Ok(sums)
}

/// numpy's `argmax`: the first of the largest.
fn argmax(values: &[f64]) -> usize {
    let better = |best: usize, at: usize| if values[at] > values[best] { at } else { best };
    (0..values.len()).fold(0, better)
}

fn choice(config: &Config, item: &Item, answers: &[Reply]) -> Verdict {
    let (options, gold): (Vec<&str>, Vec<usize>) = match &item.target {
        Target::Choice {
            options, correct, ..
        } => (options.iter().map(String::as_str).collect(), vec![*correct]),
        Target::Data(data) => {
            let gold = data.get("gold").and_then(Json::as_array);
            let places = gold.into_iter().flatten().filter_map(Json::as_u64);
            let places = places.filter_map(|n| usize::try_from(n).ok());
            (texts(data.get("options")), places.collect())
        }
        _ => return Err(fault("expected options as target")),
    };
    let mut logprobs = sums(answers)?;
    let n = options.len();
    let unconditional = logprobs.split_off(n.min(logprobs.len()));
    if logprobs.len() != n || n == 0 {
        return Err(fault("expected as many log-probabilities as options"));
    }
    let over = |lengths: &dyn Fn(&str) -> usize| -> Vec<f64> {
        let both = logprobs.iter().zip(&options);
        both.map(|(sum, text)| sum / lengths(text) as f64).collect()
    };
    let plain = argmax(&logprobs);
    let verdict = |at: usize| right(gold.contains(&at));
    let mut judgement = Judgement::scored(0.0).read_as(plain.to_string());
    let mut main = None;
    for metric in &config.metrics {
        let value = match metric {
            Metric::Acc => verdict(plain),
            Metric::AccNorm => verdict(argmax(&over(&|t| t.chars().count()))),
            Metric::AccBytes => verdict(argmax(&over(&|t| t.len()))),
            Metric::AccMutualInfo if unconditional.len() == n => {
                let gained = logprobs.iter().zip(&unconditional);
                verdict(argmax(&gained.map(|(a, b)| a - b).collect::<Vec<_>>()))
            }
            _ => continue,
        };
        main.get_or_insert(value);
        judgement = judgement.measured(metric.name(), value);
    }
    judgement.outcome = mary_contract::Outcome::Scored(main.unwrap_or_else(|| verdict(plain)));
    judgement.notes = json!({ "logprobs": logprobs, "gold": gold, "chosen": plain });
    Ok(judgement)
}

fn continuation(config: &Config, answers: &[Reply]) -> Verdict {
    let reply = answers
        .first()
        .ok_or_else(|| fault("expected log-probabilities"))?;
    let [score] = scored(reply)? else {
        return Err(fault("expected the score of one text"));
    };
    let sum = *sums(answers)?.first().unwrap_or(&f64::NAN);
    let wanted = config.metrics.iter().any(|m| matches!(m, Metric::Acc));
    let greedy = greedy(score);
    let mut judgement = match greedy.filter(|_| wanted) {
        Some(greedy) => Judgement::scored(right(greedy)).measured("acc", right(greedy)),
        None if wanted => {
            not_applicable("the model does not tell whether a token was its first choice")
        }
        None => Judgement::scored(sum),
    };
    judgement.notes = json!({ "logprob": sum });
    Ok(judgement)
}

/// Whether every token was the most probable one, where the model tells.
fn greedy(score: &ContinuationScore) -> Option<bool> {
    let ranks = &score.details.as_ref()?.rank;
    (ranks.len() == score.logprobs.len()).then(|| ranks.iter().all(|r| *r == 1))
}

fn rolling(item: &Item, answers: &[Reply]) -> Verdict {
    let sum = sums(answers)?.first().copied();
    let sum = sum.ok_or_else(|| fault("expected log-probabilities"))?;
    let Target::Data(data) = &item.target else {
        return Err(fault("expected lengths as target"));
    };
    let length = |name: &str| data.get(name).and_then(Json::as_f64).unwrap_or(0.0);
    let bytes = length("bytes");
    let mut judgement = Judgement::scored(-sum / bytes.max(1.0) / std::f64::consts::LN_2);
    judgement.notes = json!({ "logprob": sum, "words": length("words"), "bytes": bytes });
    Ok(judgement)
}

fn texts(value: Option<&Json>) -> Vec<&str> {
    let members = value.and_then(Json::as_array).into_iter().flatten();
    members.filter_map(Json::as_str).collect()
}

fn answer(config: &Config, item: &Item, answers: &[Reply]) -> Verdict {
    let Some(Response::Generated(said)) = answers.first().map(|r| &r.answer) else {
        return Err(fault("expected an answer in words"));
    };
    match said.finish {
        Finish::Refusal => return Ok(Judgement::unscored(UnscoredReason::Refused)),
        Finish::ContentFilter => return Ok(Judgement::unscored(UnscoredReason::Filtered)),
        _ => {}
    }
    let (accepted, options) = match &item.target {
        Target::Text(text) => (vec![text.as_str()], Vec::new()),
        Target::Data(data) => (texts(data.get("accepted")), texts(data.get("options"))),
        _ => return Err(fault("expected a text as target")),
    };
    let options: Vec<String> = options.into_iter().map(str::to_owned).collect();
    let mut judgement = Judgement::scored(0.0);
    let mut main = None;
    let mut counts = serde_json::Map::new();
    for pipeline in &config.filters {
        let read = pipeline.read(&said.text, &options);
        let name = |metric: &Metric| match config.filters.len() {
            1 => metric.name().to_owned(),
            _ => format!("{},{}", metric.name(), pipeline.name),
        };
        for metric in &config.metrics {
            let counted = |value: Json| (name(metric), value);
            match metric {
                Metric::ExactMatch(ignored) => {
                    let value = right(accepted.iter().any(|a| ignored.equal(&read, a)));
                    main.get_or_insert(value);
                    judgement = judgement.measured(&name(metric), value);
                }
                Metric::Bleu => {
                    let of = json!(BleuCounts::count(&read, &accepted));
                    counts.extend([counted(of)]);
                }
                Metric::Chrf | Metric::ChrfWords => {
                    let words = if matches!(metric, Metric::Chrf) { 0 } else { 2 };
                    let of = ChrfCounts::count(&read, &accepted, words);
                    counts.extend([counted(json!(of))]);
                }
                _ => {}
            }
        }
        if judgement.parsed.is_none() {
            judgement = judgement.read_as(read);
        }
    }
    // Without a verdict of right and wrong the score is the item's own chrF.
    let main = main.unwrap_or_else(|| {
        let read = judgement.parsed.as_deref().unwrap_or_default();
        ChrfCounts::count(read, &accepted, 0).score()
    });
    judgement.outcome = mary_contract::Outcome::Scored(main);
    if !counts.is_empty() {
        judgement.notes = json!({ "counts": counts });
    }
    Ok(judgement)
}

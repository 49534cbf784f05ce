//! JSON has no NaN: a number that is not one would come back as a hole. So it never goes in.

use mary_contract::{ContinuationScore, Reply, Response, Sample};

fn scores_finite(scores: &ContinuationScore) -> bool {
    scores.logprobs.iter().all(|x| x.is_finite())
}

/// Whether every number of an answer that JSON holds as a number is one. (Vectors are kept as
/// bytes and come back whatever they hold.)
pub(crate) fn reply_is_finite(reply: &Reply) -> bool {
    reply.meta.usage.cost.is_none_or(f64::is_finite)
        && match &reply.answer {
            Response::Generated(_) => true,
            Response::Scored(s) => s.continuations.iter().all(scores_finite),
            Response::Observed(o) => o.scores.iter().all(scores_finite),
        }
}

/// Whether a sample can be written and read back as it is.
pub(crate) fn sample_is_finite(sample: &Sample) -> bool {
    sample.judgement.is_finite()
        && sample
            .exchanges
            .iter()
            .filter_map(|e| e.reply.as_ref().ok())
            .all(reply_is_finite)
}

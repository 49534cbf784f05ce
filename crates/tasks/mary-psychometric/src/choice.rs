//! The best of several candidates by log-probability: ties shared, NaN refused, sum and mean side by
//! side.

use mary_contract::{ErrorKind, FLOOR, Judgement, OVER_FLOOR, Scored};
use mary_generators::best;
use serde_json::json;

/// Which of the two sums makes the verdict; the other stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Log-probability of the whole sequence (the beginning is the same for all candidates).
    Sum,
    /// Mean log-probability per token of the candidate.
    Mean,
}

/// Names of the verdicts under both conventions.
pub(crate) const SUM: &str = "sum_logprob";
pub(crate) const MEAN: &str = "mean_logprob";

/// Judges scored candidates under both conventions.
pub(crate) fn judge(options: &[String], correct: usize, scored: &Scored, by: By) -> Judgement {
    if scored.continuations.len() != options.len() {
        return failed(&format!(
            "expected {} scores, one for each candidate, found {}",
            options.len(),
            scored.continuations.len()
        ));
    }
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    let means: Vec<f64> = scored
        .continuations
        .iter()
        .map(|c| c.mean().unwrap_or(f64::NAN))
        .collect();
    let (Some(by_sum), Some(by_mean)) = (best(&sums, correct), best(&means, correct)) else {
        return Judgement::failed(
            ErrorKind::NotFinite,
            "a candidate's log-probability is not a number",
        );
    };
    let (said, score) = match by {
        By::Sum => by_sum,
        By::Mean => by_mean,
    };
    let mut judgement = Judgement::scored(score)
        .measured(SUM, by_sum.1)
        .measured(MEAN, by_mean.1);
    // A model that knows nothing finds the candidate with the fewest tokens the most probable. Means
    // per token have no such leaning.
    let lengths: Vec<f64> = scored
        .continuations
        .iter()
        .map(|c| -(c.logprobs.len() as f64))
        .collect();
    if let (By::Sum, Some((_, floor))) = (by, best(&lengths, correct)) {
        judgement = judgement
            .measured(FLOOR, floor)
            .measured(OVER_FLOOR, score - floor);
    }
    if let Some(option) = options.get(said) {
        judgement = judgement.read_as(option.clone());
    }
    judgement.notes = json!({ "logprob": sums });
    judgement
}

/// A fault of ours, in words.
pub(crate) fn failed(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::Internal, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_shared_and_nan_is_refused() {
        assert_eq!(best(&[-1.0, -2.0], 0), Some((0, 1.0)));
        assert_eq!(best(&[-1.0, -2.0], 1), Some((0, 0.0)));
        assert_eq!(best(&[-1.0, -1.0, -3.0], 1), Some((0, 0.5)));
        assert_eq!(best(&[-1.0, f64::NAN], 0), None);
    }
}

//! What is computed of an answer, by the harness' names. Metrics that are not computed here are left
//! out by name; a task that has no other is refused.

use std::sync::Arc;

use crate::lm_eval::Refusal;
use crate::lm_eval::config::OutputType;
use crate::lm_eval::filters::patterns_to_ignore;
use crate::lm_eval::pattern::Pattern;
use crate::lm_eval::yaml::Node;

#[derive(Debug, Clone)]
pub enum Metric {
    /// The most probable option is right; of one continuation: it is what greedy decoding gives.
    Acc,
    /// The same per character of the option.
    AccNorm,
    /// The same per byte.
    AccBytes,
    /// The same less the probability without the question.
    AccMutualInfo,
    /// F1 of the second of two options, over all items.
    F1,
    Mcc,
    /// Over all items: exp of the mean negative log-probability.
    Perplexity,
    /// Per word.
    WordPerplexity,
    /// Per byte.
    BytePerplexity,
    /// The same in bits.
    BitsPerByte,
    ExactMatch(Arc<Ignored>),
    Bleu,
    Chrf,
    ChrfWords,
}

/// What `exact_match` does not look at.
#[derive(Debug, Default)]
pub struct Ignored {
    patterns: Vec<Pattern>,
    case: bool,
    punctuation: bool,
    numbers: bool,
}

impl Metric {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Acc => "acc",
            Self::AccNorm => "acc_norm",
            Self::AccBytes => "acc_bytes",
            Self::AccMutualInfo => "acc_mutual_info",
            Self::F1 => "f1",
            Self::Mcc => "mcc",
            Self::Perplexity => "perplexity",
            Self::WordPerplexity => "word_perplexity",
            Self::BytePerplexity => "byte_perplexity",
            Self::BitsPerByte => "bits_per_byte",
            Self::ExactMatch(_) => "exact_match",
            Self::Bleu => "bleu",
            Self::Chrf => "chrf",
            Self::ChrfWords => "chrf++",
        }
    }

    /// Whether every item is right or wrong by it.
    pub fn is_share(&self) -> bool {
        matches!(
            self,
            Self::Acc | Self::AccNorm | Self::AccBytes | Self::AccMutualInfo | Self::ExactMatch(_)
        )
    }
}

/// The metrics of a task that names none.
pub fn default_of(output: OutputType) -> Vec<Metric> {
    match output {
        OutputType::MultipleChoice => vec![Metric::Acc, Metric::AccNorm],
        OutputType::Loglikelihood => vec![Metric::Perplexity, Metric::Acc],
        OutputType::Rolling => vec![
            Metric::WordPerplexity,
            Metric::BytePerplexity,
            Metric::BitsPerByte,
        ],
        OutputType::GenerateUntil => vec![Metric::ExactMatch(Arc::default())],
    }
}

/// Reads an entry of `metric_list`; nothing for one that is not computed here.
pub fn read(
    name: &str,
    node: &Node,
    output: OutputType,
) -> Result<Option<Metric>, (usize, Refusal)> {
    use OutputType::{GenerateUntil, Loglikelihood, MultipleChoice, Rolling};
    let (metric, usual) = match (output, name) {
        (MultipleChoice | Loglikelihood, "acc") => (Metric::Acc, "mean"),
        (MultipleChoice, "acc_norm") => (Metric::AccNorm, "mean"),
        (MultipleChoice, "acc_bytes") => (Metric::AccBytes, "mean"),
        (MultipleChoice, "acc_mutual_info") => (Metric::AccMutualInfo, "mean"),
        (MultipleChoice, "f1") => (Metric::F1, "f1"),
        (MultipleChoice, "mcc") => (Metric::Mcc, "matthews_corrcoef"),
        (Loglikelihood, "perplexity") => (Metric::Perplexity, "perplexity"),
        (Rolling, "word_perplexity") => (Metric::WordPerplexity, "weighted_perplexity"),
        (Rolling, "byte_perplexity") => (Metric::BytePerplexity, "weighted_perplexity"),
        (Rolling, "bits_per_byte") => (Metric::BitsPerByte, "bits_per_byte"),
        (GenerateUntil, "exact_match") => (Metric::ExactMatch(Arc::new(ignored(node)?)), "mean"),
        (GenerateUntil, "bleu") => (Metric::Bleu, "bleu"),
        (GenerateUntil, "chrf") => (Metric::Chrf, "chrf"),
        (GenerateUntil, "chrf++") => (Metric::ChrfWords, "chrf++"),
        _ => return Ok(None),
    };
    let aggregation = node.get("aggregation").and_then(Node::text);
    let fits = aggregation.is_none_or(|a| a == usual || (usual == "mean" && a == "nanmean"));
    Ok(fits.then_some(metric))
}

fn ignored(node: &Node) -> Result<Ignored, (usize, Refusal)> {
    Ok(Ignored {
        patterns: patterns_to_ignore(node)?,
        case: node.is_on("ignore_case"),
        punctuation: node.is_on("ignore_punctuation"),
        numbers: node.is_on("ignore_numbers"),
    })
}

impl Ignored {
    fn rest(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for pattern in &self.patterns {
            text = pattern.remove(&text);
        }
        if self.case {
            text = text.to_lowercase();
        }
        text.retain(|c| {
            !(self.punctuation && c.is_ascii_punctuation() || self.numbers && c.is_ascii_digit())
        });
        text
    }

    /// Whether two texts are equal but for what is ignored.
    pub fn equal(&self, answer: &str, target: &str) -> bool {
        self.rest(answer) == self.rest(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm_eval::yaml;

    #[test]
    fn what_is_ignored_is_ignored_in_both() {
        let node = "metric: exact_match\nignore_case: true\nignore_punctuation: true\nregexes_to_ignore: [',', '\\$', '(?s).*#### ', '\\.$']";
        let read = read(
            "exact_match",
            &yaml::read(node).unwrap(),
            OutputType::GenerateUntil,
        );
        let Ok(Some(Metric::ExactMatch(ignored))) = read else {
            panic!("expected a metric");
        };
        assert!(ignored.equal("$1,000.", "so #### 1000"));
        assert!(ignored.equal("Paris!", "paris"));
        assert!(!ignored.equal("Paris", "London"));
        assert!(!ignored.equal(" Paris", "Paris"));
    }
}

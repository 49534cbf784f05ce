//! A dry run as people read it: dollars for what is asked over a network, time for what runs here.

use std::fmt;

use mary_contract::RequestEstimate;
use mary_platform::counted;
use serde::{Deserialize, Serialize};

/// How tokens are guessed ([`mary_contract::text_tokens`]).
const TOKENS: &str = "tokens are estimated: one per 4 ASCII characters or 1.5 others, 1000 per picture; answers are counted at their limit";
/// What that means for money.
const PAID: &str = ", so the cost is an upper estimate; prefix caches are not counted";

/// One line of a dry run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EstimateRow {
    /// Provider and name.
    pub model: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it runs on this machine, and costs time instead of money.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
    /// `family/task`.
    pub task: String,
    /// Requests, tokens, dollars or seconds.
    pub estimate: RequestEstimate,
}

/// A dry run: one line for each model and task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DryRun {
    /// The lines.
    pub rows: Vec<EstimateRow>,
    /// Day and source of the prices.
    pub prices: String,
    /// How fast this machine is taken to be, where a model runs on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub speed: String,
    /// What models say of how they would be computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlook: Vec<String>,
}

impl EstimateRow {
    fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.model)
    }

    /// Dollars, or time where the model runs on this machine.
    fn price(&self) -> String {
        match (self.local, self.estimate.seconds) {
            (false, _) => dollars(self.estimate.cost),
            (true, Some(seconds)) => format!("about {}", duration(seconds)),
            (true, None) => "no price".into(),
        }
    }
}

impl DryRun {
    /// Dollars for everything, at most; `None` when a price is missing. What runs on this machine has none.
    pub fn cost(&self) -> Option<f64> {
        let remote = self.rows.iter().filter(|row| !row.local);
        remote.map(|row| row.estimate.cost).sum()
    }

    /// Seconds for everything that runs on this machine, about; `None` where a model's size is not known.
    pub fn seconds(&self) -> Option<f64> {
        let local = self.rows.iter().filter(|row| row.local);
        local.map(|row| row.estimate.seconds).sum()
    }
}

/// A time in the two largest units it has.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.ceil().clamp(0.0, 1e9) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = |pick: fn(&EstimateRow) -> &str| {
            let lengths = self.rows.iter().map(|r| pick(r).len());
            lengths.fold("model".len(), usize::max)
        };
        let (model, task) = (wide(EstimateRow::called), wide(|r| &r.task));
        let local = self.rows.iter().filter(|r| r.local).count();
        let (last, wide) = match (local, self.rows.len()) {
            (0, _) => ("cost ≤", 12),
            (local, all) if local == all => ("time", 16),
            _ => ("cost ≤, time", 16),
        };
        writeln!(
            f,
            "{:model$}  {:task$}  {:>9}  {:>13}  {:>13}  {last:>wide$}",
            "model", "task", "requests", "tokens in", "tokens out ≤"
        )?;
        for row in &self.rows {
            let e = &row.estimate;
            writeln!(
                f,
                "{:model$}  {:task$}  {:>9}  {:>13}  {:>13}  {:>wide$}",
                row.called(),
                row.task,
                e.requests,
                e.prompt_tokens,
                e.completion_tokens,
                row.price()
            )?;
        }
        self.total(f, local)?;
        let paid = if local < self.rows.len() { PAID } else { "" };
        writeln!(f, "{TOKENS}{paid}")?;
        if !self.speed.is_empty() {
            writeln!(f, "{}", self.speed)?;
        }
        for line in &self.outlook {
            writeln!(f, "{line}")?;
        }
        write!(f, "{}", self.prices)
    }
}

impl DryRun {
    fn total(&self, f: &mut fmt::Formatter<'_>, local: usize) -> fmt::Result {
        let sum = |of: fn(&RequestEstimate) -> u64| {
            self.rows.iter().map(|r| of(&r.estimate)).sum::<u64>()
        };
        let requests = usize::try_from(sum(|e| e.requests)).unwrap_or(usize::MAX);
        write!(f, "total: {}", counted(requests, "request"))?;
        if local > 0 {
            write!(f, ", about {} tokens in", sum(|e| e.prompt_tokens))?;
        }
        if local < self.rows.len() {
            write!(f, ", at most {}", dollars(self.cost()))?;
        }
        match (local, self.seconds()) {
            (0, _) => {}
            (_, Some(seconds)) => write!(f, ", about {} on this machine", duration(seconds))?,
            (_, None) => write!(
                f,
                "; the time is not known, since a model does not tell its size"
            )?,
        }
        writeln!(f)
    }
}

fn dollars(cost: Option<f64>) -> String {
    match cost {
        Some(cost) if cost > 0.0 && cost < 0.01 => format!("${cost:.4}"),
        Some(cost) => format!("${cost:.2}"),
        None => "no price".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &str, cost: Option<f64>, completion_tokens: u64) -> EstimateRow {
        EstimateRow {
            model: model.into(),
            label: None,
            local: false,
            task: "htest/rhyme".into(),
            estimate: RequestEstimate {
                requests: 1000,
                prompt_tokens: 508_000,
                completion_tokens,
                cost,
                seconds: None,
            },
        }
    }

    #[test]
    fn a_dry_run_reads_like_a_bill() {
        let dry = DryRun {
            rows: vec![
                row("openai/gpt-4o", Some(1.43), 16_000),
                row("openai/o3", Some(33.912), 4_112_000),
                row("vllm/my-model", Some(0.0), 16_000),
                row("groq/new-model", None, 16_000),
            ],
            prices: "prices of DATE".into(),
            speed: String::new(),
            outlook: vec![],
        };
        let expected = "\
model           task          requests      tokens in   tokens out ≤        cost ≤
openai/gpt-4o   htest/rhyme       1000         508000          16000         $1.43
openai/o3       htest/rhyme       1000         508000        4112000        $33.91
vllm/my-model   htest/rhyme       1000         508000          16000         $0.00
groq/new-model  htest/rhyme       1000         508000          16000      no price
total: 4000 requests, at most no price
tokens are estimated: one per 4 ASCII characters or 1.5 others, 1000 per picture; answers are counted at their limit, so the cost is an upper estimate; prefix caches are not counted
prices of DATE";
        assert_eq!(dry.to_string(), expected);
    }

    #[test]
    fn a_model_on_this_machine_costs_time_and_tokens() {
        let mut row = row("hf/owner/name", None, 16);
        (row.local, row.label) = (true, Some("small".into()));
        row.estimate.seconds = Some(4920.0);
        let dry = DryRun {
            rows: vec![row],
            prices: String::new(),
            speed: "time is an estimate".into(),
            outlook: vec!["small: 1 of 24 blocks are held".into()],
        };
        let text = dry.to_string();
        assert!(text.contains("about 1 h 22 min on this machine"), "{text}");
        assert!(text.contains("\nsmall  htest/rhyme"), "{text}");
        assert!(
            text.contains("time is an estimate\nsmall: 1 of 24"),
            "{text}"
        );
        assert!(!text.contains("price"), "{text}");
        assert_eq!((dry.cost(), dry.seconds()), (Some(0.0), Some(4920.0)));
    }
}

//! The chapter of a report on how its models were tuned.

use mary_contract::RunSummary;
use mary_report::html::{Chapter, Contents};

/// Learning curves, where some of the runs asked a model that still has its own beside it.
pub struct Learning;

impl Chapter for Learning {
    type Error = anyhow::Error;

    fn id(&self) -> &str {
        "learning"
    }

    fn title(&self) -> &str {
        "Learning"
    }

    fn build(&self, runs: &[RunSummary]) -> anyhow::Result<Option<Contents>> {
        let models = runs.iter().flat_map(|run| &run.manifest.models);
        Ok(mary_lab::learning::exhibits(models)?.map(Contents::from))
    }
}

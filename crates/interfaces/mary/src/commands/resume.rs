//! `mary resume`: goes on with a run from its folder, as it was begun.

use clap::Args;
use mary_lab::UsersWord;

use super::carry_out::{ShowOptions, go, show};
use crate::command::Command;
use crate::exit::Status;
use crate::own::{Stored, StoredRun};
use crate::settings::Place;
use crate::specification::laboratory;

#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub stored: StoredRun,
    /// Dollars after which nothing more is sent, over the whole run [default: as it was begun]
    #[arg(long)]
    pub budget: Option<f64>,
    /// Where the run's questions go; needed where a key is sent to a host that only the folder names,
    /// this machine included
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The variable that holds the key; needed where the folder names one that is not the service's own
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
    /// Make no HTML report
    #[arg(long)]
    pub no_report: bool,
}

impl Command for ResumeArgs {
    const NAME: &str = "resume";
    const ABOUT: &str = "Continue a run from its folder";
    const ALIAS: Option<&str> = Some("retry");

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        self.stored.gather(place)
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let path = self.stored.find(place)?;
        let lab = laboratory(place);
        let word = UsersWord {
            base_url: self.base_url.as_deref(),
            key_env: self.key_env.as_deref(),
        };
        let mut run = lab.continue_run(&path, self.budget, word)?;
        let shown = ShowOptions {
            quiet: self.quiet,
            json: self.json,
            report: !self.no_report,
        };
        let summary = go(&mut run, shown.quiet)?;
        if let Some(instrument) = Stored::of(run.folder().manifest()).filter(|_| !self.json) {
            return instrument.show(&run, &summary);
        }
        show(place, &run, &summary, None, &shown)
    }
}

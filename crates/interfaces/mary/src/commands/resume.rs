//! `mary resume`: goes on with a run from its folder, as it was begun.

use clap::Args;
use mary_lab::UsersWord;

use super::carry_out::{ShowOptions, go, show};
use crate::command::Command;
use crate::exit::Status;
use crate::laboratory::laboratory;
use crate::settings::Place;
use crate::stored::Stored;
use crate::{own, rundir};

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Where the run's own task file is now, if it was moved (repeatable)
    #[arg(
        short,
        long,
        visible_alias = "task",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub tasks: Vec<String>,
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
        own::only_files(&self.tasks)?;
        own::named(place, &mut self.tasks)?;
        own::stored(place, self.run.as_slice(), true);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let path = rundir::find(place, self.run.as_deref())?;
        let lab = laboratory(place);
        let mut run = lab.continue_run(
            &path,
            self.budget,
            UsersWord {
                base_url: self.base_url.as_deref(),
                key_env: self.key_env.as_deref(),
            },
        )?;
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

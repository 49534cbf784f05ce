//! `mary resume`: goes on with a run from its folder, as it was begun.

use mary_lab::UsersWord;

use super::carry_out::{Shown, go, show};
use crate::cli::ResumeArgs;
use crate::exit::Status;
use crate::laboratory::laboratory;
use crate::rundir;
use crate::settings::Place;
use crate::stored::Stored;

/// Continues a run where it is.
pub fn resume(place: &Place, args: &ResumeArgs) -> anyhow::Result<Status> {
    let path = rundir::find(place, args.run.as_deref())?;
    let lab = laboratory(place);
    let mut run = lab.continue_run(
        &path,
        args.budget,
        UsersWord {
            base_url: args.base_url.as_deref(),
            key_env: args.key_env.as_deref(),
        },
    )?;
    let shown = Shown {
        quiet: false,
        json: args.json,
        report: true,
    };
    let summary = go(&mut run, shown.quiet)?;
    if let Some(instrument) = Stored::of(run.folder().manifest()).filter(|_| !args.json) {
        return instrument.show(&run, &summary);
    }
    show(place, &run, &summary, None, &shown)
}

//! `mary resume`: goes on with a run from its folder.

use super::run;
use crate::cli::ResumeArgs;
use crate::exit::Status;
use crate::rundir;
use crate::settings::Place;

/// Continues a run where it is.
pub fn resume(place: &Place, args: &ResumeArgs) -> anyhow::Result<Status> {
    let path = rundir::find(place, args.run.as_deref())?;
    let mut plan = run::from_folder(place, path.to_str(), args.json)?;
    plan.settings.budget = args.budget.or(plan.settings.budget);
    let mut place = place.clone();
    if let Some(parent) = path.parent() {
        place.runs = parent.to_owned();
    }
    run::carry_out(&place, &plan, false)
}

//! `mary sweep`: every checkpoint of one or more models, as one piece of work.

mod show;

use mary_checkpoints::{Sweep, members};
use mary_run::Laboratory;

use crate::cli::sweep::SweepArgs;
use crate::exit::{Status, UsageError};
use crate::laboratory::laboratory;
use crate::progress::Progress;
use crate::settings::Place;
use crate::{interrupt, own, specification};

/// What the arguments ask for.
pub fn asked<'lab>(
    place: &Place,
    lab: &'lab Laboratory,
    args: &SweepArgs,
) -> anyhow::Result<Sweep<'lab>> {
    let mut models: Vec<String> = args.models.iter().chain(&args.run.model).cloned().collect();
    models.retain(|m| !m.trim().is_empty());
    if models.is_empty() {
        models.push(specification::DEFAULT_MODEL.to_owned());
    }
    if args.run.adapter.is_some() || args.run.dry_run {
        return Err(UsageError::new("a sweep takes neither --adapter nor --dry-run").into());
    }
    let table = match &args.checkpoints {
        Some(path) => Some(mary_weights::series::read_table(path)?),
        None => None,
    };
    let members = members(
        &models,
        &args.revisions,
        args.tokens_per_step,
        table.as_deref(),
    )?;
    let mut spec = specification::of(place, lab, &args.run)?;
    let builtin = |m: &String| m.split('/').next() == Some(specification::BUILTIN);
    specification::fit_to_models(&place.registry, &mut spec.tasks, models.iter().all(builtin));
    if args.run.tasks.is_empty() {
        // Without tasks, the starter selection of the families that follow development.
        let families = place.registry.families().iter();
        let growing: Vec<&str> = families
            .filter(|f| f.development().is_some())
            .map(|f| f.id())
            .collect();
        spec.tasks.retain(|choice| {
            let family = choice.id.split('/').next().unwrap_or_default();
            growing.contains(&family)
        });
        for choice in &mut spec.tasks {
            choice.settings.shots = args.run.shots;
        }
    }
    Ok(Sweep {
        lab,
        spec,
        members,
        disk_limit: args.disk_limit,
    })
}

/// Runs the sweep, or what is left of it.
pub fn sweep(place: &Place, args: &SweepArgs) -> anyhow::Result<Status> {
    let lab = laboratory(place);
    let sweep = asked(place, &lab, args)?;
    let mut state = sweep.open_state(&place.runs, &own::words())?;
    super::tell(&format!(
        "sweep: {} checkpoints, {} to do, in {}",
        sweep.members.len(),
        sweep.left(&state).len(),
        state.path().display()
    ));
    let stop = interrupt::flag()?;
    let stopped = sweep.go(&mut state, &mut Progress::new(args.run.quiet), &stop);
    // Whatever happened, what is there is shown.
    let records = state.records(&sweep.members);
    let shown = super::carry_out::Shown {
        quiet: args.run.quiet,
        json: args.run.json,
        report: !args.run.no_report,
    };
    let faulty = show::show(&place.registry, &state, &sweep.spec, &records, &shown)?;
    stopped?;
    Ok(if faulty || records.len() < sweep.members.len() {
        Status::Incomplete
    } else {
        Status::Done
    })
}

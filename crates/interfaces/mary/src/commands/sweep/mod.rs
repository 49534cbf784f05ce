//! `mary sweep`: every checkpoint of one or more models, as one piece of work.

mod show;

pub use show::{chapter, leading};

use std::path::Path;

use clap::Args;
use mary_lab::Laboratory;
use mary_lab::checkpoints::{State, Sweep, SweepOptions, read_bytes};
use mary_platform::counted;

use super::shard;
use crate::command::Command;
use crate::commands::run::RunArgs;
use crate::commands::{carry_out, tell};
use crate::exit::{Status, missing_error, usage_error};
use crate::progress::Progress;
use crate::settings::Place;
use crate::specification::{self, laboratory};
use crate::{interrupt, own};

/// What the arguments ask for; tasks that cannot run here are told.
pub fn asked<'lab>(lab: &'lab Laboratory, args: &SweepArgs) -> anyhow::Result<Sweep<'lab>> {
    if args.run.adapter.is_some() || args.run.dry_run {
        return usage_error("a sweep takes neither --adapter nor --dry-run");
    }
    let options = SweepOptions {
        models: args.models.clone(),
        revisions: args.revisions.clone(),
        checkpoints: args.checkpoints.clone(),
        tokens_per_step: args.tokens_per_step,
        disk_limit: Some(args.disk_limit),
        run: args.run.options()?,
    };
    let (sweep, left) = options.specify(lab)?;
    specification::tell_left_out(&sweep.spec, &left);
    Ok(sweep)
}

/// Tests every checkpoint of one or more models, says which are not what their name says, and shows
/// when in training each ability grows. The same command goes on where it was stopped.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Models: a hub id (hf/EleutherAI/pythia-70m), a folder of checkpoints (./out, with step0,
    /// step512 … in it), builtin/nano; several sizes may be named [default: builtin/nano]
    #[arg(value_name = "MODEL")]
    pub models: Vec<String>,
    /// Checkpoints: `all`, names (step0,step512; 512 means step512), or ranges (step1..step512)
    #[arg(long, value_delimiter = ',', default_value = "all")]
    pub revisions: Vec<String>,
    /// A table of the checkpoints there are: a line for each, its name and the tokens it had seen
    /// (ckpt_000, 3.5B) [default: the hub's branches and tags, or the names in the folder]
    #[arg(long, value_name = "FILE")]
    pub checkpoints: Option<std::path::PathBuf>,
    /// Tokens of one training step [default: known for Pythia, Amber and builtin/nano, else from the
    /// names (step1000-tokens4B) or from recipe.json beside the checkpoints; without it, curves are
    /// over steps]
    #[arg(long, value_name = "N")]
    pub tokens_per_step: Option<u64>,
    /// Room for checkpoints fetched from the hub; what is done is removed to stay within it
    #[arg(long, value_name = "SIZE", default_value = "40GB", value_parser = read_bytes)]
    pub disk_limit: u64,
    #[command(flatten)]
    pub run: RunArgs,
}

impl Command for SweepArgs {
    const NAME: &str = "sweep";
    const ABOUT: &str = "Test every checkpoint of a model: when does each ability grow?";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        own::named(place, &mut self.run.tasks)
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let shard = self.run.shard.map(shard::resolve).transpose()?;
        let node = shard.and_then(|shard| shard::node_cache(shard, self.run.models.no_cache));
        let mut lab = laboratory(place);
        if let Some(node) = &node {
            lab = lab.answers(node.clone());
        }
        let mut sweep = asked(&lab, self)?;
        sweep.shard = shard;
        sweep.spec.execution.cache &= shard.is_none() || node.is_some();
        let mut state = sweep.open_state(&place.runs, &crate::words::words())?;
        let left = sweep.left(&state).len();
        tell!(
            "sweep: {}, {left} to do, in {}",
            counted(sweep.ours().len(), "checkpoint"),
            state.path().display()
        );
        let stop = interrupt::flag()?;
        let mut progress = Progress::new(self.run.models.quiet);
        if let Some(shard) = shard {
            let watch = shard::Watch::begin(state.path(), shard, &sweep, &state, node.as_deref())?;
            let ended = sweep.go(&mut state, &mut progress, &stop);
            watch.end(&ended)?;
            ended?;
            let left = sweep.left(&state).len();
            let checkpoints = counted(left, "checkpoint");
            tell!("shard {shard}: {checkpoints} left");
            tell!("sweep:  {}", state.path().display());
            return Ok(Status::done_if(left == 0));
        }
        let stopped = sweep.go(&mut state, &mut progress, &stop);
        // Whatever happened, what is there is shown.
        let records = state.records(&sweep.members);
        let shown = carry_out::ShowOptions {
            quiet: self.run.models.quiet,
            json: self.run.json,
            report: !self.run.no_report,
        };
        let all = records.len() >= sweep.members.len();
        let faulty = show::show(&place.registry, &state, records, &shown)?;
        stopped?;
        Ok(Status::done_if(all && !faulty))
    }
}

pub fn merge(place: &Place, folder: &Path, json: bool) -> anyhow::Result<Status> {
    let mut state = State::open(folder, &serde_json::Value::Null)?;
    let new = state.join()?;
    tell!("{} joined", counted(new, "checkpoint"));
    let records = state.all();
    if !records.iter().any(|r| r.run().is_some()) {
        return missing_error(format!(
            "{}: no checkpoint has been run yet\nhint: mary jobs {} shows what its shards do",
            folder.display(),
            folder.display()
        ));
    }
    let shown = carry_out::ShowOptions {
        quiet: true,
        json,
        report: true,
    };
    let faulty = show::show(&place.registry, &state, records, &shown)?;
    let whole = super::jobs::say_missing(folder)?;
    Ok(Status::done_if(whole && !faulty))
}

//! Arguments of `submit`, `jobs` and `merge`: work that several processes share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Who runs the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// An array of Slurm, and a merge that waits for it
    Slurm,
    /// An array of HyperQueue
    Hyperqueue,
    /// An Indexed Job
    Kubernetes,
    /// Processes on this machine
    Local,
}

/// Arguments of `submit`.
///
/// Divides a run or sweep into shards and hands them to an engine: scripts are kept in the run folder,
/// and the shards are joined when they have ended. The same command again submits only what is missing
/// or failed. Example: mary submit slurm --shards 16 --time 2:00:00 -- run -m hf/gpt2 -t TASKS
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Who runs the shards
    #[arg(value_enum, default_value = "local")]
    pub engine: EngineName,
    /// How many shards [default: as many as last time, else 8]
    #[arg(short = 'n', long)]
    pub shards: Option<usize>,
    /// Shards that run at once, at most
    #[arg(long, value_name = "K")]
    pub at_once: Option<usize>,
    /// Time limit of a shard: 90 (minutes), 2:00:00, 1-12:00:00; it goes on where it was stopped
    #[arg(long, value_name = "LIMIT", help_heading = "Resources")]
    pub time: Option<String>,
    /// GPUs of a shard
    #[arg(long, default_value_t = 0, help_heading = "Resources")]
    pub gpus: usize,
    /// CPU cores of a shard
    #[arg(long, default_value_t = 1, help_heading = "Resources")]
    pub cpus: usize,
    /// Memory of a shard, as the engine writes it: 16G, 16Gi
    #[arg(long, help_heading = "Resources")]
    pub memory: Option<String>,
    /// Slurm's partition
    #[arg(long, help_heading = "Resources")]
    pub partition: Option<String>,
    /// Another option for the engine, as it is: --extra=--account=lab (repeatable)
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Resources"
    )]
    pub extra: Vec<String>,
    /// Container image (Kubernetes)
    #[arg(long, help_heading = "Resources")]
    pub image: Option<String>,
    /// Volume claim with runs, data and models, seen at /mary (Kubernetes)
    #[arg(long, help_heading = "Resources")]
    pub claim: Option<String>,
    /// Where that volume lies on this machine (Kubernetes) [default: the folder that holds the runs]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub mount: Option<PathBuf>,
    /// Print scripts, shards and estimated hours, and submit nothing
    #[arg(long, help_heading = "Planning")]
    pub dry_run: bool,
    /// Billions of operations a second that a shard reaches, for the estimate of hours
    #[arg(long, value_name = "N", help_heading = "Planning")]
    pub gflops: Option<f64>,
    /// Play through a sweep of Pythia's sizes: --simulate '1,232 checkpoints on 64 GPUs'
    #[arg(
        long,
        value_name = "TEXT",
        requires = "dry_run",
        help_heading = "Planning"
    )]
    pub simulate: Option<String>,
    /// With --simulate: failures of a device in an hour
    #[arg(long, default_value_t = 0.01, help_heading = "Planning")]
    pub failures: f64,
    /// With --simulate: gigabytes a second that the hub gives to all devices together
    #[arg(long, default_value_t = 1.25, help_heading = "Planning")]
    pub hub_rate: f64,
    /// With --simulate: how many times the work of BLiMP in full each checkpoint is asked
    #[arg(long, default_value_t = 1.0, help_heading = "Planning")]
    pub batteries: f64,
    /// With --simulate: seed of the failures
    #[arg(long, default_value_t = 0, help_heading = "Planning")]
    pub seed: u64,
    /// Print what was or would be submitted as JSON
    #[arg(long)]
    pub json: bool,
    /// The command to be shared: run … or sweep …
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "simulate"
    )]
    pub command: Vec<String>,
}

/// Arguments of `jobs`.
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// Run or sweep folder, or the beginning of its name [default: the newest with shards]
    pub run: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// A run or sweep folder whose shards are joined, or run folders to join into a new one
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Folder in which run folders are joined to a new one
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

impl SubmitArgs {
    /// The command that the user typed behind `--`.
    pub fn typed_command(&self) -> Result<super::Cli, crate::exit::UsageError> {
        let words = std::iter::once("mary").chain(self.command.iter().map(String::as_str));
        let words = super::spelling::normalise(words.map(std::ffi::OsString::from));
        <super::Cli as clap::Parser>::try_parse_from(words)
            .map_err(|e| crate::exit::UsageError::new(e.to_string()))
    }
}

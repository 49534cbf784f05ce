//! The program's own options, and groups of options that several commands share.

pub mod choices;
pub mod defaults;
pub mod family;
pub mod help;
pub mod spelling;

use std::path::PathBuf;

use choices::{Choices, one_of};
use clap::{Args, Parser};
use mary_contract::{Limit, TuningForm};

/// Does a language model understand what it says?
///
/// `mary run` without anything else tests the small built-in model on a starter selection: no
/// network, no keys, under a minute. `mary guide` finds the commands for what you want to do.
#[derive(Debug, Parser)]
#[command(
    name = "mary",
    version,
    long_version = crate::version::long(),
    propagate_version = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Where things are kept; also what `mary.toml` says of it.
#[derive(Debug, Default, Args, serde::Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Places")]
pub struct PlaceArgs {
    /// Folder for run folders [default: runs, or `output_path` in mary.toml]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "MARY_RUNS",
        visible_alias = "log-dir"
    )]
    pub output_path: Option<PathBuf>,
    /// Folder with upstream datasets in their own layout, looked into before the cache
    #[arg(long, global = true, value_name = "DIR", env = "MARY_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Folder for answers, datasets and models kept between runs
    #[arg(long, global = true, value_name = "DIR", env = "MARY_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Options of this name in mary.toml, as if they had been typed before the others
    #[arg(long, global = true, value_name = "NAME")]
    #[serde(skip)]
    pub profile: Option<String>,
}

/// Which models, and how they are opened and asked.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Models and checkpoints, for example builtin/nano@step512, hf/EleutherAI/pythia-70m@step1000,
    /// gguf/model.gguf, openai/gpt-4o; small=gguf/model.gguf is called `small` everywhere
    /// (comma-separated or repeated) [default: builtin/nano]
    #[arg(short, long, value_delimiter = ',', env = "MARY_MODEL")]
    pub model: Vec<String>,
    /// Device of local models: cpu, or cuda:N in builds with CUDA; cuda:0,cuda:1 opens a copy on each,
    /// cuda:0+cuda:1 divides the model's layers
    #[arg(long, default_value = "cpu", help_heading = "Models")]
    pub device: String,
    /// Precision of local models: f32, bf16, f16, or 16 for whichever of these two is safe
    #[arg(long, help_heading = "Models")]
    pub dtype: Option<String>,
    /// CPU threads of local models [default: all]
    #[arg(long, help_heading = "Models")]
    pub threads: Option<usize>,
    /// Requests in flight at once, at most (remote models)
    #[arg(long, help_heading = "Models", value_parser = at_least_one)]
    pub max_connections: Option<usize>,
    /// Where an OpenAI-compatible server listens; several addresses of one model, separated by commas,
    /// share the work
    #[arg(long, visible_alias = "model-base-url", help_heading = "Models")]
    pub base_url: Option<String>,
    /// Setting of the model's backend (comma-separated or repeated); never a key
    #[arg(
        long,
        visible_alias = "model-args",
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        help_heading = "Models"
    )]
    pub model_arg: Vec<String>,
    /// Dollars after which nothing more is sent, over the whole run; the same command goes on
    #[arg(long, help_heading = "Models")]
    pub budget: Option<f64>,
    /// Neither use nor fill the cache of answers
    #[arg(long, help_heading = "Output")]
    pub no_cache: bool,
    /// No progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) | Err(_) => Err("expected a whole number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}

pub const TUNING_FORMS: Choices<TuningForm> = &[
    ("chat", TuningForm::Chat),
    ("instruction", TuningForm::Instruction),
];

#[derive(Debug, Clone, Args)]
pub struct TrainingSetArgs {
    /// Setting of a training set that is named, for example source=published (repeatable)
    #[arg(long = "data-set", value_name = "NAME=VALUE")]
    pub data_set: Vec<String>,
    /// Form of a training set that is named [default: chat]
    #[arg(long = "data-form", value_parser = one_of("cli.tuning-forms", TUNING_FORMS))]
    pub data_form: Option<TuningForm>,
}

#[derive(Debug, Clone, Args)]
pub struct TestingArgs {
    /// Items of each task tested
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// Shots in the prompts of the tests
    #[arg(short = 'k', long, value_name = "K")]
    pub shots: Option<usize>,
    /// Task setting of the tests, for example mode=generate (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Wrap the prompts of the tests in the model's chat template
    #[arg(long, alias = "chat")]
    pub apply_chat_template: bool,
    /// Also write the tables as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// A low-rank adapter and how it is trained.
#[derive(Debug, Clone, Args)]
pub struct LoraArgs {
    /// Settings as a family's paper prints them (its id); what is given besides counts more
    #[arg(long, value_name = "FAMILY")]
    pub recipe: Option<String>,
    /// Learn from so many examples of the set, chosen by the seed [default: all]
    #[arg(long, value_name = "N")]
    pub examples: Option<usize>,
    /// Rank of the adapter [default: 8]
    #[arg(long)]
    pub rank: Option<usize>,
    /// Scale of the adapter [default: 16]
    #[arg(long)]
    pub alpha: Option<f32>,
    /// Dropout on the adapter's input [default: 0.05]
    #[arg(long)]
    pub dropout: Option<f32>,
    /// Learning rate [default: 2e-4]
    #[arg(long)]
    pub lr: Option<f64>,
    /// Weight decay of the optimiser [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub weight_decay: Option<f64>,
    /// Steps over which the learning rate rises, at most half of all [default: 10]
    #[arg(long, value_name = "STEPS")]
    pub warm_up: Option<u64>,
    /// How the learning rate falls: cosine, linear, constant [default: cosine]
    #[arg(long)]
    pub schedule: Option<String>,
    /// Passes over the data [default: 3]
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Examples in one step [default: 8]
    #[arg(long)]
    pub batch_size: Option<usize>,
    /// Longest example in tokens [default: 512]
    #[arg(long, value_name = "TOKENS")]
    pub longest: Option<usize>,
    /// Learn from plain text, although the model has a chat template
    #[arg(long)]
    pub plain_text: bool,
    /// Share of the examples kept back, scored before and after [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    pub held_out: Option<f64>,
    /// Also score what is kept back every so many steps
    #[arg(long, value_name = "STEPS")]
    pub evaluate_every: Option<u64>,
    /// Stop after so many evaluations without a lower loss, and keep the adapter that had it
    #[arg(long, value_name = "N", requires = "evaluate_every")]
    pub patience: Option<usize>,
    /// Matrices adapted, by the last part of their names [default: query and value]
    #[arg(long, value_delimiter = ',')]
    pub target: Vec<String>,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Where it is tuned and tested: cpu, or cuda:N in builds with CUDA
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// Numbers in products on a GPU, while learning and in tests: bfloat16 or float32 [default: bfloat16 unless
    /// stored in 32 bits; tests as `mary run` does]
    #[arg(long)]
    pub dtype: Option<String>,
    /// CPU threads [default: all]
    #[arg(long)]
    pub threads: Option<usize>,
}

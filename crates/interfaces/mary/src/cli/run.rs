//! Arguments of `run`, `grow` and `tune`: the long lists.

use std::path::PathBuf;

use clap::Args;
use mary_contract::Limit;

use super::TuningForm;

/// Arguments of `run`.
///
/// Without a model and tasks, the built-in model runs a starter selection.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Models, for example builtin/nano, hf/EleutherAI/pythia-70m@step1000, gguf/model.gguf,
    /// openai/gpt-4o; small=gguf/model.gguf is called `small` everywhere (comma-separated or repeated)
    /// [default: builtin/nano]
    #[arg(short, long, value_delimiter = ',', env = "MARY_MODEL")]
    pub model: Vec<String>,
    /// Tasks by id, family, wildcard or file, for example '*/spelled-*', ./mytask.toml; `mary tasks`
    /// lists them [default: a starter selection of every family]
    #[arg(short, long, visible_alias = "task", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Shots in the prompt, where a task has them
    #[arg(short = 'k', long, visible_alias = "num-fewshot", value_name = "K")]
    pub shots: Option<usize>,
    /// Items of each task: a count (100) or a share (0.1), stratified, the same for every model
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// Times every item is asked
    #[arg(long, visible_aliases = ["epochs", "repeats"], default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub trials: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting, for example mode=generate or source=published (repeatable; `mary tasks show`
    /// lists them)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Wrap prompts in the model's chat template
    #[arg(long, alias = "chat")]
    pub apply_chat_template: bool,
    /// A second model that reads answers, where a task wants one; `self` for the model itself
    #[arg(long)]
    pub judge: Option<String>,

    /// Device of local models: cpu, or cuda:N in builds with CUDA; several (cuda:0,cuda:1) share the
    /// work
    #[arg(long, default_value = "cpu", help_heading = "Models")]
    pub device: String,
    /// Precision of local models: f32, bf16, f16, or 16 for whichever of these two is safe
    #[arg(long, help_heading = "Models")]
    pub dtype: Option<String>,
    /// CPU threads of local models [default: all]
    #[arg(long, help_heading = "Models")]
    pub threads: Option<usize>,
    /// Sequences in one batch: a number or `auto`
    #[arg(long, default_value = "auto", help_heading = "Models")]
    pub batch_size: String,
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
    /// LoRA adapter folder, put on top of a local model
    #[arg(long, value_name = "DIR", help_heading = "Models")]
    pub adapter: Option<PathBuf>,
    /// Dollars after which nothing more is sent, over the whole run; it can be continued
    #[arg(long, help_heading = "Models")]
    pub budget: Option<f64>,
    /// Send everything through the provider's batch API (openai, anthropic): submit, leave, come
    /// back with `mary resume`
    #[arg(long, help_heading = "Models")]
    pub batch: bool,

    /// Refuse the run where a task of a family, a wildcard or `all` cannot run here, instead of leaving
    /// it out
    #[arg(long)]
    pub strict: bool,

    /// Do one of several parts of the work: 3/16 is the fourth of sixteen. /16 takes the number from
    /// Slurm, HyperQueue or Kubernetes; without a value, both come from Slurm's array. `mary merge`
    /// joins the parts, `mary submit` does it all
    #[arg(
        long,
        value_name = "I/N",
        num_args = 0..=1,
        default_missing_value = "auto",
        help_heading = "Output"
    )]
    pub shard: Option<mary_lab::ShardChoice>,
    /// Say what would be asked and what it would cost, and ask nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Neither use nor fill the cache of answers
    #[arg(long, help_heading = "Output")]
    pub no_cache: bool,
    /// Make no HTML report
    #[arg(long, help_heading = "Output")]
    pub no_report: bool,
    /// Print results as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Accepted for users of lm-evaluation-harness: samples are always logged
    #[arg(long, hide = true)]
    pub log_samples: bool,
}

/// Arguments of `grow`.
#[derive(Debug, Args)]
pub struct GrowArgs {
    /// Folder for the checkpoints
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Text files to learn from [default: our own generated corpus]
    #[arg(long, value_name = "FILE")]
    pub text: Vec<PathBuf>,
    /// Grow a model that sees: a vision tower, a projector and a language model, learned together from
    /// generated pictures with questions about them
    #[arg(long, conflicts_with = "text")]
    pub eyes: bool,
    /// Size: pico, nano, micro
    #[arg(long, default_value = "nano")]
    pub size: String,
    /// Training steps [default: 8000; with --eyes 3000]
    #[arg(long)]
    pub steps: Option<u64>,
    /// Seed of weights, data and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where it is computed: cpu, or cuda:N in builds with CUDA
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// CPU threads [default: all]; they change the speed and nothing else
    #[arg(long)]
    pub threads: Option<usize>,
    /// Look at every checkpoint: `held-out` scores items kept back from the generated corpus; a family
    /// that follows development asks its quick tasks and keeps the developmental plot up to date
    #[arg(long, num_args = 0..=1, default_missing_value = "held-out", value_name = "WHAT")]
    pub probe: Option<String>,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// Local model to tune: a folder, or hf/…, gguf/…, builtin/nano
    #[arg(short, long)]
    pub model: String,
    /// What to learn from: a file of chat, ShareGPT or Alpaca records, one a line or one list, or the name
    /// of a set that `mary data tuning` writes
    #[arg(long, value_name = "FILE|SET")]
    pub data: PathBuf,
    #[command(flatten)]
    pub set: TrainingSetArgs,
    /// Folder for the adapter
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub lora: LoraArgs,
    /// Also write the merged model into this folder
    #[arg(long, value_name = "DIR")]
    pub merge: Option<PathBuf>,
    /// Ask these tasks before and after, and compare item by item (repeatable)
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Write over an adapter or merged model that was made from something else
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub testing: TestingArgs,
}

/// A training set that a family writes.
#[derive(Debug, Clone, Args)]
pub struct TrainingSetArgs {
    /// Setting of a training set that is named, for example source=published (repeatable)
    #[arg(long = "data-set", value_name = "NAME=VALUE")]
    pub data_set: Vec<String>,
    /// Form of a training set that is named [default: chat]
    #[arg(long = "data-form", value_enum)]
    pub data_form: Option<TuningForm>,
}

/// How tuned models are tested.
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
    /// Numbers in products on a GPU: bfloat16 or float32 [default: bfloat16 unless stored in 32 bits]
    #[arg(long)]
    pub dtype: Option<String>,
    /// CPU threads [default: all]
    #[arg(long)]
    pub threads: Option<usize>,
}

/// A number of things of which there must be one.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) | Err(_) => Err("expected a whole number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}

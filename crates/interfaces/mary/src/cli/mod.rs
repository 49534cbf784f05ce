//! What can be typed. One struct per command; long help says what a newcomer needs.

pub mod cluster;
pub mod defaults;
pub mod family;
pub mod instruments;
pub mod run;
pub mod spelling;
pub mod study;
pub mod sweep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Does a language model understand what it says?
///
/// `mary run` without anything else tests the small built-in model on a starter selection: no
/// network, no keys, under a minute. `mary tasks` and `mary models` list what there is.
#[derive(Debug, Parser)]
#[command(name = "mary", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Where things are kept.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Folder for run folders [default: runs, or `output_path` in mary.toml]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "MARY_RUNS",
        visible_alias = "log-dir",
        help_heading = "Places"
    )]
    pub output_path: Option<PathBuf>,
    /// Folder with upstream datasets in their own layout, looked into before the cache
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "MARY_DATA_DIR",
        help_heading = "Places"
    )]
    pub data_dir: Option<PathBuf>,
    /// Folder for answers, datasets and models kept between runs
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "MARY_CACHE_DIR",
        help_heading = "Places"
    )]
    pub cache_dir: Option<PathBuf>,
    /// Options of this name in mary.toml, as if they had been typed before the others
    #[arg(long, global = true, value_name = "NAME", help_heading = "Places")]
    pub profile: Option<String>,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Test models on tasks; the same command continues an interrupted run
    #[command(visible_alias = "eval")]
    Run(Box<run::RunArgs>),
    /// Continue a run from its folder
    #[command(visible_alias = "retry")]
    Resume(ResumeArgs),
    /// Test every checkpoint of a model, find faulty ones, and show when each ability grows
    Sweep(Box<sweep::SweepArgs>),
    /// How probable your own texts are: tables per token, word and text, minimal pairs
    Score(Box<instruments::ScoreArgs>),
    /// What models think while they read your own texts: vectors of any layer, similarities
    Observe(Box<instruments::ObserveArgs>),
    /// Ask models a question of your own, and see the answer as it is written
    Ask(Box<instruments::AskArgs>),
    /// Judge a stored run again, with other settings and without the model
    Rescore(RescoreArgs),
    /// Make the HTML report of one or more runs
    Report(ReportArgs),
    /// Browse samples in a local web page
    View(ViewArgs),
    /// List the runs there are; show, rename or remove one
    Runs(RunsArgs),
    /// Compare models or runs item by item, with corrected significance
    Compare(CompareArgs),
    /// Whether length, frequency or age of words explains the errors of stored runs
    Confounds(ConfoundsArgs),
    /// What tuning on one task did to the others: a family's table of training by test task
    Matrix(MatrixArgs),
    /// Write a run in another tool's format
    Export(ExportArgs),
    /// Read results made by another tool into a run folder
    Import(ImportArgs),
    /// Join the shards of a run or sweep, or run folders made on several machines
    Merge(cluster::MergeArgs),
    /// Divide a run or sweep into shards and hand them to Slurm, HyperQueue or Kubernetes
    Submit(Box<cluster::SubmitArgs>),
    /// Shards of a run: how far each is, what it waits for, rates and failures
    Jobs(cluster::JobsArgs),
    /// List tasks, show one, or write, check and import one of your own
    Tasks(TasksArgs),
    /// Write the items of a task for other tools
    Items(ItemsArgs),
    /// List model providers and known models, show one, or fetch one
    Models(ModelsArgs),
    /// List, fetch, verify or audit datasets
    Data(DataArgs),
    /// Look into or clean the cache of answers
    Cache(CacheArgs),
    /// Grow a small model from scratch, keeping its checkpoints
    Grow(GrowArgs),
    /// Fine-tune a local model with LoRA
    Tune(TuneArgs),
    /// Write a mary.toml with places, defaults of commands and a profile to begin with
    Init,
    /// Ask people the same items, in a browser or on paper, and judge them as models are judged
    Study(study::StudyArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Task file of a run on a task of one's own, where it is not where it was (repeatable)
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
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rescore`.
#[derive(Debug, Args)]
pub struct RescoreArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Task file of a run on a task of one's own, where it is not where it was (repeatable)
    #[arg(
        short,
        long,
        visible_alias = "task",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub tasks: Vec<String>,
    /// Task setting that changes the judging, for example scoring=mean (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run folders or names [default: the newest]
    pub runs: Vec<String>,
    /// File to write [default: report.html in the (first) run folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Samples carried by the page, at most; the rest is counted
    #[arg(long, default_value_t = 3000)]
    pub samples: usize,
    /// Also write every table as CSV, Markdown and LaTeX, and every figure's data, into this folder
    #[arg(long, value_name = "DIR")]
    pub tables: Option<PathBuf>,
}

/// Arguments of `view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Run folders or names [default: all below the output path]
    pub runs: Vec<String>,
    /// Port on this machine
    #[arg(long, default_value_t = 7575)]
    pub port: u16,
    /// Open it in a browser
    #[arg(long)]
    pub open: bool,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub action: Option<RunsAction>,
    /// Only runs in whose name, models, tasks, settings, date or state all these words occur
    #[arg(value_name = "WORD")]
    pub filter: Vec<String>,
    /// Print as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// What can be done with runs.
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// The table of a run, the command that made it, and where it is
    Show {
        /// Run folder, or the beginning of a run's name [default: the newest]
        run: Option<String>,
    },
    /// Give a run's folder another name
    Rename {
        /// Run folder, or the beginning of a run's name
        run: String,
        /// Its new name
        name: String,
    },
    /// Delete runs with all their answers
    Remove {
        /// Run folders, or beginnings of runs' names
        #[arg(required = true)]
        runs: Vec<String>,
        /// Do it; without this they are only listed
        #[arg(long)]
        yes: bool,
    },
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run folders or names; all their models are compared with each other, pair by pair
    #[arg(required = true)]
    pub runs: Vec<String>,
    /// Compare only these tasks: ids, families or wildcards, for example '*/spelled-*' (comma-separated or
    /// repeated)
    #[arg(short, long, visible_alias = "task", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Compare every other model with the first alone, not all pairs
    #[arg(long, conflicts_with = "pair")]
    pub with_first: bool,
    /// A setting that may differ between the two sides: shots, mode, seed … (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "pair")]
    pub across: Vec<String>,
    /// Compare a model with the one it was built on, by subtask (repeatable; several are pooled)
    #[arg(long, value_name = "BUILT=BASE")]
    pub pair: Vec<String>,
    /// With --pair: the tag by which items are broken down
    #[arg(long, value_name = "TAG", default_value = "subtask")]
    pub by: String,
    /// With --pair: a measure instead of the score, for example exact
    #[arg(long, value_name = "NAME")]
    pub measure: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `confounds`.
#[derive(Debug, Args)]
pub struct ConfoundsArgs {
    /// Run folders or names [default: the newest]
    pub runs: Vec<String>,
    /// Print the tables as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `matrix`.
#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// Run folders or names that hold the untuned and the tuned models
    #[arg(required_unless_present = "tune")]
    pub runs: Vec<String>,
    /// The untuned model, as it was run
    #[arg(long, required_unless_present = "tune")]
    pub original: Option<String>,
    /// A tuned model, as it was run, with the task it was tuned on (repeatable)
    #[arg(long, value_name = "TASK=MODEL")]
    pub tuned: Vec<String>,
    /// Do it all: tune this local model (a folder, hf/…, gguf/…, builtin/nano) on each task, test
    /// every model on every task
    #[arg(long, value_name = "MODEL", requires = "out", conflicts_with_all = ["runs", "original", "tuned"])]
    pub tune: Option<String>,
    /// Tasks to tune and test on [default: all of the table]
    #[arg(short, long, value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Folder for training sets, adapters and tuned models; what is finished there is not done again
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub set: run::TrainingSetArgs,
    #[command(flatten)]
    pub lora: run::LoraArgs,
    #[command(flatten)]
    pub testing: run::TestingArgs,
}

/// Formats of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Inspect's JSON log
    Inspect,
    /// Inspect's .eval archive
    Eval,
    /// lm-evaluation-harness results and samples
    LmEval,
    /// One row per sample, for R, pandas and spreadsheets
    Csv,
    /// The same rows with types, compressed, for pandas, polars, DuckDB and Arrow
    Parquet,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Format
    #[arg(long, visible_alias = "format", value_enum)]
    pub to: ExportFormat,
    /// Folder to write into [default: export/ in the run folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// lm-evaluation-harness samples (.jsonl), an Inspect log (.json, .eval), or what the authors of a
    /// paper released, where its family reads it: outputs (.tar.gz or folder), people's answers
    /// (folder), stored cosines (.csv)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The model, where the file does not name it
    #[arg(long)]
    pub model: Option<String>,
    /// The task, where the file name does not hold it
    #[arg(long)]
    pub task: Option<String>,
    /// Which metric or scorer is the score [default: the first of the file]
    #[arg(long)]
    pub score: Option<String>,
}

/// Arguments of `tasks`.
#[derive(Debug, Args)]
pub struct TasksArgs {
    #[command(subcommand)]
    pub action: Option<TasksAction>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TasksAction {
    /// What a task measures, its settings, and a sample item
    Show {
        /// Task id, or a task file
        task: String,
        /// How many sample items
        #[arg(long, default_value_t = 1)]
        items: usize,
        /// Seed of the items
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Task setting (repeatable)
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Number of shots
        #[arg(long, alias = "num-fewshot")]
        shots: Option<usize>,
    },
    /// Write a task file of your own with some data beside it, to begin with
    New {
        /// File to write, mytask.toml for example; its data is mytask.jsonl
        file: PathBuf,
        /// What is asked and how it is judged
        #[arg(long, value_enum, default_value_t = TaskKind::Choice)]
        kind: TaskKind,
    },
    /// Read task files of lm-evaluation-harness: what they ask, which data they need, and why some are
    /// refused
    Import {
        /// Task file, group file, or a folder of them
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Write each task that is read as one file, includes resolved, into this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Make every item of a task file, show three, and look for mistakes and shortcuts
    Check {
        /// Task file, or task id
        #[arg(value_name = "FILE")]
        task: String,
        /// How many items are shown
        #[arg(long, default_value_t = 3)]
        items: usize,
        /// Seed of shots and of the audit
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Task setting (repeatable)
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Number of shots
        #[arg(long, alias = "num-fewshot")]
        shots: Option<usize>,
    },
}

/// Arguments of `items`.
#[derive(Debug, Args)]
pub struct ItemsArgs {
    /// Task id, or a task file
    pub task: String,
    /// Format
    #[arg(long, visible_alias = "format", value_enum, default_value_t = ItemsFormat::Jsonl)]
    pub to: ItemsFormat,
    /// Seed of the items
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// At most this many
    #[arg(long)]
    pub limit: Option<usize>,
    /// Number of shots
    #[arg(long, alias = "num-fewshot")]
    pub shots: Option<usize>,
    /// Task setting (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Ask as a chat
    #[arg(long)]
    pub chat: bool,
    /// File to write [default: the task's name, in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write what is right into a file of its own (JSONL) and leave it out of the items
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

/// How items are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ItemsFormat {
    /// One object a line
    Jsonl,
    /// Fields with commas
    Csv,
    /// Typed columns
    Parquet,
    /// A task file of lm-evaluation-harness with its data
    LmEval,
    /// A dataset of Inspect
    Inspect,
}

/// What a new task file asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TaskKind {
    /// Which of two texts is the more probable
    Pairs,
    /// Which of several options is the most probable
    Choice,
    /// Answers in words
    Answer,
    /// Answers that are a number
    Number,
    /// Answers that another model reads by a rubric
    Judge,
    /// Vectors of two texts against a number
    Vectors,
}

/// Arguments of `models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// What a model is and can do, without loading it
    Show {
        /// Model string
        model: String,
        /// Where an OpenAI-compatible server listens
        #[arg(long)]
        base_url: Option<String>,
    },
    /// Every model named in the four papers: whether it can be measured, how far, and why not
    Papers,
    /// Fetch a model of the catalogue
    Pull {
        /// Its name in the catalogue
        name: String,
    },
}

/// Arguments of `data`.
#[derive(Debug, Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub action: DataAction,
}

/// What can be done with datasets.
#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// What there is, where it lives, and what is on this machine
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch datasets with verification
    Pull {
        /// Dataset ids, or `all`
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Hold files on this machine against their known hashes
    Verify {
        /// Dataset ids [default: all that are here]
        ids: Vec<String>,
    },
    /// Look for shortcuts: what baselines and a random forest reach without understanding the question
    ///
    /// Exit code 0: none of the baselines tried beats chance but for the rule itself; 1: one does.
    Audit(AuditArgs),
    /// Write a fine-tuning set whose items share nothing with a task's test items
    Tuning {
        /// Task id, or the name of a set (a name that is none lists them)
        task: String,
        /// Form of the file
        #[arg(long, value_enum, default_value_t = TuningForm::Chat)]
        form: TuningForm,
        /// How much, where the set can be of any size: grid pairs, instances of each concept
        #[arg(short)]
        n: Option<usize>,
        /// Task setting, where the set takes some: source=published, split=test (repeatable)
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// File to write
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Arguments of `data audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Task ids, families or wildcards
    #[arg(required = true, value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Seed of items and of the cross-validation
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting, for example source=published (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: CacheAction,
}

/// What can be done with the cache of answers.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// How much is kept, by model
    Stats {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget answers
    Prune {
        /// Older than this many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u64>,
        /// Of this model
        #[arg(long)]
        model: Option<String>,
        /// Down to this many megabytes, oldest first
        #[arg(long, value_name = "MB")]
        to_size: Option<u64>,
        /// Everything
        #[arg(long)]
        all: bool,
    },
}

/// Forms of a fine-tuning set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TuningForm {
    /// One conversation a line
    Chat,
    /// One list of instruction, input and output
    Instruction,
}

impl From<TuningForm> for mary_contract::TuningForm {
    fn from(form: TuningForm) -> Self {
        match form {
            TuningForm::Chat => Self::Chat,
            TuningForm::Instruction => Self::Instruction,
        }
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    pub shell: clap_complete::Shell,
}

pub use run::{GrowArgs, TuneArgs};

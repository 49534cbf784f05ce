//! Arguments of the instruments on plain files: `score`, `observe` and `ask`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mary_contract::{Limit, Start, StartError};

/// Which models, and how they are opened and asked.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Models and checkpoints, for example builtin/nano@step512, hf/EleutherAI/pythia-70m@step1000,
    /// gguf/model.gguf (comma-separated or repeated) [default: builtin/nano]
    #[arg(short, long, value_delimiter = ',', env = "MARY_MODEL")]
    pub model: Vec<String>,
    /// Device of local models: cpu, or cuda:N in builds with CUDA
    #[arg(long, default_value = "cpu", help_heading = "Models")]
    pub device: String,
    /// Precision of local models: f32, bf16, f16, or 16 for whichever of these two is safe
    #[arg(long, help_heading = "Models")]
    pub dtype: Option<String>,
    /// CPU threads of local models [default: all]
    #[arg(long, help_heading = "Models")]
    pub threads: Option<usize>,
    /// Requests in flight at once, at most (remote models)
    #[arg(long, help_heading = "Models")]
    pub max_connections: Option<usize>,
    /// Where an OpenAI-compatible server listens
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
    /// Dollars after which nothing more is sent; the same command goes on
    #[arg(long, help_heading = "Models")]
    pub budget: Option<f64>,
    /// Neither use nor fill the cache of answers
    #[arg(long, help_heading = "Output")]
    pub no_cache: bool,
    /// No progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// What a row of a printed table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowOf {
    /// A text
    Text,
    /// A minimal pair
    Pair,
    /// A word
    Word,
    /// A region of interest
    Region,
    /// A token
    Token,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableForm {
    /// Comma-separated
    Csv,
    /// Tab-separated
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// Typed columns, compressed; into a file
    Parquet,
}

/// What stands before the first token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartArg {
    /// By one convention.
    One(Start),
    /// By several, side by side.
    Compare,
}

impl std::str::FromStr for StartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "compare" => Ok(Self::Compare),
            one => one.parse().map(Self::One).map_err(|error: StartError| {
                let known = error.to_string();
                known.replacen(Start::VALUES, &format!("compare, {}", Start::VALUES), 1)
            }),
        }
    }
}

/// Arguments of `score`.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Texts: lines (.txt), or rows of .csv, .tsv, .jsonl or .parquet; `-` reads lines from standard
    /// input
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Column of the texts
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "text",
        conflicts_with = "pair"
    )]
    pub text: String,
    /// Minimal pairs: columns of the acceptable and of the other text
    #[arg(long, value_name = "GOOD,BAD", value_delimiter = ',', num_args = 1)]
    pub pair: Vec<String>,
    /// Column of what stands before each text
    #[arg(long, value_name = "COLUMN")]
    pub context: Option<String>,
    /// What stands between context and text
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub separator: String,
    /// Column of ids [default: `id` where there is one, else the line]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Columns carried into the tables: conditions, items … (comma-separated or repeated)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Column with the words of a region of interest
    #[arg(long, value_name = "COLUMN", conflicts_with = "marks")]
    pub region: Option<String>,
    /// Regions of interest are marked in the texts, with these two marks
    #[arg(long, value_name = "OPEN CLOSE", num_args = 0..=1, default_missing_value = "[[ ]]")]
    pub marks: Option<String>,
    /// What stands before the first token of a text: auto (the tokenizer's own start token, or else end of
    /// text), harness (as lm-evaluation-harness does it), model (what the tokenizer puts there), none, a
    /// token such as '<|endoftext|>', or compare (auto, harness and none side by side) [default: auto]
    #[arg(long, value_name = "CONVENTION")]
    pub start: Option<StartArg>,
    /// Also the entropy of each next-token distribution, in bits
    #[arg(long)]
    pub entropy: bool,
    /// Also each token's rank
    #[arg(long)]
    pub rank: bool,
    /// Words by the plain rule alone
    #[arg(long)]
    pub no_correction: bool,
    /// Items: a count (100) or a share (0.1)
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// What a row of the printed table is [default: pair for pairs, else text]
    #[arg(long, value_enum, help_heading = "Output")]
    pub by: Option<RowOf>,
    /// How tables are written [default: by the file's ending, else csv]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<TableForm>,
    /// A file for one table, or a folder for all of them [default: standard output]
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Say what would be asked and what it would cost, and ask nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
}

/// Which tokens of a text are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoolArg {
    /// All of them
    Mean,
    /// The last
    Last,
    /// The first position, special or not ([CLS])
    First,
    /// Those of the region of interest
    Region,
    /// None: the vector in the space that texts and pictures share (CLIP, SigLIP)
    Joint,
}

/// Arguments of `observe`.
#[derive(Debug, Args)]
pub struct ObserveArgs {
    /// Texts: lines (.txt), or rows of .csv, .tsv, .jsonl or .parquet; `-` reads lines from standard
    /// input
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Column of the texts
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "text",
        conflicts_with = "pair"
    )]
    pub text: String,
    /// Two columns whose vectors are compared: cosines are printed
    #[arg(long, value_name = "LEFT,RIGHT", value_delimiter = ',', num_args = 1)]
    pub pair: Vec<String>,
    /// Columns that hold pictures: paths beside the file, base64 or `data:` addresses
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub pictures: Vec<String>,
    /// Column of ids [default: `id` where there is one, else the line]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Columns carried into the table of similarities (comma-separated or repeated)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Column with the words of the region of interest
    #[arg(long, value_name = "COLUMN", conflicts_with = "marks")]
    pub region: Option<String>,
    /// The region of interest is marked in the texts, with these two marks
    #[arg(long, value_name = "OPEN CLOSE", num_args = 0..=1, default_missing_value = "[[ ]]")]
    pub marks: Option<String>,
    /// Layers: last, all, or numbers (0 is the embedding, -1 the last), for example 0,6,-1
    #[arg(long, default_value = "last", allow_hyphen_values = true)]
    pub layers: String,
    /// What is averaged (comma-separated or repeated)
    #[arg(long, value_enum, value_delimiter = ',', default_value = "mean")]
    pub pool: Vec<PoolArg>,
    /// Items: a count (100) or a share (0.1)
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// File for the vectors: .npy, .safetensors or .parquet; with --pair also .csv, .tsv or .jsonl for
    /// the cosines [default: cosines of pairs on standard output]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Say what would be asked and what it would cost, and ask nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
}

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question; `-`, or nothing at all, reads it from standard input
    pub question: Option<String>,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Read the question from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "question")]
    pub file: Option<PathBuf>,
    /// A system message
    #[arg(long)]
    pub system: Option<String>,
    /// A picture to be shown before the words (repeatable)
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Answers asked for
    #[arg(short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub n: u32,
    /// Continue the question as plain text, without the model's chat template
    #[arg(long)]
    pub raw: bool,
    /// 0 takes the likeliest token [default: 0 for one answer, 1 for several]
    #[arg(long, value_parser = warmth)]
    pub temperature: Option<f64>,
    /// Tokens of an answer, at most
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: u32,
    /// The answer ends before this text (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// One JSON object for each answer
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// A temperature: none below 0, and a number.
fn warmth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number from 0 on".to_owned()),
    }
}

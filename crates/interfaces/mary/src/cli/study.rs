//! Arguments of `mary study`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub action: StudyAction,
}

/// What can be done with a study.
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// Draw items and write a study's folder
    New(Box<NewStudyArgs>),
    /// How many people and items an interval of a given width needs
    Power(PowerArgs),
    /// Serve a study's pages
    Serve(ServeStudyArgs),
    /// How a study stands
    Status(StudyPathArgs),
    /// End a study and write its answers as a run folder
    Close(CloseArgs),
    /// Scores, agreement, learning and times, of a study or of a run whose trials are people
    Results(ResultsArgs),
    /// Write a study's answers as jsPsych rows (CSV, JSON) and as a Psych-DS dataset
    Export(ExportStudyArgs),
    /// Delete a person with everything they answered
    Withdraw(WithdrawArgs),
    /// Let simulated people take part, by data or through the real page
    Simulate(SimulateArgs),
    /// Make sheets to print, with the key apart
    Print(PrintArgs),
    /// Take marks on paper back, or judgements of descriptions
    Read(ReadArgs),
}

/// A folder.
#[derive(Debug, Args)]
pub struct StudyPathArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `study close`.
#[derive(Debug, Args)]
pub struct CloseArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Close at once, even while people are taking part; whoever has begun gets the completion code
    #[arg(long)]
    pub yes: bool,
    /// Let nobody new in, and let whoever is taking part finish; close it afterwards
    #[arg(long, conflicts_with = "yes")]
    pub let_finish: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `study new`.
#[derive(Debug, Args)]
pub struct NewStudyArgs {
    /// Tasks: ids, wildcards or task files (repeatable)
    #[arg(
        short,
        long,
        visible_alias = "task",
        value_delimiter = ',',
        required_unless_present = "judge"
    )]
    pub tasks: Vec<String>,
    /// Judge what the models of a stored run wrote, instead of answering items; -t then names the task
    #[arg(long, value_name = "RUN", conflicts_with_all = ["shots", "none_fits", "set"])]
    pub judge: Option<String>,
    /// With --judge: which form of the task's family is asked, for example recall [default: its first]
    #[arg(long, value_name = "NAME", requires = "judge")]
    pub form: Option<String>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// People wanted
    #[arg(long, default_value_t = 30)]
    pub people: usize,
    /// Items that each person answers [default: 40, or all where there are fewer]
    #[arg(long)]
    pub per_person: Option<usize>,
    /// Items in all, drawn by the seed [default: as many as each person answers]
    #[arg(long)]
    pub items: Option<usize>,
    /// How items are given to people
    #[arg(long, value_enum, default_value_t = ListsArg::Latin)]
    pub lists: ListsArg,
    /// Seed of items, lists and orders
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Labelled examples, for tasks that show some
    #[arg(long, alias = "num-fewshot")]
    pub shots: Option<usize>,
    /// People may say that none of the options fits
    #[arg(long)]
    pub none_fits: bool,
    /// Name of the study: letters, digits and hyphens [default: the folder's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Language of the pages
    #[arg(long, value_enum, default_value_t = LanguageArg::En)]
    pub language: LanguageArg,
    /// Where people come from
    #[arg(long, value_enum, default_value_t = PlatformArg::None)]
    pub platform: PlatformArg,
}

/// How items are given to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListsArg {
    /// Every item in every place equally often
    Latin,
    /// The same items, in an order of each person's own
    Balanced,
}

/// Language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LanguageArg {
    /// English
    En,
    /// Chinese
    Zh,
}

/// Where people come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlatformArg {
    /// A plain link
    None,
    /// Prolific
    Prolific,
    /// Mechanical Turk
    Mturk,
}

/// Arguments of `study power`.
#[derive(Debug, Args)]
pub struct PowerArgs {
    /// Accuracy that is expected
    #[arg(long, default_value_t = 0.85)]
    pub accuracy: f64,
    /// Standard deviation of accuracy between people
    #[arg(long, default_value_t = 0.10)]
    pub sd_people: f64,
    /// Standard deviation of accuracy between items
    #[arg(long, default_value_t = 0.15)]
    pub sd_items: f64,
    /// Half the width of the interval that is wanted
    #[arg(long, default_value_t = 0.05)]
    pub half_width: f64,
    /// Items that each person answers
    #[arg(long, default_value_t = 40)]
    pub per_person: u64,
}

/// Arguments of `study serve`.
#[derive(Debug, Args)]
pub struct ServeStudyArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Port
    #[arg(long, default_value_t = 7676)]
    pub port: u16,
    /// Address to listen on; a reverse proxy with TLS belongs before any but this machine's own
    #[arg(long, default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// Try the pages on this machine while texts are still to be filled in
    #[arg(long)]
    pub test: bool,
}

/// Arguments of `study results`.
#[derive(Debug, Args)]
pub struct ResultsArgs {
    /// The study's folder, or a run folder whose trials are people
    pub study: String,
    /// Also count people whom the study's rules leave out
    #[arg(long)]
    pub with_excluded: bool,
    /// A run of models: paired with people, item by item
    #[arg(long, value_name = "RUN")]
    pub against: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `study export`.
#[derive(Debug, Args)]
pub struct ExportStudyArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Folder to write into [default: export/ in the study's folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `study withdraw`.
#[derive(Debug, Args)]
pub struct WithdrawArgs {
    /// The study's folder
    pub study: PathBuf,
    /// The person's participant number (p-…), or the platform's id of them
    #[arg(required_unless_present = "platform_ids")]
    pub person: Option<String>,
    /// Delete all ids of platforms instead, once everybody is paid
    #[arg(long, conflicts_with = "person")]
    pub platform_ids: bool,
}

/// How simulated people answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BehaviourArg {
    /// Any option
    Random,
    /// By ability and difficulty
    Ability,
}

/// Arguments of `study simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The study's folder: take a copy, since simulated people fill its places
    pub study: PathBuf,
    /// How many [default: as many as the study wants]
    #[arg(long)]
    pub people: Option<usize>,
    /// How they answer
    #[arg(long, value_enum, default_value_t = BehaviourArg::Ability)]
    pub answers: BehaviourArg,
    /// Answer as the model of a stored run did
    #[arg(long, value_name = "RUN", conflicts_with = "answers")]
    pub from: Option<String>,
    /// Median seconds for an answer
    #[arg(long, default_value_t = 4.0)]
    pub seconds: f64,
    /// Through the real page, over HTTP
    #[arg(long)]
    pub page: bool,
    /// With --page: how many at once
    #[arg(long, default_value_t = 50)]
    pub at_once: usize,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// Arguments of `study print`.
#[derive(Debug, Args)]
pub struct PrintArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Folder to write into [default: paper/ in the study's folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Sheets, one for each place from this one on
    #[arg(long, default_value_t = 1)]
    pub first: usize,
    /// How many sheets [default: all]
    #[arg(long)]
    pub sheets: Option<usize>,
}

/// Arguments of `study read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The study's folder and marks.csv; or forms of a family (one for each judge) with a column of 0 and 1
    #[arg(required = true, value_name = "STUDY MARKS | FORM…")]
    pub files: Vec<PathBuf>,
    /// With forms: the run they were written from; it is written again with the judgements beside its own
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

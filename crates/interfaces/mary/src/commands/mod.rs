//! One file per command, and one line in [`COMMANDS`]; what several commands share stands beside them.

pub mod adapter;
pub mod ask;
pub mod atlas;
pub mod audit;
pub mod cache;
mod carry_out;
pub mod chapters;
pub mod compare;
pub mod completions;
pub mod confounds;
pub mod data;
mod designs;
pub mod development;
pub mod doctor;
pub mod export;
pub mod family;
pub mod fit;
pub mod grow;
pub mod guide;
pub mod harness;
pub mod import;
pub mod init;
mod inside;
mod instruments;
pub mod items;
pub mod jobs;
pub mod lens;
pub mod matrix;
pub mod merge;
pub mod models;
pub mod observe;
pub mod own_tasks;
pub mod pairs;
pub mod papers;
pub mod patch;
pub mod probe;
pub mod reading;
pub mod recognise;
pub mod report;
pub mod rescore;
pub mod resume;
pub mod run;
pub mod runs;
pub mod scale;
pub mod score;
pub mod serve;
mod shard;
pub mod steer;
pub mod study;
pub mod submit;
pub mod summary;
pub mod sweep;
pub mod tasks;
pub mod tune;
mod tuned;
pub mod tuning;
pub mod twins;
pub mod view;

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Context as _;
use mary_contract::Declarations;

use crate::command::Entry;
use crate::exit::Status;

/// Titles, captions, heads and axes of tables and figures.
static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("exhibits.json")));

/// Every command. Help groups them (`cli::help`).
pub const COMMANDS: &[Entry] = &[
    Entry::new::<guide::GuideArgs>(),
    Entry::new::<run::RunArgs>(),
    Entry::new::<resume::ResumeArgs>(),
    Entry::new::<sweep::SweepArgs>(),
    Entry::new::<score::ScoreArgs>(),
    Entry::new::<observe::ObserveArgs>(),
    Entry::new::<ask::AskArgs>(),
    Entry::new::<lens::LensArgs>(),
    Entry::new::<patch::PatchArgs>(),
    Entry::new::<probe::ProbeArgs>(),
    Entry::new::<steer::SteerArgs>(),
    Entry::new::<reading::ReadingArgs>(),
    Entry::new::<rescore::RescoreArgs>(),
    Entry::new::<report::ReportArgs>(),
    Entry::new::<view::ViewArgs>(),
    Entry::new::<atlas::AtlasArgs>(),
    Entry::new::<serve::ServeArgs>(),
    Entry::new::<runs::RunsArgs>(),
    Entry::new::<compare::CompareArgs>(),
    Entry::new::<confounds::ConfoundsArgs>(),
    Entry::new::<fit::FitArgs>(),
    Entry::new::<scale::ScaleArgs>(),
    Entry::new::<matrix::MatrixArgs>(),
    Entry::new::<export::ExportArgs>(),
    Entry::new::<import::ImportArgs>(),
    Entry::new::<merge::MergeArgs>(),
    Entry::new::<submit::SubmitArgs>(),
    Entry::new::<jobs::JobsArgs>(),
    Entry::new::<tasks::TasksArgs>(),
    Entry::new::<items::ItemsArgs>(),
    Entry::new::<models::ModelsArgs>(),
    Entry::new::<data::DataArgs>(),
    Entry::new::<cache::CacheArgs>(),
    Entry::new::<grow::GrowArgs>(),
    Entry::new::<tune::TuneArgs>(),
    Entry::new::<init::InitArgs>(),
    Entry::new::<doctor::DoctorArgs>(),
    Entry::new::<study::StudyArgs>(),
    Entry::new::<completions::CompletionsArgs>(),
];

/// Prints what can be piped: with it a command is done. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> anyhow::Result<Status> {
    crate::terminal::out(text)?;
    Ok(Status::Done)
}

/// Prints a table that the report drew: with its colours, and with others' text clean.
pub fn print_table(text: &str) -> anyhow::Result<Status> {
    crate::terminal::out_coloured(text)?;
    Ok(Status::Done)
}

pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<Status> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    print(&crate::terminal::json(&text))
}

/// Writes a file whole, in a folder that may not be there yet.
fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    mary_platform::replace_file(path, bytes).with_context(|| path.display().to_string())
}

/// Says a line to whoever looks on, on standard error; made as `format!` makes it.
macro_rules! tell {
    ($($text:tt)*) => { $crate::terminal::line(&format!($($text)*)) };
}
pub(crate) use tell;

/// Opens a page in the user's browser. Where there is none, the address has been printed.
pub fn open_in_browser(address: &str) {
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let started = std::process::Command::new(opener)
        .arg(address)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if started.is_err() {
        tell!("`{opener}` cannot be started; open {address} yourself");
    }
}

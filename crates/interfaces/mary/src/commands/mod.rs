//! One file per command, and one line in [`COMMANDS`]; what several commands share stands beside them.

pub mod adapter;
pub mod ask;
pub mod audit;
pub mod cache;
mod carry_out;
pub mod chapters;
pub mod compare;
pub mod completions;
pub mod confounds;
pub mod data;
pub mod development;
pub mod doctor;
pub mod export;
pub mod family;
pub mod grow;
pub mod harness;
pub mod import;
pub mod init;
mod instruments;
pub mod items;
pub mod jobs;
mod kept_report;
mod learning;
pub mod matrix;
pub mod merge;
pub mod models;
pub mod observe;
pub mod own_tasks;
pub mod pairs;
pub mod papers;
pub mod recognise;
pub mod released;
pub mod report;
pub mod rescore;
pub mod resume;
pub mod run;
pub mod runs;
pub mod score;
mod shard;
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

use crate::command::Entry;

/// Every command, in the order in which help lists them.
pub const COMMANDS: &[Entry] = &[
    Entry::of::<run::RunArgs>(),
    Entry::of::<resume::ResumeArgs>(),
    Entry::of::<sweep::SweepArgs>(),
    Entry::of::<score::ScoreArgs>(),
    Entry::of::<observe::ObserveArgs>(),
    Entry::of::<ask::AskArgs>(),
    Entry::of::<rescore::RescoreArgs>(),
    Entry::of::<report::ReportArgs>(),
    Entry::of::<view::ViewArgs>(),
    Entry::of::<runs::RunsArgs>(),
    Entry::of::<compare::CompareArgs>(),
    Entry::of::<confounds::ConfoundsArgs>(),
    Entry::of::<matrix::MatrixArgs>(),
    Entry::of::<export::ExportArgs>(),
    Entry::of::<import::ImportArgs>(),
    Entry::of::<merge::MergeArgs>(),
    Entry::of::<submit::SubmitArgs>(),
    Entry::of::<jobs::JobsArgs>(),
    Entry::of::<tasks::TasksArgs>(),
    Entry::of::<items::ItemsArgs>(),
    Entry::of::<models::ModelsArgs>(),
    Entry::of::<data::DataArgs>(),
    Entry::of::<cache::CacheArgs>(),
    Entry::of::<grow::GrowArgs>(),
    Entry::of::<tune::TuneArgs>(),
    Entry::of::<init::InitArgs>(),
    Entry::of::<doctor::DoctorArgs>(),
    Entry::of::<study::StudyArgs>(),
    Entry::of::<completions::CompletionsArgs>(),
];

/// Prints what can be piped. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    Ok(crate::terminal::out(text)?)
}

/// Prints a table that the report drew: with its colours, and with others' text clean.
pub fn print_table(text: &str) -> anyhow::Result<()> {
    Ok(crate::terminal::out_coloured(text)?)
}

/// Prints a value as indented JSON.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    print(&crate::terminal::json(&text))
}

/// Tells a person something, on standard error.
pub fn tell(text: &str) {
    crate::terminal::line(text);
}

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
        tell(&format!(
            "`{opener}` cannot be started; open {address} yourself"
        ));
    }
}

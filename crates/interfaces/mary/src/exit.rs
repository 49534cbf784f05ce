//! Exit codes, and how an error reaches a person. The codes are documented in the README.

use mary_contract::{DataError, ErrorKind, ModelError, ModelRefError, StoreError, TaskError};
use mary_lab::RunError;
use mary_lab::engine::EngineError;
use mary_lab::texts::InstrumentError;
use mary_study::StudyError;
use mary_taskfile::TaskFileError;
use mary_train::TrainError;

use crate::terminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Everything asked for was done.
    Done = 0,
    /// Done, but some items failed or some check did not pass.
    Incomplete = 1,
    /// The question makes no sense: unknown name, wrong value.
    Usage = 2,
    /// Model and task do not fit; nothing was loaded or asked.
    Refused = 3,
    /// A dataset, model or run is missing or damaged.
    Missing = 4,
    /// Stopped in a state from which the same command continues (budget, full disk, overload).
    Stopped = 5,
    /// Stopped by the user.
    Interrupted = 130,
    /// A bug in Mary.
    Internal = 70,
}

impl Status {
    /// Done, where everything asked for was; otherwise something of it is left.
    pub fn done_if(done: bool) -> Self {
        match done {
            true => Self::Done,
            false => Self::Incomplete,
        }
    }

    pub fn code(self) -> u8 {
        self as u8
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MissingError(pub String);

pub fn usage_error<T>(message: impl Into<String>) -> anyhow::Result<T> {
    Err(UsageError::new(message).into())
}

pub fn missing_error<T>(message: impl Into<String>) -> anyhow::Result<T> {
    Err(MissingError(message.into()).into())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    pub status: Status,
    pub message: String,
    /// What to do, where that is not in the message already.
    pub hint: Option<String>,
}

/// Prints an error with its causes and hint, and says with which code to leave.
pub fn report(error: &anyhow::Error) -> Status {
    let report = error_report(error);
    terminal::line(&format!("error: {}", report.message));
    if let Some(hint) = report.hint {
        terminal::line(&format!("hint: {hint}"));
    }
    report.status
}

pub fn error_report(error: &anyhow::Error) -> ErrorReport {
    let mut text = String::new();
    let mut last = String::new();
    for cause in error.chain() {
        let mut said = cause.to_string();
        // Line 0 is the file as a whole.
        if let Some(StoreError::Corrupt { path, line: 0, .. }) = cause.downcast_ref() {
            let path = path.display();
            said = said.replacen(&format!("{path}:0: "), &format!("{path}: "), 1);
        }
        // Causes that only repeat what the outer error already says are left out.
        if !last.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        last = said;
    }
    let hint = error
        .chain()
        .find_map(|c| c.downcast_ref::<ModelError>()?.hint.clone());
    ErrorReport {
        status: status_of(error),
        hint: hint.filter(|h| !text.contains(h.as_str())),
        message: text,
    }
}

/// Prints what the reader of arguments has to say: help, the version, or what is wrong with them.
pub fn usage(mut said: clap::Error, commands: &[String]) -> Status {
    let meant = mistyped_command(&said, commands);
    if meant.is_some() {
        // One suggestion, not two that differ.
        said.remove(clap::error::ContextKind::SuggestedSubcommand);
    }
    // An argument with colours of its own is repeated in the message: then there are none of ours.
    let text = match repeats_colours(&said) {
        true => said.render().to_string(),
        false => said.render().ansi().to_string(),
    };
    if said.use_stderr() {
        // Where a suggestion was taken out, an empty line is left.
        terminal::line_coloured(text.trim_end().replace("\n\n\n", "\n\n").as_str());
        if let Some(meant) = meant {
            terminal::line(&format!("hint: did you mean `mary {meant}`?"));
        }
        return Status::Usage;
    }
    // Help for a pipe that is gone is nobody's loss.
    let _ = terminal::out_coloured(&text);
    Status::Done
}

/// Whether what was typed, and is said again, holds what a terminal takes for a colour.
fn repeats_colours(said: &clap::Error) -> bool {
    use clap::error::ContextValue;
    said.context().any(|(_, value)| match value {
        ContextValue::String(text) => text.contains('\x1b'),
        ContextValue::Strings(texts) => texts.iter().any(|t| t.contains('\x1b')),
        _ => false,
    })
}

/// The command that was meant. The reader of arguments compares letters in their places: swapped ones
/// (`rnu`) look to it like other words, or it names a longer command (`runs`).
fn mistyped_command<'a>(said: &clap::Error, commands: &'a [String]) -> Option<&'a str> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if said.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = said.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let distance = |name: &&str| strsim::damerau_levenshtein(typed, name);
    let nearest = commands.iter().map(String::as_str).min_by_key(distance)?;
    // A command below another (`mary cache stast`) has neighbours of its own.
    let known = |name: &String| commands.contains(name);
    let below = match said.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => !names.iter().all(known),
        Some(ContextValue::String(name)) => !known(name),
        _ => false,
    };
    let near = distance(&nearest) <= 1 + typed.chars().count() / 4;
    (near && !below).then_some(nearest)
}

fn status_of(error: &anyhow::Error) -> Status {
    // A full disk stops whatever was being done, and the same command goes on when there is room.
    if error.chain().any(is_full_disk) {
        return Status::Stopped;
    }
    for cause in error.chain() {
        let unclear = matches!(cause.downcast_ref(), Some(RunError::Specification(_)));
        if cause.is::<UsageError>() || cause.is::<ModelRefError>() || unclear {
            return Status::Usage;
        }
        if let Some(train) = cause.downcast_ref::<TrainError>() {
            match train {
                TrainError::Settings(_)
                | TrainError::Memory { .. }
                | TrainError::Diverged { .. } => {
                    return Status::Usage;
                }
                TrainError::Content { .. } | TrainError::Tokenizer(_) => return Status::Missing,
                TrainError::Stopped { .. } => return Status::Interrupted,
                // What the system or the model said decides.
                TrainError::File { .. } | TrainError::Gpu(_) => {}
            }
        }
        if cause.is::<MissingError>() || cause.is::<DataError>() {
            return Status::Missing;
        }
        if let Some(model) = cause.downcast_ref::<ModelError>() {
            return match model.kind {
                ErrorKind::NotFound | ErrorKind::BadModel => Status::Missing,
                ErrorKind::BadRequest | ErrorKind::Auth => Status::Usage,
                ErrorKind::Interrupted => Status::Interrupted,
                ErrorKind::Internal => Status::Internal,
                _ => Status::Stopped,
            };
        }
        if let Some(engine) = cause.downcast_ref::<EngineError>() {
            return match engine {
                EngineError::Refused(_) => Status::Refused,
                EngineError::Interrupted => Status::Interrupted,
                EngineError::Stopped(_) | EngineError::Store(_) => Status::Stopped,
                EngineError::Task {
                    source: TaskError::Setting(_),
                    ..
                } => Status::Usage,
                _ => Status::Missing,
            };
        }
        if let Some(task) = cause.downcast_ref::<TaskError>() {
            return missing_or_usage(!matches!(task, TaskError::Setting(_)));
        }
        if let Some(error) = cause.downcast_ref::<InstrumentError>() {
            match error {
                InstrumentError::Usage(_) => return Status::Usage,
                InstrumentError::Write { .. } => return Status::Stopped,
                // Its cause says which.
                InstrumentError::Task(_)
                | InstrumentError::Store(_)
                | InstrumentError::Model(_) => {}
            }
        }
        if let Some(study) = cause.downcast_ref::<StudyError>() {
            return match study {
                StudyError::Refused(_)
                | StudyError::Stats(_)
                | StudyError::Task(TaskError::Setting(_)) => Status::Usage,
                _ => Status::Missing,
            };
        }
        if let Some(file) = cause.downcast_ref::<TaskFileError>() {
            return missing_or_usage(file.is_missing());
        }
        if cause.is::<mary_contract::StoreError>() {
            return Status::Missing;
        }
        if let Some(status) = cause.downcast_ref().and_then(of_system) {
            return status;
        }
    }
    Status::Internal
}

/// What the system refused, where the user's own files, folders or ports are the reason.
fn of_system(error: &std::io::Error) -> Option<Status> {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::NotFound
        | K::PermissionDenied
        | K::AlreadyExists
        | K::NotADirectory
        | K::IsADirectory
        | K::DirectoryNotEmpty
        | K::ReadOnlyFilesystem
        | K::InvalidData
        | K::UnexpectedEof => Some(Status::Missing),
        K::AddrInUse | K::AddrNotAvailable | K::InvalidInput | K::InvalidFilename => {
            Some(Status::Usage)
        }
        _ => None,
    }
}

fn missing_or_usage(missing: bool) -> Status {
    match missing {
        true => Status::Missing,
        false => Status::Usage,
    }
}

fn is_full_disk(cause: &(dyn std::error::Error + 'static)) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let io = cause.downcast_ref::<std::io::Error>().or_else(|| {
        match cause.downcast_ref::<mary_contract::StoreError>()? {
            mary_contract::StoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    });
    io.is_some_and(|e| matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge))
}

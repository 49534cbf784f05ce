//! Errors as the package's exceptions, with the same words and hints as the command's.

use mary::library::{Status, error_report, stopped_run};
use mary_contract::ModelError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

pub(crate) fn raised(py: Python<'_>, error: &anyhow::Error) -> PyErr {
    let said = error_report(error);
    let model = error.chain().find_map(|c| c.downcast_ref::<ModelError>());
    let class = match (said.status, model) {
        (Status::Usage, _) => "usage",
        (Status::Refused, _) => "refused",
        (Status::Interrupted, _) => "interrupted",
        (Status::Stopped, _) => "stopped",
        (_, Some(_)) => "model",
        (Status::Missing, _) => "missing",
        _ => "internal",
    };
    as_class(py, class, error)
}

/// The exception for what Ctrl-C stopped, however that ended.
pub(crate) fn interrupted(py: Python<'_>, error: &anyhow::Error) -> PyErr {
    as_class(py, "interrupted", error)
}

fn as_class(py: Python<'_>, class: &str, error: &anyhow::Error) -> PyErr {
    let said = error_report(error);
    let folder = stopped_run(error).map(|path| path.display().to_string());
    exception(py, class, &said.message, said.hint.as_deref(), folder)
}

/// The exception of the package for a kind of trouble.
pub(crate) fn exception(
    py: Python<'_>,
    class: &str,
    message: &str,
    hint: Option<&str>,
    folder: Option<String>,
) -> PyErr {
    // A hint that is part of the message is told apart from it.
    let (message, within) = match message.split_once("\nhint: ") {
        Some((message, hint)) => (message, Some(hint)),
        None => (message, None),
    };
    let made = py
        .import("mary._errors")
        .and_then(|module| module.getattr("make"))
        .and_then(|make| make.call1((class, message, hint.or(within), folder)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

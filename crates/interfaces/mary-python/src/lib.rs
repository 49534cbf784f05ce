//! The extension module `mary._mary`: a few functions over plain values, from which the Python package makes
//! its classes.
//!
//! Handles are capsules and arguments tuples: pyo3's macros would switch on features of `syn` for the whole
//! workspace and build everything twice. Work is done without the interpreter's lock, on a thread of its own,
//! while the calling thread listens for Ctrl-C.

mod arrow;
mod columns;
mod models;
mod objects;
mod results;
mod running;
mod scoring;
mod stats;
mod task;
mod trouble;
mod watch;

use std::ffi::{CStr, OsString};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyModule, PyTuple};

use trouble::raised;

/// What a function gives back to Python.
type Given = PyResult<Py<PyAny>>;

/// Arguments, always by position.
type Args<'a, 'py> = &'a Bound<'py, PyTuple>;

struct Definition(std::cell::UnsafeCell<ffi::PyModuleDef>);

// SAFETY: the interpreter writes to it while it imports the module, under its import lock.
unsafe impl Sync for Definition {}

static DEFINITION: Definition = Definition(std::cell::UnsafeCell::new(ffi::PyModuleDef {
    m_base: ffi::PyModuleDef_HEAD_INIT,
    m_name: c"_mary".as_ptr(),
    m_doc: c"The laboratory's own functions; use the package mary.".as_ptr(),
    m_size: -1,
    m_methods: std::ptr::null_mut(),
    m_slots: std::ptr::null_mut(),
    m_traverse: None,
    m_clear: None,
    m_free: None,
}));

/// Called by the interpreter when the module is imported.
///
/// # Safety
/// The calling thread holds the interpreter's lock, as it does in an import.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__mary() -> *mut ffi::PyObject {
    // SAFETY: the definition is static, and the interpreter calls this once for the process.
    let module = unsafe { ffi::PyModule_Create2(DEFINITION.0.get(), ffi::PYTHON_ABI_VERSION) };
    if module.is_null() {
        return module;
    }
    // SAFETY: we are inside an import.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: a new reference to a module.
    let module = unsafe { Bound::from_owned_ptr(py, module).cast_into_unchecked::<PyModule>() };
    match fill(&module) {
        Ok(()) => module.into_any().into_ptr(),
        Err(error) => {
            error.restore(py);
            std::ptr::null_mut()
        }
    }
}

fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let add = |name, function| add(module, name, function);
    add(c"serving", |args| give(args.py(), mary_pymodel::SERVING))?;
    add(c"version", |args| {
        give(args.py(), env!("CARGO_PKG_VERSION"))
    })?;
    add(c"command", command)?;
    add(c"tasks", results::tasks)?;
    add(c"open_model", models::open)?;
    add(c"model_card", models::card)?;
    add(c"score", scoring::score)?;
    add(c"observe", models::observe)?;
    add(c"intervene", models::intervene)?;
    add(c"generate", models::generate)?;
    add(c"run", running::run)?;
    add(c"sweep", running::sweep)?;
    add(c"samples", results::samples)?;
    add(c"summary", results::summary)?;
    add(c"manifest", results::manifest)?;
    add(c"compare", results::compare)?;
    add(c"report", results::report)?;
    add(c"exhibits", results::exhibits)?;
    add(c"scale", stats::scale)?;
    add(c"read_scale", stats::read_scale)?;
    add(c"paired", stats::paired)?;
    add(c"mixed", stats::mixed)?;
    add(c"table_names", columns::names)?;
    add(c"table_rows", columns::rows)?;
    add(c"table_values", columns::values)?;
    add(c"table_memory", columns::memory)?;
    add(c"table_stream", arrow::stream)?;
    add(c"table_schema", arrow::schema)?;
    Ok(())
}

type Function = fn(Args<'_, '_>) -> Given;

fn add(module: &Bound<'_, PyModule>, name: &'static CStr, function: Function) -> PyResult<()> {
    let closure = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| function(args);
    let made = PyCFunction::new_closure(module.py(), Some(name), None, closure)?;
    module.setattr(name.to_string_lossy().as_ref(), made)
}

fn give<'py, T>(py: Python<'py>, value: T) -> Given
where
    T: IntoPyObject<'py>,
    PyErr: From<T::Error>,
{
    use pyo3::BoundObject as _;
    Ok(value.into_pyobject(py)?.into_any().into_bound().unbind())
}

/// The command `mary`, with these words. Ctrl-C is the command's own from here on.
fn command(args: Args<'_, '_>) -> Given {
    let (words,): (Vec<OsString>,) = args.extract()?;
    let py = args.py();
    let code = py.detach(move || mary::run_command_line(words));
    give(py, code)
}

struct Handle;

impl Handle {
    fn put<T: Send + 'static>(py: Python<'_>, value: T, name: &'static CStr) -> Given {
        let capsule = pyo3::types::PyCapsule::new_with_value(py, value, name)?;
        Ok(capsule.into_any().unbind())
    }

    fn get<'a, T>(object: &'a Bound<'_, PyAny>, name: &'static CStr) -> PyResult<&'a T> {
        let capsule = object.cast::<pyo3::types::PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(name))?.cast::<T>();
        // SAFETY: only `put` makes capsules of this name, with a `T` that lives as long as the capsule.
        Ok(unsafe { pointer.as_ref() })
    }
}

/// What a function of ours came to, with its error as a Python exception.
fn came<T>(py: Python<'_>, result: anyhow::Result<T>) -> PyResult<T> {
    result.map_err(|error| raised(py, &error))
}

/// What Python says in JSON. What cannot be read is the caller's mistake.
fn told<T: serde::de::DeserializeOwned>(said: &str) -> anyhow::Result<T> {
    serde_json::from_str(said).map_err(|error| {
        // Where in the text it stands means nothing to whoever gave keyword arguments.
        let text = error.to_string();
        let text = text
            .rsplit_once(" at line ")
            .map_or(&*text, |(text, _)| text);
        mary_lab::RunError::Specification(text.to_owned()).into()
    })
}

//! Work on a thread of its own while the calling thread listens for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::trouble::{exception, interrupted};

/// How often signals are looked for.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Does the work without the interpreter's lock. The first Ctrl-C sets the flag and waits; the second also
/// interrupts Python code that answers for a model (`mary._serve`).
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> anyhow::Result<T> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (send, receive) = channel();
    let flag = Arc::clone(&stop);
    let worker = std::thread::Builder::new()
        .name("mary".into())
        .spawn(move || {
            // Nobody is there to hear it only where the interpreter is going down.
            let _ = send.send(work(&flag));
        })?;
    let receive = Mutex::new(receive);
    let mut pressed: Option<PyErr> = None;
    loop {
        let heard = py.detach(|| {
            let receive = receive.lock().unwrap_or_else(PoisonError::into_inner);
            receive.recv_timeout(LOOK_UP)
        });
        match heard {
            Ok(result) => {
                let _ = py.detach(|| worker.join());
                return match (result, pressed) {
                    (Ok(value), None) => Ok(value),
                    // The work was done before the flag was seen: what was pressed counts all the same.
                    (Ok(_), Some(signal)) => Err(signal),
                    (Err(error), None) => Err(crate::raised(py, &error)),
                    (Err(error), Some(signal)) => {
                        let stopped = interrupted(py, &error);
                        stopped.set_cause(py, Some(signal));
                        Err(stopped)
                    }
                };
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the thread that did the work broke down; this is a bug";
                return Err(exception(py, "internal", message, None, None));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    mary::library::stop_waiting();
                    if pressed.is_some() {
                        py.import("mary._serve")?.call_method0("interrupt")?;
                    }
                    pressed = Some(signal);
                }
            }
        }
    }
}

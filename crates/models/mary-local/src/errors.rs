//! Short forms of the errors that this crate gives, and of a lock that a panic does not spoil.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mary_contract::{ErrorKind, ModelError};
pub(crate) use mary_weights::fault::{bad_model, bad_request, internal};

/// What this crate gives, or why not.
pub(crate) type Result<T, E = ModelError> = std::result::Result<T, E>;

/// A panic elsewhere leaves nothing half done behind the locks of this crate.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn too_long(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::ContextTooLong, message)
}

/// A number that is none, given by `who`.
pub(crate) fn not_finite(who: &str) -> ModelError {
    let message = format!("{who} gave a number that is not finite");
    ModelError::new(ErrorKind::NotFinite, message)
        .hint("the weights may be damaged, or overflow in a narrow number type; try --dtype f32")
}

//! Short forms of the errors that this crate gives.

use mary_contract::{ErrorKind, ModelError};

pub(crate) fn bad_model(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::BadModel, message)
}

pub(crate) fn bad_request(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
}

pub(crate) fn too_long(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::ContextTooLong, message)
}

pub(crate) fn internal(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::Internal, message)
}

pub(crate) fn not_finite(who: &str) -> ModelError {
    let message = format!("{who} gave a number that is not finite");
    ModelError::new(ErrorKind::NotFinite, message)
        .hint("the weights may be damaged, or overflow in a narrow number type; try --dtype f32")
}

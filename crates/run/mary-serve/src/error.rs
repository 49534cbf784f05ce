//! Errors in the form that clients of the API expect.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mary_contract::{ErrorKind, ModelError};
use serde_json::{Value, json};

use crate::backlog::Overloaded;

#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
        }
    }

    /// The request makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub fn stopping() -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(status, "server_error", "the server is stopping")
    }

    pub fn too_long(length: impl std::fmt::Display, context: usize) -> Self {
        let message = format!("the prompt has {length} tokens; this model sees {context}");
        Self::new(StatusCode::BAD_REQUEST, "context_length_exceeded", message)
    }

    pub fn body(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": null,
            "code": self.status.as_u16(),
        }})
    }
}

impl From<ModelError> for ApiError {
    fn from(error: ModelError) -> Self {
        let message = match &error.hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        match error.kind {
            ErrorKind::BadRequest => Self::bad(message),
            ErrorKind::ContextTooLong => {
                Self::new(StatusCode::BAD_REQUEST, "context_length_exceeded", message)
            }
            ErrorKind::NotFound => {
                Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
            }
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message),
        }
    }
}

impl From<Overloaded> for ApiError {
    fn from(_: Overloaded) -> Self {
        let message = "too many requests wait already; try again in a few seconds";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "overloaded_error", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

//! Integration tests of the hub's client, against the test kit's hub.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod datasets;
mod hub;

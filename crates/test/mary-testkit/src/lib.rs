//! What tests need and users never see: a scripted model, a faulty server, a made-up hub, the suite
//! that every backend must pass, and a way to say what a test did not find here. A dev-dependency
//! only.

pub mod conformance;
pub mod faulty_server;
pub mod hub_server;
pub mod lacking;
pub mod raw_server;
pub mod scripted;

pub use lacking::{Lacking, skip};

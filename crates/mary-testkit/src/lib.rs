//! What tests need and users never see: a scripted model, a faulty server, and the suite that every
//! backend must pass. A dev-dependency only.

pub mod conformance;
pub mod faulty_server;
pub mod scripted;

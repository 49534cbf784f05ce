//! Shortcuts in datasets: what can be scored without doing the task.
//!
//! [`audit`] trains simple baselines that see only the surface (the length of a question, its last
//! letter, the text of the options without the question) and a random forest that sees all of it at
//! once, and asks, by cross-validation or on other seeds, whether any of them beats chance. A dataset on which one does cannot tell whether a model that scores well
//! understood anything. [`hygiene`] counts what needs no learning: repeats, leaks, unbalanced or
//! patterned labels.
//!
//! The audit knows nothing of any task; it reads [`Example`]s, which every item with a choice or a
//! pair as its target can be turned into.

mod baselines;
mod error;
mod example;
mod features;
mod folds;
mod forest;
pub mod hygiene;
mod learner;
mod relations;
mod report;
mod sees;
mod surface;
mod validation;

pub use baselines::{AuditSettings, audit, audit_beside};
pub use error::AuditError;
pub use example::{Example, Form};
pub use hygiene::{Hygiene, shared};
pub use report::{AuditReport, Finding};

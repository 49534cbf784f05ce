//! Studies with people: the same items, the same renderer and the same judge as for models, in a
//! browser or on paper. Nothing here knows a family of tasks by name, and no model is ever asked.

mod adaptive;
pub mod analysis;
mod clock;
mod deletion;
mod error;
pub mod exhibits;
pub mod export;
mod folder;
pub mod forms;
pub mod freeze;
pub mod judgements;
mod keys;
pub mod lists;
mod operations;
pub mod paper;
pub mod presets;
mod private;
pub mod question;
pub mod reading;
pub mod results;
pub mod server;
pub mod session;
pub mod settings;
pub mod simulate;
pub mod status;
pub mod store;

pub use adaptive::AdaptiveTest;
pub use analysis::PeopleStatistics;
pub use deletion::Deletion;
pub(crate) use error::Result;
pub use error::StudyError;
pub use folder::{DATABASE, Secrets, Study, random_token};
pub use session::{Participation, Session, View, now};
pub use settings::Settings;

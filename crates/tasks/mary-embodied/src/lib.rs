//! Embodied knowledge (Yang et al. 2025): words of the senses, and questions a body can answer.
//!
//! `sensoryvec` asks whether a word's vector lies nearer to its synonym than to its antonym,
//! [`perceptualqa`] puts questions with four options; both run on our own set or on the authors' files
//! ([`upstream`]), and the authors' released answers, people's included, become runs like any other
//! ([`released_runs`]). An analysis over stored runs: what else could explain an error ([`Confounds`]).

mod cards;
mod choice;
mod confounds;
mod exhibits;
pub mod fresh;
mod material;
mod offers;
pub mod own;
pub mod perceptualqa;
pub mod published;
mod released;
mod scenes;
mod sensoryvec;
mod source;
mod tuning;
pub mod upstream;
mod verdict;

pub use confounds::{Confounds, Material, Norms, material};
pub use exhibits::{before_after, exhibits};
pub use material::{Language, Question, Sense, Subtask, Triple};
pub use released::{PEOPLE, released_runs};
pub use scenes::{SCENES, Scenes};
pub use source::MaterialSource;
pub use tuning::tuning_set;

use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    DataSource, Exhibits, Family, FamilyError, ReleasedRun, RunSummary, SampleAnalysis, Table,
    Task, TaskError, TaskRun, Text, TuningRequest, TuningSet, Twin, built_in,
};

#[derive(Debug, Clone, Copy)]
pub struct Embodied;

pub static EMBODIED: Embodied = Embodied;

impl Family for Embodied {
    fn id(&self) -> &str {
        "embodied"
    }

    fn title(&self) -> &str {
        "Embodied knowledge: SensoryVec and PerceptualQA"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(&[
            &sensoryvec::SENSORY_VEC,
            &perceptualqa::PERCEPTUAL_QA,
            &fresh::FRESH_COLOUR,
            &fresh::FRESH_GEOMETRY,
            &fresh::FRESH_SYMBOLS,
            &scenes::SCENES,
        ])
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits(runs)
    }

    fn tuning_sets(&self) -> Vec<Text> {
        offers::tuning_sets()
    }

    fn tuning_set(
        &self,
        _name: &str,
        wanted: &TuningRequest,
        data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        offers::tuning_set(wanted, data)
    }

    fn released_runs(
        &self,
        path: &Path,
        data: &dyn DataSource,
    ) -> Result<Option<Vec<ReleasedRun>>, TaskError> {
        released_runs(path, data)
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        before_after(runs, pairs)
    }

    fn tag_order(&self, tag: &str) -> Vec<Text> {
        offers::tag_order(tag)
    }

    fn twin(&self, run: &TaskRun) -> Option<Twin> {
        offers::twin(run)
    }

    fn confounds(
        &self,
        data: &dyn DataSource,
    ) -> Result<Option<Box<dyn SampleAnalysis>>, TaskError> {
        offers::confounds(data).map(Some)
    }
}

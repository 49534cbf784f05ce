//! The nouns and traits every other room of the laboratory speaks in.
//!
//! Nothing here runs a model, reads a dataset or draws a page. A suite turns a question into
//! [`Item`]s, a backend answers their [`Request`]s, the engine carries both ways, the store keeps
//! what was said, the report shows it; all of them meet only in these types.

#![warn(missing_docs)]

mod card;
mod cell;
mod data;
mod declaration;
mod event;
mod exhibit;
mod family;
mod item;
mod key;
mod label;
mod model;
mod moments;
mod offer;
mod outcome;
mod people;
mod prompt;
mod question;
mod registry;
mod request;
mod response;
mod run;
mod scoring;
mod source;
mod start;
mod store;
mod task;
pub mod training;
mod vector;

pub use card::{Citation, Param, Reference, TaskCard, Text, text};
pub use cell::{Basis, Cell};
pub use data::{DataError, DataSource, NoData};
pub use declaration::Declarations;
pub use event::{Event, Observer as EventObserver};
pub use exhibit::{
    Axis, Exhibits, Figure, FigureKind, NumberColumns, Picture, Point, ReferenceLine, Scale,
    Series, ShadedRange, Table,
};
pub use family::{Family, built_in};
pub use item::{Ask, Item, ModelRole, Target};
pub use key::Key;
pub use label::{model_label, model_labels, with_labels};
pub use model::{
    Capabilities, ErrorKind, Generator, Job, Model, ModelCard, ModelError, ModelRef, ModelRefError,
    ModelSettings, Observer, Provider, Reply, ReplyMeta, Scorer, Ticket, Usage, WorkQueue,
};
pub use moments::{moment, start_moments};
pub use offer::{
    Action, Argument, ArgumentKind, Arguments, AuditExpectations, Development, FamilyCommand,
    FamilyError, Made, ReleasedRun, SampleAnalysis, ShownAs, SurfaceFinding, TuningForm,
    TuningRequest, TuningSet, Twin,
};
pub use outcome::{Failure, Judgement, Outcome, UnscoredReason};
pub use people::{ForPeople, LabelledExample, PeopleAnswer, PeopleOption};
pub use prompt::{Image, Part, Prompt, PromptForm, Speaker, Turn};
pub use question::{
    Changes, Conditions, Difference, InForce, Question, question_names, told_apart, variants,
    variants_of,
};
pub use registry::{Registry, RegistryError};
pub use request::{
    Details, Generate, Layers, Observe, Pool, Request, RequestKind, Sampling, Score,
};
pub use response::{
    ContinuationScore, Finish, Generated, LayerVector, Observed, PooledVectors, Response, Scored,
    TokenDetails,
};
pub use run::{
    ANISOTROPIC, Breakdown, ChanceTest, ConstantAnswer, Estimate, Exchange, ExecutionSettings,
    FAMILIES_FIXED, FLOOR, JudgeChoice, Limit, Measure, OVER_FLOOR, RunManifest, RunSummary,
    Sample, SampleId, SummaryRow, TaskRun,
};
pub use scoring::{Metric, Scoring, Ties};
pub use source::{ItemSource, SOURCE, source_word};
pub use start::{NamedToken, START_MEASURE, Start, StartError, StartTokens, TEXT_ENDS};
pub use store::{Cache, StoreError};
pub use task::{Items, Needs, Task, TaskError, TaskSettings};
pub use training::{CheckpointName, read_amount};
pub use vector::Vector;

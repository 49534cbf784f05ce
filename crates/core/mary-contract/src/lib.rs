//! The nouns and traits that every other crate of the laboratory shares.
//!
//! Nothing here runs a model, reads a dataset or draws a page. A [`Task`] turns a question into
//! [`Item`]s, a [`Model`] answers their [`Request`]s, and the task judges the answers; engine, store
//! and report meet only in these types.
//!
//! A task of one's own makes items and judges answers, and never sees a model:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//! use mary_contract::*;
//!
//! struct Capitals(TaskCard);
//!
//! impl Task for Capitals {
//!     fn card(&self) -> &TaskCard {
//!         &self.0
//!     }
//!     fn needs(&self, _: &TaskSettings) -> Needs {
//!         Needs { generate: true, ..Needs::default() }
//!     }
//!     fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
//!         let pairs = [("France", "Paris"), ("Japan", "Tokyo")];
//!         Ok(Box::new(pairs.into_iter().map(|(country, city)| {
//!             let prompt = Prompt::plain(format!("The capital of {country} is"));
//!             let ask = Generate::new(prompt, Sampling::greedy(4));
//!             let ask = Ask::subject(Request::Generate(ask));
//!             Ok(Item::new(country, Target::Text(city.into()), vec![ask]))
//!         })))
//!     }
//!     fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
//!         let said = answers[0].answer.as_generated().map_or("", |g| g.text.trim());
//!         let right = item.target == Target::Text(said.into());
//!         Judgement::scored(f64::from(right)).read_as(said)
//!     }
//!     fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
//!         BTreeMap::from([("match".into(), "the whole answer, trimmed".into())])
//!     }
//! }
//!
//! let task = Capitals(TaskCard::new("mine/capitals", "Capitals", "Whether capitals are known."));
//! let settings = TaskSettings::default();
//! let item = task.items(&settings, &NoData)?.next().unwrap()?;
//! let answer = Generated::whole(" Paris".into());
//! let verdict = task.judge(&settings, &item, &[Reply::bare(Response::Generated(answer))]);
//! assert_eq!(verdict.outcome, Outcome::Scored(1.0));
//!
//! let mut tasks = Registry::new();
//! tasks.add_task(Arc::new(task))?;
//! assert!(tasks.task("mine/capitals").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod card;
mod card_file;
mod cell;
mod data;
mod declaration;
mod event;
mod exhibit;
mod family;
mod intervene;
mod item;
mod key;
mod label;
pub mod line;
mod marking;
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
mod service;
mod source;
mod start;
mod store;
mod task;
mod texts;
mod ties;
pub mod training;
mod vector;
mod verdict;

pub use card::{Citation, Param, Reference, TaskCard, Text, text};
pub use card_file::CardFile;
pub use cell::{Basis, Cell, p_value};
pub use data::{DataError, DataSource, NoData};
pub use declaration::Declarations;
pub use event::{Event, Observer as EventObserver};
pub use exhibit::{
    Axis, Exhibits, Figure, FigureKind, NumberColumns, Picture, Point, ReferenceLine, Scale,
    Series, ShadedRange, Table,
};
pub use family::{Family, built_in};
pub use intervene::{Change, Intervene, Intervened, Operation, Place, Site};
pub use item::{Ask, Item, ModelRole, SHOT_SET, Target};
pub use key::Key;
pub use label::{model_label, model_labels, with_labels};
pub use marking::{MarkingForm, MarkingLine};
pub use model::{
    Capabilities, ErrorKind, Generator, Intervener, Job, Model, ModelCard, ModelError, ModelRef,
    ModelRefError, ModelSettings, Observer, OpenedModel, Provider, Reply, ReplyMeta, Scorer,
    Ticket, Tokens, Usage, WorkQueue,
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
    BLANK, Details, Generate, Layers, Observe, Pool, Request, RequestKind, Sampling, Score,
    is_default,
};
pub use response::{
    ContinuationScore, Finish, Generated, LayerVector, Observed, PooledVectors, Response, Scored,
    TokenDetails,
};
pub use run::{
    ANISOTROPIC, Adaptive, Breakdown, ChanceTest, ConstantAnswer, Estimate, Exchange,
    ExecutionSettings, FAMILIES_FIXED, FLOOR, JudgeChoice, Limit, Measure, OVER_FLOOR, RunManifest,
    RunSummary, Sample, SampleId, SummaryRow, TaskRun,
};
pub use scoring::{Metric, Scoring, Ties};
pub use service::{
    Account, Balance, Estimator, RequestEstimate, SentKey, Service, Watcher, prompt_tokens,
    text_tokens,
};
pub use source::{ItemSource, SOURCE, source_word};
pub use start::{NamedToken, START_MEASURE, Start, StartError, StartTokens, TEXT_ENDS};
pub use store::{Cache, StoreError};
pub use task::{FollowUp, Items, Needs, SettingDefault, Task, TaskError, TaskSettings};
pub use texts::Texts;
pub use ties::best;
pub use training::{CheckpointName, read_amount};
pub use vector::Vector;

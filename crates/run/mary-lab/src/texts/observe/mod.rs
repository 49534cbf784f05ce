//! What a model thinks while it reads texts (or sees pictures): pooled vectors of layers, and similarities.

mod arrays;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{
    Ask, DataSource, ErrorKind, InForce, Item, Items, Judgement, Layers, Metric, Needs, Observe,
    Pool, Reply, Request, Scoring, Target, Task, TaskCard, TaskError, TaskSettings, UnscoredReason,
};
use mary_taskfile::{Material, picture_of};
use serde::Serialize;
use serde_json::json;

pub use arrays::{ArrayForm, TokenRows, write};
pub(crate) use vectors::cosine;
pub use vectors::{Observation, Similarity, observations, similarities, similarity_head};

use crate::texts::score::{ScoreOptions, Text, Texts};
use crate::texts::{InstrumentError, material};

/// Why vectors have no verdict: nothing is wrong with them.
pub const VECTORS_ALONE: &str = "vectors alone have no score";

/// Which tokens of a text are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolOf {
    /// All of them.
    Mean,
    /// The last.
    Last,
    /// The first position, special or not (`[CLS]`).
    First,
    /// Those of the region of interest, of which a text has one.
    Region,
    /// None: the vector in the space that texts and pictures share (CLIP, SigLIP).
    Joint,
    /// Nothing: every token has its own vector ([`TokenRows`]).
    Every,
}

impl PoolOf {
    /// Its name in tables and arrays.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Last => "last",
            Self::First => "first",
            Self::Region => "region",
            Self::Joint => "joint",
            Self::Every => "none",
        }
    }
}

/// What is observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObserveOptions {
    /// The column of texts.
    pub text: String,
    /// Two columns whose vectors are compared, instead.
    pub pair: Option<(String, String)>,
    /// The column of ids; without one, `id` or the line.
    pub id: Option<String>,
    /// Which of the columns hold pictures: paths beside the file, base64 or `data:` addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
    /// Columns carried into the table of similarities.
    pub keep: Vec<String>,
    /// The column that holds the words of the region of interest.
    pub region: Option<String>,
    /// The region of interest by marks in the text.
    pub marks: Option<(String, String)>,
    /// Which layers.
    pub layers: Layers,
    /// What is averaged.
    pub pools: Vec<PoolOf>,
}

impl Default for ObserveOptions {
    fn default() -> Self {
        Self {
            text: "text".into(),
            pair: None,
            id: None,
            pictures: Vec::new(),
            keep: Vec::new(),
            region: None,
            marks: None,
            layers: Layers::Last,
            pools: vec![PoolOf::Mean],
        }
    }
}

impl ObserveOptions {
    /// The columns that are observed, in the order of a row's texts.
    fn columns(&self) -> Vec<&String> {
        match &self.pair {
            Some((left, right)) => vec![left, right],
            None => vec![&self.text],
        }
    }
}

/// A picture's text that is longer is no path, and is not kept beside the picture.
const LONGEST_NAME: usize = 1024;

/// A file of texts or pairs as a task.
pub struct ObserveTask {
    material: Material,
    options: ObserveOptions,
    card: TaskCard,
}

impl ObserveTask {
    /// Hashes the file; its rows are not looked at yet.
    pub fn open(path: &Path, options: ObserveOptions) -> Result<Self, InstrumentError> {
        let material = Material::open(path)?;
        let regions = options.marks.is_some() || options.region.is_some();
        if options.pools.contains(&PoolOf::Region) && !regions {
            return Err(InstrumentError::Usage(
                "there are no regions of interest to pool\nhint: --region names their column, --marks their marks"
                    .into(),
            ));
        }
        if options.pools.is_empty() {
            return Err(InstrumentError::Usage(
                "nothing is pooled: name a pool".into(),
            ));
        }
        let read = options.columns();
        if let Some(other) = options.pictures.iter().find(|p| !read.contains(p)) {
            return Err(InstrumentError::Usage(format!(
                "the column of pictures `{other}` is not read\nhint: --text or --pair names the columns that are \
                 observed, --pictures says which of them hold pictures"
            )));
        }
        let made_of = serde_json::to_string(&options).unwrap_or_default();
        let about = "Pooled hidden states of texts.";
        Ok(Self {
            card: material::card("observe", &material, about, &made_of),
            material,
            options,
        })
    }

    /// What is observed.
    pub fn options(&self) -> &ObserveOptions {
        &self.options
    }

    pub(crate) fn texts(&self) -> Result<Texts, TaskError> {
        let options = &self.options;
        let read = ScoreOptions {
            text: options.text.clone(),
            pair: options.pair.clone(),
            id: options.id.clone(),
            keep: options.keep.clone(),
            region: options.region.clone(),
            marks: options.marks.clone(),
            ..ScoreOptions::default()
        };
        Texts::new(&self.material, &read)
    }

    fn item(material: &Material, options: &ObserveOptions, text: &Text) -> Result<Item, TaskError> {
        let mut asks = Vec::new();
        for (part, column) in text.parts.iter().zip(options.columns()) {
            let picture = match options.pictures.contains(column) {
                true => {
                    let read = picture_of(&part.text, material.path());
                    Some(read.map_err(|why| material.wrong(text.line, why))?)
                }
                false => None,
            };
            let mut pools = Vec::new();
            for pool in &options.pools {
                pools.push(match (pool, part.regions.as_slice()) {
                    (PoolOf::Mean, _) => Pool::Mean,
                    (PoolOf::Last, _) => Pool::Last,
                    (PoolOf::First, _) => Pool::First,
                    (PoolOf::Joint, _) => Pool::Joint,
                    (PoolOf::Every, _) => {
                        let message =
                            "vectors of every token are written as they come, not kept in a run";
                        return Err(TaskError::Setting(message.into()));
                    }
                    (PoolOf::Region, [only]) => Pool::Span {
                        start: only.start,
                        end: only.end,
                    },
                    (PoolOf::Region, several) => {
                        let message = format!(
                            "expected one region of interest in the text, found {}",
                            several.len()
                        );
                        return Err(material.wrong(text.line, message));
                    }
                });
            }
            asks.push(Ask::subject(Request::Observe(Observe {
                text: match picture.is_some() && part.text.len() > LONGEST_NAME {
                    true => String::new(),
                    false => part.text.clone(),
                },
                picture,
                pools,
                layers: options.layers.clone(),
                with_scores: false,
            })));
        }
        let target = Target::Data(json!({ "line": text.line }));
        let mut item = Item::new(text.id.clone(), target, asks);
        for (name, value) in options.keep.iter().zip(&text.kept) {
            item = item.tagged(name, value.clone());
        }
        Ok(item)
    }
}

impl Task for ObserveTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs {
            observe: true,
            images: !self.options.pictures.is_empty(),
            ..Needs::default()
        }
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let (material, options) = (self.material.clone(), self.options.clone());
        let texts = self.texts()?;
        Ok(Box::new(texts.map(move |text| {
            text.and_then(|t| Self::item(&material, &options, &t))
        })))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        let found = vectors::of_answers(answers, &self.options.pools);
        if found
            .iter()
            .any(|pools| pools.iter().all(|o| o.layers.is_empty()))
        {
            let why = "a text has no vector".into();
            return Judgement::unscored(UnscoredReason::NotApplicable(why));
        }
        match found.as_slice() {
            [] => Judgement::failed(ErrorKind::Internal, "the answer holds no vectors"),
            [_] => Judgement::unscored(UnscoredReason::NotApplicable(VECTORS_ALONE.into())),
            // The last layer of the first pool is the score, the others stand beside it.
            [left, right, ..] => {
                let found = vectors::compare(left, right);
                let first = self.options.pools[0].name();
                let score = found.iter().rfind(|s| s.pool == first).or(found.first());
                let Some(score) = score else {
                    let why = "the vectors have no cosine";
                    return Judgement::failed(ErrorKind::NotFinite, why);
                };
                found
                    .iter()
                    .fold(Judgement::scored(score.cosine), |judgement, s| {
                        judgement.measured(&format!("{}_layer_{:02}", s.pool, s.layer), s.cosine)
                    })
            }
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(&self.card)
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::Number)
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        let pools: Vec<&str> = self.options.pools.iter().map(|p| p.name()).collect();
        let layers = serde_json::to_string(&self.options.layers).unwrap_or_default();
        let said = [
            ("data", material::origin(&self.material)),
            ("pooling", pools.join(", ")),
            ("layers", layers),
            ("scale", "cosine".into()),
        ];
        said.map(|(name, text)| (name.to_owned(), text)).into()
    }
}

//! What a user can set for a PHYSICO task, read once and checked.

use mary_contract::{Needs, PromptForm, TaskCard, TaskError, TaskSettings};

use crate::prompt::GridText;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceSource {
    Fresh,
    /// The authors' files, hub export or supplement.
    Published,
    /// ConceptARC, its folders being the labels.
    ConceptArc,
    /// ARC with the user's labels.
    Arc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By the log-probabilities of the options, which are phrases of different length.
    Score,
    /// By the log-probabilities of the letters that stand before the options in the prompt.
    Letters,
    Generate,
}

impl Mode {
    /// What a model must be able to do.
    pub fn needs(self, images: bool) -> Needs {
        Needs {
            score: self != Self::Generate,
            score_single_token: self == Self::Letters,
            generate: self == Self::Generate,
            images,
            ..Needs::default()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icl {
    None,
    /// This many, from concepts that are no option of the item.
    Other(usize),
    /// This many core instances whose labels are among the item's options.
    Same(usize),
}

impl Icl {
    pub fn name(self) -> String {
        match self {
            Self::None => "0".into(),
            Self::Other(n) => n.to_string(),
            Self::Same(n) => format!("{n}-same"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// Core, Table 6.
    Dev,
    /// Core, Table 7.
    Test,
    /// The 50 instances of Table 7 that o1-preview was asked.
    O1,
    Core,
    Associative,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PhysicoSettings {
    pub seed: u64,
    pub form: PromptForm,
    pub mode: Mode,
    pub source: InstanceSource,
    /// File with the user's labels, photographs or definitions.
    pub file: String,
    /// All that is said of a concept instead of one definition.
    pub long: bool,
    /// Describe each option first.
    pub cot: bool,
    pub icl: Icl,
    /// Fresh instances of each concept.
    pub per_concept: usize,
    pub part: Part,
    pub grid: GridText,
    /// Whether a judge reads descriptions.
    pub judge: bool,
    /// Whether a judge looks for the concept's aspects in descriptions, and the model is asked for more.
    pub recall: bool,
    /// Perception questions of each kind.
    pub n: usize,
    pub temperature: f64,
    pub max_tokens: u32,
}

impl PhysicoSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(card)?;
        let get = |name: &str| settings.param(card, name);
        let unknown = |name: &str| Err(card.not_one_of(name, get(name)));
        // A card without the parameter gives nothing.
        let modes = [
            ("score", Mode::Score),
            ("letters", Mode::Letters),
            ("generate", Mode::Generate),
            ("", Mode::Generate),
        ];
        let sources = [
            ("fresh", InstanceSource::Fresh),
            ("", InstanceSource::Fresh),
            ("published", InstanceSource::Published),
            ("concept-arc", InstanceSource::ConceptArc),
            ("arc", InstanceSource::Arc),
        ];
        let shots = [
            ("0", Icl::None),
            ("", Icl::None),
            ("3", Icl::Other(3)),
            ("9", Icl::Other(9)),
            ("9-same", Icl::Same(9)),
        ];
        let part = match (get("split"), get("set")) {
            ("dev", _) => Part::Dev,
            ("test", _) => Part::Test,
            ("o1", _) => Part::O1,
            (_, "core") => Part::Core,
            (_, "associative") => Part::Associative,
            ("all" | "", "all" | "") => Part::All,
            ("all" | "", _) => return unknown("set"),
            _ => return unknown("split"),
        };
        let grids = [
            ("rows", GridText::Rows),
            ("", GridText::Rows),
            ("json", GridText::Json),
        ];
        let on = |name| settings.choose(card, name, &[("on", true), ("off", false), ("", false)]);
        let lengths = [("short", false), ("", false), ("long", true)];
        let setup = Self {
            seed: settings.seed,
            form: settings.form,
            mode: settings.choose(card, "mode", &modes)?,
            source: settings.choose(card, "source", &sources)?,
            file: [get("labels"), get("manifest"), get("definitions")].concat(),
            long: settings.choose(card, "length", &lengths)?,
            cot: on("cot")?,
            icl: settings.choose(card, "icl", &shots)?,
            per_concept: positive(card, settings, "per_concept", 1)?,
            part,
            grid: settings.choose(card, "grid", &grids)?,
            judge: on("judge")?,
            recall: on("recall")?,
            n: positive(card, settings, "n", 40)?,
            temperature: settings
                .number(card, "temperature", |t: f64| t.is_finite() && t >= 0.0)?,
            max_tokens: positive(card, settings, "max_tokens", 1024)?,
        };
        setup.refuse_contradictions(card)?;
        Ok(setup)
    }

    fn refuse_contradictions(&self, card: &TaskCard) -> Result<(), TaskError> {
        let message = if self.long && !self.file.is_empty() {
            "length=long is of our own definitions: leave it out, or leave out definitions=FILE"
        } else if self.cot && self.mode != Mode::Generate {
            "cot=on needs written answers: add --set mode=generate"
        } else if self.icl != Icl::None && self.mode == Mode::Letters {
            "mode=letters has no shots, whose answers are phrases: leave icl at 0, or add --set mode=score"
        } else if self.source == InstanceSource::Arc && self.file.is_empty() {
            "source=arc needs your labels: add --set labels=FILE with lines `task,concept`"
        } else if !self.n.is_multiple_of(4) {
            "n must be a multiple of 4, since each option is right equally often"
        } else {
            return Ok(());
        };
        Err(TaskError::Setting(format!("{}: {message}", card.id)))
    }
}

fn positive<T: std::str::FromStr + From<u16> + PartialEq + Copy>(
    card: &TaskCard,
    settings: &TaskSettings,
    name: &str,
    default: u16,
) -> Result<T, TaskError> {
    match settings.param(card, name) {
        "" => Ok(T::from(default)),
        _ => settings.number(card, name, |n| n != T::from(0)),
    }
}

//! Fresh questions whose answer is computed, not written: colours from colour science, geometry from
//! coordinates, symbols from the pictures of printed glyphs. Without end, seeded, each asked only
//! where its answer is clear by a stated margin, and in three forms: in words, as a picture, as both.

mod block;
mod colour;
mod geometry;
mod moves;
pub mod sketch;
mod symbols;

pub use block::{Block, FreshItem, Kind, Posed};

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, Item, Items, Judgement, Measure, Needs, Param, Reply, Sample, Scoring, Target,
    Task, TaskCard, TaskError, TaskSettings, text,
};

use crate::Language;
use crate::choice::{Asking, MAX_TOKENS, MODE, Shown, judge, not_one_of, whole_set};

/// The parameters of the fresh tasks.
static PARAMS: [Param; 4] = [
    MODE,
    Param::new(
        "show",
        "text",
        "text, picture, both",
        "Say everything in words, show a picture and only ask, or both. The items are twins under \
                the same ids.",
    ),
    Param::new(
        "n",
        "200",
        "a multiple of 4",
        "Items, four to an option set.",
    ),
    MAX_TOKENS,
];

/// What a question is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// In words.
    Text,
    /// As a picture with the bare question.
    Picture,
    /// As both.
    Both,
}

impl Show {
    fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        match settings.param(card, "show") {
            "text" => Ok(Self::Text),
            "picture" => Ok(Self::Picture),
            "both" => Ok(Self::Both),
            other => Err(not_one_of(card, "show", other)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Picture => "picture",
            Self::Both => "both",
        }
    }
}

/// A task of fresh questions.
#[derive(Debug)]
pub struct FreshTask {
    card: &'static TaskCard,
    kinds: &'static [Kind],
    margins: &'static str,
}

const fn card(id: &'static str, title: &'static str, about: &'static str) -> TaskCard {
    TaskCard {
        id: text(id),
        family: text("embodied"),
        version: 1,
        title: text(title),
        about: text(about),
        chance: Some(0.25),
        human: None,
        params: Param::list(&PARAMS),
        dataset: None,
        citation: crate::CITATION,
        starter: None,
        content: None,
    }
}

static COLOUR_CARD: TaskCard = card(
    "embodied/fresh-colour",
    "Fresh colour",
    "Lightness, chroma, hue and mixtures of named colours, computed in two perceptual colour \
            spaces that must agree. Four questions share one set of options, each option being right \
            once, so that the question must be read. With `show` the same questions are asked in \
            words, of a picture, or with both.",
);

/// Colours.
pub static FRESH_COLOUR: FreshTask = FreshTask {
    card: &COLOUR_CARD,
    kinds: &colour::KINDS,
    margins: colour::MARGINS,
};

static GEOMETRY_CARD: TaskCard = card(
    "embodied/fresh-geometry",
    "Fresh geometry",
    "Paper folded and punched, cakes and polygons cut, shapes compared, cubes folded and piled, \
            boards and arrows turned: questions that are answered by picturing it, computed from \
            coordinates. Four questions share one set of options, each option being right once. With \
            `show` the same questions are asked in words, of a picture, or with both.",
);

/// Geometry.
pub static FRESH_GEOMETRY: FreshTask = FreshTask {
    card: &GEOMETRY_CARD,
    kinds: &geometry::KINDS,
    margins: geometry::MARGINS,
};

static SYMBOLS_CARD: TaskCard = card(
    "embodied/fresh-symbols",
    "Fresh symbols",
    "Printed letters, digits and signs as shapes: areas they enclose, pieces they fall into when \
            cut, strokes a line crosses, the side they are open to when turned, symmetry, size; read \
            off the pictures of real glyphs. Four questions share one set of options, each option being \
            right once. With `show` the same questions are asked in words, of a picture, or with both.",
);

/// Symbols.
pub static FRESH_SYMBOLS: FreshTask = FreshTask {
    card: &SYMBOLS_CARD,
    kinds: &symbols::KINDS,
    margins: symbols::MARGINS,
};

/// The three of them.
pub static FRESH_TASKS: [&FreshTask; 3] = [&FRESH_COLOUR, &FRESH_GEOMETRY, &FRESH_SYMBOLS];

/// Everything set.
#[derive(Debug, Clone, Copy)]
struct FreshSettings {
    asking: Asking,
    show: Show,
    seed: u64,
    n: usize,
}

impl FreshTask {
    /// `n` questions of a seed, before they are put to anyone.
    pub fn questions(&self, seed: u64, n: usize) -> Result<Vec<FreshItem>, TaskError> {
        block::items(&self.card.id, self.kinds, seed, n)
    }

    /// The names of its kinds of question.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|k| k.name)
    }

    fn setup(&self, settings: &TaskSettings) -> Result<FreshSettings, TaskError> {
        let asking = Asking::read(self.card, settings)?;
        let n = settings.param(self.card, "n");
        Ok(FreshSettings {
            asking,
            show: Show::read(self.card, settings)?,
            seed: settings.seed,
            n: n.parse().map_err(|_| not_one_of(self.card, "n", n))?,
        })
    }
}

/// A question as it is shown: its words and its options.
fn shown(show: Show, fresh: &FreshItem) -> (String, Vec<String>) {
    match show {
        Show::Text => (fresh.posed.words.clone(), fresh.options.clone()),
        Show::Picture => (fresh.posed.seen.clone(), fresh.seen_options.clone()),
        Show::Both => (
            format!("{}\n{}", fresh.posed.words, fresh.posed.caption),
            fresh.options.clone(),
        ),
    }
}

fn item(setup: &FreshSettings, number: usize, fresh: &FreshItem) -> Result<Item, TaskError> {
    let (question, options) = shown(setup.show, fresh);
    let picture = match setup.show {
        Show::Text => None,
        Show::Picture | Show::Both => Some(fresh.posed.sketch.png()?),
    };
    let ask = setup.asking.ask(&Shown {
        index: number as u32 + 1,
        question: &question,
        options: &options,
        language: Language::En,
        picture: picture.as_ref(),
    });
    let target = Target::Choice {
        question,
        options,
        correct: fresh.correct,
    };
    let mut item = Item::new(format!("{}-{number:04}", setup.seed), target, vec![ask])
        .in_stratum(fresh.kind)
        .tagged("kind", fresh.kind)
        .tagged("show", setup.show.name());
    item.cluster = Some(format!("block-{:04}", fresh.block));
    Ok(item)
}

impl Task for FreshTask {
    fn card(&self) -> &TaskCard {
        self.card
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let setup = self.setup(settings).ok();
        let images = setup.is_some_and(|s| s.show != Show::Text);
        setup.map_or(Needs::default(), |s| s.asking.needs(images))
    }

    fn items(&self, settings: &TaskSettings, _data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = self.setup(settings)?;
        let fresh = self.questions(setup.seed, setup.n)?;
        let items = fresh.into_iter().enumerate();
        Ok(Box::new(
            items.map(move |(number, fresh)| item(&setup, number, &fresh)),
        ))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge(item, answers, None)
    }

    fn overall(
        &self,
        _settings: &TaskSettings,
        samples: &mut dyn Iterator<Item = Sample>,
    ) -> Vec<Measure> {
        whole_set(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        let setup = self.setup(settings);
        setup.map_or(Scoring::WRITTEN, |setup| setup.asking.scoring())
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = self.setup(settings) else {
            return BTreeMap::new();
        };
        let mut said = setup.asking.conventions(Language::En);
        let shown = match setup.show {
            Show::Text => "in words",
            Show::Picture => "as a picture (PNG, 512 dots wide) with the bare question",
            Show::Both => "in words and as a picture (PNG, 512 dots wide)",
        };
        said.insert("shown".into(), shown.into());
        said.insert("margin".into(), self.margins.into());
        said.insert(
            "source".into(),
            format!("fresh, seed {}, {} items", setup.seed, setup.n),
        );
        said
    }
}

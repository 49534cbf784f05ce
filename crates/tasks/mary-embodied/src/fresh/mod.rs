//! Fresh questions whose answer is computed, not written: colours from colour science, geometry from
//! coordinates, symbols from the pictures of printed glyphs. Without end, seeded, each asked only
//! where its answer is clear by a stated margin, and in three forms: in words, as a picture, as both.

mod block;
mod colour;
mod geometry;
mod moves;
mod said;
pub mod sketch;
pub mod symbols;

pub use block::{Block, FreshItem, FreshKind, Posed};
pub use said::{Level, Said};

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, ForPeople, Item, Items, Judgement, Measure, Needs, Param, Reply, Sample, Scoring,
    Target, Task, TaskCard, TaskError, TaskSettings, text,
};

use crate::Language;
use crate::choice::{
    Asking, LANGUAGES, MAX_TOKENS, MODE, ShownQuestion, choose, judge, not_one_of, whole_set,
};

const SHOW: Param = Param::new(
    "show",
    "text",
    "text, picture, both",
    "Say everything in words, show a picture and only ask, or both. The items are twins under \
            the same ids.",
);
const LANGUAGE: Param = Param::new(
    "language",
    "en",
    "en, zh",
    "English or Chinese. The items are twins under the same ids.",
);
const LEVEL: Param = Param::new(
    "level",
    "any",
    "any, 1, 2, 3, 4",
    "Questions as they come, or of one rung of the ladder: from 1 to 4 there is more to keep in mind \
            (folds, cuts, moves, symbols) or less that tells two things apart.",
);
const N: Param = Param::new(
    "n",
    "200",
    "a multiple of 4",
    "Items, four to an option set.",
);
const COLOURS: Param = Param::new(
    "colours",
    "names",
    "names, life, both",
    "Colours of the CSS standard by their names, things as they look in life (snow, coal, a ripe lemon), \
            or both.",
);

static PARAMS: [Param; 6] = [MODE, SHOW, LANGUAGE, LEVEL, N, MAX_TOKENS];
static COLOUR_PARAMS: [Param; 7] = [MODE, SHOW, LANGUAGE, LEVEL, COLOURS, N, MAX_TOKENS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    Text,
    /// As a picture with the bare question.
    Picture,
    Both,
}

impl Show {
    const ALL: [(&str, Self); 3] = [
        ("text", Self::Text),
        ("picture", Self::Picture),
        ("both", Self::Both),
    ];

    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, show)| *show == self);
        found.map_or("", |(name, _)| name)
    }
}

#[derive(Debug)]
pub struct FreshTask {
    card: &'static TaskCard,
    kinds: &'static [FreshKind],
    /// Asked only where the setting `colours` wants them.
    in_life: &'static [FreshKind],
    margins: &'static str,
}

const fn card(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    params: &'static [Param],
) -> TaskCard {
    TaskCard {
        id: text(id),
        family: text("embodied"),
        version: 2,
        title: text(title),
        about: text(about),
        chance: Some(0.25),
        human: None,
        params: Param::list(params),
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
    &COLOUR_PARAMS,
);

pub static FRESH_COLOUR: FreshTask = FreshTask {
    card: &COLOUR_CARD,
    kinds: &colour::BY_NAME,
    in_life: &colour::IN_LIFE,
    margins: colour::MARGINS,
};

static GEOMETRY_CARD: TaskCard = card(
    "embodied/fresh-geometry",
    "Fresh geometry",
    "Paper folded and punched, cakes and polygons cut, shapes compared, cubes folded and piled, \
            boards and arrows turned: questions that are answered by picturing it, computed from \
            coordinates. Four questions share one set of options, each option being right once. With \
            `show` the same questions are asked in words, of a picture, or with both.",
    &PARAMS,
);

pub static FRESH_GEOMETRY: FreshTask = FreshTask {
    card: &GEOMETRY_CARD,
    kinds: &geometry::KINDS,
    in_life: &[],
    margins: geometry::MARGINS,
};

static SYMBOLS_CARD: TaskCard = card(
    "embodied/fresh-symbols",
    "Fresh symbols",
    "Printed letters, digits and signs as shapes: areas they enclose, pieces they fall into when \
            cut, strokes a line crosses, the side they are open to when turned, symmetry, size; read \
            off the pictures of real glyphs. Four questions share one set of options, each option being \
            right once. With `show` the same questions are asked in words, of a picture, or with both.",
    &PARAMS,
);

pub static FRESH_SYMBOLS: FreshTask = FreshTask {
    card: &SYMBOLS_CARD,
    kinds: &symbols::KINDS,
    in_life: &[],
    margins: symbols::MARGINS,
};

pub static FRESH_TASKS: [&FreshTask; 3] = [&FRESH_COLOUR, &FRESH_GEOMETRY, &FRESH_SYMBOLS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    Names,
    /// Of things as they look in life.
    Life,
    Both,
}

#[derive(Debug, Clone, Copy)]
struct FreshSettings {
    asking: Asking,
    show: Show,
    language: Language,
    level: Level,
    colours: Colours,
    seed: u64,
    n: usize,
}

impl FreshTask {
    /// `n` questions of a seed as they come by default, before they are put to anyone.
    pub fn questions(&self, seed: u64, n: usize) -> Result<Vec<FreshItem>, TaskError> {
        self.drawn(seed, n, Level::Any, Colours::Names)
    }

    /// `n` questions of a seed, of a level of the ladder and (of colours) by name or in life.
    pub fn drawn(
        &self,
        seed: u64,
        n: usize,
        level: Level,
        colours: Colours,
    ) -> Result<Vec<FreshItem>, TaskError> {
        block::items(&self.card.id, &self.asked(colours), (seed, level), n)
    }

    fn asked(&self, colours: Colours) -> Vec<&'static FreshKind> {
        let (names, life) = match colours {
            _ if self.in_life.is_empty() => (true, false),
            Colours::Names => (true, false),
            Colours::Life => (false, true),
            Colours::Both => (true, true),
        };
        let by_name = self.kinds.iter().filter(|_| names);
        by_name
            .chain(self.in_life.iter().filter(|_| life))
            .collect()
    }

    /// Its kinds of question: as they come by default, and those of things in life.
    pub fn kinds(&self) -> impl Iterator<Item = &'static FreshKind> {
        self.kinds.iter().chain(self.in_life)
    }

    fn setup(&self, settings: &TaskSettings) -> Result<FreshSettings, TaskError> {
        let asking = Asking::read(self.card, settings)?;
        let colours = [
            // A card without the parameter gives nothing.
            ("", Colours::Names),
            ("names", Colours::Names),
            ("life", Colours::Life),
            ("both", Colours::Both),
        ];
        let [level, n] = ["level", "n"].map(|name| settings.param(self.card, name));
        Ok(FreshSettings {
            asking,
            show: choose(self.card, settings, "show", &Show::ALL)?,
            language: choose(self.card, settings, "language", &LANGUAGES)?,
            level: Level::named(level).ok_or_else(|| not_one_of(self.card, "level", level))?,
            colours: choose(self.card, settings, "colours", &colours)?,
            seed: settings.seed,
            n: n.parse().map_err(|_| not_one_of(self.card, "n", n))?,
        })
    }
}

/// A question as it is shown: its words and its options.
fn shown(setup: &FreshSettings, fresh: &FreshItem) -> (String, Vec<String>) {
    let said = |text: &Said| text.in_language(setup.language).to_owned();
    let all = |options: &[Said]| options.iter().map(said).collect();
    match setup.show {
        Show::Text => (said(&fresh.posed.words), all(&fresh.options)),
        Show::Picture => (said(&fresh.posed.seen), all(&fresh.seen_options)),
        Show::Both => (
            format!(
                "{}\n{}",
                said(&fresh.posed.words),
                said(&fresh.posed.caption)
            ),
            all(&fresh.options),
        ),
    }
}

fn item(setup: &FreshSettings, number: usize, fresh: &FreshItem) -> Result<Item, TaskError> {
    let (question, options) = shown(setup, fresh);
    let picture = match setup.show {
        Show::Text => None,
        Show::Picture | Show::Both => Some(fresh.posed.sketch.png()?),
    };
    let ask = setup.asking.ask(&ShownQuestion {
        index: number as u32 + 1,
        question: &question,
        options: &options,
        language: setup.language,
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
        .tagged("show", setup.show.name())
        .tagged("level", setup.level.name());
    item.cluster = Some(format!("block-{:04}", fresh.block));
    Ok(item)
}

impl Task for FreshTask {
    fn card(&self) -> &TaskCard {
        self.card
    }

    fn for_people(&self, settings: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let language = self.setup(settings).ok()?.language;
        Some(ForPeople::of(item)?.told(match language {
            Language::En => "Choose the right answer.",
            Language::Zh => "请选出正确的答案。",
        }))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let setup = self.setup(settings).ok();
        let images = setup.is_some_and(|s| s.show != Show::Text);
        setup.map_or(Needs::default(), |s| s.asking.needs(images))
    }

    fn items(&self, settings: &TaskSettings, _data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = self.setup(settings)?;
        let fresh = self.drawn(setup.seed, setup.n, setup.level, setup.colours)?;
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
        let mut said = setup.asking.conventions(setup.language);
        let shown = match setup.show {
            Show::Text => "in words",
            Show::Picture => "as a picture (PNG, 512 dots wide) with the bare question",
            Show::Both => "in words and as a picture (PNG, 512 dots wide)",
        };
        said.insert("shown".into(), shown.into());
        said.insert("language".into(), setup.language.code().into());
        if setup.level != Level::Any {
            let grows: Vec<String> = self
                .asked(setup.colours)
                .iter()
                .filter_map(|k| Some(format!("{} ({})", k.name, k.grows?)))
                .collect();
            said.insert(
                "level".into(),
                format!("rung {} of 4: {}", setup.level.name(), grows.join("; ")),
            );
        }
        said.insert("margin".into(), self.margins.into());
        said.insert(
            "source".into(),
            format!("fresh, seed {}, {} items", setup.seed, setup.n),
        );
        said
    }
}

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
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ForPeople, Item, Items, Judgement, Measure, Needs, Reply, Sample, Scoring, Target,
    Task, TaskCard, TaskError, TaskSettings,
};

use crate::Language;
use crate::cards::{FILE, card};
use crate::choice::{Asking, LANGUAGES, ShownQuestion, judge, whole_set};

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Show {
        Text = "text",
        Picture = "picture",
        Both = "both",
    }
}

#[derive(Debug)]
pub struct FreshTask {
    card: LazyLock<TaskCard>,
    kinds: &'static [FreshKind],
    /// Asked only where the setting `colours` wants them.
    in_life: &'static [FreshKind],
}

pub static FRESH_COLOUR: FreshTask = FreshTask {
    card: LazyLock::new(|| card("embodied/fresh-colour")),
    kinds: &colour::BY_NAME,
    in_life: &colour::IN_LIFE,
};

pub static FRESH_GEOMETRY: FreshTask = FreshTask {
    card: LazyLock::new(|| card("embodied/fresh-geometry")),
    kinds: &geometry::KINDS,
    in_life: &[],
};

pub static FRESH_SYMBOLS: FreshTask = FreshTask {
    card: LazyLock::new(|| card("embodied/fresh-symbols")),
    kinds: &symbols::KINDS,
    in_life: &[],
};

pub static FRESH_TASKS: [&FreshTask; 3] = [&FRESH_COLOUR, &FRESH_GEOMETRY, &FRESH_SYMBOLS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    Names,
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
    pub fn questions(&self, seed: u64, n: usize) -> Result<Vec<FreshItem>, TaskError> {
        self.drawn(seed, n, Level::Any, Colours::Names)
    }

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
        let in_life = by_name.chain(self.in_life.iter().filter(|_| life));
        in_life.collect()
    }

    pub fn kinds(&self) -> impl Iterator<Item = &'static FreshKind> {
        self.kinds.iter().chain(self.in_life)
    }

    fn setup(&self, settings: &TaskSettings) -> Result<FreshSettings, TaskError> {
        let asking = Asking::read(&self.card, settings)?;
        let colours = [
            // A card without the parameter gives nothing.
            ("", Colours::Names),
            ("names", Colours::Names),
            ("life", Colours::Life),
            ("both", Colours::Both),
        ];
        let level = settings.param(&self.card, "level");
        Ok(FreshSettings {
            asking,
            show: settings.choose(&self.card, "show", &Show::ALL.map(|s| (s.name(), s)))?,
            language: settings.choose(&self.card, "language", &LANGUAGES)?,
            level: Level::named(level).ok_or_else(|| self.card.not_one_of("level", level))?,
            colours: settings.choose(&self.card, "colours", &colours)?,
            seed: settings.seed,
            n: settings.number(&self.card, "n", |_| true)?,
        })
    }
}

fn shown(setup: &FreshSettings, fresh: &FreshItem) -> (String, Vec<String>) {
    let said = |text: &Said| text.in_language(setup.language).to_owned();
    let all = |options: &[Said]| options.iter().map(said).collect();
    match setup.show {
        Show::Text => (said(&fresh.posed.words), all(&fresh.options)),
        Show::Picture => (said(&fresh.posed.seen), all(&fresh.seen_options)),
        Show::Both => {
            let (words, caption) = (said(&fresh.posed.words), said(&fresh.posed.caption));
            (format!("{words}\n{caption}"), all(&fresh.options))
        }
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
    let target = Target::one_of(question, options, fresh.correct);
    let mut item = Item::new(format!("{}-{number:04}", setup.seed), target, vec![ask])
        .in_stratum_of("kind", fresh.kind)
        .tagged("show", setup.show.name())
        .tagged("level", setup.level.name());
    item.cluster = Some(format!("block-{:04}", fresh.block));
    Ok(item)
}

impl Task for FreshTask {
    fn card(&self) -> &TaskCard {
        &self.card
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
        let items = items.map(move |(number, fresh)| item(&setup, number, &fresh));
        Ok(Box::new(items))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge(item, answers, None)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
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
        let [letters, most] = setup.asking.computed(setup.language);
        let computed = [letters, most, ("n", setup.n.to_string())];
        let mut said = FILE.conventions(&self.card, settings, &computed);
        if setup.level != Level::Any {
            let kinds = self.asked(setup.colours).into_iter();
            let grows = kinds.filter_map(|k| Some(format!("{} ({})", k.name, k.grows?)));
            let grows = grows.collect::<Vec<_>>().join("; ");
            let rung = setup.level.name();
            said.insert("level".into(), format!("rung {rung} of 4: {grows}"));
        }
        said
    }
}

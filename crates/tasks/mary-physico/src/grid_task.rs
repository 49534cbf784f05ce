//! The high level: three pairs of grids, four concepts, as numbers or as a picture.

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, ForPeople, Image, Item, Items, Judgement, Measure, Needs, Param, Part, Reference,
    Reply, Sample, Scoring, Target, Task, TaskCard, TaskError, TaskSettings, text,
};
use mary_generators::{shuffle, stream};

use crate::grid::Pair;
use crate::instances::{self, Instance, Level, Split};
use crate::judging;
use crate::picture;
use crate::prompt::{self, Asked, GridText, Shot};
use crate::setup::{
    ASSOCIATIVE_TEXT, ASSOCIATIVE_VISUAL, CITATION, CORE_TEXT, CORE_VISUAL, Icl, Mode,
    PhysicoSettings, Source,
};
use crate::upstream;
use crate::worlds::Concept;

#[derive(Debug)]
pub struct GridTask {
    card: &'static TaskCard,
    level: Level,
    seen: bool,
}

const CORE_ABOUT: &str = "Three pairs of grids show one of 52 physical concepts at work; which of four \
    is it? One aspect is shown clearly. Four instances share one option set, each option being right \
    once, so that the grids must be understood.";
const ASSOCIATIVE_ABOUT: &str = "Three pairs of grids that a physical concept explains by analogy, \
    among objects that take no part; which of four concepts is it?";

const fn card(
    id: &'static str,
    title: &'static str,
    level: Level,
    params: &'static [mary_contract::Param],
    version: u32,
    starter: Option<usize>,
) -> TaskCard {
    let (about, human) = match level {
        Level::Core => (CORE_ABOUT, 0.92),
        Level::Associative => (ASSOCIATIVE_ABOUT, 0.778),
    };
    TaskCard {
        id: text(id),
        family: text("physico"),
        version,
        title: text(title),
        about: text(about),
        chance: Some(0.25),
        human: Some(Reference::new(
            human,
            "Yu et al. 2025, Table 3, on the authors' own grids (core: the test set)",
        )),
        params: Param::list(params),
        dataset: Some(text(upstream::DATASET)),
        citation: CITATION,
        starter,
        content: None,
    }
}

/// `physico/core-text`.
pub static CORE_TEXT_TASK: GridTask = GridTask {
    card: &card(
        "physico/core-text",
        "Core, grids as numbers",
        Level::Core,
        &CORE_TEXT,
        4,
        Some(8),
    ),
    level: Level::Core,
    seen: false,
};
/// `physico/core-visual`.
pub static CORE_VISUAL_TASK: GridTask = GridTask {
    card: &card(
        "physico/core-visual",
        "Core, grids as a picture",
        Level::Core,
        &CORE_VISUAL,
        5,
        None,
    ),
    level: Level::Core,
    seen: true,
};
/// `physico/associative-text`.
pub static ASSOCIATIVE_TEXT_TASK: GridTask = GridTask {
    card: &card(
        "physico/associative-text",
        "Associative, grids as numbers",
        Level::Associative,
        &ASSOCIATIVE_TEXT,
        4,
        None,
    ),
    level: Level::Associative,
    seen: false,
};
/// `physico/associative-visual`.
pub static ASSOCIATIVE_VISUAL_TASK: GridTask = GridTask {
    card: &card(
        "physico/associative-visual",
        "Associative, grids as a picture",
        Level::Associative,
        &ASSOCIATIVE_VISUAL,
        5,
        None,
    ),
    level: Level::Associative,
    seen: true,
};

pub static GRID_TASKS: [&GridTask; 4] = [
    &CORE_TEXT_TASK,
    &CORE_VISUAL_TASK,
    &ASSOCIATIVE_TEXT_TASK,
    &ASSOCIATIVE_VISUAL_TASK,
];

impl GridTask {
    /// Whether grids are shown as a picture.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// Core or associative.
    pub fn level(&self) -> Level {
        self.level
    }

    pub fn setup(&self, settings: &TaskSettings) -> Result<PhysicoSettings, TaskError> {
        PhysicoSettings::read(self.card, settings)
    }

    fn item(&self, setup: &PhysicoSettings, instance: Instance) -> Result<Item, TaskError> {
        let asked = asked(self.seen, setup, &instance)?;
        let shots = self.shots(setup, &instance)?;
        let ask = judging::ask(setup, &shots, &asked, &instance.options);
        Ok(described(&instance, question(&instance.pairs), vec![ask]))
    }

    /// The shots of an item: the same for the four items of a block where they come from other
    /// concepts, so that the model reads them once.
    fn shots(&self, setup: &PhysicoSettings, instance: &Instance) -> Result<Vec<Shot>, TaskError> {
        let core = Level::Core.concepts();
        let among = |c: &&'static Concept| instance.options.iter().any(|o| o == c.name);
        let (count, same) = match setup.icl {
            Icl::None => return Ok(vec![]),
            Icl::Other(n) => (n, false),
            Icl::Same(n) => (n, true),
        };
        let mut pool: Vec<&'static Concept> =
            core.iter().copied().filter(|c| among(c) == same).collect();
        let rivals = if same { pool.clone() } else { core };
        let key = instance.block.as_ref().unwrap_or(&instance.id);
        let mut rng = stream(
            setup.seed,
            &format!("physico/shots/{}/{key}", setup.icl.name()),
        );
        shuffle(&mut rng, &mut pool);
        let mut shots = Vec::with_capacity(count);
        for place in 0..count {
            let Some(concept) = pool.get(place % pool.len().max(1)) else {
                break;
            };
            let mut shown = instances::shot(concept, &rivals, &mut rng)?;
            if same {
                // The paper's shots on the same concepts are labelled among the item's own options.
                shown.options.clone_from(&instance.options);
            }
            shots.push(Shot {
                asked: asked(self.seen, setup, &shown)?,
                answer: shown.concept,
            });
        }
        shuffle(&mut rng, &mut shots);
        Ok(shots)
    }

    fn conventions_of(&self, setup: &PhysicoSettings) -> BTreeMap<String, String> {
        let mut conventions = BTreeMap::new();
        let mut say = |name: &str, text: String| {
            conventions.insert(name.to_owned(), text);
        };
        let template = match (self.seen, setup.cot) {
            (false, false) => "Yu et al. 2025, Figure 7; options parted by commas",
            (true, false) => "Yu et al. 2025, Figure 8; options parted by commas",
            (false, true) => {
                "Yu et al. 2025, Figure 7, with a line of ours that asks to describe each option"
            }
            (true, true) => {
                "Yu et al. 2025, Figure 8, with a line of ours that asks to describe each option"
            }
        };
        say("template", template.into());
        if !self.seen {
            let grid = match setup.grid {
                GridText::Rows => "a row a line, numbers parted by blanks",
                GridText::Json => "nested brackets",
            };
            say("grid", grid.into());
        }
        say("shots", setup.icl.name());
        say("source", source(setup));
        judging::conventions(setup, &mut say);
        conventions
    }
}

/// The question with its grids, as numbers or as a picture.
fn asked(seen: bool, setup: &PhysicoSettings, instance: &Instance) -> Result<Asked, TaskError> {
    Ok(if seen {
        prompt::picture(image(&instance.pairs)?, &instance.options, setup.cot)
    } else {
        prompt::grids(&instance.pairs, &instance.options, setup.grid, setup.cot)
    })
}

/// The picture of some pairs.
pub fn image(pairs: &[Pair]) -> Result<Image, TaskError> {
    let data = picture::png(&picture::prompt(pairs))
        .map_err(|e| TaskError::Generator(format!("physico: {e}")))?;
    Ok(Image {
        media_type: "image/png".into(),
        data,
    })
}

/// The grids alone, for audits and viewers.
pub fn question(pairs: &[Pair]) -> String {
    let sides = pairs
        .iter()
        .map(|p| format!("{}\n->\n{}", p.input, p.output));
    sides.collect::<Vec<_>>().join("\n\n")
}

/// An item with what results are broken down by.
pub fn described(instance: &Instance, question: String, asks: Vec<mary_contract::Ask>) -> Item {
    let target = Target::Choice {
        question,
        options: instance.options.clone(),
        correct: instance.correct,
    };
    let mut item = Item::new(instance.id.clone(), target, asks)
        .in_stratum(instance.split.name())
        .tagged("split", instance.split.name())
        .tagged("pair", pair_tag(instance.split, &instance.concept))
        .tagged("concept", instance.concept.clone());
    if let Some(aspect) = &instance.aspect {
        item = item.tagged("aspect", format!("{}: {aspect}", instance.concept));
    }
    item.cluster.clone_from(&instance.block);
    item
}

/// What low and high level are paired by: the kind of instance (and with it the option sets) and the
/// concept.
pub fn pair_tag(split: Split, concept: &str) -> String {
    let kind = match split {
        Split::CoreDev | Split::CoreTest => "core",
        Split::Associative => "associative",
    };
    format!("{kind}: {concept}")
}

/// Where instances came from, in words.
pub fn source(setup: &PhysicoSettings) -> String {
    match setup.source {
        Source::Fresh => format!(
            "fresh instances of seed {}, {} of each concept",
            setup.seed, setup.per_concept
        ),
        Source::Published => {
            "the authors' files; splits named by concept (the release swapped them)".into()
        }
        Source::ConceptArc => "ConceptARC, folder names as labels".into(),
        Source::Arc => "ARC with the user's labels".into(),
    }
}

/// Whether nine shots on the same concepts can be given: at least two options are core concepts (the
/// paper's rule for Table 5).
fn has_core_options(instance: &Instance) -> bool {
    let core = |o: &&String| Split::of_core(o).is_some();
    instance.options.iter().filter(core).count() >= 2
}

impl Task for GridTask {
    fn card(&self) -> &TaskCard {
        self.card
    }

    /// The picture alone, or the grids as numbers; options by their names, as the judge reads them.
    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let mut shown = ForPeople::of(item)?;
        let side = if self.seen {
            shown.parts.retain(|part| matches!(part, Part::Image(_)));
            "on the left"
        } else {
            "before the arrow"
        };
        Some(shown.told(format!(
            "In every pair, the grid {side} turns into the other in the same way. Which physical concept \
             is at work?"
        )))
    }

    /// People were asked about the authors' instances, not about ours.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        let published = self
            .setup(settings)
            .is_ok_and(|s| s.source == Source::Published);
        self.card.human.clone().filter(|_| published)
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        // Settings that make no sense are refused by `items`; until then, the default's needs.
        let default = if self.seen {
            Mode::Generate
        } else {
            Mode::Score
        };
        let mode = self.setup(settings).map_or(default, |s| s.mode);
        mode.needs(self.seen)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = self.setup(settings)?;
        let same = matches!(setup.icl, Icl::Same(_));
        let instances = instances::instances(self.level, &setup, data)?;
        let (card, level, seen) = (self.card, self.level, self.seen);
        Ok(Box::new(
            instances
                .filter(move |i| !same || i.as_ref().map_or(true, has_core_options))
                .map(move |i| GridTask { card, level, seen }.item(&setup, i?)),
        ))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge_choice(item, answers)
    }

    fn overall(
        &self,
        _settings: &TaskSettings,
        samples: &mut dyn Iterator<Item = Sample>,
    ) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        self.setup(settings)
            .map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        self.setup(settings)
            .map(|setup| self.conventions_of(&setup))
            .unwrap_or_default()
    }
}

/// The verdict where one answer settles the item.
pub fn judge_choice(item: &Item, answers: &[Reply]) -> Judgement {
    let Target::Choice {
        options, correct, ..
    } = &item.target
    else {
        return judging::failed("a PHYSICO item has a choice as its target");
    };
    match answers {
        [reply] => judging::judged(options, *correct, &reply.answer),
        other => judging::failed(&format!("expected one answer, found {}", other.len())),
    }
}

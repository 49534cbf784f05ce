//! The high level: three pairs of grids, four concepts, as numbers or as a picture.

use std::sync::LazyLock;

use mary_contract::{DataSource, ForPeople, Image, Item, Items, Part, Target, TaskError};
use mary_generators::{shuffle, stream};

use crate::cards::card;
use crate::choice_task::ChoiceTask;
use crate::grid::Pair;
use crate::instances::{self, Instance, Level, Split};
use crate::judging::{self, SHARED, SHARED_PAIR, WITH_CORE};
use crate::picture;
use crate::prompt::{self, PromptContent, Shot};
use crate::setup::{Icl, PhysicoSettings};
use crate::worlds::Concept;

pub(crate) static CORE_TEXT_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/core-text")),
    seen: false,
    source: None,
    items: |setup, data| items(Level::Core, false, setup, data),
    for_people: for_readers,
};
pub(crate) static CORE_VISUAL_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/core-visual")),
    seen: true,
    source: None,
    items: |setup, data| items(Level::Core, true, setup, data),
    for_people: for_viewers,
};
pub(crate) static ASSOCIATIVE_TEXT_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/associative-text")),
    seen: false,
    source: None,
    items: |setup, data| items(Level::Associative, false, setup, data),
    for_people: for_readers,
};
pub(crate) static ASSOCIATIVE_VISUAL_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/associative-visual")),
    seen: true,
    source: None,
    items: |setup, data| items(Level::Associative, true, setup, data),
    for_people: for_viewers,
};

pub(crate) static GRID_TASKS: [(&ChoiceTask, Level); 4] = [
    (&CORE_TEXT_TASK, Level::Core),
    (&CORE_VISUAL_TASK, Level::Core),
    (&ASSOCIATIVE_TEXT_TASK, Level::Associative),
    (&ASSOCIATIVE_VISUAL_TASK, Level::Associative),
];

fn items(
    level: Level,
    seen: bool,
    setup: PhysicoSettings,
    data: &dyn DataSource,
) -> Result<Items, TaskError> {
    let same = matches!(setup.icl, Icl::Same(_));
    let instances = instances::instances(level, &setup, data)?;
    let taken = instances.filter(move |i| !same || i.as_ref().map_or(true, has_core_options));
    Ok(Box::new(taken.map(move |i| item(seen, &setup, i?))))
}

fn item(seen: bool, setup: &PhysicoSettings, instance: Instance) -> Result<Item, TaskError> {
    let asked = asked(seen, setup, &instance)?;
    let shots = shots(seen, setup, &instance)?;
    let ask = judging::ask(setup, &shots, &asked, &instance.options);
    Ok(described(&instance, question(&instance.pairs), vec![ask]))
}

/// The shots of an item: the same for the four items of a block where they come from other
/// concepts, so that the model reads them once.
fn shots(seen: bool, setup: &PhysicoSettings, instance: &Instance) -> Result<Vec<Shot>, TaskError> {
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
    let name = format!("physico/shots/{}/{key}", setup.icl.name());
    let mut rng = stream(setup.seed, &name);
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
            asked: asked(seen, setup, &shown)?,
            answer: shown.concept,
        });
    }
    shuffle(&mut rng, &mut shots);
    Ok(shots)
}

/// The picture alone; options by their names, as the judge reads them.
fn for_viewers(mut shown: ForPeople) -> ForPeople {
    shown.parts.retain(|part| matches!(part, Part::Image(_)));
    told(shown, "on the left")
}

fn for_readers(shown: ForPeople) -> ForPeople {
    told(shown, "before the arrow")
}

fn told(shown: ForPeople, side: &str) -> ForPeople {
    shown.told(format!(
        "In every pair, the grid {side} turns into the other in the same way. Which physical concept is at \
         work?"
    ))
}

fn asked(
    seen: bool,
    setup: &PhysicoSettings,
    instance: &Instance,
) -> Result<PromptContent, TaskError> {
    Ok(if seen {
        prompt::picture(image(&instance.pairs)?, &instance.options, setup.cot)
    } else {
        prompt::grids(&instance.pairs, &instance.options, setup.grid, setup.cot)
    })
}

pub fn image(pairs: &[Pair]) -> Result<Image, TaskError> {
    let data = picture::png(&picture::prompt(pairs))
        .map_err(|e| TaskError::Generator(format!("physico: {e}")))?;
    Ok(Image::png(data))
}

/// The grids alone, for audits and viewers.
pub fn question(pairs: &[Pair]) -> String {
    let sides = |p: &Pair| format!("{}\n->\n{}", p.input, p.output);
    pairs.iter().map(sides).collect::<Vec<_>>().join("\n\n")
}

pub fn described(instance: &Instance, question: String, asks: Vec<mary_contract::Ask>) -> Item {
    let target = Target::one_of(question, instance.options.clone(), instance.correct);
    let mut item = Item::new(instance.id.clone(), target, asks)
        .in_stratum_of("split", instance.split.name())
        .tagged("pair", pair_tag(instance.split, &instance.concept))
        .tagged("concept", instance.concept.clone());
    if let Some(aspect) = &instance.aspect {
        item = item.tagged("aspect", format!("{}: {aspect}", instance.concept));
    }
    if instance.split == Split::Associative && has_core_options(instance) {
        let pair = pair_tag(instance.split, &instance.concept);
        item = item.tagged(SHARED, WITH_CORE).tagged(SHARED_PAIR, pair);
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

/// Whether nine shots on the same concepts can be given: at least two options are core concepts (the
/// paper's rule for Table 5).
fn has_core_options(instance: &Instance) -> bool {
    let core = |o: &&String| Split::of_core(o).is_some();
    instance.options.iter().filter(core).count() >= 2
}

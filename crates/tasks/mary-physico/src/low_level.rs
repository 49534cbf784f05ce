//! The low level: the concept from a masked definition with the options of a high-level instance, so
//! that what a model can say is held against what it can see, concept by concept; and what the other
//! low-level tasks (photographs, descriptions) share with it.

use std::sync::LazyLock;

use mary_contract::{DataSource, Items, TaskError};

use crate::cards::card;
use crate::choice_task::{ChoiceTask, said};
use crate::grid_task::described;
use crate::instances::{Instance, Level, planned};
use crate::judging;
use crate::prompt;
use crate::setup::{Part, PhysicoSettings};
use crate::worlds::{self, Concept};

/// The instances whose options the low level shares.
pub(crate) fn planned_instances(setup: &PhysicoSettings) -> Result<Vec<Instance>, TaskError> {
    let levels: &[Level] = match setup.part {
        Part::Core | Part::Dev | Part::Test | Part::O1 => &[Level::Core],
        Part::Associative => &[Level::Associative],
        Part::All => &[Level::Core, Level::Associative],
    };
    let mut found = Vec::new();
    for &level in levels {
        let of = planned(level, setup.seed, setup.per_concept)?;
        found.extend(of.iter().map(|p| p.bare()));
    }
    Ok(found)
}

pub(crate) fn defined(concept: &str) -> Result<&'static Concept, TaskError> {
    worlds::concept(concept)
        .ok_or_else(|| TaskError::Generator(format!("physico: `{concept}` has no definition")))
}

pub(crate) static DEFINITION_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/definition")),
    seen: false,
    source: None,
    items: definitions,
    for_people: |shown| {
        shown.told(
            "A physical concept is described, and [PHENOMENON] stands for its name. Which concept is it?",
        )
    },
    conventions: |_| {
        said(
            "Yu et al. 2025, Figure 5; options parted by commas",
            "our own masked definitions; options of the high-level instances of the same seed",
        )
    },
};

fn definitions(setup: PhysicoSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
    let instances = planned_instances(&setup)?;
    Ok(Box::new(instances.into_iter().map(move |instance| {
        let all = &defined(&instance.concept)?.definitions;
        let which = instance.turn % all.len().max(1);
        let text = all.get(which).copied().unwrap_or_default();
        let asked = prompt::guess(text, &instance.options);
        let ask = judging::ask(&setup, &[], &asked, &instance.options);
        Ok(described(&instance, text.to_owned(), vec![ask])
            .tagged("definition", format!("{}", which + 1)))
    })))
}

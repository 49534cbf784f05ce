//! What the tasks of one choice share: one implementation of [`Task`] over the functions that are a
//! task's own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ForPeople, Item, ItemSource, Items, Judgement, Measure, Needs, Reference, Reply,
    Sample, Scoring, Task, TaskCard, TaskError, TaskSettings,
};

use crate::cards::conventions;
use crate::judging;
use crate::setup::{InstanceSource, Mode, PhysicoSettings};

/// A task whose items one answer settles.
#[derive(Debug)]
pub(crate) struct ChoiceTask {
    pub(crate) card: LazyLock<TaskCard>,
    /// Whether what is asked about is a picture.
    pub(crate) seen: bool,
    /// Where the items come from, if that is not as the card says.
    pub(crate) source: Option<ItemSource>,
    pub(crate) items: fn(PhysicoSettings, &dyn DataSource) -> Result<Items, TaskError>,
    pub(crate) for_people: fn(ForPeople) -> ForPeople,
}

impl ChoiceTask {
    pub(crate) fn setup(&self, settings: &TaskSettings) -> Result<PhysicoSettings, TaskError> {
        PhysicoSettings::read(&self.card, settings)
    }
}

impl Task for ChoiceTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        let by_card = || ItemSource::by_card(&self.card, settings);
        self.source.unwrap_or_else(by_card)
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some((self.for_people)(ForPeople::of(item)?))
    }

    /// People were asked about the authors' instances, not about ours.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        let setup = self.setup(settings);
        let published = setup.is_ok_and(|s| s.source == InstanceSource::Published);
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
        (self.items)(self.setup(settings)?, data)
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        Judgement::of_choice(item, answers, judging::by_scores, judging::by_words)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        let setup = self.setup(settings);
        setup.map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&self.card, settings)
    }
}

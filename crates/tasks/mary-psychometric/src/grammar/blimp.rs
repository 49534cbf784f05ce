//! `psychometric/blimp`: the published benchmark.

use std::collections::BTreeMap;

use mary_contract::{
    Citation, DataSource, ForPeople, InForce, Item, Items, Judgement, Needs, Param, Reference,
    Reply, Scoring, Task, TaskCard, TaskError, TaskSettings, text,
};

use super::pair::{self, CONVENTION, Convention, Manner, START};
use super::upstream;

static PARAMS: [Param; 3] = [
    CONVENTION,
    START,
    Param::new(
        "set",
        "all",
        "all, or one of upstream's 67 names",
        "Run one set only.",
    ),
];

static CARD: TaskCard = TaskCard {
    id: text("psychometric/blimp"),
    family: text("psychometric"),
    version: 1,
    title: text("BLiMP"),
    about: text(
        "67 sets of 1,000 pairs of sentences that differ in one grammatical point, in twelve \
            phenomena of morphology, syntax and semantics: does the model find the acceptable sentence \
            more probable? By set, phenomenon and field, by sum and per token.",
    ),
    chance: Some(0.5),
    human: Some(Reference::new(
        0.886,
        "Warstadt et al. 2020, Table 3: individual annotators, forced choice",
    )),
    params: Param::list(&PARAMS),
    dataset: Some(text(upstream::DATASET)),
    citation: Citation::new(
        "Alex Warstadt et al. 2020. BLiMP: The Benchmark of Linguistic Minimal Pairs for \
               English. TACL 8.",
        "doi:10.1162/tacl_a_00321",
    ),
    starter: None,
    content: None,
};

#[derive(Debug, Clone, Copy)]
pub struct Blimp;

pub static BLIMP: Blimp = Blimp;

impl Task for Blimp {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    /// People's agreement is a mean over all sets; beside one set it says nothing.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        CARD.human
            .clone()
            .filter(|_| matches!(settings.param(&CARD, "set"), "all" | ""))
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(pair::TO_PEOPLE))
    }

    fn needs(&self, _settings: &TaskSettings) -> Needs {
        pair::NEEDS
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some(pair::FAMILY)
    }

    fn default_for(
        &self,
        settings: &TaskSettings,
        _builtin: bool,
    ) -> Option<(&'static str, &'static str)> {
        pair::default_start(&CARD, settings)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&CARD)?;
        let manner = Manner::read(&CARD, settings)?;
        let only = match settings.param(&CARD, "set") {
            "all" | "" => None,
            set => Some(set),
        };
        let pairs = upstream::pairs(data, only)?;
        Ok(Box::new(
            pairs.into_iter().map(move |p| Ok(pair::item(&manner, p))),
        ))
    }

    fn judge(&self, settings: &TaskSettings, _item: &Item, answers: &[Reply]) -> Judgement {
        match Manner::read(&CARD, settings) {
            Ok(manner) => pair::judge(&manner, answers),
            Err(error) => Judgement::failed(mary_contract::ErrorKind::Internal, error.to_string()),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked_whatever_the_seed(self.card())
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        pair::scoring(Convention::read(&CARD, settings).unwrap_or(Convention::Mary))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(manner) = Manner::read(&CARD, settings) else {
            return BTreeMap::new();
        };
        let mut said = pair::conventions(&manner);
        said.insert(
            "phenomena".to_owned(),
            "twelve; upstream's `s-selection` is filed under argument structure".to_owned(),
        );
        said
    }
}

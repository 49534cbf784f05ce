//! The three tasks of minimal pairs: `psychometric/blimp` (published pairs), `psychometric/grammar` and
//! `psychometric/grammar-small` (pairs that nobody has seen).

use std::collections::BTreeMap;

use mary_contract::{
    Citation, DataSource, ForPeople, InForce, Item, Items, Judgement, Needs, Param, Reference,
    Reply, Scoring, Task, TaskCard, TaskError, TaskSettings, text,
};

use super::pair::{self, CONVENTION, Convention, Manner, Pair, START};
use super::upstream;
use super::writer::{FreshPair, fresh_pairs, small_pairs};
use crate::CITATION;
use crate::settings::choose;

static BLIMP_PARAMS: [Param; 3] = [
    CONVENTION,
    START,
    Param::new(
        "set",
        "all",
        "all, or one of upstream's 67 names",
        "Run one set only.",
    ),
];

static BLIMP_CARD: TaskCard = TaskCard {
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
    params: Param::list(&BLIMP_PARAMS),
    dataset: Some(text(upstream::DATASET)),
    citation: Citation::new(
        "Alex Warstadt et al. 2020. BLiMP: The Benchmark of Linguistic Minimal Pairs for \
               English. TACL 8.",
        "doi:10.1162/tacl_a_00321",
    ),
    starter: None,
    content: None,
};

const PAIRS: Param = Param::new(
    "n",
    "200",
    "a number",
    "Pairs of each of the twelve phenomena.",
);

static WIDE_PARAMS: [Param; 4] = [
    Param::new(
        "lexicon",
        "wide",
        "wide, small",
        "Our everyday lexicon, or the held-out pairs of the small world (the built-in \
                    model's whole vocabulary).",
    ),
    PAIRS,
    CONVENTION,
    START,
];

static WIDE_CARD: TaskCard = TaskCard {
    id: text("psychometric/grammar"),
    family: text("psychometric"),
    version: 1,
    title: text("Minimal pairs of our own"),
    about: text(
        "Fresh pairs of sentences in the twelve phenomena of BLiMP, written from a seed with our own \
            lexicon and templates, so that the score on sentences nobody has seen can be set beside the \
            published one. Every pair has equally many words in both sentences.",
    ),
    chance: Some(0.5),
    human: None,
    params: Param::list(&WIDE_PARAMS),
    dataset: None,
    citation: CITATION,
    starter: None,
    content: None,
};

static SMALL_PARAMS: [Param; 3] = [PAIRS, CONVENTION, START];

static SMALL_CARD: TaskCard = TaskCard {
    id: text("psychometric/grammar-small"),
    family: text("psychometric"),
    version: 1,
    title: text("Minimal pairs of the small world"),
    about: text(
        "Pairs of sentences in the twelve phenomena, in the few words of the small world on which the \
            built-in model was grown, none of whose good sentences it ever read. A model with a real \
            vocabulary should find them easy; for the built-in model they are the only fair ones, so \
            the starter selection and its developmental plot use them.",
    ),
    chance: Some(0.5),
    human: None,
    params: Param::list(&SMALL_PARAMS),
    dataset: None,
    citation: CITATION,
    starter: Some(120),
    content: None,
};

/// Where pairs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairSource {
    Blimp,
    Wide,
    Small,
}

/// A task of minimal pairs.
#[derive(Debug)]
pub struct Grammar {
    card: &'static TaskCard,
    /// Unless the setting `lexicon` says otherwise.
    source: PairSource,
}

pub static BLIMP: Grammar = Grammar {
    card: &BLIMP_CARD,
    source: PairSource::Blimp,
};
pub static GRAMMAR: Grammar = Grammar {
    card: &WIDE_CARD,
    source: PairSource::Wide,
};
pub static GRAMMAR_SMALL: Grammar = Grammar {
    card: &SMALL_CARD,
    source: PairSource::Small,
};

impl Grammar {
    fn source(&self, settings: &TaskSettings) -> Result<PairSource, TaskError> {
        match self.source {
            PairSource::Wide => choose(
                self.card,
                settings,
                "lexicon",
                &[("wide", PairSource::Wide), ("small", PairSource::Small)],
            ),
            fixed => Ok(fixed),
        }
    }

    /// The one set of BLiMP that is asked, where not all are.
    fn set<'a>(&'a self, settings: &'a TaskSettings) -> Option<&'a str> {
        Some(settings.param(self.card, "set")).filter(|set| !matches!(*set, "all" | ""))
    }

    fn pairs(
        &self,
        settings: &TaskSettings,
        data: &dyn DataSource,
    ) -> Result<Vec<Pair>, TaskError> {
        let (source, seed) = (self.source(settings)?, settings.seed);
        if source == PairSource::Blimp {
            return upstream::pairs(data, self.set(settings));
        }
        let text = settings.param(self.card, "n");
        let n = text.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
            TaskError::Setting(format!(
                "{}: `n={text}` is not a number of pairs",
                self.card.id
            ))
        })?;
        let made = if source == PairSource::Wide {
            fresh_pairs(seed, n)?
        } else {
            small_pairs(seed, n)?
        };
        let pair = |(index, made): (usize, FreshPair)| Pair {
            id: format!("{seed}-{index:05}"),
            set: format!("{}: {}", made.phenomenon.name(), made.paradigm),
            phenomenon: made.phenomenon,
            field: made.phenomenon.field(),
            good: made.good,
            bad: made.bad,
        };
        Ok(made.into_iter().enumerate().map(pair).collect())
    }
}

impl Task for Grammar {
    fn card(&self) -> &TaskCard {
        self.card
    }

    /// People's agreement is a mean over all sets; beside one set it says nothing.
    fn human(&self, settings: &TaskSettings) -> Option<Reference> {
        self.card
            .human
            .clone()
            .filter(|_| self.set(settings).is_none())
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
        pair::default_start(self.card, settings)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(self.card)?;
        let manner = Manner::read(self.card, settings)?;
        let pairs = self.pairs(settings, data)?.into_iter();
        Ok(Box::new(pairs.map(move |p| Ok(pair::item(&manner, p)))))
    }

    fn judge(&self, settings: &TaskSettings, _item: &Item, answers: &[Reply]) -> Judgement {
        match Manner::read(self.card, settings) {
            Ok(manner) => pair::judge(&manner, answers),
            Err(error) => Judgement::failed(mary_contract::ErrorKind::Internal, error.to_string()),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        match self.source {
            PairSource::Blimp => settings.asked_whatever_the_seed(self.card),
            _ => settings.asked(self.card),
        }
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        pair::scoring(Convention::read(self.card, settings).unwrap_or(Convention::Mary))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let (Ok(manner), Ok(source)) = (Manner::read(self.card, settings), self.source(settings))
        else {
            return BTreeMap::new();
        };
        let mut said = pair::conventions(&manner);
        let seed = settings.seed;
        let (name, text) = match source {
            PairSource::Blimp => (
                "phenomena",
                "twelve; upstream's `s-selection` is filed under argument structure".to_owned(),
            ),
            PairSource::Wide => (
                "source",
                format!("fresh pairs of seed {seed}, wide lexicon"),
            ),
            PairSource::Small => (
                "source",
                format!("held-out pairs of the small world, drawn with seed {seed}"),
            ),
        };
        said.insert(name.to_owned(), text);
        said
    }
}

//! The three tasks of minimal pairs: `psychometric/blimp` (published pairs), `psychometric/grammar` and
//! `psychometric/grammar-small` (pairs that nobody has seen).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, ForPeople, InForce, Item, Items, Judgement, Needs, Reference, Reply, Scoring,
    SettingDefault, Task, TaskCard, TaskError, TaskSettings,
};

use super::pair::{self, Convention, Manner, Pair};
use super::upstream;
use super::writer::{FreshPair, fresh_pairs, small_pairs};
use crate::cards::{card, conventions};

static BLIMP_CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/blimp"));

static WIDE_CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/grammar"));

static SMALL_CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/grammar-small"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairSource {
    Blimp,
    Wide,
    Small,
}

#[derive(Debug)]
pub struct Grammar {
    card: &'static LazyLock<TaskCard>,
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
            PairSource::Wide => {
                let words = [("wide", PairSource::Wide), ("small", PairSource::Small)];
                settings.choose(self.card, "lexicon", &words)
            }
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
            let id = &self.card.id;
            TaskError::Setting(format!("{id}: `n={text}` is not a number of pairs"))
        })?;
        let wide = source == PairSource::Wide;
        let write = if wide { fresh_pairs } else { small_pairs };
        let made = write(seed, n)?;
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
        let human = self.card.human.clone();
        human.filter(|_| self.set(settings).is_none())
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(pair::TO_PEOPLE))
    }

    fn needs(&self, _settings: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some(pair::FAMILY)
    }

    fn default_for(&self, settings: &TaskSettings, _builtin: bool) -> SettingDefault {
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
        let (Ok(manner), Ok(_)) = (Manner::read(self.card, settings), self.source(settings)) else {
            return BTreeMap::new();
        };
        let start = manner.start_words();
        conventions(self.card, settings, &[("start", start)])
    }
}

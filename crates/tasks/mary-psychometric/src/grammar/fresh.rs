//! `psychometric/grammar` and `psychometric/grammar-small`: pairs that nobody has seen.

use std::collections::BTreeMap;

use mary_contract::{
    DataSource, ForPeople, Item, Items, Judgement, Needs, Param, Reply, Scoring, Task, TaskCard,
    TaskError, TaskSettings, text,
};

use super::pair::{self, CONVENTION, Convention, Manner, Pair, START};
use super::writer::{FreshPair, fresh_pairs, small_pairs};
use crate::CITATION;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lexicon {
    Wide,
    Small,
}

/// A task of fresh pairs.
#[derive(Debug)]
pub struct Grammar {
    card: &'static TaskCard,
}

pub static GRAMMAR: Grammar = Grammar { card: &WIDE_CARD };
pub static GRAMMAR_SMALL: Grammar = Grammar { card: &SMALL_CARD };

impl Grammar {
    fn lexicon(&self, settings: &TaskSettings) -> Result<Lexicon, TaskError> {
        if self.card.id == SMALL_CARD.id {
            return Ok(Lexicon::Small);
        }
        match settings.param(self.card, "lexicon") {
            "wide" => Ok(Lexicon::Wide),
            "small" => Ok(Lexicon::Small),
            other => Err(TaskError::Setting(format!(
                "{}: `lexicon={other}` is not one of: wide, small",
                self.card.id
            ))),
        }
    }

    fn pairs(&self, settings: &TaskSettings) -> Result<Vec<FreshPair>, TaskError> {
        let text = settings.param(self.card, "n");
        let n = text.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
            TaskError::Setting(format!(
                "{}: `n={text}` is not a number of pairs",
                self.card.id
            ))
        })?;
        match self.lexicon(settings)? {
            Lexicon::Wide => fresh_pairs(settings.seed, n),
            Lexicon::Small => small_pairs(settings.seed, n),
        }
    }
}

impl Task for Grammar {
    fn card(&self) -> &TaskCard {
        self.card
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

    fn items(&self, settings: &TaskSettings, _data: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(self.card)?;
        let manner = Manner::read(self.card, settings)?;
        let seed = settings.seed;
        let items = self
            .pairs(settings)?
            .into_iter()
            .enumerate()
            .map(move |(index, made)| {
                let set = format!("{}: {}", made.phenomenon.name(), made.paradigm);
                let pair = Pair {
                    id: format!("{seed}-{index:05}"),
                    set,
                    phenomenon: made.phenomenon,
                    field: made.phenomenon.field(),
                    good: made.good,
                    bad: made.bad,
                };
                Ok(pair::item(&manner, pair))
            });
        Ok(Box::new(items))
    }

    fn judge(&self, settings: &TaskSettings, _item: &Item, answers: &[Reply]) -> Judgement {
        match Manner::read(self.card, settings) {
            Ok(manner) => pair::judge(&manner, answers),
            Err(error) => Judgement::failed(mary_contract::ErrorKind::Internal, error.to_string()),
        }
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        pair::scoring(Convention::read(self.card, settings).unwrap_or(Convention::Mary))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let (Ok(manner), Ok(lexicon)) = (Manner::read(self.card, settings), self.lexicon(settings))
        else {
            return BTreeMap::new();
        };
        let mut said = pair::conventions(&manner);
        let source = match lexicon {
            Lexicon::Wide => format!("fresh pairs of seed {}, wide lexicon", settings.seed),
            Lexicon::Small => {
                format!(
                    "held-out pairs of the small world, drawn with seed {}",
                    settings.seed
                )
            }
        };
        said.insert("source".to_owned(), source);
        said
    }
}

//! What a study asks and what is right, in one order: the questions that pages show, and the keys that nobody
//! but the judge reads.

use mary_contract::{Item, SampleId, TaskRun};
use serde::{Deserialize, Serialize};

use crate::question::Question;

/// The measure under which people's verdicts stand beside a run's own, unless the form names another.
pub const MEASURE: &str = "judged_by_people";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Judged {
    pub model: String,
    pub item: String,
    pub trial: u32,
}

impl From<&SampleId> for Judged {
    fn from(of: &SampleId) -> Self {
        Self {
            model: of.model.clone(),
            item: of.item.clone(),
            trial: of.trial,
        }
    }
}

/// What a study of judgements is about; it lies with the keys, since it names the models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    pub run: String,
    pub path: String,
    pub task: String,
    #[serde(default = "judged_by_people")]
    pub measure: String,
    /// For each item of the study, the answers of the run that it stands for.
    pub of: Vec<Vec<Judged>>,
    /// For each item of the study, which part of those answers is asked about; empty where it is the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

pub(crate) fn judged_by_people() -> String {
    MEASURE.to_owned()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keys {
    /// The command that drew the items; it names the files of tasks of one's own.
    #[serde(default)]
    pub command: Vec<String>,
    pub tasks: Vec<TaskRun>,
    pub items: Vec<KeyedItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Judging>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyedItem {
    pub task: usize,
    pub item: Item,
    /// What a model would have to write to choose each option.
    #[serde(default)]
    pub said: Vec<String>,
    /// Of a sentence that is read word by word: the word in question, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<usize>,
}

/// What is shown and what is right, in one order.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    pub questions: Vec<Question>,
    pub keys: Keys,
    /// Seconds that the tasks' protocols give for one question, where one of them has a limit.
    pub seconds: Option<u32>,
}

impl Frozen {
    /// The same items in an order that does not tell: strata are spread evenly, and where a stratum is the
    /// label (A, B, A, B …) the next answer could be read off the last ones. Items are mixed within stretches
    /// as long as a person's list, so that every list keeps its share of each stratum.
    #[must_use]
    pub fn mixed(self, length: usize, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.questions.len()).collect();
        for (number, stretch) in order.chunks_mut(length.max(1)).enumerate() {
            let name = format!("study/stretch/{number}");
            mary_generators::shuffle(&mut mary_generators::stream(seed, &name), stretch);
        }
        let Self {
            questions,
            keys,
            seconds,
        } = self;
        Self {
            seconds,
            questions: taken(&order, questions),
            keys: Keys {
                items: taken(&order, keys.items),
                judging: keys.judging.map(|judging| Judging {
                    of: taken(&order, judging.of),
                    parts: taken(&order, judging.parts),
                    ..judging
                }),
                ..keys
            },
        }
    }
}

pub(crate) fn taken<T>(order: &[usize], values: Vec<T>) -> Vec<T> {
    let mut slots: Vec<Option<T>> = values.into_iter().map(Some).collect();
    let at = |place: &usize| slots.get_mut(*place).and_then(Option::take);
    order.iter().filter_map(at).collect()
}

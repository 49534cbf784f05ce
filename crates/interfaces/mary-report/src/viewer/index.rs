//! An index over a log of samples: small enough to keep for a million, quick enough to filter at
//! every click. Whole samples stay in the log and are read one at a time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{Outcome, Sample, SampleId};

use super::{Around, Facets, Filter, Lines, RunEntry, RunList, SampleRow, SourceError};
use crate::{OutcomeClass, escape, sample};

/// Characters of a question and of an answer that are kept for lists and for search.
const QUESTION: usize = 300;
const ANSWER: usize = 120;

/// A log that can be read from a place on, and one sample of it again.
pub trait SampleLog: Send + Sync {
    fn runs(&self) -> Result<RunList, SourceError>;

    /// One run; asked for at every click, so it must not look at the others.
    fn run(&self, run: &str) -> Result<RunEntry, SourceError>;

    /// The page of a run's report as it lies in its folder, where there is one.
    fn report(&self, run: &str) -> Result<Option<Vec<u8>>, SourceError>;

    /// Hands every sample from a place on (0 is the beginning) to `each`, with the place it can be
    /// read at again; returns where to go on next time.
    fn scan(
        &self,
        run: &str,
        from: u64,
        each: &mut dyn FnMut(u64, &Sample),
    ) -> Result<u64, SourceError>;

    fn read(&self, run: &str, place: u64) -> Result<Sample, SourceError>;
}

/// The samples of a [`SampleLog`], with an index that follows the log as it grows.
pub struct IndexedSource {
    log: Box<dyn SampleLog>,
    indices: Mutex<HashMap<String, Arc<Mutex<Index>>>>,
}

impl IndexedSource {
    /// An index over a log; a run is read when it is first looked at.
    pub fn new(log: impl SampleLog + 'static) -> Self {
        Self {
            log: Box::new(log),
            indices: Mutex::new(HashMap::new()),
        }
    }

    /// Looks at a run's index after it has caught up with the log.
    fn with<T>(&self, run: &str, look: impl FnOnce(&mut Index) -> T) -> Result<T, SourceError> {
        let index = {
            let mut all = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(run.to_owned()).or_default())
        };
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        let from = index.next;
        let next = self
            .log
            .scan(run, from, &mut |place, sample| index.add(place, sample))?;
        index.next = next;
        Ok(look(&mut index))
    }

    pub(super) fn runs(&self) -> Result<RunList, SourceError> {
        self.log.runs()
    }

    pub fn run(&self, run: &str) -> Result<RunEntry, SourceError> {
        let mut entry = self.log.run(run)?;
        entry.samples = self.with(run, |index| index.rows.len())?;
        Ok(entry)
    }

    pub(super) fn report(&self, run: &str) -> Result<Option<Vec<u8>>, SourceError> {
        self.log.report(run)
    }

    pub fn facets(&self, run: &str, filter: &Filter) -> Result<Facets, SourceError> {
        self.with(run, |index| index.facets(filter))
    }

    pub fn page(
        &self,
        run: &str,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> Result<Lines, SourceError> {
        self.with(run, |index| {
            let matching = index.matching(filter);
            let other = filter
                .flipped
                .as_ref()
                .and_then(|(_, b)| index.models.find(b));
            let lines = matching.iter().skip(offset).take(limit);
            Lines {
                total: matching.len(),
                lines: lines.filter_map(|&row| index.line(row, other)).collect(),
            }
        })
    }

    pub fn around(&self, run: &str, filter: &Filter, id: &SampleId) -> Result<Around, SourceError> {
        self.with(run, |index| index.around(filter, id))
    }

    pub fn verdicts(
        &self,
        run: &str,
        id: &SampleId,
    ) -> Result<Vec<(String, OutcomeClass)>, SourceError> {
        self.with(run, |index| index.verdicts(id))
    }

    pub fn sample(&self, run: &str, id: &SampleId) -> Result<Option<Sample>, SourceError> {
        match self.with(run, |index| index.place(id))? {
            Some(place) => self.log.read(run, place).map(Some),
            None => Ok(None),
        }
    }
}

#[derive(Default)]
pub(super) struct Names {
    pub(super) list: Vec<String>,
    places: HashMap<String, u32>,
}

impl Names {
    fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    fn get(&self, place: u32) -> &str {
        self.list.get(place as usize).map_or("", String::as_str)
    }
}

pub(super) struct ItemEntry {
    pub(super) task: u32,
    id: String,
    question: String,
    /// Item, tags and question in lower case, for search.
    pub(super) lower: String,
    pub(super) tags: Vec<String>,
}

pub(super) struct Row {
    pub(super) model: u32,
    pub(super) item: u32,
    pub(super) trial: u32,
    pub(super) class: OutcomeClass,
    pub(super) score: f32,
    pub(super) margin: f32,
    place: u64,
    answer: Range<usize>,
    pub(super) lower: Range<usize>,
}

#[derive(Default)]
pub(super) struct Index {
    next: u64,
    pub(super) models: Names,
    pub(super) tasks: Names,
    pub(super) items: Vec<ItemEntry>,
    item_places: HashMap<(u32, String), u32>,
    pub(super) rows: Vec<Row>,
    pub(super) row_places: HashMap<(u32, u32, u32), u32>,
    /// All answers' beginnings, end to end; one allocation instead of a million.
    pub(super) answers: String,
    pub(super) found: Vec<(Filter, usize, Arc<Vec<u32>>)>,
}

impl Index {
    fn add(&mut self, place: u64, s: &Sample) {
        let model = self.models.place(&s.id.model);
        let item = self.item(s);
        let class = OutcomeClass::from_outcome(&s.judgement.outcome);
        let score = match s.judgement.outcome {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "for showing in a list only"
            )]
            Outcome::Scored(score) => score as f32,
            _ => f32::NAN,
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "for showing and sorting in a list only"
        )]
        let margin = sample::margin(s).map_or(f32::NAN, |margin| margin as f32);
        let text = sample::answer_excerpt(s, ANSWER);
        let answer = self.keep(&text);
        let lower = text.to_lowercase();
        let lower = if lower == text {
            answer.clone()
        } else {
            self.keep(&lower)
        };
        let row = Row {
            model,
            item,
            trial: s.id.trial,
            class,
            score,
            margin,
            place,
            answer,
            lower,
        };
        let key = (model, item, s.id.trial);
        // A sample logged again (after a rescore, say) takes the place of the earlier one.
        match self.row_places.get(&key) {
            Some(&known) => {
                if let Some(slot) = self.rows.get_mut(known as usize) {
                    *slot = row;
                }
                self.found.clear();
            }
            None => {
                let at = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
                self.row_places.insert(key, at);
                self.rows.push(row);
            }
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.answers.len();
        self.answers.push_str(text);
        start..self.answers.len()
    }

    fn item(&mut self, s: &Sample) -> u32 {
        let task = self.tasks.place(&s.id.task);
        let key = (task, s.id.item.clone());
        if let Some(&place) = self.item_places.get(&key) {
            return place;
        }
        let question = escape::excerpt(&sample::question_text(s), QUESTION);
        let tags = s.item.tags.iter();
        let tags: Vec<String> = tags.map(|(k, v)| format!("{k}={v}")).collect();
        let lower = format!("{} {} {question}", s.id.item, tags.join(" ")).to_lowercase();
        let place = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(ItemEntry {
            task,
            id: s.id.item.clone(),
            question,
            lower,
            tags,
        });
        self.item_places.insert(key, place);
        place
    }

    pub(super) fn row(&self, id: &SampleId) -> Option<u32> {
        let model = self.models.find(&id.model)?;
        let item = self.item_of(id)?;
        self.row_places.get(&(model, item, id.trial)).copied()
    }

    fn item_of(&self, id: &SampleId) -> Option<u32> {
        let task = self.tasks.find(&id.task)?;
        self.item_places.get(&(task, id.item.clone())).copied()
    }

    fn place(&self, id: &SampleId) -> Option<u64> {
        let row = self.row(id)?;
        self.rows.get(row as usize).map(|r| r.place)
    }

    pub(super) fn id(&self, row: u32) -> Option<SampleId> {
        let row = self.rows.get(row as usize)?;
        let item = self.items.get(row.item as usize)?;
        Some(SampleId {
            model: self.models.get(row.model).to_owned(),
            task: self.tasks.get(item.task).to_owned(),
            item: item.id.clone(),
            trial: row.trial,
        })
    }

    /// How every model did on the same item and trial, in the order of the models.
    fn verdicts(&self, id: &SampleId) -> Vec<(String, OutcomeClass)> {
        let Some(item) = self.item_of(id) else {
            return Vec::new();
        };
        let models = (0u32..).zip(&self.models.list);
        models
            .filter_map(|(model, name)| {
                let row = *self.row_places.get(&(model, item, id.trial))?;
                Some((name.clone(), self.rows.get(row as usize)?.class))
            })
            .collect()
    }

    fn line(&self, at: u32, other: Option<u32>) -> Option<SampleRow> {
        let row = self.rows.get(at as usize)?;
        let item = self.items.get(row.item as usize)?;
        let twin = other
            .and_then(|model| self.row_places.get(&(model, row.item, row.trial)))
            .and_then(|&twin| self.rows.get(twin as usize));
        let answer = self.answers.get(row.answer.clone());
        Some(SampleRow {
            id: self.id(at)?,
            class: row.class,
            other: twin.map(|twin| twin.class),
            score: (!row.score.is_nan()).then_some(f64::from(row.score)),
            margin: (!row.margin.is_nan()).then_some(f64::from(row.margin)),
            question: item.question.clone(),
            answer: answer.unwrap_or_default().to_owned(),
        })
    }
}

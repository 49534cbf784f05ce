//! An index over a log of samples: small enough to keep for a million, quick enough to filter at
//! every click. Whole samples stay in the log and are read one at a time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{Outcome, RunSummary, Sample, SampleId};

use super::{Facets, Filter, Lines, RunEntry, SampleRow, SampleSource, SourceError};
use crate::{OutcomeClass, escape, sample};

/// Characters of a question and of an answer that are kept for lists and for search.
const QUESTION: usize = 300;
const ANSWER: usize = 120;

/// A log that can be read from a place on, and one sample of it again.
pub trait SampleLog: Send + Sync {
    /// All runs, newest first.
    fn runs(&self) -> Result<Vec<RunEntry>, SourceError>;

    /// One run; asked for at every click, so it must not look at the others.
    fn run(&self, run: &str) -> Result<RunEntry, SourceError>;

    /// A run's summary, as far as there is one.
    fn summary(&self, run: &str) -> Result<Option<RunSummary>, SourceError>;

    /// Hands every sample from a place on (0 is the beginning) to `each`, with the place it can be
    /// read at again; returns where to go on next time.
    fn scan(
        &self,
        run: &str,
        from: u64,
        each: &mut dyn FnMut(u64, &Sample),
    ) -> Result<u64, SourceError>;

    /// The sample at a place.
    fn read(&self, run: &str, place: u64) -> Result<Sample, SourceError>;
}

/// A [`SampleSource`] over a [`SampleLog`], with an index that follows the log as it grows.
pub struct IndexedSource<L> {
    log: L,
    indices: Mutex<HashMap<String, Arc<Mutex<Index>>>>,
}

impl<L: SampleLog> IndexedSource<L> {
    /// An index over a log; a run is read when it is first looked at.
    pub fn new(log: L) -> Self {
        Self {
            log,
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
}

impl<L: SampleLog> SampleSource for IndexedSource<L> {
    fn runs(&self) -> Result<Vec<RunEntry>, SourceError> {
        self.log.runs()
    }

    fn run(&self, run: &str) -> Result<RunEntry, SourceError> {
        let mut entry = self.log.run(run)?;
        entry.samples = self.with(run, |index| index.rows.len())?;
        Ok(entry)
    }

    fn summary(&self, run: &str) -> Result<Option<RunSummary>, SourceError> {
        self.log.summary(run)
    }

    fn facets(&self, run: &str, filter: &Filter) -> Result<Facets, SourceError> {
        self.with(run, |index| index.facets(filter))
    }

    fn page(
        &self,
        run: &str,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> Result<Lines, SourceError> {
        self.with(run, |index| {
            let matching = index.matching(filter);
            let lines = matching.iter().skip(offset).take(limit);
            Lines {
                total: matching.len(),
                lines: lines.filter_map(|&row| index.line(row)).collect(),
            }
        })
    }

    fn sample(&self, run: &str, id: &SampleId) -> Result<Option<Sample>, SourceError> {
        match self.with(run, |index| index.place(id))? {
            Some(place) => self.log.read(run, place).map(Some),
            None => Ok(None),
        }
    }
}

/// Names kept once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
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

    fn find(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    fn get(&self, place: u32) -> &str {
        self.list.get(place as usize).map_or("", String::as_str)
    }
}

/// What all samples of an item share.
struct ItemEntry {
    task: u32,
    id: String,
    question: String,
    /// Item, tags and question in lower case, for search.
    lower: String,
    tags: Vec<String>,
}

struct Row {
    model: u32,
    item: u32,
    trial: u32,
    class: OutcomeClass,
    score: f32,
    place: u64,
    answer: Range<usize>,
    lower: Range<usize>,
}

#[derive(Default)]
struct Index {
    next: u64,
    models: Names,
    tasks: Names,
    items: Vec<ItemEntry>,
    item_places: HashMap<(u32, String), u32>,
    rows: Vec<Row>,
    row_places: HashMap<(u32, u32, u32), u32>,
    /// All answers' beginnings, end to end; one allocation instead of a million.
    answers: String,
    found: Vec<(Filter, usize, Arc<Vec<u32>>)>,
}

impl Index {
    fn add(&mut self, place: u64, s: &Sample) {
        let model = self.models.place(&s.id.model);
        let item = self.item(s);
        let class = OutcomeClass::of(&s.judgement.outcome);
        let score = match s.judgement.outcome {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "for showing in a list only"
            )]
            Outcome::Scored(score) => score as f32,
            _ => f32::NAN,
        };
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
        let tags: Vec<String> = s
            .item
            .tags
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
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

    fn place(&self, id: &SampleId) -> Option<u64> {
        let model = self.models.find(&id.model)?;
        let task = self.tasks.find(&id.task)?;
        let item = *self.item_places.get(&(task, id.item.clone()))?;
        let row = *self.row_places.get(&(model, item, id.trial))?;
        self.rows.get(row as usize).map(|r| r.place)
    }

    fn line(&self, row: u32) -> Option<SampleRow> {
        let row = self.rows.get(row as usize)?;
        let item = self.items.get(row.item as usize)?;
        Some(SampleRow {
            id: SampleId {
                model: self.models.get(row.model).to_owned(),
                task: self.tasks.get(item.task).to_owned(),
                item: item.id.clone(),
                trial: row.trial,
            },
            class: row.class,
            score: (!row.score.is_nan()).then_some(f64::from(row.score)),
            question: item.question.clone(),
            answer: self
                .answers
                .get(row.answer.clone())
                .unwrap_or_default()
                .to_owned(),
        })
    }

    fn facets(&mut self, filter: &Filter) -> Facets {
        let any_outcome = Filter {
            outcomes: vec![],
            ..filter.clone()
        };
        let mut outcomes = [0usize; OutcomeClass::ALL.len()];
        for &row in self.matching(&any_outcome).iter() {
            if let Some(row) = self.rows.get(row as usize)
                && let Some(n) = outcomes.get_mut(row.class.index())
            {
                *n += 1;
            }
        }
        let mut models = vec![0usize; self.models.list.len()];
        let mut tasks = vec![0usize; self.tasks.list.len()];
        for row in &self.rows {
            if let Some(n) = models.get_mut(row.model as usize) {
                *n += 1;
            }
            let task = self
                .items
                .get(row.item as usize)
                .map_or(0, |i| i.task as usize);
            if let Some(n) = tasks.get_mut(task) {
                *n += 1;
            }
        }
        let named =
            |names: &Names, counts: Vec<usize>| names.list.iter().cloned().zip(counts).collect();
        Facets {
            outcomes: OutcomeClass::ALL
                .into_iter()
                .zip(outcomes)
                .filter(|(_, n)| *n > 0)
                .collect(),
            models: named(&self.models, models),
            tasks: named(&self.tasks, tasks),
        }
    }

    /// The rows that match, in the order of the log. The last few answers are remembered, and looked
    /// through further when the log has grown.
    fn matching(&mut self, filter: &Filter) -> Arc<Vec<u32>> {
        let known = self.found.iter().position(|(f, ..)| f == filter);
        let (from, mut rows) = match known.map(|at| self.found.remove(at)) {
            Some((_, seen, rows)) if seen == self.rows.len() => {
                self.found.push((filter.clone(), seen, Arc::clone(&rows)));
                return rows;
            }
            // A flip may be completed by the second model's sample, so it is looked for anew.
            Some((_, seen, rows)) if filter.flipped.is_none() => (seen, rows.as_ref().clone()),
            _ => (0, Vec::new()),
        };
        rows.extend(self.search(filter, from));
        let rows = Arc::new(rows);
        if self.found.len() >= 8 {
            self.found.remove(0);
        }
        self.found
            .push((filter.clone(), self.rows.len(), Arc::clone(&rows)));
        rows
    }

    fn search(&self, filter: &Filter, from: usize) -> Vec<u32> {
        let model = filter.model.as_deref().map(|m| self.models.find(m));
        let task = filter.task.as_deref().map(|t| self.tasks.find(t));
        let flip = filter
            .flipped
            .as_ref()
            .map(|(a, b)| (self.models.find(a), self.models.find(b)));
        // Tags and words of the question are looked at once per item, not once per sample.
        let item_fits: Vec<(bool, bool)> = self
            .items
            .iter()
            .map(|item| {
                let kind = task.is_none_or(|t| t == Some(item.task))
                    && filter
                        .tag
                        .as_ref()
                        .is_none_or(|tag| item.tags.contains(tag));
                let words = filter
                    .text
                    .as_ref()
                    .is_none_or(|t| item.lower.contains(t.as_str()));
                (kind, words)
            })
            .collect();
        let mut out = Vec::new();
        for (place, row) in self.rows.iter().enumerate().skip(from) {
            let (kind, words) = item_fits
                .get(row.item as usize)
                .copied()
                .unwrap_or_default();
            let fits = kind
                && model.is_none_or(|m| m == Some(row.model))
                && (filter.outcomes.is_empty() || filter.outcomes.contains(&row.class))
                && (words || self.answer_holds(row, filter))
                && flip.is_none_or(|pair| self.flips(row, pair));
            if fits {
                out.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
        }
        out
    }

    fn answer_holds(&self, row: &Row, filter: &Filter) -> bool {
        let text = self.answers.get(row.lower.clone()).unwrap_or_default();
        filter
            .text
            .as_ref()
            .is_some_and(|t| text.contains(t.as_str()))
    }

    fn flips(&self, row: &Row, (a, b): (Option<u32>, Option<u32>)) -> bool {
        let (Some(a), Some(b)) = (a, b) else {
            return false;
        };
        if row.model != a {
            return false;
        }
        let twin = self
            .row_places
            .get(&(b, row.item, row.trial))
            .and_then(|&place| self.rows.get(place as usize));
        matches!(
            (row.class, twin.map(|t| t.class)),
            (OutcomeClass::Right, Some(OutcomeClass::Wrong))
                | (OutcomeClass::Wrong, Some(OutcomeClass::Right))
        )
    }
}

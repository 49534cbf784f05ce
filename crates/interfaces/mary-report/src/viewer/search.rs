//! Looking through an index: what matches a filter, in which order, and what stands beside a sample in
//! that list. Everything here is one pass over numbers, so that 67,000 samples answer within a click.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mary_contract::SampleId;

use super::index::{Index, Names, Row};
use super::{Around, Facets, Filter, Order};
use crate::OutcomeClass;

impl Index {
    pub(super) fn around(&mut self, filter: &Filter, id: &SampleId) -> Around {
        let matching = self.matching(filter);
        let row = self.row(id);
        let place = matching.iter().position(|at| Some(*at) == row);
        let neighbour = |at: Option<usize>| self.id(*matching.get(at?)?);
        Around {
            place,
            total: matching.len(),
            before: neighbour(place.and_then(|at| at.checked_sub(1))),
            after: neighbour(place.map(|at| at + 1)),
        }
    }

    pub(super) fn facets(&mut self, filter: &Filter) -> Facets {
        let any_outcome = Filter {
            outcomes: vec![],
            order: Order::Log,
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

    /// The rows that match, in the order asked for. The last few answers are remembered, and looked
    /// through further when the log has grown.
    pub(super) fn matching(&mut self, filter: &Filter) -> Arc<Vec<u32>> {
        let known = self.found.iter().position(|(f, ..)| f == filter);
        let (from, mut rows) = match known.map(|at| self.found.remove(at)) {
            Some((_, seen, rows)) if seen == self.rows.len() => {
                self.found.push((filter.clone(), seen, Arc::clone(&rows)));
                return rows;
            }
            // A flip may be completed by the second model's sample, so it is looked for anew; and so is
            // every list that has an order of its own.
            Some((_, seen, rows))
                if filter.flipped.is_none() && !filter.disagreed && filter.order == Order::Log =>
            {
                (seen, rows.as_ref().clone())
            }
            _ => (0, Vec::new()),
        };
        rows.extend(self.search(filter, from));
        self.sort(&mut rows, filter.order);
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
        let disputed = filter.disagreed.then(|| self.disputed());
        let within = |row: &Row| {
            let margin = f64::from(row.margin);
            // NaN, no margin, is within no bounds.
            filter.margin_from.is_none_or(|from| margin >= from)
                && filter.margin_to.is_none_or(|to| margin <= to)
        };
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
                && within(row)
                && disputed
                    .as_ref()
                    .is_none_or(|items| items.contains(&(row.item, row.trial)))
                && flip.is_none_or(|pair| self.flips(row, pair));
            if fits {
                out.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
        }
        out
    }

    /// Puts rows in order; what has no margin or score comes last, and equal ones as in the log.
    fn sort(&self, rows: &mut [u32], order: Order) {
        let by = |key: &dyn Fn(&Row) -> f32, rows: &mut [u32]| {
            let of = |at: u32| match self.rows.get(at as usize).map_or(f32::NAN, key) {
                none if none.is_nan() => f32::INFINITY,
                value => value,
            };
            rows.sort_by(|&a, &b| of(a).total_cmp(&of(b)));
        };
        match order {
            Order::Log => {}
            Order::Verdict => {
                rows.sort_by_key(|&at| self.rows.get(at as usize).map(|row| row.class));
            }
            Order::MarginLow => by(&|row| row.margin, rows),
            Order::MarginHigh => by(&|row| -row.margin, rows),
            Order::MarginNear => by(&|row| row.margin.abs(), rows),
            Order::ScoreLow => by(&|row| row.score, rows),
            Order::ScoreHigh => by(&|row| -row.score, rows),
        }
    }

    /// Items and trials that one model got right and another wrong.
    fn disputed(&self) -> HashSet<(u32, u32)> {
        let mut seen: HashMap<(u32, u32), (bool, bool)> = HashMap::new();
        for row in &self.rows {
            let (right, wrong) = seen.entry((row.item, row.trial)).or_default();
            *right |= row.class == OutcomeClass::Right;
            *wrong |= row.class == OutcomeClass::Wrong;
        }
        seen.retain(|_, (right, wrong)| *right && *wrong);
        seen.into_keys().collect()
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

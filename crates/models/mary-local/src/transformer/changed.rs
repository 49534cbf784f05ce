//! A pass in which values are changed on their way. What a change cannot reach is not computed again: a changed
//! text is only the rows from the changed token on, and they join the pass at the changed layer, as copies of the
//! unchanged text's rows. All texts of a pass stand in one batch, so one layer of the cache serves all.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::{Batch, Coming, Left, Pass, Transformer, WorkOf};
use crate::errors::Result;
use crate::kernels::Backend;

/// What of a layer is looked at or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What the layer's block reads.
    Stream,
    Heads,
    Attention,
    FeedForward,
    /// What all heads attend to, which can only be watched.
    Pattern,
}

/// A part of a layer, for all rows.
pub type Spot = (usize, Part);

/// Columns of one row in one spot.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    pub spot: Spot,
    pub row: usize,
    pub columns: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NewValue {
    /// As in an unchanged row, here or in an earlier spot.
    Copy(Cells),
    Zero,
    Set(Arc<[f32]>),
    Add(Arc<[f32]>, f32),
    /// Without what points in this direction, which has length 1.
    Remove(Arc<[f32]>),
}

impl NewValue {
    fn write(&self, x: &mut [f32], kept: &HashMap<(Spot, usize), Vec<f32>>) {
        match self {
            Self::Copy(from) => {
                if let Some(row) = kept.get(&(from.spot, from.row)) {
                    x.copy_from_slice(&row[from.columns.clone()]);
                }
            }
            Self::Zero => x.fill(0.0),
            Self::Set(v) => x.copy_from_slice(v),
            Self::Add(v, factor) => x.iter_mut().zip(&**v).for_each(|(x, v)| *x += factor * v),
            Self::Remove(v) => {
                let along = x.iter().zip(&**v).map(|(x, v)| f64::from(x * v));
                let along = along.sum::<f64>() as f32;
                x.iter_mut().zip(&**v).for_each(|(x, v)| *x -= along * v);
            }
        }
    }
}

/// What a changed pass computes.
#[derive(Debug, Default)]
pub struct Script {
    /// All rows, in the order in which they join; whole segments join.
    pub batch: Batch,
    /// For each layer, and for what comes after the last, the rows that new ones begin as. At layer 0 rows begin as
    /// tokens.
    pub joins: Vec<Vec<usize>>,
    pub changes: BTreeMap<Spot, Vec<(Cells, NewValue)>>,
    /// Rows whose values come back, as they are after the changes.
    pub watched: BTreeMap<Spot, Vec<usize>>,
}

impl Script {
    /// The batch of the rows that are there after so many joined.
    fn first_rows(&self, rows: usize) -> Batch {
        let of = &self.batch;
        Batch {
            tokens: of.tokens[..rows].to_vec(),
            positions: of.positions[..rows].to_vec(),
            slots: of.slots[..rows].to_vec(),
            segments: of
                .segments
                .iter()
                .filter(|s| s.first < rows)
                .cloned()
                .collect(),
            ..Batch::default()
        }
    }
}

/// Whole rows as they were in their spots.
pub type Seen = HashMap<(Spot, usize), Vec<f32>>;

pub(crate) struct Following<'a> {
    script: &'a Script,
    /// Rows that others are copied from, by spot.
    sources: BTreeMap<Spot, Vec<usize>>,
    kept: RefCell<Seen>,
    seen: RefCell<Seen>,
}

impl<'a> Following<'a> {
    pub fn new(script: &'a Script) -> Self {
        let mut sources: BTreeMap<Spot, Vec<usize>> = BTreeMap::new();
        for (_, value) in script.changes.values().flatten() {
            if let NewValue::Copy(from) = value {
                sources.entry(from.spot).or_default().push(from.row);
            }
        }
        for rows in sources.values_mut() {
            rows.sort_unstable();
            rows.dedup();
        }
        Self {
            script,
            sources,
            kept: RefCell::default(),
            seen: RefCell::default(),
        }
    }

    /// What was watched.
    pub fn seen(self) -> Seen {
        self.seen.into_inner()
    }

    /// Whether anything of a spot is looked at or changed.
    pub(super) fn touches(&self, spot: Spot) -> bool {
        let script = self.script;
        self.sources.contains_key(&spot)
            || script.changes.contains_key(&spot)
            || script.watched.contains_key(&spot)
    }

    /// The rows whose attention is watched in a layer, with the batch that they are part of.
    pub(super) fn patterns(&self, layer: usize) -> Option<(&Batch, &[usize])> {
        let watched = self.script.watched.get(&(layer, Part::Pattern))?;
        Some((&self.script.batch, watched))
    }

    pub(super) fn keep(&self, seen: Seen) {
        self.seen.borrow_mut().extend(seen);
    }

    pub(super) fn apply<B: Backend>(
        &self,
        b: &B,
        spot: Spot,
        x: &mut B::Tensor,
        (rows, width): (usize, usize),
    ) {
        let fetch = |x: &B::Tensor, which: &[usize]| {
            let mut some = B::Tensor::default();
            b.gather(x, width, which, &mut some);
            b.download(&some, which.len() * width)
        };
        let keep = |x: &B::Tensor, which: &[usize], to: &RefCell<Seen>| {
            let values = fetch(x, which);
            let each = which.iter().zip(values.chunks_exact(width));
            to.borrow_mut()
                .extend(each.map(|(&row, x)| ((spot, row), x.to_vec())));
        };
        if let Some(which) = self.sources.get(&spot) {
            keep(x, which, &self.kept);
        }
        if let Some(changes) = self.script.changes.get(&spot) {
            let mut which: Vec<usize> = changes.iter().map(|(cells, _)| cells.row).collect();
            which.sort_unstable();
            which.dedup();
            let mut values = fetch(x, &which);
            let kept = self.kept.borrow();
            for (cells, value) in changes {
                if let Ok(at) = which.binary_search(&cells.row) {
                    let row = &mut values[at * width..(at + 1) * width];
                    value.write(&mut row[cells.columns.clone()], &kept);
                }
            }
            b.put_rows(&values, width, &which, rows * width, x);
        }
        if let Some(which) = self.script.watched.get(&spot) {
            keep(x, which, &self.seen);
        }
    }
}

impl<B: Backend> Transformer<B> {
    /// Adds the block's direction to every row.
    pub(super) fn steer(&self, layer: usize, rows: usize, work: &mut WorkOf<B>) {
        if let Some(direction) = self.steering.get(&layer) {
            self.backend
                .upload(&direction.repeat(rows), &mut work.apart);
            let len = rows * direction.len();
            self.backend.add(&mut work.x, &work.apart, len);
        }
    }

    /// Follows a script; the last hidden states of its rows are those of an ordinary pass.
    pub(crate) fn forward_changed(
        &self,
        following: &Following<'_>,
        before: Option<Left<'_, B>>,
        work: &mut WorkOf<B>,
    ) -> Result<()> {
        let script = following.script;
        let (a, b, all) = (&self.architecture, &self.backend, &script.batch);
        self.check_tokens(all, work)?;
        work.writing = false;
        let mut cache = b.cache(1, all.len(), a.kv_width());
        let rotary: Vec<B::Rotary> = a
            .ropes
            .iter()
            .map(|rope| b.rotary(rope, &all.positions))
            .collect();
        let joining = script.joins.iter().skip(self.layers.start);
        let joining: usize = joining.map(Vec::len).sum();
        let mut batch = script.first_rows(all.len() - joining);
        match before {
            Some(left) => self.receive(left, batch.len(), work),
            None => self.embed(&b.plan(&batch, &self.heads()), batch.len(), &[], work),
        }
        let mut coming = Coming::default();
        // Rows also join behind the last layer.
        let behind = usize::from(self.ends());
        for layer in self.layers.start..self.layers.end + behind {
            if let Some(joins) = script.joins.get(layer).filter(|j| !j.is_empty()) {
                let rows: Vec<usize> = (0..batch.len()).chain(joins.iter().copied()).collect();
                b.gather(&work.x, a.hidden, &rows, &mut work.normed);
                std::mem::swap(&mut work.x, &mut work.normed);
                batch = script.first_rows(rows.len());
            }
            let shape = (batch.len(), a.hidden);
            following.apply(&**b, (layer, Part::Stream), &mut work.x, shape);
            let fetched = match layer < a.layers {
                true => coming.take(self, layer)?,
                false => None,
            };
            if let Some(block) = fetched.as_ref().or(self.held(layer)) {
                let pass = Pass {
                    rows: batch.len(),
                    plan: &b.plan(&batch, &self.heads()),
                    layer,
                    store: 0,
                    rotary: &rotary,
                    reach: &[],
                    following: Some(following),
                };
                self.block(block, &pass, &mut cache, work);
                self.steer(layer, batch.len(), work);
            }
            self.done_with(fetched);
        }
        if self.ends() {
            self.finish(batch.len(), work);
        }
        b.check()
    }
}

//! A tower on a device: from the numbers of a view to a row for every patch.

use std::sync::Mutex;

use crate::pictures::{Native, View};
use mary_contract::ModelError;

use super::TowerConfig;
use crate::batch::Batch;
use crate::errors::{Result, bad_model, lock};
use crate::kernels::{Backend, Extent};
use crate::load::TowerParts;
use crate::transformer::{Watch, WorkOf};

/// Rows of a pass, unless one view alone has more.
const ROWS: usize = 4096;

pub(crate) struct Tower<B: Backend> {
    parts: TowerParts<B>,
    pub(crate) config: TowerConfig,
    work: Mutex<Vec<WorkOf<B>>>,
}

impl<B: Backend> Tower<B> {
    pub(crate) fn new(parts: TowerParts<B>, config: TowerConfig) -> Self {
        Self {
            parts,
            config,
            work: Mutex::default(),
        }
    }

    pub(crate) fn backend(&self) -> &B {
        &self.parts.transformer.backend
    }

    /// Rows of a view, the one for the whole picture included.
    pub(crate) fn rows_of(&self, view: &View) -> usize {
        let patch = self.config.patch;
        (view.width / patch) * (view.height / patch) + usize::from(self.config.class)
    }

    /// The rows of views, view after view.
    pub(crate) fn read(&self, views: &[View]) -> Result<Vec<f32>> {
        let together = views.first().map_or(1, |first| self.together(first));
        let passes = views.chunks(together).map(|some| self.observe(some, None));
        Ok(passes.collect::<Result<Vec<_>, _>>()?.concat())
    }

    pub(crate) fn observe(&self, views: &[View], watch: Option<Watch<'_>>) -> Result<Vec<f32>> {
        let (given, batch) = self.embed(views)?;
        self.run(&given, &batch, None, watch)
    }

    pub(crate) fn together(&self, view: &View) -> usize {
        (ROWS / self.rows_of(view).max(1)).max(1)
    }

    fn run(
        &self,
        given: &[f32],
        batch: &Batch,
        whole: Option<(&Batch, &[usize])>,
        mut watch: Option<Watch<'_>>,
    ) -> Result<Vec<f32>> {
        let transformer = &self.parts.transformer;
        let mut work = lock(&self.work).pop().unwrap_or_default();
        let mut cache = transformer.cache(batch.len());
        let (all, watch) = ((batch, whole), watch.as_mut());
        let done = transformer.forward_rows(given, all, &mut cache, &mut work, watch);
        let rows = done.map(|()| transformer.last(&work, batch.len()));
        lock(&self.work).push(work);
        rows
    }

    fn patches(&self, pixels: &[f32], rows: usize) -> Vec<f32> {
        let (b, hidden) = (self.backend(), self.config.architecture.hidden);
        let (mut x, mut y) = (B::Tensor::default(), B::Tensor::default());
        b.upload(pixels, &mut x);
        b.linear(&x, Extent::reading(rows), &self.parts.patch, &mut y, false);
        b.download(&y, rows * hidden)
    }

    /// What stands before the first block, and which rows see one another.
    fn embed(&self, views: &[View]) -> Result<(Vec<f32>, Batch)> {
        let c = &self.config;
        let hidden = self.config.architecture.hidden;
        let side = c.side.unwrap_or(0);
        let mut pixels = vec![];
        for view in views {
            if (view.width / c.patch, view.height / c.patch) != (side, side) {
                return Err(unfit(view, side * c.patch));
            }
            pixels.extend(view.patches(c.patch));
        }
        let each = side * side;
        let patches = self.patches(&pixels, views.len() * each);
        let mut given = Vec::with_capacity(patches.len() + views.len() * hidden);
        let mut batch = Batch::default();
        let rows = each + usize::from(c.class);
        for patches in patches.chunks_exact((each * hidden).max(1)) {
            let first = given.len();
            given.extend(self.parts.class.iter().flatten());
            given.extend_from_slice(patches);
            if let Some(positions) = &self.parts.positions {
                let all = given[first..].iter_mut().zip(positions);
                all.for_each(|(x, p)| *x += p);
            }
            let slot = batch.len();
            batch.push(&vec![0; rows], &[], slot);
        }
        Ok((given, batch))
    }

    pub(crate) fn read_native(&self, view: &View, grid: &Native) -> Result<Vec<f32>> {
        let hidden = self.config.architecture.hidden;
        let order = grid.order();
        let rows = order.len();
        let given = self.patches(&view.native(grid), rows);
        let turn = |&(y, x): &(usize, usize)| [0, y as u32, x as u32];
        let group = (grid.merge * grid.merge).max(1);
        let Some((window, whole)) = &self.config.windows else {
            let mut batch = Batch::default();
            batch.push(&vec![0; rows], &[], 0);
            batch.turns = order.iter().map(turn).collect();
            return self.run(&given, &batch, None, None);
        };
        // Groups of patches, window by window.
        let side = (window / grid.merge / grid.patch).max(1);
        let (down, across) = (grid.rows / grid.merge, grid.columns / grid.merge);
        let mut groups: Vec<usize> = vec![];
        let mut windows: Vec<usize> = vec![];
        for top in (0..down).step_by(side) {
            for left in (0..across).step_by(side) {
                let before = groups.len();
                for y in top..(top + side).min(down) {
                    groups.extend((left..(left + side).min(across)).map(|x| y * across + x));
                }
                windows.push((groups.len() - before) * group);
            }
        }
        let places: Vec<usize> = groups
            .iter()
            .flat_map(|g| g * group..(g + 1) * group)
            .collect();
        let rows_of = |x: &[f32]| -> Vec<f32> {
            let row = |p: &usize| x[p * hidden..(p + 1) * hidden].to_vec();
            places.iter().flat_map(row).collect()
        };
        let (mut batch, mut all) = (Batch::default(), Batch::default());
        for count in windows {
            let slot = batch.len();
            batch.push(&vec![0; count], &[], slot);
        }
        all.push(&vec![0; rows], &[], 0);
        batch.turns = places.iter().map(|&p| turn(&order[p])).collect();
        let out = self.run(&rows_of(&given), &batch, Some((&all, whole)), None)?;
        // Back into the order of the patches.
        let mut back = vec![0.0; out.len()];
        for (&to, row) in places.iter().zip(out.chunks_exact(hidden)) {
            back[to * hidden..(to + 1) * hidden].copy_from_slice(row);
        }
        Ok(back)
    }
}

fn unfit(view: &View, side: usize) -> ModelError {
    bad_model(format!(
        "preprocessor_config.json gives pictures of {} × {} pixels; the tower reads {side} × {side}",
        view.width, view.height
    ))
    .hint("preprocessor_config.json may belong to another model")
}

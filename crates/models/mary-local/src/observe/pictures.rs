//! Observing pictures with a tower of their own: read in batches of those that are asked for the same.

use std::ops::ControlFlow;

use crate::errors::Result;
use crate::pictures::View;
use mary_contract::{Job, Observe, Observed, Reply, WorkQueue};

use super::layers;
use crate::model::LocalModel;
use crate::vision::{PictureTower, no_tower};

/// Pictures held in memory before they are read.
const HELD: usize = 64;

struct Prepared<'a> {
    job: &'a Job<Observe>,
    view: View,
    layers: Vec<usize>,
}

pub(super) fn answer(
    model: &LocalModel,
    queue: &mut dyn WorkQueue<Observe, Observed>,
    jobs: &[Job<Observe>],
) -> ControlFlow<()> {
    let mut prepared: Vec<Prepared<'_>> = vec![];
    for job in jobs.iter().filter(|job| job.request.picture.is_some()) {
        match model.install(|| prepare(model, job)) {
            Ok(next) => {
                let alike = prepared.last().is_none_or(|last| {
                    last.job.request.pools == job.request.pools && last.layers == next.layers
                });
                if !alike || prepared.len() >= HELD {
                    read(model, queue, &prepared)?;
                    prepared.clear();
                }
                prepared.push(next);
            }
            Err(error) => queue.answer(job.ticket, Err(error))?,
        }
    }
    read(model, queue, &prepared)
}

fn tower(model: &LocalModel) -> Result<&dyn PictureTower> {
    model.joint().ok_or_else(no_tower)?.pictures()
}

fn prepare<'a>(model: &LocalModel, job: &'a Job<Observe>) -> Result<Prepared<'a>> {
    let tower = tower(model)?;
    let image = job.request.picture.as_ref().ok_or_else(no_tower)?;
    Ok(Prepared {
        job,
        view: tower.prepare(image)?,
        layers: layers(&job.request.layers, tower.layers())?,
    })
}

fn read(
    model: &LocalModel,
    queue: &mut dyn WorkQueue<Observe, Observed>,
    prepared: &[Prepared<'_>],
) -> ControlFlow<()> {
    let Some(first) = prepared.first() else {
        return ControlFlow::Continue(());
    };
    let views: Vec<View> = prepared.iter().map(|p| p.view.clone()).collect();
    let pools = &first.job.request.pools;
    let observed = model.install(|| tower(model)?.observe(&views, pools, &first.layers));
    let answers = match observed {
        Ok(all) => all.into_iter().map(|o| checked(model, o)).collect(),
        Err(error) => vec![Err(error); prepared.len()],
    };
    for (picture, answer) in prepared.iter().zip(answers) {
        queue.answer(picture.job.ticket, answer)?;
    }
    ControlFlow::Continue(())
}

fn checked(model: &LocalModel, observed: Observed) -> Result<Reply<Observed>> {
    let layers = observed.pools.iter().flat_map(|p| &p.layers);
    if layers.flat_map(|l| &l.vector.0).any(|x| !x.is_finite()) {
        return Err(model.not_finite());
    }
    Ok(Reply::bare(observed))
}

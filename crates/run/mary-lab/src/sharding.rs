//! Opening one part of a run in the folder of the whole.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mary_contract::RunManifest;
use mary_store::{Holder, RunFolder, ShardPlace, ShardStatus};

use crate::cluster::progress::now;
use crate::{PreparedRun, Run, RunError, Shard};

impl<'lab> PreparedRun<'lab> {
    /// Makes or finds the folders of the run and of one part, taking over what the run or other divisions
    /// answered. `job` is the engine's name for this process.
    pub fn open_shard(mut self, shard: Shard, job: Option<String>) -> Result<Run<'lab>, RunError> {
        let manifest = self.manifest()?;
        let whole = RunFolder::found(self.lab.runs(), &manifest)?;
        let layout = self.layout()?;
        let mut parts = layout.parts(shard.of);
        if shard.index >= parts.len() {
            return Err(RunError::Specification(format!(
                "there is no shard {shard}"
            )));
        }
        let part = Arc::new(parts.swap_remove(shard.index));
        let place = ShardPlace::new(whole.path(), shard.index, shard.of);
        let mut folder = RunFolder::create_or_open_at(&place.path, whole.manifest())?;
        let ours = layout.ids(&part);
        plan(&folder, &ours)?;
        adopt(&whole, &place, &ours, &mut folder)?;
        // The run's money is divided like its work.
        if let Some(budget) = &mut self.spec.execution.budget {
            *budget *= part.share;
        }
        let status = ShardStatus {
            index: shard.index,
            of: shard.of,
            planned: part.planned,
            whole: self.planned(),
            already: folder.finished_ids()?.len(),
            share: part.share,
            process: Holder::this(),
            job,
            started: now(),
            ended: None,
            end: None,
        };
        place.write_status(&status)?;
        self.part = Some(part);
        let mut run = Run::new(self, folder);
        run.shard = Some((place, status));
        Ok(run)
    }
}

/// Notes in the shard's folder which items it is there for, so that joining can tell them from others.
fn plan(folder: &RunFolder, ours: &HashMap<(usize, usize), HashSet<&str>>) -> Result<(), RunError> {
    let manifest = folder.manifest();
    let names: Vec<String> = manifest
        .models
        .iter()
        .map(|card| card.model.to_string())
        .collect();
    let items = ours.iter().flat_map(|((model, task), ids)| {
        let model = names.get(*model).map_or("", String::as_str);
        let task = manifest.tasks.get(*task).map_or("", |task| &task.id);
        ids.iter().map(move |id| (model, task, *id))
    });
    Ok(ShardPlace::write_plan(folder, items)?)
}

/// Copies what belongs to this part from the whole run and other divisions, so that nothing is asked twice.
fn adopt(
    whole: &RunFolder,
    place: &ShardPlace,
    ours: &HashMap<(usize, usize), HashSet<&str>>,
    folder: &mut RunFolder,
) -> Result<(), RunError> {
    let manifest = whole.manifest().clone();
    let others = ShardPlace::all(whole.path());
    let others = others.into_iter().filter(|other| other.of != place.of);
    let mut sources = vec![whole.path().to_owned()];
    sources.extend(others.map(|other| other.path));
    for source in sources {
        // A part that was never begun has nothing to give.
        let Ok(source) = RunFolder::open(&source) else {
            continue;
        };
        if source.finished_ids()?.is_empty() {
            continue;
        }
        let mut taken = 0;
        let finished = folder.finished_ids()?;
        let theirs = source.finished_ids()?;
        for verdict in source.verdicts()? {
            let verdict = verdict?;
            let id = &verdict.id;
            let Some(place) = places(&manifest, &id.model, &id.task) else {
                continue;
            };
            let holds = ours.get(&place).is_some_and(|ids| ids.contains(&*id.item));
            if holds && theirs.contains(id) && !finished.contains(id) {
                folder.append(&source.sample_at(verdict.offset)?)?;
                taken += 1;
            }
        }
        if taken > 0 {
            folder.flush()?;
        }
    }
    Ok(())
}

fn places(manifest: &RunManifest, model: &str, task: &str) -> Option<(usize, usize)> {
    let model = manifest
        .models
        .iter()
        .position(|m| m.model.to_string() == model)?;
    let task = manifest.tasks.iter().position(|t| t.id == task)?;
    Some((model, task))
}

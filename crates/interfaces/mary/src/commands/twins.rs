//! Forms of the same items (in words, as a picture, both) among some runs, gathered for a report.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Registry, RunManifest, ShownAs, TaskRun, Twin};
use mary_report::html::{Chapter, Contents};
use mary_report::twins::Twins;
use mary_store::RunFolder;

use super::chapters::AnyChapter;

/// The chapter of twins with its items, where items were asked in more than one form.
pub fn chapter<'a>(registry: &'a Registry, folders: &'a [RunFolder]) -> AnyChapter<'a> {
    Chapter::new("twins", "Words and pictures", move |_| {
        let manifests: Vec<RunManifest> = folders
            .iter()
            .map(|folder| mary_lab::completed(registry, folder.manifest()))
            .collect();
        // Tasks that others name as what they ask in words.
        let tasks = manifests.iter().flat_map(|manifest| &manifest.tasks);
        let named: BTreeSet<&str> = tasks
            .filter_map(|run| Some(run.twin.as_ref()?.name.as_str()))
            .collect();
        let mut twins = Twins::default();
        let mut places = Vec::new();
        for manifest in &manifests {
            manifest.models.iter().for_each(|card| twins.model(card));
            let mut of = BTreeMap::new();
            for run in &manifest.tasks {
                if let Some(twin) = form(registry, &named, run) {
                    of.insert(run.id.clone(), twins.task(&twin, run));
                }
            }
            places.push(of);
        }
        if !twins.any() {
            return Ok(None);
        }
        for (folder, places) in folders.iter().zip(places) {
            if places.is_empty() {
                continue;
            }
            for sample in folder.samples()? {
                let sample = sample?;
                if let Some(place) = places.get(&sample.id.task) {
                    twins.add(*place, &sample);
                }
            }
        }
        let (exhibits, items) = twins.finish()?;
        Ok(Some(Contents { exhibits, items }))
    })
}

/// Which form of which items a task is: as it says itself, as its family says, or as a twin that names it.
fn form(registry: &Registry, named: &BTreeSet<&str>, run: &TaskRun) -> Option<Twin> {
    let of_family = || registry.families().iter().find_map(|f| f.twin(run));
    let in_words = || {
        named.contains(run.id.as_str()).then(|| Twin {
            name: run.id.clone(),
            shown: ShownAs::Words,
            apart: Vec::new(),
        })
    };
    run.twin.clone().or_else(of_family).or_else(in_words)
}

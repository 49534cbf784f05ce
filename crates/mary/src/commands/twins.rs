//! Forms of the same items (in words, as a picture, both) among some runs, gathered for a report.

use std::collections::BTreeMap;

use mary_contract::Registry;
use mary_report::html::{Chapter, TWINS};
use mary_report::twins::{Sheet, Twins};
use mary_store::RunFolder;

/// The chapter of twins with its items; nothing where no items were asked in more than one form.
pub fn twins(
    registry: &Registry,
    folders: &[RunFolder],
) -> anyhow::Result<Option<(Chapter, Sheet)>> {
    let mut twins = Twins::default();
    let mut places = Vec::new();
    for folder in folders {
        let manifest = mary_run::completed(registry, folder.manifest());
        manifest.models.iter().for_each(|card| twins.model(card));
        let mut of = BTreeMap::new();
        for run in &manifest.tasks {
            let families = registry.families().iter();
            if let Some(twin) = families.filter_map(|family| family.twin(run)).next() {
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
    let seed = folders.first().map_or(0, |folder| folder.manifest().seed);
    let (exhibits, sheet) = twins.finish(seed)?;
    let chapter = Chapter {
        id: TWINS.to_owned(),
        title: "Words and pictures".to_owned(),
        exhibits,
    };
    Ok(Some((chapter, sheet)))
}

//! `mary compare --pair`: a model and what it was built on, item by item and by subtask.

use std::path::PathBuf;

use mary_report::pairs::{Pair, Paired, pair_table};
use mary_report::terminal;
use mary_store::RunFolder;

use super::compare::CompareArgs;
use super::summary;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;

pub fn pairs(place: &Place, paths: &[PathBuf], args: &CompareArgs) -> anyhow::Result<Status> {
    let families = place.registry.families();
    let order = families
        .iter()
        .flat_map(|family| family.tag_order(&args.by));
    let order = order.map(String::from);
    let mut gathered = Paired::new(&args.by, args.measure.as_deref()).ordered(order);
    let mut summaries = Vec::new();
    let tasks = super::compare::tasks(paths, &args.tasks)?;
    for path in paths {
        let folder = RunFolder::open(path)?;
        let manifest = mary_lab::completed(&place.registry, folder.manifest());
        for sample in folder.samples()? {
            let sample = sample?;
            if tasks.contains(&sample.id.task)
                && let Some(run) = manifest.task(&sample.id.task)
            {
                gathered.add(run, &sample);
            }
        }
        summaries.push(mary_lab::load_summary(&place.registry, &folder)?);
    }
    let models = gathered.models();
    let chosen = args.pair.iter().map(|pair| read_pair(pair, &models));
    let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
    let lines = gathered.compare(&chosen)?;
    if lines.rows.is_empty() {
        let mut message = "no item is scored by both models of a pair".to_owned();
        for left_out in &lines.left_out {
            message.push_str(&format!("\n  left out: {left_out}"));
        }
        message.push_str("\nhint: both must have run the same task with the same settings");
        return usage_error(message);
    }
    for left_out in &lines.left_out {
        super::tell(&format!("warning: left out: {left_out}"));
    }
    let mut tables = vec![pair_table(&lines, &args.by)];
    let named: Vec<(String, String)> = chosen
        .iter()
        .map(|pair| (pair.first.clone(), pair.second.clone()))
        .collect();
    for family in families {
        tables.extend(family.pair_tables(&summaries, &named));
    }
    if args.json {
        super::print_json(&tables)?;
        return Ok(Status::Done);
    }
    let labels = super::compare::labels(paths)?;
    for table in &super::compare::labelled(tables, &labels) {
        super::print_table(&format!("{}\n", terminal::plain(table, summary::style())))?;
    }
    Ok(Status::Done)
}

/// `first=second`, each the name of a model or a part of one name only.
fn read_pair(text: &str, models: &[String]) -> Result<Pair, UsageError> {
    let Some((first, second)) = text.split_once('=') else {
        return Err(UsageError::new(format!(
            "`{text}` is not a pair\nhint: --pair BUILT=BASE, for example --pair qwen2-vl=qwen2-7b"
        )));
    };
    Ok(Pair {
        first: named(first, models)?,
        second: named(second, models)?,
    })
}

fn named(wanted: &str, models: &[String]) -> Result<String, UsageError> {
    let wanted = wanted.trim();
    if let Some(exact) = models
        .iter()
        .find(|m| m.as_str() == wanted || m.rsplit('/').next() == Some(wanted))
    {
        return Ok(exact.clone());
    }
    let fitting: Vec<&String> = models.iter().filter(|m| m.contains(wanted)).collect();
    match fitting.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(UsageError::new(format!(
            "none of these runs holds `{wanted}`\nhint: they hold {}",
            models.join(", ")
        ))),
        several => {
            let names: Vec<&str> = several.iter().map(|m| m.as_str()).collect();
            Err(UsageError::new(format!(
                "`{wanted}` fits {}; give more of the name",
                names.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_their_name_or_a_part_of_it() {
        let models = ["published/qwen2-7b", "published/qwen2-vl-7b", "hf/x"].map(String::from);
        let pair = read_pair("vl=qwen2-7b", &models).unwrap();
        assert_eq!(pair.first, "published/qwen2-vl-7b");
        assert_eq!(pair.second, "published/qwen2-7b");
        assert!(read_pair("qwen2=hf/x", &models).is_err());
        assert!(read_pair("nobody=hf/x", &models).is_err());
        assert!(read_pair("hf/x", &models).is_err());
    }
}

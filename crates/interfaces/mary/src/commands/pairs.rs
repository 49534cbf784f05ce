//! `mary compare --pair`: a model and what it was built on, item by item and by subtask.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mary_contract::{Exhibits, Table};
use mary_report::pairs::{Pair, Paired, pair_table, tuned_pairs};
use mary_store::RunFolder;

use super::chapters::{AnyChapter, made};
use super::compare::CompareArgs;
use super::summary;
use crate::commands::{print_json, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::library;
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
    let chosen = match args.pair.as_slice() {
        [only] if only == "tuned" => tuned_pairs(&models),
        named => {
            let read = named.iter().map(|pair| read_pair(pair, &models));
            read.collect::<Result<Vec<_>, _>>()?
        }
    };
    if chosen.is_empty() {
        return usage_error(format!(
            "no model here is called like the tuned form of another (X-Instruct, X-Chat or X-it of X)\nhint: name \
             pairs with --pair BUILT=BASE; these runs hold {}",
            models.join(", ")
        ));
    }
    let lines = gathered.compare(&chosen)?;
    if lines.rows.is_empty() {
        let mut message = "no item is scored by both models of a pair".to_owned();
        let left_out = lines.left_out.iter();
        message.extend(left_out.map(|one| format!("\n  left out: {one}")));
        message.push_str("\nhint: both must have run the same task with the same settings");
        return usage_error(message);
    }
    for left_out in &lines.left_out {
        tell!("warning: left out: {left_out}");
    }
    let mut tables = vec![pair_table(&lines, &args.by)];
    let named = chosen.iter();
    let named = named.map(|pair| (pair.first.clone(), pair.second.clone()));
    let named: Vec<(String, String)> = named.collect();
    tables.extend(
        families
            .iter()
            .flat_map(|family| family.pair_tables(&summaries, &named)),
    );
    if args.json {
        return print_json(&tables);
    }
    let labels = super::compare::labels(paths)?;
    summary::show_tables(&super::compare::labelled(tables, &labels))
}

/// The tables that families have of some pairs, for a report.
pub fn chapter(
    place: &Place,
    runs: &[PathBuf],
    pairs: &[String],
) -> anyhow::Result<Option<AnyChapter<'static>>> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let summaries = library::summaries(&place.registry, runs)?;
    let rows = summaries.iter().flat_map(|s| &s.rows);
    let models: BTreeSet<String> = rows.map(|row| row.model.clone()).collect();
    let models: Vec<String> = models.into_iter().collect();
    let chosen = pairs.iter().map(|pair| {
        let pair = read_pair(pair, &models)?;
        Ok((pair.first, pair.second))
    });
    let chosen = chosen.collect::<Result<Vec<_>, UsageError>>()?;
    let families = place.registry.families().iter();
    let mut tables: Vec<Table> = families
        .flat_map(|family| family.pair_tables(&summaries, &chosen))
        .collect();
    if tables.is_empty() {
        return usage_error(
            "no family has a table of these pairs\nhint: both models of a pair must be asked alike; \
             `mary compare --pair` compares them item by item",
        );
    }
    // The family's own chapter may hold the same table without these pairs.
    for table in &mut tables {
        table.id = format!("pairs-{}", table.id);
    }
    let exhibits = Exhibits::of_tables(tables);
    Ok(Some(made("pairs", "Pairs of models", exhibits)))
}

/// `built=base`, or `text=base,vision=built`: each the name of a model or a part of one name only.
fn read_pair(text: &str, models: &[String]) -> Result<Pair, UsageError> {
    let spelled = text.strip_prefix("text=");
    if let Some((base, built)) = spelled.and_then(|rest| rest.split_once(",vision=")) {
        return Ok(Pair {
            first: named(built, models)?,
            second: named(base, models)?,
        });
    }
    let Some((first, second)) = text.split_once('=') else {
        return Err(UsageError::new(format!(
            "`{text}` is not a pair\nhint: --pair BUILT=BASE, for example --pair qwen2-vl=qwen2-7b, or \
             --pair text=BASE,vision=BUILT"
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
        let spelled = read_pair("text=qwen2-7b,vision=vl", &models).unwrap();
        assert_eq!((spelled.first, spelled.second), (pair.first, pair.second));
        assert!(read_pair("hf/x", &models).is_err());
    }
}

//! `mary tasks new` and `mary tasks check`: writing a task of one's own, and finding what is wrong with
//! it before a model is asked.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use mary_audit::{AuditSettings, Example};
use mary_contract::{DataSource, Task, TaskSettings};
use mary_platform::counted;
use mary_taskfile::{Skeleton, skeleton};

use super::tasks::item_text;
use crate::commands::{print, tell};
use crate::exit::{Status, usage_error};

/// Items that are audited, at most: the baselines need no more, and memory stays small.
const AUDITED: usize = 20_000;

const LISTED: usize = 12;

/// Writes a task file and its data, and never over what is there.
pub fn new(file: &Path, kind: Skeleton) -> anyhow::Result<Status> {
    if file.extension().is_none_or(|e| e != "toml") {
        return usage_error(format!("{}: a task file ends in .toml", file.display()));
    }
    let data = file.with_extension("jsonl");
    if let Some(there) = [file, &data].into_iter().find(|p| p.exists()) {
        return usage_error(format!(
            "{} is there already and is not written over\nhint: give another name",
            there.display()
        ));
    }
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    let (task, rows) = skeleton(kind, &name);
    if let Some(folder) = file.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    for (path, text) in [(file, task.as_str()), (&data, rows)] {
        let mut written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .with_context(|| path.display().to_string())?;
        written
            .write_all(text.as_bytes())
            .with_context(|| path.display().to_string())?;
        print(&format!("{}\n", path.display()))?;
    }
    tell!(
        "now: `mary tasks check {0}`, then `mary run -t {0}`",
        file.display()
    );
    Ok(Status::Done)
}

/// Makes every item, shows some, and looks for shortcuts; leaves with 1 when one was found.
pub fn check(
    task: &Arc<dyn Task>,
    settings: &TaskSettings,
    shown: usize,
    data: &dyn DataSource,
) -> anyhow::Result<Status> {
    let card = task.card();
    settings.check(card)?;
    let mut text = format!("{}  {}\n", card.id, card.title);
    for (name, value) in task.conventions(settings) {
        text.push_str(&format!("{name}: {value}\n"));
    }
    let mut count = 0;
    let mut strata: BTreeMap<String, usize> = BTreeMap::new();
    let mut examples = Vec::new();
    for item in task.items(settings, data)? {
        let item = item?;
        if count < shown {
            text.push_str(&item_text(&item)?);
        }
        count += 1;
        if strata.contains_key(&item.stratum) || strata.len() <= LISTED {
            *strata.entry(item.stratum.clone()).or_default() += 1;
        }
        if examples.len() < AUDITED {
            examples.extend(Example::from_item(&item));
        }
    }
    let items = counted(count, "item");
    text.push_str(&format!("\n{items}, all well formed\n"));
    if strata.len() > LISTED {
        text.push_str(&format!("strata: more than {LISTED}\n"));
    } else if strata.len() > 1 {
        let each = strata.iter().map(|(name, n)| format!("{name} {n}"));
        let each: Vec<String> = each.collect();
        text.push_str(&format!("strata: {}\n", each.join(", ")));
    }
    let clean = audit(&mut text, &examples, settings.seed, count);
    print(&text)?;
    Ok(Status::done_if(clean))
}

/// Adds what simple baselines reach; whether none of them beats chance.
fn audit(text: &mut String, examples: &[Example], seed: u64, count: usize) -> bool {
    if examples.is_empty() {
        text.push_str("audit: its items have neither options nor pairs to audit\n");
        return true;
    }
    if examples.len() < count {
        let items = counted(examples.len(), "item");
        text.push_str(&format!("audit of the first {items}:\n"));
    }
    let settings = AuditSettings {
        seed,
        ..AuditSettings::default()
    };
    match mary_audit::audit(examples, &settings) {
        // Too few items for cross-validation are no fault of the task file.
        Err(error) => {
            text.push_str(&format!("audit: {error}\n"));
            true
        }
        Ok(report) => {
            let found = report.shortcuts().count();
            text.push_str(&match found {
                0 => "audit: no shortcut found\n".to_owned(),
                1 => "audit: 1 shortcut found\n".to_owned(),
                n => format!("audit: {n} shortcuts found\n"),
            });
            text.push_str(&report.to_text());
            text.push('\n');
            found == 0
        }
    }
}

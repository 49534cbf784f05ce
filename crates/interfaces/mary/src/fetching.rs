//! What a person sees of downloads from the hub: a line when a large file begins, and at every quarter.

use std::collections::BTreeMap;
use std::sync::Mutex;

use mary_fetch::hub::Progress;

use crate::terminal;

/// Files below this size come too fast to speak of.
const LARGE: u64 = 16 << 20;

/// Watches all downloads of this process, where somebody is looking.
pub fn watch() {
    if !console::Term::stderr().is_term() {
        return;
    }
    let quarters: Mutex<BTreeMap<String, u64>> = Mutex::default();
    mary_fetch::hub::watch(move |progress| {
        if let Ok(mut quarters) = quarters.lock()
            && let Some(line) = line(&mut quarters, &progress)
        {
            terminal::line(&line);
        }
    });
}

fn line(quarters: &mut BTreeMap<String, u64>, progress: &Progress<'_>) -> Option<String> {
    let total = progress.total.filter(|total| *total >= LARGE)?;
    let quarter = progress.done * 4 / total;
    let key = format!("{} {}", progress.id, progress.file);
    if quarters.insert(key, quarter) == Some(quarter) {
        return None;
    }
    Some(format!(
        "fetching {}: {}: {} of {} MB",
        progress.id,
        progress.file,
        progress.done / 1_000_000,
        total / 1_000_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_spoken_of_five_times_and_a_small_one_never() {
        let mut quarters = BTreeMap::new();
        let mut said = |total: u64| {
            let steps = (0..=1000).map(|i| Progress {
                id: "me/large",
                file: "model.safetensors",
                done: total * i / 1000,
                total: Some(total),
            });
            steps.filter_map(|p| line(&mut quarters, &p)).count()
        };
        assert_eq!(said(400_000_000), 5);
        assert_eq!(said(1_000_000), 0);
    }
}

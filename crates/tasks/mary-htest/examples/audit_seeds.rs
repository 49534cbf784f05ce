//! Audits every task of H-TEST over eight seeds and prints one table: what the strongest learner reaches
//! on seeds it has never seen, with everything, without what is the rule, and by relations alone.
//!
//! `cargo run -p mary-htest --example audit_seeds [first seed] [test items] [task]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use mary_audit::{AuditSettings, Example, audit_beside};
use mary_contract::{Family as _, NoData, Task, TaskSettings};
use mary_htest::{HTEST, rule_baselines};

/// Seeds audited, and seeds that the forest learns on.
const AUDITED: u64 = 8;
const LEARNED: u64 = 4;

fn examples(
    task: &dyn Task,
    seed: u64,
    n: usize,
) -> Result<Vec<Example>, Box<dyn std::error::Error>> {
    let mut settings = TaskSettings {
        seed,
        params: [("n".to_owned(), n.to_string())].into(),
        ..TaskSettings::default()
    };
    HTEST.learned_settings(task.card(), &mut settings);
    let mut all = Vec::new();
    for item in task.items(&settings, &NoData)? {
        all.extend(Example::from_item(&item?));
    }
    Ok(all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let first: u64 = arguments.next().map_or(Ok(5_000), |a| a.parse())?;
    let n: usize = arguments.next().map_or(Ok(200), |a| a.parse())?;
    let only = arguments.next();
    println!(
        "mean over seeds {first} to {} of {n} items; in brackets seeds on which it beats chance",
        first + AUDITED - 1
    );
    println!(
        "| task | chance | forest | without the rule | relations alone | best simple baseline, not the rule |"
    );
    println!("|---|---|---|---|---|---|");
    for task in HTEST.tasks() {
        let id = &*task.card().id;
        if only.as_ref().is_some_and(|o| !id.ends_with(o.as_str())) {
            continue;
        }
        let rule = rule_baselines(id);
        let settings = AuditSettings {
            permutations: 199,
            expected: rule.iter().map(|b| (*b).to_owned()).collect(),
            ..AuditSettings::default()
        };
        let others = (0..LEARNED)
            .map(|step| examples(task.as_ref(), first + 1_000 + step, n))
            .collect::<Result<Vec<_>, _>>()?;
        let reports = (0..AUDITED)
            .map(|step| {
                Ok(audit_beside(
                    &examples(task.as_ref(), first + step, n)?,
                    &others,
                    &settings,
                )?)
            })
            .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
        let cell = |name: &str| {
            let found: Vec<_> = reports.iter().filter_map(|r| r.finding(name)).collect();
            if found.is_empty() {
                return "as forest".to_owned();
            }
            let mean = found.iter().map(|f| f.accuracy.value).sum::<f64>() / found.len() as f64;
            let beats = found.iter().filter(|f| f.beats_chance).count();
            format!("{:.1} ({beats})", 100.0 * mean)
        };
        let names: Vec<&str> = reports.first().map_or(vec![], |r| {
            let simple = r
                .findings
                .iter()
                .filter(|f| !f.expected && !f.baseline.starts_with("forest"));
            simple.map(|f| f.baseline).collect()
        });
        let mean = |name: &str| {
            let found = reports.iter().filter_map(|r| r.finding(name));
            found.map(|f| f.accuracy.value).sum::<f64>() / reports.len() as f64
        };
        let best = names.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
        println!(
            "| {} | {:.0} | {} | {} | {} | {} {} |",
            id.trim_start_matches("htest/"),
            100.0 * task.card().chance.unwrap_or(0.0),
            cell("forest"),
            cell("forest_without_rule"),
            cell("forest_relations"),
            best.copied().unwrap_or("none"),
            best.map_or(String::new(), |name| cell(name)),
        );
        if let Some(f) = reports
            .iter()
            .filter_map(|r| r.finding("forest_without_rule").or(r.finding("forest")))
            .max_by(|a, b| a.accuracy.value.total_cmp(&b.accuracy.value))
        {
            eprintln!("{id}: {:.1} {:?}", 100.0 * f.accuracy.value, f.telling);
        }
    }
    Ok(())
}

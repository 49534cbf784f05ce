//! `mary data audit`: what simple baselines reach on a task's items without understanding them.

use mary_audit::{AuditReport, AuditSettings, Example, Finding};
use mary_contract::{Task, TaskSettings};
use mary_data::LocalData;
use mary_stats::multiple;
use mary_suites::physico;
use serde_json::json;

use crate::cli::AuditArgs;
use crate::exit::{Status, UsageError};
use crate::settings::Place;
use crate::suite::{self, Wishes};

/// Audits each task named; leaves with 1 when a shortcut was found.
pub fn audit(place: &Place, data: &LocalData, args: &AuditArgs) -> anyhow::Result<Status> {
    let tasks = suite::select(&place.registry, &args.tasks)?;
    let wishes = Wishes {
        seed: args.seed,
        set: Wishes::pairs(&args.set)?,
        ..Wishes::default()
    };
    let mut clean = true;
    let mut reports = Vec::new();
    for (task, settings) in wishes.settings(&tasks)? {
        let id = &*task.card().id;
        let mut examples = Vec::new();
        for item in task.items(&settings, data)? {
            let mut example = Example::from_item(&item?);
            // The same definition stands in many blocks: chained together, all would be one group.
            if let (Some(example), "physico/definition") = (&mut example, id) {
                example.cluster = None;
            }
            examples.extend(example);
        }
        if examples.is_empty() {
            super::tell(&format!(
                "{id}: its items have neither options nor pairs to audit"
            ));
            continue;
        }
        let mut report = mary_audit::audit(&examples, &settings_for(task.as_ref(), args.seed))
            .map_err(|e| UsageError::new(format!("{id}: {e}")))?;
        report.findings.extend(surfaces(id, &settings, data)?);
        clean &= report.shortcuts().next().is_none();
        if args.json {
            reports.push(json!({"task": id, "audit": report}));
        } else {
            super::print(&shown(id, &report))?;
        }
    }
    if args.json {
        super::print_json(&reports)?;
    }
    Ok(if clean {
        Status::Done
    } else {
        Status::Incomplete
    })
}

fn settings_for(task: &dyn Task, seed: u64) -> AuditSettings {
    let rule = mary_suites::htest::rule_baselines(&task.card().id);
    AuditSettings {
        seed,
        expected: rule.iter().map(|b| (*b).to_owned()).collect(),
        ..AuditSettings::default()
    }
}

/// What the surface of PHYSICO's grids gives away among the four options; nothing for other tasks.
/// What the concept itself decides is named as the rule and no shortcut.
fn surfaces(id: &str, settings: &TaskSettings, data: &LocalData) -> anyhow::Result<Vec<Finding>> {
    const CHANCE: f64 = 0.25;
    const ALPHA: f64 = 0.05;
    let reached = physico::surface(id, settings, data)?.unwrap_or_default();
    let p: Vec<f64> = reached.iter().map(|r| r.p).collect();
    let corrected = if p.is_empty() {
        vec![]
    } else {
        multiple::holm(&p)?
    };
    let findings = reached
        .into_iter()
        .zip(corrected)
        .map(|(r, p_holm)| Finding {
            baseline: r.feature,
            sees: r.sees,
            beats_chance: p_holm < ALPHA && r.accuracy.low > CHANCE,
            accuracy: r.accuracy,
            chance: CHANCE,
            p: r.p,
            p_holm,
            expected: r.implied,
            telling: vec![],
        });
    Ok(findings.collect())
}

fn shown(id: &str, report: &AuditReport) -> String {
    let verdict = match report.shortcuts().count() {
        0 => "no shortcut found".to_owned(),
        1 => "1 shortcut found".to_owned(),
        n => format!("{n} shortcuts found"),
    };
    format!("{id}: {verdict}\n{}\n", report.to_text())
}

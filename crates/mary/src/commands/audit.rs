//! `mary data audit`: what simple baselines reach on a task's items without understanding them.

use mary_audit::{AuditReport, AuditSettings, Example, Finding};
use mary_contract::{AuditExpectations, SurfaceFinding};
use mary_data::LocalData;
use mary_stats::{Interval, multiple};
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
        let family = place.registry.family(&task.card().family);
        let expected = family.map_or_else(AuditExpectations::default, |f| {
            f.audit_expectations(task.card())
        });
        let mut examples = Vec::new();
        for item in task.items(&settings, data)? {
            let mut example = Example::from_item(&item?);
            if let (Some(example), true) = (&mut example, expected.ungrouped) {
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
        let mut report = mary_audit::audit(&examples, &settings_for(&expected, args.seed))
            .map_err(|e| UsageError::new(format!("{id}: {e}")))?;
        if let Some(family) = family {
            let found = family.surface_findings(task.card(), &settings, data)?;
            report.findings.extend(surfaces(found)?);
        }
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

fn settings_for(expected: &AuditExpectations, seed: u64) -> AuditSettings {
    AuditSettings {
        seed,
        expected: expected
            .rule_baselines
            .iter()
            .map(|b| b.to_string())
            .collect(),
        ..AuditSettings::default()
    }
}

/// What features that only the family knows give away, corrected for how many there are. What the rule
/// itself decides is named as the rule and no shortcut.
fn surfaces(found: Vec<SurfaceFinding>) -> anyhow::Result<Vec<Finding>> {
    const ALPHA: f64 = 0.05;
    let p: Vec<f64> = found.iter().map(|f| f.p).collect();
    let corrected = if p.is_empty() {
        vec![]
    } else {
        multiple::holm(&p)?
    };
    let findings = found.into_iter().zip(corrected).map(|(f, p_holm)| Finding {
        baseline: f.feature,
        sees: f.sees,
        beats_chance: p_holm < ALPHA && f.low > f.chance,
        accuracy: Interval {
            value: f.accuracy,
            low: f.low,
            high: f.high,
            n: f.n,
            method: f.method,
        },
        chance: f.chance,
        p: f.p,
        p_holm,
        expected: f.implied,
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

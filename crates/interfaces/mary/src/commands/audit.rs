//! `mary data audit`: what baselines and a random forest reach without understanding the items.

use clap::Args;
use mary_audit::{AuditSettings, Example, Finding};
use mary_contract::{AuditExpectations, SurfaceFinding, Task, TaskSettings};
use mary_fetch::datasets::LocalData;
use mary_lab::TaskOptions;
use mary_stats::{Interval, multiple};
use serde_json::json;

use crate::commands::{print, print_json, tell};
use crate::exit::{Status, UsageError};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Task ids, families or wildcards
    #[arg(required = true, value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Seed of items and of the cross-validation
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting, for example source=published (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Audits each task named; leaves with 1 when a shortcut was found.
pub fn audit(place: &Place, data: &LocalData, args: &AuditArgs) -> anyhow::Result<Status> {
    let tasks = mary_lab::select_tasks(&place.registry, &args.tasks)?;
    let task_options = TaskOptions {
        seed: args.seed,
        set: TaskOptions::pairs(&args.set)?,
        ..TaskOptions::default()
    };
    let mut clean = true;
    let mut reports = Vec::new();
    for (task, mut settings) in task_options.settings(&tasks)? {
        let id = &*task.card().id;
        let family = place.registry.family(&task.card().family);
        if let Some(family) = family {
            family.learned_settings(task.card(), &mut settings);
        }
        let expected = family.map_or_else(AuditExpectations::default, |f| {
            f.audit_expectations(task.card())
        });
        let examples = examples(task.as_ref(), expected.ungrouped, &settings, data)?;
        if examples.is_empty() {
            tell!("{id}: its items have neither options nor pairs to audit");
            continue;
        }
        let (read, from) = (task.as_ref(), (&settings, data));
        let others = other_seeds(read, expected.ungrouped, from, &examples)?;
        let own = AuditSettings {
            seed: args.seed,
            expected: expected
                .rule_baselines
                .iter()
                .map(|b| b.to_string())
                .collect(),
            ..AuditSettings::default()
        };
        let mut report = mary_audit::audit_beside(&examples, &others, &own)
            .map_err(|e| UsageError::new(format!("{id}: {e}")))?;
        if let Some(family) = family {
            let found = family.surface_findings(task.card(), &settings, data)?;
            report.findings.extend(surfaces(found)?);
        }
        clean &= report.shortcuts().next().is_none();
        if args.json {
            reports.push(json!({"task": id, "audit": report}));
        } else {
            let (verdict, text) = (report.verdict(), report.to_text());
            print(&format!("{id}: {verdict}\n{text}\n"))?;
        }
    }
    if args.json {
        print_json(&reports)?;
    }
    Ok(Status::done_if(clean))
}

fn examples(
    task: &dyn Task,
    ungrouped: bool,
    settings: &TaskSettings,
    data: &LocalData,
) -> anyhow::Result<Vec<Example>> {
    let mut examples = Vec::new();
    for item in task.items(settings, data)? {
        let mut example = Example::from_item(&item?);
        if let (Some(example), true) = (&mut example, ungrouped) {
            example.cluster = None;
        }
        examples.extend(example);
    }
    Ok(examples)
}

/// Sets of other seeds for the forest to learn on; none where the items do not depend on the seed.
fn other_seeds(
    task: &dyn Task,
    ungrouped: bool,
    (settings, data): (&TaskSettings, &LocalData),
    audited: &[Example],
) -> anyhow::Result<Vec<Vec<Example>>> {
    const SEEDS: u64 = 4;
    // Far from the seeds that people try, so that these are not audited next.
    const APART: u64 = 1_000_003;
    let mut others = Vec::new();
    for step in 1..=SEEDS {
        let settings = TaskSettings {
            seed: settings.seed.wrapping_add(step * APART),
            ..settings.clone()
        };
        let other = examples(task, ungrouped, &settings, data)?;
        let same = |e: &Example| {
            audited
                .iter()
                .any(|a| a.question == e.question && a.options == e.options)
        };
        if other.iter().take(20).filter(|e| same(e)).count() > 10 {
            return Ok(Vec::new());
        }
        others.push(other);
    }
    Ok(others)
}

/// What features that only the family knows give away, corrected for how many there are. What the rule
/// itself decides is named as the rule and no shortcut.
fn surfaces(found: Vec<SurfaceFinding>) -> anyhow::Result<Vec<Finding>> {
    const ALPHA: f64 = 0.05;
    let p: Vec<f64> = found.iter().map(|f| f.p).collect();
    let corrected = match p.as_slice() {
        [] => vec![],
        some => multiple::holm(some)?,
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

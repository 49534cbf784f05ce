//! `mary run --dry-run`: what would be asked and what it would cost, asking nothing.

use std::path::Path;

use mary_contract::{ModelRole, Task, TaskSettings};
use mary_data::LocalData;
use mary_engine::select::Survey;
use mary_remote::{DryRun, Estimate, EstimateRow, Estimator};

use super::run::{self, Judge, Plan};
use crate::batch;
use crate::exit::Status;
use crate::settings::Place;

/// Prints requests, tokens and dollars for each model and task.
pub fn dry_run(place: &Place, plan: &Plan) -> anyhow::Result<Status> {
    let data = LocalData::new(place.data.clone(), place.datasets());
    let checked = run::check(plan, &data)?;
    let mut dry = DryRun::default();
    for model in &plan.models {
        let mut estimator = remote(model, plan)?;
        for ((task, settings, _), survey) in plan.tasks.iter().zip(&checked.surveys) {
            let estimate = estimate(
                task.as_ref(),
                settings,
                survey,
                plan,
                &data,
                estimator.as_mut(),
            )?;
            dry.rows.push(EstimateRow {
                model: model.to_string(),
                task: task.card().id.to_string(),
                estimate,
            });
        }
        if let Some(estimator) = &estimator {
            dry.prices = estimator.dated().to_owned();
        }
    }
    if plan.json {
        super::print_json(&dry)?;
    } else {
        super::print(&format!("{}\n", dry.to_string().trim_end()))?;
    }
    if plan
        .tasks
        .iter()
        .any(|(task, settings, _)| task.needs(settings).judge)
        && matches!(plan.judge, Some(Judge::Other(_) | Judge::Oneself))
    {
        super::tell("the judge's questions depend on the answers and are not in these figures");
    }
    super::tell("nothing was asked");
    Ok(Status::Done)
}

fn remote(model: &mary_contract::ModelRef, plan: &Plan) -> anyhow::Result<Option<Estimator>> {
    if !mary_remote::is_remote(&model.provider) {
        return Ok(None);
    }
    // A batch has its own price; the place of its state does not matter here.
    let settings = match plan.batch {
        true => batch::settings(model, &plan.settings, Path::new("batch")),
        false => plan.settings.clone(),
    };
    Ok(Some(Estimator::new(model, &settings)?))
}

fn estimate(
    task: &dyn Task,
    settings: &TaskSettings,
    survey: &Survey,
    plan: &Plan,
    data: &LocalData,
    mut estimator: Option<&mut Estimator>,
) -> anyhow::Result<Estimate> {
    let mut local = Estimate::default();
    for (index, item) in task.items(settings, data)?.enumerate() {
        let item = item?;
        if survey
            .chosen
            .as_ref()
            .is_some_and(|chosen| !chosen.contains(&index))
        {
            continue;
        }
        for _ in 0..plan.trials {
            for ask in item
                .asks
                .iter()
                .filter(|ask| ask.role == ModelRole::Subject)
            {
                match &mut estimator {
                    Some(estimator) => estimator.add(&ask.request),
                    None => local.requests += 1,
                }
            }
        }
    }
    Ok(estimator.map_or(local, Estimator::take))
}

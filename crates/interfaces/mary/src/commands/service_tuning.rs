//! `mary tune` of a model that its service tunes: the bound on money, the wait, the way back, and the tests of both
//! models. Local tuning is the rule; this is for models whose weights are not public.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use mary_contract::{ModelRef, ModelSettings};
use mary_lab::Opening;
use mary_remote::ServiceTuning;

use super::tune::{TuneArgs, training_set};
use super::tuned;
use crate::exit::{Status, usage_error};
use crate::interrupt;
use crate::settings::Place;

#[derive(Debug, Args)]
#[command(next_help_heading = "Tuning by a service")]
pub struct ServiceTuningArgs {
    /// Dollars that tuning may cost, at most; nothing is sent where the estimate is higher
    #[arg(long, value_name = "DOLLARS")]
    pub budget: Option<f64>,
    /// Times the service's usual learning rate [default: its choice]
    #[arg(long, value_name = "FACTOR")]
    pub rate_multiplier: Option<f64>,
    /// Hours to wait before leaving the job to itself; the same command comes back to it
    #[arg(long, value_name = "HOURS", default_value_t = 24.0)]
    pub wait: f64,
    /// Seconds between two looks at the job
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, hide = true)]
    pub poll: f64,
    /// Create the job again though the answer to an earlier creation was lost; it may be paid twice
    #[arg(long)]
    pub again: bool,
    /// Another address of the service
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

/// What is known of the job between two visits; it holds no key and no example.
const STATE: &str = "tuning.json";

pub fn run(args: &TuneArgs, place: &Place, model: &ModelRef) -> anyhow::Result<Status> {
    let service = &args.service;
    if args.merge.is_some() {
        return usage_error("--merge goes with a local model; a service keeps what it tuned");
    }
    let data = training_set(place, args)?;
    let settings = ModelSettings {
        base_url: service.base_url.clone(),
        budget: service.budget,
        ..ModelSettings::default()
    };
    let wanted = ServiceTuning {
        epochs: u32::try_from(args.lora.epochs.unwrap_or(3)).context("--epochs")?,
        batch: args.lora.batch_size.map(u32::try_from).transpose()?,
        rate_multiplier: service.rate_multiplier,
        seed: Some(args.lora.seed),
        again: service.again,
    };
    let stop = interrupt::flag()?;
    let mut told = |words: &str| {
        if !words.is_empty() {
            super::tell(words);
        }
        !stop.load(Ordering::Relaxed)
    };
    let wait = Duration::try_from_secs_f64(service.wait * 3600.0).context("--wait")?;
    let poll = Duration::try_from_secs_f64(service.poll)
        .context("the time between two questions to the service")?;
    let files = (data.as_path(), &*args.out.join(STATE));
    let made = mary_remote::tune(model, &settings, &wanted, files, (wait, poll), &mut told)?;
    let counted = made.tokens.map_or("as estimated".to_owned(), |tokens| {
        format!("{tokens} tokens learned from")
    });
    super::tell(&format!(
        "tuned model: {}\ncost: ${:.2} ({counted})",
        made.model, made.cost
    ));
    if args.test.is_empty() {
        super::tell(&format!(
            "try it: mary run -m {} -m {model} -t TASKS, then mary compare RUN --pair {}={model}",
            made.model, made.model
        ));
        return Ok(Status::Done);
    }
    let tests = tuned::Tests {
        tasks: &args.test,
        testing: &args.testing,
        lora: &args.lora,
    };
    let opening = Opening {
        base_url: service.base_url.clone(),
        ..Opening::default()
    };
    let run = tests.ask(place, vec![model.clone(), made.model], opening)?;
    let tables = vec![tuned::differences(&run, |_, _| true)?];
    tuned::show(&tables, args.testing.csv.as_deref())?;
    tuned::write_report(place, &run, tables)?;
    Ok(Status::Done)
}

//! `mary submit --dry-run --simulate`: a sweep played through, with rates that were measured.

use mary_lab::cluster::simulate::{Rates, Scenario, play, pythia, read, take};

use super::SubmitArgs;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, UsageError};

pub fn simulate(args: &SubmitArgs, text: &str) -> anyhow::Result<Status> {
    let (checkpoints, devices) = read(text).ok_or_else(|| {
        UsageError::new(format!(
            "`{text}`: expected how many checkpoints and how many devices\nhint: --simulate '1,232 checkpoints on 64 GPUs'"
        ))
    })?;
    let rates = Rates {
        failures: args.failures,
        hub: (Rates::default().hub.0, args.hub_rate * 1e9),
        ..Rates::default()
    };
    let scenario = Scenario {
        sizes: take(&pythia(), checkpoints),
        devices,
        shards: args.shards.unwrap_or(devices),
        batteries: args.batteries,
        rates,
        seed: args.seed,
    };
    let outcome = play(&scenario, mary_lab::deal);
    if args.json {
        return print_json(&serde_json::json!({"scenario": scenario, "outcome": outcome}));
    }
    print(&format!("{outcome}\n"))?;
    tell!(
        "simulated: {devices} devices, {} shards, {} failures a device-hour, {:.2} GB/s from the hub in all; rates of \
         BLiMP in full on one H200 (docs/history/cuda.md)",
        scenario.shards,
        rates.failures,
        args.hub_rate
    );
    Ok(Status::Done)
}

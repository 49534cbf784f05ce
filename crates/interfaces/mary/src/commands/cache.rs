//! `mary cache stats|prune`.

use clap::{Args, Subcommand};
use mary_platform::counted;
use mary_store::{Prune, ResponseCache};
use serde_json::json;

use crate::command::Command;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// How much is kept, by model
    Stats {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget answers
    Prune {
        /// Older than this many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u64>,
        /// Of this model
        #[arg(long)]
        model: Option<String>,
        /// Down to this many megabytes, oldest first
        #[arg(long, value_name = "MB")]
        to_size: Option<u64>,
        /// Everything
        #[arg(long)]
        all: bool,
    },
}

impl Command for CacheArgs {
    const NAME: &str = "cache";
    const ABOUT: &str = "Look into or clean the cache of answers";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let path = place.answers();
        match &self.action {
            CacheAction::Stats { json } => {
                if !path.exists() {
                    tell!("the cache is empty");
                    return Ok(Status::Done);
                }
                let stats = ResponseCache::open(&path)?.stats()?;
                if *json {
                    let models: Vec<_> = stats
                        .models
                        .iter()
                        .map(|m| json!({"model": m.model, "answers": m.rows, "bytes": m.bytes}))
                        .collect();
                    print_json(&json!({
                        "path": stats.path, "answers": stats.rows, "bytes": stats.bytes, "models": models,
                    }))?;
                } else {
                    let mut text = format!(
                        "{}, {:.1} MB, in {}\n",
                        answers(stats.rows),
                        stats.bytes as f64 / 1e6,
                        path.display()
                    );
                    for share in &stats.models {
                        text.push_str(&format!(
                            "  {:<40} {:>17} {:>9.1} MB\n",
                            share.model,
                            answers(share.rows),
                            share.bytes as f64 / 1e6
                        ));
                    }
                    print(&text)?;
                }
            }
            CacheAction::Prune {
                older_than,
                model,
                to_size,
                all,
            } => {
                if older_than.is_none() && model.is_none() && to_size.is_none() && !all {
                    return usage_error(
                        "what is to be forgotten?\nhint: --older-than DAYS, --model NAME, --to-size MB or --all",
                    );
                }
                let everything = all.then_some(std::time::Duration::ZERO);
                let prune = Prune {
                    older_than: older_than
                        .map(|days| std::time::Duration::from_secs(days * 86_400))
                        .or(everything),
                    model: model.clone(),
                    max_bytes: to_size.map(|mb| mb * 1_000_000),
                };
                let pruned = ResponseCache::open(&path)?.prune(&prune)?;
                tell!(
                    "{} forgotten ({:.1} MB)",
                    answers(pruned.rows),
                    pruned.bytes as f64 / 1e6
                );
            }
        }
        Ok(Status::Done)
    }
}

fn answers(rows: u64) -> String {
    counted(usize::try_from(rows).unwrap_or(usize::MAX), "answer")
}

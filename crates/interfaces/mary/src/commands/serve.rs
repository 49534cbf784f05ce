//! `mary serve`: local models behind the API that everybody's clients speak.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use mary_contract::Model;
use mary_serve::ServeOptions;

use crate::cli::ModelArgs;
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, usage_error};
use crate::interrupt;
use crate::settings::Place;
use crate::specification::{self, laboratory};

/// Where the key stands; never on a command line, which others on the machine can read.
const KEY: &str = "MARY_SERVE_KEY";

#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub models: ModelArgs,
    /// Address to listen on; others than this machine's own need a key in MARY_SERVE_KEY
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,
    /// Port; 0 takes any
    #[arg(long, default_value_t = 8000)]
    pub port: u16,
    /// Megabytes of one request, at most
    #[arg(long, value_name = "MB", default_value_t = 32)]
    pub max_body: usize,
    /// Connections at once, at most
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_clients: usize,
    /// Seconds from the first byte of a request to the first byte of its answer, at most
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

impl Command for ServeArgs {
    const NAME: &str = "serve";
    const ABOUT: &str = "Serve local models to other programs (OpenAI's API)";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let options = ServeOptions {
            address: SocketAddr::new(self.host, self.port),
            key: std::env::var(KEY).ok().filter(|key| !key.trim().is_empty()),
            body: self.max_body.max(1) << 20,
            connections: self.max_clients.max(1),
            patience: Duration::from_secs(self.timeout.max(1)),
            log: !self.models.quiet,
        };
        if options.key.is_none() && !self.host.is_loopback() {
            return usage_error(format!(
                "--host {}: an address that others reach needs a key; set {KEY}",
                self.host
            ));
        }
        let lab = laboratory(place);
        let spec = specification::of_models(&lab, &self.models, vec![])?;
        let settings = spec.model_settings();
        let mut models: Vec<(String, Arc<dyn Model>)> = vec![];
        for subject in &spec.subjects {
            let provider = lab.provider(subject)?;
            if provider.service().is_some() {
                return usage_error(format!(
                    "{subject} is asked over the network already; only models of this machine are served"
                ));
            }
            let name = spec.execution.labels.get(&subject.to_string()).cloned();
            let model = provider.open(subject, &settings)?;
            models.push((
                name.unwrap_or_else(|| subject.to_string()),
                Arc::from(model),
            ));
        }
        let names: Vec<&str> = models.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        let stop = interrupt::flag()?;
        let mut ready = |bound: SocketAddr| {
            tell!("serving {names} at http://{bound}/v1 (Ctrl-C stops)");
        };
        mary_serve::serve(models, &options, &mut ready, stop)
            .with_context(|| format!("cannot serve at {}", options.address))?;
        Ok(Status::Done)
    }
}

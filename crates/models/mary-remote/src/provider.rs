//! Opening remote models: from a name and settings to a card, and from there to a connection.

use std::path::Path;
use std::sync::{Arc, Mutex};

use mary_contract::{
    Account, ErrorKind, Estimator, ModelCard, ModelError, ModelRef, ModelSettings, OpenedModel,
    Provider, SentKey, Service,
};
use serde_json::json;

use crate::catalogue::{CatalogueEntry, services};
use crate::connection::Connection;
use crate::flow::{Flow, FlowSettings};
use crate::http::{Http, base_urls};
use crate::identity::Identity;
use crate::money::Ledger;
use crate::options::{Logprobs, Options, Result, bad};
use crate::prefix::PrefixBook;
use crate::prices::PriceEstimator;
use crate::queue::wait;
use crate::remote::{Remote, RemoteModel};
use crate::secret::{self, Secret};
use crate::wire::RequestShape;

/// All remote providers, sharing one budget.
pub fn providers() -> Vec<Box<dyn Provider>> {
    providers_with(&Ledger::new())
}

pub fn providers_with(ledger: &Ledger) -> Vec<Box<dyn Provider>> {
    all(ledger, false)
}

/// The same for somebody who looks on while answers are written: they come piece by piece where the
/// service can.
pub fn watched_providers(ledger: &Ledger) -> Vec<Box<dyn Provider>> {
    all(ledger, true)
}

fn all(ledger: &Ledger, watched: bool) -> Vec<Box<dyn Provider>> {
    let provider = |entry| RemoteProvider {
        watched,
        ..RemoteProvider::new(entry, ledger)
    };
    let boxed = |entry| Box::new(provider(entry)) as Box<dyn Provider>;
    services().iter().map(boxed).collect()
}

/// Opens models of one service.
pub struct RemoteProvider {
    entry: &'static CatalogueEntry,
    ledger: Ledger,
    /// Somebody looks on while answers are written.
    watched: bool,
}

/// What is known before anything is sent.
struct Plan {
    options: Options,
    /// The first names the model in fingerprints; the others are taken to serve the same.
    bases: Vec<reqwest::Url>,
    usual_address: bool,
    logprobs: Logprobs,
    shape: RequestShape,
    name: String,
    card: ModelCard,
}

impl RemoteProvider {
    /// The provider of a service, in the catalogue or not; its models spend from this ledger.
    pub fn new(entry: &'static CatalogueEntry, ledger: &Ledger) -> Self {
        Self {
            entry,
            ledger: ledger.clone(),
            watched: false,
        }
    }

    fn plan(&self, model: &ModelRef, settings: &ModelSettings) -> Result<Plan> {
        let entry = self.entry;
        let options = Options::read(settings)?;
        let address = settings.base_url.as_deref().unwrap_or(entry.base_url);
        if address.is_empty() {
            return Err(bad("`compatible` needs to know where the server listens")
                .hint("say --base-url http://localhost:8000/v1"));
        }
        let bases = base_urls(address)?;
        let logprobs = options.logprobs.unwrap_or(entry.logprobs_of(&model.name));
        self.check_logprobs(logprobs)?;
        let mut shape = entry.shape(&model.name);
        shape.omit.extend(options.omit.iter().cloned());
        if options.batch.is_some() && !self.has_batches() {
            let message = format!("{} has no batch API that we know", entry.title);
            return Err(bad(message).hint("leave --batch out; openai/ and anthropic/ have one"));
        }
        let capabilities = entry.capabilities(&model.name, logprobs, options.images);
        let mut card = ModelCard::new(model.clone(), capabilities);
        describe(&mut card, entry, &options, logprobs, &shape);
        let places: Vec<String> = bases.iter().map(place).collect();
        card.conventions
            .insert("endpoint".into(), places.join(", "));
        Ok(Plan {
            usual_address: address == entry.base_url,
            name: sent_name(entry, model),
            options,
            bases,
            logprobs,
            shape,
            card,
        })
    }

    fn check_logprobs(&self, logprobs: Logprobs) -> Result<()> {
        let fits = match logprobs {
            // Nobody can ask for the last: it is the way of the service itself.
            Logprobs::None | Logprobs::Forced => true,
            Logprobs::Echo => self.entry.plain.is_some_and(|f| f.echo().is_some()),
            Logprobs::Top => self.entry.chat.is_some_and(|f| f.top_tokens().is_some()),
        };
        if fits {
            return Ok(());
        }
        Err(bad(format!(
            "{} gives no log-probabilities in the way asked for by the argument logprobs",
            self.entry.title
        )))
    }

    fn key(&self, options: &Options) -> Result<(String, Option<Secret>)> {
        let named = options.key_env.as_deref();
        let names = named.map_or_else(|| self.entry.keys.clone(), |name| vec![name]);
        let key = secret::find(&names, Path::new("."));
        if key.is_none() && (self.entry.needs_key || named.is_some()) {
            return Err(secret::missing(self.entry.title, &names));
        }
        Ok((names.first().copied().unwrap_or("").to_owned(), key))
    }

    fn connection(&self, plan: &Plan, settings: &ModelSettings) -> Result<Connection> {
        let (key_env, key) = self.key(&plan.options)?;
        let max_in_flight = settings.max_connections.unwrap_or(self.entry.max_in_flight);
        let no_format = || bad(format!("{} speaks no format", self.entry.title));
        let format = self.entry.main_format().ok_or_else(no_format)?;
        Ok(Connection {
            http: Http::new(
                format,
                plan.bases.clone(),
                key,
                plan.options.timeouts,
                max_in_flight,
            )?,
            flow: Flow::new(FlowSettings {
                max_in_flight,
                requests_per_minute: plan.options.rpm,
                tokens_per_minute: plan.options.tpm,
                longest_wait: plan.options.retry.longest_wait,
                title: self.entry.title,
            }),
            retry: plan.options.retry,
            shape: Mutex::new(plan.shape.clone()),
            entry: self.entry,
            key_env,
            model: plan.name.clone(),
        })
    }

    fn identify(&self, connection: &Connection, plan: &Plan) -> Result<Identity> {
        // Scoring by forced tokens needs to know the vocabulary, courtesy or not.
        if !plan.options.check && plan.logprobs != Logprobs::Forced {
            return Ok(Identity::default());
        }
        let identity = Identity::probe(connection, plan.usual_address);
        wait(connection.flow.unless_stopped(identity))
    }
}

impl Provider for RemoteProvider {
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn about(&self) -> &'static str {
        self.entry.about
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard> {
        self.plan(model, settings).map(|plan| plan.card)
    }

    fn service(&self) -> Option<&dyn Service> {
        Some(self)
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        let mut plan = self.plan(model, settings)?;
        let connection = self.connection(&plan, settings)?;
        let estimator = PriceEstimator::new(self.entry, model, &plan.options)?;
        if let Some(budget) = settings.budget {
            if estimator.price.is_none() {
                let message = format!("no price is known for {model}, so a budget cannot be kept");
                return Err(ModelError::new(ErrorKind::Budget, message)
                .hint("add its price to a file and name it with MARY_PRICES (docs/remote.md shows the form), or leave --budget out"));
            }
            self.ledger.limit(budget);
        }
        let identity = self.identify(&connection, &plan)?;
        plan.card.context_length = identity.context_length;
        plan.card.parameters = identity.parameters;
        if let (Some(pictures), None) = (identity.pictures, plan.options.images) {
            plan.card.capabilities.images = pictures && plan.card.capabilities.chat;
        }
        plan.card.fingerprint = fingerprint(&plan, &identity)?;
        Ok(Box::new(RemoteModel(Arc::new(Remote {
            entry: self.entry,
            card: plan.card,
            options: plan.options,
            connection,
            logprobs: plan.logprobs,
            estimator,
            ledger: self.ledger.clone(),
            watched: self.watched,
            identity,
            prefixes: Mutex::new(PrefixBook::default()),
        }))))
    }
}

impl Service for RemoteProvider {
    fn account(&self) -> &dyn Account {
        &self.ledger
    }

    fn estimator(&self, model: &ModelRef, settings: &ModelSettings) -> Result<Box<dyn Estimator>> {
        let options = Options::read(settings)?;
        Ok(Box::new(PriceEstimator::new(self.entry, model, &options)?))
    }

    fn has_batches(&self) -> bool {
        self.entry.batch_format().is_some()
    }

    /// This machine counts as a host like any other: on a shared one, others listen on its ports.
    fn sent_key(&self, settings: &ModelSettings) -> SentKey {
        let own = &self.entry.keys;
        let named = settings.args.get("key_env").map(String::as_str);
        let found = match named {
            Some(name) => secret::find(&[name], Path::new(".")),
            None => secret::find(own, Path::new(".")),
        };
        match (found, named) {
            (None, _) => SentKey::None,
            (Some(_), Some(name)) if !own.contains(&name) => SentKey::Other,
            (Some(_), _) => SentKey::Own,
        }
    }
}

/// The name that is sent: a dated version is part of it where providers write it so.
fn sent_name(entry: &CatalogueEntry, model: &ModelRef) -> String {
    match &model.revision {
        None => model.name.clone(),
        Some(revision) if entry.needs_key => format!("{}-{revision}", model.name),
        Some(revision) => format!("{}@{revision}", model.name),
    }
}

/// Host, port and path; never a key, since an address with one is refused.
fn place(base: &reqwest::Url) -> String {
    let port = base.port().map(|p| format!(":{p}")).unwrap_or_default();
    let path = base.path().trim_end_matches('/');
    format!("{}{port}{path}", base.host_str().unwrap_or_default())
}

fn describe(
    card: &mut ModelCard,
    entry: &CatalogueEntry,
    options: &Options,
    logprobs: Logprobs,
    shape: &RequestShape,
) {
    let mut say = |name: &str, value: String| card.conventions.insert(name.into(), value);
    let scores = match logprobs {
        Logprobs::None => "not given by this API",
        Logprobs::Top => {
            "single tokens only, from the 20 most probable first tokens of the answer, at temperature 1; matched exactly or without leading space; a continuation outside the list is an error, not a zero"
        }
        Logprobs::Echo => {
            "of the prompt, echoed by the completions endpoint; start token as the server adds it"
        }
        Logprobs::Forced => {
            "of tokens forced by a grammar, before sampling; start token under our control"
        }
    };
    say("log-probabilities", scores.to_owned());
    if !entry.extensions.seed {
        say("seed", "not sent; the API has none".into());
    }
    if !shape.omit.is_empty() {
        let names: Vec<_> = shape.omit.iter().map(String::as_str).collect();
        say("not sent", names.join(", "));
    }
    if shape.reasoning {
        say(
            "reasoning",
            format!(
                "effort {}; {} tokens of room on top of the task's limit",
                options
                    .reasoning_effort
                    .as_deref()
                    .unwrap_or("the provider's default"),
                options.reasoning_tokens
            ),
        );
    }
    if let Some(budget) = entry.main_format().and_then(|f| f.thinking(options)) {
        say(
            "not sent",
            "temperature, top_p, top_k (thinking is on)".into(),
        );
        say(
            "reasoning",
            format!("thinking, at most {budget} tokens on top of the task's limit"),
        );
    }
    if !card.capabilities.plain {
        say("plain prompts", "sent as one user message".into());
    }
}

/// Hash of everything on our side that an answer depends on: provider, place, model and settings,
/// and what the server tells about its weights.
fn fingerprint(plan: &Plan, identity: &Identity) -> Result<String> {
    let options = &plan.options;
    let parts = json!({
        "schema": 1,
        "provider": plan.card.model.provider,
        "place": plan.bases.first().map(place),
        "model": plan.name,
        "reasoning_effort": options.reasoning_effort,
        "reasoning_tokens": plan.shape.reasoning.then_some(options.reasoning_tokens),
        "thinking_budget": options.thinking_budget,
        "omit": options.omit,
        "bos": options.bos,
        "logprobs": format!("{:?}", plan.logprobs),
        "identity": identity.described,
    });
    let bytes = serde_json::to_vec(&parts)
        .map_err(|e| ModelError::new(ErrorKind::Internal, e.to_string()))?;
    Ok(format!("remote-{}", blake3::hash(&bytes).to_hex()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn provider(name: &str) -> RemoteProvider {
        let entry = services().iter().find(|entry| entry.name == name);
        RemoteProvider::new(entry.unwrap(), &Ledger::new())
    }

    fn settings(pairs: &[(&str, &str)]) -> ModelSettings {
        ModelSettings {
            args: pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            ..ModelSettings::default()
        }
    }

    #[test]
    fn a_card_needs_no_key_and_says_what_is_not_sent() {
        let card = provider("openai")
            .card(
                &"openai/o3-mini@2025-01-31".parse().unwrap(),
                &settings(&[("reasoning_effort", "low")]),
            )
            .unwrap();
        insta::assert_json_snapshot!("reasoning_card", card);
    }

    #[test]
    fn fingerprints_differ_by_what_matters_and_by_nothing_else() {
        let print = |name: &str, model: &str, pairs: &[(&str, &str)], base: Option<&str>| {
            let mut settings = settings(pairs);
            settings.base_url = base.map(str::to_owned);
            let plan = provider(name)
                .plan(&model.parse().unwrap(), &settings)
                .unwrap();
            fingerprint(&plan, &Identity::default()).unwrap()
        };
        let usual = print("openai", "openai/gpt-4o", &[], None);
        assert_eq!(
            usual,
            print(
                "openai",
                "openai/gpt-4o",
                &[("rpm", "60"), ("retries", "1"), ("batch", "x")],
                None
            )
        );
        for other in [
            print("openai", "openai/gpt-4o-mini", &[], None),
            print("openai", "openai/gpt-4o@2024-08-06", &[], None),
            print(
                "openai",
                "openai/gpt-4o",
                &[("reasoning_effort", "low")],
                None,
            ),
            print("openai", "openai/gpt-4o", &[("omit", "temperature")], None),
            print(
                "openai",
                "openai/gpt-4o",
                &[],
                Some("http://localhost:1/v1"),
            ),
            print("openrouter", "openrouter/gpt-4o", &[], None),
        ] {
            assert_ne!(usual, other);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_sent() {
        let refuse = |name: &str, pairs: &[(&str, &str)]| {
            let model = format!("{name}/x").parse().unwrap();
            provider(name)
                .card(&model, &settings(pairs))
                .unwrap_err()
                .message
        };
        assert!(refuse("anthropic", &[("logprobs", "top")]).contains("no log-probabilities"));
        assert!(refuse("groq", &[("batch", "x.json")]).contains("no batch API"));
        assert!(refuse("compatible", &[]).contains("where the server listens"));
    }

    #[test]
    fn a_key_that_would_be_sent_is_known_beforehand_on_every_host() {
        let sent = |name: &str, key: &str, url: Option<&str>| {
            let mut settings = settings(&[("key_env", key)]);
            settings.base_url = url.map(str::to_owned);
            provider(name).sent_key(&settings)
        };
        for url in [
            None,
            Some("http://evil.example/v1"),
            Some("http://127.0.0.1:8000/v1"),
            Some("http://localhost/"),
            Some("http://[::1]:1/v1"),
        ] {
            let other = "a secret that is not the service's own";
            for name in ["openai", "vllm"] {
                assert_eq!(sent(name, "PATH", url), SentKey::Other, "{other}: {url:?}");
            }
            assert_eq!(sent("openai", "MARY_NO_SUCH_KEY", url), SentKey::None);
            let own = sent("openai", "OPENAI_API_KEY", url);
            assert!(own != SentKey::Other, "{url:?}");
        }
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = provider("openai")
            .open(
                &"openai/gpt-4o".parse().unwrap(),
                &settings(&[("key_env", "MARY_NO_SUCH_KEY")]),
            )
            .err()
            .unwrap();
        assert_eq!(error.kind, ErrorKind::Auth);
        assert!(error.message.contains("MARY_NO_SUCH_KEY"), "{error}");
    }

    #[test]
    fn a_budget_without_a_price_is_refused() {
        let mut settings = settings(&[("key_env", "PATH"), ("check", "false")]);
        settings.budget = Some(1.0);
        let error = provider("groq")
            .open(&"groq/brand-new".parse().unwrap(), &settings)
            .err()
            .unwrap();
        assert!(error.message.contains("no price"), "{error}");
    }
}

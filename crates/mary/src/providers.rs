//! Every provider of models, in one static list.

use std::sync::LazyLock;

use mary_contract::{ModelCard, ModelRef, ModelSettings, Provider, Task, TaskSettings};
use mary_remote::Ledger;

use crate::builtin::Builtin;
use crate::exit::UsageError;
use crate::matching;

/// One purse for all remote models of a command, so that `--budget` holds over all of them.
static PURSE: LazyLock<Ledger> = LazyLock::new(Ledger::new);

/// The purse itself.
pub fn ledger() -> &'static Ledger {
    &PURSE
}

/// All providers, local ones first.
pub fn all() -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(Builtin)];
    providers.push(Box::new(mary_local::provider::HF));
    providers.push(Box::new(mary_local::provider::GGUF));
    providers.push(Box::new(mary_local::vectors::VectorsProvider));
    providers.extend(mary_remote::providers_with(&PURSE));
    providers
}

/// The provider of a model.
pub fn of(model: &ModelRef) -> Result<Box<dyn Provider>, UsageError> {
    let mut providers = all();
    if let Some(found) = providers.iter().position(|p| p.name() == model.provider) {
        return Ok(providers.swap_remove(found));
    }
    let names: Vec<&str> = providers.iter().map(|p| p.name()).collect();
    let hint = matching::suggestion(&model.provider, names, "mary models");
    Err(UsageError::new(format!(
        "no provider is called `{}`\n{hint}",
        model.provider
    )))
}

/// Reads model strings; `--model hf --model_args pretrained=NAME`, as lm-evaluation-harness has it,
/// works too.
pub fn parse(
    given: &[String],
    args: &mut Vec<(String, String)>,
) -> Result<Vec<ModelRef>, UsageError> {
    let mut models = Vec::new();
    for text in given.iter().map(|t| t.trim()).filter(|t| !t.is_empty()) {
        let pretrained = args.iter().position(|(name, _)| name == "pretrained");
        let text = match pretrained {
            Some(at) if !text.contains('/') => {
                let (_, name) = args.remove(at);
                let revision = args.iter().position(|(name, _)| name == "revision");
                match revision.map(|at| args.remove(at).1) {
                    Some(revision) => format!("{text}/{name}@{revision}"),
                    None => format!("{text}/{name}"),
                }
            }
            _ => text.to_owned(),
        };
        models.push(
            text.parse::<ModelRef>()
                .map_err(|e| UsageError::new(e.to_string()))?,
        );
    }
    Ok(models)
}

/// Models known by name that could run a task, for hints.
pub fn fitting(task: &dyn Task, settings: &TaskSettings) -> Vec<String> {
    let needs = task.needs(settings);
    let fits = |card: &ModelCard| needs.missing(&card.capabilities, settings.form).is_empty();
    let mut names = Vec::new();
    for provider in all() {
        for name in provider.known() {
            let model = ModelRef {
                provider: provider.name().to_owned(),
                name,
                revision: None,
            };
            if provider
                .card(&model, &ModelSettings::default())
                .is_ok_and(|card| fits(&card))
            {
                names.push(model.to_string());
            }
        }
    }
    names.truncate(4);
    names
}
